"""Writes held_out.jsonl: prompts with phrasings and combinations that training never shows.

usage: held_out.py     (fixed before training; never tune on it)

Each line: kind, messages (OpenAI form, the last one to be answered), thinking, tools, and
`expect`, the texts that a right answer contains (ignoring case). Tool calls are compared in their
raw form, `<tool_call>name<arg_key>...`.
"""

import json
import random
from pathlib import Path

import kinds_task as task
from chat import Conversation, Turn
from corpus import TRAINING_SEED, WEIGHTS, Corpus
from phrases import Phrasebook

SEED = 20
PER_KIND = 20
SCANNED_CONVERSATIONS = 48 * 1720  # all of training: texts that must not recur
# Written by hand, in forms that no grammar of the training has.
OUT_OF_DOMAIN = """
Which side of the road do they drive on in Malta?
I lost my passport at the airport, what now?
Could a shark survive in a swimming pool?
My laptop gets very warm when I watch videos.
Name three rivers that flow into the Black Sea.
How come my soup tastes bitter?
Are tomatoes fruits or vegetables?
Give me some ideas for a birthday present.
What did Napoleon eat for breakfast?
Please check the spelling of this paragraph.
How many bones are in a human hand?
Which vitamin do carrots contain?
Compare cats and dogs as pets.
If I mix blue paint and yellow paint, which paint do I get?
Who painted the ceiling of the chapel?
Where does the Danube begin?
Suggest a name for my new boat.
What is the boiling point of alcohol?
Does sound travel faster in water?
Convert ten miles to kilometres.
What comes first, the chicken or the egg?
How do vaccines protect us?
Rank the planets by their mass.
Could you book a table for two at seven?
What is the plot of Moby Dick?
Is seven a prime number?
How long should I boil pasta?
Which instrument has eighty-eight keys?
List all the kings of Denmark.
Sort these cities by size.
What is your opinion on school uniforms?
Will robots take our jobs?
Fix the bug in my function.
How does a refrigerator work?
Turn off the light in the living room.
What rhymes with mountain?
When does the next bus leave?
Give me a synonym for happy.
Who sits next to you in class?
Who would win, a bear or a tiger?
"""
PATH = Path(__file__).parent / "held_out.jsonl"


def messages_of(conversation: Conversation, with_result: bool) -> list[dict]:
    """All turns but the last answer; `with_result` = the last turn's tool has answered already."""
    messages = [{"role": "system", "content": conversation.system}] if conversation.system else []
    for turn in conversation.turns:
        messages.append({"role": "user", "content": turn.user})
        if turn is conversation.turns[-1] and not (turn.call and with_result):
            break
        if turn.call:
            name, arguments = turn.call
            messages.append(
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [
                        {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
                    ],
                }
            )
            messages.append({"role": "tool", "tool_call_id": "call_1", "content": turn.result})
        if turn is not conversation.turns[-1]:
            messages.append({"role": "assistant", "content": turn.answer})
    return messages


def entry(kind: str, conversation: Conversation, with_result: bool = False) -> dict:
    last: Turn = conversation.turns[-1]
    return {
        "kind": kind,
        "messages": messages_of(conversation, with_result),
        "thinking": bool(conversation.effort),
        "tools": [{"type": "function", "function": tool} for tool in conversation.tools],
        "expect": [last.answer] if with_result else last.expect,
    }


def candidates(kind: str, corpus: Corpus, book: Phrasebook):
    """Endless prompts of one kind."""
    while True:
        if kind.startswith("memory"):
            turns = corpus._with_memory(book)
            while turns[-1].kind != "memory":
                turns.pop()
            yield entry("memory", Conversation(turns))
        elif kind == "thinking":
            single = book.rng.choice(["capital", "sums", "opposite", "greeting", "colour"])
            yield entry(kind, Conversation([corpus.single(single, book)], effort="Max"))
        elif kind == "tool weather":
            yield entry(kind, Conversation([task.weather_call(book)], tools=[task.WEATHER_TOOL]))
        elif kind == "tool calculator":
            yield entry(
                kind, Conversation([task.calculator_call(book)], tools=[task.CALCULATOR_TOOL, task.WEATHER_TOOL])
            )
        elif kind == "tool result":
            yield entry(kind, Conversation([task.weather_call(book)], tools=[task.WEATHER_TOOL]), with_result=True)
        elif kind == "second turn":
            first, second = corpus.single("capital", book), corpus.single("sums", book)
            yield entry(kind, Conversation([first, second]))
        else:
            turn = corpus.single(kind, book)
            yield entry(turn.kind, Conversation([turn]))


def out_of_domain() -> list[dict]:
    return [
        entry("out of domain", Conversation([Turn(text, "", kind="", expect=["do not know"])]))
        for text in OUT_OF_DOMAIN.strip().splitlines()
    ]


def trained_texts() -> set[str]:
    """Every user message of the first part of the training stream."""
    corpus = Corpus(TRAINING_SEED)
    return {
        turn.user.lower().strip(" .?!") for i in range(SCANNED_CONVERSATIONS) for turn in corpus.conversation(i).turns
    }


def main() -> None:
    corpus = Corpus(SEED, held=True)
    book = Phrasebook(random.Random(SEED), held=True)
    seen, prompts = trained_texts(), []
    kinds = [
        *WEIGHTS,
        "memory",
        "memory long",
        "thinking",
        "tool weather",
        "tool calculator",
        "tool result",
        "second turn",
    ]
    for kind in kinds:
        taken = set()
        for tries, prompt in enumerate(candidates(kind, corpus, book)):
            text = json.dumps(prompt["messages"])
            alone = len(prompt["messages"]) == 1
            known = alone and prompt["messages"][0]["content"].lower().strip(" .?!") in seen
            if not known and text not in taken:
                taken.add(text)
                prompts.append(prompt)
            if len(taken) == PER_KIND or tries == 400:
                break
    prompts += out_of_domain()
    PATH.write_text("".join(json.dumps(prompt, ensure_ascii=False) + "\n" for prompt in prompts))
    print(f"{PATH}: {len(prompts)} prompts")


if __name__ == "__main__":
    main()
