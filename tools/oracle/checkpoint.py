"""Write Hugging Face checkpoints: one file, or shards with or without
`model.safetensors.index.json`.
"""

from __future__ import annotations

import json
import pathlib

import numpy as np
import torch
from safetensors.torch import save_file

from models import round_to

_TORCH = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}


def dump_json(path: pathlib.Path, value) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def stored(name: str, value: np.ndarray, dtype: str) -> torch.Tensor:
    """The tensor as the file holds it. `value` must already be exact in `dtype`: the reference ran
    on it.
    """
    dtype = "F32" if name.endswith("e_score_correction_bias") else dtype
    assert np.array_equal(round_to(value, dtype), value), name
    return torch.from_numpy(np.ascontiguousarray(value)).to(_TORCH[dtype])


def save_plain(
    folder: pathlib.Path,
    weights: dict,
    dtype: str,
    shards: int = 1,
    index: bool = False,
) -> None:
    """Cut into `shards` files of about equal bytes (so that experts straddle files)."""
    tensors = {name: stored(name, weights[name], dtype) for name in sorted(weights)}
    if shards == 1:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return
    sizes = {name: tensor.numel() * tensor.element_size() for name, tensor in tensors.items()}
    total, before, parts, weight_map = sum(sizes.values()), 0, [{} for _ in range(shards)], {}
    for name, tensor in tensors.items():
        part = min(before * shards // total, shards - 1)
        parts[part][name] = tensor
        weight_map[name] = f"model-{part + 1:05d}-of-{shards:05d}.safetensors"
        before += sizes[name]
    for part, content in enumerate(parts):
        save_file(
            content,
            folder / f"model-{part + 1:05d}-of-{shards:05d}.safetensors",
            metadata={"format": "pt"},
        )
    if index:
        dump_json(
            folder / "model.safetensors.index.json",
            {"metadata": {"total_size": total}, "weight_map": weight_map},
        )
