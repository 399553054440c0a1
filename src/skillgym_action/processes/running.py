"""Programs that the supervisor has started: waited for, ended, and the processes that run them."""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from skillgym_action.limits import END_SECONDS, START_SECONDS
from skillgym_action.supervisor.messages import WAIT_STATUS, ConnectionLostError, receive, send

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence


class LostError(OSError):
    """The process that runs a session's programs has ended: it was killed, or the supervisor was."""

    def __init__(self) -> None:
        """Shown like any other error of the system."""
        super().__init__(errno.ECONNRESET, "the process that runs the session's programs was killed")


class RunningProgram(Protocol):
    """A program that runs, with all processes that it starts."""

    root: int
    """Process id: the program is this process or a descendant of it."""

    def fileno(self) -> int:
        """A descriptor that becomes readable when the program has ended."""
        ...

    def end(self, grace: float) -> None:
        """Terminate the program and its descendants, kill them after ``grace`` seconds."""
        ...

    def exit_code(self) -> int | None:
        """Its exit code, once it has ended; negative: the signal that ended it; None: unknown."""
        ...


class Worker:
    """A worker of one user, then the program that it executes; fulfils ``RunningProgram``."""

    def __init__(
        self, connection: socket.socket, status: int, groups: tuple[int, ...], send_signal: Callable[[int], None]
    ) -> None:
        """``status`` becomes readable when the process has ended; ``send_signal`` reaches all processes of the user."""
        self.connection, self.groups, self.root = connection, groups, 0
        self._status, self._send_signal = status, send_signal

    def request(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> Any:
        """Send a request; its reply. Raises OSError, ConnectionLostError."""
        self.send(message, descriptors)
        return self.reply()

    def send(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        """Send a message that has no reply. Raises ConnectionLostError."""
        send(self.connection, message, descriptors)

    def reply(self) -> Any:
        """The next reply. Raises OSError, ConnectionLostError."""
        received = receive(self.connection)
        if received is None:
            raise ConnectionLostError("the worker has ended")
        reply, _ = received
        if "error" in reply:
            raise OSError(reply.get("errno"), str(reply["error"]))
        return reply.get("value")

    def become(self, request: dict[str, Any], descriptors: Sequence[int]) -> Worker:
        """Have the worker execute a program, which then runs as this. Raises OSError, ConnectionLostError."""
        try:
            send(self.connection, {**request, "op": "become"}, descriptors)
            failed = receive(self.connection)  # None if it succeeds, since the exec closes the connection
        except ConnectionLostError:
            os.close(self._status)
            raise
        finally:
            self.connection.close()
        if failed:
            os.close(self._status)
            raise OSError(failed[0].get("errno"), str(failed[0].get("error")))
        return self

    def close(self) -> None:
        """Let the worker end, and wait for that."""
        self.connection.close()
        _wait_readable(self._status, END_SECONDS)
        os.close(self._status)

    def fileno(self) -> int:
        return self._status

    def end(self, grace: float) -> None:
        """Terminate all processes of the user, kill them after ``grace`` seconds."""
        self._send_signal(signal.SIGTERM)
        if not _wait_readable(self._status, grace):
            self._send_signal(signal.SIGKILL)

    def exit_code(self) -> int | None:
        """Wait until the program has ended; its exit code. To be called once."""
        status = os.read(self._status, WAIT_STATUS.size) if _wait_readable(self._status, END_SECONDS) else b""
        os.close(self._status)
        if len(status) != WAIT_STATUS.size:
            return None
        return os.waitstatus_to_exitcode(WAIT_STATUS.unpack(status)[0])


class Subreaper:
    """A process that runs one program at a time; fulfils ``RunningProgram`` while it does."""

    def __init__(self, connection: socket.socket, idle: list[Subreaper]) -> None:
        """``idle`` is the list it is added to after a program, to wait for the next one."""
        self.connection, self.root = connection, 0
        self._idle = idle

    def run(self, request: dict[str, Any], descriptors: Sequence[int]) -> Subreaper:
        """Start a program. Raises OSError, ConnectionLostError."""
        try:
            send(self.connection, {**request, "op": "run"}, descriptors)
            if not self.root:
                self.root = int(self._reply()["pid"])
            reply = self._reply()
        except ConnectionLostError:
            self.connection.close()
            raise
        if "error" in reply:
            self._idle.append(self)
            raise OSError(reply["errno"], str(reply["error"]))
        return self

    def _reply(self) -> dict[str, Any]:
        """The next reply, even of a subreaper that its program has stopped at once. Raises ConnectionLostError."""
        if not _wait_readable(self.connection.fileno(), START_SECONDS):
            self._signal(signal.SIGCONT)
            if not _wait_readable(self.connection.fileno(), END_SECONDS):
                self._signal(signal.SIGKILL)  # then the supervisor ends what it left
                raise ConnectionLostError("the subreaper does not answer")
        received = receive(self.connection)
        if received is None:
            raise ConnectionLostError("the subreaper has ended")
        return received[0]

    def close(self) -> None:
        """Let it end."""
        self.connection.close()

    def fileno(self) -> int:
        """A descriptor that becomes readable when the program has ended, and all processes it left."""
        return self.connection.fileno()

    def end(self, grace: float) -> None:
        self._signal(signal.SIGCONT)  # a program of the same user may have stopped it
        with suppress(ConnectionLostError):
            send(self.connection, {"op": "end", "grace": grace})

    def exit_code(self) -> int | None:
        """Wait until the program has ended, and all processes it left; its exit code. Then the subreaper is idle."""
        message = None
        if _wait_readable(self.connection.fileno(), END_SECONDS):
            with suppress(ConnectionLostError):
                message = receive(self.connection)
        else:
            self._signal(signal.SIGKILL)  # then the supervisor ends what it left
        if message is None:
            self.connection.close()
            return None
        self._idle.append(self)
        return os.waitstatus_to_exitcode(int(message[0]["status"]))

    def _signal(self, number: int) -> None:
        """Signal the subreaper alone; its connection is open, so it has not ended and its process id is not reused."""
        if self.root:
            with suppress(ProcessLookupError):
                os.kill(self.root, number)


class PipedProgram:
    """A running program connected by pipes, with the methods of ``subprocess.Popen`` that suite hosts need.

    ``stdin`` and ``stdout`` are the descriptors of the tool's ends of the pipes.
    """

    def __init__(self, running: RunningProgram, stdin: int, stdout: int) -> None:
        """``close`` closes the pipes."""
        self.stdin, self.stdout = stdin, stdout
        self._running = running
        self._code: int | None = None
        self._has_ended = False

    def wait(self, seconds: float) -> int | None:
        """Its exit code; None: unknown. Raises subprocess.TimeoutExpired while it runs."""
        if not self._has_ended:
            poll = select.poll()
            poll.register(self._running.fileno(), select.POLLIN)
            if not poll.poll(seconds * 1000):
                raise subprocess.TimeoutExpired("a suite host", seconds)
            self._code, self._has_ended = self._running.exit_code(), True
        return self._code

    def end(self, grace: float) -> None:
        """Terminate the program and its descendants, kill them after ``grace`` seconds."""
        if not self._has_ended:
            self._running.end(grace)
            self._code, self._has_ended = self._running.exit_code(), True

    def close_stdin(self) -> None:
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def close(self) -> None:
        """Close the pipes; the program has ended."""
        self.close_stdin()
        if self.stdout >= 0:
            with suppress(OSError):
                os.close(self.stdout)
            self.stdout = -1


def _wait_readable(descriptor: int, seconds: float) -> bool:
    """Whether a descriptor becomes readable, or is closed at the other end, within so many seconds."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    deadline = time.monotonic() + seconds
    while not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        if time.monotonic() >= deadline:
            return False
    return True
