#!/usr/bin/env python3
"""coli plan: where memory goes, known before anything is loaded, and what the program then really takes."""

import json
import os
import subprocess
import time

import program

MIB = 1 << 20
PARTS = ("program_bytes", "dense_bytes", "scratch_bytes", "staging_bytes", "policy_bytes", "expert_cache_bytes")


class Planned(program.ProgramTest):
    def plan(self, *arguments):
        done = self.coli("plan", "--json", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)


class PlanTest(Planned):
    def test_the_parts_of_the_built_in_model_are_all_there_is(self):
        report = self.plan("--ram", "1G")
        plan = report["plan"]
        self.assertTrue(plan["ok"])
        parts = sum(plan[part] for part in PARTS) + plan["sequences"] * plan["kv_bytes_per_sequence"]
        self.assertEqual(plan["total_bytes"], parts)
        self.assertLessEqual(plan["total_bytes"], plan["budget_bytes"])
        self.assertEqual((plan["experts_cached"], plan["experts"]), (160, 160))
        self.assertEqual(report["speed"]["limit"], "reading memory")
        self.assertEqual(report["speed"]["hit_rate"], 1)
        text = self.coli("plan").stdout
        for word in ("available", "stay for the rest", "weights", "KV cache", "activations", "learned", "160 of 160", "tok/s"):
            self.assertIn(word, text)
        self.assertNotIn("being read", text)  # every expert has its place

    def test_experts_leave_room_for_those_that_are_being_read(self):
        least = self.plan("--ram", "10M", "--ctx", "256")["plan"]["least_bytes"]
        options = ("--ctx", "256", "--ram", least + 3 * MIB)
        plan = self.plan(*options)["plan"]
        self.assertGreater(plan["reads_bytes"], 0)
        residents = plan["expert_cache_bytes"] - plan["reads_bytes"]
        self.assertLessEqual(plan["experts_cached"], plan["experts"] * residents // plan["expert_cache_bytes"])
        self.assertRegex(self.coli("plan", *options).stdout, "reads .*being read")

    def test_without_a_budget_the_reserve_is_left(self):
        report = self.plan("tests/golden/t0")
        memory = report["memory"]
        self.assertEqual(report["plan"]["budget_bytes"], memory["available_bytes"] - memory["reserve_bytes"])
        self.assertGreaterEqual(memory["reserve_bytes"], 512 * MIB)

    def test_what_does_not_fit_comes_with_what_would(self):
        plan = self.plan("--ram", "10M")["plan"]
        self.assertFalse(plan["ok"])
        self.assertIn("at least", plan["error"])
        least = plan["least_bytes"]
        self.assertTrue(self.plan("--ram", least)["plan"]["ok"])
        self.assertFalse(self.plan("--ram", least - 1)["plan"]["ok"])
        text = self.coli("plan", "--ram", "10M").stdout
        self.assertRegex(text, "does not fit .*at least")
        self.assertRegex(text, "what would .*a budget of")

    def test_the_kv_cache_in_bf16(self):
        plans = [self.plan("--kv", kv)["plan"] for kv in ("f32", "bf16")]
        self.assertEqual([plan["kv_format"] for plan in plans], ["f32", "bf16"])
        self.assertEqual(plans[0]["kv_bytes_per_sequence"], 2 * plans[1]["kv_bytes_per_sequence"])
        self.assertRegex(self.coli("plan", "--kv", "bf16").stdout, "KV cache .*bf16")
        unknown = self.coli("plan", "--kv", "f16")
        self.assert_error(unknown, "--kv", "f32", "bf16", 'found "f16"', status=2)

    def test_experts_that_convert_need_staging(self):
        plan = self.plan("tests/golden/t0", "--expert-format", "int4-g64")["plan"]
        self.assertGreater(plan["staging_bytes"], 0)


class SparseModelTest(Planned):
    """All 78 layers of GLM-5.2: every header is real, no weight is there."""

    def test_headers_alone_are_read_and_soon(self):
        model = self.home / "glm"
        self.assertEqual(self.coli("synth", "--shape", "glm-5.2", "--sparse", "--out", model).returncode, 0)
        self.assertLess(sum(file.stat().st_blocks * 512 for file in model.iterdir()), 64 * MIB)
        begin = os.times()
        started = time.monotonic()
        report = self.plan(model, "--ram", "24G")
        seconds = time.monotonic() - started
        end = os.times()
        computed = end.children_user + end.children_system - begin.children_user - begin.children_system
        print(f"planned in {seconds:.2f} s, {computed:.2f} s of them computing", flush=True)
        # By itself it computes for about a second; other tests run beside it.
        self.assertLess(computed, 3)
        plan = report["plan"]
        self.assertEqual(plan["experts"], 75 * 256)
        self.assertLess(plan["experts_cached"], plan["experts"])
        self.assertEqual([row["context"] for row in plan["contexts"]], [1 << bits for bits in range(10, 21, 2)])
        self.assertFalse(plan["contexts"][-1]["ok"])
        self.assertLess(report["speed"]["slowest_tokens_per_second"], report["speed"]["fastest_tokens_per_second"])


class PeakTest(Planned):
    """The program takes what its plan says: never more, and not much less once everything was used."""

    def peak(self, model, *options):
        """The largest resident size of a run that fills its context."""
        prompt = self.home / "prompt.txt"
        prompt.write_text("The quick brown fox jumps over the lazy dog. " * 30)
        words = [program.COLI, "run", "-q", "--json", "--raw", "--temp", "1", "--seed", "1", "-m", model, *options]
        with open(prompt, encoding="ascii") as text:
            process = subprocess.Popen(
                [str(word) for word in words], stdin=text, stdout=subprocess.PIPE, env=self.environment
            )
            answer = json.loads(process.stdout.read())
            process.stdout.close()
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss * 1024, answer

    def check(self, model, *options):
        plan = self.plan(model, *options)["plan"]
        peak, answer = self.peak(model, *options)
        total = plan["total_bytes"]
        print(f"planned {total / MIB:.1f} MiB, peak {peak / MIB:.1f} MiB", flush=True)
        self.assertLessEqual(peak, total)
        self.assertGreater(peak, total - max(64 * MIB, total // 50))
        return plan, answer

    def synth(self, name, *options):
        model = self.home / name
        done = self.coli("synth", "--out", model, "--seed", "3", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return model

    def test_of_the_built_in_model(self):
        self.check(program.SOURCE / "models/nano", "--ram", "500M")

    def test_of_a_model_whose_experts_do_not_fit(self):
        model = self.synth("mid", "--shape", "mid", "--layers", "4")
        plan, answer = self.check(model, "--ram", "400M", "--ctx", "512")
        self.assertLess(plan["experts_cached"], plan["experts"])
        self.assertGreater(answer["stats"]["expert_misses"], plan["experts_cached"])

    def test_of_a_model_with_experts_of_several_sizes(self):
        sizes = ("--shape", "custom", "--hidden", "1024", "--inner", "512", "--experts", "32", "--layers", "5")
        model = self.synth("mixed", *sizes)
        wide = self.synth("wide", *sizes, "--expert-format", "int8-row")
        (wide / "out-00005.safetensors").replace(model / "out-00005.safetensors")
        plan, answer = self.check(model, "--ram", "200M", "--ctx", "512")
        self.assertLess(plan["experts_cached"], plan["experts"])
        self.assertGreater(answer["stats"]["expert_misses"], plan["experts_cached"])


if __name__ == "__main__":
    program.main()
