"""Conversations as token sequences, in the way GLM-5.2's chat template renders them.

A prompt starts with ``[gMASK]<sop>``; there are no separators, a turn ends where the next role tag
begins, so the role tag that follows an answer is its stop token and part of what is trained.
Message text never contains control tokens, even if it spells one.
"""

import json
from dataclasses import dataclass, field

CONTROL_TOKENS = [
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
]
TAG_TOKENS = [
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
]

# Must equal the text in chat_template.jinja; the variants keep the model from depending on one
# wording, since an engine may bring its own.
TOOL_PREAMBLES = [
    ("You can call these tools:\n", "To call a tool, answer with its name and arguments in tool call tags."),
    (
        "# Tools\n\nYou may call one or more functions to help with the user's question.\n\n",
        "For each function call, write the function name and its arguments in the tool call format.",
    ),
    ("The following functions are available.\n", "Call a function only if it helps."),
]


@dataclass
class Turn:
    """One question and its answer.

    expect: texts that a right answer contains (ignoring case); kind: for the evaluation's table.
    call: (tool, arguments) made before the answer; result: what the tool gave back.
    """

    user: str
    answer: str
    thinking: str = ""
    kind: str = ""
    expect: list[str] = field(default_factory=list)
    call: tuple[str, dict] | None = None
    result: str = ""


@dataclass
class Conversation:
    """Turns with their setting. effort: "" for thinking off, else "Max" or "High"."""

    turns: list[Turn]
    effort: str = ""
    system: str = ""
    tools: list[dict] = field(default_factory=list)
    preamble: int = 0


@dataclass
class Piece:
    """A stretch of a rendered conversation: one control token or plain text; trained or not."""

    text: str
    control: bool
    trained: bool = False


def call_pieces(call: tuple[str, dict], trained: bool) -> list[Piece]:
    name, arguments = call
    pieces = [Piece("<tool_call>", True, trained), Piece(name, False, trained)]
    for key, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        pieces += [
            Piece("<arg_key>", True, trained),
            Piece(key, False, trained),
            Piece("</arg_key>", True, trained),
            Piece("<arg_value>", True, trained),
            Piece(text, False, trained),
            Piece("</arg_value>", True, trained),
        ]
    return pieces + [Piece("</tool_call>", True, trained)]


def head_pieces(conversation: Conversation) -> list[Piece]:
    """Everything before the first message."""
    pieces = [Piece("[gMASK]", True), Piece("<sop>", True)]
    if conversation.effort:
        pieces += [Piece("<|system|>", True), Piece(f"Reasoning Effort: {conversation.effort}", False)]
    if conversation.tools:
        before, after = TOOL_PREAMBLES[conversation.preamble]
        listing = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in conversation.tools)
        pieces += [Piece("<|system|>", True), Piece(f"{before}<tools>\n{listing}\n</tools>\n{after}", False)]
    if conversation.system:
        pieces += [Piece("<|system|>", True), Piece(conversation.system, False)]
    return pieces


def thinking_pieces(thinking: str, on: bool) -> list[Piece]:
    if not on:
        return [Piece("<think>", True), Piece("</think>", True)]
    return [Piece("<think>", True), Piece(thinking, False, True), Piece("</think>", True, True)]


def render(conversation: Conversation, until_answer: bool = False) -> list[Piece]:
    """The whole conversation with the closing stop token, or (`until_answer`) the prompt of its
    last turn. Thinking survives only after the last user message, as in the template."""
    pieces = head_pieces(conversation)
    last = len(conversation.turns) - 1
    for index, turn in enumerate(conversation.turns):
        on = bool(conversation.effort) and index == last
        # The role tag after an answer is its stop token.
        pieces += [Piece("<|user|>", True, index > 0), Piece(turn.user, False)]
        pieces += [Piece("<|assistant|>", True)]
        if until_answer and index == last:
            return pieces + ([Piece("<think>", True)] if on else thinking_pieces("", False))
        if turn.call:
            pieces += thinking_pieces(turn.thinking, on) + call_pieces(turn.call, True)
            pieces += [
                Piece("<|observation|>", True, True),
                Piece("<tool_response>", True),
                Piece(turn.result, False),
                Piece("</tool_response>", True),
                Piece("<|assistant|>", True),
            ]
            pieces += thinking_pieces("I have the result.", on)
        else:
            pieces += thinking_pieces(turn.thinking, on)
        pieces += [Piece(turn.answer, False, True)]
    return pieces + [Piece("<|user|>", True, True)]


def encode(pieces: list[Piece], tokenizer, plain) -> tuple[list[int], list[bool]]:
    """Token ids and, for each, whether predicting it is trained.

    plain: the same tokenizer without its added tokens (tokenizer.py), for message text.
    """
    ids, trained = [], []
    for piece in pieces:
        part = [tokenizer.token_to_id(piece.text)] if piece.control else plain.encode(piece.text).ids
        ids += part
        trained += [piece.trained] * len(part)
    return ids, trained
