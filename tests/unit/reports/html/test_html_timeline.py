from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgym_action.reports.html.session import first_difference, steps_of

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KINDS = ["message", "toolCall", "toolResult", "command", "fileRead", "fileWrite", "skillSignal", "raw", "new"]
NAMES = ["text", "tool", "args", "output", "command", "path", "at", "exitCode", "durationMs", "line", "usage"]
EVENT = st.builds(
    lambda kind, more: {**more, "type": kind},
    st.sampled_from(KINDS),
    st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=4),
)


def call(tool: str, **args: str) -> dict[str, object]:
    return {"type": "toolCall", "tool": tool, "args": args}


def test_a_call_has_its_result_its_commands_and_files():
    events = [
        {"type": "message", "role": "user", "text": "Do it", "at": "2026-01-02T03:04:05Z"},
        call("Bash", command="ls") | {"at": "2026-01-02T03:04:06Z"},
        {"type": "command", "command": "ls", "exitCode": 2},
        {"type": "fileRead", "path": "/w/a"},
        {"type": "toolResult", "tool": "Bash", "output": "a", "at": "2026-01-02T03:04:08Z"},
        {"type": "fileWrite", "path": "/w/b"},
    ]
    prompt, tool, write = steps_of({"events": events})
    assert (prompt["kind"], prompt["text"], prompt["after"]) == ("message", "Do it", 0)
    assert (tool["tool"], tool["result"], tool["after"], tool["ms"]) == ("Bash", "a", 1000, 2000)
    assert tool["effects"] == [{"kind": "command", "text": "ls", "exit": 2}, {"kind": "read", "path": "/w/a"}]
    assert (write["kind"], write["path"]) == ("write", "/w/b")


def test_a_step_has_the_tokens_of_its_model_round_as_far_as_they_are_known_and_never_a_zero_for_unknown():
    usage = {"inputTokens": 1200, "outputTokens": 0, "cacheTokens": "many", "reasoningTokens": None, "other": 7}
    events = [
        {"type": "message", "role": "assistant", "text": "Hello.", "usage": usage},
        call("Bash", command="ls") | {"usage": {"inputTokens": -1, "outputTokens": True}},
        call("Read") | {"usage": [1]},
    ]
    message, *calls = steps_of({"events": events})
    assert message["usage"] == {"inputTokens": 1200, "outputTokens": 0}
    assert ["usage" in one for one in calls] == [False, False]


def test_results_of_parallel_calls_belong_to_the_first_waiting_call_of_their_tool():
    events = [
        call("Read", path="a"),
        call("Read", path="b"),
        call("Bash"),
        {"type": "toolResult", "tool": "Bash", "output": "third"},
        {"type": "toolResult", "tool": "Read", "output": "first"},
        {"type": "toolResult", "output": "second"},
        {"type": "toolResult", "tool": "Read", "output": "of no call"},
    ]
    steps = steps_of({"events": events})
    assert [step["result"] for step in steps] == ["first", "second", "third", "of no call"]


def test_sessions_part_at_the_first_action_that_differs_wherever_they_worked():
    before = {
        "cwd": "/tmp/1",
        "events": [call("Read", path="/tmp/1/a"), {"type": "message", "text": "x"}, call("Bash")],
    }
    after = {"cwd": "/tmp/2", "events": [call("Read", path="/tmp/2/a"), call("Write", path="b"), call("Bash")]}
    found = first_difference(before, after)
    assert found
    assert (found["same"], found["total"]) == (1, [2, 3])
    assert (found["before"]["tool"], found["before"]["step"]) == ("Bash", 3)
    assert (found["after"]["tool"], found["after"]["step"]) == ("Write", 2)


def test_a_session_that_ends_earlier_parts_there():
    one, two = {"events": [call("Read")]}, {"events": [call("Read"), call("Bash")]}
    found = first_difference(one, two)
    assert found
    assert found["before"] is None
    assert found["after"]["tool"] == "Bash"
    assert first_difference(two, two) is None
    assert first_difference({}, two) is None


@pytest.mark.slow
@given(st.lists(EVENT | ANYTHING, max_size=6) | ANYTHING)
def test_any_report_has_steps_that_are_json(events):
    steps = steps_of({"events": events})
    assert all(isinstance(step["kind"], str) for step in json.loads(json.dumps(steps)))
    first_difference({"events": events, "cwd": 3}, {"events": events, "cwd": ""})
