"""The small functions of the slow forward pass: rotation frequencies, norms, top-k and its borders.
numpy f64.
"""

from __future__ import annotations

import numpy as np


def inverse_frequencies(theta: float, dims: int, angles: str) -> np.ndarray:
    """[dims/2] inverse frequencies, every step rounded to f32; the power is the
    correctly rounded one.
    """
    exponent = (np.arange(0, dims, 2, dtype=np.float32) / np.float32(dims)).astype(np.float64)
    if angles in ("f64", "pow64"):
        exact = 1.0 / theta ** (np.arange(0, dims, 2, dtype=np.float64) / dims)
        return exact if angles == "f64" else exact.astype(np.float32)
    power = (np.float64(np.float32(theta)) ** exponent).astype(np.float32)
    return np.float32(1.0) / power


def silu(z: np.ndarray) -> np.ndarray:
    return z / (1.0 + np.exp(-z))


def rms_norm(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    return weight * (x / np.sqrt(np.mean(x * x) + eps))


def layer_norm(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, eps: float) -> np.ndarray:
    centred = x - np.mean(x)
    return weight * centred / np.sqrt(np.mean(centred * centred) + eps) + bias


def top_indices(scores: np.ndarray, count: int, ties: str = "lower") -> np.ndarray:
    """Indices of the `count` largest scores, best first; equal scores: the lower index first."""
    index = np.arange(len(scores))
    if ties == "higher":
        order = np.lexsort((-index, -scores))
    else:
        order = np.lexsort((index, -scores))
    return order[:count]


def border_gap(scores: np.ndarray, count: int) -> float:
    """Distance between the last chosen and the first rejected score.

    An exact tie at the border is decided by the index rule, not by rounding: there the distance is
    the one to the nearest different score, because only a neighbour that crosses the tied value
    could change the set.
    """
    if count >= len(scores):
        return np.inf
    ordered = np.sort(scores)[::-1]
    chosen, rejected = ordered[count - 1], ordered[count]
    if chosen != rejected:
        return float(chosen - rejected)
    others = np.abs(ordered[ordered != chosen] - chosen)
    return float(others.min()) if len(others) else np.inf
