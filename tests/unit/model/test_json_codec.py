from __future__ import annotations

import json

import pytest

from skillgym_action.model.json_codec import camel_case, from_json, to_json
from skillgym_action.model.session_report import Command, Cost, Message, Raw, SessionReport, ToolCall, Trouble, Usage
from suite_programs import session_report


@pytest.mark.parametrize(
    ("python", "told"),
    [
        pytest.param("prompt", "prompt", id="one word"),
        pytest.param("input_tokens", "inputTokens", id="two words"),
        pytest.param("observed_skill_reads", "observedSkillReads", id="three words"),
    ],
)
def test_names_are_snake_case_in_python_and_camel_case_on_disk(python, told):
    assert camel_case(python) == told


def test_fields_that_are_none_are_left_out_and_zeros_are_not():
    assert to_json(Usage(input_tokens=0)) == {
        "inputTokens": 0,
        "inputChars": 0,
        "outputChars": 0,
        "reasoningChars": 0,
    }


def test_arguments_of_tools_keep_their_own_names():
    args = {"file_path": "a", "oldText": None, "deep": [{"x_y": 1}]}
    assert to_json(ToolCall(tool="Edit", args=args)) == {"tool": "Edit", "args": args, "type": "toolCall"}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="usual"),
        pytest.param({"events": ()}, id="nothing happened"),
        pytest.param({"events": (Raw(line="{"), Message(role="user", text="ä\ud800\u2028"))}, id="odd text"),
        pytest.param(
            {"cost": Cost(usd=0.1, source="reported"), "trouble": Trouble(kind="auth", message="401")}, id="trouble"
        ),
        pytest.param(
            {"raw_artifacts": {"stdoutPath": "stdout.log"}, "duration_ms": 12}, id="mappings stay as they are"
        ),
    ],
)
def test_a_report_comes_back_from_json_as_it_was(changes):
    report = session_report(**changes)
    assert from_json(SessionReport, json.loads(json.dumps(to_json(report)))) == report


def test_unknown_keys_are_ignored():
    assert from_json(Command, {"type": "command", "command": "ls", "shell": "zsh"}) == Command(command="ls")


def test_a_missing_key_is_an_error():
    with pytest.raises(TypeError, match="command"):
        from_json(Command, {"type": "command"})


def test_an_event_of_unknown_type_is_an_error():
    with pytest.raises(ValueError, match="unknown type 'dance'"):
        from_json(SessionReport, {**to_json(session_report()), "events": [{"type": "dance"}]})
