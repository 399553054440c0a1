"""Assertions with a score: a grader, and how much its grade counts in its case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.assertions.grades import negated
from skillgym_action.model.result import Outcome

if TYPE_CHECKING:
    from skillgym_action.assertions.grades import Grade, Grader
    from skillgym_action.model.assertion import Assertion, AssertionContext
    from skillgym_action.model.errors import Location


@dataclass(frozen=True, kw_only=True, slots=True)
class Scored:
    """A grader in a case. ``min_score`` is the score it passes from; without one it says so itself.

    ``required``: below its ``min_score``, or else the case's threshold, the case scores 0.
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
        """The grader's."""
        return self.grader.diagnostic

    def grade(self, context: AssertionContext) -> Grade:
        """The grader's grade, or its opposite."""
        grade = self.grader.grade(context)
        return negated(grade) if self.negate else grade

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """One outcome, with a score unless nobody can tell."""
        grade = self.grade(context)
        passed = grade.passed
        if passed is not None and self.min_score is not None and grade.score is not None:
            passed = grade.score >= self.min_score
        outcome = Outcome(
            assertion=self.name,
            type=self.type,
            passed=passed,
            explanation=grade.explanation + (" (negated)" if self.negate and passed is not None else ""),
            evidence=grade.shown,
            score=grade.score,
            weight=self.weight,
            required=(self.min_score or True) if self.required else False,
            location=self.location,
            trouble="grader" if passed is None else None,
        )
        return (outcome,)


@dataclass(frozen=True, slots=True)
class Several:
    """Assertions that stand in one place of a suite: what an include brings in. Each counts by itself."""

    assertions: tuple[Assertion, ...]
    name: str
    type: ClassVar[str] = "include"
    fail_fast: ClassVar[bool] = False

    @property
    def diagnostic(self) -> bool:
        """Whether all of them are."""
        return all(assertion.diagnostic for assertion in self.assertions)

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """The outcomes of all."""
        return tuple(outcome for assertion in self.assertions for outcome in assertion.judge(context))
