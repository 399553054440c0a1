"""Stage: results -> run report, compared with a baseline."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.judging.assertions.commands import ignored_value_problem
from skillgym_action.judging.assertions.files import vacuous_problem
from skillgym_action.model.errors import Problem
from skillgym_action.model.execution import SelectionSummary
from skillgym_action.model.judge_question import united_judges
from skillgym_action.model.report import RunReport
from skillgym_action.model.shard_plan import WholePlan
from skillgym_action.model.verdicts import JUDGED
from skillgym_action.model.version import __version__
from skillgym_action.reports import REPORTERS
from skillgym_action.reports.wording.plan import selection_reason
from skillgym_action.reports.wording.results import environment_problems
from skillgym_action.settings.runners import plug_ins_of
from skillgym_action.system.clock import iso_timestamp
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.execution import Plan
    from skillgym_action.model.judge_question import JudgeInfo
    from skillgym_action.model.plugin_table import PlugIn
    from skillgym_action.model.result import Result
    from skillgym_action.results.journal import Journal
    from skillgym_action.services import Services
    from skillgym_action.settings.baseline_options import ReportOptions
    from skillgym_action.settings.settings import ExecuteOptions
    from skillgym_action.settings.slices import Options


def report_run(
    services: Services, plan: Plan, results: tuple[Result, ...], journal: Journal, options: Options, *, command: str
) -> RunReport:
    """The report of a run, without a decision. A resumed run lasts from its first start to its last end."""
    # On another machine the clock may be behind: the run must not end before it began.
    began, ended = journal.began, max(services.clock.now(), journal.began)
    of_suites = dict.fromkeys(warning for suite in plan.suites for warning in suite.warnings)
    warnings = [*journal.warnings, *plan.warnings, *of_suites]
    results = tuple(_without_secrets(services, result) if result.reused else result for result in results)
    deciding, others, quarantined = _sorted(plan, results)
    found = (*_vacuous(deciding), *_ignored_values(results), *_unchecked_budgets(plan, results))
    warnings += dict.fromkeys((*found, *environment_problems(results)))
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
        plug_ins=tuple(dict.fromkeys(_plug_ins(plan, options))),
    )
    return with_uplifts(report)


def _plug_ins(plan: Plan, options: Options) -> Iterator[PlugIn]:
    for execution in plan.executions:
        yield from plug_ins_of(execution, options.sandbox.type)
    for kind in (*(kind for kind, _ in options.publish.reports), options.publish.printed or ""):
        yield from REPORTERS.plug_ins(kind)


def _whole_plan(plan: Plan, options: ExecuteOptions) -> WholePlan | None:
    """What all shards of the run have in common; None: the run is whole."""
    found = plan.all_shards
    if found is None:
        return None
    return WholePlan(
        executions=found.executions,
        digest=found.digest,
        repeat=options.repetitions,
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
    """A reused result without the secrets of this process; only of a failure there is a text from the store."""
    if result.judgement.failure is None:
        return result
    redacted: Result = services.directory.redactor.redacted(result, exclude=("suite", "runner"))
    return redacted


def with_uplifts(report: RunReport) -> RunReport:
    """The report with the comparisons of the arms that it has."""
    if not report.other_arms:
        return report
    from skillgym_action.results.statistics.uplift import uplifts

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


def _unchecked_budgets(plan: Plan, results: tuple[Result, ...]) -> Iterator[Problem]:
    """A warning for each runner with sessions whose cost is unknown, so that their budgets could not be checked."""
    limited = {one.index for one in plan.executions if one.budget is not None and not one.case.has_default_budget}
    unchecked = Counter(
        result.runner.id
        for result in results
        if result.index in limited and result.runner and result.status in JUDGED and result.attempts
        if result.cost.usd is None and result.judgement.cost_usd is not None
    )
    for runner, number in unchecked.items():
        yield Problem(
            message=f"{runner}: the {'budget' if number == 1 else 'budgets'} of {counted(number, 'execution')} could "
            "not be checked, since the cost of the sessions is unknown",
            remedy="set the price of the model under prices in the configuration, or remove the budget",
        )


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
        from skillgym_action.results.statistics.comparison import compare

        return replace(report, comparison=compare(base, report))
    if options.baseline is None:
        return report
    remedy = "a first run has nothing to compare with; store its results there for the next one"
    problem = Problem(message=f"no baseline at {options.named}: nothing was compared", remedy=remedy)
    return replace(report, warnings=(*report.warnings, problem))
