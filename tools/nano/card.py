"""The model card of models/nano: only figures that were measured for these weights."""

from pathlib import Path

TEXT = """# The built-in model of colibri

A very small (17 million parameters, {size}) but real `glm_moe_dsa` model: latent attention, an
indexer that selects 32 keys, 32 routed experts and one shared, a layer for drafting tokens ahead.
It exists so that every feature of colibri can be tried and tested before any download. It knows a
small made-for-it world: greetings, capitals, small sums, opposites, hummingbirds, haiku, short
definitions, what you told it earlier in the chat, small JSON objects and two tools. Outside of
that it should say that it does not know; it is not a source of facts.

{note}## Contents
| file | what |
|---|---|
| `out-00000.safetensors` | main layers: routed experts int4 in groups of 64, other matrices int8 per row |
| `out-mtp-00000.safetensors` | the drafting (MTP) layer, same formats |
| `out-idx-00000.safetensors` | the indexers of the main layers |
| `tokenizer.json` | byte-level BPE, 3,072 entries, GLM's pre-tokenizer pattern and special tokens |

## Measured
{figures}

## Licence
Weights and files: Apache-2.0, made with `tools/nano` from texts generated there. The definitions of
words come from WordNet 3.0, Copyright 2006 by Princeton University, used under the WordNet licence
(`WORDNET-LICENSE`); Princeton University does not endorse this model.
"""

# Figures of training, by their names in the checkpoint's report.
FIGURES = {
    "step": "training steps of the last phase",
    "loss": "validation loss, float weights, dense attention, nats per token",
    "dense_loss_60": "loss on 60 validation conversations, dense attention",
    "sparse_loss_60": "the same with the 32 keys that the indexer selects",
}


def training_rows(training: dict) -> list[str]:
    rows = ["| training | |", "|---|---|"]
    for key, label in FIGURES.items():
        if key in training:
            value = training[key]
            rows.append(f"| {label} | {value if isinstance(value, int) else format(value, '.4f')} |")
    return rows


def measured_rows(measured: dict) -> list[str]:
    """measured: evaluate.py's; `coli ask --json` of these weights and of the float ones."""
    ours, plain = measured["ask"], measured["ask_float"]
    rows = [
        "",
        "By the program itself, on the prompts of `tools/nano/held_out.jsonl`, greedily, selection active, answers",
        "of at most 96 tokens: `python evaluate.py CHECKPOINT --float FOLDER` in `tools/nano` runs `coli ask --mtp` and",
        "`coli perplexity`. The same by hand: `coli ask tools/nano/held_out.jsonl --max-tokens 96 --mtp`.",
        "",
        "| kind of prompt | right | of | float weights |",
        "|---|---|---|---|",
    ]
    for kind, count in ours["kinds"].items():
        rows.append(f"| {kind} | {count['right']} | {count['prompts']} | {plain['kinds'][kind]['right']} |")
    rows.append(f"| **all** | {ours['right']} ({ours['share']:.1%}) | {ours['prompts']} | {plain['right']} |")
    rows += ["", "| figure | these weights | float weights |", "|---|---|---|"]
    if "mtp" in ours:
        rows.append(
            f"| first drafts of the MTP layer accepted | {ours['mtp']['share']:.1%} | {plain['mtp']['share']:.1%} |"
        )
    rows.append(
        f"| bits per byte of held-out questions and answers as plain lines, outside of the chat format"
        f" (window {measured['perplexity']['window']}, stride {measured['perplexity']['stride']}) | {measured['perplexity']['bits_per_byte']:.4f} |"
        f" {measured['perplexity_float']['bits_per_byte']:.4f} |"
    )
    return rows


def write(folder: Path, training: dict, note: str, measured: dict | None = None) -> None:
    """Writes README.md into a model folder whose other files are there."""
    size = sum(file.stat().st_size for file in folder.iterdir() if file.name != "README.md")
    rows = training_rows(training) + (measured_rows(measured) if measured else [])
    text = TEXT.format(figures="\n".join(rows), note=f"**{note}**\n\n" if note else "", size=f"{size / 1e6:.1f} MB")
    (folder / "README.md").write_text(text)
