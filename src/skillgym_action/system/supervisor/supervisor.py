"""The process that starts all others for the tool: one thread, the standard library, no secrets.

It is started first, with an empty environment, and learns what it needs from messages. As root it forks a worker for
each step of a session, which becomes the session's user (see ``worker``). Otherwise it forks subreapers, each of which
runs the programs of one session after the other (see ``subreaper``). When the tool has ended, for any reason, the
supervisor ends all processes that still run, and removes the folder that sessions worked in.

Messages, each with its descriptors: ``worker`` [connection, status, folders…]; ``subreaper`` [connection]; ``signal``:
to all processes of a user; ``folder`` [folder, its parent]: to remove at the end; ``hold`` [files…]: to keep open until
then. The supervisor answers only by a worker's wait status, written to its status descriptor.
"""

from __future__ import annotations

import errno
import gc
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress

from skillgym_action.model.limits import KILL_SECONDS
from skillgym_action.system.files.folder import Folder
from skillgym_action.system.files.open_below import FOLDER_FLAGS
from skillgym_action.system.supervisor.child import change_user
from skillgym_action.system.supervisor.descendants import end_descendants, reap_children
from skillgym_action.system.supervisor.messages import WAIT_STATUS, ConnectionLostError, receive
from skillgym_action.system.supervisor.prctl import protect_process
from skillgym_action.system.supervisor.subreaper import serve as serve_subreaper
from skillgym_action.system.supervisor.worker import end_all_others
from skillgym_action.system.supervisor.worker import serve as serve_worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FORK_SECONDS = 0.5  # to wait for a process to fork where a session's user has started as many as it may
PAUSE = 0.002  # seconds between two attempts to fork


