"""Trigger evals: whether the skill under test is loaded for a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from skillgym_action.agents.output.skill_loads import loaded_skill
from skillgym_action.model.judgement import Outcome
from skillgym_action.model.limits import MAX_EVIDENCE_COMMAND_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.model.session_report import Command, FileRead, SkillSignal

if TYPE_CHECKING:
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.errors import Location
    from skillgym_action.model.session_report import Event, SessionReport
    from skillgym_action.model.suite import TriggerRule

LISTED_SKILLS = 3
_NO_LOAD = {
    False: "no load was seen in the session",
    True: "no load was seen in the model rounds that a session has (skills.triggerRounds)",
}


@record
class SkillTriggerAssertion:
    """One of the skills is loaded, or none of them if ``should_trigger`` is False.

    Loaded: a tool for skills named it, or its installed SKILL.md was read by a tool or a command.
    """

    skills: tuple[str, ...]
    should_trigger: bool = True
    location: Location | None = None

    type: ClassVar[str] = "skill-trigger"
    diagnostic: ClassVar[bool] = False
    fail_fast: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The rule in words."""
        return f"{'loads' if self.should_trigger else 'does not load'} {skills_in_words(self.skills)}"

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """Undecided if the agent reports nothing. In a session that does without the skill it decides nothing."""
        report = context.report
        if report is None or report.watched_skills is None:
            return (self._undecided(report),)
        installed = [name for name in self.skills if name in report.watched_skills]
        if installed and not report.events and not report.final_output:  # it ended before it did anything
            return (self._undecided(report),)
        events = () if report.answered == "rounds" else report.events  # a load after these rounds comes too late
        found = ((loaded_skill(event, self.skills, report.cwd), event) for event in events)
        loads = next(((name, event) for name, event in found if name), None)
        explanation = f"{loads[0]} was loaded: {_how(loads[1])}" if loads else _NO_LOAD[report.answered == "rounds"]
        outcome = Outcome(
            assertion=self.name,
            type=self.type,
            passed=(loads is not None) == self.should_trigger,
            explanation=explanation if installed else "the session had no skill under test",
            location=self.location,
            advisory=not installed,
        )
        return (outcome,)

    def _undecided(self, report: SessionReport | None) -> Outcome:
        agent = f"`{report.runner.agent.type}`" if report else "the agent"
        return Outcome(
            assertion=self.name,
            type=self.type,
            passed=None,
            explanation=f"it is not known whether {skills_in_words(self.skills)} was loaded: {agent} reports "
            "no events, or replays a session without the skill; use an agent that reports events",
            location=self.location,
            trouble="grader",
        )


def skills_in_words(skills: tuple[str, ...]) -> str:
    """``the skill pdf``, ``one of the skills a, b``."""
    listed = ", ".join(skills[:LISTED_SKILLS])
    more = f" and {len(skills) - LISTED_SKILLS} more" if len(skills) > LISTED_SKILLS else ""
    return f"the skill {listed}" if len(skills) == 1 else f"one of the skills {listed}{more}"


def _how(event: Event) -> str:
    """What the agent did to load a skill."""
    if isinstance(event, SkillSignal):
        return f"{event.signal} named it"
    if isinstance(event, FileRead):
        return "its SKILL.md was read"
    return (
        f"a command read its SKILL.md: {event.command[:MAX_EVIDENCE_COMMAND_CHARACTERS]}"
        if isinstance(event, Command)
        else ""
    )


def trigger_assertion(rule: TriggerRule, location: Location | None = None) -> SkillTriggerAssertion:
    """The assertion with that rule: of a query, or of a case that has other assertions, too."""
    return SkillTriggerAssertion(skills=rule.skills, should_trigger=rule.should_trigger, location=location)
