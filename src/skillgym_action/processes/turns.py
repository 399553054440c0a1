"""Turns: as many threads work at once as there are processors; the others wait for agents, or for their turn.

A run has many threads because agents take long, not because our own work would gain from it: threads that all want
the interpreter at every system call spend more time on handing it over than on working.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Turns:
    """A thread that works holds a turn; a thread that waits gives it back meanwhile."""

    def __init__(self) -> None:
        """One turn for each processor; a queue, since it costs less than the library's semaphore."""
        self._free: SimpleQueue[None] = SimpleQueue()
        for _ in range(os.cpu_count() or 2):
            self._free.put(None)
        self._mine = threading.local()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Around work of our own."""
        self._take()
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Around waiting for somebody else. Does nothing in a thread that holds no turn."""
        if not getattr(self._mine, "held", False):
            yield
            return
        self._give()
        try:
            yield
        finally:
            self._take()

    def _take(self) -> None:
        self._free.get()
        self._mine.held = True

    def _give(self) -> None:
        self._mine.held = False
        self._free.put(None)
