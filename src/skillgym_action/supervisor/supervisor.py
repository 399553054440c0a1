"""The process that starts all others for the tool: one thread, the standard library, no secrets.

It is started first, with an empty environment, and learns what it needs from messages. As root it forks a worker for
each step of a session, which becomes the session's user (see ``worker``). Otherwise it forks subreapers, each of which
runs the programs of one session after the other (see ``subreaper``). When the tool has ended, however it ended, the
supervisor ends all that still runs, and removes the folder in which sessions took place.

Messages, each with the descriptors it names: ``worker`` [link, status, folders…]; ``subreaper`` [link]; ``signal``: to
all processes of a user; ``folder`` [folder, the one above]: what is to be removed at the end; ``hold`` [files…]: what
is to be kept open until then; ``empty`` [folder]: to be emptied at once. The supervisor answers only by a worker's wait
status, written to its status descriptor.
"""

from __future__ import annotations

import errno
import gc
import os
import select
import signal
import socket
import struct
import sys
import time
from contextlib import suppress

from skillgym_action.filesystem.folder import Folder
from skillgym_action.supervisor.descendants import STUBBORN, end_descendants, protect, reaped
from skillgym_action.supervisor.messages import ConnectionLostError, receive
from skillgym_action.supervisor.program import change_user
from skillgym_action.supervisor.subreaper import serve as subreaper
from skillgym_action.supervisor.worker import end_all_others
from skillgym_action.supervisor.worker import serve as worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

STATUS = struct.Struct("=i")
FULL = 0.5  # seconds in which there has to be room for another process again
PAUSE = 0.002


