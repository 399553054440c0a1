"""Programs that the supervisor has started: waited for and ended; and the client of the supervisor."""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

from skillgym_action.model.limits import LEFTOVER_GRACE_SECONDS
from skillgym_action.model.session import Identity
from skillgym_action.system.supervisor.messages import WAIT_STATUS, ConnectionLostError, receive, send
from skillgym_action.system.supervisor.process_signals import ProcessHandle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

START_SECONDS = 1.0  # in which the supervisor nearly always has started a program
END_SECONDS = 15.0  # to wait for the end of a process that has been killed or asked to exit


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

    def leave(self) -> None:
        """Let the worker end when it has done what it does, without waiting for that."""
        self.connection.close()
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
        self._process: ProcessHandle | None = None  # known from its first message on

    def run(self, request: dict[str, Any], descriptors: Sequence[int]) -> Subreaper:
        """Start a program. Raises OSError, ConnectionLostError."""
        try:
            send(self.connection, {**request, "op": "run"}, descriptors)
            if not self.root:
                self._meet(*self._reply())
            reply, _ = self._reply()
        except ConnectionLostError:
            self.close()
            raise
        if "error" in reply:
            self._idle.append(self)
            raise OSError(reply["errno"], str(reply["error"]))
        return self

    def _meet(self, introduction: dict[str, Any], descriptors: Sequence[int]) -> None:
        self.root = int(introduction["pid"])
        self._process = ProcessHandle(self.root, introduction["start"], next(iter(descriptors), None))

    def _reply(self) -> tuple[dict[str, Any], Sequence[int]]:
        """The next reply, even of a subreaper that its program has stopped at once. Raises ConnectionLostError."""
        if not _wait_readable(self.connection.fileno(), START_SECONDS):
            self._signal(signal.SIGCONT)
            if not _wait_readable(self.connection.fileno(), END_SECONDS):
                self._signal(signal.SIGKILL)  # then the supervisor ends what it left
                raise ConnectionLostError("the subreaper does not answer")
        received = receive(self.connection)
        if received is None:
            raise ConnectionLostError("the subreaper has ended")
        return received

    def close(self) -> None:
        """Let it end."""
        self.connection.close()
        if self._process:
            self._process.close()

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
            self.close()
            return None
        self._idle.append(self)
        return os.waitstatus_to_exitcode(int(message[0]["status"]))

    def _signal(self, number: int) -> None:
        """Signal the subreaper alone, unless it has ended: a program of the same user can kill it."""
        if self._process:
            self._process.signal(number)


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


PACKAGE_PARENT = os.fspath(Path(__file__).parents[3])
PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); from skillgym_action.system.supervisor.supervisor import main; main()"
)
STREAM_BUFFER_BYTES = 256 * 1024


