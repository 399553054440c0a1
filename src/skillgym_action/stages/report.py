"""Stage: results -> run report, compared with a baseline."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action import __version__
from skillgym_action.assertions.check import ignored_value_problem
from skillgym_action.assertions.files import vacuous_problem
from skillgym_action.clock import iso_timestamp
from skillgym_action.model.errors import Problem
from skillgym_action.model.judge_question import united_judges
from skillgym_action.model.run_report import RunReport
from skillgym_action.model.selection import SelectionSummary
from skillgym_action.model.shard_plan import WholePlan
from skillgym_action.model.verdicts import JUDGED
from skillgym_action.reporters.selection_wording import selection_reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.execution import Plan
    from skillgym_action.model.judge_question import JudgeInfo
    from skillgym_action.model.result import Result
    from skillgym_action.services import Services
    from skillgym_action.settings.baseline_options import ReportOptions
    from skillgym_action.settings.options import ExecuteOptions, Options
    from skillgym_action.storage.journal import Journal


def report_run(
    services: Services, plan: Plan, results: tuple[Result, ...], journal: Journal, options: Options, *, command: str
) -> RunReport:
    """The report of a run, without a decision. A resumed run lasts from its first start to its last end."""
    # On another machine the clock may be behind: the run must not end before it began.
    began, ended = journal.began, max(services.clock.now(), journal.began)
    of_suites = dict.fromkeys(warning for suite in plan.suites for warning in suite.warnings)
    warnings = [*journal.warnings, *plan.warnings, *of_suites]
    results = tuple(_without_secrets(services, result) if result.carried else result for result in results)
    deciding, others, quarantined = _sorted(plan, results)
    warnings += dict.fromkeys((*_vacuous(deciding), *_ignored_values(results)))
    judge, judge_warnings = _judge_of(services, results)
    report = RunReport(
        id=services.directory.path.name,
        version=__version__,
        command=command,
        started_at=iso_timestamp(began),
        ended_at=iso_timestamp(ended),
        duration_ms=round((ended - began).total_seconds() * 1000),
        results=deciding,
        other_arms=others,
        quarantined=quarantined,
        suites=plan.suites,
        runners=plan.runners,
        warnings=(
            *warnings,
            *(services.snapshots.warnings() if services.snapshots else ()),
            *(services.untrusted_configuration.warnings() if services.untrusted_configuration else ()),
            *judge_warnings,
        ),
        cancelled=bool(services.cancelled),
        commit=services.repository.commit(),
        merge_parents=services.repository.merge_parents(),
        shard="{}/{}".format(*options.plan.shard) if options.plan.shard[1] > 1 else None,
        whole_plan=_whole_plan(plan, options.execute),
        plan_digest=plan.shards_digest,
        unchanged=plan.unchanged,
        selection=_selection(plan),
        judge=judge,
        links=services.links,
    )
    return with_uplifts(report)


def _whole_plan(plan: Plan, options: ExecuteOptions) -> WholePlan | None:
    """What all shards of the run have in common; None: the run is whole."""
    found = plan.all_shards
    if found is None:
        return None
    return WholePlan(
        executions=found.executions,
        digest=found.digest,
        repeat=options.repeat,
        require=options.require,
        retry=options.retry,
    )


def _selection(plan: Plan) -> SelectionSummary | None:
    """Which executions were selected; those that are in the plan all the same have an earlier result, or lack one."""
    found = plan.selection
    if found is None:
        return None
    return SelectionSummary(
        selected=len(found.selected),
        total=found.total,
        reason=selection_reason(found),
        base=found.base,
        left_out=found.total - len(plan.executions),
        unstored=len(found.unstored),
    )


def _without_secrets(services: Services, result: Result) -> Result:
    """A carried result without the secrets of this process; only of a failure there is a text from the store."""
    if result.judgement.failure is None:
        return result
    redacted: Result = services.directory.redactor.redacted(result, exclude=("suite", "runner"))
    return redacted


def with_uplifts(report: RunReport) -> RunReport:
    """The report with the comparisons of the arms that it has."""
    if not report.other_arms:
        return report
    from skillgym_action.comparison.uplift import uplifts

    return replace(report, uplifts=uplifts(report))


def _sorted(plan: Plan, results: tuple[Result, ...]) -> tuple[tuple[Result, ...], ...]:
    """The results that count for the run, those of other arms, and those in quarantine."""
    others = {execution.index for execution in plan.executions if execution.is_other_arm}
    of_run = [result for result in results if result.index not in others]
    return (
        tuple(result for result in of_run if not result.quarantine),
        tuple(result for result in results if result.index in others),
        tuple(result for result in of_run if result.quarantine),
    )


def _vacuous(results: tuple[Result, ...]) -> Iterator[Problem]:
    """A warning for each assertion that passed, and would have passed whatever the agent did."""
    for result in results:
        for outcome in result.judgement.outcomes:
            if outcome.vacuous and result.status in JUDGED:
                yield vacuous_problem(result.case_id, outcome.assertion, result.location)


def _ignored_values(results: tuple[Result, ...]) -> Iterator[Problem]:
    """A warning for each check that passed and returned a value without effect."""
    for result in results:
        for outcome in result.judgement.outcomes:
            if problem := ignored_value_problem(result.case_id, outcome, result.location):
                yield problem


def _judge_of(services: Services, results: tuple[Result, ...]) -> tuple[JudgeInfo | None, tuple[Problem, ...]]:
    """The judge of a run, and a warning if sessions of a resumed run were judged by another one."""
    own = services.judge.info if services.judge else None
    answered = [outcome.judge for result in results for outcome in result.judgement.outcomes if outcome.judge]
    names = sorted({f"{judge.model} ({judge.api})" for judge in (own, *answered) if judge})
    if len(names) > 1:
        problem = Problem(message=f"the sessions of this run were judged by different judges: {', '.join(names)}")
        return own, (problem,)
    judge = united_judges((own, *answered))
    return replace(judge, votes=services.judge.votes) if judge and services.judge else judge, ()


def report_stored_run(services: Services, report: RunReport) -> RunReport:
    """A stored run, without the secrets of this process, and with links to the current repository and workflow run."""
    redacted = services.directory.redactor.redacted
    results, others, quarantined = (
        tuple(redacted(result, exclude=("suite", "runner")) for result in some)
        for some in (report.results, report.other_arms, report.quarantined)
    )
    suites_from = redacted(report.suites_from) if report.suites_from else None
    judge = redacted(report.judge) if report.judge else None
    stored = replace(
        report, results=results, other_arms=others, quarantined=quarantined, suites_from=suites_from, judge=judge
    )
    return with_uplifts(replace(stored, links=services.links))


def compare_with_baseline(report: RunReport, base: RunReport | None, options: ReportOptions) -> RunReport:
    """The report with the comparison. An optional baseline that does not exist is a warning: some run is the first."""
    if base is not None:
        from skillgym_action.comparison.comparison import compare

        return replace(report, comparison=compare(base, report))
    if options.baseline is None:
        return report
    remedy = "a first run has nothing to compare with; store its results there for the next one"
    problem = Problem(message=f"no baseline at {options.named}: nothing was compared", remedy=remedy)
    return replace(report, warnings=(*report.warnings, problem))
