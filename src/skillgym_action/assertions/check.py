"""The check of a Python or TypeScript case: the suite program's own verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.result import Outcome


@dataclass(frozen=True, slots=True)
class Check:
    """Asks the suite host; the case's id is all that is known of the function here."""

    case_id: str
    name: str = "check"
    type: str = "check"
    diagnostic: bool = False
    fail_fast: bool = False

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """One outcome that passed, or one per collected failure."""
        return context.check(self.case_id)
