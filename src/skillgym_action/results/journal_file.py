"""The journal file: each line is written at once and as a whole, also when the process is killed while it writes."""

from __future__ import annotations

import fcntl
import os
import stat
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_JOURNAL_LINE_BYTES = 64 * 1024 * 1024
JOURNAL = "journal.jsonl"
CHUNK = 64 * 1024


class JournalFile:
    """The journal of one run. While it is open no other process can open it; the lock ends with the process."""

    def __init__(self, path: Path, folder: int | None = None) -> None:
        """Make the file where it is not. Raises UsageError while another run has it open, OSError.

        ``folder``: the descriptor of the one it is in, which stays open as long as the journal.
        """
        self.path = path
        self._name, self._folder = os.fspath(path) if folder is None else path.name, folder
        self._lock = threading.Lock()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        self._file = os.open(self._name, flags, 0o666, dir_fd=folder)
        try:
            self._take()
        # Also a cancellation: without an object, nothing closes the file, and its lock would stay.
        except BaseException:
            os.close(self._file)
            raise

    def _take(self) -> None:
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            raise OSError(None, "is not a file")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{self.path.parent} is in use by a run that has not ended",
                remedy="wait for it, end it, or choose another folder with --output",
            ) from None
        except OSError:  # a file system that cannot lock
            return

    def close(self) -> None:
        """Let others open it. A journal in which nothing was written is removed."""
        if not os.fstat(self._file).st_size:
            with suppress(OSError):
                os.unlink(self._name, dir_fd=self._folder)
        os.close(self._file)

    def add(self, line: str) -> None:
        """Write a line at once. Raises OSError, and then nothing of the line is there."""
        left = memoryview(line.encode() + b"\n")
        with self._lock:
            size = os.fstat(self._file).st_size
            try:
                while left:
                    left = left[os.write(self._file, left) :]
            except OSError:
                os.ftruncate(self._file, size)
                raise

    def lines(self) -> Iterator[bytes]:
        """All lines with their ends, which what was torn off has not; of one that no run writes, the beginning."""
        with os.fdopen(os.dup(self._file), "rb") as file:
            file.seek(0)
            while line := file.readline(MAX_JOURNAL_LINE_BYTES):
                whole = line.endswith(b"\n") or len(line) < MAX_JOURNAL_LINE_BYTES
                yield line if whole else line + b"\n"
                while not whole and (rest := file.readline(MAX_JOURNAL_LINE_BYTES)):
                    whole = rest.endswith(b"\n")

    def remove_incomplete_line(self) -> None:
        """Remove an incomplete last line, so that the next one begins on its own line. Raises OSError."""
        position = os.fstat(self._file).st_size
        while position:
            size = min(position, CHUNK)
            found = os.pread(self._file, size, position - size).rfind(b"\n")
            if found >= 0:
                position -= size - found - 1
                break
            position -= size
        os.ftruncate(self._file, position)

    def empty(self) -> None:
        """Begin anew. Raises OSError."""
        os.ftruncate(self._file, 0)
