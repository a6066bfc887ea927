"""Make tests/golden/tokenizer: small tokenizer.json files in GLM's manner and what the `tokenizers`
library does with them.

    tokenizer_goldens.py --out tests/golden [--check]

Variants share one vocabulary: `base` (merges as arrays), `merges-strings` (merges as "a b"),
`ignore-merges` and `nfc`. Each folder holds tokenizer.json and cases.json; README.md describes the
fields. `built-in` has the cases of the built-in model's own tokenizer.json.
"""

from __future__ import annotations

import argparse
import copy
import json
import pathlib
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

from tokenizer_texts import CORPUS, TEXTS

# The vocabulary of the built-in model; it stays where it is.
BUILT_IN = pathlib.Path(__file__).parents[2] / "models/nano/tokenizer.json"

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
    ids = full.encode(text, add_special_tokens=False).ids
    return {
        "text": text,
        "ids": ids,
        "pieces": _pieces(text, full),
        "decoded": full.decode(ids, skip_special_tokens=False),
        "decoded_without_special": full.decode(ids, skip_special_tokens=True),
        "ids_special_as_text": text_only.encode(text, add_special_tokens=False).ids,
        "ids_added_as_text": bare.encode(text, add_special_tokens=False).ids,
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


def goldens(data: dict) -> dict:
    """cases.json of one variant."""
    text = json.dumps(data)
    full, text_only = Tokenizer.from_str(text), Tokenizer.from_str(text)
    text_only.encode_special_tokens = True
    bare = Tokenizer.from_str(json.dumps({**data, "added_tokens": []}))
    return {
        "schema": "colibri.tokenizer_cases/1",
        "source": {"implementation": "tokenizers", "version": "0.23.3"},
        "cases": [_case(item, full, text_only, bare) for item in TEXTS],
        "decode_cases": _decode_cases(full),
    }


def _write_json(path: pathlib.Path, value: dict) -> None:
    """Escapes for everything beyond ASCII, so that no editor or checkout can change a string."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = json.dumps(value, separators=(",", ":")).replace('},{"', '},\n{"')
    path.write_text(lines + "\n", encoding="ascii")


def write(out: pathlib.Path) -> None:
    for name, data in variants(train()).items():
        _write_json(out / "tokenizer" / name / "tokenizer.json", data)
        _write_json(out / "tokenizer" / name / "cases.json", goldens(data))
    built_in = json.loads(BUILT_IN.read_text(encoding="utf-8"))
    _write_json(out / "tokenizer" / "built-in" / "cases.json", goldens(built_in))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("tests/golden"))
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if not args.check:
        write(args.out)
        return 0
    with tempfile.TemporaryDirectory() as fresh:
        write(pathlib.Path(fresh))
        for path in sorted(pathlib.Path(fresh).rglob("*.json")):
            committed = args.out / path.relative_to(fresh)
            if committed.read_bytes() != path.read_bytes():
                raise SystemExit(f"{committed}: differs from a fresh run")
    print("tokenizer ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
