"""What the process takes stays within --ram, and --cache-experts is felt.

Called as memory_test.py PATH_OF_COLI [SOURCE_DIR].
"""

import json
import subprocess
import sys
import unittest

COLI = sys.argv[1]


def resident_bytes(*options):
    run = subprocess.run(
        [COLI, "run", "--json", "-q", "--temp", "0", "--max-tokens", "40", *options,
         "Tell me about hummingbirds."],
        capture_output=True, check=True, timeout=120)
    return json.loads(run.stdout)["stats"]["resident_bytes"]


class Memory(unittest.TestCase):
    def test_stays_within_the_budget(self):
        for megabytes in (90, 120, 500):
            self.assertLessEqual(resident_bytes("--ram", f"{megabytes}MB"), megabytes * 10**6)

    def test_a_small_expert_cache_takes_less_than_one_that_holds_all(self):
        small = resident_bytes("--cache-experts", "1")
        large = resident_bytes()
        # All 160 experts are 6.9 MiB; the answer uses most of them.
        self.assertLess(small + 2 * 2**20, large)

    def test_a_budget_that_is_too_small_is_refused(self):
        run = subprocess.run([COLI, "run", "--ram", "20MB", "hi"], capture_output=True, timeout=60)
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stdout, b"")
        self.assertIn(b"at least", run.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
