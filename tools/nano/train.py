"""Trains the built-in model on two single-thread processes, in fixed steps.

usage: train.py [--steps N] [--resume FILE] [--decay-from N --decay N] [--grow-at N]
                [--mtp-from N] [--only-mtp] [--name NAME]

Until --grow-at only the first three layers run: half the cost while the basics are learnt.

The schedule is warm-up, stable, decay. Checkpoints of the stable phase (build/nano/stable-*.pt) can
be continued by a longer run, or branched into a decay: --resume stable-X.pt --decay-from X --decay N.
"""

import argparse
import json
import os
import time
from pathlib import Path

import torch
import torch.multiprocessing as mp
import torch.nn.functional as F

import tokenizer as tokenizers
from batch import make_batch
from chat import encode, render
from corpus import TRAINING_SEED, Corpus
from model import Model, initial_value, shapes
from optimizer import Optimizer, cost, is_trained
from settings import LAYERS, MTP_LAYER

WORKERS = 2
CONVERSATIONS = 24  # per worker and step, about 2,300 tokens
SEED, VALIDATION_SEED = TRAINING_SEED, 99
WARM_UP = 20
MTP_WEIGHT = 0.3
SHALLOW = 3  # layers before growth
BIAS_SPEED_EARLY, BIAS_EARLY_STEPS = 0.01, 150
BIAS_SPEED_CALM, BIAS_CALM_UNTIL = 0.001, 300  # too slow for longer: one expert came to draw most of the tokens
BIAS_SPEED = 0.003
FOLDER = Path(__file__).parents[2] / "build/nano"


def schedule(step: int, options) -> float:
    """The learning rates' factor at this step (1-based)."""
    factor = min(1.0, step / WARM_UP)
    if options.decay:
        factor *= (
            min(1.0, max(0.0, 1 - (step - options.decay_from) / options.decay)) if step > options.decay_from else 1.0
        )
    return factor


def views(flat: torch.Tensor) -> dict[str, torch.Tensor]:
    """The named weights as views of one flat buffer."""
    table, start = {}, 0
    for name, shape in shapes().items():
        count = torch.Size(shape).numel()
        table[name] = flat[start : start + count].view(shape)
        start += count
    return table


def owner_of() -> dict[str, int]:
    """Which worker updates which weight: the next costly one goes to the less loaded worker."""
    load, owner = [0.0] * WORKERS, {}
    for name, shape in sorted(shapes().items(), key=lambda item: -cost(*item)):
        if is_trained(name):
            owner[name] = load.index(min(load))
            load[owner[name]] += cost(name, shape)
    return owner


def running_names(depth: int, with_mtp: bool, only_mtp: bool) -> list[str]:
    """The weights that a step trains: the others cost nothing."""
    layers = [*([] if only_mtp else range(depth)), *([MTP_LAYER] if with_mtp else [])]
    return [
        name
        for name in shapes()
        if is_trained(name)
        and (int(name.split(".")[2]) in layers if name.startswith("model.layers.") else not only_mtp)
    ]


class Stream:
    """Batches of the training corpus: a function of (step, worker) alone."""

    def __init__(self, seed: int):
        self.corpus = Corpus(seed)
        self.tokenizers = tokenizers.load(FOLDER / "tokenizer")

    def batch(self, first: int, count: int):
        return make_batch(
            [encode(render(self.corpus.conversation(i)), *self.tokenizers) for i in range(first, first + count)]
        )


def losses(model: Model, batch, with_mtp: bool, only_mtp: bool):
    """Summed next-token loss and MTP loss (0 without). only_mtp: the first has no gradient."""
    with torch.set_grad_enabled(not only_mtp):
        hidden = model.hidden(batch)
        main = F.cross_entropy(model.logits(hidden[batch.rows]), batch.targets, reduction="sum")
    if not with_mtp:
        return main, torch.zeros(())
    ahead = model.mtp_hidden(batch, hidden)
    return main, F.cross_entropy(model.logits(ahead[batch.rows_two]), batch.targets_two, reduction="sum")


@torch.no_grad()
def validate(model: Model, batches, with_mtp: bool) -> dict:
    main = mtp = accepted = 0.0
    count = sum(len(b.rows) for b in batches)
    for batch in batches:
        hidden = model.hidden(batch)
        main += F.cross_entropy(model.logits(hidden[batch.rows]), batch.targets, reduction="sum").item()
        if with_mtp:
            ahead = model.logits(model.mtp_hidden(batch, hidden)[batch.rows_two])
            # A draft is right where it equals what the main model says one token later.
            said = model.logits(hidden[batch.rows_two + 1]).argmax(-1)
            accepted += (ahead.argmax(-1) == said).sum().item()
            mtp += F.cross_entropy(ahead, batch.targets_two, reduction="sum").item()
    model.loads.zero_()
    return {"loss": main / count} | ({"mtp_loss": mtp / count, "mtp_acceptance": accepted / count} if with_mtp else {})


class Shared:
    """What the workers have in common."""

    def __init__(self):
        total = sum(torch.Size(s).numel() for s in shapes().values())
        self.parameters = torch.zeros(total).share_memory_()
        self.gradients = [torch.zeros(total).share_memory_() for _ in range(WORKERS)]
        self.loads = torch.zeros(WORKERS, LAYERS + 1, 32).share_memory_()
        self.totals = torch.zeros(WORKERS, 3).share_memory_()  # trained tokens, loss, tokens
        self.barrier = mp.get_context("fork").Barrier(WORKERS)


