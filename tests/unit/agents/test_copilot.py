from __future__ import annotations

import json
from typing import Any

import pytest

from endings import WORDS, killed_after
from sessions import SESSION, capture_of, jsonl, session_with
from skillgym_action.agents import copilot
from skillgym_action.model.session import AgentConfig, Progress
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

FLAGS = (*("--output-format", "json", "--no-color", "--allow-all", "--no-ask-user", "--disable-client-telemetry"),)
TOKENS = {"inputTokens": 1000, "outputTokens": 42, "cacheReadTokens": 300, "reasoningTokens": 5}


def line(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def said(text: str = "", **data: Any) -> dict[str, Any]:
    known = {"messageId": "m1", "apiCallId": "a1", "model": "gpt", "content": text}
    return line("assistant.message", **known | data)


def called(tool: str, **arguments: Any) -> dict[str, Any]:
    return line("tool.execution_start", toolCallId="c1", toolName=tool, arguments=arguments)


def answered(text: str, **data: Any) -> dict[str, Any]:
    return line("tool.execution_complete", toolCallId="c1", success=True, result={"content": text}, **data)


def refused(message: str) -> dict[str, Any]:
    return line("tool.execution_complete", toolCallId="c1", success=False, error={"message": message})


def failed(message: str, kind: str = "query", **data: Any) -> dict[str, Any]:
    return line("session.error", errorType=kind, message=message, **data)


def ended(code: int = 0) -> dict[str, Any]:
    return {"type": "result", "sessionId": "s1", "exitCode": code, "usage": {"premiumRequests": 0}}


def spent(call: str, **tokens: Any) -> dict[str, Any]:
    return line("session.usage_record", usage={"apiCallId": call} | TOKENS | tokens)


def read(*lines: dict[str, Any], record: tuple[dict[str, Any], ...] = (), **changes: Any) -> Any:
    return copilot.transcript(capture_of(jsonl(*lines), collected=(jsonl(*record),), **changes), SESSION)


@pytest.mark.parametrize(
    ("record", "lines", "kind"),
    [
        pytest.param(["stop"], [ended()], None, id="complete"),
        pytest.param(["stop", "length"], [ended()], "output-limit", id="the output limit"),
        pytest.param(["content_filter"], [ended()], "content-policy", id="a content filter"),
        pytest.param(["refusal"], [ended()], "refused", id="a refusal"),
        pytest.param(["length", "stop"], [ended()], None, id="the CLI asked for the rest"),
        pytest.param(["length"], [failed("500 oops"), ended(1)], "provider", id="another failure wins"),
    ],
)
def test_the_record_says_how_the_last_answer_ended(record, lines, kind):
    records = tuple(spent(f"c{number}", finishReason=reason) for number, reason in enumerate(record))
    trouble = read(said("x"), *lines, record=records).trouble
    assert (trouble and trouble.kind) == kind


def test_an_empty_answer_is_an_answer():
    empty = failed("No response was returned. Send your message again to retry.")
    capture = capture_of(jsonl(said(""), empty, ended(1)), exit_code=1)
    made = copilot.transcript(capture, SESSION)
    assert (made.trouble, copilot.trouble(capture, made), made.final_output) == (None, None, "")


NO_WORDS = [failed("No response was returned. Send your message again to retry."), ended(1)]
CALLED = said("", toolRequests=[{"name": "bash"}])
BLANK = said("", apiCallId=None)
# Lines of stdout and of the record, and the kind of trouble.
BLANK_MESSAGES = {
    "in the first round": ([BLANK, *NO_WORDS], [spent("", outputTokens=None)], "provider"),
    "in a later round, where the CLI finds no fault": (
        [CALLED, BLANK, ended()],
        [spent("a1", finishReason="tool_calls"), spent("", outputTokens=None)],
        "provider",
    ),
    "without a record": ([BLANK, ended()], [], "provider"),
    "followed by an answer": ([BLANK, said("done"), ended()], [], None),
    "of a service that gives no ids": ([BLANK, *NO_WORDS], [spent("", finishReason="stop")], None),
    "of a service that counts tokens": ([BLANK, *NO_WORDS], [spent("")], None),
    "of a helper": ([said("done"), said("", apiCallId=None, parentToolCallId="c1"), ended()], [], None),
    "that calls tools": ([said("", apiCallId=None, toolRequests=[{"name": "bash"}]), ended()], [], None),
    "with words": ([said("done", apiCallId=None), ended()], [], None),
}


@each_row((what, what) for what in BLANK_MESSAGES)
def test_an_error_with_http_status_200_is_no_answer(what):
    lines, record, kind = BLANK_MESSAGES[what]
    trouble = read(*lines, record=tuple(record)).trouble
    assert (trouble and trouble.kind) == kind


# What the CLI says, what the service said to it, the kind of trouble, and the message.
FAILED_CALLS = {
    "a page of a web server": (
        failed("Model 'x' not found on provider (HTTP 404).", statusCode=404),
        {"statusCode": 404, "errorMessage": '"404 Not Found"'},
        ("network", "Model 'x' not found on provider (HTTP 404). The service's answer: 404 Not Found"),
    ),
    "an unknown model": (
        failed("Model 'x' not found on provider (HTTP 404).", statusCode=404),
        {"statusCode": 404, "errorMessage": '{"message":"no such model","code":"model_not_found"}'},
        ("model-rejected", "Model 'x' not found on provider (HTTP 404). The service's answer: no such model"),
    ),
    "a code": (
        failed("Last error: 429 no luck", "rate_limit", statusCode=429),
        {"statusCode": 429, "errorMessage": '{"message":"no luck","code":"insufficient_quota"}'},
        ("quota", "Last error: 429 no luck"),
    ),
    "a status that the CLI leaves out": (
        failed("Automatic recovery could not reduce it."),
        {"statusCode": 413, "errorMessage": '{"message":"over 1 MB"}'},
        ("context-exceeded", "Automatic recovery could not reduce it. The service's answer: over 1 MB"),
    ),
    "words that the CLI repeats": (
        failed("Last error: 500 oops", statusCode=500),
        {"statusCode": 500, "errorMessage": '{"message":"oops"}'},
        ("provider", "Last error: 500 oops"),
    ),
}


@each_row(FAILED_CALLS.items())
def test_what_the_service_said_decides_the_class(row):
    shown, call, expected = row
    trouble = read(line("model.call_failure", **call) | {"ephemeral": True}, shown, ended(1), exit_code=1).trouble
    assert (trouble.kind, trouble.message) == expected


def test_what_the_service_said_before_an_answer_is_forgotten():
    call = line("model.call_failure", statusCode=413, errorMessage='{"message":"too long"}')
    trouble = read(call, said("x"), failed("odd", "novelty"), ended(1), exit_code=1).trouble
    assert (trouble.kind, trouble.message) == ("runner-crash", "odd")


# --- starting ---------------------------------------------------------------------------------------


def test_a_session_id_cannot_become_an_option():
    assert copilot.resume(SESSION, "--evil").argv == ("copilot", *FLAGS, "--resume=--evil")


@pytest.mark.parametrize(
    ("env", "offline"),
    [
        pytest.param({"COPILOT_GITHUB_TOKEN": "t"}, {}, id="GitHub's models need GitHub"),
        pytest.param(
            {"COPILOT_PROVIDER_BASE_URL": "http://mine/v1"},
            {"COPILOT_OFFLINE": "true"},
            id="with a service of one's own no other is called",
        ),
        pytest.param(
            {"COPILOT_PROVIDER_BASE_URL": "http://mine/v1", "COPILOT_OFFLINE": "false"},
            {},
            id="the runner's environment wins",
        ),
    ],
)
def test_a_session_has_a_config_folder_of_its_own(env, offline):
    agent = AgentConfig(type="copilot", env=env)
    home = {"HOME": "/agent-home", "COPILOT_HOME": "/agent-home/.copilot", "COPILOT_AUTO_UPDATE": "false"}
    assert copilot.invocation(session_with(agent)).env == home | offline | env


# --- events -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "events"),
    [
        pytest.param(
            [said("Done.", reasoningText="hm"), ended()],
            [
                Message(role="assistant", phase="thinking", text="hm"),
                Message(role="assistant", phase="final", text="Done."),
            ],
            id="thinking, then the last words",
        ),
        pytest.param(
            [said("Look."), called("bash", command="ls"), answered("a", shellExecution={"exitCode": 3})],
            [
                Message(role="assistant", phase="commentary", text="Look."),
                ToolCall(tool="bash", args={"command": "ls"}),
                Command(command="ls", exit_code=3),
                ToolResult(tool="bash", output="a"),
            ],
            id="words before a tool call are commentary, and a command has an exit code",
        ),
        pytest.param(
            [called("bash", command="server", mode="async"), answered("<command started in background>")],
            [
                ToolCall(tool="bash", args={"command": "server", "mode": "async"}),
                Command(command="server"),
                ToolResult(tool="bash", output="<command started in background>"),
            ],
            id="a command in the background has none yet",
        ),
        pytest.param(
            [called("view", path="/w/a.md"), answered("text")],
            [
                ToolCall(tool="view", args={"path": "/w/a.md"}),
                FileRead(path="/w/a.md"),
                ToolResult(tool="view", output="text"),
            ],
            id="a file that was read",
        ),
        pytest.param(
            [called("view", path="/gone"), refused("Path does not exist")],
            [
                ToolCall(tool="view", args={"path": "/gone"}),
                ToolResult(tool="view", output="Path does not exist", failed=True),
            ],
            id="a file that is not there was not read",
        ),
        pytest.param(
            [called("create", path="/w/new")],
            [ToolCall(tool="create", args={"path": "/w/new"}), FileWrite(path="/w/new")],
            id="a write whose session ended before the answer",
        ),
        pytest.param(
            [
                line(
                    "tool.execution_start",
                    toolCallId="c1",
                    toolName="apply_patch",
                    arguments="*** Begin Patch\n*** Add File: a\n+*** Add File: no\n*** Delete File: b\n*** End Patch",
                )
            ],
            [
                ToolCall(
                    tool="apply_patch",
                    args="*** Begin Patch\n*** Add File: a\n+*** Add File: no\n*** Delete File: b\n*** End Patch",
                ),
                FileWrite(path="a"),
            ],
            id="a patch writes the files it names",
        ),
        pytest.param(
            [called("skill", skill="greeter"), answered("loaded")],
            [
                ToolCall(tool="skill", args={"skill": "greeter"}),
                SkillSignal(skill="greeter", signal="skill tool"),
                ToolResult(tool="skill", output="loaded"),
            ],
            id="a skill that was loaded",
        ),
        pytest.param(
            [said("sub", parentToolCallId="c0"), said("main", apiCallId="a2"), said("sub", parentToolCallId="c0")],
            [
                Message(role="assistant", phase="commentary", text="sub"),
                Message(role="assistant", phase="final", text="main"),
                Message(role="assistant", phase="commentary", text="sub"),
            ],
            id="a sub-agent's words are not the final ones",
        ),
        pytest.param(
            [line("user.message", content="Hi"), line("user.message", content="Look", source="agent-1")],
            [Message(role="user", text="Hi")],
            id="the prompt of a sub-agent is not the user's",
        ),
        pytest.param(
            [
                line("assistant.turn_start"),
                {"type": "assistant.message_delta", "data": {"deltaContent": "Do"}, "ephemeral": True},
                {"type": "session.novelty", "data": {}, "ephemeral": True},
            ],
            [],
            id="lines that repeat others, or pass",
        ),
        pytest.param([{"type": "novelty"}], [Raw(line='{"type":"novelty"}')], id="an unknown line is kept"),
    ],
)
def test_lines_become_events(lines, events):
    compact = "".join(f"{json.dumps(each, separators=(',', ':'))}\n" for each in lines)
    assert list(copilot.transcript(capture_of(compact), SESSION).events) == events


