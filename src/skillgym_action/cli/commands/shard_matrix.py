"""Workflow matrices of shards: ``list --matrix`` with a stored plan, and the shards of a run that are missing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from skillgym_action.cli.commands.check import print_problems
from skillgym_action.cli.terminal import terminal_for
from skillgym_action.model.errors import UsageError
from skillgym_action.model.shard_plan import matrix_of
from skillgym_action.pipeline import pipeline, wiring
from skillgym_action.pipeline.checks import expected_of_plan
from skillgym_action.pipeline.stages.plan import with_selected_runners
from skillgym_action.pipeline.stages.shards import ShardRequest, plan_shards, recorded_in_runs, recorded_in_store
from skillgym_action.settings import resolve
from skillgym_action.settings.context import refuse_outside
from skillgym_action.settings.option_types import DEFAULT_TARGET, STORED_DURATIONS
from skillgym_action.settings.shard_options import plan_path
from skillgym_action.text.escaping import terminal_line
from skillgym_action.text.words import counted, duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.execution import Plan
    from skillgym_action.model.shard_plan import ShardPlan
    from skillgym_action.pipeline.stages.shards import Recorded
    from skillgym_action.services import Services
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings
    from skillgym_action.settings.slices import Options

AUTO = 0  # as many shards as keep the target


def print_matrix(settings: Settings, context: LaunchContext, shards: int) -> int:
    """Print the matrix of so many shards, or of ``AUTO``; with ``--plan`` also write the plan of what is in each.

    Returns the exit code. Raises UsageError, ConfigError.
    """
    if settings.plan is None:
        if shards == AUTO or settings.durations:
            asked = "--matrix auto" if shards == AUTO else "--durations"
            raise UsageError(
                f"{asked} without --plan: shards would not know which executions to run", remedy="add --plan FILE"
            )
        print_json(matrix_of(f"{number}/{shards}" for number in range(1, shards + 1)))
        return 0
    plan, code = write_plan(settings, context, shards)
    if plan:
        print_json(plan.matrix())
    return code


def print_json(matrix: object) -> None:
    """Print a matrix on one line, as outputs of workflow steps need it."""
    print(json.dumps(matrix))  # noqa: T201


def write_plan(settings: Settings, context: LaunchContext, shards: int) -> tuple[ShardPlan | None, int]:
    """Write the file of ``--plan``, and say on stderr what it has. Returns the plan and the exit code.

    There is no plan, and an exit code other than 0, if a suite cannot be used: then no shard could run what it has.
    Raises UsageError, ConfigError, OutputError.
    """
    if settings.target is not None and shards != AUTO:
        raise UsageError("--target with a number of shards: the number decides", remedy="use --matrix auto")
    if settings.shard is not None:
        raise UsageError("--matrix with --shard: the plan is of all shards", remedy="leave --shard out")
    with wiring.with_suite_source(settings, context) as with_suites:
        return _written(settings, with_suites, shards)


def _written(settings: Settings, context: LaunchContext, shards: int) -> tuple[ShardPlan | None, int]:
    from skillgym_action.results.plan_file import render_plan

    file = plan_path(settings, context)
    config = wiring.configuration(settings, context)
    runners, options = resolve.runners_and_options(settings.model_copy(update={"plan": None}), config, context)
    refuse_outside(file, f"the plan {settings.plan}", context)
    terminal = terminal_for(settings, context)
    by_store = STORED_DURATIONS in settings.durations or not settings.durations
    store = options.store if by_store else None
    if store is None and STORED_DURATIONS in settings.durations:
        raise UsageError("--durations store without a store: no times are known", remedy="name a --store")
    with wiring.services_without_run(context, terminal, settings.agent_user, store) as services:
        plan = pipeline.plan_run(services, runners, options)
        if code := print_problems(with_selected_runners(plan.suites, runners, options.plan), context, plan.warnings):
            return None, code
        if plan.nothing_selected:
            raise UsageError.of(plan.nothing_selected)
        recorded, source = _recorded(services, plan, settings, options, context)
        request = ShardRequest(
            shards=None if shards == AUTO else shards,
            target=settings.target or DEFAULT_TARGET,
            commit=services.repository.commit(),
            source=source,
        )
        made = plan_shards(plan, recorded, request, options.execute, pipeline.execution_digests(services, options))
        services.directory.write_whole(file, [render_plan(made)])
    for line in plan_lines(made, str(settings.plan)):
        terminal.progress(context.redactor.text(terminal_line(line)))
    return made, 0


def _recorded(
    services: Services, plan: Plan, settings: Settings, options: Options, context: LaunchContext
) -> tuple[dict[int, Recorded], str | None]:
    """Recorded times by index, and where they are from. Raises UsageError for a run that cannot be read."""
    runs = [name for name in settings.durations if name != STORED_DURATIONS]
    found: dict[int, Recorded] = {}
    sources = []
    if services.store is not None and (forecast := expected_of_plan(services, plan, options)):
        found |= recorded_in_store(forecast)
        sources += [forecast.source] if found else []
    if runs:
        from skillgym_action.results.stored_runs import stored_reports

        reports = stored_reports(runs, context.cwd, confined=context.job is not None)
        found |= recorded_in_runs(plan, (report for _, report in reports))
        sources += runs
    return found, ", ".join(sources)[:1000] or None


def plan_lines(plan: ShardPlan, file: str) -> Iterator[str]:
    """What a stored plan has, in sentences."""
    longest = max(shard.seconds for shard in plan.shards)
    executions, shards = counted(plan.executions, "execution"), counted(len(plan.shards), "shard")
    yield f"plan: {executions} in {shards}, the longest expected to take {_time(longest)}; written to {file}"
    if plan.source is None:
        yield "plan: no recorded time is known, so each execution counts as a quarter of its time limit"
    elif unknown := plan.executions - plan.known:
        yield f"plan: times from {plan.source}; {counted(unknown, 'execution')} without one count as the median"
    else:
        yield f"plan: times from {plan.source}"
    if plan.target is not None and longest > plan.target:
        yield f"plan: more than the target of {_time(plan.target)}: no more shards are possible, or one case is longer"


def _time(seconds: float) -> str:
    return duration(round(seconds * 1000))
