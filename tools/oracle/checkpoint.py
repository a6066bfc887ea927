"""Write Hugging Face checkpoints: one file, or shards with or without
`model.safetensors.index.json`; FP8; fused experts.
"""

from __future__ import annotations

import json
import pathlib

import numpy as np
import torch
from safetensors.torch import save_file

import fp8
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


def fuse_experts(weights: dict, transposed: bool) -> dict:
    """Per-expert matrices -> `mlp.experts.gate_up_proj` [E, 2I, H] (gate rows first) and
    `down_proj` [E, H, I]; with the last two axes exchanged if `transposed`.
    """
    fused = {name: value for name, value in weights.items() if ".mlp.experts." not in name}
    routers = [name for name in weights if name.endswith("mlp.gate.weight")]
    for router in routers:
        prefix = router.removesuffix("gate.weight") + "experts."
        gate, up, down = (
            [weights[f"{prefix}{e}.{kind}_proj.weight"] for e in range(len(weights[router]))]
            for kind in ("gate", "up", "down")
        )
        stacks = {
            "gate_up_proj": np.stack([np.concatenate(pair) for pair in zip(gate, up)]),
            "down_proj": np.stack(down),
        }
        for name, stack in stacks.items():
            fused[prefix + name] = stack.transpose(0, 2, 1) if transposed else stack
    return fused


def arrange(weights: dict, layout: str, dtype: str, kept: dict) -> dict[str, torch.Tensor]:
    """What the files hold, in name order. layout: plain, fused, fused-transposed or fp8; of fp8
    matrices those whose names end with a key of `kept` are of that dtype instead.
    """
    if layout.startswith("fused"):
        weights = fuse_experts(weights, layout == "fused-transposed")
    tensors = {}
    for name in sorted(weights):
        value = weights[name]
        if layout == "fp8" and fp8.is_fp8(name, value, kept):
            tensors[name], scales, _ = fp8.quantize(value)
            tensors[name + "_scale_inv"] = torch.from_numpy(scales)
        else:
            own = [chosen for suffix, chosen in kept.items() if name.endswith(suffix)]
            tensors[name] = stored(name, value, own[0] if own else dtype)
    return tensors


def save_plain(
    folder: pathlib.Path, tensors: dict[str, torch.Tensor], shards: int = 1, index: bool = False
) -> None:
    """Cut into `shards` files of about equal bytes (so that experts straddle files)."""
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
