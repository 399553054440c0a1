from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from endings import WORDS, killed_after
from sessions import SESSION, capture_of, jsonl, session_with
from skillgym_action.agents import codex
from skillgym_action.model.session import Account, AgentConfig, Progress
from skillgym_action.model.session_report import Command, FileWrite, Message, Raw, ToolCall, ToolResult, Trouble, Usage

USAGE = {"input_tokens": 2001, "cached_input_tokens": 600, "output_tokens": 84, "reasoning_output_tokens": 10}
DONE = {"type": "turn.completed", "usage": USAGE}
NOTICE = {"type": "item.completed", "item": {"id": "item_9", "type": "error", "message": "Model metadata not found."}}
AGAIN = {"type": "error", "message": "Reconnecting... 1/2 (exceeded retry limit, last status: 429 Too Many Requests)"}


def done(kind: str, **item: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "item_1", "type": kind} | item}


def begun(kind: str, **item: Any) -> dict[str, Any]:
    return done(kind, **item) | {"type": "item.started"}


def failed(message: str) -> dict[str, Any]:
    return {"type": "turn.failed", "error": {"message": message}}


def read(*lines: dict[str, Any], **changes: Any) -> Any:
    return codex.transcript(capture_of(jsonl(*lines), **changes), SESSION)


# --- starting ---------------------------------------------------------------------------------------


