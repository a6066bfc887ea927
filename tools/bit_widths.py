#!/usr/bin/env python3
"""The cost of narrower weights: a grid of formats for experts and for dense weights.

    tools/bit_widths.py COLI FIXTURE...

Replays the reference fixtures (docs/validate.md) with every pair of formats, quantised when they are
loaded, and prints a Markdown table: how many argmaxes under teacher forcing equal the reference's,
and the largest error of a logit over the range of its case. The fixtures must hold plain weights.
"""

import json
import subprocess
import sys

FORMATS = ("bf16", "int8-row", "int4-g64", "int2-row")


def replay(coli: str, fixture: str, experts: str, dense: str) -> list[dict]:
    """The cases of the report. Exit status 1 only says that a tolerance is exceeded."""
    command = [coli, "validate", fixture, "--json", "--quiet"]
    command += ["--expert-format", experts, "--dense-format", dense]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)["cases"]


def cell(coli: str, fixtures: list[str], experts: str, dense: str) -> str:
    cases = [case for fixture in fixtures for case in replay(coli, fixture, experts, dense)]
    matches = sum(case["matches"] for case in cases)
    positions = sum(case["positions"] for case in cases)
    error = max(case["max_logit_error_over_range"] for case in cases)
    return f"{matches} of {positions}, {error:.1e}"


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    coli, fixtures = sys.argv[1], sys.argv[2:]
    print("| experts \\ dense | " + " | ".join(FORMATS) + " |")
    print("|---" * (len(FORMATS) + 1) + "|")
    for experts in FORMATS:
        cells = [cell(coli, fixtures, experts, dense) for dense in FORMATS]
        print(f"| **{experts}** | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
