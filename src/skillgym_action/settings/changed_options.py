"""Which cases run with ``--changed-only``: the section ``inputs`` of the configuration, and the base."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError
from skillgym_action.model.records import record
from skillgym_action.settings.suite_options import discover_options

if TYPE_CHECKING:
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings

CONFIGURATION_NAMES = ("skillgym.config.*", "**/skillgym.config.*")
WORKFLOWS = ".github/workflows"


@record
class DeclaredInput:
    """An entry of ``inputs``: a change of ``files`` selects ``suites``, both patterns; (): no suite depends on them."""

    files: tuple[str, ...]
    suites: tuple[str, ...]


@record
class ChangedOptions:
    """How the executions are selected that a change touches.

    ``base``: a branch or commit; ``named``: as the user wrote it. None: looked for. ``in_job``: a job that has no base
    is one of a branch; ``event`` started it. ``configuration``: absolute paths of configuration files, and of the
    workflow of the job, whose inputs are settings, too: their change selects all. ``neutral``: those of files and
    folders that no case depends on; ``not_of_checkout``: of folders with files from elsewhere. ``every_suite``: the run
    has all suites of the repository. ``verbose``: list what selects.
    """

    base: str | None = None
    named: str | None = None
    in_job: bool = False
    event: str = ""
    inputs: tuple[DeclaredInput, ...] = ()
    configuration: tuple[Path, ...] = ()
    neutral: tuple[Path, ...] = ()
    not_of_checkout: tuple[Path, ...] = ()
    every_suite: bool = True
    verbose: bool = False


def changed_options(settings: Settings, config: Config, context: LaunchContext) -> ChangedOptions | None:
    """The options of ``--changed-only``; None without it. Raises UsageError."""
    if not settings.changed_only:
        if settings.base:
            raise UsageError("--base without --changed-only: nothing is compared with it", remedy="add --changed-only")
        return None
    from skillgym_action.settings.configuration_file import QUARANTINE

    if settings.changed_skills:
        raise UsageError(
            "--changed-skills with --changed-only, which selects suites of changed skills, too",
            remedy="leave --changed-skills out",
        )
    source, event = context.suite_source, context.job.event if context.job else None
    folder = config.folder or source.cwd
    templates = [context.cwd / settings.template_dir] if settings.template_dir else []
    templates += [folder / config.file.report.templates] if config.file.report.templates else []
    named = [context.cwd / path for path in (settings.baseline, settings.output, settings.record) if path]
    workflow = [context.root / WORKFLOWS / event.workflow] if event and event.workflow else []
    store = settings.store or config.file.store or ""
    if store.startswith("path="):
        named.append((context.cwd if settings.store else folder) / store.removeprefix("path="))
    return ChangedOptions(
        base=settings.base or (event.base if event else None),
        named=settings.base,
        in_job=event is not None,
        event=event.name if event else "",
        inputs=tuple(DeclaredInput(files=one.files, suites=one.suites) for one in config.file.inputs),
        configuration=(*_in_head((config.path,) if config.path else (), context), *workflow),
        neutral=_in_head((folder / QUARANTINE, *templates), context),
        verbose=settings.verbose,
        every_suite=discover_options(settings, config, context).every_suite,
        not_of_checkout=_in_head((*named, *((source.root,) if source.is_separate else ())), context, of_source=False),
    )


def _in_head(paths: tuple[Path, ...], context: LaunchContext, *, of_source: bool = True) -> tuple[Path, ...]:
    """The paths, normalized; those of the folder that suites are read from as they are in the checkout."""
    normalized = (Path(os.path.normpath(path)) for path in paths)
    return tuple(context.suite_source.in_head(path) if of_source else path for path in normalized)
