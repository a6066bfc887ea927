"""The two number formats of the built-in model's container, exactly as the engine reads them.

Scale s = max(absmax / qmax, 1e-8), code = round-half-to-even(w / s), all in float32.
"""

import numpy as np

SMALLEST_SCALE = np.float32(1e-8)
GROUP = 64


def _codes(values: np.ndarray, qmax: int) -> tuple[np.ndarray, np.ndarray]:
    """values [..., n] -> codes [..., n] in [-qmax-1, qmax] and scales [...], one per last axis."""
    scale = np.maximum(np.abs(values).max(axis=-1) / np.float32(qmax), SMALLEST_SCALE)
    codes = np.rint(values / scale[..., None])
    return np.clip(codes, -qmax - 1, qmax).astype(np.int8), scale


def int8_row(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[O, I] float32 -> bytes [O*I] and scales [O]."""
    codes, scale = _codes(matrix, 127)
    return codes.view(np.uint8).ravel(), scale


def int8_row_values(data: np.ndarray, scale: np.ndarray, rows: int) -> np.ndarray:
    return data.view(np.int8).reshape(rows, -1).astype(np.float32) * scale[:, None]


def int4_grouped(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[O, I] float32 -> bytes [O*I/2], even element in the low nibble, and scales [O*I/64].

    I must divide by 64 here; the format itself allows a short last group."""
    rows, inputs = matrix.shape
    assert inputs % GROUP == 0
    codes, scale = _codes(matrix.reshape(rows, inputs // GROUP, GROUP), 7)
    stored = (codes + 8).astype(np.uint8).reshape(rows, inputs // 2, 2)
    return (stored[..., 0] | (stored[..., 1] << 4)).ravel(), scale.ravel()


def int4_grouped_values(data: np.ndarray, scale: np.ndarray, rows: int) -> np.ndarray:
    packed = data.reshape(rows, -1)
    codes = np.stack([packed & 15, packed >> 4], axis=-1).reshape(rows, -1, GROUP).astype(np.float32) - 8
    return (codes * scale.reshape(rows, -1, 1)).reshape(rows, -1)
