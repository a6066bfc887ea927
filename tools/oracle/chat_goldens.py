"""Make tests/golden/chat/cases.json: conversations and what Jinja makes of them with the template
beside it, tests/golden/chat/chat_template.jinja.

    chat_goldens.py --out tests/golden [--check] [--template FILE]

--template renders with another template and compares, to see whether ours means the same as a
checkpoint's own; around the list of tools the words differ, so those are left out.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import sys

import jinja2

from chat_conversations import CONVERSATIONS


def prepare(message: dict, position: int) -> dict:
    """A message of a client as templates expect it: arguments are objects, content is never null."""
    message = {**message, "position": position}
    if message["role"] == "developer":
        message["role"] = "system"
    if message["content"] is None:
        message["content"] = ""
    calls = []
    for call in message.get("tool_calls") or []:
        function = {**call.get("function", call)}
        if isinstance(function["arguments"], str):
            function["arguments"] = json.loads(function["arguments"] or "{}")
        calls.append({"function": function})
    return {**message, "tool_calls": calls}


def compile_template(text: str) -> jinja2.Template:
    """As transformers compiles chat templates."""
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value, ensure_ascii=False: json.dumps(
        value, ensure_ascii=ensure_ascii
    )
    return environment.from_string(text)


def render(template: jinja2.Template, messages: list, tools: list, options: dict) -> str:
    prepared = [prepare(message, i) for i, message in enumerate(messages)]
    return template.render(
        messages=prepared, tools=tools, **{"add_generation_prompt": True, **options}
    )


def cases(template: jinja2.Template) -> list[dict]:
    return [
        {
            "name": name,
            "messages": messages,
            **({"tools": tools} if tools else {}),
            **({"options": options} if options else {}),
            "text": render(template, messages, tools, options),
        }
        for name, messages, tools, options in CONVERSATIONS
    ]


def document(template: jinja2.Template) -> str:
    """Escapes for everything beyond ASCII, so that no editor or checkout can change a string."""
    source = {"implementation": "jinja2", "version": jinja2.__version__}
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases(template))
    return f'{{"schema":"colibri.chat_cases/1","source":{json.dumps(source)},"cases":[\n{lines}\n]}}\n'


def without_tool_words(text: str) -> str:
    """`text` with only the lines between <tools> and </tools> left of the block about tools."""
    return re.sub(
        r"<\|system\|>\s*# Tools.*?\n<tools>\n(.*?)</tools>\n.*?</tool_call>", r"\1", text, flags=re.DOTALL
    )


def compare(ours: jinja2.Template, other: jinja2.Template) -> int:
    different = 0
    for mine, theirs in zip(cases(ours), cases(other), strict=True):
        if without_tool_words(mine["text"]) != without_tool_words(theirs["text"]):
            different += 1
            print(f"{mine['name']}:\n  {mine['text']!r}\n  {theirs['text']!r}")
    print(f"{len(CONVERSATIONS)} conversations, {different} rendered differently")
    return different


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("tests/golden"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--template", type=pathlib.Path)
    args = parser.parse_args()
    folder = args.out / "chat"
    ours = compile_template((folder / "chat_template.jinja").read_text(encoding="utf-8"))
    if args.template:
        other = compile_template(args.template.read_text(encoding="utf-8"))
        return 1 if compare(ours, other) else 0
    fresh = document(ours)
    path = folder / "cases.json"
    if not args.check:
        path.write_text(fresh, encoding="ascii")
    elif path.read_text(encoding="ascii") != fresh:
        raise SystemExit(f"{path}: differs from a fresh run")
    else:
        print("chat ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
