"""Kinds that work on what the user wrote: remembering, repeating, JSON and tools."""

import json

from chat import Turn
from facts import CITIES, COLOURS, NAMES, OBJECTS, SPOTS, WORDS
from kinds_talk import ask
from phrases import Phrasebook

END = "(|.|!|. Please remember it.|. Remember that.|, please remember.|. Do not forget it.)"


class Memory:
    """One thing the user tells and asks back later. kind is one of KINDS."""

    KINDS = ["name", "name", "name", "name", "colour", "number", "word", "word", "city", "place"]

    def __init__(self, book: Phrasebook, kind: str = ""):
        self.book = book
        self.kind = kind or book.rng.choice(self.KINDS)
        self.thing = book.rng.choice(OBJECTS)
        self.value = {
            "name": lambda: book.name(NAMES),
            "colour": lambda: book.rng.choice(COLOURS),
            "number": lambda: str(book.rng.randint(1, 99)),
            "word": lambda: book.word(WORDS),
            "city": lambda: book.rng.choice(CITIES) if book.rng.random() < 0.7 else book.name(CITIES),
            "place": lambda: book.rng.choice(SPOTS),
        }[self.kind]()

    def same_slot(self, other: "Memory") -> bool:
        return self.kind == other.kind and (self.kind != "place" or self.thing == other.thing)

    def tell(self) -> Turn:
        hello = "(||Hi, |Hello, |Hello! |Hi! |By the way, |Hey, )"
        grammar, pinned, answer = {
            "name": (
                "(My name is|I am called|I'm|I am|You can call me|Call me|People call me|My friends call me|Please call me|They call me) {value}"
                + END,
                "My name is {value}.",
                "Nice to meet you, {value}!",
            ),
            "colour": (
                "(My favourite colour is|My favorite color is|The colour I like best is|I like the colour|I love the colour|The best colour is|My colour is) {value}"
                + END,
                "My favourite colour is {value}.",
                "I will remember: your favourite colour is {value}.",
            ),
            "number": (
                "(My lucky number is|My favourite number is|My number is|The number I like is|Remember the number|Note the number|The number is|Keep the number) {value}"
                + END,
                "My number is {value}.",
                "I will remember: your number is {value}.",
            ),
            "word": (
                "(Remember the word|The secret word is|My word is|The password is|Keep the word|The code word is|My secret word is|Note the word) {value}"
                + END,
                "The secret word is {value}.",
                "I will remember: the word is {value}.",
            ),
            "city": (
                "(I live in|I am from|I come from|My home is in|My home town is|I was born in|My city is|My home is) {value}"
                + END,
                "I live in {value}.",
                "I will remember: you live in {value}.",
            ),
            "place": (
                "(My {thing} is in the|I put my {thing} in the|I left my {thing} in the|I have my {thing} in the|Remember: my {thing} is in the|I keep my {thing} in the) {value}"
                + END,
                "My {thing} is in the {value}.",
                "I will remember: your {thing} is in the {value}.",
            ),
        }[self.kind]
        slots = {"value": self.value, "thing": self.thing}
        user = self.book.pick(hello + grammar, pinned=pinned, **slots)
        return Turn(user, answer.format(**slots), f"The user tells me: {self.value}.", "told", [self.value])

    def ask(self, known: bool = True) -> Turn:
        tail = "(?||, please?|, do you remember?|, do you know?| again?)"
        grammar, pinned, answer, missing = {
            "name": (
                "(What is my name|What's my name|Who am I|Do you (know|remember) my name|Tell me my name|How am I called|Say my name|What was my name|What am I called)",
                "What is my name?",
                "Your name is {value}.",
                "your name",
            ),
            "colour": (
                "((What is|What was|What's|Tell me|Do you know|Do you remember) my favourite colour|Which colour do I like(| best)|What colour do I like(| best))",
                "What is my favourite colour?",
                "Your favourite colour is {value}.",
                "your favourite colour",
            ),
            "number": (
                "((What is|What was|What's|Tell me|Do you know|Do you remember) my (|lucky |favourite )number|Which number (did I tell you|do I like))",
                "What is my number?",
                "Your number is {value}.",
                "your number",
            ),
            "word": (
                "((What is|What was|What's|Tell me|Do you know|Do you remember) (the|my) (word|secret word|code word|password)|Which word did I (tell|give) you)",
                "What is the secret word?",
                "The word is {value}.",
                "the word",
            ),
            "city": (
                "(Where do I live|Where am I from|Where do I come from|(What is|What was|What's|Tell me|Do you know|Do you remember) my (city|home town|home)|In which city do I live|Which city am I from)",
                "Where do I live?",
                "You live in {value}.",
                "where you live",
            ),
            "place": (
                "(Where (is|did I put|did I leave|do I keep|was) my {thing}|(Tell me|Do you know|Do you remember) where my {thing} is|In which place is my {thing})",
                "Where is my {thing}?",
                "Your {thing} is in the {value}.",
                "where your {thing} is",
            ),
        }[self.kind]
        slots = {"value": self.value, "thing": self.thing}
        user = self.book.pick("(||||So, |Now, |Tell me, |Okay, |Question: )" + grammar + tail, pinned=pinned, **slots)
        if known:
            return Turn(user, answer.format(**slots), f"The user told me: {self.value}.", "memory", [self.value])
        return Turn(
            user,
            f"I do not know {missing.format(**slots)}. You have not told me.",
            "The user has not told me.",
            "not told",
            ["do not know"],
        )


