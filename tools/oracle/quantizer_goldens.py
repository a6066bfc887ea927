"""Make tests/golden/quantizers: small f32 matrices and what a quantiser must make of them.

    quantizer_goldens.py --out tests/golden [--check]

`quantizers.safetensors` holds, for every case, `<case>.values` (F32 [O, I]) and per format
`<case>.<format>.codes` (U8) and `<case>.<format>.scales` (F32). Formats with a choice of group are named
`int4-grouped/16`. Nothing here is taken from another writer of these formats: codes become bits one by
one, and every packing is a stream of bits, lowest first, cut into bytes.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import sys

import numpy as np
from safetensors.numpy import load_file, save

SMALLEST_SCALE = np.float32(1e-8)


@dataclasses.dataclass(frozen=True)
class Format:
    name: str
    bits: int
    columns: int = 0  # that share a scale; 0: the whole row
    split: bool = False  # two planes per group: the low bits of all elements, then the high bits

    @property
    def largest(self) -> int:
        return 2 ** (self.bits - 1) - 1


FORMATS = (
    Format("int8-row", 8),
    Format("int4-row", 4),
    Format("int4-grouped/16", 4, 16),
    Format("int4-grouped/48", 4, 48),
    Format("int4-grouped/64", 4, 64),
    Format("int2-row", 2),
    Format("int3-g64", 3, 64, split=True),
)


def scale_and_codes(weights: np.ndarray, largest: int) -> tuple[np.float32, list[int]]:
    """The weights that share one scale -> that scale and their signed codes. All arithmetic in f32."""
    scale = max(np.float32(np.max(np.abs(weights))) / np.float32(largest), SMALLEST_SCALE)
    quotients = np.divide(weights, np.float32(scale), dtype=np.float32)
    # To the nearest integer by hand: f64 holds the quotient and its distance to the integer below.
    codes = []
    for quotient in quotients.astype(np.float64):
        below = int(np.floor(quotient))
        distance = quotient - below
        up = distance > 0.5 or (distance == 0.5 and below % 2 != 0)
        codes.append(min(max(below + up, -largest - 1), largest))
    return np.float32(scale), codes


def bit_stream(numbers: list[int], bits: int) -> bytes:
    """Each number in `bits` bits, lowest first; the last byte is filled up with zeros."""
    text = "".join(format(number, f"0{bits}b")[::-1] for number in numbers)
    text += "0" * (-len(text) % 8)
    return bytes(int(text[at : at + 8][::-1], 2) for at in range(0, len(text), 8))


def quantize_row(row: np.ndarray, fmt: Format) -> tuple[bytes, list[np.float32]]:
    columns = fmt.columns or row.size
    stored, scales = [], []
    for begin in range(0, row.size, columns):
        scale, codes = scale_and_codes(row[begin : begin + columns], fmt.largest)
        scales.append(scale)
        if fmt.bits == 8:
            stored += [code % 256 for code in codes]  # two's complement
        else:
            stored += [code + fmt.largest + 1 for code in codes]
    if not fmt.split:
        return bit_stream(stored, fmt.bits), scales
    packed = b""
    for begin in range(0, len(stored), columns):
        group = stored[begin : begin + columns]
        group += [fmt.largest + 1] * (columns - len(group))  # code 0 after the last column
        packed += bit_stream([number % 4 for number in group], 2)
        packed += bit_stream([number // 4 for number in group], 1)
    return packed, scales


def _ties(columns: int) -> np.ndarray:
    """Rows whose scales are powers of two and whose other values lie halfway between codes."""
    rows = []
    for largest in (1, 3, 7, 127):
        halves = (np.arange(columns) % (2 * largest) - largest + 0.5).astype(np.float32)
        halves[:: min(16, columns)] = largest  # every group has its largest code
        rows += [halves, -halves * np.float32(2.0**-20)]
    return np.stack(rows)


def cases() -> dict[str, np.ndarray]:
    random = np.random.default_rng(20)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)  # noqa: E731
    outliers = normal(4, 130)
    outliers[0, 17] = 300.0
    outliers[1, 129] = -2e4
    outliers[2, ::7] *= np.float32(40)
    zeros = np.zeros((5, 70), np.float32)
    zeros[1] = -0.0
    zeros[2, 66] = 1.0
    zeros[3, 3] = -1e-30
    tiny = normal(4, 67) * np.float32(1e-8)
    tiny[1] *= np.float32(1e-31)  # subnormal
    tiny[2, 0] = np.float32(1e-45)
    tiny[3, 5] = np.float32(7e-8)
    huge = normal(3, 65) * np.float32(1e37)
    huge[0, 1] = np.finfo(np.float32).max
    huge[1, 64] = -np.finfo(np.float32).max
    return {
        "normal": normal(7, 65),
        "wide": normal(2, 515),
        "one": normal(1, 1),
        "narrow": normal(5, 3),
        "short": normal(3, 47),
        "even": normal(2, 128),
        "outliers": outliers,
        "ties": _ties(66),
        "zeros": zeros,
        "tiny": tiny,
        "huge": huge,
    }


def goldens() -> dict[str, np.ndarray]:
    tensors = {}
    for name, values in cases().items():
        tensors[f"{name}.values"] = values
        for fmt in FORMATS:
            rows = [quantize_row(row, fmt) for row in values]
            codes = b"".join(packed for packed, _ in rows)
            tensors[f"{name}.{fmt.name}.codes"] = np.frombuffer(codes, np.uint8)
            scales = [scale for _, of_row in rows for scale in of_row]
            tensors[f"{name}.{fmt.name}.scales"] = np.array(scales, np.float32)
    return tensors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    path = arguments.out / "quantizers/quantizers.safetensors"
    if not arguments.check:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(save(goldens()))
        return 0
    fresh, committed = goldens(), load_file(path)
    differing = [
        name
        for name in sorted(fresh.keys() | committed.keys())
        if name not in fresh
        or name not in committed
        or fresh[name].tobytes() != committed[name].tobytes()
    ]
    for name in differing:
        print(f"{path}: {name} differs", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
