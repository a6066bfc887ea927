#!/usr/bin/env python3
"""coli run: one prompt in, the answer on standard output and nothing else."""

import json
import os
import re
import resource
import signal
import subprocess
import time

import program

KEYS = {"text", "reasoning", "token_ids", "finish_reason", "prompt_tokens", "completion_tokens", "stats"}
# With the endless model: an answer that goes on until somebody stops it.
SLOW = ("--temp", "0", "--cache-experts", "1", "--threads", "1")


class RunTest(program.ProgramTest):
    def answer(self, *arguments, **options):
        done = self.coli("run", "--json", "--temp", "0", "--max-tokens", "12", *arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("\n"), 1)
        return json.loads(done.stdout)

    def test_json_has_exactly_the_documented_keys(self):
        answer = self.answer("hello")
        self.assertEqual(set(answer), KEYS)
        self.assertEqual(answer["completion_tokens"], len(answer["token_ids"]))
        self.assertIn(answer["finish_reason"], ("stop", "length"))
        self.assertEqual(answer["reasoning"], "")
        for key in ("reused_tokens", "tokens_per_second", "first_token_s", "bytes_read", "seed", "resident_bytes"):
            self.assertIn(key, answer["stats"])

    def test_standard_output_is_the_answer_only(self):
        done = self.coli("run", "--temp", "0", "--max-tokens", "12", "hello")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.rstrip("\n"), self.answer("hello")["text"].rstrip("\n"))
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"built-in model")
        self.assertRegex(done.stderr, r"\d+ tokens?, .* tok/s, first after .*, prompt \d+ \(0 reused\), .*stopped: ")

    def test_quiet_leaves_standard_error_empty(self):
        self.assertEqual(self.coli("run", "-q", "--max-tokens", "3", "hello").stderr, "")

    def test_every_way_to_give_a_prompt_means_the_same(self):
        expected = self.answer("two words")["token_ids"]
        file = self.home / "prompt.txt"
        file.write_bytes(b"two words\r\n")
        messages = self.home / "messages.json"
        messages.write_text(json.dumps([{"role": "user", "content": "two words"}]))
        self.assertEqual(self.answer(stdin="two words\n")["token_ids"], expected)
        self.assertEqual(self.answer("-", stdin="two words\n")["token_ids"], expected)
        self.assertEqual(self.answer("--prompt-file", file)["token_ids"], expected)
        self.assertEqual(self.answer("--prompt-file", "-", stdin="two words")["token_ids"], expected)
        self.assertEqual(self.answer("--messages", messages)["token_ids"], expected)
        self.assertEqual(self.answer("--messages", "-", stdin=messages.read_text())["token_ids"], expected)
        raw = self.answer("--raw", "[gMASK]<sop><|user|>two words<|assistant|><think></think>")
        self.assertEqual(raw["token_ids"], expected)

    def test_conversations_and_system_messages_make_longer_prompts(self):
        one = self.answer("hi")["prompt_tokens"]
        self.assertGreater(self.answer("--system", "Be brief.", "hi")["prompt_tokens"], one)
        turns = (("user", "hi"), ("assistant", "hello"), ("user", "hi"))
        conversation = [{"role": role, "content": content} for role, content in turns]
        self.assertGreater(self.answer("--messages", "-", stdin=json.dumps(conversation))["prompt_tokens"], one)

    def test_the_answer_does_not_depend_on_threads_chunks_caches_or_instructions(self):
        expected = self.answer("What is this?")["token_ids"]
        for words in ("--threads 1", "--threads 3", "--prefill-chunk 1", "--cache-experts 4", "--isa scalar"):
            self.assertEqual(self.answer(*words.split(), "What is this?")["token_ids"], expected, words)

    def test_a_trace_of_the_routers_changes_nothing_and_holds_every_row(self):
        trace = self.home / "trace"
        answer = self.answer("--trace-routing", trace, "hello")
        self.assertEqual(answer["token_ids"], self.answer("hello")["token_ids"])
        self.assertTrue(trace.read_bytes().startswith(b"COLIROUT"))
        # The last token of an answer that is cut is never computed.
        cut = answer["finish_reason"] == "length"
        layers = 5
        rows = layers * (answer["prompt_tokens"] + answer["completion_tokens"] - cut)
        self.assertEqual(int.from_bytes(trace.read_bytes()[-16:-8], "little"), rows)

    def test_a_full_drive_ends_the_trace_and_not_the_answer(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        words = ("run", "--temp", "0", "--max-tokens", "12", "--trace-routing", self.home / "trace", "hello")
        done = self.coli(*words, preexec_fn=limit)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, self.coli("run", "--temp", "0", "--max-tokens", "12", "hello").stdout)
        told = [line for line in done.stderr.splitlines() if "trace-routing" in line]
        self.assertEqual(len(told), 1, done.stderr)
        self.assertRegex(told[0], r"^coli: note: trace-routing: stopped after \d+ rows: .*trace: cannot write")

    def test_a_trace_overwrites_nothing(self):
        taken = self.home / "taken"
        taken.write_text("mine")
        self.assert_error(self.coli("run", "--trace-routing", taken, "hello"), "trace-routing", str(taken))
        self.assertEqual(taken.read_text(), "mine")

    def test_the_seed_decides(self):
        sample = ("--temp", "100", "--top-p", "1")
        one = self.answer(*sample, "--seed", "1", "hi")
        self.assertEqual(one["stats"]["seed"], 1)
        self.assertEqual(self.answer(*sample, "--seed", "1", "hi")["token_ids"], one["token_ids"])
        self.assertNotEqual(self.answer(*sample, "--seed", "2", "hi")["token_ids"], one["token_ids"])
        drawn = self.answer(*sample, "hi")
        again = self.answer(*sample, "--seed", str(drawn["stats"]["seed"]), "hi")
        self.assertEqual(again["token_ids"], drawn["token_ids"])

    def test_length_and_stop_strings(self):
        model = ("-m", self.endless_model())
        whole = self.answer(*model, "hi")
        self.assertEqual((whole["finish_reason"], whole["completion_tokens"]), ("length", 12))
        stop = whole["text"][5:8]
        cut = self.answer(*model, "--stop", "never said", "--stop", stop, "hi")
        self.assertEqual(cut["finish_reason"], "stop")
        self.assertEqual(cut["text"], whole["text"][: whole["text"].index(stop)])

    def test_max_tokens_beyond_the_context_is_what_is_left(self):
        answer = self.answer("-m", self.endless_model(), "--ctx", "24", "--max-tokens", "1000", "hi")
        self.assertEqual(answer["finish_reason"], "context")
        self.assertLessEqual(answer["prompt_tokens"] + answer["completion_tokens"], 25)

    def test_role_markers_end_the_answer_and_are_not_printed(self):
        answer = self.answer("--max-tokens", "300", "hi")
        for marker in ("<|user|>", "<|observation|>", "<|endoftext|>", "<|assistant|>"):
            self.assertNotIn(marker, answer["text"])

    def test_thinking_is_reasoning_not_text(self):
        answer = self.answer("--think", "on", "hi")
        self.assertGreater(answer["prompt_tokens"], self.answer("hi")["prompt_tokens"])
        self.assertNotIn("<think>", answer["text"])
        self.assertNotIn("</think>", answer["reasoning"] + answer["text"])

    def test_a_closed_pipe_ends_quietly(self):
        process = subprocess.Popen(
            [program.COLI, "run", *SLOW, "-m", self.endless_model(), "hi"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment,
        )
        self.assertTrue(process.stdout.read(1))
        process.stdout.close()
        errors = process.stderr.read().decode()
        process.stderr.close()
        self.assertEqual(process.wait(60), 0)
        self.assertRegex(errors, r"^coli: mode: [^\n]*\n$")

    def test_a_full_disk_is_an_error(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [program.COLI, "run", "-q", "--temp", "0", "-m", self.endless_model(), "--max-tokens", "5", "hi"],
                stdout=full, stderr=subprocess.PIPE, env=self.environment, check=False,
            )
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"coli: standard output: No space left on device", done.stderr)

    def test_signals_stop_the_answer(self):
        model = self.endless_model()
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            process = subprocess.Popen(
                [program.COLI, "run", *SLOW, "-m", model, "hi"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment,
            )
            process.stdout.read(1)
            process.send_signal(number)
            output, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, status)
            self.assertIn(b"interrupted", errors)
            self.assertTrue(output.endswith(b"\n"))

    def test_the_terminal_version_has_colors_unless_they_are_unwanted(self):
        arguments = ("run", "--max-tokens", "5", "hi")
        for environment, colored in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
            session = self.terminal(*arguments, environment=environment)
            session.expect(r"stopped: ")
            self.assertEqual(session.wait(), 0)
            self.assertEqual("\x1b" in session.raw, colored, environment)

    def test_control_characters_of_an_answer_do_not_reach_the_terminal(self):
        model = self.copy_model("models/nano")
        answer = ("--temp", "0", "--max-tokens", "12", "-m", model, "hi")
        said = json.loads(self.coli("run", "--json", *answer).stdout)["token_ids"]
        self.respell(model, said[:6], "\x1b[31m\x07")
        arguments = ("run", "-q", *answer)
        control = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
        self.assertRegex(self.coli(*arguments).stdout, control)  # a pipe gets the answer as it is
        session = self.terminal(*arguments)
        self.assertEqual(session.wait(), 0)
        self.assertIsNone(control.search(session.raw))
        self.assertRegex(session.raw, "[\u2400-\u2421]")

    def respell(self, model, ids, text):
        """Gives words of a model another text; words of one byte, and control tokens, stay as they are."""
        spelled = "".join(chr(256 + ord(c)) if c < " " else c for c in text)
        path = model / "tokenizer.json"
        tokenizer = json.loads(path.read_text())
        part = tokenizer["model"]
        words = {word: i for word, i in part["vocab"].items() if i in ids and len(word) > 1}
        self.assertTrue(words, "the model says no word")
        for word, i in words.items():
            del part["vocab"][word]
            part["vocab"][f"{spelled}{i}"] = i
        pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in part["merges"]]
        part["merges"] = [p for p in pairs if not {p[0], p[1], p[0] + p[1]} & words.keys()]
        path.write_text(json.dumps(tokenizer))

    def test_forty_columns_are_enough(self):
        session = self.terminal("run", "-m", program.SOURCE / "models/nano", "--max-tokens", "5", "hi", columns=40)
        session.expect(r"stopped: ")
        session.wait()
        stats = session.text[session.text.index(" tok/s") - 20 :]
        for line in stats.splitlines()[1:]:
            self.assertLessEqual(len(line), 40)


class SpeedTest(program.ProgramTest):
    def test_help_and_version_need_no_model(self):
        start = time.monotonic()
        self.assertRegex(self.coli("--version").stdout, r"^coli \d+\.\d+\.\d+\n$")
        self.assertIn("coli chat", self.coli("help").stdout)
        self.assertIn("--max-tokens", self.coli("run", "--help").stdout)
        self.assertEqual(self.coli("help", "chat").stdout, self.coli("chat", "--help").stdout)
        self.assertLess(time.monotonic() - start, 30)


if __name__ == "__main__":
    program.main()
