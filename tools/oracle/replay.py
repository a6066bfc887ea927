"""Run one fixture's cases with the reference and with slow_forward, and compare the two."""

from __future__ import annotations

import dataclasses

import numpy as np

import fp8
from container import quantize_all
from models import make_weights, round_weights
from recipes import Case, Recipe
from reference import Reference
from slow_forward import Rules, SlowModel

# How far the library's f32 may be from slow_forward, over the range of the case's logits.
AGREEMENT = 1e-5
DRAFT_DEPTH = 4


def model_weights(recipe: Recipe, seed: int) -> tuple[dict, dict]:
    """(weights as stored, or before quantisation; weights as the reference sees them)."""
    made = make_weights(recipe.config, seed, recipe.mtp, recipe.std, recipe.very_negative_biases)
    made = round_weights(made, recipe.dtype)
    if recipe.layout == "fp8":
        return made, fp8.restored(made, recipe.kept)
    if recipe.container is None:
        return made, made
    return made, quantize_all(made, recipe.container, recipe.config["num_hidden_layers"])[1]


def slow_model(
    recipe: Recipe, weights: dict, first_position: int, rules: Rules | None = None
) -> SlowModel:
    rules = rules or Rules(latent_norm_eps=recipe.latent_norm_eps)
    return SlowModel(recipe.config, weights, rules, first_position)


@dataclasses.dataclass
class SlowRun:
    """One case by slow_forward: logits [n, vocab], mtp [n-1, vocab] or None, smallest margins."""

    logits: np.ndarray
    mtp: np.ndarray | None
    margin: float
    mtp_margin: float
    drafts: list


def slow_run(
    recipe: Recipe, weights: dict, ids: list[int], first_position: int, rules: Rules | None = None
) -> SlowRun:
    model = slow_model(recipe, weights, first_position, rules)
    drafts = []
    for position, token in enumerate(ids):
        model.push(token)
        if recipe.mtp and position > 0:
            if position - 1 in recipe.mtp_depth_rows:
                drafts.append(model.drafts(position - 1, token, DRAFT_DEPTH))
            model.mtp_push(token)
    return SlowRun(
        np.stack([row.logits for row in model.rows]),
        np.stack([row.logits for row in model.mtp_rows]) if recipe.mtp else None,
        model.smallest_margin(),
        min([row.margins.smallest() for row in model.mtp_rows], default=np.inf),
        drafts,
    )


def spread(logits: np.ndarray) -> float:
    return float(logits.max() - logits.min())


def agree(name: str, reference: np.ndarray, other: np.ndarray, limit: float) -> float:
    """Largest difference over the range; stops above `limit` or where an argmax differs."""
    error = float(np.abs(reference - other).max()) / spread(reference)
    differing = int((reference.argmax(-1) != other.argmax(-1)).sum())
    if error > limit or differing:
        raise SystemExit(
            f"{name}: error {error:.2e} over the range (limit {limit:.0e}), "
            f"{differing} argmaxes differ"
        )
    return error


def top_gap(logits: np.ndarray) -> float:
    """Smallest distance between the two best logits of a row, over the range."""
    best = np.sort(logits, axis=-1)
    return float((best[:, -1] - best[:, -2]).min()) / spread(logits)


def run_reference(
    recipe: Recipe, weights: dict, case: Case, prompt: list[int]
) -> tuple[list[int], dict]:
    """(ids, reference tensors) of a case, by the library, or by slow_forward for own_oracle."""
    continuation = case.total - case.prompt_length
    if recipe.own_oracle:
        model = slow_model(recipe, weights, case.first_position)
        rows = [model.push(token) for token in prompt]
        for _ in range(continuation):
            rows.append(model.push(int(np.argmax(rows[-1].logits))))
        return [row.token for row in rows], {
            f"{case.name}.logits": np.stack([row.logits for row in rows])
        }
    reference = Reference(recipe.config, weights, recipe.latent_norm_eps, case.first_position)
    ids = reference.greedy(prompt, continuation)
    logits, hidden, residuals = reference.run(ids)
    tensors = {f"{case.name}.logits": logits}
    if recipe.mtp:
        tensors[f"{case.name}.mtp.logits"] = reference.mtp(hidden, ids[1:])[0]
    drafted = [
        reference.mtp_drafts(hidden, ids, row, DRAFT_DEPTH)[1] for row in recipe.mtp_depth_rows
    ]
    for step in range(DRAFT_DEPTH if drafted else 0):
        tensors[f"{case.name}.mtp.depth.{step + 1}"] = np.stack(
            [logits[step] for logits in drafted]
        )
    if recipe.layers:
        tensors.update({f"{case.name}.layer.{i}": state for i, state in enumerate(residuals)})
    return ids, tensors


def verified_margin(
    recipe: Recipe, weights: dict, case: Case, ids: list[int], tensors: dict
) -> tuple[float, str]:
    """Cross-check a case against slow_forward. Returns its smallest margin and a line about it."""
    slow = slow_run(recipe, weights, ids, case.first_position)
    where = f"{recipe.name}/{case.name}"
    logits = tensors[f"{case.name}.logits"]
    error = agree(where, logits, slow.logits, AGREEMENT)
    gap, margin = top_gap(slow.logits), min(slow.margin, slow.mtp_margin)
    if recipe.mtp:
        error = max(
            error, agree(where + " mtp", tensors[f"{case.name}.mtp.logits"], slow.mtp, AGREEMENT)
        )
        gap = min(gap, top_gap(slow.mtp))
    for step in range(DRAFT_DEPTH if slow.drafts else 0):
        mine = np.stack([drafts[step][1] for drafts in slow.drafts])
        error = max(
            error,
            agree(
                f"{where} depth {step + 1}",
                tensors[f"{case.name}.mtp.depth.{step + 1}"],
                mine,
                AGREEMENT,
            ),
        )
        margin = min([margin] + [drafts[step][2].smallest() for drafts in slow.drafts])
        gap = min(gap, top_gap(mine))
    if margin < recipe.margin or gap < recipe.logit_gap:
        raise SystemExit(
            f"{where}: margin {margin:.1e} or logit gap {gap:.1e} too small; search again"
        )
    return (
        slow.margin,
        f"error {error:.1e}  margin {slow.margin:.1e} (mtp {slow.mtp_margin:.1e})  "
        f"logit gap {gap:.1e}",
    )
