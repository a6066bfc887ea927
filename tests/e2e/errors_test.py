#!/usr/bin/env python3
"""Wrong usage, missing files, damaged models: one clear line, the right exit status, nothing on standard output."""

import json

import program


class UsageTest(program.ProgramTest):
    def test_wrong_words_are_usage_errors_with_a_hint(self):
        for words, expected in (
            (["rnu", "hi"], "did you mean run?"),
            (["run", "--tmep", "0", "hi"], "did you mean --temp?"),
            (["run", "--temp", "hot", "hi"], 'expected a number from 0 to 100, found "hot"'),
            (["run", "--threads", "0", "hi"], "from 1 to 1024"),
            (["run", "--ram", "20X", "hi"], "20G"),
            (["run", "--stop", "", "hi"], "not empty"),
            (["run", "--think", "maybe", "hi"], "on/off"),
            (["run", "two", "words"], "quotes"),
            (["run", "hi", "--prompt-file", "x"], "give one of"),
            (["validate"], "needs DIR"),
            (["chat", "--json"], "unknown option --json"),
        ):
            self.assert_error(self.coli(*words), expected, status=2)

    def test_no_words_show_the_help_on_standard_error(self):
        done = self.coli()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("coli run", done.stderr)

    def test_a_missing_prompt_at_a_terminal_is_explained(self):
        session = self.terminal("run")
        session.expect("a prompt is missing")
        self.assertEqual(session.wait(), 2)

    def test_the_file_and_the_environment_are_checked_alike(self):
        self.assert_error(self.coli("run", "hi", environment={"COLI_TEMP": "hot"}), "COLI_TEMP", status=2)
        folder = self.home / ".config/colibri"
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text("temp = 0\nthread = 2\n")
        self.assert_error(self.coli("run", "hi"), "config.toml:2", "did you mean", "threads", status=2)
        (folder / "config.toml").write_text("temp = = 0\n")
        self.assert_error(self.coli("run", "hi"), "config.toml:1", status=2)


class InputTest(program.ProgramTest):
    def test_files_that_cannot_be_read(self):
        missing = self.home / "missing.txt"
        self.assert_error(self.coli("run", "--prompt-file", missing), str(missing))
        self.assert_error(self.coli("run", "--prompt-file", self.home), str(self.home))
        self.assert_error(self.coli("run", "--messages", missing), str(missing))

    def test_messages_that_are_none(self):
        for text, expected in (
            ("{", "byte"),
            ("[]", "messages"),
            ('[{"role": "robot", "content": "x"}]', 'found "robot"'),
            ('[{"role": "user", "content": 3}]', "content"),
        ):
            self.assert_error(self.coli("run", "--messages", "-", stdin=text), expected)

    def test_a_prompt_that_is_not_text(self):
        self.assert_error(self.coli("run", stdin=b"\xff\xfe"), "UTF-8")

    def test_a_prompt_longer_than_the_context_is_refused_with_both_numbers(self):
        done = self.coli("run", "--ctx", "16", "--raw", "word " * 80)
        self.assert_error(done, "16", "tokens")
        self.assertRegex(done.stderr, r"has \d{2,} tokens")

    def test_an_empty_prompt(self):
        self.assert_error(self.coli("run", "--raw", "", stdin=""), "empty")


class ModelTest(program.ProgramTest):
    def test_directories_that_are_no_models(self):
        self.assert_error(self.coli("run", "-m", "/nonexistent", "hi"), "/nonexistent", "no such directory")
        self.assert_error(self.coli("run", "-m", self.home, "hi"), "config.json")
        self.assert_error(self.coli("run", "-m", program.COLI, "hi"), "not a directory")
        self.assert_error(self.coli("run", "hi", environment={"COLI_MODEL": "/nonexistent"}), "/nonexistent")
        self.assert_error(self.coli("info", "/nonexistent"), "/nonexistent")
        self.assert_error(self.coli("validate", "/nonexistent"), "/nonexistent")

    def test_a_model_without_a_tokenizer(self):
        model = self.copy_model("tests/golden/t0")
        self.assert_error(self.coli("run", "-m", model, "hi"), "tokenizer.json", "no tokenizer")

    def test_a_truncated_shard(self):
        model = self.copy_model("models/nano")
        shard = model / "out-00000.safetensors"
        shard.write_bytes(shard.read_bytes()[:-1000])
        self.assert_error(self.coli("run", "-m", model, "hi"), "out-00000.safetensors")
        self.assert_error(self.coli("info", model), "out-00000.safetensors")

    def test_an_empty_shard(self):
        model = self.copy_model("models/nano")
        (model / "out-00000.safetensors").write_bytes(b"")
        self.assert_error(self.coli("run", "-m", model, "hi"), "out-00000.safetensors")

    def test_damaged_headers(self):
        for name, damage in (
            ("huge length", lambda data: b"\xff" * 8 + data[8:]),
            ("no JSON", lambda data: data[:8] + b"\x00" * 16 + data[24:]),
            ("nesting", lambda data: data[:8] + b"[" * 64 + data[72:]),
        ):
            with self.subTest(name):
                self.setUp()
                model = self.copy_model("tests/golden/t0")
                file = model / "model.safetensors"
                file.write_bytes(damage(file.read_bytes()))
                self.assert_error(self.coli("validate", model), "model.safetensors")

    def test_a_wrong_shape_names_tensor_expected_and_found(self):
        model = self.copy_model("tests/golden/t0")
        config = json.loads((model / "config.json").read_text())
        config["vocab_size"] += 1
        (model / "config.json").write_text(json.dumps(config))
        self.assert_error(self.coli("validate", model), "model.safetensors", "embed_tokens", "expected")

    def test_a_missing_tensor_is_named(self):
        model = self.copy_model("tests/golden/t0")
        file = model / "model.safetensors"
        header, rest = program.read_safetensors(file)
        header["model.renamed.weight"] = header.pop("model.norm.weight")
        program.write_safetensors(file, header, rest)
        self.assert_error(self.coli("validate", model), "model.norm.weight")

    def test_a_config_that_is_none(self):
        model = self.copy_model("models/nano")
        for text, expected in (("{", "config.json"), ("[]", "config.json"), ('{"model_type": "other"}', "other")):
            (model / "config.json").write_text(text)
            self.assert_error(self.coli("run", "-m", model, "hi"), expected)

    def test_budgets_that_do_not_do(self):
        self.assert_error(self.coli("run", "--ram", "10M", "hi"), "at least")
        self.assert_error(self.coli("run", "--ctx", "100000", "hi"), "100000")

    def test_an_instruction_set_that_nobody_has(self):
        self.assert_error(self.coli("run", "--isa", "mmx", "hi"), "mmx", "scalar")


if __name__ == "__main__":
    program.main()
