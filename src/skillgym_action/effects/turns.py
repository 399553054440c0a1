"""Turns: as many threads work at once as there are processors; the others wait for agents, or for their turn.

A run has many threads because agents take long, not because our own work would gain from it: threads that all want
the interpreter at every system call spend more time on handing it over than on working.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Turns:
    """A thread that works holds a turn; a thread that waits gives it back meanwhile."""

    def __init__(self) -> None:
        """One turn for each processor."""
        self._free = threading.Semaphore(os.cpu_count() or 2)
        self._mine = threading.local()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Around work of our own."""
        with self._free:
            self._mine.held = True
            try:
                yield
            finally:
                self._mine.held = False

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Around waiting for somebody else. Does nothing in a thread that holds no turn."""
        if not getattr(self._mine, "held", False):
            yield
            return
        self._mine.held = False
        self._free.release()
        try:
            yield
        finally:
            self._free.acquire()
            self._mine.held = True
