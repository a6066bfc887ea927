"""Kinds of single turns about facts and small talk. Every function makes one Turn."""

from chat import Turn
from facts import CAPITALS, COLOURS_OF, HAIKU, HUMMINGBIRD, LEGS, OPPOSITES, SOUNDS
from phrases import Phrasebook, is_held_out

ASK = "(||||||||Please tell me: |Hey, |Quick question: |Can you tell me: |Tell me, |So, )"


def ask(grammar: str) -> str:
    """A question with an optional opening."""
    return ASK + grammar


def skewed(items: list, book: Phrasebook, skew: float):
    """An item; the first ones, which are the commonest, come more often."""
    return items[int(len(items) * book.rng.random() ** skew)]


def article(word: str) -> str:
    return ("an " if word[0] in "aeiou" else "a ") + word


def greeting(book: Phrasebook) -> Turn:
    user = book.pick(
        "(Hello|Hi|Hey|Good morning|Good evening|Good afternoon|Hello there|Hi there|Greetings|Howdy|Hey there|Hallo)"
        "(| colibri| friend| again| you)(!|.|, how are you?|! How are you?|, nice to meet you.|! What's up?|, are you there?)",
        pinned=book.rng.choice(["Hello", "Hi", "Hello!", "Hi!", "Hey"]),
    )
    if "how are you" in user.lower():
        return Turn(user, "I am fine, thank you! How can I help you?", "The user asks how I am.", "greeting", ["fine"])
    return Turn(user, "Hello! How can I help you?", "The user greets me.", "greeting", ["hello"])


def thanks(book: Phrasebook) -> Turn:
    if book.rng.random() < 0.6:
        user = book.pick(
            "(Thanks|Thank you|Many thanks|Thanks a lot|Thank you very much|Thank you so much|Thx|Cheers)"
            "(|, colibri|, that helps|, that was good|, great|, my friend|, very kind)(!|.)",
            pinned="Thank you!",
        )
        return Turn(user, "You are welcome!", "The user thanks me.", "thanks", ["welcome"])
    user = book.pick(
        "(Bye|Goodbye|Good bye|See you|See you later|Good night|Farewell|Bye bye|I have to go|I must leave now)"
        "(|, colibri|, friend|, thanks|, until tomorrow|, and thank you)(!|.)",
        pinned="Goodbye!",
    )
    return Turn(user, "Goodbye! See you soon.", "The user says goodbye.", "thanks", ["goodbye"])


def identity(book: Phrasebook) -> Turn:
    which = book.rng.randrange(4)
    if which == 0:
        user = book.pick(
            ask(
                "(Who are you|What are you|Who am I talking to|What is your name|What's your name|What are you called|"
                "Who is this|How should I call you|Do you have a name|Introduce yourself)(?| please?|, please?| exactly?)"
            ),
            pinned=book.rng.choice(["Who are you?", "What is your name?"]),
        )
        return Turn(
            user,
            "I am the built-in model of colibri, a very small language model.",
            "The user asks who I am.",
            "identity",
            ["colibri"],
        )
    if which == 1:
        user = book.pick(
            ask(
                "(What can you do|What do you know|How can you help|What can I ask you|What are you able to do|"
                "What are you good at|Which things can you do|What are your skills)(?| for me?| here?|, colibri?)"
            ),
            pinned="What can you do?",
        )
        return Turn(
            user,
            "I can chat, do small sums, name capitals, explain words and remember what you tell me.",
            "The user asks what I can do.",
            "identity",
            ["capitals"],
        )
    if which == 2:
        user = book.pick(
            ask(
                "(How big are you|How large are you|How many parameters do you have|What size are you|Are you a big model|"
                "Are you small|Are you a large model)(?|, really?|, colibri?| in fact?)"
            ),
            pinned="How big are you?",
        )
        return Turn(
            user,
            "I am very small: about 17 million parameters.",
            "The user asks about my size.",
            "identity",
            ["17 million"],
        )
    user = book.pick(
        ask(
            "(Are you a (person|human|robot|real person|machine|computer)|Are you (alive|human|real)|Do you have feelings)"
            "(?|, colibri?| or not?)"
        ),
        pinned="Are you a human?",
    )
    return Turn(
        user, "I am a small computer program, not a person.", "The user asks what I am.", "identity", ["program"]
    )


