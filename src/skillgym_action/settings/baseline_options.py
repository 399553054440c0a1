"""What a run is compared with, and where results are stored for later comparisons."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from skillgym_action.limits import MAX_ARTIFACT_RUNS
from skillgym_action.model.errors import UsageError
from skillgym_action.settings.context import refuse_written
from skillgym_action.settings.option_types import ARTIFACT_STORE, PATH_STORE, StoreWord, reuse_days

if TYPE_CHECKING:
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.options import Settings
    from skillgym_action.storage.changed_suites import SuiteComparison

STORED_BASELINE = "auto"  # the value of ``baseline`` that means the store
DEFAULT_STORE: StoreWord = "branch"
NO_STORE: StoreWord = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreOptions:
    """A store. ``path``: absolute, of a folder or file; None: the store is not one.

    ``workflow``: the file name of the workflow whose artifacts are read; None: of the one that runs. ``runs``: how many
    of its runs are read.

    ``named``: as the user wrote it. ``asked``: outside of GitHub, whether this run writes to it. ``reports``: whether
    the job publishes what it ran; one of ``mode: run`` leaves that, and storing, to another job.
    ``optional``: it is the default, and nothing that was set needs one: if it is missing, there is no warning.
    """

    kind: Literal["artifact", "branch", "path"]
    named: str
    path: Path | None = None
    workflow: str | None = None
    runs: int = MAX_ARTIFACT_RUNS
    asked: bool = False
    reports: bool = True
    optional: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportOptions:
    """``baseline``: absolute path of a run directory or results file; ``named``: the path as the user wrote it.

    ``auto``: the baseline is made of the store. ``baseline_optional``: without a baseline the run goes on, and nothing
    is compared.
    ``configuration_differs``: whether the configuration file of ``--suites-from`` differs from that of the checkout.
    ``suites``: how suites of stored results are compared with those of the checkout; None: not at all.
    """

    baseline: Path | None = None
    named: str = ""
    auto: bool = False
    baseline_optional: bool = False
    suites: SuiteComparison | None = None
    configuration_differs: bool = False


def store_name(settings: Settings, config: Config, context: LaunchContext) -> str | None:
    """The store, as users name it; None: there is none.

    In the action the branch is the default, unless a baseline is named. It begins to exist with the first run of the
    default branch whose token may write contents.
    """
    if named := settings.store or config.file.store:
        return named if named != NO_STORE else None
    job, baseline = context.job, settings.baseline or config.file.run.baseline
    on_github = job is not None and job.event is not None and job.repository_token
    return DEFAULT_STORE if on_github and baseline in (None, STORED_BASELINE) else None


def _is_asked_for(settings: Settings, config: Config) -> bool:
    """Whether the user named a store, or what needs one."""
    run, reuse = config.file.run, settings.reuse or config.file.reuse
    if settings.store or config.file.store or settings.baseline or run.baseline:
        return True
    return "regression" in (settings.fail_on or run.fail_on or ()) or bool(reuse and reuse_days(reuse))


def store_options(settings: Settings, config: Config, context: LaunchContext) -> StoreOptions | None:
    """The store of a run; None: there is none. Raises UsageError for a path that a commit has replaced by a link."""
    named = store_name(settings, config, context)
    if settings.store_write and named is None:
        raise UsageError("--store-write without a store: there is nothing to write to", remedy="name a --store")
    if named is None:
        return None
    reports = context.job is None or context.job.stores
    if not named.startswith(PATH_STORE):
        kind: Literal["artifact", "branch"] = "branch" if named == "branch" else "artifact"
        return StoreOptions(
            kind=kind,
            named=named,
            workflow=named.removeprefix(ARTIFACT_STORE) if named.startswith(ARTIFACT_STORE) else None,
            asked=settings.store_write,
            reports=reports,
            optional=not _is_asked_for(settings, config),
        )
    path = named.removeprefix(PATH_STORE)
    folder = context.cwd if settings.store else config.folder or context.cwd
    absolute = context.suite_source.in_head(Path(os.path.normpath(folder / path)))
    refuse_written(absolute, f"the store {path}", context)
    return StoreOptions(kind="path", named=path, path=absolute, asked=settings.store_write, reports=reports)
