"""The assertion that a skill loads, or does not: on sessions of any agent."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from skillgym_action.model.session_report import AgentRef, Command, FileRead, RunnerRef, SessionReport, SkillSignal
from skillgym_action.suites.skill_evals.triggers import SkillTriggerAssertion

SIGNAL = SkillSignal(skill="pdf", signal="Skill tool")


@dataclass(frozen=True)
class Context:
    """As much of an assertion's context as this one uses."""

    report: SessionReport | None


def outcome(*events, should_trigger: bool = True, watched=("pdf",), skills=("pdf",), answer="Done."):
    agent = RunnerRef(id="a", path_key="a", agent=AgentRef(type="codex"))
    report = SessionReport(
        runner=agent, prompt="Go.", cwd="/w", events=events, watched_skills=watched, final_output=answer
    )
    (found,) = SkillTriggerAssertion(skills=skills, should_trigger=should_trigger).judge(Context(report))
    return found


@pytest.mark.parametrize(
    ("events", "should_trigger", "passed", "explanation"),
    [
        ((SIGNAL,), True, True, "pdf was loaded: Skill tool named it"),
        ((SIGNAL,), False, False, "pdf was loaded: Skill tool named it"),
        ((FileRead(path="/w/.agents/skills/pdf/SKILL.md"),), True, True, "pdf was loaded: its SKILL.md was read"),
        (
            (Command(command="cat .agents/skills/pdf/SKILL.md"),),
            True,
            True,
            "pdf was loaded: a command read its SKILL.md: cat .agents/skills/pdf/SKILL.md",
        ),
        ((Command(command="ls .agents/skills"),), True, False, "no load was seen in the session"),
        ((), False, True, "no load was seen in the session"),
    ],
)
def test_loaded_or_not(events, should_trigger, passed, explanation):
    found = outcome(*events, should_trigger=should_trigger)
    assert (found.passed, found.explanation, found.type) == (passed, explanation, "skill-trigger")


@pytest.mark.parametrize("should_trigger", [True, False])
def test_a_session_without_message_and_events_decides_nothing(should_trigger):
    found = outcome(should_trigger=should_trigger, answer="")
    assert (found.passed, found.trouble) == (None, "grader")


def test_any_of_several_skills_counts():
    assert outcome(SIGNAL, skills=("docx", "pdf"), watched=("docx", "pdf")).passed is True


def test_without_events_a_load_is_unknown():
    found = outcome(watched=None, should_trigger=False)
    assert (found.passed, found.trouble) == (None, "grader")
    assert found.explanation == (
        "it is not known whether the skill pdf was loaded: `codex` reports no events, or replays a session without the "
        "skill; use an agent that reports events"
    )
    (unknown,) = SkillTriggerAssertion(skills=("pdf",)).judge(Context(None))
    assert unknown.passed is None


def test_a_session_that_does_without_the_skill_decides_nothing():
    found = outcome(watched=())
    assert (found.passed, found.advisory, found.explanation) == (False, True, "the session had no skill under test")


@pytest.mark.parametrize(
    ("skills", "should_trigger", "name"),
    [
        (("pdf",), True, "loads the skill pdf"),
        (("pdf",), False, "does not load the skill pdf"),
        (("a", "b", "c", "d", "e"), True, "loads one of the skills a, b, c and 2 more"),
    ],
)
def test_its_name_says_what_is_expected(skills, should_trigger, name):
    assert SkillTriggerAssertion(skills=skills, should_trigger=should_trigger).name == name
