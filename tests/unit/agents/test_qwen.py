from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from endings import WORDS, killed_after
from sessions import SESSION, capture_of, jsonl, session_with, without_tokens
from skillgym_action.agents import qwen
from skillgym_action.model.session import AgentConfig, Ending, Progress
from skillgym_action.model.session_report import (
    Command,
    FileRead,
    FileWrite,
    McpServer,
    Message,
    Raw,
    SkillSignal,
    ToolCall,
    ToolResult,
    Trouble,
    Usage,
)
from table_rows import each_row

TOKENS = {"input_tokens": 1000, "output_tokens": 42, "cache_read_input_tokens": 300, "total_tokens": 1042}
NO_TOKENS = {"input_tokens": 0, "output_tokens": 0}
TEXT = {"type": "text", "text": "Done."}
AGAIN = {"type": "system", "subtype": "retry", "data": {"reason": "retry"}}
GOALS = {"type": "stream_event", "event": {"type": "goal_state", "goal_state": {}}}
DONE = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 2, "result": "Done.", "usage": TOKENS}


def said(*content: dict[str, Any], **message: Any) -> dict[str, Any]:
    known = {"id": "m1", "role": "assistant", "model": "m", "content": list(content), "usage": TOKENS}
    return {"type": "assistant", "session_id": "s-1", "parent_tool_use_id": None, "message": known | message}


def called(tool: str, **args: Any) -> dict[str, Any]:
    return said({"type": "tool_use", "id": "c1", "name": tool, "input": args}, stop_reason="tool_use")


def answered(text: str, *, error: bool = False) -> dict[str, Any]:
    part = {"type": "tool_result", "tool_use_id": "c1", "is_error": error, "content": text}
    return {"type": "user", "parent_tool_use_id": None, "message": {"role": "user", "content": [part]}}


def failed_call(message: str) -> list[dict[str, Any]]:
    """A call of the model that failed: the CLI lets the model say so, and calls it a success."""
    text = f"[API Error: {message}]"
    return [said({"type": "text", "text": text}, usage=NO_TOKENS), DONE | {"result": text, "usage": NO_TOKENS}]


def read(*lines: dict[str, Any], **changes: Any) -> Any:
    return qwen.transcript(capture_of(jsonl(*lines), **changes), SESSION)


def test_an_empty_answer_is_an_answer_and_the_cli_s_words_for_it_are_not():
    words = "[API Error: Model stream ended with empty response text.]"
    made = read(said({"type": "text", "text": words}), DONE | {"result": words})
    assert (made.trouble, made.final_output, made.events) == (None, "", ())
    failed = {"type": "result", "subtype": "error_during_execution", "is_error": True, "error": {"message": words}}
    later = read(said({"type": "text", "text": words}), failed, exit_code=1)
    assert (later.trouble, later.final_output, later.events) == (None, "", ())


def test_the_mcp_servers_are_known_with_their_status():
    init = {"type": "system", "subtype": "init", "mcp_servers": [{"name": "desk", "status": "connected"}]}
    assert read(init, DONE).mcp_servers == (McpServer(name="desk", status="connected"),)


