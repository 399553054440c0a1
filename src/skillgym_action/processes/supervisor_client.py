"""The tool's side of the supervisor: the small process that starts every program (see ``supervisor.supervisor``).

As root each session has a user id of its own. Workers on its files and programs that run as it are forked from the
supervisor; before each step all processes of the user are killed. Without root, subreapers run one program at a time
and end the processes that it left.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from skillgym_action.limits import END_SECONDS, LEFTOVER_GRACE_SECONDS
from skillgym_action.model.session import Identity
from skillgym_action.processes.running import LostError, RunningProgram, Subreaper, Worker
from skillgym_action.supervisor.messages import ConnectionLostError, send

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


PACKAGE_PARENT = os.fspath(Path(__file__).parent.parent.parent)
PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from skillgym_action.supervisor.supervisor import main; main()"
STREAM_BUFFER_BYTES = 256 * 1024


class SupervisorClient:
    """Starts the supervisor, and programs through it. ``close`` ends all of them."""

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
        """Start a program (see ``supervisor.program``). Raises OSError if it cannot be started."""
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

    def request(self, identity: Identity, request: dict[str, Any], descriptors: Sequence[int] = ()) -> Any:
        """Send a request to the user's worker (see ``supervisor.worker``); its reply. Raises OSError."""
        try:
            return self._worker(identity).request(request, descriptors)
        except ConnectionLostError as error:
            self.drop_worker(identity)
            raise LostError from error

    def call(self, identity: Identity, *calls: tuple[Any, ...]) -> list[Any]:
        """Have a worker call methods, given as (folder, name, *arguments); their values. Raises OSError."""
        request = {"op": "call", "calls": [(place, name, arguments) for place, name, *arguments in calls]}
        return list(self.request(identity, request))

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
