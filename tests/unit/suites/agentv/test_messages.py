"""Inputs of AgentV's tests in all their forms, and the prompt each becomes."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillgym_action.suites.agentv.messages import agent_prompt, expected_messages, input_messages

THERE = {"a.ts": Path("/repo/a.ts"), "b c.md": Path("/repo/b c.md")}


def asked(value: object, *files: str) -> str:
    return agent_prompt(input_messages(value, files), THERE.get).text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("Fix it", "Fix it", id="a text"),
        pytest.param("  Fix it\n", "Fix it", id="a text is trimmed"),
        pytest.param({"task": "x", "n": 1.0}, '{\n  "task": "x",\n  "n": 1\n}', id="an object is shown as JSON"),
        pytest.param({"role": "user", "content": "x"}, "x", id="a message"),
        pytest.param([{"role": "user", "content": "x"}], "x", id="one message in a list"),
        pytest.param([{"role": "user", "content": ["x", " y "]}], "x\n\ny", id="blocks that are texts"),
        pytest.param(
            [{"role": "user", "content": [{"type": "text", "value": "x"}, {"type": "file", "value": "a.ts"}]}],
            'x\n\n<file: path="/repo/a.ts">',
            id="blocks of text and file",
        ),
        pytest.param([{"role": "user", "content": {"k": [1]}}], '{\n  "k": [\n    1\n  ]\n}', id="structured content"),
        pytest.param(
            [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}],
            "@[System]:\nS\n\n@[User]:\nU",
            id="two messages have markers",
        ),
        pytest.param(
            [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}],
            "@[User]:\na\n\n@[Assistant]:\nb\n\n@[User]:\nc",
            id="a conversation",
        ),
        pytest.param([{"role": "assistant", "content": "b"}], "@[Assistant]:\nb", id="an assistant alone has a marker"),
        pytest.param([{"role": "tool", "content": "b"}], "@[Tool]:\nb", id="a tool, too"),
        pytest.param(
            [{"role": "system", "content": " "}, {"role": "user", "content": "U"}],
            "U",
            id="what says nothing does not count",
        ),
        pytest.param(
            [{"role": "system", "content": "S"}, {"role": "user", "content": ["a", "b"]}],
            "@[System]:\nS\n\n@[User]:\na\nb",
            id="blocks of one marked message have a line end between them",
        ),
        pytest.param([{"role": "robot", "content": "x"}, {"role": "user", "content": "y"}], "y", id="unknown roles go"),
        pytest.param(
            [{"role": "user"}, "text", 7, {"role": "user", "content": "y"}], "y", id="what is no message goes"
        ),
    ],
)
def test_an_input_as_a_prompt(value, text):
    assert asked(value) == text


def test_files_go_before_a_text():
    made = agent_prompt(input_messages("Read them", ("a.ts", "b c.md")), THERE.get)
    assert made.text == '<file: path="/repo/a.ts">\n\n<file: path="/repo/b c.md">\n\nRead them'
    assert made.files == (Path("/repo/a.ts"), Path("/repo/b c.md"))


def test_a_file_that_is_not_there_is_left_out_and_told():
    made = agent_prompt(input_messages("Read it", ("nope.ts",)), THERE.get)
    assert (made.text, made.files, made.missing) == ("Read it", (), ("nope.ts",))


def test_texts_in_a_list_are_blocks():
    blocks = [{"type": "text", "value": "a"}, {"type": "text", "value": "b"}]
    assert input_messages({"role": "user", "content": ["a", blocks[1]]}) == [{"role": "user", "content": blocks}]


@pytest.mark.parametrize("value", [[], [7], {"role": "robot", "content": "x"}, 7, None])
def test_an_input_without_messages(value):
    assert input_messages(value) == []


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        pytest.param("yes", [{"role": "assistant", "content": "yes"}], id="a text"),
        pytest.param({"a": 1}, [{"role": "assistant", "content": {"a": 1}}], id="an object"),
        pytest.param([1, 2], [{"role": "assistant", "content": [1, 2]}], id="a list that is no messages"),
        pytest.param({"role": "assistant", "content": "x"}, [{"role": "assistant", "content": "x"}], id="a message"),
        pytest.param(
            [{"role": "assistant", "tool_calls": [{"tool": "Read"}]}],
            [{"role": "assistant", "tool_calls": [{"tool": "Read"}]}],
            id="messages keep their tool calls",
        ),
        pytest.param(None, [], id="nothing"),
    ],
)
def test_an_expected_output_as_messages(value, messages):
    assert expected_messages(value) == messages
