"""Where the tool was started: working directory, repository, environment, and the job on GitHub."""

from __future__ import annotations

import os
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError
from skillgym_action.model.records import record
from skillgym_action.system.files.checkout import Checkout
from skillgym_action.system.processes.github_job import is_github_job
from skillgym_action.text.redaction import Redactor
from skillgym_action.workspaces.repository.repository import repository_root
from skillgym_action.workspaces.repository.suite_source import SuiteSource, checkout_as_source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.github.event import GitHubEvent


@record
class Job:
    """The GitHub job that the action runs in.

    Without ``token`` nothing is published on GitHub: None if nothing is to be, empty if the workflow passed none.
    Without ``summary`` or ``outputs`` that file is not written.
    ``programs``: whether a configuration file that is a program may be run. ``untrusted_repository``: the repository
    of the commit, if agents must not see the agent configuration in it; else None. ``workspace``: the folder that paths
    in outputs are relative to. ``confined``: whether files that are written outside of it are lost with the step.
    ``repository_token``: for git, also where nothing is published. ``stores``: whether this job may add results to the
    store, which one of ``mode: run`` leaves to the job that reports. ``matrix``: its matrix values, as JSON.
    """

    event: GitHubEvent | None = None
    token: str | None = field(default=None, repr=False)
    annotations: bool = False
    programs: bool = True
    summary: Path | None = None
    outputs: Path | None = None
    workspace: Path | None = None
    confined: bool = True
    untrusted_repository: str | None = None
    repository_token: str = field(default="", repr=False)
    stores: bool = True
    matrix: str = ""


@record
class LaunchContext:
    """Working directory, root of the repository around it, environment at the start, and job.

    ``redactor`` knows the secrets of the environment, and those of runners once they are read. ``checkout`` is the
    root as a descriptor, opened before anything in it is read. ``separate_source``: the folder
    that ``--suites-from`` names, if it is set.
    """

    cwd: Path
    root: Path
    checkout: Checkout
    environment: Mapping[str, str]
    redactor: Redactor
    job: Job | None = None
    separate_source: SuiteSource | None = None

    @property
    def suite_source(self) -> SuiteSource:
        """The folder that suites and the configuration file are read from."""
        return self.separate_source or checkout_as_source(self.cwd, self.checkout)

    @property
    def in_job(self) -> bool:
        """Whether the tool was started in a job on GitHub, also as a command."""
        return is_github_job(self.environment)

    @property
    def node(self) -> str | None:
        """The Node.js program for suites, if ``SKILLGYM_NODE`` names one."""
        return self.environment.get("SKILLGYM_NODE")


def current_context(cwd: Path, environment: Mapping[str, str], job: Job | None = None) -> LaunchContext:
    """The context of a process that was started in ``cwd``."""
    absolute = Path(os.path.realpath(cwd))
    redactor = Redactor.of_environment(environment)
    root = repository_root(absolute)
    return LaunchContext(
        cwd=absolute, root=root, checkout=Checkout(root), environment=environment, redactor=redactor, job=job
    )


def refuse_written(path: Path, named: str, context: LaunchContext) -> None:
    """Raises UsageError for a place of files that a commit has replaced by a link, or that the job would lose."""
    context.checkout.refuse(path, named)
    refuse_outside(path, named, context)


def refuse_outside(path: Path, named: str, context: LaunchContext) -> None:
    """Raises UsageError for a path that is written to, and lost at the end of the job's step."""
    job = context.job
    if job and job.confined and job.workspace and not Path(os.path.normpath(path)).is_relative_to(job.workspace):
        raise UsageError(
            f"{named} is outside of the workspace: it would be lost with the action's container",
            remedy="name a path in the workspace, without `..` that leads out of it",
        )
