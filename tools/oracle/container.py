"""Colibri containers: quantisers, and the files out-*, out-mtp-*, out-idx-* (what a reader expects: src/store/recognition.h).
"""

from __future__ import annotations

import dataclasses
import json
import pathlib

import numpy as np
import torch
from safetensors.torch import save_file

GROUP_SIZES = (16, 32, 48, 64, 96, 128, 192, 256)  # the order in which a reader tries them


@dataclasses.dataclass(frozen=True)
class Format:
    name: str  # int8-row, int4-row, int4-grouped or f32
    group: int = 0


INT8, INT4, F32 = Format("int8-row"), Format("int4-row"), Format("f32")


def grouped(size: int) -> Format:
    return Format("int4-grouped", size)


@dataclasses.dataclass(frozen=True)
class ContainerPlan:
    """Precision per class of tensors (2.6) and the number of main files."""

    experts: Format
    dense: Format
    io: Format = INT8
    mtp: Format = INT8
    indexer: Format = INT8
    weights_proj: Format = F32
    shards: int = 1
    stamp: bool = False  # write __metadata__["colibri.fmt"]


def format_of(plan: ContainerPlan, name: str, layers: int, rank: int) -> Format:
    """Which format the tensor `name` gets. 1-D tensors, norms and routers stay f32."""
    if rank == 1 or name.endswith("mlp.gate.weight"):
        return F32
    if not name.startswith("model.layers."):
        return plan.io
    if name.endswith("weights_proj.weight"):
        return plan.weights_proj
    if ".indexer." in name:
        return plan.indexer
    if int(name.split(".")[2]) >= layers:
        return plan.mtp
    return plan.experts if ".mlp.experts." in name else plan.dense


def _scales(absolute: np.ndarray, qmax: int) -> np.ndarray:
    return np.maximum(absolute / np.float32(qmax), np.float32(1e-8)).astype(np.float32)


def quantize(w: np.ndarray, fmt: Format) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """w: f32 [O, I] -> (bytes u8 [n], scales f32 [m], the dequantised f32 [O, I]). All arithmetic
    in f32.
    """
    rows, columns = w.shape
    qmax = 127 if fmt.name == "int8-row" else 7
    size = fmt.group if fmt.group else columns
    groups = -(-columns // size)
    padded = np.zeros((rows, groups * size), np.float32)
    padded[:, :columns] = w
    blocks = padded.reshape(rows, groups, size)
    scales = _scales(np.abs(blocks).max(axis=2), qmax)  # [O, groups]
    codes = np.clip(np.rint(blocks / scales[:, :, None]), -qmax - 1, qmax).astype(np.float32)
    restored = (codes * scales[:, :, None]).reshape(rows, -1)[:, :columns]
    codes = codes.reshape(rows, -1)[:, :columns].astype(np.int8)
    return _pack(codes, fmt), scales.reshape(-1), np.ascontiguousarray(restored)


def _pack(codes: np.ndarray, fmt: Format) -> np.ndarray:
    if fmt.name == "int8-row":
        return codes.view(np.uint8).reshape(-1)
    nibbles = (codes + 8).astype(np.uint8)
    if nibbles.shape[1] % 2:
        nibbles = np.pad(nibbles, ((0, 0), (0, 1)))  # the odd tail's high nibble is 0
    return (nibbles[:, 0::2] | nibbles[:, 1::2] << 4).reshape(-1)


def recognised(bytes_count: int, scales_count: int, rows: int, columns: int) -> Format:
    """What a reader takes the tensor for, by byte counts alone (2.4)."""
    if bytes_count == rows * columns:
        return INT8
    assert bytes_count == rows * -(-columns // 2)
    for size in GROUP_SIZES:
        if size > columns:
            break
        if scales_count == rows * -(-columns // size):
            return grouped(size)
    assert scales_count == rows
    return INT4


def _ambiguity_checked(
    fmt: Format, bytes_count: int, scales_count: int, shape: tuple[int, int], name: str
):
    seen = recognised(bytes_count, scales_count, *shape)
    harmless = (
        scales_count == shape[0] and seen.name.startswith("int4") and fmt.name.startswith("int4")
    )
    assert seen == fmt or harmless, f"{name}: written as {fmt}, a reader would take it for {seen}"


def quantize_all(weights: dict, plan: ContainerPlan, layers: int) -> tuple[dict, dict, dict]:
    """weights -> (stored tensors by name, dequantised f32 weights, format names of the quantised
    tensors).
    """
    stored, restored, formats = {}, {}, {}
    for name, value in weights.items():
        fmt = format_of(plan, name, layers, value.ndim)
        if fmt == F32:
            stored[name], restored[name] = torch.from_numpy(value), value
            continue
        packed, scales, restored[name] = quantize(value, fmt)
        _ambiguity_checked(fmt, packed.size, scales.size, value.shape, name)
        stored[name], stored[name + ".qs"] = torch.from_numpy(packed), torch.from_numpy(scales)
        formats[name] = fmt.name
    return stored, restored, formats


def _family(name: str, layers: int) -> str:
    if ".indexer." in name:
        return "out-idx-"
    is_mtp = name.startswith("model.layers.") and int(name.split(".")[2]) >= layers
    return "out-mtp-" if is_mtp else "out-"


def save_container(folder: pathlib.Path, weights: dict, plan: ContainerPlan, layers: int) -> None:
    """Write the container files. Main files are cut by tensor count, so an expert's matrices may
    sit in two files.
    """
    stored, _, formats = quantize_all(weights, plan, layers)
    families = {"out-": [], "out-mtp-": [], "out-idx-": []}
    for name in sorted(weights):
        families[_family(name, layers)].append(name)
    for prefix, names in families.items():
        count = plan.shards if prefix == "out-" else 1
        for part in range(count):
            chosen = names[part * len(names) // count : (part + 1) * len(names) // count]
            tensors = {
                key: stored[key] for name in chosen for key in (name, name + ".qs") if key in stored
            }
            stamped = {
                name: formats[name]
                for name in chosen
                if name in formats and ".mlp.experts." not in name
            }
            metadata = {"colibri.fmt": json.dumps(stamped, sort_keys=True)} if plan.stamp else None
            if tensors:
                save_file(tensors, folder / f"{prefix}{part:05d}.safetensors", metadata=metadata)
