"""What a run is compared with, where results are stored, and which are reused."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.errors import UsageError
from skillgym_action.model.limits import MAX_ARTIFACT_RUNS
from skillgym_action.model.records import record
from skillgym_action.settings.configuration import with_configured
from skillgym_action.settings.context import refuse_written
from skillgym_action.settings.option_types import (
    ARTIFACT_STORE,
    DEFAULT_STORE,
    NO_STORE,
    PATH_STORE,
    STORED_BASELINE,
    reuse_days,
)
from skillgym_action.settings.runners import runner_ids

if TYPE_CHECKING:
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings


@record
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


@record
class SuiteComparison:
    """How stored results are compared with the checkout.

    ``complete``: no suite, runner or case of the checkout's plan may be missing from the results. ``runners``: the ids
    of those of the plan; (): those of the results. ``without_checkout``: whether it is an error, or a warning, that
    there is no checkout to compare with, or nothing.
    """

    complete: bool
    runners: tuple[str, ...]
    without_checkout: Literal["error", "warning", "nothing"]


@record
class ReportOptions:
    """``baseline``: absolute path of a run directory or results file; ``named``: the path as the user wrote it.

    ``auto``: the baseline is made of the store; ``of_base``: of sessions with the files of the base commit.
    ``baseline_optional``: without a baseline the run goes on, and nothing is compared. ``configuration_differs``:
    whether the configuration file of ``--suites-from`` differs from that of the checkout. ``suites``: how suites of
    stored results are compared with those of the checkout; None: not at all.
    """

    baseline: Path | None = None
    named: str = ""
    auto: bool = False
    of_base: bool = False
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
    reuse = settings.reuse or config.file.reuse
    if settings.store or config.file.store or settings.baseline or config.file.run.baseline:
        return True
    return "regression" in (with_configured(settings, config.file).fail_on or ()) or bool(reuse and reuse_days(reuse))


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


@record
class ReuseOptions:
    """``max_age``: of results of unchanged executions that are reused. ``why_not``: why nothing is, if so."""

    max_age: timedelta
    why_not: str = ""


def reuse_options(settings: Settings, config: Config, context: LaunchContext) -> ReuseOptions | None:
    """Which results are reused; None: none. Raises UsageError without a store."""
    value = settings.reuse or config.file.reuse
    days = reuse_days(value) if value else None
    if days is None:
        return None
    if store_name(settings, config, context) is None:
        raise UsageError("reuse without a store: there is nothing to reuse", remedy="name a --store")
    needs_sessions = {
        "--record needs the sessions": settings.record,
        "--last-failed is to run them again": settings.last_failed,
        "--update-snapshots needs their tokens": settings.update_snapshots,
    }
    why_not = next((reason for reason, is_set in needs_sessions.items() if is_set), "")
    return ReuseOptions(max_age=timedelta(days=days), why_not=why_not)


def unverified_commit(settings: Settings, context: LaunchContext) -> str:
    """The commit of which an untrusted contributor stored the results that are reported; empty: they are trusted."""
    event = context.job.event if context.job else None
    if not (settings.compare_suites and event and event.untrusted):
        return ""
    return event.head.sha if event.head else "the head of the pull request"


def suite_comparison(settings: Settings, config: Config, context: LaunchContext) -> SuiteComparison | None:
    """How stored results are compared with the checkout; None: not at all, such as those that are only shown.

    In a workflow that the commit itself defines there is no base to compare with, and nothing to protect.
    """
    if not settings.compare_suites or unverified_commit(settings, context):
        return None
    from skillgym_action.github.event import EVENTS_WITH_SECRETS

    event = context.job.event if context.job else None
    of_other_workflow = event is not None and event.name in EVENTS_WITH_SECRETS
    selects = settings.paths or settings.runner or settings.case or settings.tag or settings.match
    without: Literal["error", "warning", "nothing"] = "warning" if of_other_workflow else "nothing"
    return SuiteComparison(
        complete=(of_other_workflow or bool(selects)) and not settings.changed_skills,
        runners=runner_ids(config, settings.runner),
        without_checkout=without if context.job else "error",
    )
