"""The check of a case of a suite program, in Python or TypeScript."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.result import Outcome


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
