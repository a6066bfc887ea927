"""The conversations of the chat goldens: messages and tools as clients send them. All written for this project."""


def _user(content: object) -> dict:
    return {"role": "user", "content": content}


def _assistant(content: object, **more: object) -> dict:
    return {"role": "assistant", "content": content, **more}


def _result(content: object, **more: object) -> dict:
    return {"role": "tool", "content": content, **more}


def _call(name: str, arguments: object, **more: object) -> dict:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


_SYSTEM = {"role": "system", "content": "You are short."}
_WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Wetter f\u00fcr eine Stadt \u2014 \"heute\"",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
            "required": ["city"],
        },
    },
}
_BARE = {"name": "clock", "parameters": {"type": "object", "properties": {}}}
_DEFERRED = {"type": "function", "function": {"name": "later", "defer_loading": True}}
_NOT_DEFERRED = {"type": "function", "function": {"name": "now", "defer_loading": False}}
_LOOP = [
    _user("Is it warm?"),
    _assistant(
        None,
        reasoning_content="I must look.",
        tool_calls=[_call("weather", "{\"city\": \"Z\u00fcrich\", \"days\": 2}", id="a1")],
    ),
    _result("21 degrees", tool_call_id="a1"),
]

# Name, messages, tools, options.
CONVERSATIONS = [
    ("user", [_user("hi")], [], {}),
    ("thinking-on", [_user("hi")], [], {"enable_thinking": True}),
    ("thinking-off", [_user("hi")], [], {"enable_thinking": False}),
    ("effort-high", [_user("hi")], [], {"reasoning_effort": "high"}),
    ("effort-low", [_user("hi")], [], {"reasoning_effort": "low"}),
    ("effort-high-thinking-off", [_user("hi")], [], {"reasoning_effort": "high", "enable_thinking": False}),
    ("system", [_SYSTEM, _user("hi")], [], {}),
    ("developer", [{"role": "developer", "content": "D"}, _user("hi")], [], {}),
    ("two-systems", [_SYSTEM, {"role": "system", "content": "And kind."}, _user("hi")], [], {}),
    ("system-in-the-middle", [_user("a"), _assistant("b"), _SYSTEM, _user("c")], [], {}),
    ("system-alone", [_SYSTEM], [], {}),
    ("no-generation-prompt", [_user("hi"), _assistant("yes")], [], {"add_generation_prompt": False}),
    ("answer-last", [_user("hi"), _assistant("yes", reasoning_content="r")], [], {}),
    ("white-space", [_user("  hi \n"), _assistant("\n\n yes \t\u00a0\n"), _user("\n")], [], {}),
    ("empty", [_user(""), _assistant(""), _user(None)], [], {}),
    ("parts", [_user([{"type": "text", "text": "a "}, {"type": "text", "text": "b"}])], [], {}),
    (
        "parts-everywhere",
        [
            {"role": "system", "content": [{"type": "text", "text": "S"}]},
            _user([]),
            _assistant([{"type": "text", "text": " x"}, {"type": "text", "text": "y "}]),
            _result([{"type": "text", "text": "1"}, {"type": "text", "text": "2"}]),
        ],
        [],
        {},
    ),
    ("reasoning-cleared", [_user("q1"), _assistant("a1", reasoning_content="r1"), _user("q2")], [], {}),
    (
        "reasoning-kept",
        [_user("q1"), _assistant("a1", reasoning_content="r1"), _user("q2")],
        [],
        {"clear_thinking": False},
    ),
    (
        "reasoning-of-one-turn-stays-there",
        [_user("q1"), _assistant("a1", reasoning_content="r1"), _user("q2"), _assistant("a2"), _user("q3")],
        [],
        {"clear_thinking": False},
    ),
    (
        "reasoning-as-it-is",
        [_user("q"), _assistant("a", reasoning_content="\n r \n\n")],
        [],
        {"clear_thinking": False},
    ),
    ("inline-reasoning", [_user("q"), _assistant("<think>\nr\n</think>\n\na \n")], [], {}),
    ("inline-reasoning-cleared", [_user("q"), _assistant("<think>r</think>a"), _user("p")], [], {}),
    ("inline-reasoning-without-opening", [_user("q"), _assistant("r</think>a")], [], {}),
    ("inline-reasoning-twice", [_user("q"), _assistant("<think>x<think>r</think>b</think>a")], [], {}),
    ("unclosed-reasoning", [_user("q"), _assistant("<think>r")], [], {}),
    ("tools", [_user("q")], [_WEATHER, _BARE], {}),
    ("tools-system", [_SYSTEM, _user("q")], [_WEATHER], {"reasoning_effort": "high"}),
    ("tools-thinking-off", [_user("q")], [_BARE], {"enable_thinking": False}),
    ("tools-deferred", [_user("q")], [_DEFERRED, _NOT_DEFERRED, _BARE], {}),
    ("loop", _LOOP, [_WEATHER], {}),
    ("loop-thinking-off", _LOOP, [_WEATHER], {"enable_thinking": False}),
    (
        "loop-two-steps",
        [
            *_LOOP,
            _assistant("Then the time.", reasoning_content="more", tool_calls=[_call("clock", {})]),
            _result("12:00"),
        ],
        [_WEATHER, _BARE],
        {},
    ),
    ("loop-answered", [*_LOOP, _assistant("Yes.", reasoning_content="21 is warm")], [_WEATHER], {}),
    ("loop-then-question", [*_LOOP, _assistant("Yes."), _user("Sure?")], [_WEATHER], {}),
    (
        "loop-then-question-reasoning-kept",
        [*_LOOP, _assistant("Yes.", reasoning_content="warm"), _user("Sure?")],
        [_WEATHER],
        {"clear_thinking": False},
    ),
    (
        "parallel-calls",
        [
            _user("q"),
            _assistant(" Both. ", tool_calls=[_call("f", {"x": 3, "s": "a b"}), _call("g", "")]),
            _result("7"),
            _result("8"),
            _assistant("done"),
            _result("9"),
        ],
        [],
        {},
    ),
    (
        "arguments",
        [
            _user("q"),
            _assistant(
                "",
                tool_calls=[
                    _call(
                        "f",
                        {
                            "list": [1, "\u00e9", [], {}],
                            "null": None,
                            "true": True,
                            "float": 1.0,
                            "small": 1e-7,
                            "object": {"b": 1, "a": {"c": "\"quoted\"\n"}},
                            "text": "line\n \"two\" \\",
                            "empty": "",
                            "number as text": "3",
                        },
                    )
                ],
            ),
        ],
        [],
        {},
    ),
    ("bare-call", [_user("q"), _assistant("", tool_calls=[{"name": "f", "arguments": {"a": "b"}}])], [], {}),
    ("no-calls", [_user("q"), _assistant("a", tool_calls=[]), _assistant("b", tool_calls=None)], [], {}),
    ("results-first", [_result("1"), _result("2"), _user("q")], [], {}),
    ("empty-result", [_user("q"), _assistant("", tool_calls=[_call("f", {})]), _result(None)], [], {}),
    (
        "scripts",
        [
            {"role": "system", "content": "\u5927\u5bb6\u597d \U0001f469\u200d\U0001f33e"},
            _user("\u043f\u0442\u0438\u0446\u0430\r\n\x00e\u0301"),
            _assistant("\u3000\u8702\u9e1f\u2028", reasoning_content="\u00e9\u00a0"),
        ],
        [],
        {},
    ),
]
