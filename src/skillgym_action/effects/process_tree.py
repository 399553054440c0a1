"""The end of a process and of everything it started; and waiting for one without polling."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.effects.cancellation import Cancellation

TICK = 0.1
LONGEST_POLL = 24 * 3600.0  # the kernel counts milliseconds in 32 bits


def end_tree(pid: int, grace: float) -> None:
    """TERM to a process, its group and its descendants; KILL to what is left after ``grace`` seconds."""
    end_trees([pid], grace)


def end_trees(pids: Iterable[int], grace: float) -> None:
    """All of them at once, and without a thread: a fork storm may have left none."""
    roots = tuple(pids)
    if not roots:
        return
    import psutil

    tree = [process for pid in roots for process in _tree(pid)]
    for kill in (signal.SIGTERM, signal.SIGKILL):
        for pid in roots if tree else ():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, kill)
        for process in tree:
            with suppress(psutil.Error):
                process.send_signal(kill)
        tree = _left(tree, grace)


def _tree(pid: int) -> list[Any]:
    import psutil

    with suppress(psutil.Error):
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    return []


def _left(tree: list[Any], grace: float) -> list[Any]:
    """The processes that still run after at most ``grace`` seconds; zombies have ended."""
    import psutil

    deadline = time.monotonic() + grace
    while True:
        alive = []
        for process in tree:
            with suppress(psutil.Error):
                if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                    alive.append(process)
        if not alive or time.monotonic() >= deadline:
            return alive
        time.sleep(0.02)


class Exit:
    """Waits for a child without polling where the kernel lets us (pidfd), and wakes on cancellation."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        """A child that has not been waited for."""
        self.child = child
        self.fd: int | None = None
        with suppress(AttributeError, OSError):
            self.fd = os.pidfd_open(child.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.fd is not None:
            os.close(self.fd)

    def within(self, seconds: float, cancelled: Cancellation) -> bool:
        """Whether the child has ended; waits for that, for a cancellation, or ``seconds``, a day at most."""
        if self.fd is None:
            with suppress(subprocess.TimeoutExpired):
                self.child.wait(min(seconds, TICK))
            return self.child.returncode is not None
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        poll.register(cancelled.fileno(), select.POLLIN)
        return any(fd == self.fd for fd, _ in poll.poll(min(seconds, LONGEST_POLL) * 1000))
