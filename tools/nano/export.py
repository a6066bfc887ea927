"""Writes models/nano from a training checkpoint, and the same weights unquantised.

usage: export.py CHECKPOINT.pt [--out models/nano] [--note TEXT] [--float FOLDER]

--float: also a plain float32 checkpoint, for evaluate.py to compare with.
"""

import argparse
import json
import shutil
from pathlib import Path

import torch
from safetensors.numpy import save_file

import card
import container
import tokenizer as tokenizers
from settings import CONFIG, EOS_TOKENS

ROOT = Path(__file__).parents[2]
LARGEST_BYTES = 12_000_000


def write_settings(folder: Path, tokenizer_folder: Path) -> None:
    """config.json, generation_config.json and the tokenizer's files."""
    tokenizer, _ = tokenizers.load(tokenizer_folder)
    stops = [tokenizer.token_to_id(text) for text in EOS_TOKENS]
    config = CONFIG | {"eos_token_id": stops, "pad_token_id": stops[0]}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    generation = {"do_sample": True, "temperature": 0.7, "top_p": 0.9, "eos_token_id": stops, "pad_token_id": stops[0]}
    (folder / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tokenizer_folder / name, folder / name)


def export(checkpoint: Path, weights: dict[str, torch.Tensor], out: Path, note: str) -> None:
    part = out.with_name(out.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    write_settings(part, ROOT / "build/nano/tokenizer")
    container.write(part, weights)
    shutil.copy(Path(__file__).parent / "WORDNET-LICENSE", part / "WORDNET-LICENSE")
    training = json.loads(checkpoint.with_suffix(".json").read_text())
    card.write(part, training, note)
    size = sum(file.stat().st_size for file in part.iterdir())
    assert size <= LARGEST_BYTES, f"{part}: {size:,} bytes, at most {LARGEST_BYTES:,} allowed"
    old = out.with_name(out.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if out.exists():
        out.rename(old)
    part.rename(out)
    shutil.rmtree(old, ignore_errors=True)
    print(f"{out}: {size:,} bytes")


def export_float(weights: dict[str, torch.Tensor], model: Path, out: Path) -> None:
    """A plain checkpoint with the settings of `model`."""
    out.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(model / name, out / name)
    save_file(container.per_expert(weights), out / "model.safetensors", metadata={"format": "pt"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--out", type=Path, default=ROOT / "models/nano")
    parser.add_argument("--float", type=Path, dest="float_folder")
    parser.add_argument("--note", default="", help="shown on top of the model card")
    options = parser.parse_args()
    weights = torch.load(options.checkpoint)
    export(options.checkpoint, weights, options.out, options.note)
    if options.float_folder:
        export_float(weights, options.out, options.float_folder)


if __name__ == "__main__":
    main()
