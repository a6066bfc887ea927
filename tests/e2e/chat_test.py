#!/usr/bin/env python3
"""coli chat: behind a terminal as people use it, and with pipes as scripts do."""

import os
import re
import stat
import subprocess

import program

# With the endless model: an answer that goes on until somebody stops it.
SLOW = ("--temp", "0", "--cache-experts", "1", "--threads", "1")
SHORT = ("--temp", "0", "--max-tokens", "6")
STATS = r"prompt (\d+) \((\d+)\s+reused\)[^>]*stopped:\s+([^\n]*)\n"
INTERRUPT = "\x03"
END = "\x04"
UP = "\x1b[A"


class TerminalTest(program.ProgramTest):
    def chat(self, *arguments, **options):
        session = self.terminal("chat", *arguments, **options)
        session.expect("> ")
        return session

    def ask(self, session, text, timeout=60):
        """Sends a message and waits for the next prompt: prompt tokens, reused tokens, why it stopped."""
        session.send(text + "\r")
        match = session.expect(STATS, timeout)
        session.expect("> ")
        return int(match[1]), int(match[2]), match[3]

    def leave(self, session):
        session.send(END)
        self.assertEqual(session.wait(), 0)

    def test_a_turn_computes_only_what_is_new(self):
        session = self.chat(*SHORT)
        first, reused, _ = self.ask(session, "hello")
        self.assertEqual(reused, 0)
        second, reused, _ = self.ask(session, "and now?")
        self.assertGreaterEqual(reused, first)
        third, reused, _ = self.ask(session, "and then?")
        self.assertGreaterEqual(reused, second)
        self.assertGreater(third, second)
        self.leave(session)

    def test_reset_forgets_the_conversation(self):
        session = self.chat(*SHORT)
        first, _, _ = self.ask(session, "hello")
        self.assertGreater(self.ask(session, "hello")[0], first)
        session.send(":reset\r")
        session.expect("forgotten")
        session.expect("> ")
        self.assertEqual(self.ask(session, "hello")[0], first)
        self.leave(session)

    def test_more_continues_an_answer_that_was_cut(self):
        session = self.chat("-m", self.endless_model(), "--temp", "0", "--max-tokens", "4")
        first, _, reason = self.ask(session, "hello")
        self.assertIn("--max-tokens", reason)
        continued, reused, _ = self.ask(session, ":more")
        self.assertEqual(continued, first + 4)
        self.assertGreaterEqual(reused, first)
        self.assertEqual(self.ask(session, ":more")[0], first + 8)
        self.leave(session)

    def test_more_without_an_answer_is_explained(self):
        session = self.chat()
        session.send(":more\r")
        session.expect("no answer to continue")
        self.leave(session)

    def test_ctrl_c_stops_the_answer_and_keeps_the_conversation(self):
        session = self.chat("-m", self.endless_model(), *SLOW)
        reused_before = 0
        for message in ("hello", "go on", ":more"):
            session.send(message + "\r")
            session.expect(message + r"\n[^\n]{3,}")
            session.send(INTERRUPT)
            match = session.expect(STATS)
            self.assertEqual(match[3], "interrupted")
            self.assertGreaterEqual(int(match[2]), reused_before)
            reused_before = int(match[1])
            session.expect("> ")
        self.leave(session)

    def test_ctrl_c_before_the_answer_takes_the_question_back(self):
        session = self.chat(*SHORT, "--prefill-chunk", "1", "--cache-experts", "1", "--threads", "1")
        first, _, _ = self.ask(session, "hello")
        session.send("word " * 300 + "last")
        session.expect("last")
        session.send("\r")
        session.expect("\n")
        session.send(INTERRUPT)
        session.expect("the question is taken back")
        session.expect("> ")
        second, reused, _ = self.ask(session, "hello")
        self.assertLess(second, 100)
        self.assertGreaterEqual(reused, first)
        self.leave(session)

    def test_ctrl_c_at_an_empty_prompt_tells_how_to_leave(self):
        session = self.chat()
        for _ in range(2):
            session.send(INTERRUPT)
            session.expect("To leave, press Ctrl-D or type :quit")
            session.expect("> ")
        session.send("half a line")
        session.expect("half a line")
        session.send(INTERRUPT)
        session.expect(r"\^C\n> ")
        self.leave(session)

    def test_help_quit_and_unknown_commands(self):
        session = self.chat()
        session.send(":help\r")
        session.expect(":reset")
        session.send(":rest\r")
        session.expect("Unknown command :rest")
        session.send(":quit\r")
        self.assertEqual(session.wait(), 0)

    def test_history_survives_a_restart_and_is_private(self):
        session = self.chat(*SHORT)
        self.ask(session, "grüße aus dem süden")
        self.leave(session)
        history = self.home / ".local/state/colibri/history"
        self.assertEqual(stat.S_IMODE(history.stat().st_mode), 0o600)
        session = self.chat(*SHORT)
        session.send(UP)
        session.expect("grüße aus dem süden")
        self.ask(session, "!")
        self.leave(session)

    def test_no_history_leaves_nothing_behind(self):
        session = self.chat("--no-history", *SHORT)
        self.ask(session, "secret")
        self.leave(session)
        self.assertEqual(list(self.home.rglob("history*")), [])

    def test_no_state_directory_leaves_nothing_at_all_behind(self):
        session = self.chat("--state-dir", "none", *SHORT)
        self.ask(session, "secret")
        self.leave(session)
        self.assertEqual(list(self.home.rglob("*")), [])

    def test_a_history_that_is_no_file_is_left_alone(self):
        history = self.home / ".local/state/colibri/history"
        history.parent.mkdir(parents=True)
        for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
            make(history)
            kind = stat.S_IFMT(history.lstat().st_mode)
            session = self.chat(*SHORT)
            self.ask(session, "hello")
            self.leave(session)
            self.assertEqual(stat.S_IFMT(history.lstat().st_mode), kind)
            history.unlink()

    def test_the_new_history_is_not_written_through_a_fifo(self):
        history = self.home / ".local/state/colibri/history"
        history.parent.mkdir(parents=True)
        os.mkfifo(history.with_name("history.new"))
        session = self.chat(*SHORT)
        self.ask(session, "hello")
        self.leave(session)
        self.assertIn("hello", history.read_text())

    def test_a_terminal_of_absurd_size_gets_plain_lines(self):
        session = self.chat(*SHORT, columns=60000)
        self.ask(session, "hello")
        self.leave(session)
        self.assertNotIn("\x1b[?2004h", session.raw)

    def test_lines_can_be_edited(self):
        session = self.chat(*SHORT)
        plain, _, _ = self.ask(session, "hello")
        session.send(":reset\r")
        session.expect("> ")
        # "helo", back over the o, an l: the same message.
        self.assertEqual(self.ask(session, "helo\x1b[Dl")[0], plain)
        self.leave(session)

    def test_several_lines_are_one_message(self):
        session = self.chat(*SHORT)
        session.send('"""one\r')
        session.expect(r"\. ")
        session.send('two"""\r')
        block = int(session.expect(STATS)[1])
        session.expect("> ")
        session.send(":reset\r")
        session.expect("> ")
        session.send("\x1b[200~one\rtwo\x1b[201~")
        session.expect("two")
        self.assertEqual(self.ask(session, "")[0], block)
        self.leave(session)

    def test_no_color_and_forty_columns(self):
        session = self.chat(*SHORT, columns=40, environment={"NO_COLOR": "1"})
        self.ask(session, "hello")
        self.leave(session)
        self.assertIsNone(re.search(r"\x1b\[[0-9;]*m", session.raw))
        stats = session.text[session.text.index(" tok/s") - 20 :]
        for line in stats[: stats.index("stopped")].splitlines()[1:]:
            self.assertLessEqual(len(line), 40, line)

    def test_a_dumb_terminal_works_without_escape_sequences(self):
        session = self.chat(*SHORT, environment={"TERM": "dumb"})
        self.ask(session, "hello")
        self.leave(session)
        self.assertNotIn("\x1b", session.raw)

    def test_a_prompt_that_does_not_fit_keeps_the_chat_alive(self):
        session = self.chat(*SHORT, "--ctx", "32")
        session.send("word " * 60 + "\r")
        session.expect("no room for an answer; :reset")
        session.expect("> ")
        self.ask(session, "hello")
        self.leave(session)


