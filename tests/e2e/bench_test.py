#!/usr/bin/env python3
"""coli bench: scenarios, the exact JSON, comparisons, and one clear error for each wrong call."""

import json
import resource
import signal
import subprocess

import program

RESULT_KEYS = ["scenario", "params", "value", "unit", "limit", "share_of_limit", "runs", "spread"]
HOST_KEYS = ["cpu", "cores", "memory_bytes", "isa", "version"]
SCENARIOS = ["memory.read", "disk.read", "matvec", "matmul", "moe", "attention", "prefill", "decode", "append", "neighbour"]


class BenchTest(program.ProgramTest):
    def bench(self, *arguments):
        done = self.coli("bench", "--quick", "--json", "-q", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def write_report(self, name, report):
        file = self.home / name
        file.write_text(json.dumps(report))
        return file

    def test_json_has_exactly_the_documented_keys(self):
        report = self.bench("memory.read", "--threads", "2")
        self.assertEqual(list(report), ["host", "results"])
        self.assertEqual(list(report["host"]), HOST_KEYS)
        self.assertEqual(len(report["results"]), 2)
        for threads, result in zip((1, 2), report["results"]):
            self.assertEqual(list(result), RESULT_KEYS)
            self.assertEqual(result["scenario"], "memory.read")
            self.assertEqual(result["params"]["threads"], threads)
            self.assertGreaterEqual(result["params"]["bytes"], 192 << 20)
            self.assertGreater(result["value"], 0)
            self.assertEqual((result["unit"], result["limit"], result["share_of_limit"]), ("GB/s", None, None))
            self.assertGreaterEqual(result["runs"], 3)
            self.assertTrue(0 <= result["spread"] < 1)

    def test_products_have_the_memory_read_of_the_same_run_as_their_limit(self):
        results = self.bench("matvec", "--threads", "1")["results"]
        self.assertEqual(len(results), 20)
        for result in results:
            self.assertEqual(list(result["limit"]), ["what", "value", "unit"])
            self.assertEqual((result["limit"]["what"], result["limit"]["unit"]), ("memory read", "GB/s"))
            self.assertAlmostEqual(result["share_of_limit"], result["value"] / result["limit"]["value"])

    def test_threads_that_the_system_does_not_give_are_an_error_with_their_number(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))  # room for few stacks
        done = self.coli("bench", "--quick", "-q", "memory.read", "--threads", "1000", preexec_fn=limit)
        self.assert_error(done, "expected 1000 threads", "the system gives")

    def test_the_drive_is_read_from_a_file_that_leaves_no_trace(self):
        plain, engine = self.bench("disk.read", "--dir", self.home)["results"]
        for result in (plain, engine):
            self.assertEqual((result["params"]["from"], result["params"]["bytes"]), ("temporary file", 64 << 20))
            self.assertIn(result["params"]["page cache"], ("bypassed", "used"))
        self.assertRegex(engine["params"]["by"], r"^(io_uring|threads), (direct|page cache), depth \d+")
        self.assertEqual((engine["limit"]["what"], engine["limit"]["value"]), ("plain reads", plain["value"]))
        self.assertEqual(list(self.home.iterdir()), [])
        self.assert_error(self.coli("bench", "-q", "disk.read", "--dir", self.home / "none"), "disk.read", "none")

    def test_what_cannot_be_measured_does_not_keep_the_rest_from_it(self):
        done = self.coli("bench", "--quick", "-q", "--json", "disk.read", "moe", "--dir", self.home / "none")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^coli: disk\.read: .*none: .*\n$")
        self.assertEqual({result["scenario"] for result in json.loads(done.stdout)["results"]}, {"moe"})

    def test_an_error_on_a_terminal_has_a_line_of_its_own(self):
        session = self.terminal("bench", "memory.read", "disk.read", "--dir", self.home / "none")
        self.assertEqual(session.wait(), 1)
        self.assertRegex(session.raw, r"\rmeasuring: [^\r\n]*\r +\rcoli: disk\.read: ")

    def test_experts_and_work_beside_a_neighbour_have_their_limits(self):
        one, many, layers, loops = self.bench("moe", "neighbour", "--threads", "2")["results"]
        self.assertEqual((one["params"]["rows"], one["limit"]["what"]), (1, "memory read"))
        self.assertEqual((many["params"]["rows"], many["limit"]["what"]), (16, "products alone"))
        for result, work in ((layers, "moe"), (loops, "loops")):
            self.assertEqual((result["params"]["work"], result["limit"]["what"]), (work, "undisturbed"))

    def test_attention_is_measured_at_two_contexts_in_the_format_of_the_cache(self):
        for kv in ("f32", "bf16"):
            short, long = self.bench("attention", "--kv", kv)["results"]
            self.assertEqual([r["params"]["positions"] for r in (short, long)], [2048, 4096])
            self.assertEqual([r["params"]["selected"] for r in (short, long)], [2048, 2048])
            self.assertEqual([r["params"]["kv"] for r in (short, long)], [kv, kv])
            self.assertEqual(long["limit"]["what"], "memory read")

    def test_the_engine_reads_and_writes_with_the_model(self):
        model = self.copy_model("models/nano")
        results = self.bench("prefill", "decode", "--model", model)["results"]
        self.assertEqual(
            [(result["scenario"], result["params"]["experts"]) for result in results],
            [("prefill", "cold"), ("prefill", "warm"), ("decode", "cold"), ("decode", "warm")],
        )
        for result in results:
            self.assertEqual(result["params"]["model"], "model")
            self.assertGreater(result["value"], 0)
            self.assertIsNone(result["limit"])  # so small a model stays in caches

    def test_a_cold_answer_is_set_beside_the_drive(self):
        results = self.bench(
            "decode", "--cold", "--cache-experts", "60", "--lookahead", "off", "--dir", self.home
        )["results"]
        self.assertEqual([r["params"]["by"][:5] for r in results if r["scenario"] == "disk.read"][::2], ["plain"] * 2)
        first = {r["params"]["what"]: r for r in results if r["params"].get("request") == "first"}
        later = {r["params"]["what"]: r for r in results if r["params"].get("request") == "later"}
        self.assertEqual(first.keys(), later.keys())
        self.assertEqual(
            set(first),
            {"speed", "drive, while it is used", "experts found in memory", "read for a token", "waited for reads"}
            | {"computed meanwhile"},
        )
        for what in ("speed", "drive, while it is used"):
            self.assertGreater(first[what]["share_of_limit"], 0)
        self.assertTrue(0 < first["experts found in memory"]["value"] < 100)

    def test_what_is_appended_reads_the_experts_that_are_missing(self):
        results = self.bench("append", "--cache-experts", "60", "--lookahead", "off")["results"]
        read = [result for result in results if result["params"]["what"] == "read"]
        self.assertEqual([result["params"]["appended"] for result in read], [10, 30, 100])
        for result in read:
            self.assertEqual((result["params"]["prefix"], result["limit"]["what"]), (64, "misses, once each"))
            self.assertTrue(0.5 < result["share_of_limit"] <= 1)  # whole pages are counted

    def test_people_get_a_table_in_the_order_of_the_scenarios(self):
        done = self.coli("bench", "--quick", "-q", "matmul", "memory.read", "--threads", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        _, memory, matmul = done.stdout.split("\n\n")
        self.assertRegex(memory, r"^memory\.read: threads 1, .*\n +value +limit +share +spread +limited by\n.* GB/s ")
        self.assertRegex(matmul, r"^matmul: rows 16, threads 1\nformat +shape +value +limit ")
        self.assertEqual(len(matmul.splitlines()), 2 + 40)
        self.assertLess(max(map(len, matmul.splitlines())), 100)
        markdown = self.coli("bench", "--quick", "-q", "memory.read", "--markdown").stdout
        self.assertRegex(markdown, r"\n\| memory\.read \| threads 1, bytes \d+, pages \w+ \| [\d.]+ \| GB/s \|")

    def test_wrong_calls_say_what_there_is(self):
        self.assert_error(self.coli("bench", "memory.red"), '"memory.red"', ", ".join(SCENARIOS), status=2)
        self.assert_error(self.coli("bench", "--compare", "a.json"), "two files, found 1", status=2)
        self.assert_error(self.coli("bench", "--json", "--markdown"), "--json", "--markdown", status=2)
        self.assert_error(self.coli("bench", "-m", self.home / "none", "decode"), "none", "no such directory")
        self.assert_error(self.coli("bench", "-m", self.home, "memory.read"), "--model", "prefill", status=2)
        self.assert_error(self.coli("bench", "--isa", "abacus", "memory.read"), "abacus", "scalar")

    def test_two_reports_are_compared(self):
        report = self.bench("memory.read", "--threads", "1")
        report["results"][0].update(value=10, spread=0.05)
        a = self.write_report("a.json", report)
        report["results"][0].update(value=12)
        b = self.write_report("b.json", report)
        done = self.coli("bench", "--compare", a, b)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"memory\.read .* 10\.0 +12\.0 +GB/s +1\.200\n")
        self.assertRegex(self.coli("bench", "--compare", a, a).stdout, r"1\.000 +within the spread\n")
        report["host"]["cpu"] = "abacus"
        other = self.coli("bench", "--compare", a, self.write_report("c.json", report))
        self.assertEqual(other.returncode, 0)
        self.assertRegex(other.stderr, r"^coli: the hosts differ in cpu: .* and abacus\n$")

    def test_files_that_are_no_reports_are_refused_with_their_place(self):
        report = self.bench("memory.read", "--threads", "1")
        good = self.write_report("good.json", report)
        report["results"][0]["value"] = "fast"
        bad = self.write_report("bad.json", report)
        for file, words in (
            (bad, ("bad.json: results[0].value: expected a number", 'found "fast"')),
            (self.write_report("list.json", []), ("list.json: expected an object, found []",)),
            (self.write_report("other.json", {"text": "hi"}), ("other.json: host: expected an object",)),
            (self.home / "none.json", ("none.json",)),
            (self.home, ("directory",)),
        ):
            self.assert_error(self.coli("bench", "--compare", good, file), *words)
            self.assert_error(self.coli("bench", "--compare", file, good), *words)

    def test_ctrl_c_prints_what_was_measured_so_far(self):
        process = subprocess.Popen(
            [program.COLI, "bench", "--json", "memory.read", "matmul", "--isa", "scalar"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment,
        )
        for line in process.stderr:
            if b"measurements" in line:  # at least one is done
                break
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130)
        results = json.loads(output)["results"]
        self.assertEqual(results[0]["scenario"], "memory.read")
        self.assertLess(len(results), 40)


if __name__ == "__main__":
    program.main()
