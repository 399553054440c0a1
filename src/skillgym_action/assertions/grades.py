"""What a grader says of a session: a score from 0 to 1, and what it looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from skillgym_action.javascript.values import is_true

if TYPE_CHECKING:
    from skillgym_action.model.assertion import AssertionContext

GOOD = 0.8
"""The score from which on a grader counts as passed, unless it says so itself."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a grader looked at. ``text`` says what was found."""

    text: str
    passed: bool
    evidence: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Grade:
    """A grader's answer. ``passed`` None: it could not tell, and ``trouble`` says why."""

    score: float | None
    passed: bool | None
    checks: tuple[Check, ...] = ()
    trouble: str | None = None
    evidence: str | None = None

    @property
    def explanation(self) -> str:
        """The trouble, the only check, or how many checks hold and which do not."""
        if self.trouble is not None:
            return self.trouble
        if len(self.checks) == 1:
            return self.checks[0].text
        missed = [check.text for check in self.checks if not check.passed]
        held = f"{len(self.checks) - len(missed)} of {len(self.checks)} hold"
        return "; ".join([held, *missed])

    @property
    def shown(self) -> str | None:
        """Evidence for people: every check with its own, unless there is but one."""
        if len(self.checks) > 1:
            return "\n".join([*map(_line, self.checks), *([self.evidence] if self.evidence else [])])
        return self.evidence or (self.checks[0].evidence if self.checks else None)


class Grader(Protocol):
    """A rule that is fulfilled to some degree."""

    @property
    def diagnostic(self) -> bool:
        """Whether it costs nothing, so that it is worth asking after trouble."""
        ...

    def grade(self, context: AssertionContext) -> Grade:
        """The degree to which the session fulfils it."""
        ...


def graded(
    *checks: Check, score: float | None = None, passed: bool | None = None, evidence: str | None = None
) -> Grade:
    """A grade; the score is the share of checks that hold, and a good one passes, unless said otherwise."""
    if score is None:
        score = sum(check.passed for check in checks) / len(checks) if checks else 0.0
    return Grade(score=score, passed=score >= GOOD if passed is None else passed, checks=checks, evidence=evidence)


def all_or_nothing(*checks: Check, evidence: str | None = None) -> Grade:
    """1 if every check holds, else 0."""
    return graded(*checks, score=float(all(check.passed for check in checks)), evidence=evidence)


def cannot_tell(why: str, *, score: float | None = None, evidence: str | None = None) -> Grade:
    """No grade. ``score`` is what others would have made of it."""
    return Grade(score=score, passed=None, trouble=why, evidence=evidence)


def checks_of(assertions: object) -> tuple[Check, ...]:
    """The ``assertions`` that a program or a model tells of; entries without a text are none."""
    found = assertions if isinstance(assertions, list) else []
    entries = [one for one in found if isinstance(one, dict) and isinstance(one.get("text"), str)]
    evidence = [one["evidence"] if isinstance(one.get("evidence"), str) else None for one in entries]
    passed = [is_true(one.get("passed")) for one in entries]
    return tuple(map(Check, (one["text"] for one in entries), passed, evidence))


def negated(grade: Grade) -> Grade:
    """The opposite; who cannot tell still cannot."""
    if grade.score is None or grade.passed is None:
        return grade
    checks = tuple(replace(check, passed=not check.passed) for check in grade.checks)
    return replace(grade, score=clamped(1 - grade.score), passed=not grade.passed, checks=checks)


def clamped(score: float) -> float:
    """Between 0 and 1; what is not finite is 0."""
    return min(1.0, max(0.0, score)) if abs(score) < float("inf") else 0.0


def _line(check: Check) -> str:
    reason = f" ({check.evidence})" if check.evidence else ""
    return f"{'yes' if check.passed else 'no'}: {check.text}{reason}"
