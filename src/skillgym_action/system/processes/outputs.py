"""Output that programs write to files, read while they run and afterwards."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import islice
from typing import IO, TYPE_CHECKING, Self

from skillgym_action.model.errors import OutputError
from skillgym_action.model.limits import MAX_OUTPUT_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.model.session import Watcher
    from skillgym_action.model.session_report import Trouble

MAX_OUTPUT_LINES = 1_000_000  # read from one stream
MAX_OUTPUT_LINE_BYTES = 16 * 1024**2  # of a longer line only so much is read, and it is reported
CHUNK_BYTES = 1024 * 1024


def is_too_large(*paths: Path) -> bool:
    """Whether one of the files has more output than a program may print."""
    return any(_size(path) > MAX_OUTPUT_BYTES for path in paths)


def truncate(*paths: Path) -> None:
    """Cut off what is more than a program may print."""
    for path in paths:
        if is_too_large(path):
            os.truncate(path, MAX_OUTPUT_BYTES)


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


class OutputFile:
    """The output of a process in a file; fulfils ``session.Output``."""

    def __init__(self, path: Path) -> None:
        """The file need not exist: then there was no output."""
        self.path = path

    def lines(self) -> Iterator[str]:
        """At most the first million lines, without line ends. Invalid UTF-8 is replaced.

        Of a line of more than ``MAX_OUTPUT_LINE_BYTES`` the beginning, then a line end and a note of its size.
        """
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            chunks = iter(lambda: file.readline(MAX_OUTPUT_LINE_BYTES), b"")
            for line in islice(chunks, MAX_OUTPUT_LINES):
                text, size, end = line.decode("utf-8", "replace").rstrip("\r\n"), len(line), line[-1:]
                while end != b"\n" and (rest := file.readline(MAX_OUTPUT_LINE_BYTES)):
                    size, end = size + len(rest), rest[-1:]
                size -= end == b"\n"
                yield text if size <= MAX_OUTPUT_LINE_BYTES else f"{text}\n{_too_long(size)}"

    def tail(self, size: int) -> str:
        """The last ``size`` bytes."""
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - size))
            return file.read(size).decode("utf-8", "replace")
        return ""


def _too_long(size: int) -> str:
    return f"[a line of {size:,} bytes, of which {MAX_OUTPUT_LINE_BYTES // 1024**2} MiB are read]"


class OutputTail:
    """Reads what was added to a growing file and passes whole lines to a watcher. A context manager."""

    def __init__(self, path: Path, watch: Watcher) -> None:
        """Raises OutputError if the file is gone, which the tool has made: something removed the run directory."""
        self.watch = watch
        try:
            self._file: IO[bytes] = path.open("rb", buffering=0)
        except OSError as error:
            remedy = "let nothing change the run directory meanwhile"
            raise OutputError(f"cannot write {path}: {error.strerror or error}", remedy=remedy) from error
        self._incomplete = b""  # the last line, whose end is not there yet

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def trouble(self) -> Trouble | None:
        """The watcher's reason to stop the program, from the lines added since the last call."""
        for chunk in self._new_chunks():
            *lines, self._incomplete = (self._incomplete + chunk).split(b"\n")
            for line in lines:
                if trouble := self.watch(line.decode("utf-8", "replace")):
                    return trouble
            self._incomplete = self._incomplete[-MAX_OUTPUT_LINE_BYTES:]
        return None

    def _new_chunks(self) -> Iterator[bytes]:
        """What is in the file by now, and no more: a program can print faster than its output is read."""
        left = os.fstat(self._file.fileno()).st_size - self._file.tell()
        while left > 0 and (chunk := self._file.read(min(left, CHUNK_BYTES))):
            left -= len(chunk)
            yield chunk
