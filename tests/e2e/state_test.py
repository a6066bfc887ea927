#!/usr/bin/env python3
"""The state directory: what it holds, who can read it, and that nothing in it changes an answer."""

import os
import random
import signal
import sqlite3
import stat
import subprocess
import time

import program

ANSWER = ("--temp", "0", "--max-tokens", "12", "--cache-experts", "20")
PROMPT = "What is the capital of France?"


class StateTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.state = self.home / "state"
        self.database = self.state / "usage.db"

    def answer(self, *arguments):
        done = self.coli("run", *ANSWER, "--state-dir", self.state, *arguments, PROMPT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def uses(self):
        connection = sqlite3.connect(self.database)
        try:
            self.assertEqual(connection.execute("PRAGMA integrity_check").fetchone(), ("ok",))
            return connection.execute("SELECT coalesce(sum(uses), 0) FROM usage").fetchone()[0]
        finally:
            connection.close()

    def test_statistics_grow_and_are_private(self):
        first = self.answer()
        once = self.uses()
        second = self.answer()
        self.assertGreater(once, 0)
        self.assertGreater(self.uses(), once)
        self.assertEqual(first.stdout, second.stdout)
        self.assertEqual(stat.S_IMODE(self.state.stat().st_mode), 0o700)
        for file in self.state.iterdir():
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600, file)

    def test_the_default_follows_xdg(self):
        self.coli("run", *ANSWER, PROMPT)
        self.assertTrue((self.home / ".local/state/colibri/usage.db").exists())
        self.coli("run", *ANSWER, PROMPT, environment={"XDG_STATE_HOME": str(self.home / "xdg")})
        self.assertTrue((self.home / "xdg/colibri/usage.db").exists())

    def test_none_keeps_nothing(self):
        done = self.coli("run", *ANSWER, "--state-dir", "none", PROMPT)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(list(self.home.rglob("*")), [])

    def test_never_in_the_directory_of_the_model(self):
        model = self.copy_model("models/nano")
        for place in (model, model / "state"):
            done = self.coli("run", *ANSWER, "-m", model, "--state-dir", place, PROMPT)
            self.assert_error(done, "--state-dir", "outside the model's")

    def test_random_statistics_change_no_answer(self):
        expected = self.answer().stdout
        numbers = random.Random(1)
        for _ in range(3):
            connection = sqlite3.connect(self.database)
            for layer, expert in connection.execute("SELECT layer, expert FROM usage").fetchall():
                connection.execute(
                    "UPDATE usage SET uses = ?, score = ? WHERE layer = ? AND expert = ?",
                    (numbers.randrange(1 << 40), numbers.random() * 10, layer, expert),
                )
            connection.commit()
            connection.close()
            done = self.answer()
            self.assertEqual(done.stdout, expected)
            self.assertNotIn("note:", done.stderr)

    def test_whatever_is_wrong_costs_one_line(self):
        expected = self.answer().stdout
        good = self.database.read_bytes()

        def damaged():
            self.database.write_bytes(b"x" * 9000)

        def cut():
            self.database.write_bytes(good[: len(good) // 2 + 100])

        def newer():
            self.database.write_bytes(good)
            connection = sqlite3.connect(self.database)
            connection.execute("PRAGMA user_version = 2")
            connection.close()

        def a_directory():
            self.database.unlink()
            self.database.mkdir()

        for fault in (damaged, cut, newer, a_directory):
            fault()
            done = self.answer("-q")
            self.assertEqual((done.stdout, done.stderr), (expected, ""))
            fault() if self.database.is_file() else None
            done = self.answer()
            self.assertEqual(done.stdout, expected)
            notes = [line for line in done.stderr.splitlines() if "statistics" in line]
            self.assertEqual(len(notes), 1, (fault.__name__, done.stderr))
            self.assertTrue(notes[0].startswith("coli: note: usage statistics are not used: "), notes[0])
        self.assertTrue((self.state / "usage.db.damaged").exists())

    def test_a_killed_chat_leaves_a_good_database(self):
        self.answer()
        before = self.uses()
        for delay in (0.05, 0.1, 0.2, 0.4, 0.8):
            chat = subprocess.Popen(
                [str(program.COLI), "chat", *ANSWER, "--state-dir", str(self.state)],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment,
            )
            chat.stdin.write(b"hello\n" * 20)
            chat.stdin.flush()
            time.sleep(delay)
            os.kill(chat.pid, signal.SIGKILL)
            chat.wait()
            chat.stdin.close()
            self.assertGreaterEqual(self.uses(), before)
        self.assertNotIn("note:", self.answer().stderr)

    def test_two_at_once(self):
        running = [
            subprocess.Popen(
                [str(program.COLI), "run", *ANSWER, "--state-dir", str(self.state), PROMPT],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment,
            )
            for _ in range(3)
        ]
        outputs = [process.communicate(timeout=120) for process in running]
        self.assertEqual([process.returncode for process in running], [0, 0, 0])
        self.assertEqual(len({out for out, _ in outputs}), 1)
        for _, err in outputs:
            self.assertNotIn(b"note:", err)
        together = self.uses()
        self.answer()
        self.assertEqual(4 * together, 3 * self.uses())


class ModeTest(program.ProgramTest):
    def test_one_line_says_what_runs(self):
        for arguments in (("run", "hi"), ("perplexity", "text")):
            (self.home / "text").write_text("The capital of France is Paris.")
            done = self.coli(*arguments, "--threads", "1", "--ram", "200M", cwd=self.home)
            modes = [line for line in done.stderr.splitlines() if line.startswith("coli: mode: ")]
            self.assertEqual(len(modes), 1, done.stderr)
            self.assertRegex(modes[0], r"200 MiB in all, room for \d+ of \d+ experts; 1 thread, \w+$")
            self.assertNotIn("mode:", self.coli(*arguments, "-q", cwd=self.home).stderr)


if __name__ == "__main__":
    program.main()
