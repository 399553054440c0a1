from __future__ import annotations

import json
from typing import Any

import pytest

from endings import WORDS, killed_after
from sessions import SESSION, capture_of, jsonl, session_with, without_tokens
from skillgym_action.agents import claude_code
from skillgym_action.model.session import AgentConfig, Progress
from skillgym_action.model.session_report import (
    Command,
    Cost,
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

TOKENS = {"input_tokens": 1000, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300, "output_tokens": 1}
RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "ready", "num_turns": 2}


def said(*parts: dict[str, Any], message: str = "msg_1", **line: Any) -> dict[str, Any]:
    content = {"id": message, "model": "claude-x", "content": list(parts), "usage": TOKENS}
    return {"type": "assistant", "message": content, "parent_tool_use_id": None} | line


def called(tool: str, call: str = "call_1", **given: Any) -> dict[str, Any]:
    return said({"type": "tool_use", "id": call, "name": tool, "input": given})


def answered(content: Any, call: str = "call_1", **part: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "content": content} | part
    return {"type": "user", "message": {"role": "user", "content": [block]}, "tool_use_result": "whatever"}


def read(*lines: dict[str, Any], **changes: Any) -> Any:
    return claude_code.transcript(capture_of(jsonl(*lines), **changes), SESSION)


# --- starting ---------------------------------------------------------------------------------------


def test_the_command_line_carries_model_budget_and_the_runner_s_arguments():
    agent = AgentConfig(type="claude-code", model="sonnet", command=("npx", "claude"), command_args=("--effort", "low"))
    assert claude_code.invocation(session_with(agent, budget=0.5)).argv == (
        *("npx", "claude", "-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"),
        *("--max-budget-usd", "0.500000", "--model", "sonnet", "--effort", "low"),
    )


def test_a_session_has_a_config_folder_of_its_own_and_the_runner_s_environment_wins():
    agent = AgentConfig(type="claude-code", env={"CLAUDE_CODE_MAX_RETRIES": "9"})
    invocation = claude_code.invocation(session_with(agent))
    assert invocation.env == {
        "HOME": "/agent-home",
        "CLAUDE_CONFIG_DIR": "/agent-home/.claude",
        "IS_SANDBOX": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_MAX_RETRIES": "9",
    }


def test_a_session_id_cannot_become_another_option():
    assert "--resume=--evil" in claude_code.resume(SESSION, "--evil").argv


