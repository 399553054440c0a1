"""The command ``report``: stored runs are merged, reported and decided again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.cli.commands.run import exit_code_of, relative_path, show_report
from skillgym_action.cli.commands.shard_matrix import print_json
from skillgym_action.cli.terminal import terminal_for
from skillgym_action.model.errors import UsageError
from skillgym_action.model.shard_plan import matrix_of
from skillgym_action.pipeline import pipeline, wiring
from skillgym_action.results.merge import current_runs, unfinished_shards, with_missing_shards
from skillgym_action.results.session_artifacts import artifact_root
from skillgym_action.results.stored_runs import NoSuchRunError, stored_reports, unfinished_run
from skillgym_action.settings import resolve
from skillgym_action.settings.shard_options import stored_plan
from skillgym_action.text.escaping import terminal_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.report import RunReport
    from skillgym_action.results.merge import StoredReports
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings


def report_runs(runs: Iterable[str], settings: Settings, context: LaunchContext) -> int:
    """Report stored runs as one; the exit code. Raises UsageError, ConfigError.

    The runs are read before the run directory is created: a pattern in ``runs`` might match it.
    """
    if settings.paths and not settings.compare_suites:
        raise UsageError("--suites without --compare-suites", remedy="add --compare-suites, which looks for them")
    stored = _stored(runs, settings, context)
    config = wiring.configuration(settings, context)
    files = [context.cwd / file for file, _ in stored]
    options = resolve.options(settings, config, context, runners=0, stored=files)
    directory = resolve.run_directory(settings, config, context)
    if any(directory == file.parent.resolve() for file in files):
        raise UsageError("--output is a run that is reported again", remedy="name another folder")
    terminal = terminal_for(settings, context)
    only = relative_path((context.cwd / stored[0][0]).parent, context.cwd) if len(stored) == 1 else ""
    with wiring.open_services(context, directory, terminal, options) as services, terminal:
        report = pipeline.report(
            services,
            stored,
            options,
            show=lambda report: show_report(terminal, report, directory, settings, run_directory=only),
            roots=[artifact_root(file, context.cwd, confined=context.job is not None) for file, _ in stored],
        )
    return exit_code_of(report)


def _stored(runs: Iterable[str], settings: Settings, context: LaunchContext) -> StoredReports:
    """The runs that are named; those of a plan also say what it has and they lack. Raises UsageError.

    A shard that was killed before it wrote results is one that is missing; another run in its place is an error.
    """
    plan, killed = stored_plan(settings, context), list[Path]()
    stored = stored_reports(runs, context.cwd, confined=context.job is not None, unfinished=killed)
    if killed and not (stored and all(report.shard for _, report in stored)):
        raise unfinished_run(killed[0])
    current = current_runs(stored, plan)
    return with_missing_shards(current, plan) if plan else current


def print_missing(runs: Iterable[str], settings: Settings, context: LaunchContext) -> int:
    """Print a matrix of the shards that have to run again, and on stderr the reasons; 0. Raises UsageError."""
    found = missing_shards(runs, settings, context)
    print_json(matrix_of(found))
    terminal = terminal_for(settings, context)
    for shard, reason in found.items():
        terminal.progress(context.redactor.text(terminal_line(f"shard {shard}: {reason}")))
    return 0


def missing_shards(runs: Iterable[str], settings: Settings, context: LaunchContext) -> dict[str, str]:
    """The shards that have to run again, with reasons: those of no run that is there, and those that did not finish.

    With a plan, runs need not exist at all. Raises UsageError.
    """
    plan = stored_plan(settings, context)
    stored: list[tuple[Path, RunReport]] = []
    for run in runs:
        try:
            stored += stored_reports([run], context.cwd, confined=context.job is not None, unfinished=[])
        except NoSuchRunError:
            if plan is None:
                raise
    return unfinished_shards(stored, plan)
