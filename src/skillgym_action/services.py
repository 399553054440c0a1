"""The adapters to the outside, opened once by ``wiring`` and passed to the stages as one value."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from skillgym_action.agents.installation import AgentInstalls
    from skillgym_action.github.event import GitHubEvent
    from skillgym_action.github.publisher import Publisher
    from skillgym_action.history import Store
    from skillgym_action.judging.judge.client import Judge
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.report import Links
    from skillgym_action.model.result import Result
    from skillgym_action.model.session_report import Price
    from skillgym_action.reports.user_templates.renderer import ReportTemplates
    from skillgym_action.results.run_directory import RunDirectory
    from skillgym_action.results.snapshot_file import SnapshotFile
    from skillgym_action.suites.programs.hosts.suite_host import SuiteHosts
    from skillgym_action.system.cancellation import Cancellation
    from skillgym_action.system.clock import Clock
    from skillgym_action.system.processes.launcher import ProcessLauncher
    from skillgym_action.workspaces.repository.repository import Repository
    from skillgym_action.workspaces.repository.suite_source import SuiteSource
    from skillgym_action.workspaces.session_containers import SessionContainers
    from skillgym_action.workspaces.untrusted_configuration import UntrustedConfiguration
    from skillgym_action.workspaces.workspaces import Workspaces


class Observer(Protocol):
    """Is notified during a run. Implemented by the terminal, and on GitHub also by the publisher."""

    def planned(self, total: int) -> None:
        """Called before the first execution, and before a further stage of a run; ``total``: the results to come."""
        ...

    def started(self, execution: Execution) -> None:
        """An execution has started."""
        ...

    def finished(self, result: Result) -> None:
        """An execution has a result."""
        ...

    def progress(self, line: str) -> None:
        """Show a line to people."""
        ...

    def detail(self, line: str) -> None:
        """Show a line to people who have asked for more, such as the times of stages; the line is escaped here."""
        ...

    def write_line(self, line: str) -> None:
        """Write a line for machines, such as a workflow command; the caller has escaped it."""
        ...


class Observers:
    """Passes notifications on to the terminal and to the publisher; lines go to the terminal alone."""

    def __init__(self, terminal: Observer, publisher: Publisher) -> None:
        self._terminal, self._publisher = terminal, publisher
        self.progress, self.detail, self.write_line = terminal.progress, terminal.detail, terminal.write_line

    def planned(self, total: int) -> None:
        self._terminal.planned(total)
        self._publisher.planned(total)

    def started(self, execution: Execution) -> None:
        self._terminal.started(execution)

    def finished(self, result: Result) -> None:
        self._terminal.finished(result)
        self._publisher.finished(result)


@record
class Services:
    """The adapters that stages use. ``cwd`` is absolute.

    ``suites``: the repository that suites are read from; same as ``repository`` unless ``suite_source`` is separate.
    ``installs``: CLIs of agents. ``directory``: the run directory. ``links``, ``publisher`` and ``event``
    exist on GitHub only.
    Only if they are configured: ``judge``, the model that grades; ``snapshots``, stored token counts; ``prices`` per
    million tokens, by model; ``templates``, the user's report templates; ``store``, results of earlier runs.
    ``containers``: makes those of sessions; it is made on first use.
    ``untrusted_configuration``: hides agent configuration of an untrusted commit from agents; None: all is trusted.
    """

    cwd: Path
    repository: Repository
    suite_source: SuiteSource
    suites: Repository
    processes: ProcessLauncher
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
    event: GitHubEvent | None = None
    templates: ReportTemplates | None = None
    store: Store | None = None
    containers: Callable[[], SessionContainers] | None = None
