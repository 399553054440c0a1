from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from endings import WORDS, killed_after
from sessions import SESSION, capture_of, jsonl, session_with
from skillgym_action.agents import opencode
from skillgym_action.model.session import AgentConfig, Progress
from skillgym_action.model.session_report import (
    Command,
    Cost,
    FileRead,
    FileWrite,
    Message,
    Raw,
    SkillSignal,
    ToolCall,
    ToolResult,
    Trouble,
    Usage,
)

CONFIG = Path("/agent-home/.config/opencode")
FLAGS = (
    *("run", "--format", "json", "--thinking", "--auto", "--title", "session"),
    *("--print-logs", "--log-level", "ERROR"),
)
TOKENS = {"input": 700, "output": 37, "reasoning": 5, "cache": {"read": 300, "write": 20}}
NO_TOKENS = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}


def text(words: str, kind: str = "text") -> dict[str, Any]:
    return {"type": kind, "sessionID": "s1", "part": {"type": kind, "text": words}}


def step(reason: str = "stop", message: str = "m1", **part: Any) -> dict[str, Any]:
    known = {"type": "step-finish", "messageID": message, "reason": reason, "tokens": TOKENS, "cost": 0.25}
    return {"type": "step_finish", "sessionID": "s1", "part": known | part}


def begun(tool: str, **args: Any) -> dict[str, Any]:
    return {"type": "tool_start", "tool": tool, "callID": "c1", "args": args}


def used(tool: str, given: dict[str, Any], **state: Any) -> dict[str, Any]:
    return {"type": "tool_use", "part": {"tool": tool, "callID": "c1", "state": {"input": given} | state}}


def error(name: str, message: str, **data: Any) -> dict[str, Any]:
    return {"type": "error", "error": {"name": name, "data": {"message": message} | data}}


def read(*lines: dict[str, Any], **changes: Any) -> Any:
    return opencode.transcript(capture_of(jsonl(*lines), **changes), SESSION)


# --- starting ---------------------------------------------------------------------------------------


def test_a_session_id_cannot_become_an_option():
    assert opencode.resume(SESSION, "--evil").argv == ("opencode", *FLAGS, "--session=--evil")


def test_a_session_has_a_config_folder_of_its_own_and_the_runner_s_environment_wins():
    agent = AgentConfig(type="opencode", env={"OPENCODE_DISABLE_AUTOUPDATE": "0"})
    invocation = opencode.invocation(session_with(agent))
    assert invocation.env == {
        "HOME": "/agent-home",
        "OPENCODE_DISABLE_AUTOUPDATE": "0",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }
    assert json.loads(invocation.files[CONFIG / "opencode.json"]) == {
        "share": "disabled",
        "snapshot": False,
        "plugin": ["file:///agent-home/.config/opencode/node_modules/skillgym.js"],
        "provider": {},
    }
    assert invocation.files[CONFIG / "node_modules" / "skillgym.js"] == opencode.PLUGIN


@pytest.mark.parametrize(
    ("env", "providers"),
    [
        pytest.param(
            {"OPENAI_BASE_URL": "http://proxy/v1/"}, {"openai": {"baseURL": "http://proxy/v1"}}, id="OpenAI's protocol"
        ),
        pytest.param(
            {"ANTHROPIC_BASE_URL": "http://proxy"}, {"anthropic": {"baseURL": "http://proxy/v1"}}, id="Anthropic's"
        ),
        pytest.param(
            {"GOOGLE_GEMINI_BASE_URL": "http://proxy"},
            {"google": {"baseURL": "http://proxy/v1beta", "apiKey": "{env:GEMINI_API_KEY}"}},
            id="Google's",
        ),
    ],
)
def test_services_at_other_addresses_are_configured_in_the_private_home(env, providers):
    invocation = opencode.invocation(session_with(AgentConfig(type="opencode", env=env)))
    config = json.loads(invocation.files[CONFIG / "opencode.json"])
    assert config["provider"] == {name: {"options": options} for name, options in providers.items()}


