"""The reports that a command writes to files: they replace nothing that the command reads, and no other report."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError
from skillgym_action.reports import OUTPUT_FILE
from skillgym_action.results.journal_file import JOURNAL
from skillgym_action.settings.attempt_options import RESUME_AUTO
from skillgym_action.settings.configuration_file import quarantine_path
from skillgym_action.settings.context import refuse_written
from skillgym_action.settings.option_types import BASE_BASELINE, PRINTED, STORED_BASELINE
from skillgym_action.settings.slices import is_results_file, output_directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings

ANOTHER = "name another file"


def files_of(settings: Settings) -> tuple[tuple[str, str], ...]:
    """The reports that are written to files, as (kind, path)."""
    output = [(OUTPUT_FILE, settings.output)] if settings.output and is_results_file(settings.output) else []
    return tuple((kind, path) for kind, path in (*settings.report, *output) if path != PRINTED)


def absolute_files(settings: Settings, context: LaunchContext) -> tuple[tuple[str, Path], ...]:
    """The reports that are written to files, with their absolute paths."""
    return tuple((kind, Path(os.path.normpath(context.cwd / path))) for kind, path in files_of(settings))


def refuse_files(settings: Settings, config: Config, context: LaunchContext, stored: Iterable[Path]) -> None:
    """Raises UsageError for a report that cannot be written to its path, or would replace what the command reads.

    ``stored``: results files that the command reads. Suites are found later: ``refuse_overwriting`` is called for them.
    """
    files = absolute_files(settings, context)
    for (kind, shown), (_, path) in zip(files_of(settings), files, strict=True):
        if kind == OUTPUT_FILE and path.is_dir():
            what = f"--output {shown} is a folder, but a name that ends in .json is a results file"
            raise UsageError(what, remedy=f"{ANOTHER}, or write {shown}/ for a run directory")
        refuse_written(path, f"the {kind} report {shown}", context)
    if not files:
        return
    _refuse_equal(files, context.cwd)
    _refuse_in_run_directories(files, settings, context)
    refuse_overwriting(files, _read(settings, config, context, stored), context.cwd)


def refuse_overwriting(written: Iterable[tuple[str, Path]], read: Iterable[tuple[str, Path]], cwd: Path) -> None:
    """Raises UsageError if a report, as (kind, path), would replace a file that is read, as (description, path)."""
    files = tuple(written)
    for what, path in read if files else ():
        for kind, file in files:
            if _is_same(file, path):
                message = f"{_named(kind, file, cwd)} is {what} {_shown(path, cwd)}, which this command reads"
                raise UsageError(message, remedy=ANOTHER)


def _read(
    settings: Settings, config: Config, context: LaunchContext, stored: Iterable[Path]
) -> Iterator[tuple[str, Path]]:
    """The files that a command reads, apart from suites, as (description, path)."""
    yield from (("the results file", file) for file in stored)
    if config.path:
        yield "the configuration file", config.path
    yield "the quarantine file", quarantine_path(config, context)
    baseline = settings.baseline or config.file.run.baseline
    if baseline and baseline not in (STORED_BASELINE, BASE_BASELINE):
        path = (context.cwd if settings.baseline else config.folder or context.cwd) / baseline
        yield from (("the baseline", one) for one in (path, path / "results.json"))
    if settings.plan:
        yield "the plan", context.cwd / settings.plan
    if settings.snapshots:
        yield "the snapshot file", context.cwd / settings.snapshots
    elif config.file.snapshots and config.folder:
        from skillgym_action.settings.configuration_file import SNAPSHOTS

        yield "the snapshot file", config.folder / (config.file.snapshots.path or SNAPSHOTS)


def _refuse_equal(files: Iterable[tuple[str, Path]], cwd: Path) -> None:
    """Raises UsageError for reports of two kinds with the same path."""
    for (kind, file), (other, same) in combinations(files, 2):
        if kind != other and _is_same(file, same):
            message = f"{_named(kind, file, cwd)} and {_named(other, same, cwd)} are the same file"
            raise UsageError(message, remedy=ANOTHER)


def _refuse_in_run_directories(files: Iterable[tuple[str, Path]], settings: Settings, context: LaunchContext) -> None:
    """Raises UsageError for a report in place of a file of a run directory: of this run, or of any other one.

    A report of the same kind may be there, but for the results: commands read them.
    """
    from skillgym_action.results.run_directory import REPORT_FILES

    kinds = {name: kind for kind, name in REPORT_FILES}
    named = output_directory(settings.output) or (settings.resume if settings.resume != RESUME_AUTO else None)
    own = (context.cwd / named).resolve() if named else None
    for kind, file in files:
        folder = file.parent.resolve()
        is_own, name = folder == own, file.name.lower()
        if (name not in kinds and name != JOURNAL) or not (is_own or (folder / JOURNAL).is_file()):
            continue
        if kind != kinds.get(name) or (kind == "results" and not is_own):
            where = _shown(file.parent, context.cwd)
            message = f"{_named(kind, file, context.cwd)} is a file of the run directory {where}"
            raise UsageError(message, remedy=f"{ANOTHER}, outside of it")


def _is_same(file: Path, other: Path) -> bool:
    """Whether two paths lead to one file; hard links are two, of which a report replaces one."""
    if file.resolve() == other.resolve():
        return True
    try:  # names may differ in case
        return file.samefile(other) and file.stat().st_nlink == 1
    except OSError:
        return False


def _named(kind: str, file: Path, cwd: Path) -> str:
    return f"--output {_shown(file, cwd)}" if kind == OUTPUT_FILE else f"the {kind} report {_shown(file, cwd)}"


def _shown(path: Path, cwd: Path) -> str:
    relative = os.path.relpath(path, cwd)
    return str(path) if relative.startswith("..") else relative
