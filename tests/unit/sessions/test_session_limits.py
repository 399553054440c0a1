"""Limits that are watched while an agent streams: model rounds and money."""

from __future__ import annotations

import json

import pytest

from sessions import session_with
from skillgym_action.agents import command
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.session_report import Price
from skillgym_action.sessions.session_limits import SessionLimits

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


TOO_MANY = "max-steps: more than 2 model rounds; the session was ended"
TOO_DEAR = "budget-exceeded: at least $0.30 of $0.20 spent; the session was ended"
LARGE = 100_000


@pytest.mark.parametrize(
    ("lines", "limits", "stopped"),
    [
        pytest.param([step("1"), step("2")], {"max_steps": 2}, None, id="as many rounds as allowed"),
        pytest.param([step("1"), step("2"), step("3")], {"max_steps": 2}, (3, TOO_MANY), id="one more"),
        pytest.param([step("1"), step("1"), step("1"), step("2")], {"max_steps": 2}, None, id="a round in many lines"),
        pytest.param(["text", "{}", '{"type": "step"}'], {"max_steps": 1}, None, id="lines that are no round"),
        pytest.param([step("1", 60_000)], {"budget": 0.2}, None, id="money left"),
        pytest.param([step("1", LARGE)], {"budget": 0.2}, (1, TOO_DEAR), id="money spent in one round"),
        pytest.param([step("1", 50_000), step("2", 50_000)], {"budget": 0.2}, (2, TOO_DEAR), id="rounds add up"),
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
            (1, TOO_DEAR),
            id="the user's own price",
        ),
        pytest.param(
            [step("1", LARGE, model=MODEL)],
            {"budget": 0.2, "model": None},
            (1, TOO_DEAR),
            id="a model told while it runs",
        ),
        pytest.param([step("1", LARGE)] * 99, {}, None, id="no limits"),
    ],
)
def test_a_session_is_ended_once_a_limit_is_passed(lines, limits, stopped):
    assert stopped_at(lines, **limits) == stopped
