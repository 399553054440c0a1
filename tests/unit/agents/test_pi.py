from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from endings import WORDS, killed_after
from sessions import SESSION, capture_of, jsonl, session_with, without_tokens
from skillgym_action.agents import pi
from skillgym_action.model.session import AgentConfig, Progress
from skillgym_action.model.session_report import (
    Command,
    Cost,
    FileRead,
    FileWrite,
    Message,
    Raw,
    ToolCall,
    ToolResult,
    Trouble,
    Usage,
)

TOKENS = {"input": 700, "output": 42, "cacheRead": 300, "cacheWrite": 20, "totalTokens": 1062, "cost": {"total": 0.25}}
NO_TOKENS = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": {"total": 0}}
AT = "1970-01-01T00:00:00.001Z"
TEXT = {"type": "text", "text": "Done."}
END = {"type": "agent_end", "messages": [{"role": "user"}, {"role": "assistant", "stopReason": "stop"}]}


def said(*content: dict[str, Any], **message: Any) -> dict[str, Any]:
    known = {"role": "assistant", "content": list(content), "model": "m", "usage": TOKENS, "stopReason": "stop"}
    return {"type": "message_end", "message": known | {"responseId": "r1", "timestamp": 1} | message}


def broke(message: str, **fields: Any) -> dict[str, Any]:
    reason = {"usage": NO_TOKENS, "stopReason": "error", "errorMessage": message, "responseId": None}
    return said(**reason | fields)


def called(tool: str, **args: Any) -> dict[str, Any]:
    return {"type": "tool_execution_start", "toolCallId": "c1", "toolName": tool, "args": args}


def answered(text: str, *, error: bool = False) -> dict[str, Any]:
    result = {"content": [{"type": "text", "text": text}]}
    return {"type": "tool_execution_end", "toolCallId": "c1", "toolName": "?", "result": result, "isError": error}


def read(*lines: dict[str, Any], **changes: Any) -> Any:
    return pi.transcript(capture_of(jsonl(*lines), **changes), SESSION)


# --- starting ---------------------------------------------------------------------------------------


def test_an_ended_session_is_continued_by_its_id():
    assert pi.resume(SESSION, "01a1").argv == ("pi", "-p", "--mode", "json", "--session", "01a1")


def test_a_session_has_a_config_folder_of_its_own_and_the_runner_s_environment_wins():
    agent = AgentConfig(type="pi", env={"PI_OFFLINE": "0", "OPENAI_BASE_URL": "http://proxy/v1", "OPENAI_API_KEY": "k"})
    invocation = pi.invocation(session_with(agent))
    assert invocation.env == {
        "HOME": "/agent-home",
        "PI_CODING_AGENT_DIR": "/agent-home/.pi/agent",
        "PI_OFFLINE": "0",
        "PI_TELEMETRY": "0",
        "OPENAI_BASE_URL": "http://proxy/v1",
        "OPENAI_API_KEY": "k",
    }
    files = {path: json.loads(text) for path, text in invocation.files.items()}
    assert files[Path("/agent-home/.pi/agent/models.json")] == {"providers": {"openai": {"baseUrl": "http://proxy/v1"}}}
    assert files[Path("/agent-home/.pi/agent/settings.json")] == {
        "retry": {"enabled": True, "maxRetries": 2, "baseDelayMs": 1000, "provider": {"maxRetries": 0}},
        "skills": ["/workspace/.claude/skills"],
        "defaultProjectTrust": "always",
    }


