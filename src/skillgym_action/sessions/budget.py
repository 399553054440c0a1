"""Budgets in US dollars. Unknown cost is not treated as zero: it ends the budget."""

from __future__ import annotations

from skillgym_action.model.result import Judgement
from skillgym_action.model.verdicts import UNKNOWN_COST, Status


class Budget:
    """US dollars that several sessions may cost together. Not thread-safe."""

    def __init__(self, owner: str, limit: float | None) -> None:
        """``owner``: what messages call it, such as "the run's"; ``limit``: US dollars, None: unlimited."""
        self._owner, self._limit = owner, limit
        self._spent = 0.0
        self._unknown: str | None = None

    def add(self, usd: float | None, what: str) -> None:
        """Add the cost of ``what``, such as "a session on codex"; None: unknown, after which nothing may start."""
        if usd is None:
            self._unknown = self._unknown or what
        else:
            self._spent += usd

    def refusal(self) -> Judgement | None:
        """The judgement on executions that may not start any more; None: they may."""
        if self._limit is None:
            return None
        if self._spent >= self._limit:
            reason = f"{self._owner} budget is spent: ${self._spent:.2f} of ${self._limit:.2f}"
            return Judgement(status=Status.SKIPPED, origin="budget", reason=reason)
        if self._unknown:
            reason = (
                f"{self._owner} budget of ${self._limit:.2f} cannot be checked, since the cost of {self._unknown} is "
                "unknown; set the price of its model under prices in the configuration, or remove the budget"
            )
            return Judgement(status=Status.SKIPPED, origin="budget", failure_class=UNKNOWN_COST, reason=reason)
        return None
