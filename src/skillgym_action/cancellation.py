"""A cancellation: what SIGINT and SIGTERM set, and everything that waits looks at."""

from __future__ import annotations

import errno
import os
from contextlib import suppress


class Cancellation:
    """Set once, from a signal handler or a thread; whoever waits for a process wakes up at once."""

    def __init__(self) -> None:
        """Not cancelled yet."""
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._set = False

    def __bool__(self) -> bool:
        return self._set

    def fileno(self) -> int:
        """Readable as soon as cancelled."""
        return self._read

    def set(self) -> None:
        """Cancel; safe in a signal handler."""
        self._set = True
        with suppress(OSError):
            os.write(self._write, b"x")

    def raise_if_cancelled(self) -> None:
        """Raise InterruptedError once cancelled: an OSError, as anything that keeps work on files from its end."""
        if self._set:
            raise InterruptedError(errno.EINTR, "the run was cancelled")

    def close(self) -> None:
        """Give the descriptors back."""
        os.close(self._read)
        os.close(self._write)