# --- events -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "events"),
    [
        pytest.param(
            [said({"type": "thinking", "thinking": "hm"}, TEXT), END],
            [
                Message(role="assistant", phase="thinking", text="hm", at=AT),
                Message(role="assistant", phase="final", text="Done.", at=AT),
            ],
            id="thinking, then the last words",
        ),
        pytest.param(
            [said(TEXT, {"type": "toolCall", "name": "bash"}), called("bash", command="ls"), answered("a\n")],
            [
                Message(role="assistant", phase="commentary", text="Done.", at=AT),
                ToolCall(tool="bash", args={"command": "ls"}),
                Command(command="ls", exit_code=0),
                ToolResult(tool="bash", output="a\n"),
            ],
            id="words before a tool call are commentary",
        ),
        pytest.param(
            [called("bash", command="x"), answered("no\n\n\nCommand exited with code 3", error=True)],
            [
                ToolCall(tool="bash", args={"command": "x"}),
                Command(command="x", exit_code=3),
                ToolResult(tool="bash", output="no\n\n\nCommand exited with code 3", failed=True),
            ],
            id="a failing command tells its exit code in words",
        ),
        pytest.param(
            [called("bash", command="x"), answered("Command exited with code 3")],
            [
                ToolCall(tool="bash", args={"command": "x"}),
                Command(command="x", exit_code=0),
                ToolResult(tool="bash", output="Command exited with code 3"),
            ],
            id="a command that only says so did not fail",
        ),
        pytest.param(
            [called("bash", command="x"), answered("Command timed out after 5 seconds", error=True)],
            [
                ToolCall(tool="bash", args={"command": "x"}),
                Command(command="x", exit_code=None),
                ToolResult(tool="bash", output="Command timed out after 5 seconds", failed=True),
            ],
            id="a command that was ended has no exit code",
        ),
        pytest.param(
            [called("read", path="a.md"), answered("text")],
            [
                ToolCall(tool="read", args={"path": "a.md"}),
                FileRead(path="a.md"),
                ToolResult(tool="read", output="text"),
            ],
            id="a file that was read",
        ),
        pytest.param(
            [called("read", path="gone"), answered("ENOENT", error=True)],
            [ToolCall(tool="read", args={"path": "gone"}), ToolResult(tool="read", output="ENOENT", failed=True)],
            id="a file that is not there was not read",
        ),
        pytest.param(
            [called("edit", path="a.md")],
            [ToolCall(tool="edit", args={"path": "a.md"}), FileWrite(path="a.md")],
            id="a write whose session ended before the answer",
        ),
        pytest.param(
            [{"type": "message_update", "message": {}}, {"type": "turn_start"}], [], id="lines that repeat others"
        ),
        pytest.param(
            [{"type": "message_end", "message": {"role": "system", "content": ""}}, {"type": "agent_settled"}],
            [],
            id="lines that say nothing about the session",
        ),
        pytest.param([{"type": "novelty"}], [Raw(line='{"type":"novelty"}')], id="an unknown line is kept"),
    ],
)
def test_lines_become_events(lines, events):
    compact = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)
    seen = pi.transcript(capture_of(compact), SESSION).events
    assert without_tokens(seen) == events


# --- usage and cost ---------------------------------------------------------------------------------


def test_tokens_and_cost_are_the_sums_over_messages_and_input_includes_the_cache():
    transcript = read(said(TEXT), said(TEXT, responseId="r2"), END)
    assert transcript.usage == Usage(input_tokens=2040, output_tokens=84, cache_tokens=600)
    assert transcript.cost == Cost(usd=0.5, source="reported")
    assert (transcript.turns, transcript.model) == (2, "m")


def test_reasoning_is_counted_apart_where_the_service_tells_it():
    transcript = read(said(TEXT, usage=TOKENS | {"reasoning": 5}), END)
    assert (transcript.usage.output_tokens, transcript.usage.reasoning_tokens) == (37, 5)


def test_a_model_without_a_price_has_an_unknown_cost():
    assert read(said(TEXT, usage=TOKENS | {"cost": {"total": 0}}), END).cost == Cost()


def test_the_price_of_another_model_is_no_cost():
    stderr = 'Warning: Model "x" not found for provider "openai". Using custom model id.\n'
    assert read(said(TEXT), END, stderr=stderr).cost == Cost()


