"""The last run that was stored in a folder, and which of its executions were not green."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.verdicts import GREEN
from skillgym_action.storage.stored_runs import RESULTS

if TYPE_CHECKING:
    from skillgym_action.model.run_report import RunReport


def last_run(folder: Path) -> Path | None:
    """The run directory below ``folder`` whose results were written last; None if there is none. Links do not count."""
    return next(iter(last_runs(folder)), None)


def last_runs(folder: Path) -> list[Path]:
    """The run directories below ``folder``, the one whose results were written last first. Links do not count."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    timed = ((results_time(folder / name), name) for name in names)
    return [
        folder / name for _, name in sorted(((time, name) for time, name in timed if time is not None), reverse=True)
    ]


def results_time(directory: Path) -> int | None:
    """When the results in a run directory were written, in ns since the epoch; None if there are none."""
    try:
        if not stat.S_ISDIR(os.lstat(directory).st_mode):
            return None
        results = os.lstat(directory / RESULTS)
    except OSError:
        return None
    return results.st_mtime_ns if stat.S_ISREG(results.st_mode) else None


def failed_executions(report: RunReport) -> frozenset[tuple[str, str, str]]:
    """Suite path, case id and runner id of executions that were not green. Those in quarantine decided nothing.

    For an invalid case the runner is ``*``; for an invalid suite, case and runner are.
    """
    return frozenset(
        (result.suite.path, result.case_id, result.runner.id)
        if result.runner
        else (result.suite.path, "*" if result.case_id == "(suite)" else result.case_id, "*")
        for result in report.results
        if result.status not in GREEN
    )


def failed_in_quarantine(report: RunReport) -> int:
    """How many executions in quarantine were not green."""
    return sum(result.status not in GREEN for result in report.quarantined)
