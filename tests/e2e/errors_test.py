#!/usr/bin/env python3
"""Wrong usage, missing files, damaged models: one clear line, the right exit status, nothing on standard output."""

import json
import os
import resource
import subprocess
import threading
import time

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
            self.assert_error(self.coli("run", "--messages", "-", stdin=text), expected, "standard input")

    def test_an_error_is_one_line_whatever_the_name(self):
        self.assert_error(self.coli("run", "--prompt-file", self.home / "a\nb"), "a␊b")
        done = self.coli("run", "--prompt-file", "x" * 100_000)
        self.assert_error(done, " ... ")
        self.assertLess(len(done.stderr), 2100)

    def test_a_standard_input_that_does_not_block_is_waited_for(self):
        reader, writer = os.pipe()
        os.set_blocking(reader, False)

        def write_late():
            time.sleep(0.5)
            os.write(writer, b"hello")
            os.close(writer)

        late = threading.Thread(target=write_late)
        late.start()
        done = subprocess.run(
            [str(program.COLI), "run", "--max-tokens", "1"],
            stdin=reader, capture_output=True, env=self.environment, timeout=120, check=False,
        )
        late.join()
        os.close(reader)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_prompt_that_is_not_text(self):
        self.assert_error(self.coli("run", stdin=b"\xff\xfe"), "UTF-8")

    def test_a_prompt_longer_than_the_context_is_refused_with_both_numbers(self):
        done = self.coli("run", "--ctx", "16", "--raw", "word " * 80)
        self.assert_error(done, "16", "tokens")
        self.assertRegex(done.stderr, r"has \d{2,} tokens")

    def test_an_empty_prompt(self):
        self.assert_error(self.coli("run", "--raw", "", stdin=""), "empty")


class OutputTest(program.ProgramTest):
    def options_to(self, output, **how):
        """Prints a long text to a file or, for None, to a closed descriptor."""
        redirection = ">&-" if output is None else '> "$1"'
        return subprocess.run(
            ["sh", "-c", f'exec "$0" options --markdown {redirection}', str(program.COLI), str(output)],
            capture_output=True, text=True, env=self.environment, timeout=120, check=False, **how,
        )

    def test_a_limit_on_file_sizes_is_an_error_not_a_signal(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        self.assert_error(self.options_to(self.home / "out", preexec_fn=limit), "standard output", "large")

    def test_a_closed_standard_output_is_an_error(self):
        self.assert_error(self.options_to(None), "standard output", "descriptor")


class ModelTest(program.ProgramTest):
    def test_directories_that_are_no_models(self):
        self.assert_error(self.coli("run", "-m", "/proc/none", "hi"), "/proc/none", "no such directory")
        self.assert_error(self.coli("run", "-m", self.home, "hi"), "config.json")
        self.assert_error(self.coli("run", "-m", program.COLI, "hi"), "not a directory")
        self.assert_error(self.coli("run", "hi", environment={"COLI_MODEL": "/proc/none"}), "/proc/none")
        self.assert_error(self.coli("info", "/proc/none"), "/proc/none")
        self.assert_error(self.coli("validate", "/proc/none"), "/proc/none")

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
