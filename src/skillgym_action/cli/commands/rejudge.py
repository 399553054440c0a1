"""The command ``rejudge``: the plan of a stored run, with every runner replaced by one that plays what was stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.cli.commands.run import run_in_terminal
from skillgym_action.model.errors import UsageError
from skillgym_action.pipeline import wiring
from skillgym_action.pipeline.stages.baseline import compared_with_itself
from skillgym_action.results.stored_runs import RESULTS, stored_run
from skillgym_action.settings import resolve
from skillgym_action.settings.option_types import LOCAL

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings


def rejudge_run(run_directory: Path, settings: Settings, context: LaunchContext) -> int:
    """Judge the sessions of a run directory again; the exit code. Raises UsageError, ConfigError."""
    stored = stored_run(run_directory)
    config = wiring.configuration(settings, context)
    paths = tuple(sorted({str(context.root / path) for path, _ in stored.cases}))
    of_stored_suites = settings.model_copy(update={"paths": paths, "engine": LOCAL})
    options = resolve.options(
        of_stored_suites, config, context, runners=len(stored.runners), stored=[context.cwd / run_directory / RESULTS]
    )
    snapshots = options.execute.snapshots and replace(options.execute.snapshots, update=False, create=False)
    execute = replace(
        options.execute,
        repeat=1,
        confirm="auto",
        decided=(stored.adaptive, stored.outcomes) if stored.adaptive else None,
        limits=stored.limits and replace(stored.limits, on_limit=options.execute.on_limit),
        retry=0,
        max_cost=None,
        snapshots=snapshots,
    )
    plan = replace(
        options.plan,
        cases=(),
        tags=(),
        only=stored.cases,
        last_failed=stored.with_sessions,
        repetitions=stored.repetitions,
    )
    options = replace(
        options,
        # Its configuration is that of the working directory, whatever the suites are.
        discover=replace(options.discover, named_configuration=True),
        reuse=None,
        execute=execute,
        plan=plan,
        arms=replace(options.arms, stored=stored.arms),
    )
    baseline = options.report.baseline
    same = baseline is not None and baseline.resolve() in (run_directory.resolve(), (run_directory / RESULTS).resolve())
    if same and "regression" in options.gate.fail_on:
        raise compared_with_itself(options)
    directory = resolve.run_directory(settings, config, context)
    if directory == run_directory.resolve():
        raise UsageError("--output is the run that is judged again", remedy="name another folder")
    return run_in_terminal(of_stored_suites, context, stored.runners, options, directory, command="rejudge")
