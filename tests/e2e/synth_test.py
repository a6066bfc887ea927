#!/usr/bin/env python3
"""coli synth: what it writes is a model; what it cannot write is said."""

import json
import signal
import subprocess
import time

import program


class SynthTest(program.ProgramTest):
    def test_a_model_that_runs(self):
        out = self.home / "m"
        done = self.coli("synth", "--out", out, "--layers", "3", "--seed", "5")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        info = json.loads(self.coli("info", out, "--json").stdout)
        self.assertEqual(info["model"]["type"], "glm_moe_dsa")
        answer = json.loads(self.coli("run", "-m", out, "--json", "--temp", "0", "--max-tokens", "5", "hi").stdout)
        self.assertIn(answer["completion_tokens"], range(1, 6))  # it may end itself
        again = self.coli("synth", "--out", out)
        self.assert_error(again, "a new or an empty directory")

    def test_wrong_flags(self):
        self.assert_error(self.coli("synth"), "--out", status=2)
        self.assert_error(self.coli("synth", "--out", self.home / "a", "--hidden", "512"), "custom", status=2)
        self.assert_error(self.coli("synth", "--out", self.home / "a", "--shape", "huge"), "glm-5.2", status=2)
        custom = ("synth", "--out", self.home / "a", "--shape", "custom", "--experts", "4", "--active", "8")
        self.assert_error(self.coli(*custom), "--active", status=2)
        keep = ("synth", "--out", self.home / "a", "--expert-format", "keep")
        self.assert_error(self.coli(*keep), "--expert-format", 'found "keep"', status=2)
        self.assertFalse((self.home / "a").exists())

    def test_interrupted_it_leaves_no_model(self):
        out = self.home / "m"
        words = [program.COLI, "synth", "--shape", "mid", "--out", out]
        with subprocess.Popen(words, stderr=subprocess.PIPE, env=self.environment) as process:
            deadline = time.monotonic() + 30
            while not list(out.glob("*.safetensors")) and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertFalse(out.exists())


if __name__ == "__main__":
    program.main()
