"""The FP8 block format of published checkpoints: e4m3 codes and one f32 multiplier per 128 x 128
block, in a tensor with the suffix `_scale_inv`.
"""

from __future__ import annotations

import numpy as np
import torch

BLOCK, LARGEST = 128, 448.0
QUANTIZATION_CONFIG = {
    "quant_method": "fp8",
    "fmt": "e4m3",
    "activation_scheme": "dynamic",
    "weight_block_size": [BLOCK, BLOCK],
}
# Matrices that published FP8 checkpoints leave in BF16.
_NEVER = (
    "embed_tokens.weight",
    "lm_head.weight",
    "mlp.gate.weight",
    "indexer.weights_proj.weight",
    "eh_proj.weight",
)


def is_fp8(name: str, value: np.ndarray, kept: dict) -> bool:
    return value.ndim == 2 and not name.endswith((*_NEVER, *kept))


def quantize(w: np.ndarray) -> tuple[torch.Tensor, np.ndarray, np.ndarray]:
    """w: f32 [O, I] -> (codes e4m3 [O, I], scales f32 [ceil(O/128), ceil(I/128)], the dequantised
    f32 [O, I]).
    """
    rows, columns = w.shape
    scales = np.empty((-(-rows // BLOCK), -(-columns // BLOCK)), np.float32)
    for r, c in np.ndindex(scales.shape):
        block = w[r * BLOCK : (r + 1) * BLOCK, c * BLOCK : (c + 1) * BLOCK]
        scales[r, c] = np.abs(block).max() / np.float32(LARGEST)
    spread = scales[np.arange(rows)[:, None] // BLOCK, np.arange(columns)[None] // BLOCK]
    codes = torch.from_numpy(np.clip(w / spread, -LARGEST, LARGEST)).to(torch.float8_e4m3fn)
    return codes, scales, codes.float().numpy() * spread


def restored(weights: dict, kept: dict) -> dict:
    """The weights as a reader sees them after dequantisation."""
    return {
        name: quantize(value)[2] if is_fp8(name, value, kept) else value
        for name, value in weights.items()
    }
