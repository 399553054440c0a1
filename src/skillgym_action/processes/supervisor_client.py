"""The tool's side of the supervisor: the small process that starts every program (see ``supervisor.supervisor``).

As root each session has a user id of its own. What works on its files and what runs as it are forked from the
supervisor; before each step all that the user runs is killed. Without root, subreapers run one program at a time and
end what it left.
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

from skillgym_action.model.session import Identity
from skillgym_action.processes.running import ENDED, LostError, Running, Subreaper, Worker
from skillgym_action.supervisor.messages import ConnectionLostError, send

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


PACKAGE_PARENT = os.fspath(Path(__file__).parent.parent.parent)
PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from skillgym_action.supervisor.supervisor import main; main()"
STREAM = 256 * 1024  # bytes that are read at a time
LEFT_GRACE = 0.3  # seconds that what a program left running has to end by itself


class SupervisorClient:
    """Starts the process, and programs through it. ``close`` ends all of them."""

    def __init__(self) -> None:
        """The process starts at once, and is not waited for. Raises OSError."""
        self._control, theirs = socket.socketpair()
        # -I -S: neither the environment nor the working directory nor installed packages have a say in what runs.
        argv = (sys.executable, "-I", "-S", "-B", "-c", PROGRAM, PACKAGE_PARENT, str(theirs.fileno()))
        quiet = subprocess.DEVNULL
        with theirs:
            self._process = subprocess.Popen(
                argv,
                cwd="/",
                env={},
                pass_fds=[theirs.fileno()],
                stdin=quiet,
                stdout=quiet,
                stderr=quiet,
                start_new_session=True,
            )
        self.pid = self._process.pid
        self._lock = threading.Lock()
        self._idle: dict[tuple[tuple[int, int], ...], list[Subreaper]] = {}  # by the limits of what they run
        self._folders: dict[int, Mapping[str, int]] = {}
        self._workers: dict[int, Worker] = {}

    def close(self, limit: float = ENDED) -> None:
        """End everything that still runs; returns when that is done, or after ``limit`` seconds while it goes on."""
        for worker in list(self._workers.values()):
            worker.close()
        for subreaper in chain.from_iterable(self._idle.values()):
            subreaper.close()
        self._control.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(limit)

    def remove_at_the_end(self, folder: int, parent: int, name: str) -> None:
        """Have the folder of that descriptor removed when the tool has ended, whatever ended it."""
        self._ask({"op": "folder", "name": name}, [folder, parent])

    def hold(self, file: int, nobody: int) -> None:
        """Keep this file open, and with it its locks, until the supervisor ends; ``nobody``: a user without one."""
        self._ask({"op": "hold", "nobody": nobody}, [file])

    def _ask(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        with self._lock:
            send(self._control, request, descriptors)

    # --- programs --------------------------------------------------------------------------------

    def start(self, request: dict[str, Any], descriptors: Sequence[int], identity: Identity | None) -> Running:
        """Start a program (see ``supervisor.program``). Raises OSError with what kept it from being started."""
        try:
            if identity and identity.is_own:
                return self._become(request, descriptors, identity)
            return self._run(request, descriptors, identity)
        except ConnectionLostError as error:
            raise LostError from error

    def _become(self, request: dict[str, Any], descriptors: Sequence[int], identity: Identity) -> Running:
        worker = self._worker(identity)
        del self._workers[identity.uid]
        return worker.become(request, descriptors)

    def _run(self, request: dict[str, Any], descriptors: Sequence[int], identity: Identity | None) -> Running:
        limits = request["rlimits"]
        with self._lock:
            idle = self._idle.setdefault(limits, [])
            subreaper = idle.pop() if idle else None
        if subreaper is None:
            ours, theirs = socket.socketpair()
            with theirs:
                self._ask({"op": "subreaper", "rlimits": limits}, [theirs.fileno()])
            subreaper = Subreaper(ours, idle)
        who = {"uid": identity.uid, "gid": identity.gid, "groups": identity.groups} if identity else {}
        return subreaper.run({**request, **who}, descriptors)

    # --- files of sessions with a user of their own ---------------------------------------------

    def attach(self, identity: Identity, folders: Mapping[str, int]) -> None:
        """Let workers of that user work on these folders, by name and descriptor."""
        self._folders[identity.uid] = folders

    def detach(self, identity: Identity) -> None:
        """End what the user runs, if it is its own, and its worker. Raises OSError when that cannot be done."""
        try:
            if identity.is_own:
                self._worker(identity)
        except ConnectionLostError as error:
            raise LostError from error
        finally:
            self.drop(identity)
            self._folders.pop(identity.uid, None)

    def end_all(self, identity: Identity) -> None:
        """End what the user runs, before anything else is done for it. Raises OSError when that cannot be done."""
        try:
            self._worker(Identity(uid=identity.uid, gid=identity.gid))
        except ConnectionLostError as error:
            self.drop(identity)
            raise LostError from error

    def ask(self, identity: Identity, request: dict[str, Any], descriptors: Sequence[int] = ()) -> Any:
        """A worker's answer (see ``supervisor.worker``). Raises OSError, as the worker met it."""
        try:
            return self._worker(identity).ask(request, descriptors)
        except ConnectionLostError as error:
            self.drop(identity)
            raise LostError from error

    def call(self, identity: Identity, *calls: tuple[Any, ...]) -> list[Any]:
        """The values of calls, each with its folder, name and arguments. Raises OSError, as the first met it."""
        request = {"op": "call", "calls": [(place, name, arguments) for place, name, *arguments in calls]}
        return list(self.ask(identity, request))

    def replace(self, identity: Identity, name: str, folder: int) -> None:
        """Have the user's worker, if there is one, work on that folder under that name."""
        if worker := self._workers.get(identity.uid):
            try:
                worker.tell({"op": "folder", "place": name}, [folder])
            except ConnectionLostError:
                self.drop(identity)

    def drop(self, identity: Identity) -> None:
        """Do without the user's worker; the next request starts another one."""
        if worker := self._workers.pop(identity.uid, None):
            worker.close()

    def stream(self, identity: Identity, request: dict[str, Any]) -> IO[bytes]:
        """What a worker sends after its answer, to be read to its end. Raises OSError."""
        self.ask(identity, request)
        return cast("IO[bytes]", self._workers[identity.uid].link.makefile("rb", buffering=STREAM))

    def _worker(self, identity: Identity) -> Worker:
        """The user's worker; a new one, which ends all else of the user, where there is none with these groups."""
        worker = self._workers.get(identity.uid)
        if worker and worker.groups == identity.groups:
            return worker
        self.drop(identity)
        folders = self._folders.get(identity.uid, {})
        link, theirs = socket.socketpair()
        status, write = os.pipe()
        request = {
            "op": "worker",
            "uid": identity.uid,
            "gid": identity.gid,
            "groups": identity.groups,
            "own": identity.is_own,
            "grace": LEFT_GRACE,
            "places": [*folders],
        }
        try:
            with theirs:
                self._ask(request, [theirs.fileno(), write, *folders.values()])
        finally:
            os.close(write)
        worker = Worker(link, status, identity.groups, partial(self.signal, identity))
        try:
            worker.root = worker.answer()  # it has become the user, and nothing else of the user is left
        # Also a cancellation: a worker that has not begun is never asked again, and its descriptors would stay open.
        except BaseException:
            worker.close()
            raise
        self._workers[identity.uid] = worker
        return worker

    def signal(self, identity: Identity, number: int) -> None:
        """Send a signal to all that the user runs."""
        with suppress(ConnectionLostError):
            self._ask({"op": "signal", "uid": identity.uid, "gid": identity.gid, "number": number})