# --- events -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "events"),
    [
        pytest.param(
            [text("hm", "reasoning"), text("Done."), step()],
            [
                Message(role="assistant", phase="thinking", text="hm"),
                Message(role="assistant", phase="final", text="Done."),
            ],
            id="thinking, then the last words",
        ),
        pytest.param(
            [
                begun("bash", command="ls"),
                text("Look."),
                used("bash", {"command": "ls"}, output="a\n", metadata={"exit": 3}),
            ],
            [
                Message(role="assistant", phase="commentary", text="Look."),
                ToolCall(tool="bash", args={"command": "ls"}),
                Command(command="ls", exit_code=3),
                ToolResult(tool="bash", output="a\n"),
            ],
            id="a command, once, after the words before it",
        ),
        pytest.param(
            [begun("bash", command="sleep 9"), text("Wait.")],
            [
                Message(role="assistant", phase="commentary", text="Wait."),
                ToolCall(tool="bash", args={"command": "sleep 9"}),
                Command(command="sleep 9"),
            ],
            id="a command that runs when the session is ended",
        ),
        pytest.param(
            [used("read", {"filePath": "/w/a.md"}, output="text")],
            [
                ToolCall(tool="read", args={"filePath": "/w/a.md"}),
                FileRead(path="/w/a.md"),
                ToolResult(tool="read", output="text"),
            ],
            id="a file that was read",
        ),
        pytest.param(
            [used("read", {"filePath": "/gone"}, error="File not found: /gone")],
            [
                ToolCall(tool="read", args={"filePath": "/gone"}),
                ToolResult(tool="read", output="File not found: /gone", failed=True),
            ],
            id="a file that is not there was not read",
        ),
        pytest.param(
            [used("edit", {"filePath": "/w/a.md"}, output="ok")],
            [
                ToolCall(tool="edit", args={"filePath": "/w/a.md"}),
                FileWrite(path="/w/a.md"),
                ToolResult(tool="edit", output="ok"),
            ],
            id="a file that was written",
        ),
        pytest.param(
            [used("apply_patch", {"patchText": "*** Update File: a\n*** Move to: b\n+*** Add File: no"}, output="ok")],
            [
                ToolCall(
                    tool="apply_patch", args={"patchText": "*** Update File: a\n*** Move to: b\n+*** Add File: no"}
                ),
                FileWrite(path="a"),
                FileWrite(path="b"),
                ToolResult(tool="apply_patch", output="ok"),
            ],
            id="a patch writes the files it names",
        ),
        pytest.param(
            [used("skill", {"name": "greeter"}, output="# Greeter")],
            [
                ToolCall(tool="skill", args={"name": "greeter"}),
                SkillSignal(skill="greeter", signal="skill tool"),
                ToolResult(tool="skill", output="# Greeter"),
            ],
            id="a skill that was loaded",
        ),
        pytest.param([{"type": "step_start"}, {"type": "idle"}], [], id="lines that say nothing of the content"),
        pytest.param([{"type": "novelty"}], [Raw(line='{"type": "novelty"}')], id="an unknown line is kept"),
    ],
)
def test_lines_become_events(lines, events):
    assert list(read(*lines).events) == events


# --- usage and cost ---------------------------------------------------------------------------------


def test_tokens_and_cost_are_the_sums_over_steps_and_input_includes_the_cache():
    session = {"type": "session", "sessionID": "s1", "version": "1.18", "model": "openai/gpt-5"}
    transcript = read(session, step("tool-calls"), step(message="m2"))
    assert transcript.usage == Usage(input_tokens=2040, output_tokens=74, reasoning_tokens=10, cache_tokens=600)
    assert transcript.cost == Cost(usd=0.5, source="reported")
    assert (transcript.turns, transcript.model, transcript.version) == (2, "openai/gpt-5", "1.18")
    assert transcript.session_id == "s1"


def test_a_model_without_a_price_has_an_unknown_cost():
    assert read(step(cost=0)).cost == Cost()


# --- trouble ----------------------------------------------------------------------------------------

UNKNOWN = error("UnknownError", "Unexpected server error. Check server logs for details.", ref="err_1")
LOG = 'level=ERROR message=failed ref=err_1 error="ProviderModelNotFoundError: Model not found: openai/x." cause="…"\n'


