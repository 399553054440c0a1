"""The tool's own work on a session's files: it ends once the run is cancelled, or the time for it is over."""

from __future__ import annotations

import select
import time
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.system.cancellation import Cancellation

T = TypeVar("T")

LONGEST_POLL_SECONDS = 3600.0


class Look:
    """Is asked wherever that work can take long: it grows with the number of files, which an agent determines."""

    def __init__(self, cancelled: Cancellation, seconds: float = inf) -> None:
        """``seconds``: that the work in a ``limited`` block may take."""
        self._cancelled, self._seconds, self._deadline = cancelled, seconds, inf

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Limit the time of what is done in this block."""
        self._deadline = time.monotonic() + self._seconds
        try:
            yield
        finally:
            self._deadline = inf

    def check(self) -> None:
        """Raise InterruptedError once the run is cancelled, and TimeoutError once the time is over: both are OSErrors.

        Code that works on files handles them.
        """
        self._cancelled.raise_if_cancelled()
        if time.monotonic() > self._deadline:
            raise TimeoutError(f"looking at its files took more than {self._seconds:g} s")

    def checked(self, items: Iterable[T]) -> Iterator[T]:
        """The same items, with a check before each."""
        for item in items:
            self.check()
            yield item

    def wait(self, descriptor: int) -> None:
        """Wait until a descriptor is readable. Raises as ``check`` does."""
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.register(self._cancelled.fileno(), select.POLLIN)
        while True:
            left = max(0.0, min(self._deadline - time.monotonic(), LONGEST_POLL_SECONDS))
            if any(ready == descriptor for ready, _ in poll.poll(left * 1000)):
                return
            self.check()
