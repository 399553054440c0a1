"""Work slots: at most as many session threads work at once as there are processors; the others wait for a program.

A run has many threads since agents take long, and a thread releases the interpreter's lock at each system call. Threads
that all want it back spend their time on handing it over: eight of them on two processors make nine times as many futex
calls without the slots, and a run of trivial sessions takes a tenth more CPU time.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class WorkSlots:
    """One slot per processor."""

    def __init__(self) -> None:
        # a queue, since ``threading.Semaphore`` is written in Python and hands the lock over more often
        self._free: SimpleQueue[None] = SimpleQueue()
        for _ in range(os.cpu_count() or 2):
            self._free.put(None)
        self._thread = threading.local()

    @contextmanager
    def occupied(self) -> Iterator[None]:
        """Wait for a slot and keep it for the block."""
        self._take()
        try:
            yield
        finally:
            self._give_back()

    @contextmanager
    def released(self) -> Iterator[None]:
        """Give the thread's slot back for the block, which waits for something else; a thread without one goes on."""
        if not getattr(self._thread, "has_slot", False):
            yield
            return
        self._give_back()
        try:
            yield
        finally:
            self._take()

    def _take(self) -> None:
        self._free.get()
        self._thread.has_slot = True

    def _give_back(self) -> None:
        self._thread.has_slot = False
        self._free.put(None)
