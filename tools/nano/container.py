"""Reads and writes the built-in model's container: three safetensors files.

A quantised tensor X is flattened to bytes and has its scales in X.qs. Routed experts are
int4-grouped, other matrices int8-row; norms, routers, biases and the indexer's weights_proj stay
float32. In memory the routed experts of a layer are stacked as in model.py.
"""

import json
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

import quantize
from model import E, I, shapes
from settings import MTP_LAYER

INT4, INT8, F32 = "int4-grouped", "int8-row", "f32"


def per_expert(weights: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    """Weights under the checkpoint's names, one matrix per expert and projection."""
    table = {}
    for name, tensor in weights.items():
        value = tensor.detach().numpy().astype(np.float32)
        if name.endswith("experts.gate_up_proj"):
            prefix = name.removesuffix("gate_up_proj")
            for e in range(E):
                table[f"{prefix}{e}.gate_proj.weight"] = value[e, :I].copy()
                table[f"{prefix}{e}.up_proj.weight"] = value[e, I:].copy()
        elif name.endswith("experts.down_proj"):
            for e in range(E):
                table[f"{name.removesuffix('down_proj')}{e}.down_proj.weight"] = value[e].copy()
        else:
            table[name] = value
    return table


def stacked(table: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    """The inverse of per_expert."""
    weights = {}
    for name in shapes():
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            prefix = name.rsplit(".", 1)[0]
            parts = [("gate_proj", "up_proj") if "gate_up" in name else ("down_proj",)] * E
            value = np.stack(
                [
                    np.concatenate([table[f"{prefix}.{e}.{part}.weight"] for part in names])
                    for e, names in enumerate(parts)
                ]
            )
        else:
            value = table[name]
        weights[name] = torch.from_numpy(np.ascontiguousarray(value))
    return weights


def format_of(name: str, shape: tuple[int, ...]) -> str:
    if len(shape) < 2 or name.endswith(("mlp.gate.weight", "indexer.weights_proj.weight")):
        return F32
    return INT4 if ".mlp.experts." in name else INT8


def file_of(name: str) -> str:
    if name.startswith(f"model.layers.{MTP_LAYER}."):
        return "out-mtp-00000.safetensors"
    return "out-idx-00000.safetensors" if ".indexer." in name else "out-00000.safetensors"


def write(folder: Path, weights: dict[str, torch.Tensor]) -> None:
    files: dict[str, dict[str, np.ndarray]] = {}
    stamps: dict[str, dict[str, str]] = {}
    for name, value in per_expert(weights).items():
        tensors, stamp = files.setdefault(file_of(name), {}), stamps.setdefault(file_of(name), {})
        kind = format_of(name, value.shape)
        if kind == F32:
            tensors[name] = value
            continue
        tensors[name], tensors[name + ".qs"] = (quantize.int8_row if kind == INT8 else quantize.int4_grouped)(value)
        if kind == INT8:
            stamp[name] = kind  # routed experts are never stamped
    for file, tensors in files.items():
        save_file(tensors, folder / file, metadata={"format": "pt", "colibri.fmt": json.dumps(stamps[file])})
        (folder / file).chmod(0o644)


def read(folder: Path) -> dict[str, torch.Tensor]:
    """The dequantised weights, stacked as in model.py."""
    raw: dict[str, np.ndarray] = {}
    for file in sorted(folder.glob("out-*.safetensors")):
        raw |= load_file(file)
    sizes = {name: value.shape for name, value in per_expert({n: torch.empty(s) for n, s in shapes().items()}).items()}
    table = {}
    for name, shape in sizes.items():
        if name + ".qs" not in raw:
            table[name] = raw[name]
            continue
        values = quantize.int4_grouped_values if format_of(name, shape) == INT4 else quantize.int8_row_values
        table[name] = values(raw[name], raw[name + ".qs"], shape[0]).reshape(shape)
    return stacked(table)
