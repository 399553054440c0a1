"""When a run ends because of failures: ``--maxfail``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.result import Judgement
from skillgym_action.model.verdicts import Status
from skillgym_action.reporters.wording import RED, counted

if TYPE_CHECKING:
    from skillgym_action.model.result import Result


class FailureLimit:
    """Counts executions that failed, passed unexpectedly or could not be judged. Not thread-safe."""

    def __init__(self, limit: int | None) -> None:
        """``limit``: the number of them after which no session may start; None: unlimited."""
        self._limit = limit
        self._failed = 0
        self._refused = 0

    def add(self, result: Result) -> None:
        """Count the result of an execution; one that a refusal prevented is counted apart."""
        self._failed += result.status in RED
        self._refused += result.status is Status.SKIPPED and result.judgement.origin == "maxfail"

    def refusal(self) -> Judgement | None:
        """The judgement on executions that may not start any more; None: they may."""
        if self._limit is None or self._failed < self._limit:
            return None
        reason = f"the run ended before, with {counted(self._limit, 'failure')} (--maxfail {self._limit})"
        return Judgement(status=Status.SKIPPED, origin="maxfail", reason=reason)

    def missing(self) -> tuple[str, ...]:
        """Why results are missing: a sentence, if there is a reason."""
        if not self._refused:
            return ()
        were = "execution was" if self._refused == 1 else "executions were"
        failures = counted(self._limit or 0, "failure")
        return (f"{self._refused:,} {were} not started or not finished, since the run ended with {failures}",)
