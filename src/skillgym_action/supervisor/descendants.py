"""The descendants of this process, found in ``/proc`` and ended.

They are stopped before they are killed: a process that forks faster than its children are found would always leave one.
Once nothing runs that could fork, all of them are killed.
"""

from __future__ import annotations

import os
import signal
import time

from skillgym_action.limits import KILL_SECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

PAUSE = 0.002  # seconds between two checks
QUIET_SCANS = 3  # scans of /proc without a running process, after which all are taken to be stopped


def reap_children() -> dict[int, int]:
    """Wait statuses of the children that have ended, by process id."""
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
    """Processes below this one and their states, without ``spared`` and what is below those. Empty without /proc."""
    parents: dict[int, tuple[int, str]] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return {}
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                    # The name of a program is in parentheses and can have any characters: the last one ends it.
                    state, parent = file.read(4096).rpartition(b")")[2].split(None, 2)[:2]
            except (OSError, ValueError):
                continue
            parents[int(name)] = int(parent), state.decode()
    own, found = os.getpid(), {}
    for pid in parents:
        ancestor = pid
        while ancestor in parents and ancestor != own and ancestor not in spared:
            ancestor = parents[ancestor][0]
        if ancestor == own != pid:
            found[pid] = parents[pid][1]
    return found


def end_descendants(grace: float, spared: Collection[int] = (), group: int | None = None) -> dict[int, int]:
    """Terminate all processes below this one, kill them after ``grace`` seconds; return wait statuses of children.

    ``group``: a process group that gets the signals, too, on systems without ``/proc``.
    """
    ended: dict[int, int] = {}
    if grace:
        _signal_all(signal.SIGTERM, spared, group)
        deadline = time.monotonic() + grace
        while _any_left(spared, ended) and time.monotonic() < deadline:
            time.sleep(PAUSE)
    deadline = time.monotonic() + KILL_SECONDS
    while _any_left(spared, ended) and time.monotonic() < deadline:
        _stop_all(spared, ended, deadline)
        _signal_all(signal.SIGKILL, spared, group)
        time.sleep(PAUSE)
    if group is not None:
        _signal(-group, signal.SIGKILL)
    return ended


def _any_left(spared: Collection[int], ended: dict[int, int]) -> bool:
    """Whether anything below this process still runs. Children that have ended are reaped into ``ended``.

    A scan of ``/proc`` can miss processes that fork and end all the time, but each orphan becomes a child of this
    process: as long as ``waitpid`` finds a child, something is left. With ``spared`` children only scans can tell.
    """
    pid = 1
    while pid:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid:
            ended[pid] = status
    return not spared or any(state != "Z" for _ in range(QUIET_SCANS) for state in descendants(spared).values())


def _stop_all(spared: Collection[int], ended: dict[int, int], deadline: float) -> None:
    """Stop everything, until several scans in a row find nothing that runs.

    A process in an uninterruptible wait (state D) takes the signal before it runs any code again. The parent of a
    ``vfork`` whose child was stopped before it called ``exec`` would wait like that for as long as this function.
    """
    quiet, signalled = 0, set[int]()
    while quiet < QUIET_SCANS and time.monotonic() < deadline:
        ended |= reap_children()
        found = descendants(spared).items()
        running = [pid for pid, state in found if state not in ("TZD" if pid in signalled else "TZ")]
        for pid in running:
            _signal(pid, signal.SIGSTOP)
        signalled.update(running)
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
