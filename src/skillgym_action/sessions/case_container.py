"""The container of a session, as the format of its suite uses it; implements ``model.assertion.CaseContainer``."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.errors import SandboxError
from skillgym_action.model.limits import COMMAND_TAIL_BYTES
from skillgym_action.model.records import record
from skillgym_action.model.session import Ending
from skillgym_action.system.clock import wait_readable
from skillgym_action.system.files.bundle import BundleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from skillgym_action.model.assertion import CaseContainer
    from skillgym_action.model.containers import ContainerCommand, ContainerSpec
    from skillgym_action.model.session import Capture
    from skillgym_action.services import Services
    from skillgym_action.workspaces.container_workspace import ContainerWorkspace
    from skillgym_action.workspaces.workspace import SessionWorkspace


@record(kw_only=False)
class CommandRun:
    """The result of a command; implements ``model.assertion.CommandResult``."""

    capture: Capture

    @property
    def exit_code(self) -> int | None:
        return self.capture.exit_code if self.capture.ending is Ending.EXITED else None

    @property
    def timed_out(self) -> bool:
        return self.capture.ending is Ending.TIMED_OUT

    @property
    def seconds(self) -> float:
        return self.capture.seconds

    @property
    def logs(self) -> tuple[str, ...]:
        return self.capture.logs

    @property
    def tail(self) -> str:
        return self.capture.stdout.tail(COMMAND_TAIL_BYTES) + self.capture.stderr.tail(COMMAND_TAIL_BYTES)


@record
class SessionCaseContainer:
    """``logs``: returns the files for the output of the next program."""

    services: Services
    workspace: ContainerWorkspace
    image_user: str
    logs: Callable[[], tuple[Path, Path]]

    @property
    def workdir(self) -> str:
        return str(self.workspace.places.workspace)

    def put(self, folder: Path, path: str) -> None:
        """Copy a folder of this machine; only root in the container may write to the copies."""
        self.workspace.put_folder(folder, path)

    def read(self, path: str, size: int) -> bytes | None:
        with _as_oserror():
            try:
                return self.workspace.container.read(path, size)
            except BundleError:
                return None

    def run(self, command: ContainerCommand) -> CommandRun:
        """Run a program, while the session occupies no slot for work of the tool."""
        stdout, stderr = self.logs()
        with _as_oserror(), self.services.processes.work_slots.released():
            capture = self.workspace.container.run(command, stdout=stdout, stderr=stderr)
        self.workspace.mark_stale()
        if capture.ending is Ending.LOST:
            raise OSError(capture.error or "the container of the session is gone")
        self.services.directory.redact(stdout, stderr)
        written = ((capture.stdout, stdout), (capture.stderr, stderr))
        return CommandRun(replace(capture, logs=tuple(path.name for output, path in written if output.tail(1))))

    def pause(self, seconds: float) -> None:
        """Wait, while the session occupies no slot for work of the tool."""
        with self.services.processes.work_slots.released():
            wait_readable([self.services.cancelled.fileno()], seconds)
        self.services.cancelled.raise_if_cancelled()


def container_of_session(
    services: Services, workspace: SessionWorkspace, spec: ContainerSpec, logs: Callable[[], tuple[Path, Path]]
) -> CaseContainer:
    """The container that a session is in, with its image. Raises OSError if there is none."""
    from skillgym_action.workspaces.container_workspace import ContainerWorkspace  # few runs need it

    if services.containers is None or not isinstance(workspace, ContainerWorkspace):
        raise OSError("the session runs in no container")
    with _as_oserror():
        user = services.containers().sandbox.image(spec).user
    return SessionCaseContainer(services=services, workspace=workspace, image_user=user or "root", logs=logs)


@contextmanager
def _as_oserror() -> Iterator[None]:
    """Raise OSError for what the engine refuses."""
    try:
        yield
    except SandboxError as error:
        raise OSError(str(error)) from error
