"""Graders: assertions that are met to some degree, and the grades they give."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Protocol

from skillgym_action.javascript.values import is_true
from skillgym_action.model.result import Outcome

if TYPE_CHECKING:
    from skillgym_action.model.assertion import Assertion, AssertionContext
    from skillgym_action.model.errors import Location

PASSING_SCORE = 0.8
"""The score from which a grade passes, unless the grader decides that itself. AgentV's number."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One thing that a grader checked; ``text``: what was found."""

    text: str
    passed: bool
    evidence: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Grade:
    """A grader's result for one session: a score from 0 to 1, and what it checked.

    ``passed`` is None if the session could not be graded; ``trouble`` is the reason.
    """

    score: float | None
    passed: bool | None
    checks: tuple[CheckResult, ...] = ()
    trouble: str | None = None
    evidence: str | None = None

    @property
    def explanation(self) -> str:
        """The trouble, the only check, or the number of checks that passed and the texts of the others."""
        if self.trouble is not None:
            return self.trouble
        if len(self.checks) == 1:
            return self.checks[0].text
        failed = [check.text for check in self.checks if not check.passed]
        passed = f"{len(self.checks) - len(failed)} of {len(self.checks)} passed"
        return "; ".join([passed, *failed])

    @property
    def all_evidence(self) -> str | None:
        """Evidence for people: if there are several checks, a line for each of them, then the grade's own."""
        if len(self.checks) > 1:
            return "\n".join([*map(_line, self.checks), *([self.evidence] if self.evidence else [])])
        return self.evidence or (self.checks[0].evidence if self.checks else None)


class Grader(Protocol):
    """A rule that a session meets to some degree."""

    @property
    def diagnostic(self) -> bool:
        """Whether it starts no program and asks no model, so that it is evaluated even after trouble."""
        ...

    def grade(self, context: AssertionContext) -> Grade:
        """The grade of one session."""
        ...


def grade_of(
    *checks: CheckResult, score: float | None = None, passed: bool | None = None, evidence: str | None = None
) -> Grade:
    """A grade. By default its score is the share of checks that passed, and it passes from ``PASSING_SCORE``."""
    if score is None:
        score = sum(check.passed for check in checks) / len(checks) if checks else 0.0
    passed = score >= PASSING_SCORE if passed is None else passed
    return Grade(score=score, passed=passed, checks=checks, evidence=evidence)


def all_or_nothing(*checks: CheckResult, evidence: str | None = None) -> Grade:
    """A grade with the score 1 if every check passed, else 0."""
    return grade_of(*checks, score=float(all(check.passed for check in checks)), evidence=evidence)


def not_gradable(reason: str, *, score: float | None = None, evidence: str | None = None) -> Grade:
    """The grade of a session that could not be graded. ``score`` is the one that AgentV gives it."""
    return Grade(score=score, passed=None, trouble=reason, evidence=evidence)


def checks_in(assertions: object) -> tuple[CheckResult, ...]:
    """The checks that a program or a model lists under ``assertions``; entries without a text are skipped."""
    entries = assertions if isinstance(assertions, list) else []
    return tuple(
        CheckResult(
            entry["text"],
            is_true(entry.get("passed")),
            entry["evidence"] if isinstance(entry.get("evidence"), str) else None,
        )
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("text"), str)
    )


def negated(grade: Grade) -> Grade:
    """The opposite grade; without a score there is none."""
    if grade.score is None or grade.passed is None:
        return grade
    checks = tuple(replace(check, passed=not check.passed) for check in grade.checks)
    return replace(grade, score=clamped(1 - grade.score), passed=not grade.passed, checks=checks)


def clamped(score: float) -> float:
    """The score, limited to 0 to 1; 0 if it is not finite."""
    return min(1.0, max(0.0, score)) if abs(score) < float("inf") else 0.0


def _line(check: CheckResult) -> str:
    reason = f" ({check.evidence})" if check.evidence else ""
    return f"{'yes' if check.passed else 'no'}: {check.text}{reason}"


# --- assertions -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredAssertion:
    """A grader in a case, and the weight of its score.

    ``min_score`` is the score from which it passes; without one, the grade decides whether it passes. If it is
    ``required``, a score below ``min_score`` (or else the case's threshold) makes the case score 0.
    """

    name: str
    type: str
    grader: Grader
    weight: float = 1.0
    required: bool = False
    min_score: float | None = None
    negate: bool = False
    location: Location | None = None

    fail_fast: ClassVar[bool] = False

    @property
    def diagnostic(self) -> bool:
        return self.grader.diagnostic

    def grade(self, context: AssertionContext) -> Grade:
        """The grader's grade, or with ``negate`` its opposite."""
        grade = self.grader.grade(context)
        return negated(grade) if self.negate else grade

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """One outcome; its ``passed`` is None if the session could not be graded."""
        grade = self.grade(context)
        passed = grade.passed
        if passed is not None and self.min_score is not None and grade.score is not None:
            passed = grade.score >= self.min_score
        outcome = Outcome(
            assertion=self.name,
            type=self.type,
            passed=passed,
            explanation=grade.explanation + (" (negated)" if self.negate and passed is not None else ""),
            evidence=grade.all_evidence,
            score=grade.score,
            weight=self.weight,
            required=(self.min_score or True) if self.required else False,
            location=self.location,
            trouble="grader" if passed is None else None,
        )
        return (outcome,)


@dataclass(frozen=True, slots=True)
class AssertionGroup:
    """The assertions that an include inserts in one place of a suite. Each gives outcomes of its own."""

    assertions: tuple[Assertion, ...]
    name: str
    type: ClassVar[str] = "include"
    fail_fast: ClassVar[bool] = False

    @property
    def diagnostic(self) -> bool:
        """Whether all of them are."""
        return all(assertion.diagnostic for assertion in self.assertions)

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """The outcomes of all assertions."""
        return tuple(outcome for assertion in self.assertions for outcome in assertion.judge(context))
