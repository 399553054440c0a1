"""Programs that the supervisor has started: waited for, ended, and the processes that run them."""

from __future__ import annotations

import errno
import os
import select
import signal
import struct
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from skillgym_action.supervisor.messages import ConnectionLostError, receive, send

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

STATUS = struct.Struct("=i")
STARTED = 1.0  # seconds in which a program nearly always has been started
ENDED = 15.0  # seconds that a process has to end that must end


class LostError(OSError):
    """The process that looked after a session is gone: it was killed, or the supervisor was."""

    def __init__(self) -> None:
        """Shown like any other error of the system."""
        super().__init__(errno.ECONNRESET, "the process that runs the session's programs was killed")


class Running(Protocol):
    """A program that runs, with everything it starts."""

    root: int
    """Process id: the program runs in it or below."""

    def fileno(self) -> int:
        """Readable as soon as it has ended."""
        ...

    def end(self, grace: float) -> None:
        """Ask all of it to end, kill what is left after ``grace`` seconds."""
        ...

    def exit_code(self) -> int | None:
        """Its exit code, once it has ended; negative: the signal that ended it; None: nobody can tell."""
        ...


class Worker:
    """A worker of one user, then the program that it has become; fulfils ``Running``."""

    def __init__(
        self, link: socket.socket, status: int, groups: tuple[int, ...], signalled: Callable[[int], None]
    ) -> None:
        """``status`` becomes readable when the process has ended; ``signalled`` signals all that the user runs."""
        self.link, self.groups, self.root = link, groups, 0
        self._status, self._signalled = status, signalled

    def ask(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> Any:
        """The answer. Raises OSError, ConnectionLostError."""
        self.tell(request, descriptors)
        return self.answer()

    def tell(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        """Send what is not answered. Raises ConnectionLostError."""
        send(self.link, request, descriptors)

    def answer(self) -> Any:
        """The next answer. Raises OSError, ConnectionLostError."""
        received = receive(self.link)
        if received is None:
            raise ConnectionLostError("the worker has ended")
        answer, _ = received
        if "error" in answer:
            raise OSError(answer.get("errno"), str(answer["error"]))
        return answer.get("value")

    def become(self, request: dict[str, Any], descriptors: Sequence[int]) -> Worker:
        """The running program. Raises OSError, ConnectionLostError."""
        try:
            send(self.link, {**request, "op": "become"}, descriptors)
            failed = receive(self.link)  # nothing, since the link is closed by the exec
        except ConnectionLostError:
            os.close(self._status)
            raise
        finally:
            self.link.close()
        if failed:
            os.close(self._status)
            raise OSError(failed[0].get("errno"), str(failed[0].get("error")))
        return self

    def close(self) -> None:
        """Let the worker end, and wait for that."""
        self.link.close()
        _readable(self._status, ENDED)
        os.close(self._status)

    def fileno(self) -> int:
        """Readable as soon as the program has ended."""
        return self._status

    def end(self, grace: float) -> None:
        """End all that the user runs."""
        self._signalled(signal.SIGTERM)
        if not _readable(self._status, grace):
            self._signalled(signal.SIGKILL)

    def exit_code(self) -> int | None:
        """Waits until the program has ended."""
        told = os.read(self._status, STATUS.size) if _readable(self._status, ENDED) else b""
        os.close(self._status)
        return os.waitstatus_to_exitcode(STATUS.unpack(told)[0]) if len(told) == STATUS.size else None


class Subreaper:
    """A process that runs one program at a time; fulfils ``Running`` while it does."""

    def __init__(self, link: socket.socket, idle: list[Subreaper]) -> None:
        """``idle`` is where it waits for its next program."""
        self.link, self.root = link, 0
        self._idle = idle

    def run(self, request: dict[str, Any], descriptors: Sequence[int]) -> Subreaper:
        """The running program. Raises OSError, ConnectionLostError."""
        try:
            send(self.link, {**request, "op": "run"}, descriptors)
            if not self.root:
                self.root = int(self._answer()["pid"])
            answer = self._answer()
        except ConnectionLostError:
            self.link.close()
            raise
        if "error" in answer:
            self._idle.append(self)
            raise OSError(answer["errno"], str(answer["error"]))
        return self

    def _answer(self) -> dict[str, Any]:
        """The next answer, also of a subreaper that its program has stopped at once. Raises ConnectionLostError."""
        if not _readable(self.link.fileno(), STARTED):
            self._signal(signal.SIGCONT)
            if not _readable(self.link.fileno(), ENDED):
                self._signal(signal.SIGKILL)  # then the supervisor ends what it left
                raise ConnectionLostError("the subreaper does not answer")
        received = receive(self.link)
        if received is None:
            raise ConnectionLostError("the subreaper has ended")
        return received[0]

    def close(self) -> None:
        """Let it end."""
        self.link.close()

    def fileno(self) -> int:
        """Readable as soon as the program has ended, and all it left."""
        return self.link.fileno()

    def end(self, grace: float) -> None:
        """End the program and all that it started."""
        self._signal(signal.SIGCONT)  # a program of the same user may have stopped it
        with suppress(ConnectionLostError):
            send(self.link, {"op": "end", "grace": grace})

    def exit_code(self) -> int | None:
        """Waits until the program has ended, and all it left. The subreaper is free then."""
        answer = None
        if _readable(self.link.fileno(), ENDED):
            with suppress(ConnectionLostError):
                answer = receive(self.link)
        else:
            self._signal(signal.SIGKILL)  # then the supervisor ends what it left
        if answer is None:
            self.link.close()
            return None
        self._idle.append(self)
        return os.waitstatus_to_exitcode(int(answer[0]["status"]))

    def _signal(self, number: int) -> None:
        """To the subreaper alone, whose link is open: it has not ended."""
        if self.root:
            with suppress(ProcessLookupError):
                os.kill(self.root, number)


def _readable(descriptor: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    deadline = time.monotonic() + seconds
    while not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        if time.monotonic() >= deadline:
            return False
    return True