def logged_call(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": "system", "systemPayload": {"uiEvent": {"event.name": f"qwen-code.{kind}", **data}}}


LIMITED = logged_call("api_error", status_code=429, error_message="429 slow down")
# Lines of the log, how the session ended, and the kind of trouble that the transcript has.
LOGS = {
    "the CLI waits before it tries again": ([LIMITED], {"ending": Ending.TIMED_OUT, "exit_code": -15}, "rate-limit"),
    "another try worked": (
        [LIMITED, logged_call("api_response", status_code=200)],
        {"ending": Ending.TIMED_OUT, "exit_code": -15},
        "runner-crash",
    ),
    "it fails again after an answer": (
        [LIMITED, logged_call("api_response"), logged_call("api_error", status_code=500, error_message="oops")],
        {"ending": Ending.TIMED_OUT, "exit_code": -15},
        "provider",
    ),
    "the process was killed": ([LIMITED], {"ending": Ending.SIGNALLED, "exit_code": -9}, "runner-crash"),
}


@each_row((what, what) for what in LOGS)
def test_a_time_limit_while_the_cli_waits_for_the_service_is_the_service_s(what):
    log, ending, kind = LOGS[what]
    assert read(collected=[jsonl(*log)], **ending).trouble.kind == kind


def test_advice_may_follow_a_failed_call():
    words = "[API Error: 429 insufficient_quota]\nPossible quota limitations in place. Please wait."
    made = read(said({"type": "text", "text": words}, usage=NO_TOKENS), DONE | {"result": words, "usage": NO_TOKENS})
    assert made.trouble.kind == "quota"


@pytest.mark.parametrize("usage", [{}, {"usage": NO_TOKENS}])
def test_an_answer_without_an_end_is_a_failure_whatever_tokens_were_counted(usage):
    words = "[API Error: Model stream ended without a finish reason.]"
    said_last = f"I have begun{words}"
    made = read(said({"type": "text", "text": said_last}, **usage), DONE | {"result": said_last})
    assert made.trouble == Trouble(kind="provider", message=words)


# --- starting ---------------------------------------------------------------------------------------


def test_a_session_id_cannot_become_an_option():
    assert qwen.resume(SESSION, "--evil").argv == (
        *("qwen", "--yolo", "--output-format", "stream-json", "--resume=--evil"),
    )


def test_a_session_has_a_config_folder_of_its_own():
    ((path, text),) = qwen.invocation(SESSION).files.items()
    assert path == Path("/agent-home/.qwen/settings.json")
    assert json.loads(text) == {
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "memory": {"enableManagedAutoMemory": False},
        "model": {"generationConfig": {"maxRetries": 0}},
    }


def test_there_is_no_proxy_but_one_of_the_runner_s():
    env = qwen.invocation(session_with(AgentConfig(type="qwen", env={"HTTPS_PROXY": "http://proxy"}))).env
    assert env == {
        "HOME": "/agent-home",
        "HTTP_PROXY": "",
        "HTTPS_PROXY": "http://proxy",
        "ALL_PROXY": "",
        "http_proxy": "",
        "https_proxy": "",
        "all_proxy": "",
    }


# --- events -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "events"),
    [
        pytest.param(
            [said({"type": "thinking", "thinking": "hm"}, usage=NO_TOKENS), said(TEXT), DONE],
            [
                Message(role="assistant", phase="thinking", text="hm"),
                Message(role="assistant", phase="final", text="Done."),
            ],
            id="thinking, then the last words",
        ),
        pytest.param(
            [said(TEXT, usage=NO_TOKENS), called("run_shell_command", command="ls"), answered("a")],
            [
                Message(role="assistant", phase="commentary", text="Done."),
                ToolCall(tool="run_shell_command", args={"command": "ls"}),
                Command(command="ls", exit_code=None),
                ToolResult(tool="run_shell_command", output="a"),
            ],
            id="words before a tool call are commentary; without a log no exit code is known",
        ),
        pytest.param(
            [called("skill", skill="greeter"), answered("Greets people.")],
            [
                ToolCall(tool="skill", args={"skill": "greeter"}),
                SkillSignal(skill="greeter", signal="skill tool"),
                ToolResult(tool="skill", output="Greets people."),
            ],
            id="a skill that was used",
        ),
        pytest.param(
            [called("read_file", file_path="gone"), answered("no such file", error=True)],
            [
                ToolCall(tool="read_file", args={"file_path": "gone"}),
                ToolResult(tool="read_file", output="no such file", failed=True),
            ],
            id="a file that is not there was not read",
        ),
        pytest.param(
            [called("read_file", file_path="/w/a"), answered("a")],
            [
                ToolCall(tool="read_file", args={"file_path": "/w/a"}),
                FileRead(path="/w/a"),
                ToolResult(tool="read_file", output="a"),
            ],
            id="a file that was read",
        ),
        pytest.param(
            [called("edit", file_path="/w/a")],
            [ToolCall(tool="edit", args={"file_path": "/w/a"}), FileWrite(path="/w/a")],
            id="a write whose session ended before the answer",
        ),
        pytest.param(
            [called("tool_call", name="write_file", arguments={"file_path": "/w/a"}), answered("ok")],
            [
                ToolCall(tool="write_file", args={"file_path": "/w/a"}),
                FileWrite(path="/w/a"),
                ToolResult(tool="write_file", output="ok"),
            ],
            id="a call through the tool for deferred ones is one of the deferred tool",
        ),
        pytest.param(
            [called("tool_call", arguments={})],
            [ToolCall(tool="tool_call", args={"arguments": {}})],
            id="a call through that tool without a name is one of itself",
        ),
        *(
            pytest.param(
                [
                    called("tool_call", name="run_shell_command", arguments={"command": "ls"}),
                    answered(f"[tool_call bridge {how}] no", error=True),
                ],
                [
                    ToolCall(tool="run_shell_command", args={"command": "ls"}),
                    ToolResult(tool="run_shell_command", output=f"[tool_call bridge {how}] no", failed=True),
                ],
                id=f"a command that was {how} did not run",
            )
            for how in ("refused", "cancelled")
        ),
        pytest.param(
            [
                called("run_shell_command", command="ls"),
                answered("denied", error=True),
                DONE | {"result": "", "permission_denials": [{"tool_use_id": "c1"}]},
            ],
            [
                ToolCall(tool="run_shell_command", args={"command": "ls"}),
                ToolResult(tool="run_shell_command", output="denied", failed=True),
            ],
            id="a command that was denied did not run",
        ),
        pytest.param([AGAIN, GOALS], [], id="lines that say nothing about the session"),
        pytest.param(
            [{"type": "stream_event", "event": {"type": "novelty"}}], [], id="parts of messages are no events"
        ),
        pytest.param(
            [{"type": "system", "subtype": "novelty"}],
            [Raw(line='{"type": "system", "subtype": "novelty"}')],
            id="an unknown line is kept",
        ),
    ],
)
def test_lines_become_events(lines, events):
    assert without_tokens(read(*lines).events) == events


