"""What programs write to files, read while they run and afterwards."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.session import Watcher
    from skillgym_action.session_report import Trouble

LINE_LIMIT = 4 * 1024 * 1024


class OutputFile:
    """What a process wrote to a file; fulfils ``session.Output``."""

    def __init__(self, path: Path) -> None:
        """The file need not exist: then there was no output."""
        self.path = path

    def lines(self) -> Iterator[str]:
        """Lines without their ends; what is not UTF-8 is replaced; lines over 4 MiB are cut."""
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            while line := file.readline(LINE_LIMIT):
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
        self.file: IO[bytes] = path.open("rb")
        self.watch = watch
        self.rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def trouble(self) -> Trouble | None:
        """The watcher's reason to stop, from the lines that came since the last call."""
        while chunk := self.file.read(1024 * 1024):
            *lines, self.rest = (self.rest + chunk).split(b"\n")
            for line in lines:
                if trouble := self.watch(line.decode("utf-8", "replace")):
                    return trouble
            self.rest = self.rest[-LINE_LIMIT:]
        return None
