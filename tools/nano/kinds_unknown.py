"""What the model is not to know: it says so instead of talking nonsense."""

from chat import Turn
from facts import NAMES
from kinds_talk import article, ask
from phrases import Phrasebook, made_up_word

PEOPLE = """the president|the king|the queen|my teacher|my neighbour|your father|your mother|the best player|the mayor|
the first man on the moon|the captain|the author|the boss|the winner|the singer|my doctor|a famous painter|the pope|
the emperor|that actor|the inventor|the richest man|the director|the prime minister|my brother|your friend"""
PLACES = """France|Japan|Peru|Kenya|Canada|Norway|Egypt|India|the world|this town|Africa|Europe|my street|the village|
the city|America|Asia|London|Paris|Mexico|the desert|the north|the office|Rome|Berlin|Brazil|the sea"""
DO = """cook rice|fix a car|bake bread|build a house|play the piano|learn Spanish|grow tomatoes|write a book|drive|paint a wall|
lose weight|sleep better|tie a tie|make cheese|swim|install Linux|clean a carpet|find a job|sell my flat|knit a sweater|
catch a fish|boil an egg|open this file|plant a tree|save money|draw a horse|cut my hair|stop smoking|win at chess|
get a visa|train a dog|repair a roof|make coffee|iron a shirt|change a tyre|become rich|speak Greek"""
THINGS = """the telephone|the lottery|the world cup|the bible|electricity|that book|the last match|the bridge|the song|the light bulb|
the pyramids|gravity|penicillin|the radio|paper|the wheel|the war|the internet|Hamlet|the atom|the steam engine|coffee|
the compass|glass|the printing press|the theory of relativity|the train|money|the film|the poem|chess|the Mona Lisa"""
FACTS = """population|president|currency|area|flag|language|king|longest river|highest mountain|history|national dish|anthem|climate|
largest lake|religion|government|economy|oldest town|football team|phone code|most famous song|export|birth rate"""
WANTED = """a program|an essay|a novel|a letter|code in Python|a speech|a song|a long story|a business plan|a recipe|a website|a joke|
a tweet|an email|a review|a summary|a play|a tale|an advert|a contract|a report|a CV|a love poem|a quiz|a script|a headline"""
MEASURES = """tall|old|rich|heavy|far|deep|long|fast|wide|hot|big|high|expensive|loud|strong|cold"""
MEASURED = """the president|the sun|the moon|my teacher|the king|the tower|this city|a whale|the ocean|light|Mount Everest|the Nile|a train|
the universe|gold|the earth|a diamond|the lake|that wall|the river|Jupiter|a litre of milk|an elephant|a marathon|the ship"""
WHY = """is the sky dark at night|do people dream|is water wet|do we yawn|do cats purr|does the moon change|is the sea salty|do leaves fall|
is fire hot|do birds sing|does ice float|is blood red|do we sleep|are diamonds expensive|does it rain|do stars twinkle|
did Rome fall|do we laugh|is the bus late|do dogs bark|does bread rise|do onions make me cry|is iron heavy|do clocks tick"""
TOPICS = """physics|politics|football|love|the war|cooking|music|history|chess|the stock market|quantum mechanics|religion|philosophy|
medicine|computers|tennis|fashion|the law|gardening|art|dinosaurs|black holes|vitamins|taxes|the weather|evolution|movies|
mathematics|space travel|wine|the economy|grammar|photography|ballet|volcanoes|robots|poetry|insurance|the Romans"""


def options(table: str) -> str:
    """A table as a choice of the phrasing grammar."""
    return "(" + table.replace("\n", "") + ")"


