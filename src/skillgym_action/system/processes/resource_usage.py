"""Resources that sessions use: resident memory, processes, disk; and the trouble of a session that exceeds a limit.

Measuring the memory and processes of a session takes a few milliseconds, however many processes there are.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from skillgym_action.model.records import record
from skillgym_action.model.resource_limits import format_size
from skillgym_action.system.processes.disk_usage import disk_used

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from skillgym_action.model.resource_limits import ResourceLimits
    from skillgym_action.model.session_report import Trouble
    from skillgym_action.system.processes.disk_usage import DiskReserve

KIND = "resource-limit"
DISK_PAUSE_FACTOR = 20  # measuring the disk is followed by a pause that is so many times as long
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
PARENT, THREADS, RESIDENT = 1, 17, 21  # fields of /proc/PID/stat, counted after the name


@record(kw_only=False)
class ResourceUsage:
    """What processes use together. ``memory``: resident bytes; ``processes``: their number, threads counted."""

    memory: int = 0
    processes: int = 0
    pids: tuple[int, ...] = ()


class SessionProcesses:
    """The processes of one session: all of an effective user, or a process with all of its descendants."""

    def __init__(self, *, uid: int | None = None, pid: int | None = None) -> None:
        """Either ``uid`` or ``pid``."""
        self._uid, self._pid = uid, pid

    def usage(self) -> ResourceUsage:
        """What they use now. Shared memory counts in each process: see ``proportional_memory``."""
        if sys.platform != "linux":
            return usage_by_psutil(self._uid, self._pid)
        with _proc_folder() as folder:
            pids = [int(name) for name in os.listdir(folder) if name.isdigit()]
            candidates = pids if self._uid is None else [pid for pid in pids if _effective_user(pid) == self._uid]
            stats = {pid: stat for pid in candidates if (stat := _stat(pid, folder))}
        found = stats if self._uid is not None else {pid: stats[pid] for pid in _family(self._pid, stats)}
        return ResourceUsage(
            memory=sum(stat[2] for stat in found.values()) * PAGE_BYTES,
            processes=sum(stat[1] for stat in found.values()),
            pids=tuple(found),
        )


def proportional_memory(pids: Sequence[int]) -> int:
    """Resident bytes of these processes; memory that several share counts once (Pss).

    Of a process that may not be looked into, and on other systems than Linux, all resident memory. Several times
    slower than ``usage``.
    """
    if sys.platform != "linux":
        return memory_by_psutil(pids)
    total = 0
    for pid in pids:
        with _proc_folder() as folder:
            stat = _stat(pid, folder)
        total += _proportional(pid) or (stat[2] * PAGE_BYTES if stat else 0)
    return total


def memory_size() -> int | None:
    """Bytes of memory of the machine, or of the container if that has less; None if unknown."""
    found = []
    with suppress(OSError, ValueError):
        found.append(os.sysconf("SC_PHYS_PAGES") * PAGE_BYTES)
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError), open(path, encoding="ascii") as file:
            found.append(int(file.read()))
    return min((size for size in found if size > 0), default=None)


class ResourceMonitor:
    """Checks whether one session is within its limits; to be asked about once a second while a program runs."""

    def __init__(
        self,
        limits: ResourceLimits,
        *,
        uid: int | None = None,
        pid: int | None = None,
        folders: Sequence[Path] = (),
        reserve: DiskReserve | None = None,
    ) -> None:
        """The session is all processes of ``uid``, or ``pid`` and its descendants; ``folders`` are those it can fill.

        ``reserve``: that of their file system, which all sessions of a run share.
        """
        self._limits, self._reserve = limits, reserve
        self._processes, self._folders = SessionProcesses(uid=uid, pid=pid), tuple(folders)
        self._next_disk_check = 0.0

    def exceeded(self) -> Trouble | None:
        """The limit that is exceeded, if any. Never raises OSError: what has vanished uses nothing."""
        return self._by_processes() or self._by_disk()

    def _by_processes(self) -> Trouble | None:
        memory, processes = self._limits.memory, self._limits.processes
        if memory is None and processes is None:
            return None
        used = self._processes.usage()
        if processes is not None and used.processes > processes:
            return too_many_processes(used.processes, processes)
        if memory is not None and used.memory > memory and (shared := proportional_memory(used.pids)) > memory:
            return too_much_memory(shared, memory)
        return None

    def _by_disk(self) -> Trouble | None:
        """Measured less often if it takes long."""
        limit, began = self._limits.disk, time.monotonic()
        if began < self._next_disk_check:
            return None
        from skillgym_action.model.session_report import Trouble

        trouble = None
        if limit is not None and disk_used(self._folders, enough=limit) > limit:
            message = f"its folders have more than {format_size(limit)}, the limit (limits.disk)"
            trouble = Trouble(kind=KIND, message=message)
        if not trouble and self._reserve and (used := self._reserve.usage_of_largest(self._folders)):
            left = "the file system for temporary files is nearly full, and no other session uses as much of it"
            trouble = Trouble(kind=KIND, message=f"{left}: {format_size(used)}")
        ended = time.monotonic()
        self._next_disk_check = ended + DISK_PAUSE_FACTOR * (ended - began)
        return trouble


def too_much_memory(used: int | None, limit: int) -> Trouble:
    """The trouble of a session that used that many bytes; ``used`` None: more than the limit, not measured."""
    from skillgym_action.model.session_report import Trouble

    what = f"used {format_size(used)} of memory" if used else "used more memory than it may"
    return Trouble(kind=KIND, message=f"{what}; the limit is {format_size(limit)} (limits.memory)")


def too_many_processes(ran: int | None, limit: int) -> Trouble:
    """The trouble of a session with that many processes and threads; ``ran`` None: it was refused another one."""
    from skillgym_action.model.session_report import Trouble

    what = f"ran {ran:,} processes and threads" if ran else "wanted more processes and threads than it may have"
    return Trouble(kind=KIND, message=f"{what}; the limit is {limit:,} (limits.processes)")


# --- Linux ------------------------------------------------------------------------------------------


@contextmanager
def _proc_folder() -> Iterator[int]:
    folder = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield folder
    finally:
        os.close(folder)


def _stat(pid: int, folder: int) -> tuple[int, int, int] | None:
    """Parent, threads, resident pages; None for a process that has ended."""
    try:
        descriptor = os.open(f"{pid}/stat", os.O_RDONLY, dir_fd=folder)
        try:
            text = os.read(descriptor, 1024)
        finally:
            os.close(descriptor)
        words = text[text.rindex(b")") + 2 :].split(None, RESIDENT + 1)
        return int(words[PARENT]), int(words[THREADS]), int(words[RESIDENT])
    except (OSError, ValueError, IndexError):
        return None


def _effective_user(pid: int) -> int | None:
    """None for a process that has ended.

    The files in the folder of a process belong to root if it is not dumpable; the folder itself always to its user.
    """
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def _family(pid: int | None, stats: dict[int, tuple[int, int, int]]) -> Iterator[int]:
    """``pid`` and its descendants."""
    children: dict[int, list[int]] = {}
    for child, (parent, *_) in stats.items():
        children.setdefault(parent, []).append(child)
    found = [pid] if pid in stats else []
    for one in found:
        yield one
        found += children.get(one, ())


def _proportional(pid: int) -> int | None:
    """Proportional set size in bytes; None if the process may not be looked into."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


# --- other systems --------------------------------------------------------------------------------------


def usage_by_psutil(uid: int | None, pid: int | None) -> ResourceUsage:
    """The same as ``SessionProcesses.usage``, as far as psutil can find it out."""
    import psutil

    found = []
    with suppress(psutil.Error):
        root = psutil.Process(pid) if uid is None else None
        found = [root, *root.children(recursive=True)] if root else list(psutil.process_iter())
    memory = processes = 0
    pids = []
    for process in found:
        with suppress(psutil.Error):
            if uid is None or process.uids().effective == uid:
                memory += process.memory_info().rss
                processes += process.num_threads()
                pids.append(process.pid)
    return ResourceUsage(memory, processes, tuple(pids))


def memory_by_psutil(pids: Sequence[int]) -> int:
    """Resident bytes of these processes; memory that several share counts in each."""
    import psutil

    total = 0
    for pid in pids:
        with suppress(psutil.Error):
            total += psutil.Process(pid).memory_info().rss
    return total