# --- what the CLI's own record tells ----------------------------------------------------------------


def test_tokens_are_the_sums_over_rounds_and_output_excludes_the_reasoning():
    transcript = read(said("x"), said("y", apiCallId="a2"), ended(), record=(spent("a1"), spent("a2")))
    assert transcript.usage == Usage(input_tokens=2000, output_tokens=74, reasoning_tokens=10, cache_tokens=600)
    assert (transcript.turns, transcript.model, transcript.session_id) == (2, "gpt", "s1")


def test_a_session_that_was_continued_does_not_pay_for_its_first_part_again():
    record = (line("session.start", sessionId="s1"), spent("a1"), line("session.resume"), spent("a2"))
    transcript = read(said("because", apiCallId="a2"), ended(), record=record)
    assert (transcript.usage.input_tokens, transcript.turns) == (1000, 1)


def test_a_session_without_a_record_has_no_tokens_but_rounds():
    transcript = read(said("x"), ended())
    assert (transcript.usage, transcript.turns) == (Usage(), 1)


def test_a_session_that_was_killed_has_its_id_and_model_from_the_record():
    start = line("session.start", sessionId="s9", copilotVersion="1.0", selectedModel="gpt")
    transcript = read(record=(start,))
    assert (transcript.session_id, transcript.version, transcript.model) == ("s9", "1.0", "gpt")


