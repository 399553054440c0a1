"""Stage: run report -> decision. Failures of agents and infrastructure failures are kept apart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.adaptive import RED as REGRESSIONS
from skillgym_action.model.dependencies import skipped_for_quarantine
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.figures import distinct_texts, percentages
from skillgym_action.model.report import Decision
from skillgym_action.model.result import FINDINGS, findings_of_kind
from skillgym_action.model.verdicts import UNKNOWN_COST, Status
from skillgym_action.reports.wording.results import NOT_COMPARED, OF_COMPARISON, changed_suites, is_over_budget
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.report import RunReport, Verdict
    from skillgym_action.model.result import Result
    from skillgym_action.model.totals import Totals
    from skillgym_action.model.uplift import Uplift
    from skillgym_action.settings.slices import GateOptions

_ROUNDING = 1e-9  # of points, which are means of floating-point shares
RED = (Status.FAILED, Status.UNEXPECTED_PASSED)
NO_CASES = (
    "no case to run: the suites have none for the selected runners and this shard; "
    "`skillgym-action check` lists the files that were found and skipped"
)
ALL_IN_QUARANTINE = "every case is in quarantine, so nothing was judged"
UNVERIFIED = "the author of this commit determined what ran and what the results contain"
NO_RATE = "no pass rate: all judged cases are expected to fail"


def gate(report: RunReport, options: GateOptions) -> Decision:
    """The decision on a run: passed, failed, inconclusive or not gated, with reasons.

    Results of an untrusted contributor decide nothing. They are unverified, and the exit code is that of a job which
    has shown them, unless it was cancelled.
    """
    decision = _decision(report, options)
    if not options.unverified:
        return decision
    reason = f"{UNVERIFIED}; a maintainer has to run the suites on {options.unverified}"
    code = decision.exit_code if report.cancelled else ExitCode.PASSED
    return replace(decision, verdict="unverified", exit_code=code, reasons=(reason, *decision.reasons))


def _decision(report: RunReport, options: GateOptions) -> Decision:
    """The decision on results that are trusted. Quarantine decides nothing.

    Unless ``options`` allow it, results of suites that differ from the base commit do not count, and a run with such
    suites is inconclusive, regardless of ``fail_on``. So is a run of which shards are missing. A run in which nothing
    was judged is never green. Only a shard without any execution is, if it is not gated: the others have the cases; and
    a run of changed skills if none is.
    """
    changed = None if options.allow_changed_suites else changed_suites(report)
    changed_reasons = (changed,) if changed else ()
    whole_report = report
    if changed:
        report = replace(report, results=tuple(result for result in report.results if not result.suite.changed))
    totals = report.totals()
    alone = options.left_to_check and report.totals(lambda one: one.index not in options.left_to_check)
    red = tuple(_failures(whole_report, alone or totals, options))  # leaked keys count in changed suites, too
    if report.cancelled:
        return Decision(
            verdict="inconclusive",
            exit_code=ExitCode.CANCELLED,
            reasons=("the run was cancelled", *red, *changed_reasons),
        )
    if report.unchanged and not whole_report.all_results and not report.incomplete:
        return Decision(verdict="passed", exit_code=ExitCode.PASSED, reasons=(report.unchanged,))
    red = (*red, *_low_pass_rate(totals, options), *_low_uplift(report, options))
    reasons = _inconclusive(report, totals, options, silent=bool(changed))
    inconclusive = (*changed_reasons, *reasons)
    uncompared = _lacks_optional_baseline(report, options)
    silent = not (options.decides or options.complete or report.missing_shards)
    notes = (*(report.incomplete if silent else ()), *((NOT_COMPARED,) if uncompared else ()))
    if red:
        decision = Decision(verdict="failed", exit_code=ExitCode.FAILED, reasons=(*red, *inconclusive, *notes))
    elif inconclusive:
        no_case = not (totals.executions or report.quarantined or changed) and "no-cases" in options.fail_on
        code = ExitCode.INVALID_INPUT if no_case or _has_invalid_suite(report) else ExitCode.INCONCLUSIVE
        decision = Decision(verdict="inconclusive", exit_code=code, reasons=(*inconclusive, *notes))
    else:
        verdict: Verdict = "passed" if _gated(options, uncompared=uncompared) else "not-gated"
        decision = Decision(verdict=verdict, exit_code=ExitCode.PASSED, reasons=(*_over_budget(report), *notes))
    return replace(decision, uncompared=uncompared)


def _lacks_optional_baseline(report: RunReport, options: GateOptions) -> bool:
    """Whether the word ``regression`` is ignored, since the baseline does not exist and need not."""
    return "regression" in options.fail_on and options.baseline_optional and report.comparison is None


def _gated(options: GateOptions, *, uncompared: bool) -> bool:
    """Whether any rule was applied."""
    rates = any(rate is not None for rate in (options.min_pass_rate, options.max_error_rate, options.min_uplift))
    return rates or bool(options.fail_on - ({"regression"} if uncompared else set()))


def _failures(report: RunReport, totals: Totals, options: GateOptions) -> Iterator[str]:
    for status in RED:
        if totals.counts[status] and status in options.fail_on:
            yield f"{totals.counts[status]} {status}"
    if "regression" in options.fail_on and report.comparison:
        from skillgym_action.results.statistics.comparison import regressions

        yield from regressions(report.comparison)
    elif "regression" in options.fail_on and report.adaptive and report.adaptive.check in REGRESSIONS:
        from skillgym_action.results.statistics.regression_check import check_sentence

        yield f"regression, {check_sentence(report.adaptive)}"
    for id_, kind in FINDINGS.items():
        found = sum(bool(findings_of_kind(result.findings, id_)) for result in report.all_results)
        if found and kind.fail_on in options.fail_on:
            yield f"{counted(found, 'execution')} {kind.counted}"
    if "warnings" in options.fail_on and report.warnings:
        yield counted(len(report.warnings), "warning")


def _low_pass_rate(totals: Totals, options: GateOptions) -> Iterator[str]:
    rate = totals.pass_rate
    if options.min_pass_rate is not None and rate is not None and rate < options.min_pass_rate:
        shown, least = percentages(rate, options.min_pass_rate)
        yield f"pass rate {shown} is below {least}"


def _low_uplift(report: RunReport, options: GateOptions) -> Iterator[str]:

    if options.min_uplift is None:
        return
    from skillgym_action.reports.wording.uplift import points, uplift_title

    for found in _counting_uplifts(report):
        if found.is_complete and found.points is not None and found.points < options.min_uplift - _ROUNDING:
            shown, least = distinct_texts(found.points, options.min_uplift, 1, points)
            yield f"{uplift_title(found)}: uplift {shown}, below {least}"


def _unknown_uplift(report: RunReport, options: GateOptions) -> Iterator[str]:

    if options.min_uplift is None:
        return
    from skillgym_action.reports.wording.uplift import incomplete, uplift_title

    counting = _counting_uplifts(report)
    if not counting:
        yield "no arms were compared, so the uplift is unknown"
    yield from (f"{uplift_title(found)}: {incomplete(found)}" for found in counting if not found.is_complete)


def _counting_uplifts(report: RunReport) -> list[Uplift]:
    """Those of suites whose results count."""
    changed = {suite.path for suite in report.suites if suite.changed}
    counted_suites = {result.suite.path for result in report.results}
    return [found for found in report.uplifts if found.suite not in changed or found.suite in counted_suites]


def _no_pass_rate(totals: Totals, options: GateOptions) -> Iterator[str]:
    if options.min_pass_rate is not None and totals.judged and totals.pass_rate is None:
        yield NO_RATE


def _inconclusive(report: RunReport, totals: Totals, options: GateOptions, *, silent: bool) -> Iterator[str]:
    """Why the run is inconclusive. ``silent``: do not give a missing result as a reason, since there is another one."""
    if not options.decides:
        yield from _inconclusive_without_gate(report, totals, options)
        return
    yield from report.incomplete
    yield from _unknown_cost(report)
    errored, skipped = totals.counts[Status.ERRORED], totals.counts[Status.SKIPPED]
    if not totals.executions:
        yield from _no_execution(report, silent=silent)
    elif errored and _is_too_many(errored, totals, options):
        yield _errored(errored, totals, options)
    elif not totals.judged:
        yield "nothing was judged"
    if unmet := skipped_for_quarantine(report):
        yield f"{unmet} skipped, since they depend on cases in quarantine"
    yield from _no_pass_rate(totals, options)
    yield from _unknown_uplift(report, options)
    if "regression" in options.fail_on:
        yield from _unknown_regression(report, options)
    if skipped and "skipped" in options.fail_on:
        yield f"{skipped} skipped"
    elif "budget" in options.fail_on:
        yield from _over_budget(report)


def _inconclusive_without_gate(report: RunReport, totals: Totals, options: GateOptions) -> Iterator[str]:
    """Why a run is inconclusive that nothing may fail."""
    if report.missing_shards or options.complete:
        yield from report.incomplete
    if not totals.judged and (totals.executions or report.quarantined):
        yield "nothing was judged" if totals.executions else ALL_IN_QUARANTINE


def _no_execution(report: RunReport, *, silent: bool) -> Iterator[str]:
    """Why the run has no execution that counts."""
    if report.quarantined:
        yield ALL_IN_QUARANTINE
    elif not silent and not report.incomplete:
        yield NO_CASES


def _unknown_regression(report: RunReport, options: GateOptions) -> Iterator[str]:
    """Why it is unknown whether the run is worse than the baseline."""
    if report.comparison is None:
        if options.baseline_optional:
            return
        yield "no baseline to compare with, so regressions cannot be detected: run the suites on the base branch first"
    elif report.comparison.verdict == "inconclusive":
        yield f"{OF_COMPARISON}{report.comparison.reason}"


def _is_too_many(errored: int, totals: Totals, options: GateOptions) -> bool:
    """Whether executions that could not be judged make the run inconclusive; without any judged one they always do."""
    if options.max_error_rate is None:
        return "errored" in options.fail_on
    return not totals.judged or errored / totals.executions > options.max_error_rate


def _errored(errored: int, totals: Totals, options: GateOptions) -> str:
    sentence = f"{errored} of {totals.executions} have no result"
    if options.max_error_rate and totals.judged:
        _, most = percentages(errored / totals.executions, options.max_error_rate)
        return f"{sentence}, more than {most}"
    return sentence


def _over_budget(report: RunReport) -> Iterator[str]:
    """Executions that a budget prevented, in all arms. Also shown for a passed run.

    ``--fail-on budget`` makes it inconclusive.
    """
    own = sum(is_over_budget(result) and not _has_unknown_cost(result) for result in report.results)
    others = sum(map(is_over_budget, report.other_arms))
    if own or others:
        of_others = f" ({others} of them in other arms)" if own and others else " in other arms" if others else ""
        yield f"{own + others}{of_others} not started, since the run's budget was spent"


def _unknown_cost(report: RunReport) -> Iterator[str]:
    """Executions that were not started because it is unknown whether the budget is spent."""
    if unknown := report.totals(_has_unknown_cost).executions:
        yield f"{unknown} not started, since the cost of sessions is unknown"


def _has_unknown_cost(result: Result) -> bool:
    return is_over_budget(result) and result.judgement.failure_class == UNKNOWN_COST


def _has_invalid_suite(report: RunReport) -> bool:
    classes = (result.judgement.failure_class for result in report.results)
    return any(failure_class is not None and failure_class.id == "suite-invalid" for failure_class in classes)
