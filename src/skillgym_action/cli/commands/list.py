"""The command ``list``: what would run, as a table or as JSON. Workflow commands in the text of suites are escaped."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.cli.schemas.json_documents import (
    ExpectedDurationPart,
    ExpectedIntervalPart,
    ExpectedPart,
    ExpectedTotalPart,
    ForecastPart,
    ListDocument,
    ListedExecutionPart,
)
from skillgym_action.model.errors import UsageError
from skillgym_action.model.records import record
from skillgym_action.pipeline import pipeline, wiring
from skillgym_action.pipeline.checks import expected_of_plan
from skillgym_action.pipeline.stages.changed_only import only_selected
from skillgym_action.pipeline.stages.plan import with_selected_runners
from skillgym_action.settings import resolve
from skillgym_action.text.escaping import terminal_line, terminal_text
from skillgym_action.text.words import duration, money

if TYPE_CHECKING:
    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.model.forecast import Expected, ExpectedExecution, Forecast
    from skillgym_action.model.suite import BenchmarkSuite, WorkspaceSpec
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings


QUESTION = "question"
"""Type of the assertion that asks the judge all questions of an evals.json case."""


def list_executions(
    settings: Settings, context: LaunchContext, *, as_json: bool, matrix: int | None, cost: bool = False
) -> int:
    """Print the plan, or the workflow matrix of so many shards; the exit code. Raises UsageError, ConfigError.

    ``matrix``: how many; 0: as many as time needs.
    ``cost``: with what it will cost, by the runs in the store.
    """
    if matrix is not None and cost:
        raise UsageError("--matrix with --cost: the matrix has no costs", remedy="leave one of them out")
    if matrix is not None:
        from skillgym_action.cli.commands.shard_matrix import print_matrix

        return print_matrix(settings, context, matrix)
    if settings.durations or settings.target:
        raise UsageError("--durations and --target without --matrix: nothing is divided", remedy="add --matrix auto")
    from skillgym_action.cli.commands.check import print_problems
    from skillgym_action.cli.terminal import terminal_for
    from skillgym_action.pipeline.checks import judge_problems
    from skillgym_action.reports.wording.plan import UNUSABLE_STORE, forecast_lines

    with wiring.with_suite_source(settings, context) as with_suites:
        found = _plan(settings, with_suites, cost=cost)
    plan, suites, expected = found.plan, found.suites, found.expected
    if not as_json:
        print(context.redactor.text(plan_as_table(plan, expected)))  # noqa: T201
        if cost:
            lines = forecast_lines(expected) if expected else (UNUSABLE_STORE,)
            print("\n" + "\n".join(context.redactor.text(terminal_line(line)) for line in lines))  # noqa: T201
    asking = [] if found.has_judge else [(one.suite.path, one.case) for one in plan.executions]
    without_judge = judge_problems(asking)
    code = print_problems(suites, context, (*plan.warnings, *without_judge))
    if as_json and (code or not plan.nothing_selected):  # else the error is the document
        from skillgym_action.cli.schemas.json_documents import print_document

        print_document(list_document(plan, expected, exit_code=code), context.redactor)
    if plan.unchanged:
        terminal_for(settings, context).progress(f"note: {plan.unchanged}")
    if plan.nothing_selected and not code:
        raise UsageError.of(plan.nothing_selected)
    return code


@record
class _Listed:
    """The plan, the suites with the runners of theirs that are selected, and whether a judge is configured.

    ``expected``: what the plan will cost; None: that was not asked for, or the store cannot be used.
    """

    plan: Plan
    suites: tuple[BenchmarkSuite, ...]
    has_judge: bool
    expected: Forecast | None


def _plan(settings: Settings, context: LaunchContext, *, cost: bool) -> _Listed:
    from skillgym_action.cli.terminal import show_configuration, terminal_for

    config = wiring.configuration(settings, context)
    terminal = terminal_for(settings, context)
    show_configuration(terminal, settings, context, config)
    runners, options = resolve.runners_and_options(settings, config, context)
    if cost and options.store is None:
        remedy = "name a --store that runs add their results to; see docs/how-to/control-costs.md of skillgym-action"
        raise UsageError("--cost without a store: nothing is known of earlier runs", remedy=remedy)
    if options.changed:
        options = replace(options, changed=replace(options.changed, verbose=True))
    with wiring.services_without_run(context, terminal, settings.agent_user, options.store if cost else None) as opened:
        plan = only_selected(pipeline.plan_run(opened, runners, options))
        expected = expected_of_plan(opened, plan, options) if cost else None
    return _Listed(
        plan=plan,
        suites=with_selected_runners(plan.suites, runners, options.plan),
        has_judge=options.judge is not None,
        expected=expected,
    )


def execution_line(execution: Execution) -> str:
    """An execution on one line, with its limits."""
    budget = f", ${execution.budget:.2f}" if execution.budget is not None else ""
    arm = f" {execution.arm.name}" if execution.arm else ""
    names = f"{execution.suite.path}  {execution.case.id}  [{execution.runner.id}]{arm}"
    return terminal_line(f"{names}  {execution.timeout:g} s{budget}")


def workspace_of(execution: Execution) -> WorkspaceSpec:
    """The workspace of an execution as its suite defines it."""
    return execution.case.workspace or execution.suite.workspace


def assertions_of(execution: Execution) -> int:
    """How many outcomes a session has; an assertion of the type ``question`` asks all questions of its case."""
    case = execution.case
    asks_all = any(assertion.type == QUESTION for assertion in case.assertions)
    return len(case.assertions) - 1 + case.questions if asks_all else len(case.assertions)


def _of_skills(execution: Execution) -> tuple[str, str]:
    """The skills under test; how many assertions there are, and how many of them need a judge."""
    needed = execution.case.questions
    judged = f", {needed:,} need{'s' if needed == 1 else ''} a judge" if needed else ""
    return ", ".join(skill.name for skill in workspace_of(execution).skills), f"{assertions_of(execution):,}{judged}"


_WIDE = 10_000
"""Columns that a table in a file has at most."""


def _costs_of(one: ExpectedExecution | None) -> tuple[str, str, str]:
    """How many sessions an execution will have, what they cost, and how long they take one after the other."""
    if one is None:
        return "", "unknown", "unknown"
    sessions = f"{one.planned:,}" if one.sessions == one.planned else f"{one.sessions:,.1f}"
    mark = "" if one.same_key else " (other)"
    usd = "unknown" if one.total_usd is None else f"{money(one.total_usd)}{mark}"
    return sessions, usd, "unknown" if one.total_ms is None else f"{duration(round(one.total_ms))}{mark}"


def plan_as_table(plan: Plan, expected: Forecast | None = None) -> str:
    """A table as wide as the terminal, or in a file as wide as its cells; with ``expected`` also what it will cost.

    Cells may be wrapped: each resulting line is escaped as well.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = Table(box=None, pad_edge=False)
    arms = any(execution.arm for execution in plan.executions)
    skills = any(workspace_of(execution).skills for execution in plan.executions)
    names = ("suite", "case", "runner", *(["arm"] if arms else []), "model", "tags")
    costs = {one.execution.index: one for one in expected.executions} if expected else {}
    columns = (*(("skill", "questions") if skills else ()), *(("sessions", "cost", "time") if expected else ()))
    for name in (*names, *columns):
        rows.add_column(name, overflow="fold")
    for execution in plan.executions:
        title = f" ({execution.case.title})" if execution.case.title else ""
        cells = (
            execution.suite.path,
            execution.case.id + title,
            execution.runner.id,
            *([execution.arm_name or ""] if arms else []),
            execution.model or "",
            ", ".join(execution.case.tags),
            *(_of_skills(execution) if skills else ()),
            *(_costs_of(costs.get(execution.index)) if expected else ()),
        )
        rows.add_row(*(Text(terminal_line(cell)) for cell in cells))
    console = Console(no_color=True, highlight=False, force_terminal=sys.stdout.isatty())  # also with FORCE_COLOR
    if not console.is_terminal:
        console.width = console.measure(rows, options=console.options.update(width=_WIDE)).maximum
    with console.capture() as captured:
        console.print(rows)
    return terminal_text("\n".join(line.rstrip() for line in captured.get().splitlines()))