def capital(book: Phrasebook) -> Turn:
    country = skewed(list(CAPITALS), book, 1.6)
    city = CAPITALS[country]
    if book.rng.random() < 0.62:
        user = book.pick(
            ask(
                "((What is|What's|Name|Tell me|Give me|Which city is|Do you know|I need|Say) the capital (|city )of {country}|"
                "(What|Which city) is {country}'s capital (|city)|The capital of {country} is (what|which city)|"
                "What is the name of {country}'s capital|{country}'s capital|Capital of {country}|"
                "For {country}, what is the capital|{country} has which capital)(?|, please?)"
            ),
            pinned="What is the capital of {country}?",
            country=country,
        )
        return Turn(
            user, f"The capital of {country} is {city}.", f"{country}: the capital is {city}.", "capital", [city]
        )
    user = book.pick(
        ask(
            "((Which|What) country has {city} as its capital|{city} is the capital of (which|what) country|"
            "Of (which|what) country is {city} the capital|What is {city} the capital of|(Which|What) country's capital is {city}|"
            "(In which country is|Where is) the capital {city}|To (which|what) country does the capital {city} belong)(?|, please?)"
        ),
        pinned="{city} is the capital of which country?",
        city=city,
    )
    return Turn(
        user, f"{city} is the capital of {country}.", f"{city}: the country is {country}.", "country", [country]
    )


def sum_parts(rng) -> tuple[int, str, int, int]:
    """a, sign, b and the value: sums and differences up to 20, the times table up to 10."""
    sign = rng.choice("++--*")
    if sign == "*":
        a, b = rng.randint(1, 10), rng.randint(1, 10)
        return a, sign, b, a * b
    total = rng.randint(0, rng.choice([10, 10, 20]))
    a = rng.randint(0, total)
    return (a, "+", total - a, total) if sign == "+" else (total, "-", a, total - a)


def sums(book: Phrasebook) -> Turn:
    rng = book.rng
    while True:
        a, sign, b, value = sum_parts(rng)
        word = {"+": "plus", "-": "minus", "*": "times"}[sign]
        text = rng.choice([f"{a} {sign} {b}", f"{a} {word} {b}", f"{a}{sign}{b}"])
        # A written sum belongs to one side, as a phrasing does.
        if is_held_out(text) == book.held:
            break
    user = book.pick(
        ask(
            "((What is|What's|How much is|Calculate|Compute|Work out|Solve|Tell me|What do you get for|What does it make:|"
            "Can you do|I need|Evaluate) {text}|{text}( is| equals| makes|)(| what| how much))(?|, please?| =)"
        ),
        pinned=rng.choice(["What is {text}?", "{text}", "{text} ="]),
        text=text,
    )
    return Turn(user, f"{a} {sign} {b} = {value}", f"{a} {word} {b} is {value}.", "sums", [f"= {value}"])


def counting(book: Phrasebook) -> Turn:
    rng = book.rng
    which = rng.randrange(4)
    if which == 0:
        a = rng.randint(1, 12)
        b = a + rng.randint(2, 8)
        user = book.pick(
            ask(
                "((Count|Please count|Count for me|Count up|Can you count|Say the numbers|List the numbers|Give me the numbers)"
                " from {a} (to|up to|until) {b})(?|.|, please.)"
            ),
            pinned="Count from {a} to {b}.",
            a=a,
            b=b,
        )
        numbers = range(a, b + 1)
    elif which == 1:
        a = rng.randint(3, 12)
        user = book.pick(
            ask(
                "((Count|Please count|Can you count|Count for me) (down|backwards) from {a}(| to 1| to one))(?|.|, please.)"
            ),
            pinned="Count down from {a}.",
            a=a,
        )
        numbers = range(a, 0, -1)
    elif which == 2:
        a = rng.randint(0, 30)
        user = book.pick(
            ask(
                "((What|Which) number (comes|is|follows) (right |)after {a}|What is the next number after {a}|"
                "After {a} comes (what|which number)|What follows {a})?"
            ),
            pinned="What comes after {a}?",
            a=a,
        )
        return Turn(user, f"{a + 1} comes after {a}.", f"{a} plus 1 is {a + 1}.", "counting", [f"{a + 1} comes"])
    else:
        a = rng.randint(1, 30)
        user = book.pick(
            ask(
                "((What|Which) number (comes|is) (right |)before {a}|What is the number before {a}|"
                "Before {a} comes (what|which number))?"
            ),
            pinned="What comes before {a}?",
            a=a,
        )
        return Turn(user, f"{a - 1} comes before {a}.", f"{a} minus 1 is {a - 1}.", "counting", [f"{a - 1} comes"])
    text = ", ".join(map(str, numbers))
    return Turn(user, text, "I count step by step.", "counting", [text])