class Supervisor:
    """State of the process: who was started, and what is to be removed."""

    def __init__(self, control: socket.socket) -> None:
        """``control``: where the tool sends its requests."""
        self._control = control
        self._workers: dict[int, int] = {}  # process -> where its wait status is written
        self._subreapers: set[int] = set()
        self._users: dict[int, int] = {}  # uid -> gid, of all that was ever started
        self._folder: tuple[int, int, str] | None = None
        self._nobody: int | None = None  # a user id without any process
        self._held: list[int] = []  # open files whose locks must last until all is over
        self._awake, self._wake = os.pipe()
        for end in (self._awake, self._wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)

    def run(self) -> None:
        """Do what the tool asks until it has ended."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._awake, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self._awake in ready:
                self._reap()
            if self._control.fileno() in ready:
                try:
                    received = receive(self._control)
                except ConnectionLostError:
                    received = None
                if received is None:
                    return
                self._try(*received)

    def _try(self, request: dict[str, Any], descriptors: list[int]) -> None:
        """Do it; where no process can be forked, the tool sees that its end of the link is closed."""
        try:
            self._do(request, descriptors)
        except OSError:
            for descriptor in descriptors:
                os.close(descriptor)

    def _do(self, request: dict[str, Any], descriptors: list[int]) -> None:
        match request["op"]:
            case "worker":
                link, status, *folders = descriptors
                if request["own"]:
                    self._users[request["uid"]] = request["gid"]
                pid = self._forked_for(request, lambda: _work(request, link, folders), {link, *folders})
                self._workers[pid] = status
                descriptors = [link, *folders]
            case "subreaper":
                (link,) = descriptors
                self._subreapers.add(
                    self._forked(lambda: subreaper(socket.socket(fileno=link), request["rlimits"]), {link})
                )
            case "signal":
                self._signal(request["uid"], request["number"])
            case "folder":
                self._folder = (descriptors[0], descriptors[1], request["name"])
                descriptors = []
            case "empty":
                (folder,) = descriptors
                self._forked(lambda: _empty(folder), {folder})
            case "hold":
                self._held += descriptors
                self._nobody = request["nobody"]
                descriptors = []
        for descriptor in descriptors:
            os.close(descriptor)

    def _forked(self, work: Callable[[], None], own: set[int]) -> int:
        """A child that does ``work`` with no descriptors but its ``own`` and the standard streams."""
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
        except BaseException as error:  # noqa: BLE001 -- nothing of the child may go on in the supervisor's code
            os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="backslashreplace"))
        finally:
            os._exit(0)

    def _forked_for(self, request: dict[str, Any], work: Callable[[], None], own: set[int]) -> int:
        """The same for a session's user, which may have started all processes that there may be: they end then."""
        deadline = time.monotonic() + FULL
        while True:
            try:
                return self._forked(work, own)
            except BlockingIOError:
                if not request["own"] or time.monotonic() > deadline:
                    raise
            self._signal(request["uid"], signal.SIGKILL)
            self._reap()
            time.sleep(PAUSE)

    def _signal(self, uid: int, number: int) -> None:
        """Send a signal to all that a session's user runs, in one call and without another process.

        Which processes that reaches is decided by the effective and the real user; who may send one to us, by the real
        and the saved one. So for a moment this is the user as far as the first goes, nobody's for the second, root's
        for the third, by which it becomes root's again.
        """
        if not self._nobody or not uid:  # root's signals reach everybody
            raise OSError(errno.EPERM, "no user of a session's own")
        os.setresuid(self._nobody, uid, 0)
        try:
            os.kill(-1, number)
        except ProcessLookupError:
            return
        finally:
            os.setresuid(0, 0, 0)

    def _reap(self) -> None:
        """Report what has ended. When a subreaper was killed, what it looked after comes to us, and is ended."""
        with suppress(BlockingIOError):
            os.read(self._awake, 4096)
        ended = reaped()
        while ended:
            pid, status = ended.popitem()
            if pid in self._workers:
                pipe = self._workers.pop(pid)
                with suppress(OSError):
                    os.write(pipe, STATUS.pack(status))
                os.close(pipe)
            elif pid in self._subreapers:
                self._subreapers.discard(pid)
                if status:
                    ended |= end_descendants(0.0, spared={*self._subreapers, *self._workers})

    def close(self) -> None:
        """End everything, and remove the folder."""
        for pid in self._subreapers:  # their links are closed with the tool; each ends what it runs
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)  # a program of the same user can have stopped it
        deadline = time.monotonic() + STUBBORN
        while self._subreapers and (left := deadline - time.monotonic()) > 0:
            select.select([self._awake], [], [], left)
            self._reap()
        for uid, gid in self._users.items():
            ending = {"uid": uid, "own": True}
            with suppress(BlockingIOError):  # then its processes end with all others, below
                os.waitpid(self._forked_for(ending, lambda uid=uid, gid=gid: _end_user(uid, gid), set()), 0)  # type: ignore[misc]
        end_descendants(0.0)
        if self._folder is not None:
            self._remove(*self._folder)

    def _remove(self, root: int, parent: int, name: str) -> None:
        """Empty each session's folders as the user they belong to, then remove all that is left."""
        if os.geteuid() == 0:
            for session in os.listdir(root):
                self._empty_session(root, session)
        Folder(root).empty()
        try:
            os.rmdir(name, dir_fd=parent)
        except OSError:
            return

    def _empty_session(self, root: int, name: str) -> None:
        """What a session may have changed is only touched with its rights."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            session = os.open(name, flags, dir_fd=root)
        except OSError:
            return
        for place in os.listdir(session):
            try:
                folder = os.open(place, flags, dir_fd=session)
            except OSError:
                continue
            owner = os.fstat(folder)
            if owner.st_uid in self._users:
                os.waitpid(self._forked(lambda f=folder, o=owner: _empty_as(o.st_uid, o.st_gid, f), {folder}), 0)  # type: ignore[misc]
            os.close(folder)
        os.close(session)


def _work(request: dict[str, Any], link: int, folders: list[int]) -> None:
    change_user(request["uid"], request["gid"], request["groups"])
    places = {name: Folder(descriptor) for name, descriptor in zip(request["places"], folders, strict=True)}
    with socket.socket(fileno=link) as connection:
        worker(connection, places, request["grace"] if request["own"] else None)


def _empty(folder: int) -> None:
    Folder(folder).empty()


def _end_user(uid: int, gid: int) -> None:
    change_user(uid, gid, ())
    end_all_others(0.0)


def _empty_as(uid: int, gid: int, folder: int) -> None:
    change_user(uid, gid, ())
    Folder(folder).empty()


def main() -> None:
    """Run on the control connection whose descriptor is the last argument."""
    protect(subreaper=True)
    gc.freeze()  # a collection would write to all that it looks at, and a forked process then gets a copy of its own
    gc.disable()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # They are for the tool, which then says what is to end. Not SIG_IGN, which every program would inherit.
        signal.signal(number, lambda *_: None)
    with socket.socket(fileno=int(sys.argv[-1])) as control:
        supervisor = Supervisor(control)
        supervisor.run()
    supervisor.close()


if __name__ == "__main__":
    main()