def list_document(plan: Plan, expected: Forecast | None, *, exit_code: int) -> ListDocument:
    """The executions of a plan. ``expected``: what it will cost; None: unknown."""
    costs = {one.execution.index: one for one in expected.executions} if expected else {}
    return ListDocument(
        exit_code=exit_code,
        executions=[_execution(one, costs.get(one.index)) for one in plan.executions],
        forecast=_forecast(expected) if expected else None,
    )


def _execution(execution: Execution, expected: ExpectedExecution | None) -> ListedExecutionPart:
    case = execution.case
    return ListedExecutionPart(
        suite=execution.suite.path,
        format=execution.suite.format,
        case=case.id,
        runner=execution.runner.id,
        arm=execution.arm_name,
        tags=list(case.tags),
        timeout=execution.timeout,
        budget=execution.budget,
        model=execution.model,
        title=case.title,
        skills=[skill.name for skill in workspace_of(execution).skills],
        assertions=assertions_of(execution),
        questions=case.questions,
        expected=_expected(expected) if expected else None,
    )


def _expected(one: ExpectedExecution) -> ExpectedPart:
    return ExpectedPart(
        repetitions=one.planned,
        sessions=round(one.sessions, 3),
        cost_usd=one.total_usd,
        duration_ms=None if one.total_ms is None else round(one.total_ms),
        stored_runs=one.runs,
        same_key=one.same_key if one.runs else None,
    )


def _forecast(expected: Forecast) -> ForecastPart:
    time = expected.ms
    return ForecastPart(
        source=expected.source,
        cost_usd=ExpectedTotalPart(
            total=expected.usd.total, interval=_interval(expected.usd), unknown=len(expected.usd.unknown)
        ),
        duration_ms=ExpectedDurationPart(
            total=round(time.total),
            interval=_interval(time),
            unknown=len(time.unknown),
            least_possible=round(expected.least_ms),
        ),
        jobs=expected.jobs,
    )


def _interval(expected: Expected) -> ExpectedIntervalPart | None:
    if (found := expected.interval) is None:
        return None
    return ExpectedIntervalPart(low=found.low, high=found.high, level=found.level, stored_runs=found.runs)