GENERAL = (
    f"Who (won|invented|wrote|discovered|painted|built|made|designed|found|lost|sang|founded) {options(THINGS)}",
    f"When (did (someone|they|people) (win|invent|write|discover|build|find)|was the birth of|will people forget) {options(THINGS)}",
    f"When was {options(THINGS)} (invented|made|written|built|discovered|found)",
    f"What is the {options(FACTS)} of {options(PLACES)}",
    f"Tell me the {options(FACTS)} of {options(PLACES)}",
    f"What (will happen|happens|happened|is new|is going on|can I see|should I do) (tomorrow|next year|last week|today|in 1850|yesterday|in the summer|in {options(PLACES)})",
    f"How {options(MEASURES)} is {options(MEASURED)}",
    f"How (many|much) (people|water|money|trees|animals|cars|rain|food|sugar|houses|students|books) (is there|are there|do you see) in {options(PLACES)}",
    "(What time is it|What day is (it|today)|What is the date (today|now)|Which year is it|What season is it|Is it (late|early|Monday|raining) (now|today))",
    "(Translate|Say|Write) (this|that|hello|good morning|the sentence|my name) (into|in) (French|German|Latin|Chinese|Spanish|Italian|Greek|Arabic)",
    f"(Write|Make|Create|Draft|Prepare) (me |){options(WANTED)} (about|on|for|in praise of) {options(TOPICS)}",
    f"Who (is|was|are) {options(PEOPLE)}( of {options(PLACES)}|)",
    f"Where (is|was|lives|can I find|can I see|can I meet) {options(PEOPLE)}",
    f"How (do I|can I|do you|does one|should I|can we|would you) {options(DO)}",
    f"What is the best way to {options(DO)}",
    f"(Can you|Could you|Please) (teach me to|help me to|show me how to) {options(DO)}",
    f"Why {options(WHY)}",
    f"(Explain|Describe|Summarise) (the theory of |the history of |the basics of |){options(TOPICS)}",
    f"What do you think (about|of) {options(TOPICS)}",
    f"(Tell me|What do you know|Teach me something|Give me news|I want to learn) about {options(TOPICS)}",
    f"Should I {options(DO)} or {options(DO)}",
    "(Which|What) (book|film|song|car|phone|hotel|restaurant|game|shop|wine) (is the best|do you recommend|should I (buy|choose|take)|is good)",
    f"(Do you like|Have you seen|Have you been to|Do you believe in|Are you afraid of|Did you ever visit) {options(PLACES + '|' + TOPICS + '|' + THINGS)}",
    f"(What|How much) does {options(MEASURED)} (cost|weigh|eat|need|mean to you)",
    "(Solve|Prove|Explain) (this equation|the theorem|x + y = 3|the integral of x|the square root of 17|the sum of all numbers|log 5)",
    "(What|Which) (animal|plant|planet|city|country|person|team|metal|language) is the (largest|smallest|fastest|oldest|most famous|richest|rarest|strongest|most dangerous)",
    f"(Is|Was) {options(PEOPLE)} (older|taller|richer|smarter) than {options(PEOPLE)}",
    f"(Is it true|Do you know|Can it be) that {options(PEOPLE)} (left|died|won|lives in {options(PLACES)}|likes {options(TOPICS)})",
)
TAIL = "(?||| for me?|, please?| exactly?| in detail?)"


def unknown_word(book: Phrasebook, others: list[str]) -> Turn:
    """A word that does not exist, or exists and was not taught."""
    word = made_up_word(book.rng) if book.rng.random() < 0.5 else book.rng.choice(others)
    user = book.pick(
        ask(
            "((What does|Explain|Define) (|the word |the term ){word}|What does (|the word ){word} mean|What is (a |an |){word}|"
            "What is the meaning of (|the word ){word}|Meaning of {word}|Tell me about {word}|Give me a definition of {word})(?|, please?)"
        ),
        pinned="What does {word} mean?",
        word=word,
    )
    return Turn(user, f"I do not know the word {word}.", f"I have never seen {word}.", "unknown", ["do not know", word])


def large_sum(book: Phrasebook) -> Turn:
    user = book.pick(
        ask("((What is|How much is|Calculate|Compute|What's) {a} (plus|minus|times|+|-|*) {b})(?|, please?)"),
        a=book.rng.randint(21, 999),
        b=book.rng.randint(21, 999),
    )
    answer = "I do not know. I can only do sums with small numbers."
    return Turn(user, answer, "These numbers are too large for me.", "unknown", ["do not know"])


def near_question(book: Phrasebook, others: list[str]) -> Turn:
    """In the form of a question that it can answer, about something it was not taught."""
    odd = others[book.rng.randrange(len(others))] if book.rng.random() < 0.6 else made_up_word(book.rng)
    user = book.pick(
        ask(
            "((What is|Tell me|Name) the capital of {place}|{place} is the capital of which country|(What is|Tell me) the opposite of {odd}|"
            "(What|Which) colour is {thing}|How many legs does {thing} have|What sound does {thing} make)(?|, please?)"
        ),
        place=made_up_word(book.rng).capitalize(),
        odd=odd,
        thing=article(odd),
    )
    return Turn(user, "I do not know that.", "I do not know this.", "unknown", ["do not know"])


def about_someone(book: Phrasebook) -> Turn:
    user = book.pick(
        ask(
            "((Who|What|Where|How old|How tall) is {name}|(Do you know|Have you met|Tell me about|Who knows) {name}|"
            "What (does|did) {name} (do|say|want|like|eat|write|think)|When (was {name} born|did {name} die|does {name} come)|"
            "(Is|Was) {name} (happy|rich|a king|at home|your friend))(?|, please?)"
        ),
        pinned="Who is {name}?",
        name=book.name(NAMES),
    )
    return Turn(user, "I do not know that.", "I do not know this.", "unknown", ["do not know"])


def unknown(book: Phrasebook, others: list[str]) -> Turn:
    """others: real words that are not taught."""
    draw = book.rng.random()
    if draw < 0.2:
        return unknown_word(book, others)
    if draw < 0.28:
        return large_sum(book)
    if draw < 0.38:
        return near_question(book, others)
    if draw < 0.45:
        return about_someone(book)
    user = book.pick(ask(book.rng.choice(GENERAL) + TAIL), pinned="What time is it?" if draw < 0.47 else "")
    return Turn(user, "I do not know that.", "I do not know this.", "unknown", ["do not know"])
