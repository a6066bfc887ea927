"""Prove that fixtures catch the mistakes they exist for: make the mistake in slow_forward and
replay the committed fixture.

    mistakes.py [NAME...] --out tests/golden

Prints one line per fixture and mistake: error over the range against the tolerance, and how many
argmaxes differ. Exit code 1 if a mistake listed in the fixture's recipe would pass.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import sys

import numpy as np
from safetensors.numpy import load_file

from make import load_prompts
from recipes import RECIPES, Recipe
from replay import DRAFT_DEPTH, model_weights, slow_run, spread
from slow_forward import Rules

MISTAKES = {
    "latent eps 1e-5": {"latent_norm_eps": 1e-5},
    "latent eps 1e-6": {"latent_norm_eps": 1e-6},
    "k_norm eps 1e-5": {"k_norm_eps": 1e-5},
    "angles in double": {"angles": "f64"},
    "inverse frequencies in double": {"angles": "pow64"},
    "ties: higher position": {"ties": "higher"},
    "theta 10000": {"theta": 10000.0},
    "half-split rope": {"rope": "half"},
    "half-split indexer rope": {"indexer_rope": "half"},
    "indexer rope on the last dims": {"indexer_rope_first": False},
    "no k_norm bias": {"k_norm_bias": False},
    "no selection": {"selection": "dense"},
    "window instead of selection": {"selection": "window"},
    "groups masked with zero": {"group_mask": 0.0},
    "bias in the expert weights": {"bias_in_weights": True},
    "no renormalisation": {"renormalise": False},
    "renormalisation": {"renormalise": True},
    "scaled shared expert": {"scale_shared": True},
    "mtp: hidden first": {"mtp_concat": "hidden_first"},
    "mtp: hidden before model.norm": {"mtp_feed": "raw"},
    "mtp: recycled before shared_head.norm": {"mtp_recycle": "raw"},
}


@dataclasses.dataclass
class Damage:
    """Largest error over the range and number of differing argmaxes, over all judged tensors of a
    fixture.
    """

    error: float = 0.0
    argmaxes: int = 0
    rows: int = 0

    def compare(self, reference: np.ndarray, other: np.ndarray):
        self.error = max(self.error, float(np.abs(reference - other).max()) / spread(reference))
        self.argmaxes += int((reference.argmax(-1) != other.argmax(-1)).sum())
        self.rows += len(reference)


def replay(recipe: Recipe, folder: pathlib.Path, seed: int, mistake: dict) -> Damage:
    """Replay the committed cases with slow_forward under `mistake`."""
    _, weights = model_weights(recipe, seed)
    rules = dataclasses.replace(Rules(latent_norm_eps=recipe.latent_norm_eps), **mistake)
    tensors, damage = load_file(folder / "reference.safetensors"), Damage()
    for case in json.loads((folder / "reference.json").read_text())["cases"]:
        run = slow_run(recipe, weights, case["ids"], case.get("first_position", 0), rules)
        damage.compare(tensors[case["logits"]], run.logits)
        if recipe.mtp:
            damage.compare(tensors[case["mtp_logits"]], run.mtp)
        for step in range(DRAFT_DEPTH if run.drafts else 0):
            damage.compare(
                tensors[f"{case['name']}.mtp.depth.{step + 1}"],
                np.stack([d[step][1] for d in run.drafts]),
            )
    return damage


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("tests/golden"))
    args = parser.parse_args()
    prompts, missed = load_prompts(), 0
    for recipe in RECIPES:
        if not recipe.checks or (args.names and recipe.name not in args.names):
            continue
        seed = prompts[recipe.weights_of or recipe.name]["seed"]
        for check in recipe.checks:
            damage = replay(recipe, args.out / recipe.name, seed, MISTAKES[check])
            caught = damage.error > 2 * recipe.tolerance
            missed += not caught
            print(
                f"{recipe.name:12} {check:38} error {damage.error:8.1e} = "
                f"{damage.error / recipe.tolerance:8.0f} x tolerance, "
                f"argmax {damage.argmaxes:3}/{damage.rows:3}  {'caught' if caught else 'MISSED'}",
                flush=True,
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
