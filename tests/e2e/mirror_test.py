#!/usr/bin/env python3
"""--model-mirror: copies of a model on other drives are read, too, and change no answer."""

import os
import shutil
import subprocess

import program

ANSWER = ("--temp", "0", "--max-tokens", "24", "--cache-experts", "12", "--state-dir", "none")
PROMPT = "Tell me about hummingbirds."
NANO = "models/nano"


class MirrorTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.mirror = self.home / "mirror"
        self.mirror.mkdir()
        for file in (program.SOURCE / NANO).glob("*.safetensors"):
            shutil.copy(file, self.mirror)

    def answer(self, *arguments):
        done = self.coli("run", *ANSWER, *arguments, PROMPT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def mode(self, done):
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("coli: mode: ")]
        return line

    def test_the_answer_is_the_same_and_the_mode_names_the_drives(self):
        alone = self.answer()
        self.assertNotIn("drives", self.mode(alone))
        for options in ((), ("--io", "threads"), ("--direct", "off")):
            both = self.answer("--model-mirror", self.mirror, *options)
            self.assertEqual(both.stdout, alone.stdout)
            self.assertIn(f"2 drives: {(program.SOURCE / NANO).resolve()} (", self.mode(both))
            self.assertIn(f"{self.mirror} with copies", self.mode(both))

    def test_several_from_file_or_flag(self):
        second = self.home / "second"
        shutil.copytree(self.mirror, second)
        done = self.answer("--model-mirror", self.mirror, "--model-mirror", second)
        self.assertIn("3 drives: ", self.mode(done))
        named = {"COLI_MODEL_MIRROR": str(self.mirror)}
        done = self.coli("run", *ANSWER, PROMPT, environment=named)
        self.assertIn("2 drives: ", self.mode(done))
        done = self.coli("run", *ANSWER, "--model-mirror", "none", PROMPT, environment=named)
        self.assertNotIn("drives", self.mode(done))

    def test_a_mirror_that_is_lost_during_a_chat_costs_one_line_and_no_answer(self):
        def chat(*arguments, after_the_first=lambda: None):
            process = subprocess.Popen(
                [str(program.COLI), "chat", *ANSWER, *arguments],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment,
            )
            process.stdin.write(PROMPT + "\n")
            process.stdin.flush()
            first = process.stdout.readline()
            after_the_first()
            rest, notes = process.communicate((PROMPT + "\n") * 30, timeout=120)
            self.assertEqual(process.returncode, 0, notes)
            return first + rest, notes

        def lose():
            for file in self.mirror.iterdir():
                os.truncate(file, 0)

        expected, _ = chat()
        answers, notes = chat("--model-mirror", self.mirror, after_the_first=lose)
        self.assertEqual(answers, expected)
        lost = [line for line in notes.splitlines() if "is not read any more" in line]
        self.assertEqual(len(lost), 1, notes)
        self.assertIn(str(self.mirror), lost[0])

    def test_a_file_that_is_no_copy_costs_one_line(self):
        alone = self.answer()
        shutil.copytree(program.SOURCE / NANO, self.home / "split")
        self.split(self.home / "split")
        shutil.copy(self.home / "split" / "part.safetensors", self.mirror)
        done = self.answer("-m", self.home / "split", "--model-mirror", self.mirror)
        notes = [line for line in done.stderr.splitlines() if "not used" in line]
        self.assertEqual(len(notes), 1, done.stderr)
        self.assertIn("1 of 2 files", notes[0])
        self.assertIn("out-00000.safetensors", notes[0])
        self.assertEqual(done.stdout, alone.stdout)

    def split(self, model):
        """Moves half of the experts to a file of their own."""
        header, data = program.read_safetensors(model / "out-00000.safetensors")
        metadata = header.pop("__metadata__", None)
        parts = ({}, {})
        bodies = [b"", b""]
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            part = 1 if ".experts.7." in name or ".experts.8." in name else 0
            begin, end = entry["data_offsets"]
            offset = len(bodies[part])
            parts[part][name] = {**entry, "data_offsets": [offset, offset + end - begin]}
            bodies[part] += data[begin:end]
        if metadata:
            parts[0]["__metadata__"] = metadata
        program.write_safetensors(model / "out-00000.safetensors", parts[0], bodies[0])
        program.write_safetensors(model / "part.safetensors", parts[1], bodies[1])
        for index in model.glob("*.index.json"):
            index.unlink()

    def test_what_cannot_act_is_an_error(self):
        run = ("run", *ANSWER)
        self.assert_error(self.coli(*run, "--model-mirror", self.home / "none", PROMPT), "model-mirror", "none")
        self.assert_error(self.coli(*run, "--model-mirror", program.SOURCE / NANO, PROMPT), "that file itself")
        self.assert_error(
            self.coli(*run, "--model-mirror", self.mirror, "--model-mirror", self.mirror, PROMPT), "the same"
        )
        (self.home / "empty").mkdir()
        self.assert_error(self.coli(*run, "--model-mirror", self.home / "empty", PROMPT), "found none")
        done = self.coli("bench", "memory.read", "--model-mirror", self.mirror)
        self.assert_error(done, "--model-mirror", "cannot act", status=2)
        self.assertEqual(self.coli("info", "--model-mirror", self.mirror).returncode, 2)


if __name__ == "__main__":
    program.main()