def test_the_command_line_carries_the_model_and_the_runner_s_arguments():
    agent = AgentConfig(
        type="codex", model="gpt-5", command=("npx", "codex"), command_args=("-c", "model_reasoning_effort=low")
    )
    assert codex.invocation(session_with(agent)).argv == (
        *("npx", "codex", "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
        *("--model", "gpt-5", "-c", "model_reasoning_effort=low", "-"),
    )


def provider_of(agent: AgentConfig) -> dict[str, Any]:
    config = tomllib.loads(codex.invocation(session_with(agent)).files[Path("/agent-home/.codex/config.toml")])
    found: dict[str, Any] = config["model_providers"][config["model_provider"]]
    return found


def test_azure_is_a_provider_with_its_own_key_and_version():
    env = {"AZURE_OPENAI_BASE_URL": "https://r.openai.azure.com/openai/v1", "AZURE_OPENAI_API_VERSION": "2026-01-01"}
    found = provider_of(AgentConfig(type="codex", env=env, account=Account(way="cloud", family="azure-openai")))
    assert (found["base_url"], found["env_key"]) == (env["AZURE_OPENAI_BASE_URL"], "AZURE_OPENAI_API_KEY")
    assert found["query_params"] == {"api-version": "2026-01-01"}


def test_a_login_is_a_file_in_the_private_home_and_goes_to_chatgpt():
    agent = AgentConfig(type="codex", account=Account(way="login", home={".codex/auth.json": "{}"}))
    assert codex.invocation(session_with(agent)).files[Path("/agent-home/.codex/auth.json")] == "{}"
    found = provider_of(agent)
    assert (found["base_url"], found["requires_openai_auth"]) == ("https://chatgpt.com/backend-api/codex", True)
    assert "env_key" not in found


def test_a_session_id_cannot_become_an_option():
    assert codex.resume(SESSION, "--evil").argv[-4:] == ("resume", "--", "--evil", "-")


@pytest.mark.parametrize(
    ("env", "base_url", "key"),
    [
        pytest.param({}, "https://api.openai.com/v1", "OPENAI_API_KEY", id="OpenAI's own service"),
        pytest.param(
            {"OPENAI_BASE_URL": 'https://proxy/"v1"\\'}, 'https://proxy/"v1"\\', "OPENAI_API_KEY", id="another one"
        ),
        pytest.param({"CODEX_API_KEY": "k"}, "https://api.openai.com/v1", "CODEX_API_KEY", id="the CLI's own key"),
    ],
)
def test_the_service_is_configured_in_the_private_home(env, base_url, key):
    agent = AgentConfig(type="codex", env=env)
    invocation = codex.invocation(session_with(agent))
    assert invocation.env == {"HOME": "/agent-home", "CODEX_HOME": "/agent-home/.codex"} | env
    config = tomllib.loads(invocation.files[Path("/agent-home/.codex/config.toml")])
    assert config["model_providers"][config["model_provider"]] == {
        "name": "OpenAI API",
        "base_url": base_url,
        "env_key": key,
        "wire_api": "responses",
        "request_max_retries": 2,
        "stream_max_retries": 2,
    }


# --- events -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "events"),
    [
        pytest.param(
            [done("reasoning", text="hm"), done("agent_message", text="Done.")],
            [
                Message(role="assistant", phase="thinking", text="hm"),
                Message(role="assistant", phase="final", text="Done."),
            ],
            id="thinking, then the last words",
        ),
        pytest.param(
            [
                done("agent_message", text="First.", id="item_0"),
                begun("command_execution", command="/bin/bash -lc 'ls; exit 3'", status="in_progress", exit_code=None),
                done("command_execution", command="…", status="failed", exit_code=3, aggregated_output="a\n"),
            ],
            [
                Message(role="assistant", phase="commentary", text="First."),
                ToolCall(tool="command_execution", args={"command": "/bin/bash -lc 'ls; exit 3'"}),
                Command(command="ls; exit 3", exit_code=3),
                ToolResult(tool="command_execution", output="a\n", failed=True),
            ],
            id="a failing command",
        ),
        pytest.param(
            [begun("command_execution", command="/bin/bash -lc serve")],
            [
                ToolCall(tool="command_execution", args={"command": "/bin/bash -lc serve"}),
                Command(command="serve", exit_code=None),
            ],
            id="a command that had not ended has no exit code",
        ),
        pytest.param(
            [begun("command_execution", command="/bin/bash -lc 'unclosed")],
            [
                ToolCall(tool="command_execution", args={"command": "/bin/bash -lc 'unclosed"}),
                Command(command="/bin/bash -lc 'unclosed", exit_code=None),
            ],
            id="a command that is no shell command is shown as it is",
        ),
        pytest.param(
            [
                done(
                    "file_change",
                    status="completed",
                    changes=[{"path": "/w/a", "kind": "add"}, {"path": "/w/b", "kind": "delete"}],
                )
            ],
            [
                ToolCall(
                    tool="file_change",
                    args={"changes": [{"path": "/w/a", "kind": "add"}, {"path": "/w/b", "kind": "delete"}]},
                ),
                FileWrite(path="/w/a"),
                ToolResult(tool="file_change", output=""),
            ],
            id="a patch; what is deleted was not written",
        ),
        pytest.param(
            [done("file_change", status="failed", changes=[{"path": "/w/a", "kind": "add"}])],
            [
                ToolCall(tool="file_change", args={"changes": [{"path": "/w/a", "kind": "add"}]}),
                ToolResult(tool="file_change", output="", failed=True),
            ],
            id="a patch that failed wrote nothing",
        ),
        pytest.param(
            [
                done(
                    "mcp_tool_call",
                    server="docs",
                    tool="search",
                    arguments={"query": "x"},
                    status="completed",
                    result={"content": [{"type": "text", "text": "found"}]},
                )
            ],
            [
                ToolCall(tool="search", args={"server": "docs", "arguments": {"query": "x"}}),
                ToolResult(tool="search", output="found"),
            ],
            id="a tool of an MCP server",
        ),
        pytest.param(
            [
                begun("todo_list", items=[1]),
                done("todo_list", items=[1]) | {"type": "item.updated"},
                done("todo_list", items=[2]),
            ],
            [ToolCall(tool="todo_list", args={"items": [1]}), ToolResult(tool="todo_list", output="")],
            id="an item that is updated is one call",
        ),
        pytest.param(
            [done("brand_new", of="later")],
            [ToolCall(tool="brand_new", args={"of": "later"}), ToolResult(tool="brand_new", output="")],
            id="an unknown kind of item is a tool",
        ),
        pytest.param([NOTICE], [Raw(line=json.dumps(NOTICE))], id="an item of type error is kept"),
        pytest.param([AGAIN], [], id="a notice that a call is tried again says nothing about the session"),
        pytest.param(
            [
                begun("command_execution", command="/bin/sh -c 'rm a'"),
                done("command_execution", command="…", status="declined"),
            ],
            [
                ToolCall(tool="command_execution", args={"command": "/bin/sh -c 'rm a'"}),
                ToolResult(tool="command_execution", output="", failed=True),
            ],
            id="a command that was declined did not run",
        ),
    ],
)
def test_lines_become_events(lines, events):
    assert list(read(*lines).events) == events


# --- what only the rollout tells --------------------------------------------------------------------

SKILLS = "<skills_instructions>\n- greeter: Greets people: all. (file: r1/greeter/SKILL.md)\n- not one\n"


