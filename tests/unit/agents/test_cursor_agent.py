"""Against samples of the published format; the program was not run for this."""

from __future__ import annotations

import json
from typing import Any

import pytest

from captured import recorded_report
from endings import WORDS, killed_after
from sessions import SESSION, capture_of, jsonl
from skillgym_action.agents import cursor_agent
from skillgym_action.model.session import Progress
from skillgym_action.model.session_report import (
    Command,
    FileRead,
    FileWrite,
    Message,
    Raw,
    ToolCall,
    ToolResult,
    Trouble,
    Usage,
)

DONE = {"type": "result", "subtype": "success", "is_error": False, "result": "First.Done.", "session_id": "s-1"}


def said(*texts: str, **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text} for text in texts]
    return {"type": "assistant", "message": {"role": "assistant", "content": content}, "session_id": "s-1"} | fields


def tool(moment: str, kind: str, call: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "tool_call", "subtype": moment, "call_id": "c1", "tool_call": {kind: call}} | fields


def called(kind: str, **args: Any) -> dict[str, Any]:
    return tool("started", kind, {"args": args})


def answered(kind: str, **result: Any) -> dict[str, Any]:
    return tool("completed", kind, {"args": {}, "result": result})


def read(*lines: dict[str, Any], **changes: Any) -> Any:
    return cursor_agent.transcript(capture_of(jsonl(*lines), **changes), SESSION)


# --- starting ---------------------------------------------------------------------------------------

ALWAYS = ("-p", "--output-format", "stream-json", "--trust", "--force")


def test_an_ended_session_is_continued_by_its_id():
    argv = ("cursor-agent", *ALWAYS, "--resume=s-1", "--", "Please do the task.")
    assert cursor_agent.resume(SESSION, "s-1").argv == argv


# --- events -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "events"),
    [
        pytest.param(
            [{"type": "thinking", "subtype": "delta", "text": "hm"}, said("Do", "ne."), DONE],
            [Message(role="assistant", phase="final", text="Done.")],
            id="thinking is left out; parts of a message are one",
        ),
        pytest.param(
            [
                said("First.", timestamp_ms=1767323045000),
                called("shellToolCall", command="ls; exit 3"),
                answered("shellToolCall", success={"exitCode": 3, "stdout": "a\n", "stderr": "b\n"}),
            ],
            [
                Message(role="assistant", phase="commentary", text="First.", at="2026-01-02T03:04:05.000Z"),
                ToolCall(tool="shell", args={"command": "ls; exit 3"}),
                Command(command="ls; exit 3", exit_code=3),
                ToolResult(tool="shell", output="a\n\nb\n"),
            ],
            id="a failing command",
        ),
        pytest.param(
            [called("shellToolCall", command="serve")],
            [ToolCall(tool="shell", args={"command": "serve"}), Command(command="serve", exit_code=None)],
            id="a command that had not ended has no exit code",
        ),
        pytest.param(
            [called("readToolCall", path="a.md"), answered("readToolCall", success={"content": "text"})],
            [
                ToolCall(tool="read", args={"path": "a.md"}),
                FileRead(path="a.md"),
                ToolResult(tool="read", output="text"),
            ],
            id="a file that was read",
        ),
        pytest.param(
            [called("readToolCall", path="gone"), answered("readToolCall", error={"errorMessage": "not found"})],
            [ToolCall(tool="read", args={"path": "gone"}), ToolResult(tool="read", output="not found", failed=True)],
            id="a file that is not there was not read",
        ),
        pytest.param(
            [called("writeToolCall", path="a"), answered("writeToolCall", success={"linesCreated": 1})],
            [ToolCall(tool="write", args={"path": "a"}), FileWrite(path="a"), ToolResult(tool="write", output="")],
            id="a file that was written",
        ),
        pytest.param(
            [tool("completed", "semSearchToolCall", {"args": {"query": "x"}})],
            [ToolCall(tool="sem-search", args={"query": "x"}), ToolResult(tool="sem-search", output="")],
            id="a tool whose start was not printed",
        ),
        pytest.param(
            [tool("started", "function", {"name": "search", "arguments": '{"query":"x"}'})],
            [ToolCall(tool="search", args={"query": "x"})],
            id="a tool of another kind has its arguments in a text",
        ),
        pytest.param(
            [{"type": "interaction_query"}], [Raw(line='{"type": "interaction_query"}')], id="an unknown line is kept"
        ),
    ],
)
def test_lines_become_events(lines, events):
    assert list(read(*lines).events) == events


@pytest.mark.parametrize("time", [1e300, -1, "now", None])
def test_a_time_that_is_none_is_left_out(time):
    (message,) = read(said("x", timestamp_ms=time)).events
    assert message.at is None


def test_the_final_output_is_not_all_that_was_ever_said():
    assert recorded_report("cursor-agent", "shell").final_output == "skillgym ready"


def test_tokens_are_read_where_a_version_prints_them_and_input_excludes_the_cache():
    usage = {"inputTokens": 700, "outputTokens": 42, "cacheReadTokens": 300, "cacheWriteTokens": 0}
    assert read(DONE | {"usage": usage}).usage == Usage(input_tokens=1000, output_tokens=42, cache_tokens=300)
    assert read(DONE).usage == Usage()


# --- trouble ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "ending", "trouble"),
    [
        pytest.param([said("x"), DONE], {}, None, id="all is well"),
        pytest.param(
            [],
            {"exit_code": 1, "stderr": "Error: Authentication required.\n"},
            Trouble(kind="auth", message="exited with code 1: Error: Authentication required."),
            id="why a session failed is on stderr",
        ),
        pytest.param(
            [DONE | {"is_error": True, "result": "429 Too Many Requests"}],
            {},
            Trouble(kind="rate-limit", message="429 Too Many Requests"),
            id="a result that is an error",
        ),
        killed_after(said(WORDS)),
    ],
)
def test_trouble_is_recognised(lines, ending, trouble):
    capture = capture_of(jsonl(*lines), **ending)
    assert cursor_agent.trouble(capture, cursor_agent.transcript(capture, SESSION)) == trouble


# --- progress ---------------------------------------------------------------------------------------

NAMED = {"model_call_id": "call-1"}


@pytest.mark.parametrize(
    ("line", "progress"),
    [
        pytest.param(said("x", **NAMED), Progress(step="call-1"), id="a message names its model call"),
        pytest.param(called("shellToolCall") | NAMED, Progress(step="call-1"), id="and so does a tool of that call"),
        pytest.param(answered("shellToolCall") | NAMED, None, id="its end is no step"),
        pytest.param(said("x"), Progress(step="message: x"), id="a message without a name is a step"),
        pytest.param(called("shellToolCall"), Progress(step="c1"), id="a tool without a name is one"),
        pytest.param({"type": "user"}, None, id="the user's words are none"),
        pytest.param(DONE, Progress(finished=True), id="the end"),
        pytest.param([], None, id="no object"),
    ],
)
def test_progress_counts_model_calls(line, progress):
    assert cursor_agent.progress(json.dumps(line)) == progress


def test_turns_are_model_calls():
    assert recorded_report("cursor-agent", "shell").turns == 2


def test_turns_are_unknown_where_no_line_names_a_model_call():
    assert recorded_report("cursor-agent", "skill").turns is None