def initialize(shared: Shared) -> None:
    generator = torch.Generator().manual_seed(SEED)
    for name, view in views(shared.parameters).items():
        view.copy_(initial_value(name, view.shape, generator))


def bias_speed(step: int, options) -> float:
    """Fast while routers are young: at the start, after growth, when the MTP layer begins."""
    young = any(0 < step - birth <= BIAS_EARLY_STEPS for birth in (0, options.grow_at, options.mtp_from))
    if young:
        return BIAS_SPEED_EARLY
    return BIAS_SPEED_CALM if step <= BIAS_CALM_UNTIL else BIAS_SPEED


def adjust_router_bias(weights, loads: torch.Tensor, speed: float) -> float:
    """Pushes the selection bias of under-loaded experts up; returns the worst load (1 = even)."""
    worst = 0.0
    for layer in range(LAYERS + 1):
        load = loads[layer]
        if load.sum() > 0:
            load = load / load.mean()
            worst = max(worst, load.max().item())
            weights[f"model.layers.{layer}.mlp.gate.e_score_correction_bias"].add_(torch.sign(1 - load), alpha=speed)
    return worst


def save(path: Path, content: dict) -> None:
    part = path.with_suffix(f".part{os.getpid()}")
    torch.save(content, part)
    part.rename(path)


def work(rank: int, shared: Shared, options) -> None:
    torch.set_num_threads(1)
    flat = shared.parameters
    weights = views(flat)
    gradients = [views(g) for g in shared.gradients]
    leaves = {name: view.detach() for name, view in weights.items()}
    for name in running_names(LAYERS, True, options.only_mtp):
        leaves[name].requires_grad_().grad = gradients[rank][name]
    owned = {name: weights[name] for name, owner in owner_of().items() if owner == rank}
    optimizer, start = Optimizer(owned), 0
    if options.resume:
        start = json.loads(options.resume.with_suffix(".json").read_text())["step"]
        optimizer.state = torch.load(options.resume.with_suffix(f".state{rank}"))
    model, stream = Model(leaves), Stream(SEED)
    held_back = [Stream(VALIDATION_SEED).batch(0, 60)] if rank == 0 else []
    log = open(FOLDER / f"{options.name}.log", "a") if rank == 0 else None
    clock, done_tokens = time.time(), 0
    for step in range(start + 1, options.steps + 1):
        with_mtp = step > options.mtp_from
        model.depth = LAYERS if step > options.grow_at else SHALLOW
        running = running_names(model.depth, with_mtp, options.only_mtp)
        for name in running:
            gradients[rank][name].zero_()
        model.loads.zero_()
        batch = stream.batch(((step - 1) * WORKERS + rank) * CONVERSATIONS, CONVERSATIONS)
        main, mtp = losses(model, batch, with_mtp, options.only_mtp)
        (mtp if options.only_mtp else main + MTP_WEIGHT * mtp).backward()
        shared.loads[rank] = model.loads
        shared.totals[rank] = torch.tensor([len(batch.rows), main.item(), len(batch.tokens)])
        shared.barrier.wait()
        trained, loss_sum, tokens = shared.totals.sum(0).tolist()
        summed = {name: (gradients[0][name] + gradients[1][name]) / trained for name in running if name in owned}
        rate = schedule(step, options)
        optimizer.update(step, rate, summed)
        if rank == 0:
            worst = adjust_router_bias(weights, shared.loads.sum(0), bias_speed(step, options))
            done_tokens += tokens
        shared.barrier.wait()
        if rank == 0 and step % 5 == 0:
            speed = done_tokens / (time.time() - clock)
            print(
                json.dumps(
                    {
                        "step": step,
                        "loss": round(loss_sum / trained, 4),
                        "rate": round(rate, 4),
                        "worst_load": round(worst, 2),
                        "tokens_per_s": round(speed),
                        "time": time.strftime("%H:%M:%S"),
                    }
                ),
                file=log,
                flush=True,
            )
            clock, done_tokens = time.time(), 0
        if step % options.save_every == 0 or step == options.steps:
            stem = FOLDER / (
                f"{options.name}-{step}"
                if step % (4 * options.save_every) == 0 or step == options.steps
                else f"{options.name}-latest"
            )
            save(stem.with_suffix(f".state{rank}"), optimizer.state)
            if rank == 0:
                report = {"step": step} | validate(model, held_back, with_mtp)
                print(json.dumps(report), file=log, flush=True)
                save(stem.with_suffix(".pt"), {name: view.clone() for name, view in weights.items()})
                stem.with_suffix(".json").write_text(json.dumps(report))
            shared.barrier.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--resume", type=Path, help="a checkpoint (.pt) with its .json and .state files")
    parser.add_argument("--decay-from", type=int, default=0)
    parser.add_argument("--decay", type=int, default=0, help="steps of linear decay to zero")
    parser.add_argument("--mtp-from", type=int, default=10**9, help="the step after which the MTP layer runs")
    parser.add_argument("--only-mtp", action="store_true", help="train the MTP layer alone, on the frozen model")
    parser.add_argument("--grow-at", type=int, default=400)
    parser.add_argument("--save-every", type=int, default=50)
    parser.add_argument("--name", default="stable", help="of checkpoints and log")
    options = parser.parse_args()
    torch.set_num_threads(1)
    shared = Shared()
    if options.resume:
        for name, view in torch.load(options.resume).items():
            views(shared.parameters)[name].copy_(view)
    else:
        initialize(shared)
    workers = [mp.get_context("fork").Process(target=work, args=(rank, shared, options)) for rank in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
