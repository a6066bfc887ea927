"""Make the reference fixtures.

make.py [NAME...] --out DIR          write fixtures, all or those named; same versions, same bytes
make.py --check [NAME...] --out DIR  compare committed fixtures with a fresh run
make.py --search NAME...             look for prompts with comfortable margins, into prompts.json
"""

from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import sys
import tempfile

import numpy as np
import torch
from safetensors.numpy import load_file
from safetensors.torch import save_file

from checkpoint import arrange, dump_json, save_plain
from container import save_container
from recipes import RECIPES, Recipe
from replay import DRAFT_DEPTH, agree, model_weights, run_reference, slow_model, verified_margin
from search import Searcher

PROMPTS = pathlib.Path(__file__).with_name("prompts.json")
FIRST_SEED, SEEDS = 1, 40


def load_prompts() -> dict:
    return json.loads(PROMPTS.read_text()) if PROMPTS.exists() else {}


def search(recipe: Recipe) -> dict:
    """{"seed": s, "prompts": {case: ids}}: the first seed that has good prompts for all cases."""
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        _, weights = model_weights(recipe, seed)
        prompts = {}
        for number, case in enumerate(recipe.cases):
            rng = np.random.default_rng([seed, number])
            searcher = Searcher(
                slow_model(recipe, weights, case.first_position),
                rng,
                recipe.margin,
                recipe.logit_gap,
                recipe.config["vocab_size"],
            )
            ids = searcher.find(case.prompt_length, case.total, case.distinct)
            if ids is None:
                break
            prompts[case.name] = ids[: case.prompt_length]
        if len(prompts) == len(recipe.cases):
            return {"seed": seed, "prompts": prompts}
    raise SystemExit(f"{recipe.name}: no seed in {SEEDS} has good margins")


def make(recipe: Recipe, prompts: dict, out: pathlib.Path) -> str:
    """Write the fixture `recipe` into out/NAME; returns a line for the log."""
    found = prompts[recipe.weights_of or recipe.name]
    original, weights = model_weights(recipe, found["seed"])
    folder = out / recipe.name
    cases, tensors, lines, depth = [], {}, [], []
    for case in recipe.cases:
        ids, made = run_reference(recipe, weights, case, found["prompts"][case.name])
        margin, line = verified_margin(recipe, weights, case, ids, made)
        entry = {
            "name": case.name,
            "ids": ids,
            "prompt_length": case.prompt_length,
            "greedy": True,
            "logits": f"{case.name}.logits",
        }
        if recipe.mtp:
            entry["mtp_logits"] = f"{case.name}.mtp.logits"
        if case.first_position:
            entry["first_position"] = case.first_position
        entry.update(
            {
                "min_margin": float(f"{margin:.3g}") if np.isfinite(margin) else 1.0,
                "inconclusive_positions": [],
            }
        )
        cases.append(entry)
        tensors.update(made)
        lines.append(line)
        for number, row in enumerate(recipe.mtp_depth_rows):
            drafts = [
                int(made[f"{case.name}.mtp.depth.{step + 1}"][number].argmax())
                for step in range(DRAFT_DEPTH)
            ]
            depth.append({"case": case.name, "index": number, "row": row, "drafts": drafts})
    write_folder(recipe, folder, original, cases, tensors, depth)
    size = sum(path.stat().st_size for path in folder.iterdir())
    return f"{recipe.name:18} {size / 1024:7.0f} KiB  " + ("\n" + " " * 33).join(lines)


def write_folder(
    recipe: Recipe, folder: pathlib.Path, weights: dict, cases: list, tensors: dict, depth: list
) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    layers = recipe.config["num_hidden_layers"]
    if recipe.mtp_copies:
        weights = {
            **weights,
            f"model.layers.{layers}.embed_tokens.weight": weights["model.embed_tokens.weight"],
            f"model.layers.{layers}.shared_head.head.weight": weights["lm_head.weight"],
        }
    if recipe.container:
        save_container(folder, weights, recipe.container, layers)
    else:
        stored = arrange(weights, recipe.layout, recipe.dtype, recipe.kept)
        save_plain(folder, stored, recipe.shards, recipe.index)
    source = (
        {"implementation": "colibri tools/oracle/slow_forward", "version": "1", "dtype": "float64"}
        if recipe.own_oracle
        else {"implementation": "transformers", "version": "5.24.0", "dtype": "float32"}
    )
    dump_json(folder / "config.json", recipe.config)
    dump_json(
        folder / "reference.json",
        {
            "schema": "colibri.reference/1",
            "source": source,
            "engine_options": {"latent_norm_eps": recipe.latent_norm_eps},
            "tolerance": {"logit_error_over_range": recipe.tolerance},
            "cases": cases,
        },
    )
    if depth:
        dump_json(folder / "mtp_depth.json", {"schema": "colibri.mtp_depth/1", "starts": depth})
    save_file(
        {
            name: torch.from_numpy(np.ascontiguousarray(value, np.float32))
            for name, value in tensors.items()
        },
        folder / "reference.safetensors",
    )
    for path in folder.iterdir():
        path.chmod(0o644)


def check(recipe: Recipe, prompts: dict, out: pathlib.Path) -> str:
    """Compare with a fresh fixture: files equal, logits within a tenth of the tolerance."""
    with tempfile.TemporaryDirectory() as fresh:
        make(recipe, prompts, pathlib.Path(fresh))
        old, new = out / recipe.name, pathlib.Path(fresh) / recipe.name
        if sorted(p.name for p in old.iterdir()) != sorted(p.name for p in new.iterdir()):
            raise SystemExit(f"{recipe.name}: other files than a fresh run makes")
        for path in sorted(new.iterdir()):
            if path.name == "reference.safetensors":
                old_tensors, new_tensors = load_file(old / path.name), load_file(path)
                if old_tensors.keys() != new_tensors.keys():
                    raise SystemExit(f"{recipe.name}: other tensors in {path.name}")
                for name, value in new_tensors.items():
                    agree(f"{recipe.name} {name}", value, old_tensors[name], recipe.tolerance / 10)
            elif path.read_bytes() != (old / path.name).read_bytes():
                raise SystemExit(f"{recipe.name}: {path.name} differs from a fresh run")
    return f"{recipe.name:18} ok"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("tests/golden"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--search", action="store_true")
    args = parser.parse_args()
    unknown = set(args.names) - {recipe.name for recipe in RECIPES}
    if unknown:
        parser.error(f"no such fixture: {', '.join(sorted(unknown))}")
    prompts = load_prompts()
    for recipe in RECIPES:
        if args.names and recipe.name not in args.names:
            continue
        if args.search:
            if not recipe.weights_of:
                prompts[recipe.name] = search(recipe)
                PROMPTS.write_text(json.dumps(prompts, sort_keys=True) + "\n")
        else:
            print((check if args.check else make)(recipe, prompts, args.out), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
