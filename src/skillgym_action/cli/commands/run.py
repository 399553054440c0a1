"""The command ``run``, and what other commands and the action use to run the pipeline in a terminal."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError
from skillgym_action.pipeline import pipeline, wiring
from skillgym_action.pipeline.checks import check_plan, planned_sessions
from skillgym_action.pipeline.stages.gate import NO_CASES
from skillgym_action.pipeline.stages.plan import with_selected_runners
from skillgym_action.reports.terminal.terminal import execution_name, render
from skillgym_action.settings import resolve
from skillgym_action.settings.engine_options import check_engine
from skillgym_action.text.escaping import terminal_line
from skillgym_action.text.words import counted, listed, money

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillgym_action.cli.terminal import Terminal
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.forecast import Forecast
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.runner import Runner
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings
    from skillgym_action.settings.slices import Options


def run_suites(settings: Settings, context: LaunchContext, *, command: str = "run") -> int:
    """Run suites, or with ``--dry-run`` only show the plan; the exit code. Raises UsageError, ConfigError."""
    with wiring.with_suite_source(settings, context) as with_suites:
        return _run(settings, with_suites, command)


def _run(settings: Settings, context: LaunchContext, command: str) -> int:
    from skillgym_action.cli.terminal import show_configuration, terminal_for

    config = wiring.configuration(settings, context)
    show_configuration(terminal_for(settings, context), settings, context, config)
    runners, options = resolve.runners_and_options(settings, config, context)
    if settings.last_failed:
        options = _with_last_failed(options, settings, config, context)
    directory = resolve.run_directory(settings, config, context)
    if settings.dry_run:
        return _show_plan(settings, context, runners, options)
    if options.engine:
        check_engine(options.engine, context, settings.agent_user)
    return run_in_terminal(settings, context, runners, options, directory, command=command)


def _with_last_failed(options: Options, settings: Settings, config: Config, context: LaunchContext) -> Options:
    """The options of a run of what was not green in the last run; all of it if nothing is known to be.

    The last run is the one in ``--output``, if there is one, else the latest of those without that option. One in
    which nothing ran, such as after a misspelt ``-k``, says nothing about what fails: the one before it counts.
    """
    from skillgym_action.cli.terminal import terminal_for
    from skillgym_action.results.stored_runs import (
        failed_executions,
        failed_in_quarantine,
        last_runs,
        results_time,
        stored_reports,
    )
    from skillgym_action.settings.slices import output_directory

    if settings.resume:
        raise UsageError("--last-failed with --resume: a resumed run has its own executions", remedy="leave one out")
    folder = resolve.run_directories(settings, config, context)
    output = output_directory(settings.output)
    named = context.cwd / output if output else None
    candidates = [named] if named and results_time(named) is not None else last_runs(folder)
    stored = ((path, stored_reports([str(path)], context.cwd)[0][1]) for path in candidates)
    last, report = next(((path, report) for path, report in stored if report.results), (None, None))
    terminal = terminal_for(settings, context)
    if last is None or report is None:
        shown = terminal_line(os.path.relpath(candidates[0] if candidates else folder, context.cwd))
        terminal.progress(f"last-failed: {'nothing ran' if candidates else 'no run'} in {shown}: all run")
        return options
    failed, shown = failed_executions(report), terminal_line(os.path.relpath(last, context.cwd))
    quarantined = failed_in_quarantine(report)
    but = f", but {quarantined:,} in quarantine," if quarantined else ""
    if not failed:
        terminal.progress(f"last-failed: all{but} was green in {shown}: all run")
        return options
    left_out = f"; {quarantined:,} in quarantine left out" if quarantined else ""
    terminal.progress(
        f"last-failed: {len(failed):,} of {counted(len(report.results), 'execution')} in {shown}{left_out}"
    )
    return replace(options, plan=replace(options.plan, last_failed=failed))


def _show_plan(settings: Settings, context: LaunchContext, runners: tuple[Runner, ...], options: Options) -> int:
    from skillgym_action.cli.commands.check import print_problems
    from skillgym_action.cli.commands.list import execution_line
    from skillgym_action.cli.terminal import terminal_for

    terminal = terminal_for(settings, context)
    with wiring.services_without_run(context, terminal, settings.agent_user, options.store) as services:
        planned = pipeline.plan_with_baseline(services, runners, options)
        plan, base, expected = planned.plan, planned.base, planned.expected
        if plan.executions:
            check_plan(plan, base, options)
    for execution in plan.executions:
        print(context.redactor.text(execution_line(execution)))  # noqa: T201
    if code := print_problems(with_selected_runners(plan.suites, runners, options.plan), context, plan.warnings):
        return code
    if plan.unchanged:
        print(f"nothing would run: {plan.unchanged}")  # noqa: T201
        return 0
    if plan.nothing_selected:
        raise UsageError.of(plan.nothing_selected)
    if not plan.executions and planned.reused:
        print(f"nothing would run: the results of {counted(planned.reused, 'execution')} are reused")  # noqa: T201
        return 0
    from skillgym_action.pipeline.stages.forecast import refuse_beyond_budget
    from skillgym_action.reports.wording.plan import adaptive_line

    if not plan.executions:
        raise UsageError(NO_CASES)
    told = plan_summary(planned_sessions(plan, options), base, expected, options)
    for line in (
        *((adaptive_line(len(rule.heads), rule.mode, rule.control, rule.why),) if (rule := planned.rule) else ()),
        *told,
    ):
        print(context.redactor.text(terminal_line(line)))  # noqa: T201
    if expected and (note := refuse_beyond_budget(expected, options.execute)):
        terminal.progress(f"note: {terminal_line(note)}")
    return 0


def plan_summary(
    planned: Sequence[tuple[Execution, int]], base: RunReport | None, expected: Forecast | None, options: Options
) -> Iterator[str]:
    """How many sessions a plan has; what they will cost, by a store or a baseline; what a comparison can show."""
    from skillgym_action.reports.wording.plan import UNUSABLE_STORE, WITHOUT_STORE, forecast_lines

    sessions = sum(number for _, number in planned)
    first = " in the first round" if options.execute.repeat == "auto" else ""
    yield f"{counted(len(planned), 'execution')}, {counted(sessions, 'session')}{first}"
    yield from arms_summary(planned)
    if expected:
        yield from forecast_lines(expected)
    elif options.store is None and base is None:
        yield WITHOUT_STORE
    elif options.store is not None:
        yield UNUSABLE_STORE
    if base is None:
        return
    planned = [(execution, number) for execution, number in planned if execution.decides]
    if expected is None:
        yield _cost_by_baseline(planned, base)
    from skillgym_action.results.statistics.planning import detectable

    if options.execute.repeat != "auto":
        yield from detectable(planned, base)


def _cost_by_baseline(planned: Sequence[tuple[Execution, int]], base: RunReport) -> str:
    """What a plan will cost, if its sessions cost what they did in the baseline."""
    from skillgym_action.results.statistics.planning import expected_cost

    expected = expected_cost(planned, base)
    names = [f"{execution.case.id} [{execution.runner.id}]" for execution in expected.unknown]
    if len(names) == len(planned):
        return "cost: unknown, since the baseline has none for these cases"
    unknown = f", without {listed(names)}, whose cost is unknown" if names else ""
    return f"cost: about {money(expected.usd)} at the mean cost of a session in the baseline{unknown}"


def arms_summary(planned: Sequence[tuple[Execution, int]]) -> Iterator[str]:
    """For each suite and runner with arms ``SUITE [RUNNER]: 5 cases × 2 arms × 1 = 10 sessions``."""
    groups: dict[tuple[str, str], list[tuple[Execution, int]]] = {}
    for execution, number in planned:
        if execution.arm:
            groups.setdefault((execution.suite.path, execution.runner.id), []).append((execution, number))
    for (suite, runner), group in groups.items():
        cases = {execution.case.id for execution, _ in group}
        arms = dict.fromkeys(execution.arm_name or "" for execution, _ in group)
        numbers = {number for _, number in group}
        sessions = counted(sum(number for _, number in group), "session")
        if len(group) == len(cases) * len(arms) and len(numbers) == 1:
            product = f"{counted(len(cases), 'case')} × {counted(len(arms), 'arm')} × {min(numbers)} = {sessions}"
        else:
            product = f"{counted(len(cases), 'case')} in up to {counted(len(arms), 'arm')}: {sessions}"
        yield f"{suite} [{runner}]: {product} ({', '.join(arms)})"


def run_in_terminal(
    settings: Settings,
    context: LaunchContext,
    runners: tuple[Runner, ...],
    options: Options,
    directory: Path,
    *,
    command: str,
) -> int:
    """Run the pipeline, show its progress and result, and return the exit code.

    ``command``: the name of the command, for the run report and the journal.
    """
    from skillgym_action.cli.terminal import terminal_for

    terminal = terminal_for(settings, context)
    if note := budget_note(options):
        terminal.progress(note)
    with wiring.open_services(context, directory, terminal, options) as services, terminal:
        report = pipeline.run(
            services,
            runners,
            options,
            command=command,
            show=lambda report: show_report(
                terminal, report, directory, settings, run_directory=relative_path(directory, context.cwd)
            ),
            workers=partial(wiring.open_dispatcher, services, settings, context, options) if options.engine else None,
        )
    return exit_code_of(report)


def budget_note(options: Options) -> str:
    """What a shard may spend of ``max-cost``; empty for a whole run, and without a limit."""
    whole, (number, total) = options.plan.of_shards.max_cost, options.plan.shard
    if whole is None or options.execute.max_cost is None:
        return ""
    part = "by expected cost" if options.plan.of_shards.stored else "an equal part"
    return f"max-cost: {money(options.execute.max_cost)} for shard {number}/{total}, {part} of {money(whole)}"


def exit_code_of(report: RunReport) -> int:
    """The exit code of a report. Raises ValueError if it has no decision."""
    if report.decision is None:
        raise ValueError("the report has no decision")
    return report.decision.exit_code


def show_report(
    terminal: Terminal, report: RunReport, directory: Path, settings: Settings, *, run_directory: str = ""
) -> None:
    """Show the result of a run; with ``--quiet`` only the verdict, with ``--verbose`` also all final outputs.

    ``run_directory``: how artifacts are found from the working directory; "": they are in several folders.
    """
    if terminal.log and not terminal.has_finished:  # stored results
        terminal.planned(len(report.results))
        for result in report.results:
            terminal.finished(result)
    red = terminal.log.unfolded if terminal.log else None
    pieces = tuple(render(report, color=not settings.no_color, run_directory=run_directory, red=red))
    terminal.show(pieces[-1:] if settings.quiet else ("\n", *pieces))
    if settings.verbose and not terminal.log:
        for result in report.all_results:
            if result.final_output:
                terminal.progress(f"{execution_name(result)}: final output")
                terminal.untrusted(result.final_output)
    if not settings.quiet:
        # A container has other paths than the job.
        shown = os.path.relpath(directory) if terminal.log else relative_path(directory, Path.cwd())
        terminal.progress(f"reports: {terminal_line(shown)}")


def relative_path(path: Path, folder: Path) -> str:
    """``path`` relative to ``folder``, if it is below it: terminals make such paths links."""
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
