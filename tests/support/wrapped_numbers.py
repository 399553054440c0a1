"""Scenes in a PID namespace of their own, in which a neighbour gets the number of a process that has ended.

``happens(scene)`` runs one and returns what it prints. A scene sets the next number of its namespace, so no other
process of the machine is concerned. Systems refuse such namespaces to some users: see ``CAN_WRAP``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from paths import SUPPORT
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

AS_ROOT = () if os.geteuid() == 0 else ("--user", "--map-root-user")
NAMESPACE = ("unshare", *AS_ROOT, "--pid", "--fork", "--mount-proc")
LAST_NUMBER = "/proc/sys/kernel/ns_last_pid"
CAN_WRAP = not subprocess.run(
    (*NAMESPACE, "sh", "-c", f"echo 300 > {LAST_NUMBER}"), check=False, capture_output=True
).returncode
FAR = 10_000  # a number that no process of a scene has
PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38
PIDFD_SEND_SIGNAL, PIDFD_OPEN = 424, 434


def happens(scene: Callable[[], None], *, with_descriptors: bool = True) -> str:
    """What the scene prints. ``with_descriptors`` False: the system has no descriptors of processes."""
    call = f"import wrapped_numbers as w; w.first_process(w.{scene.__name__}, {with_descriptors})"
    paths = f"import sys; sys.path[:0] = {[*sys.path, os.fspath(SUPPORT)]!r}"
    done = subprocess.run(
        (*NAMESPACE, sys.executable, "-c", f"{paths}; {call}"), check=False, capture_output=True, text=True
    )
    assert not done.stderr, done.stderr
    return done.stdout.strip()


# --- in the namespace -----------------------------------------------------------------------------------


def first_process(scene: Callable[[], None], with_descriptors: bool) -> None:  # noqa: FBT001 - of a command line
    """Adopt the orphans of a process that plays the scene: the neighbour is not below that process."""
    if not with_descriptors:
        refuse_descriptors()
    played = child(scene)
    while os.wait()[0] != played:
        pass


def child(work: Callable[[], object]) -> int:
    """Fork a process that does the work and ends; its number."""
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    try:
        work()
        sys.stdout.flush()
    finally:
        sys.excepthook(*sys.exc_info()) if sys.exc_info()[0] else None
        os._exit(0)


def next_number(number: int) -> None:
    """Let the next process have this number."""
    Path(LAST_NUMBER).write_text(str(number - 1), encoding="ascii")


def pause() -> NoReturn:
    while True:
        signal.pause()


class Neighbour:
    """A process that leads a group, has a number that was another's, and is no descendant of the one that asks for it.

    SIGCONT ends it, as SIGKILL does.
    """

    def __init__(self, number: int) -> None:
        self._connection, theirs = socket.socketpair()

        def orphan() -> None:
            next_number(number)
            child(lambda: self._serve(theirs))

        next_number(FAR)  # the number may be the next one already
        os.waitpid(child(orphan), 0)
        theirs.close()
        assert int(self._connection.recv(16)) == number

    @staticmethod
    def _serve(connection: socket.socket) -> None:
        os.setsid()
        os.closerange(3, connection.fileno())
        os.closerange(connection.fileno() + 1, FAR)
        signal.signal(signal.SIGCONT, lambda *_: os._exit(1))
        connection.sendall(str(os.getpid()).encode())
        while asked := connection.recv(1):
            connection.sendall(asked)

    def state(self) -> str:
        """Whether it still answers."""
        try:
            self._connection.sendall(b"?")
            return "lives" if self._connection.recv(1) else "has ended"
        except OSError:
            return "has ended"


def until_free(number: int) -> None:
    until(lambda: not Path(f"/proc/{number}").exists(), f"the end of process {number}")


def start_of(pid: int) -> int:
    """When it began, in ticks."""
    from skillgym_action.system.supervisor.process_signals import status_of

    status = status_of(pid)
    assert status
    return status.start


def ended(pid: int) -> None:
    """Kill a process and free its number, as soon as a new process has another start."""
    start, later = start_of(pid), False
    while not later:
        probe = child(pause)
        later = start_of(probe) > start
        os.kill(probe, signal.SIGKILL)
        os.waitpid(probe, 0)
    os.kill(pid, signal.SIGKILL)
    with suppress(ChildProcessError):  # it has another parent, which reaps it
        os.waitpid(pid, 0)
    until_free(pid)


def refuse_descriptors() -> None:
    """From now on the kernel answers as one that has no descriptors of processes."""
    refused = 0x00050000 | errno.ENOSYS
    steps = (
        (0x20, 0, 0, 0),  # load the number of the system call
        (0x15, 1, 0, PIDFD_OPEN),
        (0x15, 0, 1, PIDFD_SEND_SIGNAL),
        (0x06, 0, 0, refused),
        (0x06, 0, 0, 0x7FFF0000),  # allow it
    )
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(code)))
    library = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    assert not library.prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero)
    assert not library.prctl(PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), program), ctypes.get_errno()


# --- scenes ---------------------------------------------------------------------------------------------


def number_taken_after_a_scan() -> None:
    """A process ends after the scan that found it; another one that was found is still there."""
    from skillgym_action.system.supervisor.descendants import descendants, signal_found

    gone, stays = child(pause), child(pause)
    found = descendants()
    ended(gone)
    neighbour = Neighbour(gone)
    signal_found(signal.SIGKILL, found, found)
    _, status = os.waitpid(stays, 0)
    print(sorted(found) == [gone, stays], os.waitstatus_to_exitcode(status), neighbour.state())


def number_of_a_parent_taken_during_a_scan() -> None:
    """A process whose number is now the one of a descendant seems to be the parent of a neighbour's child."""
    from skillgym_action.system.supervisor.descendants import descendants, signal_found

    gone, below = child(lambda: child(pause) and pause()), 0
    while not below:
        below = next((pid for pid, one in descendants().items() if one.parent == gone), 0)
    found = descendants()
    os.kill(below, signal.SIGKILL)
    ended(gone)
    until_free(below)
    neighbours = Neighbour(gone), Neighbour(below)
    signal_found(signal.SIGKILL, found, found)
    print(*(one.state() for one in neighbours))


