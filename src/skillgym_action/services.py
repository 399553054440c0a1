"""The doors to the outside world, opened once by the command line and handed down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from skillgym_action.cancellation import Cancellation
    from skillgym_action.clock import Clock
    from skillgym_action.github.publisher import Publisher
    from skillgym_action.judge.client import Judge
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.links import Links
    from skillgym_action.model.result import Result
    from skillgym_action.model.session_report import Price
    from skillgym_action.processes.agent_installs import AgentInstalls
    from skillgym_action.processes.processes import Processes
    from skillgym_action.repository.repository import Repository
    from skillgym_action.repository.suite_source import SuiteSource
    from skillgym_action.storage.run_directory import RunDirectory
    from skillgym_action.storage.snapshot_file import SnapshotFile
    from skillgym_action.suite_hosts.suite_host import SuiteHosts
    from skillgym_action.user_templates.renderer import ReportTemplates
    from skillgym_action.workspaces.untrusted_configuration import UntrustedConfiguration
    from skillgym_action.workspaces.workspaces import Workspaces


class Observer(Protocol):
    """Whoever watches a run: the terminal; on GitHub the pull request as well."""

    def planned(self, total: int) -> None:
        """That many results will come."""
        ...

    def started(self, execution: Execution) -> None:
        """An execution has begun."""
        ...

    def finished(self, result: Result) -> None:
        """An execution has a result."""
        ...

    def progress(self, line: str) -> None:
        """A line for people."""
        ...

    def say(self, line: str) -> None:
        """A line for machines."""
        ...


class Observers:
    """Two that watch a run: the terminal, which also speaks, and the pull request."""

    def __init__(self, terminal: Observer, publisher: Publisher) -> None:
        """Both are told of everything."""
        self._terminal, self._publisher = terminal, publisher
        self.progress, self.say = terminal.progress, terminal.say

    def planned(self, total: int) -> None:
        """That many results will come."""
        self._terminal.planned(total)
        self._publisher.planned(total)

    def started(self, execution: Execution) -> None:
        """An execution has begun."""
        self._terminal.started(execution)

    def finished(self, result: Result) -> None:
        """An execution has a result."""
        self._terminal.finished(result)
        self._publisher.finished(result)


@dataclass(frozen=True, kw_only=True, slots=True)
class Services:
    """What stages may reach. ``cwd`` is absolute; ``links`` and ``publisher`` are there on GitHub.

    ``suites``: what suites are read from: ``repository``, or the folder of ``suite_source``.
    ``judge``: the model that graders ask, ``snapshots``: the tokens executions used, ``prices``: of a million tokens,
    by model; where they are configured.
    ``untrusted_configuration``: agent configuration of an untrusted commit, which agents must not see. ``templates``:
    report templates of the user's.
    """

    cwd: Path
    repository: Repository
    suite_source: SuiteSource
    suites: Repository
    processes: Processes
    workspaces: Workspaces
    hosts: SuiteHosts
    installs: AgentInstalls
    directory: RunDirectory
    clock: Clock
    cancelled: Cancellation
    observer: Observer
    links: Links | None = None
    publisher: Publisher | None = None
    judge: Judge | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    snapshots: SnapshotFile | None = None
    untrusted_configuration: UntrustedConfiguration | None = None
    templates: ReportTemplates | None = None
