"""Part of execute: what sessions cost, against what they may. What is not known is not nothing."""

from __future__ import annotations

from skillgym_action.model.result import Judgement
from skillgym_action.model.verdicts import UNKNOWN_COST, Status


class Budget:
    """Dollars that sessions may cost together. Not thread-safe."""

    def __init__(self, whose: str, limit: float | None) -> None:
        """``whose``: how messages call it, such as "the run's"; ``limit`` None: they may cost whatever they do."""
        self._whose, self._limit = whose, limit
        self._spent = 0.0
        self._unknown: str | None = None

    def pay(self, usd: float | None, what: str) -> None:
        """``usd`` None: nobody knows, which ends the budget; ``what`` cost it, such as "a session on codex"."""
        if usd is None:
            self._unknown = self._unknown or what
        else:
            self._spent += usd

    def refusal(self) -> Judgement | None:
        """Why nothing more may be started, if so."""
        if self._limit is None:
            return None
        if self._spent >= self._limit:
            reason = f"{self._whose} budget is spent: ${self._spent:.2f} of ${self._limit:.2f}"
            return Judgement(status=Status.SKIPPED, origin="budget", reason=reason)
        if self._unknown:
            reason = (
                f"{self._whose} budget of ${self._limit:.2f} cannot be kept, since nobody knows what {self._unknown} "
                "cost; give its model's price under prices in the configuration, or take the budget away"
            )
            return Judgement(status=Status.SKIPPED, origin="budget", failure_class=UNKNOWN_COST, reason=reason)
        return None
