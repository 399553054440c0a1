"""The descendants of this process, found in ``/proc`` and ended; and what makes orphans come to it.

A process that forks faster than it is found is stopped first: once nothing runs that could fork, all of it is killed.
"""

from __future__ import annotations

import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 4, 36, 38
PR_GET_DUMPABLE, PR_GET_NO_NEW_PRIVS = 3, 39
STUBBORN = 10.0  # seconds after which what cannot be killed is given up
PAUSE = 0.002
LOOKS = 3  # without finding anything new, before all of it counts as stopped


def protect(*, subreaper: bool) -> None:
    """No program started from here gains rights, nobody of the same user looks in; ``subreaper``: adopt orphans.

    Linux only; elsewhere nothing happens.
    """
    if sys.platform != "linux":
        return
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    prctl(PR_SET_CHILD_SUBREAPER, int(subreaper), 0, 0, 0)


def is_protected() -> bool:
    """Whether the system says that this process is protected in that way."""
    if sys.platform != "linux":
        return False
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    return bool(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 and prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0)


def reaped() -> dict[int, int]:
    """Children that have ended, with their wait status."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if not pid:
            return ended
        ended[pid] = status


def descendants(spared: Collection[int] = ()) -> dict[int, str]:
    """Processes below this one and their states; none of ``spared``, nor what is below those. Empty without /proc."""
    parents: dict[int, tuple[int, str]] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return {}
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                    state, parent = file.read(4096).rpartition(b")")[2].split(None, 2)[:2]
            except (OSError, ValueError):
                continue
            parents[int(name)] = int(parent), state.decode()
    own, known = os.getpid(), {}
    for pid in parents:
        above = pid
        while above in parents and above != own and above not in spared:
            above = parents[above][0]
        if above == own != pid:
            known[pid] = parents[pid][1]
    return known


def end_descendants(grace: float, spared: Collection[int] = (), group: int | None = None) -> dict[int, int]:
    """Ask everything below this process to end, kill it after ``grace`` seconds; the wait statuses of children.

    ``group``: a process group that gets the signals, too, where there is no ``/proc`` to find processes in.
    """
    ended: dict[int, int] = {}
    if grace:
        _signal_all(signal.SIGTERM, spared, group)
        deadline = time.monotonic() + grace
        while _left(spared, ended) and time.monotonic() < deadline:
            time.sleep(PAUSE)
    deadline = time.monotonic() + STUBBORN
    while _left(spared, ended) and time.monotonic() < deadline:
        _stop_all(spared, ended, deadline)
        _signal_all(signal.SIGKILL, spared, group)
        time.sleep(PAUSE)
    if group is not None:
        _signal(-group, signal.SIGKILL)
    return ended


def _left(spared: Collection[int], ended: dict[int, int]) -> bool:
    """Whether anything below this process still runs. Children that have ended are reaped into ``ended``.

    A look into ``/proc`` can miss what forks and ends all the time, but whatever has lost its parent is a child.
    """
    pid = 1
    while pid:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid:
            ended[pid] = status
    return not spared or any(state != "Z" for _ in range(LOOKS) for state in descendants(spared).values())


def _stop_all(spared: Collection[int], ended: dict[int, int], deadline: float) -> None:
    """Stop everything, until a few looks in a row find nothing that runs."""
    quiet = 0
    while quiet < LOOKS and time.monotonic() < deadline:
        ended |= reaped()
        running = [pid for pid, state in descendants(spared).items() if state not in "TZ"]
        for pid in running:
            _signal(pid, signal.SIGSTOP)
        quiet = 0 if running else quiet + 1


def _signal_all(number: int, spared: Collection[int], group: int | None) -> None:
    if group is not None:
        _signal(-group, number)
    for pid in descendants(spared):
        _signal(pid, number)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return
