"""A store in a folder, a file for each run; or in one file, to which runs append. Names of files of runs."""

from __future__ import annotations

import fcntl
import os
import re
import stat
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import TYPE_CHECKING

from skillgym_action.history import StoreError, StoreText
from skillgym_action.model.limits import MAX_STORE_BYTES, MAX_STORE_FILES, MAX_STORE_READ_BYTES
from skillgym_action.model.records import record
from skillgym_action.system.files.checked_paths import REGULAR_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

FILE_ENDING = ".jsonl"
_TEMPORARY = ".new"


def path_store(path: Path, named: str) -> FolderStore | FileStore:
    """The store at ``path``: one file if it is called ``….jsonl``, else a folder. ``named``: as the user wrote it."""
    title = f"the store {named}"
    return FileStore(path, title) if path.suffix == FILE_ENDING else FolderStore(path, title)


@contextmanager
def _as_store_error(title: str, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{title} cannot be {what}: {error.strerror or error}") from error


@record(kw_only=False)
class FolderStore:
    """A folder with a file for each run, which no other run ever writes to: nothing has to be locked."""

    path: Path
    title: str
    looked_at: str = ""
    next_step: str = ""

    def newest_first(self) -> Iterator[StoreText]:
        """See ``Store``. Symbolic links and other special files are refused."""
        with _as_store_error(self.title, "read"):
            names = newest_first(self._sizes()) if self.path.exists() else []
        if len(names) > MAX_STORE_FILES:
            raise StoreError(
                f"{self.title} has more than {MAX_STORE_FILES:,} runs, which no version of this tool keeps"
            )
        left = MAX_STORE_READ_BYTES
        for name in names:
            try:
                content = _content(self.path / name, left)
            except FileNotFoundError:  # another job dropped it, since it was among the oldest
                continue
            except OSError as error:
                raise StoreError(f"{self.title}: {name} cannot be read: {error.strerror or error}") from error
            left -= len(content)
            yield from lines_of_file(name, content)

    def add(self, content: bytes, name: str, at: datetime) -> None:
        """See ``Store``."""
        file = self.path / run_file(name, at)
        temporary = file.with_name(f"{file.name}.{os.urandom(4).hex()}{_TEMPORARY}")
        with _as_store_error(self.title, "written"):
            file.parent.mkdir(parents=True, exist_ok=True)
            try:
                temporary.write_bytes(content)
                os.replace(temporary, file)
            finally:
                temporary.unlink(missing_ok=True)
            for old in too_old(self._sizes()):
                (self.path / old).unlink(missing_ok=True)

    def _sizes(self) -> dict[str, int]:
        found = {}
        for month in os.scandir(self.path):
            if not month.is_dir(follow_symlinks=False):
                continue
            for entry in os.scandir(month.path):
                name = f"{month.name}/{entry.name}"
                if RUN_FILE.fullmatch(name):
                    with suppress(FileNotFoundError):
                        found[name] = entry.stat(follow_symlinks=False).st_size
        return found


@record(kw_only=False)
class FileStore:
    """One file. Who appends has a lock on it, so that lines of two jobs never mix."""

    path: Path
    title: str
    looked_at: str = ""
    next_step: str = ""

    def newest_first(self) -> Iterator[StoreText]:
        """See ``Store``. A last line without a line feed is torn: the job that wrote it was killed."""
        try:
            content = _content(self.path, MAX_STORE_READ_BYTES)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(f"{self.title} cannot be read: {error.strerror or error}") from error
        yield from lines_of_file(self.path.name, content, whole=False)

    def add(self, content: bytes, name: str, at: datetime) -> None:  # noqa: ARG002 - the line says when and what
        """See ``Store``."""
        with _as_store_error(self.title, "written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._locked() as descriptor:
                size = _whole_lines(descriptor)
                if size + len(content) > MAX_STORE_BYTES:
                    self._rewrite(descriptor, content)
                    return
                os.ftruncate(descriptor, size)
                _write(descriptor, content)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """A descriptor of the file with an exclusive lock; the file is made if it is missing."""
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                if self._is_current(descriptor):
                    yield descriptor
                    return
            finally:
                os.close(descriptor)

    def _is_current(self, descriptor: int) -> bool:
        """Whether the file has not been replaced while this job waited for the lock."""
        with suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(descriptor), os.lstat(self.path))
        return False

    def _rewrite(self, descriptor: int, content: bytes) -> None:
        """Replace the file by one without the oldest lines; half of the room is free then."""
        lines = os.pread(descriptor, _whole_lines(descriptor), 0).splitlines(keepends=True)
        room, kept = MAX_STORE_BYTES // 2 - len(content), []
        for line in reversed(lines):
            if (room := room - len(line)) < 0:
                break
            kept.append(line)
        temporary = self.path.with_name(f"{self.path.name}.{os.urandom(4).hex()}{_TEMPORARY}")
        try:
            temporary.write_bytes(b"".join([*reversed(kept), content]))
            os.replace(temporary, self.path)
        finally:
            temporary.unlink(missing_ok=True)


def _content(file: Path, limit: int) -> bytes:
    """The content of a regular file. Raises OSError, also for one that has more than ``limit`` bytes."""
    with open(file, "rb", opener=lambda path, _: os.open(path, REGULAR_FILE)) as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise OSError(None, "is not a regular file")
        content = opened.read(limit + 1)
    if len(content) > limit:
        raise OSError(None, f"the store has more than {MAX_STORE_READ_BYTES:,} bytes")
    return content


def lines_of_file(name: str, content: bytes, *, whole: bool = True) -> Iterator[StoreText]:
    """The lines of a file, the last one first. ``whole``: a last line without a line feed counts, too."""
    lines = content.split(b"\n")
    last = lines.pop()
    if whole and last:
        lines.append(last)
    for number in range(len(lines), 0, -1):
        yield StoreText(f"{name}:{number}", lines[number - 1])


def _whole_lines(descriptor: int) -> int:
    """How many bytes the lines have that end with a line feed."""
    size = os.fstat(descriptor).st_size
    end = size
    while end:
        start = max(0, end - 65_536)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _write(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]
    os.fsync(descriptor)


RUN_FILE = re.compile(r"[0-9]{4}-[0-9]{2}/[0-9]{8}T[0-9]{6}Z-[0-9a-f]{12}\.jsonl")


def run_file(name: str, at: datetime) -> str:
    """The path of the file of the run ``name`` that began ``at`` (in UTC), below the store's folder."""
    return f"{at:%Y-%m}/{at:%Y%m%dT%H%M%SZ}-{sha256(name.encode(errors='replace')).hexdigest()[:12]}.jsonl"


def is_run_file(path: str) -> bool:
    """Whether a path below the store's folder is that of a run's file."""
    return RUN_FILE.fullmatch(path) is not None


def newest_first(names: Iterable[str]) -> list[str]:
    """Those that are names of runs' files, the newest first."""
    return sorted(filter(RUN_FILE.fullmatch, names), reverse=True)


def too_old(sizes: dict[str, int]) -> list[str]:
    """The files of the oldest runs, without which the others fit into a store. ``sizes``: bytes by path."""
    kept, dropped = 0, []
    for number, name in enumerate(newest_first(sizes)):
        kept += sizes[name]
        if kept > MAX_STORE_BYTES or number >= MAX_STORE_FILES:
            dropped.append(name)
    return dropped
