"""Stage: a run report -> a decision. Infrastructure failures and the agent's own are never mixed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.exit_codes import ExitCode
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


def gate(report: RunReport, options: GateOptions) -> Decision:
    """Green or red, in words. 1: judged and red; 2: a suite is invalid or none is there; 3: inconclusive.

    Results of suites that are not the base's do not count, unless that is allowed, and the run is not green then,
    whatever ``fail_on`` says.
    """
    changed = None if options.allow_changed_suites else changed_suites(report)
    others = (changed,) if changed else ()
    whole = report
    if changed:
        report = replace(report, results=tuple(result for result in report.results if not result.suite.changed))
    totals = report.totals()
    red = tuple(_red(whole, totals, options))  # also keys that leaked in suites that do not count
    if report.cancelled:
        return Decision(
            verdict="inconclusive", exit_code=ExitCode.CANCELLED, reasons=("the run was cancelled", *red, *others)
        )
    red = (*red, *_rates(totals, options))
    unclear = (*others, *_unclear(report, totals, options, silent=bool(changed)))
    if red:
        return Decision(verdict="failed", exit_code=ExitCode.FAILED, reasons=(*red, *unclear))
    if not unclear:
        return Decision(verdict="passed", exit_code=ExitCode.PASSED, reasons=tuple(_spent(report)))
    mistaken = (not totals.executions and not changed) or any(_invalid(report))
    return Decision(
        verdict="inconclusive", exit_code=ExitCode.INVALID_INPUT if mistaken else ExitCode.INCONCLUSIVE, reasons=unclear
    )


def _red(report: RunReport, totals: Totals, options: GateOptions) -> Iterator[str]:
    for status in RED:
        if totals.counts[status] and status in options.fail_on:
            yield f"{totals.counts[status]} {status}"
    if "regression" in options.fail_on and report.comparison:
        from skillgym_action.comparison.comparison import regressions

        yield from regressions(report.comparison)
    if "leaks" in options.fail_on and (leaking := sum(bool(result.findings) for result in report.results)):
        yield f"{counted(leaking, 'execution')} leaked a key"
    if "warnings" in options.fail_on and report.warnings:
        yield f"{len(report.warnings)} warnings"


def _rates(totals: Totals, options: GateOptions) -> Iterator[str]:
    if options.min_pass_rate is not None and (totals.pass_rate or 0.0) < options.min_pass_rate and totals.judged:
        yield f"pass rate {totals.pass_rate:.1%} is below {options.min_pass_rate:.1%}"


def _unclear(report: RunReport, totals: Totals, options: GateOptions, *, silent: bool) -> Iterator[str]:
    """``silent``: that there are no results has another reason, which is given already."""
    if options.fail_on:
        yield from report.incomplete
        yield from _unpriced(report)
    if not totals.executions:
        if "no-cases" in options.fail_on and not silent:
            yield "no case was left to run: no suite was found, or the filters leave none"
        return
    errored, skipped = totals.counts[Status.ERRORED], totals.counts[Status.SKIPPED]
    if errored and "errored" in options.fail_on and not _tolerated(errored, totals, options):
        yield f"{errored} of {totals.executions} could not be judged"
    elif not totals.judged and "no-cases" in options.fail_on:
        yield "nothing was judged"
    if "regression" in options.fail_on and report.comparison is None:
        yield "nothing to compare with: whether anything got worse, nobody can tell"
    if skipped and "skipped" in options.fail_on:
        yield f"{skipped} skipped"
    elif "budget" in options.fail_on:
        yield from _spent(report)


def _spent(report: RunReport) -> Iterator[str]:
    """What a budget did as it was asked to: no reason to be red, unless somebody says so, and never silent."""
    if unpaid := report.totals(lambda result: _unpaid(result) and not _is_unpriced(result)).executions:
        yield f"{unpaid} not started, since the run's budget was spent"


def _unpriced(report: RunReport) -> Iterator[str]:
    """Nobody knows whether the budget was spent, nor what these would have come to."""
    if unpriced := report.totals(_is_unpriced).executions:
        yield f"{unpriced} not started, since it is not known what sessions cost"


def _unpaid(result: Result) -> bool:
    return result.status is Status.SKIPPED and result.judgement.origin == "budget"


def _is_unpriced(result: Result) -> bool:
    return _unpaid(result) and result.judgement.failure_class == UNKNOWN_COST


def _tolerated(errored: int, totals: Totals, options: GateOptions) -> bool:
    return (
        options.max_error_rate is not None
        and totals.judged > 0
        and errored / totals.executions <= options.max_error_rate
    )


def _invalid(report: RunReport) -> Iterator[bool]:
    return (
        r.judgement.failure_class is not None and r.judgement.failure_class.id == "suite-invalid"
        for r in report.results
    )