# --- trouble ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "ending", "trouble"),
    [
        pytest.param([said(TEXT), END], {}, None, id="all is well"),
        pytest.param(
            [broke("401 bad key"), END], {}, Trouble(kind="auth", message="401 bad key"), id="401 with exit code 0"
        ),
        pytest.param(
            [broke("404 The model `x` does not exist"), END],
            {},
            Trouble(kind="model-rejected", message="404 The model `x` does not exist"),
            id="unknown model",
        ),
        pytest.param([broke("429 slow down"), END], {}, Trouble(kind="rate-limit", message="429 slow down"), id="429"),
        pytest.param([broke("500 oops"), END], {}, Trouble(kind="provider", message="500 oops"), id="5xx"),
        pytest.param([broke("no luck"), END], {}, Trouble(kind="provider", message="no luck"), id="unknown words"),
        pytest.param(
            [broke("Connection error."), END], {}, Trouble(kind="network", message="Connection error."), id="network"
        ),
        pytest.param(
            [broke("400 too long"), END], {}, Trouble(kind="runner-crash", message="400 too long"), id="any other"
        ),
        pytest.param(
            [said(usage=NO_TOKENS), END],
            {},
            Trouble(kind="provider", message="the model's answer was cut off: its end is missing"),
            id="a cut stream looks like an empty answer that cost nothing",
        ),
        pytest.param(
            [said(TEXT, api="openai-responses", usage=NO_TOKENS), END],
            {},
            Trouble(kind="provider", message="the model's answer was cut off: its end is missing"),
            id="so does one that was cut after its first words",
        ),
        pytest.param(
            [said(TEXT), said(TEXT, usage=NO_TOKENS), END],
            {},
            Trouble(kind="provider", message="the model's answer was cut off: its end is missing"),
            id="and one after a complete answer",
        ),
        pytest.param([said(TEXT, usage=NO_TOKENS), END], {}, None, id="a service may report no tokens at all"),
        pytest.param(
            [said(TEXT, stopReason="length"), END],
            {},
            Trouble(kind="output-limit", message="the model's answer reached the limit of output tokens"),
            id="the answer reached the output limit",
        ),
        pytest.param([said(), END], {}, None, id="an empty answer that cost tokens is the model's"),
        pytest.param(
            [broke("The model refused to complete the request", content=[TEXT], rawStopReason="refusal"), END],
            {},
            Trouble(kind="refused", message="the model refused to answer"),
            id="the model refused",
        ),
        pytest.param([broke("429 slow down"), said(TEXT), END], {}, None, id="another try that worked"),
        pytest.param(
            [],
            {"exit_code": 1, "stderr": "No API key found for openai.\n"},
            Trouble(kind="auth", message="exited with code 1: No API key found for openai."),
            id="no key",
        ),
        pytest.param(
            [],
            {"exit_code": 1, "stderr": 'Error: Model "nope/x" not found.\n'},
            Trouble(kind="model-rejected", message='exited with code 1: Error: Model "nope/x" not found.'),
            id="a provider that does not exist",
        ),
        killed_after(said({"type": "text", "text": WORDS})),
    ],
)
def test_trouble_is_recognised(lines, ending, trouble):
    capture = capture_of(jsonl(*lines), **ending)
    assert pi.trouble(capture, pi.transcript(capture, SESSION)) == trouble


# --- progress ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "progress"),
    [
        pytest.param(
            said(TEXT),
            Progress(step="r1", model="m", usage=Usage(input_tokens=1020, output_tokens=42, cache_tokens=300)),
            id="a message of the model is a step",
        ),
        pytest.param(broke("429"), None, id="a call that failed is none"),
        pytest.param({"type": "message_end", "message": {"role": "user"}}, None, id="the user's message is none"),
        pytest.param({"type": "message_update", "message": {}}, None, id="a part of a message is none"),
        pytest.param(END, Progress(finished=True), id="the end"),
        pytest.param(
            {"type": "agent_end", "messages": [{"stopReason": "error"}]}, None, id="an end before another try is none"
        ),
        pytest.param([], None, id="no object"),
    ],
)
def test_progress_counts_messages_of_the_model(line, progress):
    assert pi.progress(json.dumps(line)) == progress