@pytest.mark.parametrize(
    ("output", "code"),
    [
        pytest.param("Error: (none)\nExit Code: 4\nSignal: 0\nProcess Group PGID: 12", 4, id="a code"),
        pytest.param("Error: (none)\nExit Code: 0\nSignal: (none)\nProcess Group PGID: 12", 0, id="success"),
        pytest.param("Error: (none)\nExit Code: 0\nSignal: 9\nProcess Group PGID: 12", None, id="ended by a signal"),
        pytest.param("Exit Code: 4", None, id="its own words"),
        pytest.param("Background shell started.", None, id="in the background"),
    ],
)
def test_the_log_has_exit_codes(output, code):
    response = {"functionResponse": {"id": "c1", "response": {"output": output}}}
    log = jsonl({"type": "tool_result", "message": {"role": "user", "parts": [response]}})
    transcript = read(called("run_shell_command", command="x"), answered("…"), DONE, collected=[log])
    assert [event.exit_code for event in transcript.events if isinstance(event, Command)] == [code]


# --- usage ------------------------------------------------------------------------------------------


def test_the_result_has_tokens_and_turns():
    transcript = read(said(TEXT), DONE)
    assert transcript.usage == Usage(input_tokens=1000, output_tokens=42, cache_tokens=300)
    assert transcript.turns == 2


def test_a_session_that_was_ended_has_the_tokens_of_the_rounds_it_had():
    transcript = read(said(TEXT, usage=NO_TOKENS), called("x"), said(TEXT, id="m2"))
    assert transcript.usage == Usage(input_tokens=2000, output_tokens=84, cache_tokens=600)
    assert transcript.turns == 2


