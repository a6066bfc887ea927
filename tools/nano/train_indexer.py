"""Trains the indexers on the frozen model: their scores should rank keys as dense attention does.

usage: train_indexer.py CHECKPOINT.pt [--steps N]     writes NAME-indexed.pt beside it

The target of a full layer is the attention mass, over all heads, of every layer that will use its
selection: itself and the shared layers above it, in the pattern that ships.
"""

import argparse
import json
from pathlib import Path

import torch
import torch.nn.functional as F

from batch import make_batch, spread
from chat import encode, render
from model import Model, is_full
from settings import CONFIG, LAYERS, MTP_LAYER
from train import VALIDATION_SEED, Stream, save

SEED = 3
RATE = 4e-3
CONVERSATIONS = 14
SHORTEST = CONFIG["index_topk"] + 20  # tokens: shorter conversations select nothing
VALIDATED = 60


def users_of(full_layer: int) -> list[int]:
    """The layers that attend with this layer's selection."""
    users = [full_layer]
    while users[-1] + 1 < LAYERS and not is_full(users[-1] + 1):
        users.append(users[-1] + 1)
    return users


def long_batch(stream: Stream, number: int):
    """The number-th batch of conversations long enough to select keys."""
    found, index = [], number * 100
    while len(found) < CONVERSATIONS:
        ids, trained = encode(render(stream.corpus.conversation(index)), *stream.tokenizers)
        if len(ids) >= SHORTEST:
            found.append((ids, trained))
        index += 1
    return make_batch(found)


def divergence(model: Model, layer: int, group_index: int, group, valid) -> torch.Tensor:
    """Summed KL of one group's rows that select, [rows p >= topk]."""
    mass = torch.stack([model.trace["mass", user][group_index] for user in users_of(layer)]).mean(0)
    ql, a, rope = model.trace[layer]
    scores = model.index_scores(f"model.layers.{layer}.self_attn.", ql, a, rope, group)
    causal = torch.ones(group.length, group.length, dtype=torch.bool).tril()
    log_p = scores.masked_fill(~causal, -1e4).log_softmax(-1)
    kl = (mass * (mass.clamp_min(1e-9).log() - log_p)).masked_fill(~causal, 0).sum(-1)
    return (kl * valid).sum()


def loss_of(model: Model, batch) -> torch.Tensor:
    """Mean divergence per selecting row and full layer."""
    with torch.no_grad():
        model.trace = {}
        model.mtp_hidden(batch, model.hidden(batch))
    total, rows = torch.zeros(()), 0
    for index, group in enumerate(batch.groups):
        filled = spread(torch.ones(group.end - group.start, 1), group)[..., 0]
        valid = filled * (torch.arange(group.length) >= CONFIG["index_topk"])
        rows += valid.sum().item()
        for layer in [*range(LAYERS), MTP_LAYER]:
            if is_full(layer):
                total = total + divergence(model, layer, index, group, valid)
    model.trace = None
    return total / (rows * sum(is_full(layer) for layer in range(LAYERS + 1)))


@torch.no_grad()
def sparse_loss(weights, sparse: bool) -> float:
    model = Model(weights, sparse)
    batch = Stream(VALIDATION_SEED).batch(0, VALIDATED)
    return F.cross_entropy(model.logits(model.hidden(batch)[batch.rows]), batch.targets).item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--start", type=Path, help="take the indexers of this earlier -indexed.pt")
    options = parser.parse_args()
    torch.set_num_threads(1)
    weights = torch.load(options.checkpoint)
    if options.start:
        weights |= {name: t for name, t in torch.load(options.start).items() if ".indexer." in name}
    indexer = {name: t.requires_grad_() for name, t in weights.items() if ".indexer." in name}
    optimizer = torch.optim.AdamW(indexer.values(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.0)
    model, stream = Model(weights), Stream(SEED)
    for step in range(options.steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / 10) * (1 - step / options.steps)
        loss = loss_of(model, long_batch(stream, step))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(json.dumps({"step": step, "divergence": round(loss.item(), 4)}), flush=True)
    weights = {name: t.detach() for name, t in weights.items()}
    report = json.loads(options.checkpoint.with_suffix(".json").read_text())
    report |= {
        "indexer_steps": options.steps,
        "dense_loss_60": sparse_loss(weights, False),
        "sparse_loss_60": sparse_loss(weights, True),
    }
    stem = options.checkpoint.with_name(options.checkpoint.stem + "-indexed")
    save(stem.with_suffix(".pt"), weights)
    stem.with_suffix(".json").write_text(json.dumps(report))
    print(json.dumps(report))


if __name__ == "__main__":
    main()
