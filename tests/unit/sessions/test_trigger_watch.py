"""When the session of a trigger query ends: once the skill has loaded, or after the model rounds it has."""

from __future__ import annotations

import json

import pytest

from sessions import session_with
from skillgym_action.agents import agent_named
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.suite import TriggerRule
from skillgym_action.sessions.session_limits import SessionLimits, TriggerWatch, answered

LOAD = {"type": "skillSignal", "skill": "b", "signal": "Skill tool"}
CALL, RESULT = {"type": "toolCall", "tool": "Bash"}, {"type": "toolResult", "output": ""}


def steps(*ids: int) -> list[dict[str, str]]:
    return [{"type": "step", "id": str(number)} for number in ids]


def ended_after(*lines: dict[str, str], rounds: int = 5, skills: tuple[str, ...] = ("b",)) -> tuple[int, str] | None:
    """The number of the line after which the session ends, and why; None: it does not."""
    agent, session = agent_named("command"), session_with(AgentConfig(type="command", output="events"))
    reading = agent.event_reader(session)
    assert reading is not None
    watch = TriggerWatch(TriggerRule(skills=skills, rounds=rounds), reading, str(session.workspace))
    limits = SessionLimits(agent, session, trigger=watch)
    assert limits.may_stop
    for number, line in enumerate(lines, start=1):
        if stopped := limits(json.dumps(line)):
            return number, str(answered(stopped))
    return None


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param([*steps(1), LOAD], (2, "loaded"), id="a load"),
        pytest.param([{**LOAD, "skill": "other"}, *steps(1, 2)], None, id="another skill"),
        pytest.param(steps(1, 2, 3, 4, 5), None, id="five rounds"),
        pytest.param(steps(1, 2, 3, 4, 5, 6), (6, "rounds"), id="six rounds"),
        pytest.param(steps(1, 1, 1, 1, 1, 1, 1), None, id="one round on several lines"),
        pytest.param([CALL, RESULT] * 6, (11, "rounds"), id="rounds that only call tools"),
        pytest.param([CALL] * 8 + [RESULT] * 8, None, id="tools that are called together"),
        pytest.param([*steps(1, 2, 3, 4, 5), LOAD], (6, "loaded"), id="a load in the last round"),
    ],
)
def test_the_end_of_a_session(lines, expected):
    assert ended_after(*lines) == expected


def test_the_number_of_rounds_is_that_of_the_rule():
    assert ended_after(*steps(1, 2, 3), rounds=2) == (3, "rounds")


def test_one_of_several_skills_is_enough():
    assert ended_after(LOAD, skills=("a", "b")) == (1, "loaded")


def test_a_command_that_prints_text_is_not_read():
    session = session_with(AgentConfig(type="command"))
    assert agent_named("command").event_reader(session) is None


@pytest.mark.parametrize(
    "agent", ["claude-code", "codex", "copilot", "cursor-agent", "gemini", "opencode", "pi", "qwen"]
)
def test_every_agent_that_reports_its_progress_is_read(agent):
    session = session_with(AgentConfig(type=agent))
    assert agent_named(agent).event_reader(session) is not None
