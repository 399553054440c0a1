"""The descendants of this process, found in ``/proc`` and ended.

They are stopped before they are killed: a process that forks faster than its children are found would always leave one.
Once nothing runs that could fork, all of them are killed.
"""

from __future__ import annotations

import os
import signal
import time

from skillgym_action.model.limits import KILL_SECONDS
from skillgym_action.system.supervisor.process_signals import ProcessHandle, descriptor_of, has_proc, status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from skillgym_action.system.supervisor.process_signals import ProcessStatus

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


def descendants(spared: Collection[int] = ()) -> dict[int, ProcessStatus]:
    """Processes below this one, without ``spared`` and what is below those; parents first. Empty without ``/proc``."""
    statuses: dict[int, ProcessStatus] = {}
    children: dict[int, list[int]] = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc") if has_proc() else ())):
        if status := status_of(pid):
            statuses[pid] = status
            children.setdefault(status.parent, []).append(pid)
    own = os.getpid()
    found: dict[int, ProcessStatus] = {}
    parents = [own]
    for parent in parents:
        below = [pid for pid in children.get(parent, ()) if pid != own and pid not in spared]
        found.update((pid, statuses[pid]) for pid in below)
        parents += below
    return found


def signal_found(number: int, found: Mapping[int, ProcessStatus], wanted: Collection[int]) -> None:
    """Signal processes that a scan has ``found``, if they are still the same and still below this one.

    A scan reads one process after the other, and numbers can go to other processes during it and after it. So each
    process is opened, and looked at once more: if it still has its start and its parent, and so have all that are
    between it and this one, then all of them existed together between the two looks, as parents and children.
    """
    own, confirmed = os.getpid(), set[int]()
    for pid, seen in found.items():
        try:
            handle = ProcessHandle(pid, seen.start, descriptor_of(pid))
        except ProcessLookupError:
            continue
        now = status_of(pid)
        if now and now.start == seen.start and (now.parent == own or (now.parent == seen.parent in confirmed)):
            confirmed.add(pid)
            if pid in wanted:
                handle.signal(number)
        handle.close()


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
    _signal_group(signal.SIGKILL, group)
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
    return not spared or any(one.state != "Z" for _ in range(QUIET_SCANS) for one in descendants(spared).values())


def _stop_all(spared: Collection[int], ended: dict[int, int], deadline: float) -> None:
    """Stop everything, until several scans in a row find nothing that runs.

    A process in an uninterruptible wait (state D) takes the signal before it runs any code again. The parent of a
    ``vfork`` whose child was stopped before it called ``exec`` would wait like that for as long as this function.
    """
    quiet, signalled = 0, set[int]()
    while quiet < QUIET_SCANS and time.monotonic() < deadline:
        ended |= reap_children()
        found = descendants(spared)
        running = {pid for pid, one in found.items() if one.state not in ("TZD" if pid in signalled else "TZ")}
        signal_found(signal.SIGSTOP, found, running)
        signalled |= running
        quiet = 0 if running else quiet + 1


def _signal_all(number: int, spared: Collection[int], group: int | None) -> None:
    _signal_group(number, group)
    found = descendants(spared)
    signal_found(number, found, found)


def _signal_group(number: int, group: int | None) -> None:
    """Only without ``/proc``: when the group has ended, its number can belong to another program and all it started."""
    if group is None or has_proc():
        return
    try:
        os.kill(-group, number)
    except OSError:
        return
