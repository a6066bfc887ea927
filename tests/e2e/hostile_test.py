#!/usr/bin/env python3
"""Model directories with something else where a file is expected, and with names that are made to do harm: refused at once,
in one line that names the file and carries nothing over to the terminal."""

import json
import os

import program

SECONDS = 60  # nothing may be waited for; the machine may be slow


class WhatIsNoFileTest(program.ProgramTest):
    def assert_refused_as_anything(self, path, *command):
        """The file in turn as a FIFO, a directory, a link to a device, a link to itself."""
        stand_ins = {
            "FIFO": lambda: os.mkfifo(path),
            "directory": path.mkdir,
            "device": lambda: path.symlink_to("/dev/zero"),
            "links": lambda: path.symlink_to(path.name),
        }
        for word, make in stand_ins.items():
            with self.subTest(file=path.name, stand_in=word):
                path.unlink(missing_ok=True)
                make()
                done = self.coli(*command, timeout=SECONDS)
                if path.is_dir():
                    path.rmdir()
                self.assert_error(done, path.name, word)

    def test_files_of_a_model(self):
        for name in (
            "config.json",
            "generation_config.json",
            "tokenizer.json",
            "tokenizer_config.json",
            "chat_template.jinja",
            "model.safetensors.index.json",
            "out-00000.safetensors",
        ):
            model = self.home / name
            model.mkdir()
            for file in (program.SOURCE / "models/nano").iterdir():
                (model / file.name).symlink_to(file)
            if name == "tokenizer_config.json":
                (model / "chat_template.jinja").unlink(missing_ok=True)
            self.assert_refused_as_anything(model / name, "run", "-m", model, "hi")

    def test_files_of_a_reference(self):
        model = self.copy_model("tests/golden/t0")
        for name in ("reference.json", "reference.safetensors"):
            whole = (model / name).read_bytes()
            self.assert_refused_as_anything(model / name, "validate", model)
            (model / name).unlink(missing_ok=True)
            (model / name).write_bytes(whole)


class NamesTest(program.ProgramTest):
    def assert_harmless(self, done):
        self.assert_error(done)
        for byte in "\x1b\x07\r":
            self.assertNotIn(byte, done.stderr)

    def test_control_characters_in_names_do_not_reach_the_terminal(self):
        model = self.copy_model("tests/golden/t0")
        index = model / "model.safetensors.index.json"
        index.write_text(json.dumps({"weight_map": {"\x1b]0;owned\x07\n": "\x1b[2J\r"}}))
        self.assert_harmless(self.coli("validate", model))
        index.unlink()
        (model / "\x1b[2J.safetensors").write_bytes(b"nothing")
        self.assert_harmless(self.coli("validate", model))

    def test_names_that_lead_out_of_the_directory_are_not_followed(self):
        model = self.copy_model("tests/golden/t0")
        os.mkfifo(self.home / "outside.safetensors")  # opening it would wait for ever
        for name in ("../outside.safetensors", str(self.home / "outside.safetensors")):
            (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"model.norm.weight": name}}))
            self.assert_error(self.coli("validate", model, timeout=SECONDS), "index.json", "model.norm.weight", name)


if __name__ == "__main__":
    program.main()
