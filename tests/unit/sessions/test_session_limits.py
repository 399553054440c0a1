"""Limits that are checked while an agent runs: model rounds and cost."""

from __future__ import annotations

import json

import pytest

from sessions import session_with
from skillgym_action.agents import claude_code, codex, command, pi
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.session_report import Command, FileWrite, Message, Price, Raw, ToolCall, ToolResult, Trouble
from skillgym_action.sessions.session_limits import SessionLimits, Silence, time_limit_or_service
from table_rows import each_row

MODEL = "claude-sonnet-4-5"  # 3 dollars for a million tokens of input


def step(name: str, tokens: int | None = None, model: str | None = None) -> str:
    usage = {"inputTokens": tokens, "outputTokens": 0} if tokens is not None else None
    return json.dumps({"type": "step", "id": name, "usage": usage, "model": model})


def stopped_at(lines: list[str], **limits) -> tuple[int, str] | None:
    """The line at which the session was ended, counted from 1, and why."""
    agent = AgentConfig(type="command", model=limits.pop("model", MODEL))
    watch = SessionLimits(command, session_with(agent, **limits))
    for number, line in enumerate(lines, 1):
        if trouble := watch(line):
            return number, f"{trouble.kind}: {trouble.message}"
    return None


TOO_MANY_ROUNDS = "max-steps: exceeded the limit of 2 model rounds"
TOO_EXPENSIVE = "budget-exceeded: exceeded the budget of $0.20: at least $0.30 spent"
LARGE = 100_000


@pytest.mark.parametrize(
    ("lines", "limits", "stopped"),
    [
        pytest.param([step("1"), step("2")], {"max_steps": 2}, None, id="as many rounds as allowed"),
        pytest.param([step("1"), step("2"), step("3")], {"max_steps": 2}, (3, TOO_MANY_ROUNDS), id="one more"),
        pytest.param([step("1"), step("1"), step("1"), step("2")], {"max_steps": 2}, None, id="a round in many lines"),
        pytest.param(["text", "{}", '{"type": "step"}'], {"max_steps": 1}, None, id="lines that are no round"),
        pytest.param([step("1", 60_000)], {"budget": 0.2}, None, id="money left"),
        pytest.param([step("1", LARGE)], {"budget": 0.2}, (1, TOO_EXPENSIVE), id="money spent in one round"),
        pytest.param([step("1", 50_000), step("2", 50_000)], {"budget": 0.2}, (2, TOO_EXPENSIVE), id="rounds add up"),
        pytest.param(
            [step("1", 40_000), step("1", 50_000), step("1", 60_000)],
            {"budget": 0.2},
            None,
            id="what one round tells again does not add up",
        ),
        pytest.param([step("1", LARGE)], {"budget": 0.2, "model": "no-such-model"}, None, id="no price, no limit"),
        pytest.param([step("1", LARGE)], {"budget": 0.2, "model": None}, None, id="no model, no limit"),
        pytest.param(
            [step("1", LARGE)],
            {"budget": 0.2, "model": "no-such-model", "prices": {"no-such-model": Price(input=3, output=15)}},
            (1, TOO_EXPENSIVE),
            id="the user's own price",
        ),
        pytest.param(
            [step("1", LARGE, model=MODEL)],
            {"budget": 0.2, "model": None},
            (1, TOO_EXPENSIVE),
            id="a model reported while it runs",
        ),
        pytest.param([step("1", LARGE)] * 99, {}, None, id="no limits"),
    ],
)
def test_a_session_is_stopped_once_a_limit_is_exceeded(lines, limits, stopped):
    assert stopped_at(lines, **limits) == stopped


# --- whose fault a time limit is --------------------------------------------------------------------

RETRY_OF_CLAUDE = '{"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": 529}'
RETRY_OF_CODEX = '{"type": "error", "message": "Reconnecting... 1/2 (stream disconnected before completion)"}'
RETRY_OF_PI = '{"type": "auto_retry_start", "attempt": 1, "errorMessage": "529 overloaded"}'


@pytest.mark.parametrize(
    ("agent", "lines", "silence"),
    [
        pytest.param(command, [], (10, False), id="no line"),
        pytest.param(command, ["", "  "], (10, False), id="empty lines"),
        pytest.param(command, ["text"], (10, False), id="one line"),
        pytest.param(command, ["text", step("1")], (9, False), id="since the last one"),
        pytest.param(claude_code, ["{}", RETRY_OF_CLAUDE], (10, True), id="a retry of Claude Code is no answer"),
        pytest.param(codex, ["{}", RETRY_OF_CODEX, RETRY_OF_CODEX], (10, True), id="nor one of Codex"),
        pytest.param(pi, ["{}", RETRY_OF_PI], (10, True), id="nor one of pi"),
        pytest.param(codex, [RETRY_OF_CODEX], (10, True), id="nothing but a retry"),
        pytest.param(codex, [RETRY_OF_CODEX, '{"type": "error", "message": "other"}'], (9, False), id="it went on"),
    ],
)
def test_how_long_an_agent_has_been_silent(agent, lines, silence):
    """Lines come a second after each other, from 100 s on; the session ends at 110 s."""
    now = 100.0
    watch = SessionLimits(agent, session_with(AgentConfig(type="command")), lambda: now)
    for line in lines:
        watch(line)
        now += 1
    now = 110.0
    assert (watch.silence().seconds, watch.silence().retried) == silence


