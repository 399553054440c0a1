"""Which samples of a report are new, where attempts of a job on GitHub share a run: none is stored twice."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.verdicts import JUDGED

if TYPE_CHECKING:
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport


def of_attempts_after(report: RunReport, number: int) -> RunReport:
    """The report without the repetitions that attempts up to ``number`` judged, and so stored."""
    return replace(report, results=tuple(_new(result, number) for result in report.results))


def _new(result: Result, number: int) -> Result:
    """The result with the new repetitions alone, and their share of the cost."""
    stored = {
        attempt.repetition
        for attempt in result.attempts
        if attempt.status in JUDGED and attempt.run_attempt is not None and attempt.run_attempt <= number
    }
    attempts = tuple(attempt for attempt in result.attempts if attempt.repetition not in stored)
    if len(attempts) == len(result.attempts):
        return result
    usd = result.cost.usd
    share = None if usd is None else usd * len(attempts) / len(result.attempts)
    return replace(result, attempts=attempts, cost=replace(result.cost, usd=share))