# --- trouble ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "ending", "trouble"),
    [
        pytest.param([said(TEXT), DONE], {}, None, id="all is well"),
        pytest.param(
            failed_call("401 bad key"),
            {},
            Trouble(kind="auth", message="[API Error: 401 bad key]"),
            id="401 with exit code 0",
        ),
        pytest.param(
            failed_call("404 The model `x` does not exist"),
            {},
            Trouble(kind="model-rejected", message="[API Error: 404 The model `x` does not exist]"),
            id="unknown model",
        ),
        pytest.param(
            failed_call("429 slow"), {}, Trouble(kind="rate-limit", message="[API Error: 429 slow]"), id="429"
        ),
        pytest.param(failed_call("500 oops"), {}, Trouble(kind="provider", message="[API Error: 500 oops]"), id="5xx"),
        pytest.param(
            failed_call("no luck"), {}, Trouble(kind="provider", message="[API Error: no luck]"), id="unknown words"
        ),
        pytest.param(
            failed_call("400 no luck"),
            {},
            Trouble(kind="runner-crash", message="[API Error: 400 no luck]"),
            id="a request that the service does not understand",
        ),
        pytest.param(
            failed_call("Connection error. (cause: fetch failed)"),
            {},
            Trouble(kind="network", message="[API Error: Connection error. (cause: fetch failed)]"),
            id="connection refused",
        ),
        pytest.param(
            [said(TEXT, usage=NO_TOKENS), *failed_call("500 oops")],
            {},
            Trouble(kind="provider", message="[API Error: 500 oops]"),
            id="after some words",
        ),
        pytest.param(
            [said({"type": "text", "text": "[API Error: 401]"}), DONE | {"result": "[API Error: 401]"}],
            {},
            None,
            id="a model that says so itself",
        ),
        pytest.param([*failed_call("500 oops")[:1], said(TEXT), DONE], {}, None, id="another try that worked"),
        pytest.param(
            [{"type": "result", "is_error": True, "error": {"message": "Missing API key for OpenAI-compatible auth."}}],
            {"exit_code": 1},
            Trouble(kind="auth", message="Missing API key for OpenAI-compatible auth."),
            id="no key",
        ),
        pytest.param(
            [{"type": "result", "is_error": True, "error": {"message": "Loop detection halted the run (…)."}}],
            {"exit_code": 1},
            Trouble(kind="max-steps", message="Loop detection halted the run (…)."),
            id="the CLI's own guard against loops",
        ),
        pytest.param(
            [called("x")],
            {"exit_code": 53, "stderr": "Reached max session turns for this session.\n"},
            Trouble(kind="max-steps", message="Reached max session turns for this session."),
            id="the CLI's own limit of turns has no result",
        ),
        pytest.param(
            [],
            {"exit_code": 1, "stderr": "Unknown argument: nope\nUsage: qwen\n  --openai-api-key" + "\n  more" * 200},
            Trouble(kind="runner-crash", message="exited with code 1: Unknown argument: nope"),
            id="a wrong argument is not drowned by the help",
        ),
        killed_after(said({"type": "text", "text": WORDS})),
    ],
)
def test_trouble_is_recognised(lines, ending, trouble):
    capture = capture_of(jsonl(*lines), **ending)
    assert qwen.trouble(capture, qwen.transcript(capture, SESSION)) == trouble


# --- progress ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "progress"),
    [
        pytest.param(
            said(TEXT),
            Progress(
                step="m1", model="m", usage=Usage(input_tokens=1000, output_tokens=42, cache_tokens=300), text="Done."
            ),
            id="the line of a round that has its tokens is a step",
        ),
        pytest.param(said(TEXT, usage=NO_TOKENS), None, id="another line of the round is none"),
        pytest.param(
            said(stop_reason="tool_use", usage=NO_TOKENS),
            Progress(step="m1", model="m", usage=Usage(input_tokens=0, output_tokens=0)),
            id="calls for tools are a step where the service tells no tokens",
        ),
        pytest.param(answered("x"), None, id="an answer of a tool is none"),
        pytest.param(DONE, Progress(finished=True, text="Done."), id="the end"),
        pytest.param(AGAIN, Progress(retrying=True), id="another try"),
        pytest.param([], None, id="no object"),
    ],
)
def test_progress_counts_model_rounds(line, progress):
    assert qwen.progress(json.dumps(line)) == progress