TIME = Trouble(kind="timeout", message="timed out after 120 s")
ANSWER = Message(role="assistant", text="I will look.")


@pytest.mark.parametrize(
    ("silence", "events", "kind"),
    [
        pytest.param(61, (), "provider", id="failed calls for most of the time"),
        pytest.param(60, (), "timeout", id="half of the time is not most of it"),
        pytest.param(90, (ANSWER,), "provider", id="after a message"),
        pytest.param(90, (Command(command="ls", exit_code=0),), "provider", id="after a command"),
        pytest.param(90, (ToolCall(tool="Read"), ToolResult(output="x")), "provider", id="after the result of a tool"),
        pytest.param(90, (ANSWER, Command(command="npm test")), "timeout", id="during a command"),
        pytest.param(
            90,
            (ToolCall(tool="Bash"), Command(command="npm test"), ToolResult(output="cancelled", tool="Bash")),
            "timeout",
            id="during a command that the agent ended when it was ended itself",
        ),
        *(
            pytest.param(
                90,
                (Command(command="npm test", exit_code=code), ToolResult(output=f"Exit code {code}", tool="Bash")),
                kind,
                id=f"after a command with exit code {code}",
            )
            for code, kind in {1: "provider", 130: "timeout", 137: "timeout", 143: "timeout"}.items()
        ),
        pytest.param(90, (ANSWER, ToolCall(tool="Task"), Raw(line="?")), "timeout", id="during a call of a tool"),
        pytest.param(90, (FileWrite(path="/a"),), "timeout", id="during a write"),
    ],
)
def test_a_time_limit_is_trouble_of_the_service_if_its_calls_failed_for_most_of_the_time(silence, events, kind):
    ended = Silence(seconds=silence, retried=True)
    trouble = time_limit_or_service(TIME, None, ended, 120.0, events)
    assert trouble.kind == kind
    if kind == "provider":
        assert trouble.message == f"timed out after 120 s; in the last {silence} s calls of the model's service failed"
    steps = Trouble(kind="max-steps", message="3")
    assert time_limit_or_service(steps, None, ended, 120.0, events) == steps


@each_row(
    {
        "nothing at all": (None, "timeout"),
        "a crash": (Trouble(kind="runner-crash", message="no result"), "timeout"),
        "a failed service": (Trouble(kind="provider", message="503"), "provider"),
        "no connection": (Trouble(kind="network", message="ECONNREFUSED"), "network"),
        "a rate limit": (Trouble(kind="rate-limit", message="429"), "rate-limit"),
    }.items()
)
def test_silence_alone_is_no_evidence_against_the_service(row):
    of_agent, kind = row
    ended = Silence(seconds=119, retried=False)
    assert time_limit_or_service(TIME, of_agent, ended, 120.0, (ANSWER,)).kind == kind
    assert time_limit_or_service(TIME, of_agent, None, 120.0, (ANSWER,)) == TIME, "of an agent that nobody watches"


@each_row(
    {
        "Claude Code": (
            claude_code,
            {"type": "system", "subtype": "api_retry", "error_status": 429, "error": "rate_limit"},
            "rate-limit",
        ),
        "Claude Code, overloaded": (
            claude_code,
            {"type": "system", "subtype": "api_retry", "error_status": 529},
            "rate-limit",
        ),
        "Claude Code, a status of the service": (
            claude_code,
            {"type": "system", "subtype": "api_retry", "error_status": 503},
            "provider",
        ),
        "codex": (
            codex,
            {
                "type": "error",
                "message": "Reconnecting... 1/2 (exceeded retry limit, last status: 429 Too Many Requests)",
            },
            "rate-limit",
        ),
        "codex, an account's limit": (
            codex,
            {"type": "error", "message": "Reconnecting... 1/2 (The usage limit has been reached)"},
            "quota",
        ),
        "codex, no connection": (
            codex,
            {"type": "error", "message": "Reconnecting... 2/2 (error sending request for url)"},
            "network",
        ),
        "pi": (pi, {"type": "auto_retry_start", "errorMessage": "429 Too Many Requests"}, "rate-limit"),
        "pi, no reason": (pi, {"type": "auto_retry_start"}, "provider"),
    }.items()
)
def test_a_time_limit_during_failed_calls_has_their_kind(row):
    agent, line, kind = row
    now = 0.0
    watch = SessionLimits(agent, session_with(AgentConfig(type="command")), lambda: now)
    watch(json.dumps(line))
    now = 119.0
    assert time_limit_or_service(TIME, None, watch.silence(), 120.0, ()).kind == kind
