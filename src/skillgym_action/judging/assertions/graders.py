"""Graders: assertions that are met to some degree, and the grades they give."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, ClassVar, Protocol

from skillgym_action.model.judge_question import majority
from skillgym_action.model.judgement import Outcome
from skillgym_action.model.records import record
from skillgym_action.text.javascript.values import is_true

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.model.assertion import Assertion, AssertionContext
    from skillgym_action.model.errors import Location
    from skillgym_action.model.judge_question import JudgeInfo

PASSING_SCORE = 0.8
"""The score from which a grade passes, unless the grader decides that itself. AgentV's number."""


@record(kw_only=False)
class CheckResult:
    """One thing that a grader checked; ``text``: what was found."""

    text: str
    passed: bool
    evidence: str | None = None


@record
class Grade:
    """A grader's result for one session: a score from 0 to 1, and what it checked.

    ``passed`` is None if the session could not be graded; ``trouble`` is the reason. ``judge``: the judge, if it
    answered; ``votes``: the grades by each of its answers, if there was to be more than one.
    """

    score: float | None
    passed: bool | None
    checks: tuple[CheckResult, ...] = ()
    trouble: str | None = None
    evidence: str | None = None
    judge: JudgeInfo | None = None
    votes: tuple[Grade, ...] = ()

    @property
    def explanation(self) -> str:
        """The trouble, the only check, or the number of checks that passed and the texts of the others.

        With votes also how many passed.
        """
        if self.trouble is not None:
            return self.trouble
        return f"{self._found} ({_tally(self.votes)})" if self.votes else self._found

    @property
    def _found(self) -> str:
        if len(self.checks) == 1:
            return self.checks[0].text
        failed = [check.text for check in self.checks if not check.passed]
        passed = f"{len(self.checks) - len(failed)} of {len(self.checks)} passed"
        return "; ".join([passed, *failed])

    @property
    def all_evidence(self) -> str | None:
        """Evidence for people: if there are several checks, a line for each of them, then the grade's own.

        With votes the explanation and the evidence of each.
        """
        if self.votes:
            return "\n".join(_vote_line(number, vote) for number, vote in enumerate(self.votes, start=1))
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
    """The opposite grade; without a score there is none. Of votes each is negated."""
    if grade.votes:
        return _revoted(grade, negated)
    if grade.score is None or grade.passed is None:
        return grade
    checks = tuple([replace(check, passed=not check.passed) for check in grade.checks])
    return replace(grade, score=clamped(1 - grade.score), passed=not grade.passed, checks=checks)


def by_majority(votes: tuple[Grade, ...]) -> Grade:
    """The grade that more than half of all votes agree on, passed or failed, with the median of the scores.

    Its checks are those of the agreeing vote whose score is closest to the median. Votes that are not gradable are on
    neither side. Without a majority the session is not gradable.
    """
    usable = [vote for vote in votes if vote.passed is not None]
    passed = sum(vote.passed is True for vote in usable)
    needed = majority(len(votes))
    if max(passed, len(usable) - passed) < needed:
        reason = f"the votes of the judge have no majority: {_tally(votes)}" if usable else votes[0].explanation
        return Grade(score=None, passed=None, trouble=reason, votes=votes)
    verdict = passed >= needed
    score = median(vote.score or 0.0 for vote in usable)
    agreeing = (vote for vote in usable if vote.passed is verdict)
    typical = min(agreeing, key=lambda vote: abs((vote.score or 0.0) - score))
    return replace(typical, score=score, votes=votes)


def with_minimum(grade: Grade, minimum: float) -> Grade:
    """The grade, passed if its score is at least ``minimum``. Of votes that holds for each."""
    if grade.votes:
        return _revoted(grade, lambda vote: with_minimum(vote, minimum))
    if grade.passed is None or grade.score is None:
        return grade
    return replace(grade, passed=grade.score >= minimum)


def _revoted(grade: Grade, change: Callable[[Grade], Grade]) -> Grade:
    return replace(by_majority(tuple([change(vote) for vote in grade.votes])), judge=grade.judge)


def _tally(votes: tuple[Grade, ...]) -> str:
    """``2 of 3 votes passed``, ``1 of 3 votes passed, 1 failed, 1 without an answer``."""
    failed, unusable = (sum(vote.passed is value for vote in votes) for value in (False, None))
    passed = len(votes) - failed - unusable
    parts = [f"{passed} of {len(votes)} votes passed"]
    if unusable:
        parts += [f"{failed} failed", f"{unusable} without an answer"]
    return ", ".join(parts)


def _vote_line(number: int, vote: Grade) -> str:
    word = "no answer" if vote.passed is None else "passed" if vote.passed else "failed"
    score = "" if vote.score is None else f" with the score {vote.score:g}"
    reasons = "; ".join(filter(None, (vote.explanation, vote.all_evidence)))
    return f"vote {number}: {word}{score}: {reasons}"


def clamped(score: float) -> float:
    """The score, limited to 0 to 1; 0 if it is not finite."""
    return min(1.0, max(0.0, score)) if abs(score) < float("inf") else 0.0


def _line(check: CheckResult) -> str:
    reason = f" ({check.evidence})" if check.evidence else ""
    return f"{'yes' if check.passed else 'no'}: {check.text}{reason}"


# --- assertions -------------------------------------------------------------------------------------


@record
class ScoredAssertion:
    """A grader in a case, and the weight of its score.

    ``min_score`` is the score from which it passes; without one, the grade decides whether it passes. If it is
    ``required``, a score below ``min_score`` (or else the case's threshold) makes the case score 0. ``indicator``: it
    tells which arm a session is in, so it never decides where there are several. ``advisory``: it never decides.
    """

    name: str
    type: str
    grader: Grader
    weight: float = 1.0
    required: bool = False
    min_score: float | None = None
    negate: bool = False
    location: Location | None = None
    indicator: bool = False
    advisory: bool = False

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
        if self.min_score is not None:
            grade = with_minimum(grade, self.min_score)
        passed = grade.passed
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
            advisory=self.advisory,
            trouble="grader" if passed is None else None,
            judge=grade.judge,
            votes=tuple([vote.passed for vote in grade.votes]),
        )
        return (outcome,)


@record(kw_only=False)
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