@pytest.mark.parametrize(
    ("lines", "ending", "trouble"),
    [
        pytest.param([text("x"), step()], {}, None, id="all is well"),
        pytest.param(
            [error("APIError", "bad key", statusCode=401)],
            {"exit_code": 1},
            Trouble(kind="auth", message="bad key"),
            id="401",
        ),
        pytest.param(
            [error("ProviderAuthError", "Google Generative AI API key is missing.")],
            {"exit_code": 1},
            Trouble(kind="auth", message="Google Generative AI API key is missing."),
            id="no key",
        ),
        pytest.param(
            [UNKNOWN],
            {"exit_code": 1, "stderr": LOG},
            Trouble(kind="model-rejected", message="ProviderModelNotFoundError: Model not found: openai/x."),
            id="an error that only the log explains",
        ),
        pytest.param(
            [UNKNOWN],
            {"exit_code": 1, "stderr": LOG.replace("openai/x.", "openai/x. Did you mean: y, x, z?")},
            Trouble(
                kind="auth",
                message="ProviderModelNotFoundError: Model not found: openai/x. Did you mean: y, x, z?",
            ),
            id="a service it has no key for",
        ),
        pytest.param(
            [UNKNOWN],
            {"exit_code": 1, "stderr": LOG.replace("openai/x.", "openai/x. Did you mean: xy, z?")},
            Trouble(
                kind="model-rejected",
                message="ProviderModelNotFoundError: Model not found: openai/x. Did you mean: xy, z?",
            ),
            id="a model that is not on offer",
        ),
        pytest.param(
            [UNKNOWN],
            {"exit_code": 1, "stderr": LOG.replace("err_1", "err_2")},
            Trouble(kind="runner-crash", message="Unexpected server error. Check server logs for details."),
            id="an error that nothing explains",
        ),
        pytest.param(
            [error("GaveUp", "Rate limit reached")],
            {"exit_code": 1},
            Trouble(kind="rate-limit", message="Rate limit reached"),
            id="429 without end",
        ),
        pytest.param(
            [error("GaveUp", "oops")],
            {"exit_code": 1},
            Trouble(kind="provider", message="oops"),
            id="what was tried again without end is the service's",
        ),
        pytest.param(
            [error("GaveUp", "Cannot connect to API: Unable to connect.")],
            {"exit_code": 1},
            Trouble(kind="network", message="Cannot connect to API: Unable to connect."),
            id="connection refused",
        ),
        pytest.param(
            [text("x"), step("length")],
            {},
            Trouble(kind="output-limit", message="the model's answer reached the limit of output tokens"),
            id="the answer reached the output limit",
        ),
        pytest.param(
            [text("x"), step("content-filter"), error("ContentFilterError", "blocked by the content filter")],
            {"exit_code": 1},
            Trouble(kind="content-policy", message="blocked by the content filter"),
            id="the content filter of a service",
        ),
        pytest.param(
            [
                {"type": "session", "sessionID": "s", "version": "1.18", "model": "anthropic/claude"},
                *[text("x"), step("content-filter"), error("ContentFilterError", "blocked by the content filter")],
            ],
            {"exit_code": 1},
            Trouble(kind="refused", message="blocked by the content filter"),
            id="which of Anthropic's models is a refusal",
        ),
        pytest.param(
            [error("ContextOverflowError", "prompt is too long")],
            {"exit_code": 1},
            Trouble(kind="context-exceeded", message="prompt is too long"),
            id="the conversation is too long",
        ),
        pytest.param(
            [error("ContextOverflowError", "prompt is too long"), text("a summary"), step(), text("x"), step()],
            {},
            None,
            id="but for a summary that was short enough",
        ),
        pytest.param(
            [used("skill", {"name": "greeter"}, error="ripgrep execution failed"), text("x"), step()],
            {},
            Trouble(kind="agent-missing", message="the agent cannot load skills without ripgrep; put rg on the PATH"),
            id="a skill that could not be loaded for want of ripgrep",
        ),
        pytest.param(
            [used("glob", {"path": "/gone"}, error="ripgrep execution failed"), text("x"), step()],
            {},
            None,
            id="a search in a folder that is not there fails in the same words",
        ),
        killed_after(text(WORDS), step()),
    ],
)
def test_trouble_is_recognised(lines, ending, trouble):
    capture = capture_of(jsonl(*lines), **ending)
    assert opencode.trouble(capture, opencode.transcript(capture, SESSION)) == trouble


# --- progress ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "progress"),
    [
        pytest.param(
            step(),
            Progress(
                step="m1",
                usage=Usage(input_tokens=1020, output_tokens=37, reasoning_tokens=5, cache_tokens=300),
                late=True,
            ),
            id="a step that has ended; another may follow, for instance after the session was summarised",
        ),
        pytest.param({"type": "idle"}, Progress(finished=True), id="the end"),
        pytest.param(text("x"), Progress(late=True), id="words"),
        pytest.param([], None, id="no object"),
    ],
)
def test_progress_counts_steps(line, progress):
    assert opencode.progress(json.dumps(line)) == progress


# --- the plugin -------------------------------------------------------------------------------------

