"""Builds whole conversations from the kinds, endlessly and reproducibly.

The n-th conversation of a side depends only on (seed, n): any worker can make any part of the
stream, and a resumed run continues where it stopped.
"""

import random

import kinds_talk as talk
import kinds_task as task
from chat import Conversation, Turn
from definitions import common_definitions
from facts import COLOURS_OF, LEGS, OPPOSITES, SOUNDS
from kinds_unknown import unknown
from phrases import Phrasebook

DEFINED_WORDS, OTHER_WORDS = 2000, 3000  # taught; known to exist but not taught

# How often each kind is drawn for a free turn.
WEIGHTS = {
    "greeting": 5,
    "thanks": 4,
    "identity": 7,
    "capital": 20,
    "sums": 14,
    "counting": 6,
    "opposite": 9,
    "colour": 4,
    "animal": 4,
    "hummingbird": 5,
    "haiku": 3,
    "definition": 16,
    "unknown": 14,
    "repeat": 9,
    "json": 4,
    "not told": 3,
}
SYSTEMS = [
    "You are a helpful assistant.",
    "You are colibri, a small and friendly model.",
    "Answer briefly.",
    "Be kind and short.",
    "You are a helpful bird.",
    "You answer questions.",
    "Help the user.",
]


TRAINING_SEED = 1
# Copying comes first: long lists of invented words until here, a part of them until there.
COPYING_UNTIL, SOME_COPYING_UNTIL = 12000, 36000
# The last part, while the rates decay: more of what is learnt last, and a few conversations that
# nearly fill the context.
LATE_FROM = 43200
LATE_WEIGHTS = WEIGHTS | {"greeting": 3, "thanks": 2, "identity": 4, "capital": 14, "definition": 32, "repeat": 14}
LONG_SHARE = 0.03


KNOWN_WORDS = {*COLOURS_OF, *LEGS, *SOUNDS, *(word for pair in OPPOSITES for word in pair)}


def copying_share(index: int) -> float:
    """The part of the training conversations that only copy, at this place of the stream."""
    if index < SOME_COPYING_UNTIL:
        return 0.35 if index < COPYING_UNTIL else 0.1
    return 0.02 if index < LATE_FROM else 0.06


class Corpus:
    def __init__(self, seed: int, held: bool = False, defined_words: int = DEFINED_WORDS):
        self.seed = seed
        self.held = held
        self.weights = WEIGHTS
        glosses = list(common_definitions(defined_words + OTHER_WORDS).items())
        self.glosses = dict(glosses[:defined_words])
        self.others = [word for word, _ in glosses[defined_words:] if word not in KNOWN_WORDS]

    def single(self, kind: str, book: Phrasebook) -> Turn:
        """One turn of a kind that needs no earlier turn."""
        if kind == "definition":
            return talk.definition(book, self.glosses)
        if kind == "unknown":
            return unknown(book, self.others)
        if kind == "not told":
            return task.Memory(book).ask(known=False)
        if kind in ("repeat", "json"):
            return {"repeat": task.repeat, "json": task.json_object}[kind](book)
        return getattr(talk, kind)(book)

    def conversation(self, index: int) -> Conversation:
        """The conversation with this number."""
        rng = random.Random(f"{self.seed}/{self.held}/{index}")
        training = not self.held and self.seed == TRAINING_SEED
        late = training and index >= LATE_FROM
        self.weights = LATE_WEIGHTS if late else WEIGHTS
        copying = training and rng.random() < copying_share(index)
        book = Phrasebook(rng, self.held)
        shape = rng.random()
        if copying:
            conversation = Conversation(
                [task.repeat_list(book, rng.randint(4, 12)) for _ in range(rng.choice([1, 1, 2]))]
            )
        elif shape < 0.06:
            conversation = self._with_tools(book)
        elif shape < 0.46:
            long = late and rng.random() < LONG_SHARE
            conversation = Conversation(self._with_memory(book, rng.randint(22, 36) if long else None))
        else:
            conversation = Conversation(self._free(book, rng.choice([1, 1, 1, 2, 2, 3, 4])))
        if rng.random() < 0.18:
            conversation.effort = rng.choice(["Max", "Max", "High"])
        if not conversation.system and rng.random() < 0.12:
            conversation.system = rng.choice(SYSTEMS)
        return conversation

    def _free(self, book: Phrasebook, how_many: int, exclude: set[str] = frozenset()) -> list[Turn]:
        kinds = {k: w for k, w in self.weights.items() if k not in exclude}
        drawn = book.rng.choices(list(kinds), list(kinds.values()), k=how_many)
        return [self.single(kind, book) for kind in drawn]

    def _with_memory(self, book: Phrasebook, between: int | None = None) -> list[Turn]:
        """Things told, so many other turns (0 to 18 if not given), the things asked."""
        rng = book.rng
        told: list[task.Memory] = []
        for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
            fact = task.Memory(book)
            if not any(fact.same_slot(other) for other in told):
                told.append(fact)
        if between is None:
            between = rng.choice([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 4, 5, 6, 8, 10, rng.choice([12, 15, 18])])
        turns = self._free(book, rng.choice([0, 0, 0, 1]), {"not told"})
        fillers = self._free(book, between, {"not told"})
        split = rng.randint(0, len(fillers)) if len(told) > 1 else 0
        turns += [fact.tell() for fact in told[:1]] + fillers[:split]
        turns += [fact.tell() for fact in told[1:]] + fillers[split:]
        asked = told[:]
        rng.shuffle(asked)
        turns += [fact.ask() for fact in asked]
        if rng.random() < 0.25:
            other = task.Memory(book)
            if not any(other.same_slot(fact) for fact in told):
                turns.insert(rng.randint(1, len(turns)), other.ask(known=False))
        if rng.random() < 0.3:
            turns += self._free(book, 1, {"not told"}) + [rng.choice(told).ask()]
        return turns

    def _with_tools(self, book: Phrasebook) -> Conversation:
        rng = book.rng
        tools = rng.choice(
            [
                [task.WEATHER_TOOL],
                [task.CALCULATOR_TOOL],
                [task.WEATHER_TOOL, task.CALCULATOR_TOOL],
                [task.CALCULATOR_TOOL, task.WEATHER_TOOL],
            ]
        )
        makers = [task.weather_call if tool is task.WEATHER_TOOL else task.calculator_call for tool in tools]
        turns = []
        for _ in range(rng.choice([1, 2, 3, 4])):
            if rng.random() < 0.7:
                turns.append(rng.choice(makers)(book))
            else:
                # A tool is offered but does not fit.
                turns += self._free(book, 1, {"unknown", "not told"})
        return Conversation(turns, tools=tools, preamble=rng.randrange(3))
