"""Stage: run report -> decision. Failures of agents and infrastructure failures are kept apart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.result import ADDRESSES_JUDGE, LEAK_DETECTED, of_kind
from skillgym_action.model.run_report import Decision
from skillgym_action.model.verdicts import UNKNOWN_COST, Status
from skillgym_action.reporters.wording import changed_suites, counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.totals import Totals
    from skillgym_action.settings.options import GateOptions

RED = (Status.FAILED, Status.UNEXPECTED_PASSED)
FINDINGS = (
    ("leaks", LEAK_DETECTED, "leaked a key"),
    ("addresses-judge", ADDRESSES_JUDGE, "with text that addresses the judge"),
)
"""Words of ``--fail-on``, with the findings that they are about."""


def gate(report: RunReport, options: GateOptions) -> Decision:
    """The decision on a run: passed, failed or inconclusive, with reasons.

    Unless ``options`` allow it, results of suites that differ from the base commit do not count, and a run with such
    suites is inconclusive, regardless of ``fail_on``.
    """
    changed = None if options.allow_changed_suites else changed_suites(report)
    changed_reasons = (changed,) if changed else ()
    whole_report = report
    if changed:
        report = replace(report, results=tuple(result for result in report.results if not result.suite.changed))
    totals = report.totals()
    red = tuple(_failures(whole_report, totals, options))  # leaked keys count in changed suites, too
    if report.cancelled:
        return Decision(
            verdict="inconclusive",
            exit_code=ExitCode.CANCELLED,
            reasons=("the run was cancelled", *red, *changed_reasons),
        )
    red = (*red, *_low_pass_rate(totals, options))
    reasons = _inconclusive(report, totals, options, silent=bool(changed))
    inconclusive = (*changed_reasons, *reasons)
    if red:
        return Decision(verdict="failed", exit_code=ExitCode.FAILED, reasons=(*red, *inconclusive))
    if not inconclusive:
        return Decision(verdict="passed", exit_code=ExitCode.PASSED, reasons=tuple(_over_budget(report)))
    invalid = (not totals.executions and not changed) or _has_invalid_suite(report)
    return Decision(
        verdict="inconclusive",
        exit_code=ExitCode.INVALID_INPUT if invalid else ExitCode.INCONCLUSIVE,
        reasons=inconclusive,
    )


def _failures(report: RunReport, totals: Totals, options: GateOptions) -> Iterator[str]:
    for status in RED:
        if totals.counts[status] and status in options.fail_on:
            yield f"{totals.counts[status]} {status}"
    if "regression" in options.fail_on and report.comparison:
        from skillgym_action.comparison.comparison import regressions

        yield from regressions(report.comparison)
    for word, id_, what in FINDINGS:
        if word in options.fail_on and (found := sum(bool(of_kind(result.findings, id_)) for result in report.results)):
            yield f"{counted(found, 'execution')} {what}"
    if "warnings" in options.fail_on and report.warnings:
        yield counted(len(report.warnings), "warning")


def _low_pass_rate(totals: Totals, options: GateOptions) -> Iterator[str]:
    if options.min_pass_rate is not None and (totals.pass_rate or 0.0) < options.min_pass_rate and totals.judged:
        yield f"pass rate {totals.pass_rate:.1%} is below {options.min_pass_rate:.1%}"


def _inconclusive(report: RunReport, totals: Totals, options: GateOptions, *, silent: bool) -> Iterator[str]:
    """Why the run is inconclusive. ``silent``: do not give a missing result as a reason, since there is another one."""
    if options.fail_on:
        yield from report.incomplete
        yield from _unknown_cost(report)
    if not totals.executions:
        if "no-cases" in options.fail_on and not silent:
            yield "no case to run: no suite was found, or no case matches the filters"
        return
    errored, skipped = totals.counts[Status.ERRORED], totals.counts[Status.SKIPPED]
    if errored and "errored" in options.fail_on and not _is_tolerated(errored, totals, options):
        yield f"{errored} of {totals.executions} could not be judged"
    elif not totals.judged and "no-cases" in options.fail_on:
        yield "nothing was judged"
    if "regression" in options.fail_on and report.comparison is None:
        yield "no baseline to compare with, so regressions cannot be detected"
    if skipped and "skipped" in options.fail_on:
        yield f"{skipped} skipped"
    elif "budget" in options.fail_on:
        yield from _over_budget(report)


def _over_budget(report: RunReport) -> Iterator[str]:
    """Executions that a budget prevented. Also shown for a passed run; ``--fail-on budget`` makes it inconclusive."""
    if over_budget := report.totals(
        lambda result: _is_over_budget(result) and not _has_unknown_cost(result)
    ).executions:
        yield f"{over_budget} not started, since the run's budget was spent"


def _unknown_cost(report: RunReport) -> Iterator[str]:
    """Executions that were not started because it is unknown whether the budget is spent."""
    if unknown := report.totals(_has_unknown_cost).executions:
        yield f"{unknown} not started, since the cost of sessions is unknown"


def _is_over_budget(result: Result) -> bool:
    return result.status is Status.SKIPPED and result.judgement.origin == "budget"


def _has_unknown_cost(result: Result) -> bool:
    return _is_over_budget(result) and result.judgement.failure_class == UNKNOWN_COST


def _is_tolerated(errored: int, totals: Totals, options: GateOptions) -> bool:
    return (
        options.max_error_rate is not None
        and totals.judged > 0
        and errored / totals.executions <= options.max_error_rate
    )


def _has_invalid_suite(report: RunReport) -> bool:
    classes = (result.judgement.failure_class for result in report.results)
    return any(failure_class is not None and failure_class.id == "suite-invalid" for failure_class in classes)
