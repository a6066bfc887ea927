#!/usr/bin/env python3
"""coli within the memory limit of a control group: it plans with what the group leaves and is not killed."""

import json
import os
import subprocess
from pathlib import Path

import program

MIB = 1 << 20


class Group:
    """A control group with a memory limit, of version 1 or 2. `reason` says why there is none."""

    def __init__(self, limit):
        self.folder = None
        self.reason = "no control group of memory can be made here"
        for base, name in (
            (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
            (Path("/sys/fs/cgroup"), "memory.max"),
        ):
            folder = base / f"coli-test-{os.getpid()}"
            try:
                folder.mkdir()
            except OSError as error:
                self.reason = f"{folder}: {error.strerror}"
                continue
            try:
                (folder / name).write_text(str(limit))
                self.folder = folder
                return
            except OSError as error:
                self.reason = f"{folder / name}: {error.strerror}"
                folder.rmdir()

    def enter(self):
        """Of a child before it runs its program."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def kills(self):
        """Processes that the system killed because the group was out of memory."""
        text = "".join(
            (self.folder / name).read_text()
            for name in ("memory.oom_control", "memory.events")
            if (self.folder / name).exists()
        )
        return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("oom_kill "))

    def close(self):
        if self.folder:
            self.folder.rmdir()


class GroupTest(program.ProgramTest):
    LIMIT = 600 * MIB

    def setUp(self):
        super().setUp()
        self.group = Group(self.LIMIT)
        self.addCleanup(self.group.close)
        if not self.group.folder:
            self.skipTest(self.group.reason)

    def run_inside(self, *arguments):
        done = subprocess.Popen(
            [str(program.COLI), *map(str, arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=self.environment, preexec_fn=self.group.enter,
        )
        output = done.stdout.read()
        done.stdout.close()
        _, status, usage = os.wait4(done.pid, 0)
        done.returncode = os.waitstatus_to_exitcode(status)
        return done.returncode, output, usage.ru_maxrss * 1024

    def synth(self):
        model = self.home / "m"
        self.assertEqual(self.coli("synth", "--shape", "mid", "--layers", "4", "--out", model).returncode, 0)
        return model

    def test_a_model_larger_than_the_limit_runs_within_it(self):
        model = self.synth()
        status, output, _ = self.run_inside("plan", "--json", "--ctx", "256", model)
        self.assertEqual(status, 0)
        report = json.loads(output)
        self.assertLessEqual(report["memory"]["group_bytes"], self.LIMIT)
        self.assertLess(report["plan"]["budget_bytes"], self.LIMIT)
        self.assertLess(report["plan"]["experts_cached"], report["plan"]["experts"])

        words = ("run", "-q", "--json", "--raw", "--ctx", "256", "--seed", "1", "-m", model, "Once upon a time " * 20)
        status, output, peak = self.run_inside(*words)

        self.assertEqual(status, 0)
        self.assertEqual(json.loads(output)["finish_reason"], "context")
        self.assertLess(peak, self.LIMIT)
        self.assertEqual(self.group.kills(), 0)

    def test_a_budget_just_below_the_limit_kills_nobody(self):
        """Files that are read through the system's cache make it full besides."""
        model = self.synth()
        budget = self.LIMIT - 16 * MIB
        words = ("run", "-q", "--json", "--raw", "--ctx", "256", "--seed", "1", "--ram", budget, "--direct", "off", "-m")

        status, output, peak = self.run_inside(*words, model, "Once upon a time " * 20)

        self.assertEqual(status, 0)
        self.assertEqual(json.loads(output)["finish_reason"], "context")
        self.assertLessEqual(peak, budget)
        self.assertEqual(self.group.kills(), 0)


if __name__ == "__main__":
    program.main()