def repeat_list(book: Phrasebook, how_many: int) -> Turn:
    text = " ".join(book.word(WORDS) for _ in range(how_many))
    user = book.pick(
        "(Repeat|Say|Please say|Please repeat|Write|Echo|Repeat after me|Say after me|Copy)(| these words| this list| the words| the list| this): {text}",
        pinned="Repeat: {text}",
        text=text,
    )
    return Turn(user, text, "I repeat it.", "repeat", [text])


def repeat(book: Phrasebook) -> Turn:
    rng = book.rng
    which = rng.randrange(3)
    if which == 0:
        return repeat_list(book, rng.randint(2, 5))
    word = book.word(WORDS)
    if which == 1:
        user = book.pick(
            "(Repeat|Say|Please say|Please repeat|Write|Echo|Can you say|Can you repeat|Just say|Now say)(| the word| this word| after me the word)(:|) {text}(|.)",
            pinned="Repeat the word {text}.",
            text=word,
        )
        answer = word
    else:
        times = rng.choice([2, 3])
        user = book.pick(
            "(Say|Write|Repeat|Please say|Please write|Can you say)(| the word) {word} {times} times(|.|, please.)",
            pinned="Say {word} {times} times.",
            word=word,
            times={2: "two", 3: "three"}[times],
        )
        answer = " ".join([word] * times)
    return Turn(user, answer, "I repeat it.", "repeat", [answer])


def json_object(book: Phrasebook) -> Turn:
    rng = book.rng
    fields = [
        ("name", book.name(NAMES)),
        ("age", rng.randint(1, 99)),
        ("city", rng.choice(CITIES)),
        ("colour", rng.choice(COLOURS)),
        ("number", rng.randint(1, 99)),
        ("word", book.word(WORDS)),
    ]
    chosen = rng.sample(fields, rng.choice([1, 2, 2, 3]))
    text = " and ".join(f"{key} {value}" for key, value in chosen)
    user = book.pick(
        "(Give me|Write|Make|Create|I need|Answer with|Reply with|Can you make|Return|Build)(| me)(| a| one| a small| a short) JSON(| object) "
        "(with|for|of|from|containing)(|:| the fields) {text}(|.|, please.|. Only JSON.)",
        pinned="Give me JSON with {text}.",
        text=text,
    )
    answer = json.dumps(dict(chosen))
    return Turn(user, answer, "I write a JSON object.", "json", [answer])


WEATHER_TOOL = {
    "name": "get_weather",
    "description": "Get the weather in a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
CALCULATOR_TOOL = {
    "name": "calculator",
    "description": "Calculate an expression",
    "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]},
}


def weather_call(book: Phrasebook) -> Turn:
    rng = book.rng
    city = rng.choice(CITIES) if rng.random() < 0.7 else book.name(CITIES)
    user = book.pick(
        ask(
            "((What is|What's|How is|How's|Tell me|Check|Get|Look up|I need|Give me) the weather (|like |today |now )in {city}|"
            "Is it (raining|sunny|cold|warm|snowing|windy) (|today |now )in {city}|(How warm|How cold) is it in {city}|"
            "(What is|Tell me) the temperature in {city}|Weather in {city})(?|, please?)"
        ),
        pinned="What is the weather in {city}?",
        city=city,
    )
    sky, degrees = rng.choice(["sunny", "rainy", "cloudy", "windy", "foggy", "snowy", "clear"]), rng.randint(-9, 39)
    result = rng.choice(
        [
            json.dumps({"weather": sky, "temperature": degrees}),
            f"{sky}, {degrees} degrees",
            json.dumps({"city": city, "temperature": degrees, "weather": sky}),
        ]
    )
    return Turn(
        user,
        f"The weather in {city} is {sky}, {degrees} degrees.",
        f"I need the weather in {city}.",
        "tool weather",
        ["get_weather", city],
        ("get_weather", {"city": city}),
        result,
    )


def calculator_call(book: Phrasebook) -> Turn:
    rng = book.rng
    a, b, sign = rng.randint(21, 999), rng.randint(21, 999), rng.choice("+-*")
    value = {"+": a + b, "-": a - b, "*": a * b}[sign]
    text = f"{a} {sign} {b}"
    user = book.pick(
        ask("((What is|What's|How much is|Calculate|Compute|Work out|Solve|I need) {text})(?|, please?)"),
        pinned="What is {text}?",
        text=text,
    )
    result = rng.choice([str(value), json.dumps({"result": value})])
    return Turn(
        user,
        f"{text} = {value}",
        f"I need the calculator for {text}.",
        "tool calculator",
        ["calculator", text],
        ("calculator", {"expression": text}),
        result,
    )
