"""Make tests/golden/tokenizer: small tokenizer.json files in GLM's manner and what the `tokenizers`
library does with them.

    tokenizer_goldens.py --out tests/golden [--only NAME ...] [--check]

Variants share one vocabulary: `base` (merges as arrays), `merges-strings` (merges as "a b"),
`ignore-merges` and `nfc`. Each folder holds tokenizer.json and cases.json; README.md describes the
fields. `built-in` has the cases of the built-in model's own tokenizer.json. The other folders have
those of the vocabularies that scripts/vocabularies.sh fetches, and nothing of the vocabularies.
"""

from __future__ import annotations

import argparse
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    pre_tokenizers,
    processors,
    trainers,
)

from tokenizer_texts import CORPUS, LONG_PARTS, TEXTS

ROOT = pathlib.Path(__file__).parents[2]
# The vocabulary of the built-in model; it stays where it is.
BUILT_IN = ROOT / "models/nano/tokenizer.json"
# Fetched, never committed.
VOCABULARIES = ROOT / "build/vocabularies"
FETCHED = ("deepseek_v3", "gptoss", "llama3", "qwen3")
LONG_BYTES = 1 << 20

# GLM's pre-tokenizer, as one pattern.
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPECIAL = [
    "<|endoftext|>",
    "[MASK]",
    "[gMASK]",
    "[sMASK]",
    "<sop>",
    "<eop>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|observation|>",
    "<|begin_of_image|>",
    "<|end_of_image|>",
    "<|image|>",
]
NOT_SPECIAL = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "/nothink",
]
# In the vocabulary but not reachable by merges: only a tokenizer that ignores merges emits them.
WHOLE_WORDS = ["\u0120colibri", "zzq", "\u0120treetop", "\u0120hovers"]
LEARNED_SIZE = 572


