"""Phrasings by grammar, and invented words.

A phrasing is written as text with choices in round brackets, nested if wanted:
``(What is|Tell me) the capital of {country}?`` Slots in curly brackets are filled after the choice.

A phrasing (before its slots are filled) belongs either to training or to the held-out prompts,
decided by a checksum of its text. So a held-out prompt is a combination never seen in training,
whatever the seeds are.
"""

import random
import zlib

HELD_OUT_SHARE = 10  # one phrasing in so many is held out

CONSONANTS = "b d f g k l m n p r s t v z br dr fl gr kl pl sh st tr th".split()
VOWELS = ["a", "e", "i", "o", "u", "ai", "ee", "oo"]
ENDINGS = ["", "", "n", "r", "x", "l", "m", "k", "p", "sh", "nt", "rd"]


def expand(grammar: str, rng: random.Random) -> str:
    """One random sentence of `grammar`."""
    while True:
        start = grammar.rfind("(")
        if start < 0:
            return grammar
        end = grammar.index(")", start)
        options = grammar[start + 1 : end].split("|")
        grammar = grammar[:start] + rng.choice(options) + grammar[end + 1 :]


def is_held_out(phrasing: str) -> bool:
    """Whether this phrasing (slots unfilled) is kept out of training."""
    return zlib.crc32(phrasing.lower().strip(" .?!").encode()) % HELD_OUT_SHARE == 0


def made_up_word(rng: random.Random) -> str:
    """A pronounceable word that (almost surely) does not exist, 3 to 10 letters."""
    syllables = rng.choice([1, 2, 2, 2, 3])
    word = "".join(rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(syllables))
    return word + rng.choice(ENDINGS)


class Phrasebook:
    """Draws phrasings of one side: training (`held=False`) or held-out (`held=True`)."""

    def __init__(self, rng: random.Random, held: bool):
        self.rng = rng
        self.held = held

    def pick(self, grammar: str, pinned: str = "", **slots) -> str:
        """A phrasing of this side with its slots filled.

        `pinned` is the plainest phrasing: always allowed in training (and drawn often), never held
        out. A grammar too small to have phrasings on this side gives any other phrasing.
        """
        if pinned and not self.held and self.rng.random() < 0.25:
            return self._roughen(pinned.format(**slots))
        for _ in range(200):
            phrasing = expand(grammar, self.rng)
            if is_held_out(phrasing) == self.held and not (self.held and phrasing == pinned):
                break
        return self._roughen(phrasing.format(**slots))

    def _roughen(self, text: str) -> str:
        """People type carelessly: now and then no capital, no full stop."""
        if self.held:
            return text
        if self.rng.random() < 0.12 and text[1:2].islower():
            text = text[0].lower() + text[1:]
        if self.rng.random() < 0.12 and text[-1] in ".?!":
            text = text[:-1]
        return text

    def word(self, words: list[str]) -> str:
        """A known word or, as often, an invented one: copying must not depend on the vocabulary."""
        return self.rng.choice(words) if self.rng.random() < 0.5 else made_up_word(self.rng)

    def name(self, names: list[str]) -> str:
        """A first name or an invented one, with a capital."""
        return self.rng.choice(names) if self.rng.random() < 0.6 else made_up_word(self.rng).capitalize()
