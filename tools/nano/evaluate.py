"""Measures the exported model with the program itself and writes the figures into its card.

usage: evaluate.py CHECKPOINT.pt --float FOLDER [--model models/nano] [--coli PATH] [--note TEXT]

FOLDER: the same weights unquantised (export.py --float). Runs `coli ask` on the held-out prompts and
`coli perplexity` on held-out conversations, both with both sets of weights.
"""

import argparse
import json
import subprocess
from pathlib import Path

import card
from corpus import Corpus

ROOT = Path(__file__).parents[2]
PROMPTS = Path(__file__).parent / "held_out.jsonl"
LONGEST_ANSWER = 96
TEXT_SEED, TEXT_CONVERSATIONS = 98, 300


def held_out_text() -> str:
    """Questions and answers of unseen phrasings, line by line."""
    corpus = Corpus(TEXT_SEED, held=True)
    turns = (turn for index in range(TEXT_CONVERSATIONS) for turn in corpus.conversation(index).turns)
    return "".join(f"{turn.user}\n{turn.answer}\n" for turn in turns)


def run(coli: Path, *arguments: object) -> dict:
    """What a command of the program says, as JSON."""
    done = subprocess.run([coli, *map(str, arguments), "--json"], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def measure(coli: Path, model: Path, text: Path) -> tuple[dict, dict]:
    ask = run(coli, "ask", PROMPTS, "--model", model, "--mtp", "--parallel", 8, "--max-tokens", LONGEST_ANSWER)
    return ask, run(coli, "perplexity", text, "--model", model)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--float", type=Path, required=True, dest="float_folder")
    parser.add_argument("--model", type=Path, default=ROOT / "models/nano")
    parser.add_argument("--coli", type=Path, default=ROOT / "coli")
    parser.add_argument("--note", default="", help="shown on top of the model card")
    options = parser.parse_args()
    text = ROOT / "build/nano/held_out.txt"
    text.write_text(held_out_text())
    measured = {}
    measured["ask"], measured["perplexity"] = measure(options.coli, options.model, text)
    measured["ask_float"], measured["perplexity_float"] = measure(options.coli, options.float_folder, text)
    (ROOT / "build/nano/measured.json").write_text(json.dumps(measured, indent=1))
    training = json.loads(options.checkpoint.with_suffix(".json").read_text())
    card.write(options.model, training, options.note, measured)


if __name__ == "__main__":
    main()
