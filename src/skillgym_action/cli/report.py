"""The command ``report``: stored runs are merged, reported and decided again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action import pipeline, wiring
from skillgym_action.cli.run import exit_code_of, relative_path, show_report
from skillgym_action.cli.terminal import terminal_for
from skillgym_action.model.errors import UsageError
from skillgym_action.settings import resolve
from skillgym_action.storage.session_artifacts import artifact_root
from skillgym_action.storage.stored_runs import stored_reports

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.options import Settings


def report_runs(runs: Iterable[str], settings: Settings, context: LaunchContext) -> int:
    """Report stored runs as one; the exit code. Raises UsageError, ConfigError.

    The runs are read before the run directory is created: a pattern in ``runs`` might match it.
    """
    if settings.paths and not settings.compare_suites:
        raise UsageError("--suites without --compare-suites", remedy="add --compare-suites, which looks for them")
    stored = stored_reports(runs, context.cwd, confined=context.job is not None)
    config = wiring.configuration(settings, context)
    options = resolve.options(settings, config, context, runners=0)
    directory = resolve.run_directory(settings, config, context)
    if any(directory == (context.cwd / file).parent.resolve() for file, _ in stored):
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
