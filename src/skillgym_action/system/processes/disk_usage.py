"""Disk usage of folders, and the reserve of the file system that sessions have to leave free.

No link is followed, and no name is looked up twice: a session that replaces folders cannot lead the walk out of them.
"""

from __future__ import annotations

import os
import stat
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.system.files.open_below import FOLDER_FLAGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

MAX_MEASURED_ENTRIES = 1_000_000  # files and folders counted in one measurement of disk usage
DISK_RESERVE_BYTES = 512 * 1024**2  # of the temporary file system that sessions have to leave free, or 5% if less
BLOCK_BYTES = 512  # of a block as stat counts them
OPEN_LEVELS = 64  # folders that are open at the same time; deeper ones follow when these are closed
WAITING_FOLDERS = 64  # open folders that wait to be walked, since they are deeper; more are not counted
RESERVE_DIVISOR = 20  # the reserve is at most this part of the file system


def disk_used(folders: Sequence[Path], *, enough: int | None = None) -> int:
    """Bytes that the folders occupy with all below them, by allocated blocks; a file with several names counts once.

    Counting ends as soon as more than ``enough`` is found, or after a million entries. What vanishes meanwhile, what
    may not be read, and other file systems mounted in the folders are not counted.
    """
    walk = _Walk(enough)
    for folder in folders:
        with suppress(OSError):
            walk.add(os.open(folder, FOLDER_FLAGS))
    return walk.bytes


class _Walk:
    """Counts depth first. A folder is a descriptor here, hence only so many are open at a time.

    ``DescriptorWalk`` is for exact walks: it finds its way back in trees of any depth. This one may skip folders: a
    tree that is too deep and too wide for it is counted in part.
    """

    def __init__(self, enough: int | None) -> None:
        self.bytes = self._entries = 0
        self._enough = enough
        self._seen: set[tuple[int, int]] = set()

    def add(self, root: int) -> None:
        """Count an open folder, and close it."""
        first = os.fstat(root)
        self._count(first)
        waiting = [root]
        while waiting:
            self._below(waiting.pop(), first.st_dev, waiting)

    def _below(self, root: int, device: int, waiting: list[int]) -> None:
        """Count what is below a folder, and close it; folders that are too deep for now are added to ``waiting``."""
        levels: list[tuple[int, list[str]]] = [(root, list(self._folders(root, device)))]
        try:
            while levels:
                parent, names = levels[-1]
                if not names or self._is_enough:
                    os.close(levels.pop()[0])
                    continue
                with suppress(OSError):
                    folder = os.open(names.pop(), FOLDER_FLAGS, dir_fd=parent)
                    if len(levels) < OPEN_LEVELS:
                        levels.append((folder, list(self._folders(folder, device))))
                    elif len(waiting) < WAITING_FOLDERS:
                        waiting.append(folder)
                    else:
                        os.close(folder)
        finally:
            for folder, _ in levels:
                os.close(folder)

    def _folders(self, folder: int, device: int) -> Iterator[str]:
        """Count the entries of a folder; the names of the folders in it."""
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if self._is_enough:
                    return
                with suppress(OSError):
                    found = entry.stat(follow_symlinks=False)
                    if found.st_dev == device:
                        self._count(found)
                        if entry.is_dir(follow_symlinks=False):
                            yield entry.name

    def _count(self, found: os.stat_result) -> None:
        self._entries += 1
        if found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):
            if (found.st_dev, found.st_ino) in self._seen:
                return
            self._seen.add((found.st_dev, found.st_ino))
        self.bytes += found.st_blocks * BLOCK_BYTES

    @property
    def _is_enough(self) -> bool:
        return self._entries >= MAX_MEASURED_ENTRIES or (self._enough is not None and self.bytes > self._enough)


def free_space(folder: Path) -> int:
    """Bytes that users other than root can still use of the file system of ``folder``. Raises OSError."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def default_reserve(folder: Path) -> int:
    """Bytes of the file system of ``folder`` that sessions have to leave free: 512 MiB, or 5% if that is less."""
    found = os.statvfs(folder)
    return min(DISK_RESERVE_BYTES, found.f_blocks * found.f_frsize // RESERVE_DIVISOR)


class DiskReserve:
    """Space that sessions have to leave free on their file system; if less is left, the largest session has to end.

    Thread-safe. A session is added with its folders before its first program starts, and removed with them.
    """

    def __init__(self, folder: Path, reserve: int | None = None, free: Callable[[Path], int] | None = None) -> None:
        """``reserve``: bytes of the file system of ``folder``; None: the default. Raises OSError.

        ``free`` returns the bytes that are left there.
        """
        self._folder, self._free = folder, free or free_space
        self.bytes = default_reserve(folder) if reserve is None else reserve
        self._sessions: set[tuple[Path, ...]] = set()
        self._lock = threading.Lock()

    def add(self, folders: Sequence[Path]) -> None:
        with self._lock:
            self._sessions.add(tuple(folders))

    def remove(self, folders: Sequence[Path]) -> None:
        with self._lock:
            self._sessions.discard(tuple(folders))

    def usage_of_largest(self, folders: Sequence[Path]) -> int | None:
        """Bytes that the session uses, if it has to end since less than the reserve is left; else None.

        Only the largest session has to end, and only if it is as large as the reserve: ending a small one frees too
        little.
        """
        try:
            if self._free(self._folder) >= self.bytes:
                return None
        except OSError:
            return None
        with self._lock:  # each caller measures for itself: the others' folders change meanwhile
            others = self._sessions - {tuple(folders)}
            own = disk_used(folders)
            if own < self.bytes or any(disk_used(other, enough=own) > own for other in others):
                return None
            return own
