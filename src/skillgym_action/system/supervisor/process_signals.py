"""Signals to processes that may have ended: another process can have their number by then.

A descriptor of a process (pidfd) never refers to another one. Linux before 5.3, gVisor and other systems have none:
there the start of the process is compared right before its number is used.
"""

from __future__ import annotations

import errno
import os
import signal
import sys

NOT_AVAILABLE = frozenset({errno.ENOSYS, errno.EPERM})  # EPERM: an older filter of a container refuses new system calls


class ProcessStatus:
    """A process as ``/proc`` shows it: its parent, its state such as ``R``, and its start in ticks since the boot."""

    __slots__ = ("parent", "start", "state")

    def __init__(self, parent: int, state: str, start: int) -> None:
        self.parent, self.state, self.start = parent, state, start


def status_of(pid: int) -> ProcessStatus | None:
    """None if the process has ended, or without ``/proc``."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            # The name of a program is in parentheses and can have any characters: the last one ends it.
            words = file.read(4096).rpartition(b")")[2].split(None, 20)
        return ProcessStatus(int(words[1]), words[0].decode(), int(words[19]))
    except (OSError, ValueError, IndexError):
        return None


def has_proc() -> bool:
    """Whether there is a ``/proc``, and its numbers are those of this process's namespace."""
    try:
        return os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return False


def descriptor_of(pid: int) -> int | None:
    """A descriptor of the process that has this number now; None where the system has none.

    Raises ProcessLookupError if there is no such process.
    """
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except (AttributeError, OSError):
        return None


class ProcessHandle:
    """A process that can be signalled later, when its number may belong to another one."""

    __slots__ = ("_descriptor", "_pid", "_start")

    def __init__(self, pid: int, start: int | None, descriptor: int | None) -> None:
        """``start``: as in ``ProcessStatus``; None without ``/proc``. ``descriptor``: None if there is none."""
        self._pid, self._start, self._descriptor = pid, start, descriptor

    def signal(self, number: int) -> None:
        """Send a signal. Nothing happens if the process has ended, or belongs to another user."""
        try:
            if sys.platform == "linux" and self._descriptor is not None:
                signal.pidfd_send_signal(self._descriptor, number)
                return
        except OSError as error:
            if error.errno not in NOT_AVAILABLE:
                return
        self._signal_number(number)

    def _signal_number(self, number: int) -> None:
        status = status_of(self._pid)
        if (status.start if status else None) != self._start:
            return
        try:
            os.kill(self._pid, number)
        except OSError:
            return

    def close(self) -> None:
        """Close the descriptor."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