class Supervisor:
    """What was started, and what is to be removed at the end."""

    def __init__(self, control: socket.socket) -> None:
        """``control``: the connection to the tool."""
        self._control = control
        self._workers: dict[int, int] = {}  # process id -> descriptor to write its wait status to
        self._subreapers: set[int] = set()
        self._users: dict[int, int] = {}  # uid -> gid, of all session users that ever had a worker
        self._folder: tuple[int, int, str] | None = None
        self._unused_uid: int | None = None  # a user id without any process
        self._kept_open: list[int] = []  # files whose locks must last until the end
        # SIGCHLD writes to the pipe, so that poll returns for a message or for an ended child, whichever comes first.
        self._wake_read, self._wake_write = os.pipe()
        for end in (self._wake_read, self._wake_write):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)

    def run(self) -> None:
        """Serve requests until the tool has ended."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wake_read, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self._wake_read in ready:
                self._reap()
            if self._control.fileno() in ready:
                try:
                    received = receive(self._control)
                except ConnectionLostError:
                    received = None
                if received is None:
                    return
                self._serve(*received)

    def _serve(self, request: dict[str, Any], descriptors: list[int]) -> None:
        """Serve a request. If no process can be forked, the tool notices that its end of the connection is closed."""
        try:
            self._do(request, descriptors)
        except OSError:
            for descriptor in descriptors:
                os.close(descriptor)

    def _do(self, request: dict[str, Any], descriptors: list[int]) -> None:
        match request["op"]:
            case "worker":
                connection, status, *folders = descriptors
                if request["own"]:
                    self._users[request["uid"]] = request["gid"]
                pid = self._fork_for_user(
                    request, lambda: _run_worker(request, connection, folders), {connection, *folders}
                )
                self._workers[pid] = status
                descriptors = [connection, *folders]
            case "subreaper":
                (connection,) = descriptors
                self._subreapers.add(
                    self._fork(
                        lambda: serve_subreaper(socket.socket(fileno=connection), request["rlimits"]), {connection}
                    )
                )
            case "signal":
                self._signal(request["uid"], request["number"])
            case "folder":
                self._folder = (descriptors[0], descriptors[1], request["name"])
                descriptors = []
            case "hold":
                self._kept_open += descriptors
                self._unused_uid = request["unused_uid"]
                descriptors = []
        for descriptor in descriptors:
            os.close(descriptor)

    def _fork(self, work: Callable[[], None], own: set[int]) -> int:
        """Fork a child that does ``work`` with no descriptors but ``own`` and the standard streams; its process id."""
        pid = os.fork()
        if pid:
            return pid
        try:
            signal.set_wakeup_fd(-1)
            previous = 2
            for descriptor in (*sorted(own), 1 << 20):
                os.closerange(previous + 1, descriptor)
                previous = descriptor
            work()
        except BaseException as error:  # noqa: BLE001 -- the child must never run the supervisor's code
            os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="backslashreplace"))
        finally:
            os._exit(0)

    def _fork_for_user(self, request: dict[str, Any], work: Callable[[], None], own: set[int]) -> int:
        """The same for a session's user, which may have started as many processes as it may: then they are killed."""
        deadline = time.monotonic() + FORK_SECONDS
        while True:
            try:
                return self._fork(work, own)
            except BlockingIOError:
                if not request["own"] or time.monotonic() > deadline:
                    raise
            self._signal(request["uid"], signal.SIGKILL)
            self._reap()
            time.sleep(PAUSE)

    def _signal(self, uid: int, number: int) -> None:
        """Send a signal to all processes of a session's user, in one call and without another process.

        The sender's effective and real uid decide which processes a signal reaches; the target's real and saved uid
        decide who may signal it. So for a moment the effective uid is the session's, the real one belongs to no
        process, and the saved one stays root's: the session cannot signal this process, which can become root again.
        """
        if sys.platform != "linux" or not self._unused_uid or not uid:  # root's signals reach all processes
            raise OSError(errno.EPERM, "not the user of one session")
        os.setresuid(self._unused_uid, uid, 0)
        try:
            os.kill(-1, number)
        except ProcessLookupError:
            return
        finally:
            os.setresuid(0, 0, 0)

    def _reap(self) -> None:
        """Report workers that have ended; end what subreapers left that were killed.

        The orphans of a subreaper that was killed are children of this process then.
        """
        with suppress(BlockingIOError):
            os.read(self._wake_read, 4096)
        ended = reap_children()
        while ended:
            pid, status = ended.popitem()
            if pid in self._workers:
                pipe = self._workers.pop(pid)
                with suppress(OSError):
                    os.write(pipe, WAIT_STATUS.pack(status))
                os.close(pipe)
            elif pid in self._subreapers:
                self._subreapers.discard(pid)
                if status:
                    ended |= end_descendants(0.0, spared={*self._subreapers, *self._workers})

    def close(self) -> None:
        """End everything, and remove the folder."""
        for pid in self._subreapers:  # the tool has closed their connections; each ends what it runs
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)  # a program can have stopped it; its number is not free until `_reap`
        deadline = time.monotonic() + KILL_SECONDS
        while self._subreapers and (left := deadline - time.monotonic()) > 0:
            select.select([self._wake_read], [], [], left)
            self._reap()
        for uid, gid in self._users.items():
            request = {"uid": uid, "own": True}
            with suppress(BlockingIOError):  # then its processes end with all others, below
                os.waitpid(self._fork_for_user(request, lambda uid=uid, gid=gid: _end_user(uid, gid), set()), 0)  # type: ignore[misc]
        end_descendants(0.0)
        if self._folder is not None:
            self._remove(*self._folder)

    def _remove(self, root: int, parent: int, name: str) -> None:
        """Empty each session's folders as the user that owns them, then remove what is left."""
        if os.geteuid() == 0:
            for session in os.listdir(root):
                self._empty_session(root, session)
        Folder(root).empty()
        try:
            os.rmdir(name, dir_fd=parent)
        except OSError:
            return

    def _empty_session(self, root: int, name: str) -> None:
        """Remove what a session may have changed with no more rights than the session had."""
        try:
            session = os.open(name, FOLDER_FLAGS, dir_fd=root)
        except OSError:
            return
        for folder_name in os.listdir(session):
            try:
                folder = os.open(folder_name, FOLDER_FLAGS, dir_fd=session)
            except OSError:
                continue
            owner = os.fstat(folder)
            if owner.st_uid in self._users:
                os.waitpid(self._fork(lambda f=folder, o=owner: _empty_as(o.st_uid, o.st_gid, f), {folder}), 0)  # type: ignore[misc]
            os.close(folder)
        os.close(session)


def _run_worker(request: dict[str, Any], connection: int, folders: list[int]) -> None:
    change_user(request["uid"], request["gid"], request["groups"])
    by_name = {name: Folder(descriptor) for name, descriptor in zip(request["places"], folders, strict=True)}
    with socket.socket(fileno=connection) as opened:
        serve_worker(opened, by_name, request["grace"] if request["own"] else None)


def _end_user(uid: int, gid: int) -> None:
    change_user(uid, gid, ())
    end_all_others(0.0)


def _empty_as(uid: int, gid: int, folder: int) -> None:
    change_user(uid, gid, ())
    Folder(folder).empty()


def main() -> None:
    """Run on the control connection whose descriptor is the last argument."""
    protect_process(subreaper=True)
    gc.freeze()  # a collection writes to all objects it visits, and forked processes would need copies of their memory
    gc.disable()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # The tool handles them and requests what is to end. Not SIG_IGN, which every program would inherit.
        signal.signal(number, lambda *_: None)
    with socket.socket(fileno=int(sys.argv[-1])) as control:
        supervisor = Supervisor(control)
        supervisor.run()
    supervisor.close()


if __name__ == "__main__":
    main()