# --- events -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "events"),
    [
        pytest.param(
            [said({"type": "thinking", "thinking": "hm"}), said({"type": "text", "text": "Done."})],
            [
                Message(role="assistant", phase="thinking", text="hm"),
                Message(role="assistant", phase="final", text="Done."),
            ],
            id="thinking, then the last words",
        ),
        pytest.param(
            [said({"type": "text", "text": "First."}), called("Glob", pattern="*")],
            [
                Message(role="assistant", phase="commentary", text="First."),
                ToolCall(tool="Glob", args={"pattern": "*"}),
            ],
            id="words before a tool call are commentary",
        ),
        pytest.param(
            [called("Bash", command="exit 3"), answered("Exit code 3\nno", is_error=True)],
            [
                ToolCall(tool="Bash", args={"command": "exit 3"}),
                Command(command="exit 3", exit_code=3),
                ToolResult(tool="Bash", output="Exit code 3\nno", failed=True),
            ],
            id="a failing command tells its exit code in words",
        ),
        pytest.param(
            [called("Bash", command="sleep 9"), answered("interrupted", is_error=True)],
            [
                ToolCall(tool="Bash", args={"command": "sleep 9"}),
                Command(command="sleep 9", exit_code=None),
                ToolResult(tool="Bash", output="interrupted", failed=True),
            ],
            id="a command that was interrupted has no exit code",
        ),
        pytest.param(
            [called("Bash", command="serve"), answered("started") | {"tool_use_result": {"backgroundTaskId": "b1"}}],
            [
                ToolCall(tool="Bash", args={"command": "serve"}),
                Command(command="serve", exit_code=None),
                ToolResult(tool="Bash", output="started"),
            ],
            id="a command in the background has no exit code yet",
        ),
        pytest.param(
            [
                called("Read", file_path="a.md"),
                answered([{"type": "text", "text": "1"}, {"type": "text", "text": "2"}]),
            ],
            [
                ToolCall(tool="Read", args={"file_path": "a.md"}),
                FileRead(path="a.md"),
                ToolResult(tool="Read", output="1\n2"),
            ],
            id="a result in parts",
        ),
        pytest.param(
            [called("Read", file_path="gone"), answered("File does not exist.", is_error=True)],
            [
                ToolCall(tool="Read", args={"file_path": "gone"}),
                ToolResult(tool="Read", output="File does not exist.", failed=True),
            ],
            id="a file that is not there was not read",
        ),
        pytest.param(
            [called("NotebookEdit", notebook_path="n.ipynb")],
            [ToolCall(tool="NotebookEdit", args={"notebook_path": "n.ipynb"}), FileWrite(path="n.ipynb")],
            id="a write whose session ended before the answer",
        ),
        pytest.param(
            [called("Skill", skill="/greeter"), answered("Launching skill: greeter")],
            [
                ToolCall(tool="Skill", args={"skill": "/greeter"}),
                SkillSignal(skill="greeter", signal="Skill tool"),
                ToolResult(tool="Skill", output="Launching skill: greeter"),
            ],
            id="a skill that was loaded",
        ),
        pytest.param(
            [called("Skill", skill="nope"), answered("Unknown skill: nope", is_error=True)],
            [
                ToolCall(tool="Skill", args={"skill": "nope"}),
                ToolResult(tool="Skill", output="Unknown skill: nope", failed=True),
            ],
            id="a skill that does not exist was not loaded",
        ),
        pytest.param(
            [{"type": "user", "isSynthetic": True, "message": {"content": [{"type": "text", "text": "# Greeter"}]}}],
            [],
            id="text the CLI put in is not the user's",
        ),
        pytest.param(
            [{"type": "user", "parent_tool_use_id": "c", "message": {"content": [{"type": "text", "text": "sub"}]}}],
            [],
            id="a sub-agent's prompt is not the user's",
        ),
        pytest.param(
            [{"type": "novelty", "x": 1}], [Raw(line='{"type": "novelty", "x": 1}')], id="an unknown line is kept"
        ),
    ],
)
def test_lines_become_events(lines, events):
    assert without_tokens(read(*lines).events) == events


DENIAL = {"type": "system", "subtype": "permission_denied", "tool_name": "Bash", "tool_use_id": "call_1"}


@each_row(
    [
        ("a line of its own", [DENIAL]),
        ("the result alone", [RESULT | {"permission_denials": [{"tool_name": "Bash", "tool_use_id": "call_1"}]}]),
    ]
)
def test_a_command_that_was_denied_did_not_run(lines):
    asked = [called("Bash", command="touch a"), answered("touch needs approval", is_error=True)]
    assert without_tokens(read(*asked, *lines).events) == [
        ToolCall(tool="Bash", args={"command": "touch a"}),
        ToolResult(tool="Bash", output="touch needs approval", failed=True),
    ]


def test_the_mcp_servers_are_known_with_their_status():
    servers = [{"name": "desk", "status": "connected"}, {"name": "absent", "status": "failed"}, {"name": 1}, "x"]
    init = {"type": "system", "subtype": "init", "mcp_servers": servers}
    found = read(init, RESULT).mcp_servers
    assert found == (McpServer(name="desk", status="connected"), McpServer(name="absent", status="failed"))
    assert read(init | {"mcp_servers": []}, RESULT).mcp_servers is None


def test_a_torn_last_line_is_kept_and_harms_nothing():
    whole = jsonl(said({"type": "text", "text": "Hello."}))
    transcript = claude_code.transcript(capture_of(whole + whole[:40]), SESSION)
    assert tuple(without_tokens(transcript.events)) == (
        Message(role="assistant", phase="final", text="Hello."),
        Raw(line=whole[:40]),
    )


def test_a_very_long_text_loses_its_middle_and_says_so():
    text = read(said({"type": "text", "text": "x" * 262_200})).events[0].text
    middle = "x" * (131_072)
    assert text == f"{middle}\n[56 characters are left out here]\n{middle}"


def test_half_a_character_is_replaced():
    assert read(said({"type": "text", "text": "a\ud800b"})).events[0].text == "a?b"


# --- usage ------------------------------------------------------------------------------------------


def test_the_input_includes_what_went_to_and_came_from_the_cache():
    assert read(RESULT | {"usage": TOKENS}).usage == Usage(input_tokens=1320, cache_tokens=300, output_tokens=1)