PLAY = """
import { Skillgym } from "./plugin.mjs"
const hooks = await Skillgym()
for (const [hook, ...values] of JSON.parse(process.argv[1])) await hooks[hook](...values)
"""


def status(**fields: Any) -> dict[str, Any]:
    return happened("session.status", status=fields)


def happened(kind: str, session: str = "main", **properties: Any) -> dict[str, Any]:
    return {"event": {"type": kind, "properties": {"sessionID": session} | properties}}


def finished(reason: str, session: str = "main") -> dict[str, Any]:
    return happened("message.part.updated", session, part={"type": "step-finish", "reason": reason})


SESSION_INFO = {"id": "main", "version": "1.18", "model": {"id": "gpt-5", "providerID": "openai"}}
OVERFLOW = happened("session.error", error={"name": "ContextOverflowError", "data": {"message": "prompt is too long"}})
SUBAGENT = happened("session.created", "sub", info={"id": "sub", "parentID": "main"})
BASH = {"type": "tool", "tool": "bash", "state": {"time": {"start": 1, "end": 2}}}
CUT = {
    "type": "error",
    "error": {"name": "GaveUp", "data": {"message": "the model's answer was cut off: its end is missing"}},
}


@pytest.mark.parametrize(
    ("events", "lines"),
    [
        pytest.param(
            [happened("session.updated", info=SESSION_INFO)] * 2,
            [{"type": "session", "sessionID": "main", "version": "1.18", "model": "openai/gpt-5"}],
            id="it introduces the session once",
        ),
        pytest.param([status(type="idle")], [{"type": "idle"}], id="it tells the end"),
        pytest.param([status(type="retry", attempt=2, message="slow")], [], id="two more tries are fine"),
        pytest.param(
            [status(type="retry", attempt=3, message="slow"), status(type="idle")],
            [{"type": "error", "error": {"name": "GaveUp", "data": {"message": "slow"}}}],
            id="the third is the end",
        ),
        pytest.param(
            [finished("unknown")] * 3 + [status(type="idle")], [CUT], id="so are three answers without an end"
        ),
        pytest.param(
            [*[finished("unknown")] * 2, happened("message.part.updated", part={"type": "text"}), finished("unknown")],
            [CUT],
            id="whatever words they begin with",
        ),
        pytest.param(
            [*[finished("unknown")] * 2, happened("message.part.updated", part={"type": "tool"}), finished("unknown")],
            [],
            id="but not with a tool call between",
        ),
        pytest.param(
            [*[finished("unknown")] * 2, finished("stop"), finished("unknown")],
            [],
            id="nor with an answer between",
        ),
        pytest.param(
            [OVERFLOW, finished("stop")] * 3,
            [{"type": "error", "error": {"name": "GaveUp", "data": {"message": "prompt is too long"}}}],
            id="so are three conversations that are too long",
        ),
        pytest.param(
            [OVERFLOW, OVERFLOW, happened("message.part.updated", part={"type": "tool"}), OVERFLOW],
            [],
            id="but not with a tool call between them",
        ),
        pytest.param(
            [
                SUBAGENT,
                happened("message.part.updated", "sub", part={"type": "tool", "tool": "bash", "state": {"time": {}}}),
                happened("message.part.updated", "sub", part=BASH),
                finished("stop", "sub"),
                happened("session.status", "sub", status={"type": "idle"}),
            ],
            [
                {"type": "tool_use", "part": BASH},
                {"type": "step_finish", "part": {"type": "step-finish", "reason": "stop"}},
            ],
            id="it tells what sub-agents did",
        ),
        pytest.param(
            [happened("message.part.updated", part=BASH), finished("stop")], [], id="the CLI tells the rest itself"
        ),
        pytest.param([happened("novelty"), happened("session.error", error={})], [], id="other events are left alone"),
    ],
)
def test_the_plugin_prints_what_the_cli_leaves_out(tmp_path, events, lines):
    assert played(tmp_path, [["event", event] for event in events]) == lines


def test_the_plugin_prints_that_a_tool_begins(tmp_path):
    call = ["tool.execute.before", {"tool": "bash", "sessionID": "main", "callID": "c1"}, {"args": {"command": "ls"}}]
    assert played(tmp_path, [call]) == [begun("bash", command="ls")]


def played(folder: Path, calls: list[list[Any]]) -> list[Any]:
    """What the plugin prints when its hooks are called, in Node.js."""
    (folder / "plugin.mjs").write_text(opencode.PLUGIN)
    argv = ["node", "--input-type=module", "--eval", PLAY, json.dumps(calls)]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]
