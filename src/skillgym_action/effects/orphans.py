"""What programs leave running when they end: found, stopped and killed.

Orphans come to us, because we are their subreaper. Whose they are is told by a random mark in their environment, and
where agents have a user of their own by their groups, which nothing can change. First they are asked to end. What is
still there then may fork faster than it is found: it is stopped, until nothing runs that could fork, and then killed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from skillgym_action.effects.process_tree import end_trees

if TYPE_CHECKING:
    from collections.abc import Iterator

PR_SET_CHILD_SUBREAPER = 36
STUBBORN = 10.0  # seconds that what forks and forks may keep us
LOOKS = 50  # in vain, at what is starting, ending, or gone before it was looked at
PAUSE = 0.001
STOPPED, ZOMBIE = b"T", b"Z"


@dataclass(frozen=True, kw_only=True, slots=True)
class Traces:
    """By what the processes of one program are known. ``groups``: its first one and all others; (): not by these."""

    mark: bytes = b""
    groups: tuple[int, ...] = ()

    def on(self, pid: int) -> bool | None:
        """Whether the process has them, as every process has none; None: it cannot be told while it starts or ends.

        Root in a container may not read the environments of others; their groups everybody may.
        """
        if not self.mark or (self.groups and _groups(pid) == self.groups):
            return True
        try:
            environment = _read(pid, "environ")
        except PermissionError:
            return False
        except OSError:
            return None
        return self.mark in environment if environment else None


class Orphans:
    """Processes that came to us. ``known`` are those that we started ourselves and have not waited for."""

    def __init__(self) -> None:
        """From now on this process is a subreaper, on Linux; elsewhere there are no orphans to be found."""
        self.known: set[int] = set()
        self.lock = threading.Lock()  # held while a child is started, and not yet known
        self._hidden: set[int] = set()  # whose traces could not be told for some time; they go with the run
        self._adopts = _become_subreaper()
        self._before_us = frozenset(_entries()) if self._adopts else frozenset()

    def end(self, traces: Traces, grace: float, *, lasted: float = inf) -> None:
        """End all with these traces; asked first, killed after ``grace`` seconds. ``lasted``: seconds they had.

        A process id that was taken before us may have been freed and given to an orphan, if there was time for it.
        """
        ignored = self._before_us if lasted < 1.0 else frozenset()
        untold: set[int] = set()
        for _ in range(LOOKS if self._adopts else 0):
            orphans, doubt = self._with(traces, ignored, untold)
            if orphans:
                end_trees(orphans, grace)
                self._end_stubborn(traces, ignored, time.monotonic() + STUBBORN)
            if orphans or not doubt:
                return
            time.sleep(PAUSE)
        self._hidden |= untold

    def _with(self, traces: Traces, ignored: frozenset[str], untold: set[int]) -> tuple[list[int], bool]:
        """Orphans with these traces, and whether there may be more; those that have ended are reaped on the way.

        What has ended may have started another one. ``untold`` is made of those that show no traces at all.
        """
        found, ended = [], False
        untold.clear()
        for pid in _pids(ignored):
            if pid in self.known or _status(pid)[0] != os.getpid():
                continue
            with self.lock:
                if pid in self.known:
                    continue
                if _reaped(pid):
                    ended = True
                    continue
                has = traces.on(pid)
            if has is None and pid not in self._hidden:
                untold.add(pid)
            if has:
                found.append(pid)
        return found, ended or bool(untold)

    def _end_stubborn(self, traces: Traces, ignored: frozenset[str], deadline: float) -> None:
        while (stopped := self._stopped(traces, ignored, deadline)) and time.monotonic() < deadline:
            for pid in stopped:
                _signal(pid, signal.SIGKILL)
            while any(_status(pid)[1] not in {None, ZOMBIE} for pid in stopped) and time.monotonic() < deadline:
                time.sleep(PAUSE)
        self._with(traces, ignored, set())  # what ended and was not waited for counts as a process

    def _stopped(self, traces: Traces, ignored: frozenset[str], deadline: float) -> set[int]:
        """All descendants with these traces, once none of them runs any more."""
        found: set[int] = set()
        doubt = True
        looks = 0
        while doubt and looks < LOOKS and time.monotonic() < deadline:
            looks, doubt = looks + 1, False
            for pid, state in self._family().items():
                if str(pid) in ignored or (state == STOPPED and pid in found):
                    continue
                if state == ZOMBIE:
                    with self.lock:
                        doubt |= pid not in self.known and _reaped(pid)
                    continue
                has = traces.on(pid)
                doubt |= has is not False
                if has:
                    looks = 0
                    found.add(pid)
                    _signal(pid, signal.SIGSTOP)
        return found

    def _family(self) -> dict[int, bytes | None]:
        """Our descendants and their states, without those that are ``known``, and theirs."""
        every = {pid: _status(pid) for pid in _pids()}
        ours: dict[int, bytes | None] = {}
        for pid, (_, state) in every.items():
            above: int | None = pid
            while above in every and above not in self.known and above != os.getpid():
                above = every[above][0]
            if above == os.getpid() != pid:
                ours[pid] = state
        return ours


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(OSError):
        os.kill(pid, number)


def _reaped(pid: int) -> bool:
    with suppress(OSError):
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    return False


def _become_subreaper() -> bool:
    if sys.platform != "linux":
        return False
    import ctypes

    return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def _pids(ignored: frozenset[str] = frozenset()) -> Iterator[int]:
    return map(int, filter(str.isdigit, _entries() - ignored))


def _entries() -> set[str]:
    """Of ``/proc``, where each process has one."""
    return set(os.listdir("/proc"))


def _read(pid: int, name: str) -> bytes:
    with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
        return file.readall()


def _status(pid: int) -> tuple[int | None, bytes | None]:
    """Parent and state; None for a process that is no more. Asked of all processes after each session: no psutil."""
    try:
        state, parent, *_ = _read(pid, "stat").rpartition(b")")[2].split()
    except (OSError, ValueError):
        return None, None
    return int(parent), state


def _groups(pid: int) -> tuple[int, ...]:
    """The real group, then the supplementary ones; () for a process that is no more."""
    try:
        lines = dict(line.split(b":", 1) for line in _read(pid, "status").splitlines() if b":" in line)
        return int(lines[b"Gid"].split()[0]), *map(int, lines[b"Groups"].split())
    except (OSError, KeyError, ValueError, IndexError):
        return ()
