"""The command ``view``: the HTML report of a stored run, opened in the browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from skillgym_action.cli.commands.run import relative_path
from skillgym_action.cli.terminal import terminal_for
from skillgym_action.model.errors import UsageError
from skillgym_action.pipeline import pipeline, wiring
from skillgym_action.results.session_artifacts import artifact_root
from skillgym_action.results.stored_runs import last_run, stored_reports
from skillgym_action.settings import resolve
from skillgym_action.system.processes.browser import open_in_browser
from skillgym_action.text.escaping import terminal_line

if TYPE_CHECKING:
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings
    from skillgym_action.settings.slices import Options

REPORT = "report.html"


def view_run(named: Path | None, settings: Settings, context: LaunchContext, *, opened: bool) -> int:
    """Write ``report.html`` of a run, print its path and open it; 0. Raises UsageError, ConfigError, OutputError.

    The report is always written anew: one that is there may come from an untrusted run.
    """
    config = wiring.configuration(settings, context)
    directory = named or _last_run(resolve.run_directories(settings, config, context), context.cwd)
    if not (context.cwd / directory).is_dir():
        raise UsageError(f"{directory} is not a run directory", remedy="name the folder that contains results.json")
    stored = stored_reports([str(directory)], context.cwd)
    options = _without_missing_baseline(resolve.options(settings, config, context, runners=0))
    file = context.cwd / directory / REPORT
    context.checkout.refuse(file, "the HTML report")
    terminal = terminal_for(settings, context)
    with (
        TemporaryDirectory(prefix="skillgym-") as folder,
        wiring.open_services(context, Path(folder) / "run", terminal, options) as services,
    ):
        roots = [artifact_root(results, context.cwd, confined=False) for results, _ in stored]
        pipeline.write_html(services, stored, options, file, roots)
    print(context.redactor.text(terminal_line(relative_path(file, context.cwd))))  # noqa: T201
    if opened and not open_in_browser(file.resolve(), context.environment):
        terminal.progress("no browser was found: open the file yourself")
    return 0


def _last_run(parent: Path, cwd: Path) -> Path:
    """The run in a folder that was written last. Raises UsageError."""
    found = last_run(parent)
    if found is None:
        raise UsageError(f"there is no run in {relative_path(parent, cwd)}", remedy="name a run directory")
    return found


def _without_missing_baseline(options: Options) -> Options:
    """A report can be looked at without the baseline that decides about a run."""
    gate = options.gate
    if options.report.baseline is None:
        gate = replace(gate, fail_on=gate.fail_on - {"regression"})
    return replace(options, gate=gate, report=replace(options.report, baseline_optional=True))
