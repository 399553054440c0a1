"""Where the tool was started: the working directory, the repository, the environment, and the job on GitHub."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.repository.checkout import Checkout
from skillgym_action.repository.repository import repository_root
from skillgym_action.repository.suite_source import SuiteSource, checkout_as_source
from skillgym_action.text.redaction import Redactor, secret_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.github.event import GitHubEvent


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A step of a job on GitHub: what started it, the token that may write for it, and what the runner reads of it.

    Without ``programs`` no configuration that is a program is run.
    Without ``token`` nothing is said on a pull request; without ``summary`` or ``outputs`` that file is not written.
    ``untrusted_repository``: whose commit it is, if agents must not see the agent configuration in it.
    """

    event: GitHubEvent | None = None
    token: str | None = field(default=None, repr=False)
    annotations: bool = False
    programs: bool = True
    summary: Path | None = None
    outputs: Path | None = None
    untrusted_repository: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """Where we are: the working directory, the repository around it, the environment as it was, and the job around.

    ``redactor`` knows the environment's secrets, and those of runners as soon as there are any. ``checkout`` is the
    repository's folder, opened before anything in it is read. ``separate_source``: the
    folder that suites and configuration are read from, if that is not the checkout.
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
        """Where suites and the configuration are read from."""
        return self.separate_source or checkout_as_source(self.cwd, self.checkout)

    @property
    def node(self) -> str | None:
        """The Node that executes suites, where one is named."""
        return self.environment.get("SKILLGYM_NODE")


def current_context(cwd: Path, environment: Mapping[str, str], job: Job | None = None) -> Context:
    """The place of a working directory."""
    absolute = Path(os.path.realpath(cwd))
    redactor = Redactor(secret_values(environment))
    root = repository_root(absolute)
    return Context(
        cwd=absolute, root=root, checkout=Checkout(root), environment=environment, redactor=redactor, job=job
    )
