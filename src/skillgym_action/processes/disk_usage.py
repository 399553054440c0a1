"""What folders occupy on their file system, and the reserve of it that sessions may not use up.

No link is followed, and no name is looked up twice: a session that replaces its folders leads nobody out of them.
"""

from __future__ import annotations

import os
import stat
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

BLOCK = 512  # bytes of a block as stat counts them
LEVELS = 64  # folders that are open at the same time; deeper ones follow when these are closed
DEEPER = 64  # of those that follow
MOST = 1_000_000  # entries of one look
RESERVE, SHARE = 512 * 1024**2, 20  # bytes, or that part of a file system which is smaller
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def disk_used(folders: Sequence[Path], *, enough: int | None = None) -> int:
    """Bytes that the folders occupy with all below them, by allocated blocks; a file with several names counts once.

    The look ends as soon as more than ``enough`` is found, or after a million entries. What vanishes meanwhile, and
    what may not be read, counts nothing, and so does another file system that is mounted in them.
    """
    walk = _Walk(enough)
    for folder in folders:
        with suppress(OSError):
            walk.take(os.open(folder, FOLDER))
    return walk.bytes


class _Walk:
    def __init__(self, enough: int | None) -> None:
        self.bytes = self._entries = 0
        self._enough = enough
        self._seen: set[tuple[int, int]] = set()

    def take(self, root: int) -> None:
        """Count an open folder, which is closed afterwards."""
        first = os.fstat(root)
        self._count(first)
        waiting = [root]
        while waiting:
            self._below(waiting.pop(), first.st_dev, waiting)

    def _below(self, root: int, device: int, waiting: list[int]) -> None:
        """Depth first, since an open folder is a descriptor; ``waiting`` takes folders that are too deep for now."""
        levels: list[tuple[int, list[str]]] = [(root, list(self._folders(root, device)))]
        try:
            while levels:
                parent, names = levels[-1]
                if not names or self._is_enough:
                    os.close(levels.pop()[0])
                    continue
                with suppress(OSError):
                    folder = os.open(names.pop(), FOLDER, dir_fd=parent)
                    if len(levels) < LEVELS:
                        levels.append((folder, list(self._folders(folder, device))))
                    elif len(waiting) < DEEPER:
                        waiting.append(folder)
                    else:
                        os.close(folder)
        finally:
            for folder, _ in levels:
                os.close(folder)

    def _folders(self, folder: int, device: int) -> Iterator[str]:
        """The names of the folders in a folder, whose entries are counted on the way."""
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
        self.bytes += found.st_blocks * BLOCK

    @property
    def _is_enough(self) -> bool:
        return self._entries >= MOST or (self._enough is not None and self.bytes > self._enough)


def free_space(folder: Path) -> int:
    """Bytes that others than root can still use of the file system of ``folder``. Raises OSError."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def default_reserve(folder: Path) -> int:
    """Bytes of the file system of ``folder`` that sessions are to leave: 512 MiB, or 5 % where that is less."""
    found = os.statvfs(folder)
    return min(RESERVE, found.f_blocks * found.f_frsize // SHARE)


class SpaceReserve:
    """What sessions are to leave of a file system that they share. When less is left, the largest of them has to go.

    For all threads. A session enters with its folders before its first program starts, and leaves when they are gone.
    """

    def __init__(self, folder: Path, reserve: int | None = None, free: Callable[[Path], int] | None = None) -> None:
        """Of the file system of ``folder``, so many bytes; None: the default. Raises OSError.

        ``free`` says how much is left there.
        """
        self._folder, self._free = folder, free or free_space
        self.bytes = default_reserve(folder) if reserve is None else reserve
        self._sessions: set[tuple[Path, ...]] = set()
        self._lock = threading.Lock()

    def enter(self, folders: Sequence[Path]) -> None:
        """Another session may use these."""
        with self._lock:
            self._sessions.add(tuple(folders))

    def leave(self, folders: Sequence[Path]) -> None:
        """That session has been cleaned up."""
        with self._lock:
            self._sessions.discard(tuple(folders))

    def claimed_from(self, folders: Sequence[Path]) -> int | None:
        """Bytes that the session uses, if it has to end since less than the reserve is left; None: it has not to.

        It is the largest of all, and as large as the reserve: to end a small one helps nobody.
        """
        try:
            if self._free(self._folder) >= self.bytes:
                return None
        except OSError:
            return None
        with self._lock:  # one look for all who ask meanwhile would not be cheaper: each is asked for itself
            others = self._sessions - {tuple(folders)}
            own = disk_used(folders)
            if own < self.bytes or any(disk_used(other, enough=own) > own for other in others):
                return None
            return own