class PipeTest(program.ProgramTest):
    def test_a_line_is_a_turn_and_standard_output_has_the_answers_only(self):
        done = self.coli("chat", *SHORT, stdin="hello\r\nand now?\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        turns = re.findall(r"prompt (\d+) \((\d+) reused\)", done.stderr)
        self.assertEqual(len(turns), 2)
        self.assertGreaterEqual(int(turns[1][1]), int(turns[0][0]))
        self.assertNotIn("> ", done.stdout)
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        single = self.coli("run", *SHORT, "hello")
        self.assertTrue(done.stdout.startswith(single.stdout))

    def test_commands_blocks_and_a_missing_last_newline(self):
        done = self.coli("chat", *SHORT, stdin='hello\n:reset\n"""\nhello\n"""\n\n:quit\nnever asked')
        self.assertEqual(done.returncode, 0, done.stderr)
        turns = re.findall(r"prompt (\d+) \(", done.stderr)
        self.assertEqual(len(turns), 2)
        self.assertEqual(turns[0], turns[1])
        self.assertEqual(len(re.findall(r"prompt \d+", self.coli("chat", *SHORT, stdin="hello").stderr)), 1)

    def test_a_failed_turn_shows_in_the_exit_status(self):
        done = self.coli("chat", *SHORT, "--ctx", "32", stdin="word " * 60 + "\nhello\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("coli: the prompt has", done.stderr)
        self.assertIn("stopped:", done.stderr)

    def test_standard_input_that_cannot_be_read_is_an_error(self):
        for redirection, reason in (("< /", "directory"), ("<&-", "descriptor")):
            done = subprocess.run(
                ["sh", "-c", f'"$0" chat {redirection}', str(program.COLI)],
                capture_output=True, text=True, env=self.environment, timeout=120, check=False,
            )
            self.assert_error(done, "standard input", reason)

    def test_a_line_without_end_is_an_error(self):
        self.assert_error(self.coli("chat", stdin=b"x" * (65 << 20)), "standard input", "67108864 bytes")

    def test_quiet_means_answers_and_errors_only(self):
        self.assertEqual(self.coli("chat", "-q", *SHORT, stdin="hello\n").stderr, "")


class WhatItKnowsTest(program.ProgramTest):
    def test_the_capital_of_france(self):
        done = self.coli("chat", "-q", "--temp", "0", stdin="What is the capital of France?\n")
        self.assertIn("Paris", done.stdout)


if __name__ == "__main__":
    program.main()
