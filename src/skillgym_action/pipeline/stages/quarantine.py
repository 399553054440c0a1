"""Stage: plan -> plan, in which the executions that the quarantine file names decide nothing.

They run, and are reported apart from the results of the run: no gate, no pass rate and no comparison counts them.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Problem
from skillgym_action.model.limits import MAX_QUARANTINE_DAYS
from skillgym_action.system.files.globs import matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date

    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Quarantine, QuarantineEntry, QuarantineFile, Result
    from skillgym_action.model.runner import Runner
    from skillgym_action.model.suite import BenchmarkSuite


def quarantined(plan: Plan, file: QuarantineFile, *, today: date, every_suite: bool) -> Plan:
    """The plan with the quarantine of its executions, and a warning for each entry that has no effect.

    ``today``: in UTC. ``every_suite``: the plan has all suites, so that an entry that matches no case is a mistake.
    """
    if not (file.entries or file.problems):
        return plan
    in_force = [entry for entry in file.entries if _is_in_force(entry, today)]
    return replace(
        plan,
        executions=tuple(_with_quarantine(execution, in_force) for execution in plan.executions),
        warnings=(*plan.warnings, *quarantine_warnings(file, plan.suites, today=today, every_suite=every_suite)),
    )


def quarantined_again(report: RunReport, file: QuarantineFile, *, today: date) -> RunReport:
    """A stored run, in which ``file`` says which executions are in quarantine, whatever the run itself said.

    For runs of commits that are not trusted: they could put what fails into quarantine.
    """
    in_force = [entry for entry in file.entries if _is_in_force(entry, today)]

    def decided(result: Result) -> Result:
        return replace(result, quarantine=_quarantine(result.suite, result.case_id, result.runner, in_force))

    of_run = sorted(map(decided, (*report.results, *report.quarantined)), key=lambda result: result.index)
    return replace(
        report,
        results=tuple(result for result in of_run if not result.quarantine),
        quarantined=tuple(result for result in of_run if result.quarantine),
        other_arms=tuple(map(decided, report.other_arms)),
    )


def quarantine_of(names: tuple[str, str, str], file: QuarantineFile, *, today: date) -> Quarantine | None:
    """The quarantine of a stored execution; ``names``: path of its suite, ids of its case and of its runner."""
    return next(
        (entry.quarantine for entry in file.entries if _fits(entry, *names) and _is_in_force(entry, today)), None
    )


def quarantine_warnings(
    file: QuarantineFile, suites: Iterable[BenchmarkSuite], *, today: date, every_suite: bool
) -> tuple[Problem, ...]:
    """What is wrong with the file: what cannot be read, has expired, or matches no case."""
    suites = tuple(suites)
    return (*file.problems, *_warnings(file.entries, suites if every_suite else None, today))


def _warnings(
    entries: Iterable[QuarantineEntry], suites: tuple[BenchmarkSuite, ...] | None, today: date
) -> Iterator[Problem]:
    latest = today + timedelta(days=MAX_QUARANTINE_DAYS)
    for entry in entries:
        if entry.expires < today:
            days = (today - entry.expires).days
            message = f"expired {days} {'day' if days == 1 else 'days'} ago, so its cases affect the verdict again"
            yield _problem(entry, message, f"remove the entry, or ask {entry.owner} for a new date")
        elif entry.expires > latest:
            message = f"expires more than {MAX_QUARANTINE_DAYS} days ahead, so it has no effect"
            yield _problem(entry, message, f"write {latest.isoformat()} or earlier")
        elif suites is not None and not any(_fits_some(entry, suite) for suite in suites):
            yield _problem(entry, f"matches no case: {entry.case}", "`skillgym-action list` shows the ids of all cases")


def _problem(entry: QuarantineEntry, message: str, remedy: str) -> Problem:
    return Problem(message=message, location=entry.location, key_path=entry.key_path, remedy=remedy)


def _is_in_force(entry: QuarantineEntry, today: date) -> bool:
    return today <= entry.expires <= today + timedelta(days=MAX_QUARANTINE_DAYS)


def _with_quarantine(execution: Execution, entries: Iterable[QuarantineEntry]) -> Execution:
    """The execution with its quarantine; itself if it has none."""
    found = _quarantine(execution.suite, execution.case.id, execution.runner, entries)
    return replace(execution, quarantine=found) if found else execution


def _quarantine(
    suite: BenchmarkSuite, case_id: str, runner: Runner | None, entries: Iterable[QuarantineEntry]
) -> Quarantine | None:
    """That of the first entry that fits. A case that could not be used has no runner, and is never in quarantine."""
    if runner is None:
        return None
    for entry in entries:
        if _fits(entry, suite.path, case_id, runner.id):
            return entry.quarantine
    return None


def _fits(entry: QuarantineEntry, suite: str, case_id: str, runner: str) -> bool:
    return _fits_case(entry, suite, case_id) and (entry.runner is None or matches(runner, entry.runner))


def _fits_case(entry: QuarantineEntry, suite: str, case_id: str) -> bool:
    return matches(case_id, entry.case) and (entry.suite is None or matches(suite, entry.suite))


def _fits_some(entry: QuarantineEntry, suite: BenchmarkSuite) -> bool:
    return any(_fits_case(entry, suite.path, case_id) for case_id in _ids(suite))


def _ids(suite: BenchmarkSuite) -> Iterator[str]:
    yield from (case.id for case in suite.cases)
    yield from (invalid.case_id for invalid in suite.invalid if invalid.case_id)
