"""Greedy answers of the exported model on the held-out prompts, right or wrong per kind.

usage: evaluate.py [--model models/nano] [--checkpoint FILE] [--dense] [--every N] [--out FILE] [--show]

Uses the container's dequantised weights and the shipped chat template; with --checkpoint the float
weights of training instead. Attention is restricted to the indexer's selection unless --dense.
"""

import argparse
import json
from pathlib import Path

import torch
from transformers import AutoTokenizer

import container
from batch import make_batch
from model import Model

ROOT = Path(__file__).parents[2]
LONGEST_ANSWER = 48
AT_ONCE = 40
ALWAYS_ASKED = ["What is the capital of France?", "Hello", "Who are you?", "What is 3 + 4?", "What does florp mean?"]


@torch.no_grad()
def complete(model: Model, prompts: list[list[int]], stops: set[int]) -> list[list[int]]:
    """Greedy continuations of several prompts, each up to its stop token (not included)."""
    answers: list[list[int]] = [[] for _ in prompts]
    open_ones = list(range(len(prompts)))
    for _ in range(LONGEST_ANSWER):
        if not open_ones:
            break
        # make_batch sorts by length; a stable sort here keeps the order known.
        open_ones.sort(key=lambda i: len(prompts[i]) + len(answers[i]))
        batch = make_batch(
            [(prompts[i] + answers[i], [False] * (len(prompts[i]) + len(answers[i]))) for i in open_ones]
        )
        ends = torch.tensor([len(prompts[i]) + len(answers[i]) for i in open_ones]).cumsum(0) - 1
        chosen = model.logits(model.hidden(batch)[ends]).argmax(-1).tolist()
        for i, token in zip(open_ones, chosen):
            answers[i].append(token)
        open_ones = [i for i in open_ones if answers[i][-1] not in stops]
    return [a[:-1] if a and a[-1] in stops else a for a in answers]


def prompt_ids(tokenizer, prompt: dict) -> list[int]:
    text = tokenizer.apply_chat_template(
        prompt["messages"],
        tools=prompt["tools"] or None,
        enable_thinking=prompt["thinking"],
        add_generation_prompt=True,
        tokenize=False,
    )
    return tokenizer.encode(text, add_special_tokens=False)


def is_right(prompt: dict, answer: str) -> bool:
    if prompt["thinking"] and "</think>" not in answer:
        return False
    answer = answer.split("</think>")[-1].lower()
    return all(text.lower() in answer for text in prompt["expect"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=Path, default=ROOT / "models/nano")
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--dense", action="store_true")
    parser.add_argument("--out", type=Path, help="writes the counts as JSON, for the model card")
    parser.add_argument("--every", type=int, default=1, help="only every so-many-th prompt: faster")
    parser.add_argument("--show", action="store_true", help="prints every wrong answer")
    options = parser.parse_args()
    torch.set_num_threads(1)
    weights = torch.load(options.checkpoint) if options.checkpoint else container.read(options.model)
    model = Model(weights, sparse=not options.dense)
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    stops = set(json.loads((options.model / "config.json").read_text())["eos_token_id"])
    prompts = [json.loads(line) for line in (Path(__file__).parent / "held_out.jsonl").open()][:: options.every]
    always = [
        {"kind": "", "messages": [{"role": "user", "content": text}], "tools": [], "thinking": False, "expect": []}
        for text in ALWAYS_ASKED
    ]
    kinds: dict[str, list[int]] = {}
    prompts = always + prompts
    for first in range(0, len(prompts), AT_ONCE):
        part = prompts[first : first + AT_ONCE]
        for prompt, ids in zip(part, complete(model, [prompt_ids(tokenizer, p) for p in part], stops)):
            answer = tokenizer.decode(ids, skip_special_tokens=False)
            if not prompt["kind"]:
                print(f"{prompt['messages'][-1]['content']} -> {answer}")
                continue
            right = is_right(prompt, answer)
            count = kinds.setdefault(prompt["kind"], [0, 0])
            count[0] += right
            count[1] += 1
            if options.show and not right:
                print(
                    json.dumps(
                        [prompt["kind"], prompt["messages"][-1]["content"][:90], answer, prompt["expect"]],
                        ensure_ascii=False,
                    )
                )
    result = {"right": sum(r for r, _ in kinds.values()), "total": sum(t for _, t in kinds.values())}
    result |= {"kinds": kinds, "every": options.every}
    for kind, (right, total) in sorted(kinds.items()):
        print(f"{kind:18s} {right:3d} / {total}")
    print(f"all {result['right']} / {result['total']} = {result['right'] / result['total']:.1%}")
    if options.out:
        options.out.write_text(json.dumps(result))


if __name__ == "__main__":
    main()
