"""Short definitions of common words, from WordNet 3.0 (Debian package wordnet-base).

WordNet 3.0 Copyright 2006 by Princeton University. All rights reserved. The licence allows use,
copying and modification with this notice kept; its full text is in WORDNET-LICENSE.
"""

import re
from pathlib import Path

WORDNET_FOLDERS = [Path("/usr/share/wordnet"), Path(__file__).parents[2] / "build/nano/wn/usr/share/wordnet"]
LONGEST_WORDS = 9
LONGEST_CHARACTERS = 58


def wordnet_folder() -> Path:
    for folder in WORDNET_FOLDERS:
        if (folder / "cntlist.rev").exists():
            return folder
    raise FileNotFoundError("WordNet not found: install the Debian package wordnet-base")


def noun_counts(folder: Path) -> dict[str, int]:
    """How often each noun was tagged in WordNet's texts, over all senses."""
    counts: dict[str, int] = {}
    for line in (folder / "cntlist.rev").read_text().splitlines():
        key, _sense, count = line.split()
        word, _, rest = key.partition("%")
        if rest.startswith("1:"):
            counts[word] = counts.get(word, 0) + int(count)
    return counts


def first_glosses(folder: Path) -> dict[str, str]:
    """Noun -> gloss of its first (most frequent) sense."""
    gloss_at = {}
    for line in (folder / "data.noun").read_text().splitlines():
        if not line.startswith(" "):
            head, _, gloss = line.partition(" | ")
            gloss_at[head[:8]] = gloss
    glosses = {}
    for line in (folder / "index.noun").read_text().splitlines():
        if not line.startswith(" "):
            fields = line.split()
            pointers = int(fields[3])
            glosses[fields[0]] = gloss_at[fields[6 + pointers]]
    return glosses


def shorten(gloss: str) -> str:
    """The first clause without remarks in brackets; "" if it is too long or odd."""
    text = re.sub(r"\([^)]*\)", "", gloss)
    text = re.split(r"[;:\"]", text)[0]
    text = re.sub(r"\s+", " ", text).strip(" ,.")
    usable = re.fullmatch(r"[a-z][a-z ,'-]+", text) and 2 <= len(text.split()) <= LONGEST_WORDS
    return text if usable and len(text) <= LONGEST_CHARACTERS else ""


def common_definitions(how_many: int) -> dict[str, str]:
    """The `how_many` most frequent nouns that have a short definition, most frequent first."""
    folder = wordnet_folder()
    counts, glosses = noun_counts(folder), first_glosses(folder)
    chosen = {}
    for word in sorted(counts, key=lambda w: (-counts[w], w)):
        text = shorten(glosses.get(word, ""))
        if text and word.isalpha() and 3 <= len(word) <= 12 and word not in text.split():
            chosen[word] = text
            if len(chosen) == how_many:
                break
    return chosen


if __name__ == "__main__":
    for word, text in common_definitions(2000).items():
        print(f"{word}: {text}")