def test_sub_agents_count_because_models_are_summed():
    counts = {"inputTokens": 5, "cacheCreationInputTokens": 1, "cacheReadInputTokens": 2, "outputTokens": 3}
    usage = read(RESULT | {"usage": TOKENS, "modelUsage": {"big": counts, "small": counts}}).usage
    assert usage == Usage(input_tokens=16, cache_tokens=4, output_tokens=6)


def test_without_a_result_each_message_counts_once_as_a_lower_bound():
    transcript = read(said(), said(), said(message="msg_2"))
    assert transcript.usage == Usage(input_tokens=2640, cache_tokens=600, output_tokens=2)
    assert transcript.turns == 2
    assert transcript.cost == Cost()


def test_unknown_is_not_zero():
    assert read(RESULT).usage == Usage()


# --- trouble ----------------------------------------------------------------------------------------

FAILED = RESULT | {"is_error": True}


def api_error(status: int, kind: str | None = None) -> dict[str, Any]:
    """The CLI's own message about a failed call; ``kind``: that of the service's error."""
    known = {"is_api_error_message": True, "api_error_status": status, "error": "model_not_found"}
    message = {"id": "m", "model": "<synthetic>", "content": []}
    return {"type": "assistant", "message": message} | known | ({"api_error_type": kind} if kind else {})


RETRY = {"type": "system", "subtype": "api_retry", "retry_delay_ms": 1500, "error_status": 429}