def number_of_a_group_taken() -> None:
    """A program has ended, and with it its group; a process that it left has a session of its own."""
    from skillgym_action.system.supervisor.descendants import end_descendants

    leader = child(os.setsid)
    os.waitpid(leader, 0)
    left = child(lambda: (os.setsid(), pause()))
    neighbour = Neighbour(leader)
    statuses = end_descendants(0.0, group=leader)
    print(os.waitstatus_to_exitcode(statuses[left]), neighbour.state())


def number_of_a_subreaper_taken() -> None:
    """A program kills its subreaper, whose number another process gets before the tool ends the program."""
    from skillgym_action.system.processes.started_programs import SupervisorClient

    client = SupervisorClient()
    null = os.open(os.devnull, os.O_RDWR)
    request = {"argv": ["sleep", "1000"], "env": {"PATH": os.environ["PATH"]}, "cwd": "/", "umask": None, "rlimits": ()}
    running = client.start(request, (null, null, null), None)
    ended(running.root)
    neighbour = Neighbour(running.root)
    running.end(0.0)
    print(running.exit_code(), neighbour.state())
    client.close()


def number_taken_at_once() -> None:
    """The neighbour begins in the same hundredth of a second as the process whose number it gets."""
    from skillgym_action.system.supervisor.descendants import descendants, signal_found
    from skillgym_action.system.supervisor.process_signals import ProcessHandle, descriptor_of

    began, start = -1, 0
    while began != start:
        gone = child(pause)
        start, found = start_of(gone), descendants()
        handle = ProcessHandle(gone, start, descriptor_of(gone))
        os.kill(gone, signal.SIGKILL)
        os.waitpid(gone, 0)
        neighbour = Neighbour(gone)
        began = start_of(gone)
    handle.signal(signal.SIGKILL)
    by_descriptor = neighbour.state()
    signal_found(signal.SIGKILL, found, found)
    print(by_descriptor, neighbour.state())
