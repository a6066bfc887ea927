"""Trains, loads and saves the tokenizer: byte-level BPE cut up by GLM's pre-tokenizer pattern.

usage: tokenizer.py FOLDER     writes tokenizer.json and tokenizer_config.json there
"""

import json
import sys
from pathlib import Path

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    pre_tokenizers,
    trainers,
)

from chat import CONTROL_TOKENS, TAG_TOKENS, render
from corpus import Corpus

VOCABULARY = 3072
TRAINED_ON_CONVERSATIONS = 30000
SEED = 7
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def train() -> Tokenizer:
    """A tokenizer without added tokens, trained on the text of the corpus."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    corpus = Corpus(SEED)
    texts = (
        piece.text
        for index in range(TRAINED_ON_CONVERSATIONS)
        for piece in render(corpus.conversation(index))
        if not piece.control
    )
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - len(CONTROL_TOKENS + TAG_TOKENS),
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def add_control_tokens(tokenizer: Tokenizer) -> None:
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in CONTROL_TOKENS])
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in TAG_TOKENS])


def save(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = train()
    add_control_tokens(tokenizer)
    assert tokenizer.get_vocab_size() == VOCABULARY, tokenizer.get_vocab_size()
    tokenizer.save(str(folder / "tokenizer.json"))
    template = (Path(__file__).parent / "chat_template.jinja").read_text()
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 1024,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|endoftext|>",
        "pad_token": "<|endoftext|>",
        "additional_special_tokens": CONTROL_TOKENS,
        "chat_template": template,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")


def load(folder: Path) -> tuple[Tokenizer, Tokenizer]:
    """(tokenizer, the same without added tokens, for message text)."""
    text = (folder / "tokenizer.json").read_text()
    description = json.loads(text)
    description["added_tokens"] = []
    return Tokenizer.from_str(text), Tokenizer.from_str(json.dumps(description))


if __name__ == "__main__":
    save(Path(sys.argv[1]))
