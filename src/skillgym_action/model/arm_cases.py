"""Cases in arms: in which arms a case runs, how an arm changes it, and which of its outcomes are compared."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.arm import SKILL_LOADS, Arm
from skillgym_action.model.verdicts import JUDGED, NOT_BY_ASSERTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.judgement import Judgement, Outcome
    from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite


def arms_of_case(suite: BenchmarkSuite, case: BenchmarkCase) -> tuple[Arm, ...]:
    """The arms that a case runs in.

    A prompt that calls a skill by name cannot run without it, and cases that only ask whether a skill loads have
    nothing to compare with.
    """
    skills = (case.workspace or suite.workspace).skills
    if case.trigger or (case.assertions and all(assertion.type in SKILL_LOADS for assertion in case.assertions)):
        return tuple(arm for arm in suite.arms if arm.decides)
    if any(_calls(case.prompt, skill.name) for skill in skills):
        return tuple(arm for arm in suite.arms if arm.decides or arm.skill != "none")
    return suite.arms


def case_in_arm(case: BenchmarkCase, arm: Arm) -> BenchmarkCase:
    """The case with the assertions that it has in an arm."""
    if arm.decides:
        return case
    kept = tuple(assertion for assertion in case.assertions if assertion.type not in SKILL_LOADS)
    return case if len(kept) == len(case.assertions) else replace(case, assertions=kept)


def outcomes_compared(outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
    """The outcomes that are compared between arms."""
    return tuple([outcome for outcome in outcomes if not outcome.advisory and outcome.type not in SKILL_LOADS])


def assertion_results(judgement: Judgement) -> tuple[bool | None, ...]:
    """Whether each assertion that is compared counts as passed; () unless the session was judged."""
    if judgement.status not in JUDGED:
        return ()
    exceeded = judgement.origin in NOT_BY_ASSERTIONS
    found = tuple(False if exceeded else outcome.passed for outcome in outcomes_compared(judgement.outcomes))
    return found or (not exceeded,)


def _calls(prompt: str, skill: str) -> bool:
    """Whether a prompt begins with ``/SKILL`` or ``/PLUGIN:SKILL``."""
    first = prompt.split(maxsplit=1)[0] if prompt.strip() else ""
    return first.startswith("/") and first[1:].rpartition(":")[2] == skill
