"""What the format of a suite does in the container of a session, before the agent and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.assertion import CommandResult
    from skillgym_action.model.containers import ContainerCommand
    from skillgym_action.model.session_report import Trouble


class CaseContainer(Protocol):
    """The container of a session. All operations raise OSError if it is gone, or the engine refuses."""

    @property
    def image_user(self) -> str:
        """The user that the image sets."""
        ...

    @property
    def workdir(self) -> str:
        """The folder that the agent works in; absolute."""
        ...

    def put(self, folder: Path, path: str) -> None:
        """Copy a folder of this machine to the absolute ``path``, with root as the owner and everybody as reader.

        What is there already stays, unless it has the path of one of the files. Links are copied as links.
        """
        ...

    def read(self, path: str, size: int) -> bytes | None:
        """The content of a regular file; None: there is none, or it has more than ``size`` bytes."""
        ...

    def run(self, command: ContainerCommand) -> CommandResult:
        """Run a program to its end, with its output in artifacts. Afterwards no process is left in the container."""
        ...

    def pause(self, seconds: float) -> None:
        """Wait. Raises InterruptedError, an OSError, once the run is cancelled."""
        ...


class ContainerPreparation(Protocol):
    """What is done in the container of a session before its agent starts."""

    def prepare(self, container: CaseContainer) -> Trouble | None:
        """Prepare the container; why the session cannot begin, if so. Raises OSError."""
        ...


class ContainerSolution(Protocol):
    """A reference solution that is a program: it is run in the container in place of an agent."""

    @property
    def command(self) -> tuple[str, ...]:
        """What is run, in the working directory of the agent."""
        ...

    @property
    def env(self) -> tuple[tuple[str, str], ...]:
        """Environment variables for it."""
        ...

    def preparation(self, usual: ContainerPreparation | None) -> ContainerPreparation:
        """The preparation of a session that runs the solution, in place of the usual one."""
        ...
