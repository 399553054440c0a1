"""Cancellation of a run: set by SIGINT and SIGTERM, checked by everything that waits."""

from __future__ import annotations

import errno
import os
from contextlib import suppress


class Cancellation:
    """A flag that is set once, by a signal handler or a thread. Its descriptor wakes up ``select``."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._set = False

    def __bool__(self) -> bool:
        return self._set

    def fileno(self) -> int:
        """The descriptor that becomes readable when the flag is set."""
        return self._read

    def set(self) -> None:
        """Set the flag. Safe in signal handlers."""
        self._set = True
        with suppress(OSError):
            os.write(self._write, b"x")

    def raise_if_cancelled(self) -> None:
        """Raise InterruptedError if the flag is set: an OSError, so that code that works on files handles it."""
        if self._set:
            raise InterruptedError(errno.EINTR, "the run was cancelled")

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)