@pytest.mark.parametrize(
    ("lines", "ending", "trouble"),
    [
        pytest.param([RESULT], {}, None, id="all is well"),
        pytest.param(
            [FAILED | {"api_error_status": 401, "result": "API Error: 401 bad key"}],
            {"exit_code": 1},
            Trouble(kind="auth", message="API Error: 401 bad key"),
            id="401",
        ),
        pytest.param(
            [said(model="<synthetic>", error="authentication_failed"), FAILED | {"result": "Not logged in"}],
            {"exit_code": 1},
            Trouble(kind="auth", message="Not logged in"),
            id="no key",
        ),
        pytest.param(
            [RETRY, FAILED | {"api_error_status": 429, "result": "Request rejected (429)"}],
            {"exit_code": 1},
            Trouble(kind="rate-limit", message="Request rejected (429)", retry_after=1.5),
            id="429 tells when to come back",
        ),
        pytest.param(
            [FAILED | {"api_error_status": 529, "result": "API Error: 529"}],
            {"exit_code": 1},
            Trouble(kind="rate-limit", message="API Error: 529"),
            id="overloaded",
        ),
        pytest.param(
            [FAILED | {"api_error_status": 503, "result": "API Error: 503"}],
            {"exit_code": 1},
            Trouble(kind="provider", message="API Error: 503"),
            id="5xx",
        ),
        pytest.param(
            [FAILED | {"api_error_status": 404, "result": "There's an issue with the selected model (x)."}],
            {"exit_code": 1},
            Trouble(kind="model-rejected", message="There's an issue with the selected model (x)."),
            id="unknown model",
        ),
        pytest.param(
            [api_error(404, "not_found_error"), FAILED | {"api_error_status": 404, "result": "No such model (x)."}],
            {"exit_code": 1},
            Trouble(kind="model-rejected", message="No such model (x)."),
            id="unknown model, with the service's error",
        ),
        pytest.param(
            [api_error(404), FAILED | {"api_error_status": 404, "result": "No such model (x)."}],
            {"exit_code": 1},
            Trouble(kind="network", message=f"{claude_code.NO_SERVICE}: No such model (x)."),
            id="404 of a server that is no model service",
        ),
        pytest.param(
            [api_error(404), api_error(500), FAILED | {"api_error_status": 500, "result": "API Error: 500"}],
            {"exit_code": 1},
            Trouble(kind="provider", message="API Error: 500"),
            id="404, then another failure",
        ),
        pytest.param(
            [FAILED | {"result": "API Error: Unable to connect to API (ConnectionRefused)"}],
            {"exit_code": 1},
            Trouble(kind="network", message="API Error: Unable to connect to API (ConnectionRefused)"),
            id="connection refused",
        ),
        pytest.param(
            [{"type": "result", "subtype": "error_max_turns", "is_error": True, "errors": ["Reached 2"]}],
            {"exit_code": 1},
            Trouble(kind="max-steps", message="Reached 2"),
            id="turn limit",
        ),
        pytest.param(
            [{"type": "result", "subtype": "error_max_budget_usd", "is_error": True}],
            {"exit_code": 1},
            Trouble(kind="budget-exceeded", message="error_max_budget_usd"),
            id="budget",
        ),
        pytest.param(
            [{"type": "result", "subtype": "error_during_execution", "is_error": True}],
            {"exit_code": 1},
            Trouble(kind="provider", message="error_during_execution"),
            id="cut stream",
        ),
        pytest.param(
            [FAILED | {"api_error_status": 400, "result": "Credit balance is too low"}],
            {"exit_code": 1},
            Trouble(kind="quota", message="Credit balance is too low"),
            id="no credit is left",
        ),
        pytest.param(
            [FAILED | {"api_error_status": None, "stop_reason": "refusal", "result": "API Error: Usage Policy"}],
            {"exit_code": 1},
            Trouble(kind="refused", message="API Error: Usage Policy"),
            id="the model refused",
        ),
        pytest.param(
            [FAILED | {"api_error_status": 400, "terminal_reason": "prompt_too_long", "result": "Prompt is too long"}],
            {"exit_code": 1},
            Trouble(kind="context-exceeded", message="Prompt is too long"),
            id="the conversation is too long",
        ),
        *(
            pytest.param(
                [RESULT | {"is_error": is_error, "terminal_reason": reason, "result": "Stopped."}],
                {},
                Trouble(kind=kind, message="Stopped."),
                id=f"{reason}, {'an error' if is_error else 'which it calls a success'}",
            )
            for reason, kind in {
                "blocking_limit": "context-exceeded",
                "rapid_refill_breaker": "context-exceeded",
                "max_turns": "max-steps",
                "budget_exhausted": "budget-exceeded",
                "api_error": "provider",
                "malformed_tool_use_exhausted": "provider",
                "aborted_tools": "runner-crash",
                "turn_setup_failed": "runner-crash",
            }.items()
            for is_error in (True, False)
        ),
        pytest.param(
            [RESULT | {"result": "", "terminal_reason": "aborted_streaming"}],
            {},
            Trouble(kind="runner-crash", message="aborted_streaming"),
            id="an end without words names its reason",
        ),
        *(
            pytest.param([RESULT | {"terminal_reason": reason}], {}, None, id=f"{reason} is an end")
            for reason in ("completed", "hook_stopped", "background_requested", "of a later version")
        ),
        pytest.param(
            [FAILED | {"api_error_status": 401, "terminal_reason": "api_error", "result": "API Error: 401"}],
            {"exit_code": 1},
            Trouble(kind="auth", message="API Error: 401"),
            id="the status says more than the reason",
        ),
        pytest.param(
            [FAILED | {"api_error_status": 400, "result": "API Error: 400 tools: unknown field"}],
            {"exit_code": 1},
            Trouble(kind="runner-crash", message="API Error: 400 tools: unknown field"),
            id="any other refusal",
        ),
        pytest.param(
            [],
            {"exit_code": 1, "stderr": "error: unknown option '--nope'\n"},
            Trouble(kind="runner-crash", message="exited with code 1: error: unknown option '--nope'"),
            id="a wrong argument",
        ),
        killed_after(said({"type": "text", "text": WORDS})),
    ],
)
def test_trouble_is_recognised(lines, ending, trouble):
    capture = capture_of(jsonl(*lines), **ending)
    assert claude_code.trouble(capture, claude_code.transcript(capture, SESSION)) == trouble


# --- progress ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "progress"),
    [
        pytest.param(
            said(),
            Progress(
                step="msg_1",
                model="claude-x",
                usage=Usage(input_tokens=1320, cache_tokens=300, output_tokens=1),
            ),
            id="a message of the model is a step",
        ),
        pytest.param(RESULT, Progress(finished=True, text="ready"), id="the result ends it"),
        pytest.param({"type": "system", "subtype": "init"}, None, id="the start is no step"),
        pytest.param(
            {"type": "assistant", "message": {"id": "x", "model": "<synthetic>"}}, None, id="the CLI's own words"
        ),
        pytest.param([], None, id="no object"),
    ],
)
def test_progress_counts_messages_of_the_model(line, progress):
    assert claude_code.progress(json.dumps(line)) == progress
