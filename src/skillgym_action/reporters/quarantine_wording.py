"""What reports say of executions in quarantine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.reporters.rate_wording import sessions_passed
from skillgym_action.reporters.wording import cause

if TYPE_CHECKING:
    from skillgym_action.model.quarantine import Quarantine
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport

MEANING = "run, but not counted in the verdict"
TYPE = "skillgym.quarantined"


def quarantine_fact(report: RunReport) -> str:
    """``2 in quarantine``; empty if none is."""
    return f"{len(report.quarantined):,} in quarantine" if report.quarantined else ""


def quarantine_reason(quarantine: Quarantine) -> str:
    """``until 2026-12-01, owner @ada: fails when the service is slow, https://…``."""
    issue = f", {quarantine.issue}" if quarantine.issue else ""
    return f"until {quarantine.expires}, owner {quarantine.owner}: {quarantine.reason}{issue}"


def quarantined_outcome(result: Result, repetitions: int | None) -> str:
    """``failed, 2 of 5 sessions passed``: what the execution would have counted as."""
    passed = sessions_passed(result, repetitions)
    return f"{result.status}, {passed}" if passed else str(result.status)


def quarantine_message(result: Result) -> str:
    """``in quarantine until …; failed: no out.txt``, for reports of which a case has one message."""
    why = f"in quarantine {quarantine_reason(result.quarantine)}; " if result.quarantine else ""
    message = cause(result).message
    return f"{why}{result.status}{f': {message}' if message else ''}"
