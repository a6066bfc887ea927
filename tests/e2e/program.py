"""The program under test: coli as a process with pipes, or behind a terminal.

Every X_test.py here is called as: python3 X_test.py PATH_OF_COLI [SOURCE_DIR]
"""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
from pathlib import Path

COLI = Path()
SOURCE = Path(__file__).resolve().parents[2]
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>]|[()][A-Z0-9]|\][^\x07]*\x07)")


def main():
    """Runs the tests of the calling script."""
    global COLI, SOURCE
    if len(sys.argv) < 2:
        sys.exit("usage: X_test.py PATH_OF_COLI [SOURCE_DIR]")
    COLI = Path(sys.argv[1]).resolve()
    if len(sys.argv) > 2:
        SOURCE = Path(sys.argv[2]).resolve()
    unittest.main(argv=sys.argv[:1], verbosity=2)


def read_safetensors(path):
    """Header and data of a file."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def write_safetensors(path, header, data):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class ProgramTest(unittest.TestCase):
    """A test with a home directory of its own."""

    def setUp(self):
        self.home = Path(tempfile.mkdtemp(prefix="coli-test-"))
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(("COLI_", "XDG_"))}
        self.environment.update(HOME=str(self.home), TERM="xterm", LC_ALL="C.UTF-8")
        self.environment.pop("NO_COLOR", None)

    def coli(self, *arguments, stdin=b"", environment=None, timeout=120, **how):
        """Runs coli to its end; the result has returncode, stdout and stderr as text."""
        done = subprocess.run(
            [str(COLI), *map(str, arguments)],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env={**self.environment, **(environment or {})},
            timeout=timeout,
            check=False,
            **how,
        )
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    def assert_error(self, done, *words, status=1):
        """One clear line on stderr, nothing on stdout, the right status and no signal."""
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        notes = ("coli: using the small built-in model", "coli: mode: ")
        errors = [line for line in done.stderr.splitlines() if not line.startswith(notes)]
        self.assertEqual(len(errors), 1, done.stderr)
        self.assertTrue(errors[0].startswith("coli: "), errors[0])
        for word in words:
            self.assertIn(word, errors[0])

    def copy_model(self, source):
        """A copy of a model of the source tree, to be damaged."""
        target = self.home / "model"
        shutil.copytree(SOURCE / source, target)
        return target

    def endless_model(self):
        """The built-in model without an end: its control tokens have logit 0, which greedy decoding never takes."""
        model = self.copy_model("models/nano")
        tokens = json.loads((model / "tokenizer.json").read_text())["added_tokens"]
        file = model / "out-00000.safetensors"
        header, data = read_safetensors(file)
        begin = header["lm_head.weight.qs"]["data_offsets"][0]
        for token in tokens:
            at = begin + 4 * token["id"]
            data = data[:at] + bytes(4) + data[at + 4 :]
        write_safetensors(file, header, data)
        return model

    def terminal(self, *arguments, columns=100, environment=None):
        session = Terminal([str(COLI), *map(str, arguments)], {**self.environment, **(environment or {})}, columns)
        self.addCleanup(session.close)
        return session


class Terminal:
    """coli behind a pseudo-terminal. `text` is all it has shown, without escape sequences; `raw` has them."""

    def __init__(self, command, environment, columns):
        self.raw = ""
        self.status = None
        self.seen = 0  # of `text`, up to the end of the last expectation
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.execve(command[0], command, environment)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    @property
    def text(self):
        return ESCAPES.sub("", self.raw).replace("\r\n", "\n")

    def pump(self, seconds):
        """Reads what comes within a time; False at the end of the output."""
        ready, _, _ = select.select([self.descriptor], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.descriptor, 65536)
        except OSError:
            return False
        self.raw += data.decode(errors="replace")
        return bool(data)

    def expect(self, pattern, timeout=60):
        """Waits for a regular expression in the text after the last match and gives the match."""
        deadline = time.monotonic() + timeout
        while True:
            match = re.compile(pattern).search(self.text, self.seen)
            if match:
                self.seen = match.end()
                return match
            if time.monotonic() > deadline or not self.pump(0.1):
                raise AssertionError(f"no {pattern!r} in {self.text[self.seen:]!r}")

    def send(self, text):
        """Types. A line editor throws away what comes before it has switched the terminal to its own mode, so keys
        other than Ctrl-C wait for that; without a line editor the wait ends by itself."""
        deadline = time.monotonic() + (0 if text == "\x03" else 1)
        while time.monotonic() < deadline and termios.tcgetattr(self.descriptor)[3] & termios.ICANON:
            self.pump(0.01)
        os.write(self.descriptor, text.encode())

    def wait(self, timeout=60):
        """The exit status, negative for a signal."""
        deadline = time.monotonic() + timeout
        while self.status is None:
            self.pump(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                raise AssertionError(f"coli still runs: {self.text[self.seen:]!r}")
        return self.status

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.status = -signal.SIGKILL
        os.close(self.descriptor)