def of_rollout(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-02T03:04:05Z", "type": kind, "payload": payload}


def tokens(response: str) -> dict[str, Any]:
    return of_rollout("token_usage_record", response_id=response, usage=USAGE)


ROLLOUT = jsonl(
    of_rollout("session_meta", cli_version="0.171.0"),
    of_rollout("response_item", type="message", content=[{"type": "input_text", "text": SKILLS}]),
    of_rollout("turn_context", model="gpt-5"),
    tokens("resp_1"),
    tokens("resp_2"),
)


def test_the_rollout_has_model_version_skills_and_rounds():
    transcript = read(DONE, collected=[ROLLOUT])
    assert (transcript.model, transcript.version, transcript.turns) == ("gpt-5", "0.171.0", 2)
    assert transcript.skills == ("greeter",)


def test_the_rounds_of_sub_agents_count_but_only_once():
    transcript = read(DONE, collected=[ROLLOUT, jsonl(tokens("resp_2"), tokens("resp_3"))])
    assert transcript.usage == Usage(input_tokens=6003, output_tokens=222, reasoning_tokens=30, cache_tokens=1800)
    assert transcript.turns == 3


def test_without_a_rollout_the_stream_has_the_tokens():
    assert read(DONE).usage == Usage(input_tokens=2001, output_tokens=74, reasoning_tokens=10, cache_tokens=600)


def test_unknown_is_not_zero():
    assert read({"type": "turn.completed"}).usage == Usage()


# --- trouble ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "ending", "trouble"),
    [
        pytest.param([NOTICE, AGAIN, DONE], {}, None, id="notices and another try are no failure"),
        pytest.param(
            [failed("unexpected status 401 Unauthorized: bad key, url: https://proxy/v1/responses")],
            {"exit_code": 1},
            Trouble(
                kind="auth", message="unexpected status 401 Unauthorized: bad key, url: https://proxy/v1/responses"
            ),
            id="401",
        ),
        pytest.param(
            [failed("Missing environment variable: `OPENAI_API_KEY`.")],
            {"exit_code": 1},
            Trouble(kind="auth", message="Missing environment variable: `OPENAI_API_KEY`."),
            id="no key",
        ),
        pytest.param(
            [AGAIN, failed("exceeded retry limit, last status: 429 Too Many Requests")],
            {"exit_code": 1},
            Trouble(kind="rate-limit", message="exceeded retry limit, last status: 429 Too Many Requests"),
            id="429",
        ),
        pytest.param(
            [failed("We’re currently experiencing high demand, which may cause temporary errors.")],  # noqa: RUF001
            {"exit_code": 1},
            Trouble(
                kind="provider",
                message="We’re currently experiencing high demand, which may cause temporary errors.",  # noqa: RUF001
            ),
            id="5xx",
        ),
        pytest.param(
            [failed("stream disconnected before completion: stream closed before response.completed")],
            {"exit_code": 1},
            Trouble(
                kind="provider",
                message="stream disconnected before completion: stream closed before response.completed",
            ),
            id="cut stream",
        ),
        pytest.param(
            [failed("The model `gpt-9` does not exist or you do not have access to it.")],
            {"exit_code": 1},
            Trouble(kind="model-rejected", message="The model `gpt-9` does not exist or you do not have access to it."),
            id="unknown model",
        ),
        pytest.param(
            [failed("Connection failed: error sending request")],
            {"exit_code": 1},
            Trouble(kind="network", message="Connection failed: error sending request"),
            id="connection refused",
        ),
        pytest.param(
            [failed("{'error': {'message': 'input too long'}}")],
            {"exit_code": 1},
            Trouble(kind="runner-crash", message="{'error': {'message': 'input too long'}}"),
            id="any other refusal",
        ),
        pytest.param(
            [],
            {"exit_code": 2, "stderr": "error: unexpected argument '--nope' found\n"},
            Trouble(kind="runner-crash", message="exited with code 2: error: unexpected argument '--nope' found"),
            id="a wrong argument",
        ),
        killed_after(done("agent_message", text=WORDS)),
    ],
)
def test_trouble_is_recognised(lines, ending, trouble):
    capture = capture_of(jsonl(*lines), **ending)
    assert codex.trouble(capture, codex.transcript(capture, SESSION)) == trouble


# --- progress ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "progress"),
    [
        pytest.param(done("agent_message", text="x"), Progress(step="item_1"), id="a message of the model is a step"),
        pytest.param(done("command_execution"), None, id="a command is none"),
        pytest.param(DONE, Progress(finished=True), id="the end"),
        pytest.param(failed("x"), Progress(finished=True), id="the bad end"),
        pytest.param(AGAIN, Progress(retrying=True, error=AGAIN["message"]), id="another try is no end"),
        pytest.param([], None, id="no object"),
    ],
)
def test_progress_counts_messages_of_the_model(line, progress):
    assert codex.progress(json.dumps(line)) == progress