class SupervisorClient:
    """Starts the supervisor, and programs through it. ``close`` ends all of them.

    As root each session has a user id of its own. Workers on its files and programs that run as it are forked from the
    supervisor; before each step all processes of the user are killed. Without root, subreapers run one program at a
    time and end the processes that it left.
    """

    def __init__(self) -> None:
        """The process starts at once, and is not waited for. Raises OSError."""
        self._control, theirs = socket.socketpair()
        # -I -S: neither the environment nor the working directory nor installed packages decide which code runs.
        argv = (sys.executable, "-I", "-S", "-B", "-c", PROGRAM, PACKAGE_PARENT, str(theirs.fileno()))
        null = subprocess.DEVNULL
        with theirs:
            self._process = subprocess.Popen(
                argv,
                cwd="/",
                env={},
                pass_fds=[theirs.fileno()],
                stdin=null,
                stdout=null,
                stderr=null,
                start_new_session=True,
            )
        self.pid = self._process.pid
        self._lock = threading.Lock()
        self._idle: dict[tuple[tuple[int, int], ...], list[Subreaper]] = {}  # by the resource limits of their programs
        self._folders: dict[int, Mapping[str, int]] = {}  # by uid: names and descriptors
        self._workers: dict[int, Worker] = {}

    def close(self, limit: float = END_SECONDS) -> None:
        """End all processes that still run; returns when they have ended, or after ``limit`` seconds."""
        for worker in list(self._workers.values()):
            worker.close()
        for subreaper in chain.from_iterable(self._idle.values()):
            subreaper.close()
        self._control.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(limit)

    def remove_at_exit(self, folder: int, parent: int, name: str) -> None:
        """Have a folder removed when the tool has ended, even if it was killed. ``name`` is the one in ``parent``."""
        self._send({"op": "folder", "name": name}, [folder, parent])

    def empty_folder(self, folder: int) -> None:
        """Have a folder of the tool emptied; returns at once."""
        self._send({"op": "empty"}, [folder])

    def keep_open(self, file: int, unused_uid: int) -> None:
        """Keep a file open, and with it its locks, until the supervisor ends.

        ``unused_uid``: a user id that no process has, which the supervisor takes while it signals a session's user.
        """
        self._send({"op": "hold", "unused_uid": unused_uid}, [file])

    def _send(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        with self._lock:
            send(self._control, request, descriptors)

    # --- programs --------------------------------------------------------------------------------

    def start(self, request: dict[str, Any], descriptors: Sequence[int], identity: Identity | None) -> RunningProgram:
        """Start a program (see ``supervisor.child``). Raises OSError if it cannot be started."""
        try:
            if identity and identity.is_own:
                return self._become(request, descriptors, identity)
            return self._run(request, descriptors, identity)
        except ConnectionLostError as error:
            raise LostError from error

    def _become(self, request: dict[str, Any], descriptors: Sequence[int], identity: Identity) -> RunningProgram:
        worker = self._worker(identity)
        del self._workers[identity.uid]
        return worker.become(request, descriptors)

    def _run(self, request: dict[str, Any], descriptors: Sequence[int], identity: Identity | None) -> RunningProgram:
        limits = request["rlimits"]
        with self._lock:
            idle = self._idle.setdefault(limits, [])
            subreaper = idle.pop() if idle else None
        if subreaper is None:
            connection, theirs = socket.socketpair()
            with theirs:
                self._send({"op": "subreaper", "rlimits": limits}, [theirs.fileno()])
            subreaper = Subreaper(connection, idle)
        user = {"uid": identity.uid, "gid": identity.gid, "groups": identity.groups} if identity else {}
        return subreaper.run({**request, **user}, descriptors)

    # --- files of sessions with a user of their own ---------------------------------------------

    def attach(self, identity: Identity, folders: Mapping[str, int]) -> None:
        """Let workers of that user work on these folders, by name and descriptor."""
        self._folders[identity.uid] = folders

    def detach(self, identity: Identity) -> None:
        """End the user's worker, and its other processes if the user is the session's own. Raises OSError."""
        try:
            if identity.is_own:
                self._worker(identity)
        except ConnectionLostError as error:
            raise LostError from error
        finally:
            self.drop_worker(identity)
            self._folders.pop(identity.uid, None)

    def end_all(self, identity: Identity) -> None:
        """End all processes of the user, by starting a worker. Raises OSError if some cannot be ended."""
        try:
            self._worker(Identity(uid=identity.uid, gid=identity.gid))
        except ConnectionLostError as error:
            self.drop_worker(identity)
            raise LostError from error

    def request(
        self,
        identity: Identity,
        request: dict[str, Any],
        descriptors: Sequence[int] = (),
        wait: Callable[[int], None] = lambda _: None,
    ) -> Any:
        """Send a request to the user's worker (see ``supervisor.worker``); its reply. Raises OSError.

        ``wait``: waits for a descriptor to become readable. If it raises OSError, the worker is left to itself: it ends
        when it has done the request, and before that, if the user is a session's own, when the next worker starts.
        """
        try:
            worker = self._worker(identity)
            worker.send(request, descriptors)
            self._wait(identity, worker, wait)
            return worker.reply()
        except ConnectionLostError as error:
            self.drop_worker(identity)
            raise LostError from error

    def _wait(self, identity: Identity, worker: Worker, wait: Callable[[int], None]) -> None:
        try:
            wait(worker.connection.fileno())
        except OSError:
            self._workers.pop(identity.uid, None)
            worker.leave()
            raise

    def call(
        self, identity: Identity, *calls: tuple[Any, ...], wait: Callable[[int], None] = lambda _: None
    ) -> list[Any]:
        """Have a worker call methods, given as (folder, name, *arguments); their values. Raises OSError."""
        request = {"op": "call", "calls": [(place, name, arguments) for place, name, *arguments in calls]}
        return list(self.request(identity, request, wait=wait))

    def replace_folder(self, identity: Identity, name: str, folder: int) -> None:
        """Have the user's worker, if there is one, use another folder under that name."""
        if worker := self._workers.get(identity.uid):
            try:
                worker.send({"op": "folder", "place": name}, [folder])
            except ConnectionLostError:
                self.drop_worker(identity)

    def drop_worker(self, identity: Identity) -> None:
        """End the user's worker; the next request starts another one."""
        if worker := self._workers.pop(identity.uid, None):
            worker.close()

    def stream(self, identity: Identity, request: dict[str, Any]) -> IO[bytes]:
        """Send a request whose reply is followed by a stream, to be read to its end. Raises OSError."""
        self.request(identity, request)
        return cast("IO[bytes]", self._workers[identity.uid].connection.makefile("rb", buffering=STREAM_BUFFER_BYTES))

    def _worker(self, identity: Identity) -> Worker:
        """The user's worker; if it has none with these groups, a new one, which ends the user's other processes."""
        worker = self._workers.get(identity.uid)
        if worker and worker.groups == identity.groups:
            return worker
        self.drop_worker(identity)
        folders = self._folders.get(identity.uid, {})
        connection, theirs = socket.socketpair()
        status, write = os.pipe()
        request = {
            "op": "worker",
            "uid": identity.uid,
            "gid": identity.gid,
            "groups": identity.groups,
            "own": identity.is_own,
            "grace": LEFTOVER_GRACE_SECONDS,
            "places": [*folders],
        }
        try:
            with theirs:
                self._send(request, [theirs.fileno(), write, *folders.values()])
        finally:
            os.close(write)
        worker = Worker(connection, status, identity.groups, partial(self.signal, identity))
        try:
            worker.root = worker.reply()  # now it runs as the user, and no other process of the user is left
        # Also a cancellation: a worker that has not begun gets no more requests, and its descriptors would stay open.
        except BaseException:
            worker.close()
            raise
        self._workers[identity.uid] = worker
        return worker

    def signal(self, identity: Identity, number: int) -> None:
        """Send a signal to all processes of the user."""
        with suppress(ConnectionLostError):
            self._send({"op": "signal", "uid": identity.uid, "gid": identity.gid, "number": number})
