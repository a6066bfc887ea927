#!/usr/bin/env python3
"""coli perplexity and coli ask: figures about a model, the same on every machine, or one clear error."""

import json
import os
import signal
import subprocess
import time

import program

TEXT = "The capital of France is Paris.\nHummingbirds can fly backwards.\n\n  Grüße! 你好\n" * 6
SCORE_KEYS = [
    "file", "bytes", "tokens", "scored_bytes", "scored_tokens", "bits_per_byte", "bits_per_token", "perplexity",
    "window", "stride", "stats",
]


def wait_until_interrupts_are_caught(process):
    """Before that Ctrl-C just ends the process."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            caught = next(line for line in status if line.startswith("SigCgt:"))
        if int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1:
            return
        time.sleep(0.02)
    raise AssertionError("coli does not catch SIGINT")


class PerplexityTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.file = self.home / "text.txt"
        self.file.write_text(TEXT)

    def score(self, *arguments, **options):
        done = self.coli("perplexity", "--json", *arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        figures = json.loads(done.stdout)
        figures.pop("stats")
        return figures

    def test_json_has_exactly_the_documented_keys(self):
        done = self.coli("perplexity", "--json", "--ctx", "64", self.file)
        figures = json.loads(done.stdout)
        self.assertEqual(list(figures), SCORE_KEYS)
        self.assertEqual(figures["bytes"], len(TEXT.encode()))
        self.assertEqual(figures["scored_bytes"], figures["bytes"])
        self.assertEqual(figures["scored_tokens"], figures["tokens"])
        self.assertEqual((figures["window"], figures["stride"]), (64, 32))
        bits = figures["bits_per_token"] * figures["tokens"]
        self.assertAlmostEqual(figures["bits_per_byte"] * figures["bytes"], bits, places=6)
        self.assertAlmostEqual(figures["perplexity"], 2 ** figures["bits_per_token"], places=6)

    def test_people_get_the_same_figures(self):
        figures = self.score("--ctx", "64", self.file)
        done = self.coli("perplexity", "--ctx", "64", self.file)
        self.assertIn(f"{figures['bits_per_byte']:.4f} bits per byte", done.stdout)
        self.assertIn(f"{figures['bits_per_token']:.4f} bits per token", done.stdout)
        self.assertIn("window 64, stride 32", done.stdout)
        self.assertEqual(self.coli("perplexity", "-q", "--ctx", "64", self.file).stderr, "")

    def test_the_digits_do_not_depend_on_the_machine(self):
        self.file.write_text(TEXT[:120])
        expected = self.score("--ctx", "24", self.file)
        for words in ("--threads 1", "--threads 3", "--prefill-chunk 7", "--cache-experts 4", "--isa scalar"):
            self.assertEqual(self.score("--ctx", "24", *words.split(), self.file), expected, words)

    def test_standard_input_is_read_like_a_file(self):
        piped = self.score("--ctx", "64", "-", stdin=TEXT)
        self.assertEqual(piped.pop("file"), "standard input")
        figures = self.score("--ctx", "64", self.file)
        self.assertEqual(figures.pop("file"), str(self.file))
        self.assertEqual(piped, figures)

    def test_a_known_text_is_cheaper_than_noise(self):
        self.file.write_text("What is the capital of France? The capital of France is Paris.")
        known = self.score(self.file)["bits_per_byte"]
        self.file.write_text("xq zvk jj wkq pq vvz kxq zzj qpw kvx jqz wwk zxv pqq kjz xwv")
        self.assertLess(known, 0.7 * self.score(self.file)["bits_per_byte"])

    def test_texts_that_are_none(self):
        self.file.write_bytes(b"")
        self.assert_error(self.coli("perplexity", self.file), str(self.file), "found nothing")
        self.file.write_bytes(b"good\n\xff")
        self.assert_error(self.coli("perplexity", self.file), str(self.file), "UTF-8", "0xff at offset 5")
        os.mkfifo(self.home / "fifo")
        self.assert_error(self.coli("perplexity", self.home / "fifo"), "fifo", "found a FIFO")
        self.assert_error(self.coli("perplexity", self.home), "found a directory")
        self.assert_error(self.coli("perplexity", self.home / "none"), "none")

    def test_windows_that_do_not_fit(self):
        self.assert_error(self.coli("perplexity", "--ctx", "64", "--stride", "63", self.file), "expected 1 to 62", "63")
        self.assert_error(self.coli("perplexity", "--ctx", "2", self.file), "window", "at least 3")
        self.assert_error(self.coli("perplexity", "--ctx", "1000000", self.file), "1000000")
        self.assert_error(self.coli("perplexity"), "needs FILE", status=2)

    def test_an_endless_text_is_scored_as_it_comes_until_ctrl_c(self):
        reader, writer = os.pipe()
        feeder = subprocess.Popen(["yes", "The capital of France is Paris."], stdout=writer)
        process = subprocess.Popen(
            [program.COLI, "perplexity", "--ctx", "32", "-"],
            stdin=reader, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment,
        )
        os.close(reader)
        os.close(writer)
        for line in process.stderr:
            if line.endswith(b" so far\n"):
                break
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        feeder.kill()
        feeder.wait()
        self.assertEqual(process.returncode, 130)
        self.assertEqual(output, b"")
        self.assertRegex(errors.decode(), r"so far: \d+\.\d+ bits per token over the first \d+ tokens")

    def test_ctrl_c_ends_the_wait_for_standard_input(self):
        process = subprocess.Popen(
            [program.COLI, "perplexity", "-"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment,
        )
        process.stdin.write(b"The capital")
        process.stdin.flush()
        wait_until_interrupts_are_caught(process)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 130)
        self.assertIn(b"no token was scored", process.stderr.read())
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()

    def test_a_long_text_shows_how_far_it_is(self):
        self.file.write_text(TEXT * 8)
        session = self.terminal(
            "perplexity", "--ctx", "64", "--stride", "4", "--threads", "1", "--cache-experts", "1", self.file
        )
        session.expect(r"scoring the text: \d+ %, .* of .*, .* left")
        session.send("\x03")
        self.assertEqual(session.wait(), 130)


class AskTest(program.ProgramTest):
    QUESTIONS = ("hello", "What is the capital of France?", "Who are you?", "hello there", "thanks")

    def prompt(self, text, expect, **more):
        return {"kind": "talk", "messages": [{"role": "user", "content": text}], "expect": expect, **more}

    def write(self, *prompts):
        file = self.home / "set.jsonl"
        file.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))
        return file

    def ask(self, file, *arguments):
        done = self.coli("ask", "--json", "--max-tokens", "16", *arguments, file)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def said(self, text):
        run = self.coli("run", "--json", "--temp", "0", "--max-tokens", "16", text)
        return json.loads(run.stdout)

    def test_answers_are_those_of_run_and_counted_by_kind(self):
        file = self.write(
            *(self.prompt(text, [self.said(text)["text"].strip().upper()]) for text in self.QUESTIONS),
            self.prompt("hello", ["never said so"], kind="hard"),
        )
        report = self.ask(file)
        self.assertEqual(list(report), ["prompts", "right", "share", "kinds", "cut", "stats"])
        self.assertEqual((report["prompts"], report["right"]), (6, 5))
        self.assertAlmostEqual(report["share"], 5 / 6)
        self.assertEqual(report["kinds"]["talk"], {"prompts": 5, "right": 5, "share": 1.0})
        self.assertEqual(report["kinds"]["hard"], {"prompts": 1, "right": 0, "share": 0.0})
        text = self.coli("ask", "--max-tokens", "16", file).stdout
        self.assertRegex(text, r"(?m)^talk +5 of +5 +100\.0 %$")
        self.assertRegex(text, r"(?m)^all +5 of +6 +83\.3 %$")

    def test_answers_side_by_side_are_the_same_bit_for_bit(self):
        file = self.write(*(self.prompt(text, ["never said so"]) for text in self.QUESTIONS * 2))
        alone = self.ask(file, "--show", "--parallel", "1")
        self.assertEqual(len(alone["wrong"]), 10)
        for words in ("--parallel 8", "--parallel 3 --prefill-chunk 5 --threads 1", "--cache-experts 2"):
            together = self.ask(file, "--show", *words.split())
            self.assertEqual(together["wrong"], alone["wrong"], words)

    def test_wrong_answers_are_shown_with_what_was_expected(self):
        file = self.write(self.prompt("hello", ["never\nsaid", "so"]))
        wrong = self.ask(file, "--show")["wrong"][0]
        self.assertEqual(list(wrong), ["place", "kind", "prompt", "answer", "expect"])
        self.assertEqual((wrong["place"], wrong["prompt"]), (f"{file}:1", "hello"))
        shown = self.coli("ask", "--show", "--max-tokens", "16", file).stdout
        self.assertIn(f"{file}:1 (talk): hello\n  said:     ", shown)
        self.assertIn("  expected: never␊said | so\n", shown)

    def test_thinking_counts_only_behind_its_end(self):
        thought = self.coli("run", "--json", "--temp", "0", "--max-tokens", "48", "--think", "on", "hello")
        answer = json.loads(thought.stdout)
        self.assertEqual(answer["finish_reason"], "stop")
        self.assertTrue(answer["text"].strip())
        file = self.write(self.prompt("hello", [answer["text"].strip()], thinking=True))
        self.assertEqual(self.ask(file, "--max-tokens", "48")["right"], 1)
        cut = self.ask(file, "--max-tokens", "1")  # before the thinking ends
        self.assertEqual((cut["right"], cut["cut"]), (0, 1))

    def test_drafts_are_measured_behind_each_token_of_the_answers(self):
        report = self.ask(self.write(*(self.prompt(text, ["a"]) for text in self.QUESTIONS)), "--mtp")
        self.assertEqual(report["mtp"]["drafts"], report["stats"]["completion_tokens"])
        self.assertLessEqual(report["mtp"]["accepted"], report["mtp"]["drafts"])
        self.assertAlmostEqual(report["mtp"]["share"], report["mtp"]["accepted"] / report["mtp"]["drafts"])

    def test_drafts_of_a_model_without_the_layer_are_refused_before_the_first_answer(self):
        model = self.copy_model("models/nano")
        (model / "out-mtp-00000.safetensors").unlink()
        file = self.write(self.prompt("hello", ["a"]))
        self.assert_error(self.coli("ask", "--mtp", "-m", model, file), "model.layers.6")

    def test_sets_that_are_none_name_line_and_member(self):
        good = json.dumps(self.prompt("hello", ["a"]))
        for lines, expected in (
            ([], "at least one prompt"),
            ([good, "{"], "set.jsonl:2: byte"),
            ([good, "", json.dumps({**self.prompt("hello", ["a"]), "expects": []})], "set.jsonl:3: unknown member"),
            ([json.dumps(self.prompt("hello", []))], "set.jsonl:1: expect: "),
            ([json.dumps(self.prompt("hello", ["a"], kind=""))], "set.jsonl:1: kind: "),
            ([good, json.dumps(self.prompt("word " * 300, ["a"]))], "set.jsonl:2: the prompt has"),
        ):
            file = self.home / "set.jsonl"
            file.write_text("\n".join(lines))
            self.assert_error(self.coli("ask", "--ctx", "256", file), expected)
        self.assert_error(self.coli("ask", "-", stdin="[]\n"), "standard input:1: expected an object")
        self.assert_error(self.coli("ask", self.home / "none"), "none")

    def test_ctrl_c_gives_no_report(self):
        file = self.write(*(self.prompt("hello", ["a"]) for _ in range(50)))
        process = subprocess.Popen(
            [program.COLI, "ask", "-m", self.endless_model(), "--parallel", "1", file],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment,
        )
        wait_until_interrupts_are_caught(process)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, output), (130, b""))
        self.assertIn(b"so far: ", errors)


if __name__ == "__main__":
    program.main()
