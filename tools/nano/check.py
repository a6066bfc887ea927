"""Compares the exported model in transformers' own class with the training implementation.

usage: check.py [--model models/nano]

Loads the dequantised container into GlmMoeDsaForCausalLM (eager attention and experts), asserts
that only MTP tensors are unexpected and none is missing, and compares logits on held-out prompts.
Rows where the two implementations select different keys (near ties) would show as outliers.
"""

import argparse
import json
import tempfile
from pathlib import Path

import torch
from transformers import AutoConfig, AutoTokenizer, GlmMoeDsaForCausalLM

import container
from batch import make_batch
from export import export_float
from model import Model
from settings import CONFIG, MTP_LAYER

ROOT = Path(__file__).parents[2]
PROMPTS = 12
LARGEST_ERROR = 1e-4  # of the logits' range


def prompt_ids(tokenizer, prompt: dict) -> list[int]:
    """The tokens of a held-out prompt, by the shipped chat template."""
    text = tokenizer.apply_chat_template(
        prompt["messages"],
        tools=prompt["tools"] or None,
        enable_thinking=prompt["thinking"],
        add_generation_prompt=True,
        tokenize=False,
    )
    return tokenizer.encode(text, add_special_tokens=False)


def reference(folder: Path) -> GlmMoeDsaForCausalLM:
    config = AutoConfig.from_pretrained(folder)
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    model, report = GlmMoeDsaForCausalLM.from_pretrained(
        folder, config=config, dtype=torch.float32, output_loading_info=True
    )
    assert not report["missing_keys"], report["missing_keys"]
    strange = [k for k in report["unexpected_keys"] if not k.startswith(f"model.layers.{MTP_LAYER}.")]
    assert not strange, strange
    for name, module in model.named_modules():
        # The class leaves these at 1e-6, whatever the config says; training used rms_norm_eps.
        if name.endswith(("q_a_layernorm", "kv_a_layernorm")):
            module.variance_epsilon = CONFIG["rms_norm_eps"]
    return model.eval()


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=Path, default=ROOT / "models/nano")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ours = Model(container.read(options.model), sparse=True)
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    prompts = [json.loads(line) for line in (Path(__file__).parent / "held_out.jsonl").open()]
    prompts = sorted((prompt_ids(tokenizer, p) for p in prompts), key=len)[:: max(1, len(prompts) // PROMPTS)]
    with tempfile.TemporaryDirectory() as folder:
        export_float(container.read(options.model), options.model, Path(folder))
        theirs = reference(Path(folder))
    worst = span = 0.0
    for ids in prompts:
        expected = theirs(torch.tensor([ids])).logits[0]
        got = ours.logits(ours.hidden(make_batch([(ids, [False] * len(ids))])))
        span = max(span, (expected.max() - expected.min()).item())
        worst = max(worst, (expected - got).abs().max().item())
    print(
        f"{len(prompts)} prompts of {len(prompts[0])} to {len(prompts[-1])} tokens: largest error {worst:.2e} over a range of {span:.1f} = {worst / span:.2e}"
    )
    assert worst / span <= LARGEST_ERROR


if __name__ == "__main__":
    main()
