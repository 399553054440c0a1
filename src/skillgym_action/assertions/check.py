"""The check of a case of a suite program, in Python or TypeScript."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Problem

if TYPE_CHECKING:
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.errors import Location
    from skillgym_action.model.result import Outcome

CHECK_RETURNED = "the check returned"
"""The explanation of a check that passed."""
WITHOUT_EFFECT = ", which has no effect; use `assert`"
"""Follows the value, if the check returned one."""


@dataclass(frozen=True, slots=True)
class SuiteCheck:
    """Calls the check of a case in the suite host, which has the function; the tool only knows the case's id."""

    case_id: str
    name: str = "check"
    type: str = "check"
    diagnostic: bool = False
    fail_fast: bool = False

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """One outcome that passed, or one per collected failure."""
        return context.check(self.case_id)


def ignored_value_problem(case_id: str, outcome: Outcome, location: Location | None) -> Problem | None:
    """The warning about a check that passed and returned a value without effect; None for other outcomes."""
    if outcome.type != "check" or not outcome.passed or not outcome.explanation.endswith(WITHOUT_EFFECT):
        return None
    message, _, remedy = outcome.explanation.rpartition("; ")
    return Problem(message=f"{case_id}: {message}", location=location, remedy=remedy)
