"""The doors to the outside world, opened once by the command line and handed down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.domain import Execution, Result
    from skillgym_action.effects.cancellation import Cancellation
    from skillgym_action.effects.clock import Clock
    from skillgym_action.effects.processes import Processes
    from skillgym_action.effects.repository import Repository
    from skillgym_action.effects.run_directory import RunDirectory
    from skillgym_action.effects.suite_host import SuiteHosts
    from skillgym_action.effects.workspace import Workspaces


class Observer(Protocol):
    """Whoever watches a run: the terminal."""

    def planned(self, total: int) -> None:
        """That many results will come."""
        ...

    def started(self, execution: Execution) -> None:
        """An execution has begun."""
        ...

    def finished(self, result: Result) -> None:
        """An execution has a result."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """What stages may reach. ``cwd`` is absolute."""

    cwd: Path
    repository: Repository
    processes: Processes
    workspaces: Workspaces
    hosts: SuiteHosts
    directory: RunDirectory
    clock: Clock
    cancelled: Cancellation
    observer: Observer
