"""What sessions use of the machine: resident memory, processes, disk; and the trouble of one that passes a limit.

One look at the memory and processes of a session costs a few milliseconds, however many processes there are.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.model.resource_limits import format_size
from skillgym_action.model.session_report import Trouble
from skillgym_action.processes.disk_usage import disk_used

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from skillgym_action.model.resource_limits import ResourceLimits
    from skillgym_action.processes.disk_usage import SpaceReserve

KIND = "resource-limit"
DISK_SHARE = 20  # a look at the disk is followed by a pause that is as many times as long
PAGE = os.sysconf("SC_PAGE_SIZE")
PARENT, THREADS, RESIDENT = 1, 17, 21  # fields of /proc/PID/stat, counted after the name


@dataclass(frozen=True, slots=True)
class Usage:
    """What some processes use together. ``memory``: resident bytes; ``processes``: with their threads."""

    memory: int = 0
    processes: int = 0
    pids: tuple[int, ...] = ()


class SessionProcesses:
    """The processes of one session: all with that effective user, or ``pid`` with all of its descendants."""

    def __init__(self, *, uid: int | None = None, pid: int | None = None) -> None:
        """One of the two."""
        self._uid, self._pid = uid, pid

    def usage(self) -> Usage:
        """What they use now. Memory that several share counts in each of them: see ``proportional_memory``."""
        if sys.platform != "linux":
            return usage_by_psutil(self._uid, self._pid)
        with _folder_of_processes() as folder:
            pids = [int(name) for name in os.listdir(folder) if name.isdigit()]
            asked = pids if self._uid is None else [pid for pid in pids if _effective_user(pid) == self._uid]
            every = {pid: stat for pid in asked if (stat := _stat(pid, folder))}
        found = every if self._uid is not None else {pid: every[pid] for pid in _family(self._pid, every)}
        return Usage(
            memory=sum(stat[2] for stat in found.values()) * PAGE,
            processes=sum(stat[1] for stat in found.values()),
            pids=tuple(found),
        )


def proportional_memory(pids: Sequence[int]) -> int:
    """Resident bytes of these processes, where memory that several share counts once.

    Of a process that may not be looked into, what is resident. Several times slower than ``usage``.
    """
    total = 0
    for pid in pids:
        with _folder_of_processes() as folder:
            stat = _stat(pid, folder)
        total += _proportional(pid) or (stat[2] * PAGE if stat else 0)
    return total


def memory_size() -> int | None:
    """Bytes of memory of the machine, or of the container where that has less; None where it is not known."""
    found = []
    with suppress(OSError, ValueError):
        found.append(os.sysconf("SC_PHYS_PAGES") * PAGE)
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError), open(path, encoding="ascii") as file:
            found.append(int(file.read()))
    return min((size for size in found if size > 0), default=None)


class ResourceWatch:
    """Looks whether one session is within its limits. Ask it about once a second while a program runs."""

    def __init__(
        self,
        limits: ResourceLimits,
        *,
        uid: int | None = None,
        pid: int | None = None,
        folders: Sequence[Path] = (),
        reserve: SpaceReserve | None = None,
    ) -> None:
        """The session is all processes of ``uid``, or ``pid`` and its descendants; ``folders`` are what it can fill.

        ``reserve``: that of the file system they are on, which all sessions of a run share.
        """
        self._limits, self._reserve = limits, reserve
        self._processes, self._folders = SessionProcesses(uid=uid, pid=pid), tuple(folders)
        self._next_disk_look = 0.0

    def exceeded(self) -> Trouble | None:
        """The limit that is passed, if any. Never raises OSError: what has vanished uses nothing."""
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
        """Looked at less often where it takes long."""
        limit, began = self._limits.disk, time.monotonic()
        if began < self._next_disk_look:
            return None
        trouble = None
        if limit is not None and disk_used(self._folders, enough=limit) > limit:
            message = f"its folders hold more than {format_size(limit)}; the limit is that (limits.disk)"
            trouble = Trouble(kind=KIND, message=message)
        if not trouble and self._reserve and (used := self._reserve.claimed_from(self._folders)):
            left = "the file system for temporary files is nearly full, and no other session uses as much of it"
            trouble = Trouble(kind=KIND, message=f"{left}: {format_size(used)}")
        ended = time.monotonic()
        self._next_disk_look = ended + DISK_SHARE * (ended - began)
        return trouble


def too_much_memory(used: int | None, limit: int) -> Trouble:
    """The trouble of a session that used that many bytes; None: more than it may, and nobody measured how much."""
    what = f"used {format_size(used)} of memory" if used else "used more memory than it may"
    return Trouble(kind=KIND, message=f"{what}; the limit is {format_size(limit)} (limits.memory)")


def too_many_processes(ran: int | None, limit: int) -> Trouble:
    """The trouble of a session with that many processes and threads; None: it was refused another one."""
    what = f"ran {ran:,} processes and threads" if ran else "wanted more processes and threads than it may have"
    return Trouble(kind=KIND, message=f"{what}; the limit is {limit:,} (limits.processes)")


# --- Linux ------------------------------------------------------------------------------------------


@contextmanager
def _folder_of_processes() -> Iterator[int]:
    folder = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield folder
    finally:
        os.close(folder)


def _stat(pid: int, folder: int) -> tuple[int, int, int] | None:
    """Parent, threads, resident pages; None for a process that is no more."""
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
    """None for a process that is no more. Unlike the files in it, its folder is never root's in place of the user's."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def _family(pid: int | None, every: dict[int, tuple[int, int, int]]) -> Iterator[int]:
    """``pid`` and its descendants, of all there are."""
    children: dict[int, list[int]] = {}
    for one, (parent, *_) in every.items():
        children.setdefault(parent, []).append(one)
    found = [pid] if pid in every else []
    for one in found:
        yield one
        found += children.get(one, ())


def _proportional(pid: int) -> int | None:
    """Bytes; None where it may not be looked at."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


# --- elsewhere --------------------------------------------------------------------------------------


def usage_by_psutil(uid: int | None, pid: int | None) -> Usage:
    """The same, as far as the system tells it."""
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
    return Usage(memory, processes, tuple(pids))
