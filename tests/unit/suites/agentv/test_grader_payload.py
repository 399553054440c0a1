"""The stdin of AgentV's graders: key by key, and as graders in TypeScript and Python validate it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentv_context import FakeContext, call, said, session
from npm_packages import node_modules
from paths import DATA
from skillgym_action.model.session_report import Message, ToolCall, ToolResult
from skillgym_action.suites.agentv.grader_context import Task
from skillgym_action.suites.agentv.messages import expected_messages, input_messages
from skillgym_action.suites.agentv.program_graders import payload
from skillgym_package import new_node

if TYPE_CHECKING:
    from pathlib import Path

GRADERS = DATA / "agentv-payload"
ZOD = "3.25.76"
TASK = Task(case_id="fix", criteria="It works", input=({"role": "user", "content": "Fix it"},))


def told(report: Any, task: Task = TASK, *, diff: str | None = None, config: Any = None) -> dict[str, Any]:
    context: Any = FakeContext(report=report, diff=diff)
    return json.loads(payload(task, context, config or {}))


@pytest.fixture(scope="module")
def typescript(tmp_path_factory) -> Path:
    """The grader in TypeScript, with zod beside it."""
    folder = tmp_path_factory.mktemp("typescript")
    shutil.copy(GRADERS / "grader.ts", folder)
    (folder / "node_modules").symlink_to(node_modules(f"zod-{ZOD}", f"zod@{ZOD}"))
    return folder / "grader.ts"


def refusals(argv: list[str], content: dict[str, Any]) -> list[str]:
    done = subprocess.run(argv, input=json.dumps(content), capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout, done.stderr
    return [one["text"] for one in json.loads(done.stdout)["assertions"] if not one["passed"]]


# --- as graders validate it -------------------------------------------------------------------------

EVENTS = (
    *call("Glob", {"pattern": "*"}),
    *said("I will read it"),
    ToolCall(tool="Read", args={"filePath": "a"}, at="2026-01-01T00:00:00Z"),
    ToolResult(tool="Read", output="no such file", failed=True),
    *call("Read", {"file": "b"}, output="B", ms=12),
    *said("done"),
)
PARTS = [{"type": "text", "value": "a"}, "b"]
REPORTS = {
    "nothing": session(""),
    "a text": session("done"),
    "tools": session("done", list(EVENTS), tokens=(10, 5, 3, 2), usd=0.1, ms=50),
    "times": session("done", started_at="2026-01-01T00:00:00Z", ended_at="2026-01-01T00:00:01Z"),
    "a stand-in": session("ok", [Message(role="user", text="hm"), *said("ok")], agent="agentv-cli"),
}
TASKS = {
    "a text": TASK,
    "messages": Task(
        input=tuple(input_messages([{"role": "system", "content": PARTS}, {"role": "assistant", "content": "y"}])),
        expected_output=tuple(expected_messages([{"role": "assistant", "content": PARTS, "name": None}])),
        metadata={"dueDate": "now"},
        input_files=("/suite/a.txt",),
    ),
    "an object": Task(input=tuple(input_messages({"a": 1})), expected_output=tuple(expected_messages({"b": [1]}))),
    "a number": Task(input=TASK.input, expected_output=tuple(expected_messages(42))),
    "a list": Task(input=TASK.input, expected_output=tuple(expected_messages([1, "b", None]))),
    "calls": Task(
        input=TASK.input,
        expected_output=({"role": "assistant", "content": None, "tool_calls": [{"tool": "Read", "id": None}, 7]},),
    ),
}


@pytest.mark.slow  # npm installs what it needs
@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_graders_that_validate_their_payload_accept_it(typescript, report, task):
    content = told(report, task, config={"maxWords": 3})
    assert refusals([new_node(), str(typescript)], content) == []
    assert refusals([sys.executable, str(GRADERS / "grader.py")], content) == []


WRONG = [
    ("output_path", None, "output_path: Expected string, received null"),
    ("answer", "x", ": Unrecognized key(s) in object: 'answer'"),
    ("trace", {"event_count": 0}, "trace.tool_calls: Required"),
    ("messages", [{"role": "assistant", "content": None}], "messages.0.content: Invalid input"),
]


@pytest.mark.slow  # npm installs what it needs
@pytest.mark.parametrize(("key", "value", "problem"), WRONG)
def test_the_grader_in_typescript_refuses_what_agentvs_sdk_refuses(typescript, key, value, problem):
    assert problem in refusals([new_node(), str(typescript)], told(REPORTS["tools"]) | {key: value})


def test_the_grader_in_python_refuses_retired_keys_and_wrong_types():
    content = told(REPORTS["tools"]) | {"output_text": "x", "criteria": None}
    assert refusals([sys.executable, str(GRADERS / "grader.py")], content) == [
        "Evaluation failed: Deprecated wire fields are not accepted: output_text",
        "Evaluation failed: criteria must not be NoneType",
    ]


# --- key by key -------------------------------------------------------------------------------------


def test_one_text_is_two_messages_and_the_final_response():
    trace = told(session("hello", said("hello"), agent="agentv-cli", turns=1))["trace"]
    events = [(one["event_id"], one["ordinal"], one["type"], one.get("parent_event_id")) for one in trace["events"]]
    assert events == [
        ("message-0", 0, "message", None),
        ("message-1", 1, "message", None),
        ("final-response", 2, "final_response", "message-1"),
    ]
    assert trace["messages"] == [{"role": "user", "content": "Fix it"}, {"role": "assistant", "content": "hello"}]
    assert (trace["event_count"], trace["tool_calls"], trace["error_count"]) == (0, {}, 0)
    assert trace["metadata"] == {"provider": "cli", "target": "main", "eval_case_id": "fix"}
    assert not {"token_usage", "cost_usd", "duration_ms", "start_time", "end_time"} & trace.keys()


def test_a_failed_tool_call_is_counted_and_its_events_say_so():
    content = told(REPORTS["tools"])
    assert content["trace_summary"]["error_count"] == content["trace"]["error_count"] == 1
    calls = [one["tool"] for one in content["trace"]["events"] if one["type"] in {"tool_call", "tool_result"}]
    assert [(one["name"], one["status"], one.get("output")) for one in calls] == [
        ("Glob", "ok", None),
        ("Read", "error", "no such file"),
        ("Read", "error", "no such file"),
        ("Read", "ok", "B"),
        ("Read", "ok", "B"),
    ]
    assert calls[1]["error"] == {"message": "no such file"}
    ids = [(one["event_id"], one["parent_event_id"]) for one in content["trace"]["events"] if "tool" in one]
    assert ids == [
        ("message-1-tool-0", "message-1"),
        ("message-1-tool-1", "message-1"),
        ("message-1-tool-1-result", "message-1-tool-1"),
        ("message-1-tool-2", "message-1"),
        ("message-1-tool-2-result", "message-1-tool-2"),
    ]


def test_a_recorded_conversation_is_the_whole_of_the_messages():
    assert told(REPORTS["a stand-in"])["messages"] == [
        {"role": "user", "content": "hm"},
        {"role": "assistant", "content": "ok"},
    ]
    real = session("ok", [Message(role="user", text="hm"), *said("ok")])
    assert [one["content"] for one in told(real)["messages"]] == ["Fix it", "ok"]


# --- whatever suites and agents say -----------------------------------------------------------------

TEXT = st.text(max_size=8)
LEAF = st.none() | st.booleans() | st.integers() | TEXT
VALUE = LEAF | st.lists(LEAF, max_size=2) | st.dictionaries(TEXT, LEAF | st.lists(LEAF, max_size=1), max_size=2)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool"])},
    optional={"content": VALUE, "name": VALUE, "tool_calls": st.lists(st.dictionaries(TEXT, VALUE, max_size=2))},
)
EVENT = st.one_of(
    st.builds(Message, role=st.sampled_from(["user", "assistant"]), text=TEXT),
    st.builds(ToolCall, tool=TEXT, args=VALUE, duration_ms=st.none() | st.integers(0, 99)),
    st.builds(ToolResult, output=TEXT, tool=st.none() | TEXT, failed=st.none() | st.booleans()),
)


@pytest.mark.slow
@settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
@given(rounds=st.lists(st.tuples(st.lists(MESSAGE, max_size=2), VALUE, st.lists(EVENT, max_size=4), TEXT), max_size=5))
def test_no_input_and_no_session_makes_a_payload_that_is_refused(typescript, rounds):
    contents = []
    for messages, expected, events, answer in rounds:
        task = Task(input=tuple(input_messages(messages)), expected_output=tuple(expected_messages(expected)))
        contents.append(told(session(answer, events, agent="agentv-cli"), task))
    checked = typescript.with_name("many.ts")
    if not checked.exists():
        text = typescript.read_text(encoding="utf-8")
        loop = "const all = JSON.parse(readFileSync(0, 'utf8'));\nfor (const read of all) console.log(\
JSON.stringify(payload.safeParse(read).error?.issues ?? []));\n"
        checked.write_text(text[: text.index("const read: unknown")] + loop, encoding="utf-8")
    done = subprocess.run(
        [new_node(), str(checked)], input=json.dumps(contents), capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n" * len(rounds)
