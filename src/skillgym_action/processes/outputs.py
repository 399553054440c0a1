"""What programs write to files, read while they run and afterwards."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import islice
from typing import IO, TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.model.session import Watcher
    from skillgym_action.model.session_report import Trouble

CHUNK = 1024 * 1024
LINE_LIMIT = 4 * 1024 * 1024
LARGEST = 64 * 1024 * 1024
MOST_LINES = 1_000_000


def is_too_much(*paths: Path) -> bool:
    """Whether a program printed more than anybody reads."""
    return any(_size(path) > LARGEST for path in paths)


def cut(*paths: Path) -> None:
    """Leave the beginning."""
    for path in paths:
        if is_too_much(path):
            os.truncate(path, LARGEST)


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


class OutputFile:
    """What a process wrote to a file; fulfils ``session.Output``."""

    def __init__(self, path: Path) -> None:
        """The file need not exist: then there was no output."""
        self.path = path

    def lines(self) -> Iterator[str]:
        """Lines without their ends; what is not UTF-8 is replaced; lines over 4 MiB are cut.

        Of a program that has run wild only the first million.
        """
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            for line in islice(iter(lambda: file.readline(LINE_LIMIT), b""), MOST_LINES):
                whole = line.endswith(b"\n")
                yield line.decode("utf-8", "replace").rstrip("\r\n")
                while not whole and (rest := file.readline(LINE_LIMIT)):
                    whole = rest.endswith(b"\n")

    def tail(self, size: int) -> str:
        """The last ``size`` bytes."""
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - size))
            return file.read(size).decode("utf-8", "replace")
        return ""


class Tail:
    """Reads what was added to a growing file and shows whole lines to a watcher."""

    def __init__(self, path: Path, watch: Watcher) -> None:
        """The file exists."""
        self.file: IO[bytes] = path.open("rb", buffering=0)
        self.watch = watch
        self.rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def trouble(self) -> Trouble | None:
        """The watcher's reason to stop, from the lines that came since the last call."""
        for chunk in self._chunks():
            *lines, self.rest = (self.rest + chunk).split(b"\n")
            for line in lines:
                if trouble := self.watch(line.decode("utf-8", "replace")):
                    return trouble
            self.rest = self.rest[-LINE_LIMIT:]
        return None

    def _chunks(self) -> Iterator[bytes]:
        """What is there by now, and no more: who prints faster than we read must not keep us for ever."""
        left = os.fstat(self.file.fileno()).st_size - self.file.tell()
        while left > 0 and (chunk := self.file.read(min(left, CHUNK))):
            left -= len(chunk)
            yield chunk
