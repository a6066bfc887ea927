"""The model card of models/nano: only figures that were measured for these weights."""

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


def text(training: dict, note: str, evaluation: dict | None, size: int) -> str:
    """training: the checkpoint's validation figures; evaluation: evaluate.py's result for these
    weights, if there is one; size: bytes of the whole folder."""
    lines = ["| figure | value |", "|---|---|"]
    names = {
        "step": "training steps",
        "loss": "validation loss (float weights, dense attention), nats per token",
        "dense_loss_60": "loss on the first 60 validation conversations, dense attention",
        "sparse_loss_60": "the same with the indexer's top 32",
        "mtp_acceptance": "drafted tokens equal to the model's own greedy choice (validation text, float)",
    }
    for key, label in names.items():
        if key in training:
            value = training[key]
            lines.append(f"| {label} | {value if isinstance(value, int) else format(value, '.4f')} |")
    if evaluation:
        asked = "all" if evaluation["every"] == 1 else f"one in {evaluation['every']}"
        label = f"held-out prompts right ({asked}; these quantised weights, greedy, top-32 selection)"
        lines.append(f"| {label} | {evaluation['right']} of {evaluation['total']} |")
        lines += ["", "| kind | right | of |", "|---|---|---|"]
        lines += [f"| {kind} | {right} | {total} |" for kind, (right, total) in sorted(evaluation["kinds"].items())]
    return TEXT.format(figures="\n".join(lines), note=f"**{note}**\n\n" if note else "", size=f"{size / 1e6:.1f} MB")
