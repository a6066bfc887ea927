#!/usr/bin/env python3
"""What the built-in model knows and how its answers behave, through run, chat and ask."""

import json
import re

import program

STATS = r"prompt (\d+) \((\d+)\s+reused\)[^>]*stopped:\s+([^\n]*)\n"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


class KnowsTest(program.ProgramTest):
    def answer(self, *arguments, **options):
        done = self.coli("run", "--json", "--temp", "0", "--max-tokens", "64", *arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def control_tokens(self):
        tokenizer = json.loads((program.SOURCE / "models/nano/tokenizer.json").read_text())
        return [token["content"] for token in tokenizer["added_tokens"]]

    def chat(self, *arguments, **options):
        session = self.terminal("chat", "--temp", "0", *arguments, **options)
        session.expect("> ")
        return session

    def ask(self, session, text):
        """Sends a message; what was answered, and why the answer stopped."""
        session.send(text + "\r")
        session.expect(re.escape(text[-8:]) + r"\s*\n")
        begin = session.seen
        match = session.expect(STATS)
        answer = session.text[begin : match.start()]
        session.expect("> ")
        # The line of statistics begins with a count of tokens.
        return re.sub(r"\n\d+ tokens?,[^\n]*(\n +[^\n]*)*$", "", answer), match[3]

    def leave(self, session):
        session.send("\x04")
        self.assertEqual(session.wait(), 0)


class RunTest(KnowsTest):
    def test_the_capital_of_australia(self):
        answer = self.answer("What is the capital of Australia?")
        self.assertIn("Canberra", answer["text"])
        self.assertEqual(answer["finish_reason"], "stop")

    def test_what_was_told_is_remembered(self):
        turns = (
            ("user", "My name is Sara."), ("assistant", "Nice to meet you, Sara!"), ("user", "What is my name?"),
        )
        messages = json.dumps([{"role": role, "content": content} for role, content in turns])
        self.assertIn("Sara", self.answer("--messages", "-", stdin=messages)["text"])

    def test_thinking_off_and_on(self):
        question = "What is the opposite of big?"
        plain = self.answer("--think", "off", question)
        self.assertEqual(plain["reasoning"], "")
        self.assertIn("small", plain["text"])
        thought = self.answer("--think", "on", question)
        self.assertNotEqual(thought["reasoning"].strip(), "")
        self.assertIn("small", thought["text"])
        self.assertEqual(thought["finish_reason"], "stop")

    def test_a_json_object(self):
        answer = self.answer("Give me JSON with number 5 and city Lima.")
        self.assertEqual(json.loads(answer["text"]), {"number": 5, "city": "Lima"})

    def test_no_control_token_is_ever_shown(self):
        for question in ("hello", "Who are you?", "What is the capital of France?", "What is 3 + 4?", "Write a haiku."):
            for think in ("off", "on"):
                answer = self.answer("--think", think, question)
                for token in self.control_tokens():
                    self.assertNotIn(token, answer["text"] + answer["reasoning"], (question, think))

    def test_an_answer_stops_at_the_role_marker(self):
        answer = self.answer("hello")
        self.assertEqual(answer["finish_reason"], "stop")
        self.assertLess(answer["completion_tokens"], 64)


class AskTest(KnowsTest):
    def share(self, *prompts):
        lines = "".join(json.dumps(prompt) + "\n" for prompt in prompts)
        done = self.coli("ask", "--json", "--show", "--max-tokens", "64", "-", stdin=lines)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_tool_is_called_and_its_result_is_used(self):
        question = {"role": "user", "content": "What is the weather in Oslo?"}
        call = {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
        report = self.share(
            {
                "kind": "call", "messages": [question], "tools": [WEATHER],
                "expect": ["<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>"],
            },
            {
                "kind": "result", "tools": [WEATHER], "expect": ["rainy", "8 degrees"],
                "messages": [
                    question,
                    {"role": "assistant", "content": "", "tool_calls": [call]},
                    {"role": "tool", "content": '{"city": "Oslo", "temperature": 8, "weather": "rainy"}'},
                ],
            },
        )
        self.assertEqual(report["share"], 1.0, report["wrong"])


class ChatTest(KnowsTest):
    def test_the_capital_of_australia(self):
        session = self.chat()
        answer, reason = self.ask(session, "What is the capital of Australia?")
        self.assertIn("Canberra", answer)
        self.assertIn("end of answer", reason)
        self.leave(session)

    def test_what_was_told_is_remembered_over_turns(self):
        session = self.chat()
        self.ask(session, "My name is Sara.")
        self.ask(session, "What is the capital of France?")
        self.assertIn("Sara", self.ask(session, "What is my name?")[0])
        self.leave(session)

    def test_thinking_is_shown_apart_from_the_answer(self):
        session = self.chat("--think", "on", environment={"NO_COLOR": "1"})
        answer, _ = self.ask(session, "What is the opposite of big?")
        thought, _, said = answer.partition("\n")
        self.assertRegex(thought, r"^\[thinking\] \S")
        self.assertIn("small", said)
        self.leave(session)
        session = self.chat(environment={"NO_COLOR": "1"})
        answer, _ = self.ask(session, "What is the opposite of big?")
        self.assertNotIn("[thinking]", answer)
        self.leave(session)

    def test_no_control_token_is_ever_shown(self):
        session = self.chat("--max-tokens", "48")
        for question in ("hello", "Who are you?", "What is the capital of France?", "Write a haiku."):
            self.ask(session, question)
        self.leave(session)
        for token in self.control_tokens():
            self.assertNotIn(token, session.text)

    def test_more_gives_the_answer_that_was_cut(self):
        whole = self.answer("What is the capital of France?")
        session = self.chat("--max-tokens", "4")
        first, reason = self.ask(session, "What is the capital of France?")
        self.assertIn("--max-tokens", reason)
        said = first
        for _ in range(whole["completion_tokens"]):
            part, reason = self.ask(session, ":more")
            said += part
            if "--max-tokens" not in reason:
                break
        self.assertIn("end of answer", reason)
        self.assertEqual(said.replace("\n", ""), whole["text"].replace("\n", ""))
        self.leave(session)

    def test_a_full_context_is_said_and_reset_makes_room(self):
        session = self.chat("-m", self.endless_model(), "--ctx", "40")
        _, reason = self.ask(session, "hello")
        self.assertIn("context window full", reason)
        self.assertIn(":reset", session.text)
        session.send(":more\r")
        session.expect("The context window is full; :reset")
        session.expect("> ")
        session.send(":reset\r")
        session.expect("forgotten")
        session.expect("> ")
        self.assertIn("context window full", self.ask(session, "hello")[1])
        self.leave(session)


if __name__ == "__main__":
    program.main()