def test_the_skills_on_offer_are_known():
    assert read(line("session.skills_loaded", skills=[{"name": "greeter"}, {}])).skills == ("greeter",)


def test_the_mcp_servers_are_known_with_their_status():
    loaded = line("session.mcp_servers_loaded", servers=[{"name": "absent", "status": "failed", "error": "no"}])
    assert read(loaded | {"ephemeral": True}).mcp_servers == (McpServer(name="absent", status="failed"),)


# --- trouble ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "ending", "trouble"),
    [
        pytest.param([said("x"), ended()], {}, None, id="all is well"),
        pytest.param(
            [failed("Authentication failed", "authentication", statusCode=401), ended(1)],
            {"exit_code": 1},
            Trouble(kind="auth", message="Authentication failed"),
            id="401",
        ),
        pytest.param(
            [failed("retried 5 times. Last error: 429 slow", "rate_limit", statusCode=429), ended(1)],
            {"exit_code": 1},
            Trouble(kind="rate-limit", message="retried 5 times. Last error: 429 slow"),
            id="429",
        ),
        pytest.param(
            [failed("You are out of credits", "quota", statusCode=402), ended(1)],
            {"exit_code": 1},
            Trouble(kind="quota", message="You are out of credits"),
            id="the plan is used up",
        ),
        pytest.param(
            [failed("Model 'x' not found on provider (HTTP 404).", statusCode=404), ended(1)],
            {"exit_code": 1},
            Trouble(kind="model-rejected", message="Model 'x' not found on provider (HTTP 404)."),
            id="404",
        ),
        pytest.param(
            [failed("Last error: 500 oops", statusCode=500), ended(1)],
            {"exit_code": 1},
            Trouble(kind="provider", message="Last error: 500 oops"),
            id="5xx",
        ),
        pytest.param(
            [failed("Could not connect to local model provider"), ended(1)],
            {"exit_code": 1},
            Trouble(kind="network", message="Could not connect to local model provider"),
            id="connection refused",
        ),
        pytest.param(
            [failed("Failed to finalize stream: missing finish_reason"), ended(1)],
            {"exit_code": 1},
            Trouble(kind="provider", message="Failed to finalize stream: missing finish_reason"),
            id="an answer that was cut",
        ),
        pytest.param(
            [failed("odd", "novelty"), ended(1)],
            {"exit_code": 1},
            Trouble(kind="runner-crash", message="odd"),
            id="any other",
        ),
        pytest.param([failed("Last error: 500"), said("x"), ended()], {}, None, id="an error that did not matter"),
        pytest.param(
            [],
            {"exit_code": 1, "stderr": "Error: No authentication information found.\n"},
            Trouble(kind="auth", message="exited with code 1: Error: No authentication information found."),
            id="no key",
        ),
        pytest.param(
            [said("x"), ended(1)],
            {"exit_code": 1},
            Trouble(kind="runner-crash", message="exited with code 1"),
            id="a failure without an error",
        ),
        killed_after(said(WORDS)),
    ],
)
def test_trouble_is_recognised(lines, ending, trouble):
    capture = capture_of(jsonl(*lines), **ending)
    assert copilot.trouble(capture, copilot.transcript(capture, SESSION)) == trouble


# --- progress ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "progress"),
    [
        pytest.param(said("x"), Progress(step="m1", model="gpt"), id="a message of the model is a step"),
        pytest.param(said("x", model=None), None, id="a call that the CLI makes itself is none"),
        pytest.param(line("assistant.message_delta", messageId="m1"), None, id="a part of a message is none"),
        pytest.param(ended(), Progress(finished=True), id="the end"),
        pytest.param([], None, id="no object"),
    ],
)
def test_progress_counts_messages_of_the_model(line, progress):
    assert copilot.progress(json.dumps(line, separators=(",", ":"))) == progress