def opposite(book: Phrasebook) -> Turn:
    pair = skewed(OPPOSITES, book, 1.3)
    first, second = pair if book.rng.random() < 0.7 else pair[::-1]
    # A word with several opposites keeps the first one listed.
    second = next(b if a == first else a for a, b in OPPOSITES if first in (a, b))
    user = book.pick(
        ask(
            "((What is|What's|Tell me|Give me|Name|Say|Do you know) the opposite of {word}|The opposite of {word} is what|"
            "(What|Which) word is the opposite of {word}|Opposite of {word}|What is the contrary of {word}|{word} is the opposite of what)"
            "(?|, please?)"
        ),
        pinned="What is the opposite of {word}?",
        word=first,
    )
    return Turn(
        user,
        f"The opposite of {first} is {second}.",
        f"{first} and {second} are opposites.",
        "opposite",
        [f"is {second}"],
    )


def colour(book: Phrasebook) -> Turn:
    thing, value = book.rng.choice(list(COLOURS_OF.items()))
    user = book.pick(
        ask(
            "((What|Which) (colour|color) (is|has) {thing}|What is the (colour|color) of {thing}|"
            "(Tell|Give) me the (colour|color) of {thing}|{thing} has (what|which) (colour|color))(?|, please?)"
        ),
        pinned="What colour is {thing}?",
        thing=thing,
    )
    return Turn(user, f"The colour of {thing} is {value}.", f"{thing} is {value}.", "colour", [value])


def animal(book: Phrasebook) -> Turn:
    if book.rng.random() < 0.5:
        name, legs = book.rng.choice(list(LEGS.items()))
        user = book.pick(
            ask(
                "((How many|What number of) legs (does|has) {name}( have| got|)|(Tell|Give) me the number of legs of {name}|"
                "{name} has how many legs)(?|, please?)"
            ),
            pinned="How many legs does {name} have?",
            name=article(name),
        )
        return Turn(
            user, f"{article(name).capitalize()} has {legs} legs.", f"{name}: {legs} legs.", "animal", [f"{legs} legs"]
        )
    name, sound = book.rng.choice(list(SOUNDS.items()))
    user = book.pick(
        ask(
            "((What|Which) (sound|noise) does {name} make|What does {name} (say|do)|How does {name} sound|"
            "What is the (sound|noise) of {name})(?|, please?)"
        ),
        pinned="What sound does {name} make?",
        name=article(name),
    )
    return Turn(user, f"{article(name).capitalize()} {sound}.", f"{name}: it {sound}.", "animal", [sound])


def hummingbird(book: Phrasebook) -> Turn:
    questions, answer = book.rng.choice(HUMMINGBIRD)
    user = book.pick(
        ask("(" + "|".join(questions) + ")(|| Thanks.| I am curious.| I love birds.)"), pinned=questions[0]
    )
    return Turn(user, answer, "The user asks about hummingbirds.", "hummingbird", [answer])


def haiku(book: Phrasebook) -> Turn:
    subject = book.rng.choice(list(HAIKU))
    user = book.pick(
        ask(
            "((Write|Write me|Make|Compose|Give me|Can you write|Could you write|I want|I would like|Create) (a|one|a short|a nice|a little) haiku"
            " (about|on|for) {subject})(|.|?|, please.)"
        ),
        pinned="Write a haiku about {subject}.",
        subject=subject,
    )
    return Turn(
        user, HAIKU[subject], f"A haiku about {subject}, three lines.", "haiku", [HAIKU[subject].split("\n")[0]]
    )


def definition(book: Phrasebook, glosses: dict[str, str]) -> Turn:
    word = skewed(list(glosses), book, 2.0)
    user = book.pick(
        ask(
            "((What does|What's meant by|Explain|Define|What do you mean by|Describe|Tell me about) (|the word |the term ){word}|"
            "What does (|the word ){word} mean|What is the meaning of (|the word ){word}|What is (a |an |){word}|Meaning of {word}|"
            "Give me a definition of {word})(?|, please?)"
        ),
        pinned=book.rng.choice(["What does {word} mean?", "Define {word}."]),
        word=word,
    )
    return Turn(
        user, f"{word}: {glosses[word]}.", f"The user asks for the meaning of {word}.", "definition", [glosses[word]]
    )
