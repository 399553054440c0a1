"""The command ``list``: what would run, as a table or as JSON. Workflow commands in the text of suites are escaped."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action import pipeline, wiring
from skillgym_action.cli.check import judge_warnings, print_problems
from skillgym_action.cli.terminal import terminal_for
from skillgym_action.model.errors import UsageError
from skillgym_action.settings import resolve
from skillgym_action.stages.changed_only import only_selected
from skillgym_action.stages.plan import with_selected_runners
from skillgym_action.text.escaping import terminal_line, terminal_text

if TYPE_CHECKING:
    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.model.suite import BenchmarkSuite, WorkspaceSpec
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.options import Settings


QUESTION = "question"
"""Type of the assertion that asks the judge all questions of an evals.json case."""


def list_executions(settings: Settings, context: LaunchContext, *, as_json: bool, matrix: int | None) -> int:
    """Print the plan, or the workflow matrix of so many shards; the exit code. Raises UsageError, ConfigError."""
    if matrix:
        print(json.dumps({"include": [{"shard": f"{number}/{matrix}"} for number in range(1, matrix + 1)]}))  # noqa: T201
        return 0
    with wiring.with_suite_source(settings, context) as with_suites:
        plan, suites, has_judge = _plan(settings, with_suites)
    if not (as_json and plan.nothing_selected):  # the error is the document then
        print(context.redactor.text(plan_as_json(plan) if as_json else plan_as_table(plan)))  # noqa: T201
    without_judge = () if has_judge else judge_warnings(plan.suites)
    code = print_problems(suites, context, (*plan.warnings, *without_judge))
    if plan.unchanged:
        terminal_for(settings, context).progress(f"note: {plan.unchanged}")
    if plan.nothing_selected and not code:
        raise UsageError(plan.nothing_selected)
    return code


def _plan(settings: Settings, context: LaunchContext) -> tuple[Plan, tuple[BenchmarkSuite, ...], bool]:
    """The plan, the suites with the runners of theirs that are selected, and whether a judge is configured."""
    config = wiring.configuration(settings, context)
    runners, options = resolve.runners_and_options(settings, config, context)
    if options.changed:
        options = replace(options, changed=replace(options.changed, verbose=True))
    terminal = terminal_for(settings, context)
    with wiring.services_without_run(context, terminal, settings.agent_user) as services:
        plan = only_selected(pipeline.plan_run(services, runners, options))
    return plan, with_selected_runners(plan.suites, runners, options.plan), options.judge is not None


def execution_line(execution: Execution) -> str:
    """An execution on one line, with its limits."""
    budget = f", ${execution.budget:.2f}" if execution.budget is not None else ""
    arm = f" {execution.arm.name}" if execution.arm else ""
    names = f"{execution.suite.path}  {execution.case.id}  [{execution.runner.id}]{arm}"
    return terminal_line(f"{names}  {execution.timeout:g} s{budget}")


def plan_as_json(plan: Plan) -> str:
    """A JSON list with an object for each execution."""
    rows = [
        {
            "suite": execution.suite.path,
            "format": execution.suite.format,
            "case": execution.case.id,
            "runner": execution.runner.id,
            **({"arm": execution.arm.name} if execution.arm else {}),
            "tags": list(execution.case.tags),
            "timeout": execution.timeout,
            "budget": execution.budget,
            "model": execution.model,
            "title": execution.case.title,
            "skills": [skill.name for skill in workspace_of(execution).skills],
            "assertions": assertions_of(execution),
            "questions": execution.case.questions,
        }
        for execution in plan.executions
    ]
    # GitHub's runner obeys "##[" anywhere in a line. In JSON it can only stand in a string, where it can be escaped.
    return json.dumps(rows, indent=2).replace("##[", "##\\u005b")


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


def plan_as_table(plan: Plan) -> str:
    """A table as wide as the terminal, or in a file as wide as its cells.

    Cells may be wrapped: each resulting line is escaped as well.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = Table(box=None, pad_edge=False)
    arms = any(execution.arm for execution in plan.executions)
    skills = any(workspace_of(execution).skills for execution in plan.executions)
    names = ("suite", "case", "runner", *(["arm"] if arms else []), "model", "tags")
    for name in (*names, *(("skill", "questions") if skills else ())):
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
        )
        rows.add_row(*(Text(terminal_line(cell)) for cell in cells))
    console = Console(no_color=True, highlight=False)
    if not console.is_terminal:
        console.width = console.measure(rows, options=console.options.update(width=_WIDE)).maximum
    with console.capture() as captured:
        console.print(rows)
    return terminal_text("\n".join(line.rstrip() for line in captured.get().splitlines()))