def train() -> dict:
    """The base tokenizer as JSON: learned vocabulary, then the whole words, then the added tokens
    with the last ids.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=LEARNED_SIZE, initial_alphabet=alphabet, min_frequency=1, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    data = json.loads(tokenizer.to_str())
    vocab = data["model"]["vocab"]
    for word in WHOLE_WORDS:
        assert word not in vocab
        vocab[word] = len(vocab)
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.add_special_tokens(
        [AddedToken(text, normalized=False, special=True) for text in SPECIAL]
    )
    tokenizer.add_tokens(
        [AddedToken(text, normalized=False, special=False) for text in NOT_SPECIAL]
    )
    return json.loads(tokenizer.to_str())


def variants(base: dict) -> dict[str, dict]:
    made = {
        name: copy.deepcopy(base) for name in ("base", "merges-strings", "ignore-merges", "nfc")
    }
    made["merges-strings"]["model"]["merges"] = [" ".join(pair) for pair in base["model"]["merges"]]
    made["ignore-merges"]["model"]["ignore_merges"] = True
    made["nfc"]["normalizer"] = {"type": "NFC"}
    return made


def _pieces(text: str, full: Tokenizer) -> list[str]:
    """How the pattern alone cuts the normalised text, added tokens not looked at: finer evidence
    than ids.
    """
    normalised = full.normalizer.normalize_str(text) if full.normalizer else text
    split = pre_tokenizers.Split(Regex(PATTERN), behavior="isolated")
    return [piece for piece, _ in split.pre_tokenize_str(normalised)]


def _case(text: str, full: Tokenizer, text_only: Tokenizer, bare: Tokenizer) -> dict:
    """Without the fields that say nothing new: see README.md."""
    ids = full.encode(text, add_special_tokens=False).ids
    decoded = full.decode(ids, skip_special_tokens=False)
    unless_equal = {
        "decoded": (decoded, text),
        "decoded_without_special": (full.decode(ids, skip_special_tokens=True), decoded),
        "ids_special_as_text": (text_only.encode(text, add_special_tokens=False).ids, ids),
        "ids_added_as_text": (bare.encode(text, add_special_tokens=False).ids, ids),
    }
    return {"text": text, "ids": ids, "pieces": _pieces(text, full)} | {
        key: value for key, (value, usual) in unless_equal.items() if value != usual
    }


def _decode_cases(full: Tokenizer) -> list[dict]:
    """Id lists that no encoding gives: cut inside a character, wrong order, ids beyond the
    vocabulary.
    """
    bird, cafe = full.encode("\U0001f426").ids, full.encode("caf\u00e9 \u8702\u9e1f").ids
    size = full.get_vocab_size()
    lists = [
        [],
        bird[:1],
        bird[:2],
        bird[:3],
        bird[1:],
        bird[2:],
        bird[::-1],
        cafe[:-1],
        cafe[:-2],
        cafe[::-1],
        bird[:2] + cafe,
        [size],
        [size + 1000],
        cafe + [size + 5] + bird,
        bird[:2] + [size - 1] + bird[2:],
    ]
    return [{"ids": ids, "decoded": full.decode(ids, skip_special_tokens=False)} for ids in lists]


def fingerprint(ids: list[int]) -> str:
    """FNV-1a, 64 bits, over the ids as 4 bytes each, the least significant first."""
    value = 0xCBF29CE484222325
    for byte in b"".join(i.to_bytes(4, "little") for i in ids):
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def _long_case(part: str, full: Tokenizer) -> dict:
    """What a text of 1 MiB becomes: too many ids to keep them all."""
    ids = full.encode(
        part * (LONG_BYTES // len(part.encode())), add_special_tokens=False
    ).ids
    return {
        "part": part,
        "bytes": LONG_BYTES,
        "count": len(ids),
        "first": ids[:8],
        "last": ids[-8:],
        "fnv1a": fingerprint(ids),
    }


def _document(full: Tokenizer, cases: list[dict], parts: list[str], **more: object) -> dict:
    return {
        "schema": "colibri.tokenizer_cases/1",
        "source": {"implementation": "tokenizers", "version": "0.23.3"},
        "cases": cases,
        "long_cases": [_long_case(part, full) for part in parts],
        **more,
    }


def goldens(data: dict, parts: list[str]) -> dict:
    """cases.json of one variant."""
    text = json.dumps(data)
    full, text_only = Tokenizer.from_str(text), Tokenizer.from_str(text)
    text_only.encode_special_tokens = True
    bare = Tokenizer.from_str(json.dumps({**data, "added_tokens": []}))
    cases = [_case(item, full, text_only, bare) for item in TEXTS]
    return _document(full, cases, parts, decode_cases=_decode_cases(full))


def _fetched_case(text: str, full: Tokenizer) -> dict:
    ids = full.encode(text, add_special_tokens=False).ids
    decoded = full.decode(ids, skip_special_tokens=False)
    return {"text": text, "ids": ids} | ({} if decoded == text else {"decoded": decoded})


def fetched_goldens(path: pathlib.Path) -> dict:
    """cases.json of a fetched vocabulary."""
    full = Tokenizer.from_file(str(path))
    return _document(full, [_fetched_case(text, full) for text in TEXTS], LONG_PARTS)


def _write_json(path: pathlib.Path, value: dict) -> None:
    """Escapes for everything beyond ASCII, so that no editor or checkout can change a string."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = json.dumps(value, separators=(",", ":")).replace('},{"', '},\n{"')
    path.write_text(lines + "\n", encoding="ascii")


def write(out: pathlib.Path, only: list[str]) -> None:
    """Makes the folders named in `only`, or all."""

    def wanted(name: str) -> bool:
        return not only or name in only

    folder = out / "tokenizer"
    for name, data in variants(train()).items():
        if wanted(name):
            _write_json(folder / name / "tokenizer.json", data)
            parts = LONG_PARTS if name == "base" else []
            _write_json(folder / name / "cases.json", goldens(data, parts))
    if wanted("built-in"):
        built_in = json.loads(BUILT_IN.read_text(encoding="utf-8"))
        _write_json(folder / "built-in" / "cases.json", goldens(built_in, LONG_PARTS))
    if any(map(wanted, FETCHED)):
        subprocess.run(["sh", str(ROOT / "scripts/vocabularies.sh")], check=True)
    for name in filter(wanted, FETCHED):
        cases = fetched_goldens(VOCABULARIES / name / "tokenizer.json")
        _write_json(folder / name / "cases.json", cases)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("tests/golden"))
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these folders only")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if not args.check:
        write(args.out, args.only)
        return 0
    with tempfile.TemporaryDirectory() as fresh:
        write(pathlib.Path(fresh), args.only)
        for path in sorted(pathlib.Path(fresh).rglob("*.json")):
            committed = args.out / path.relative_to(fresh)
            if committed.read_bytes() != path.read_bytes():
                raise SystemExit(f"{committed}: differs from a fresh run")
    print("tokenizer ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
