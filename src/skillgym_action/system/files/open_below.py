"""Walks through folders by file descriptor: no name is resolved through a symbolic link, and no path is too long.

A path that is looked up twice can lead to different places if another process replaces a folder by a link in between.
So each component is opened relative to the descriptor of its folder, with ``O_NOFOLLOW``, and is used through its
descriptor.
"""

from __future__ import annotations

import errno
import os
import stat

from skillgym_action.model.limits import MAX_PATH_CHARACTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import _ScandirIterator as Entries
    from typing import Self

# Python sets O_CLOEXEC on every descriptor that it opens.
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# A file may have been replaced by a FIFO or a terminal: opening must not wait for a writer nor change the terminal.
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
NEW_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
OPEN_FOLDERS = 32  # descriptors that a walk keeps open, besides the first
OWNER_ACCESS = stat.S_IRWXU


class DescriptorWalk:
    """A position in a tree: a folder, and the folders on the way to it. A context manager, which closes descriptors.

    In deep trees only the last folders stay open. The way back from there is ``..``, whose device and inode are
    compared with those of the folder that the walk came through; where they differ, the tree was changed meanwhile, and
    the folder is reached again from the first one.
    """

    __slots__ = ("_folders", "_root", "_scanned_root", "fd", "names")

    def __init__(self, root: int) -> None:
        """``root`` is the descriptor of the first folder; it stays open."""
        self._root = self.fd = root
        # Folders below the root: descriptors, and (device, inode) of those that were closed.
        self._folders: list[int | tuple[int, int]] = []
        self._scanned_root = -1
        self.names: list[str] = []
        """The path from the first folder to the current one, whose descriptor is ``fd``."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for folder in self._folders:
            if isinstance(folder, int):
                os.close(folder)
        self._folders.clear()
        if self._scanned_root >= 0:
            os.close(self._scanned_root)

    def enter(self, name: str) -> None:
        """Go into a folder below the current one. Raises OSError: NotADirectoryError also for a symbolic link."""
        self._push(_open_folder(name, self.fd))
        self.names.append(name)

    def leave(self) -> None:
        """Go to the folder above. Raises OSError if the folder that the walk came through is no longer there."""
        self.names.pop()
        last = self._folders.pop()
        try:
            if not self._folders:
                self.fd = self._root
            elif isinstance(above := self._folders[-1], int):
                self.fd = above
            else:
                self._folders[-1] = self.fd = self._reopen_parent(above)
        finally:
            os.close(last)  # type: ignore[arg-type]  # the current folder is always open

    def leave_to(self, depth: int) -> None:
        """Go up until ``depth`` folders below the first."""
        while len(self.names) > depth:
            self.leave()

    def go_to(self, names: Sequence[str]) -> None:
        """Go to the folder at ``names`` below the first. Raises OSError."""
        self.leave_to(common_length(self.names, names))
        for name in names[len(self.names) :]:
            self.enter(name)

    def scan(self) -> Entries[str]:
        """The entries of the current folder. Raises OSError.

        The first folder is opened anew for this: a descriptor has one read position, which concurrent walks that share
        the descriptor would move for each other.
        """
        if self.names:
            return os.scandir(self.fd)
        if self._scanned_root < 0:
            self._scanned_root = os.open(".", FOLDER_FLAGS, dir_fd=self._root)
        return os.scandir(self._scanned_root)

    def open_up(self) -> None:
        """Let the owner read and change the current folder. Raises OSError."""
        mode = os.fstat(self.fd).st_mode
        if mode & OWNER_ACCESS != OWNER_ACCESS:
            os.fchmod(self.fd, stat.S_IMODE(mode) | OWNER_ACCESS)

    def _push(self, fd: int) -> None:
        self._folders.append(fd)
        self.fd = fd
        oldest = len(self._folders) - 1 - OPEN_FOLDERS
        if oldest >= 0 and isinstance(folder := self._folders[oldest], int):
            self._folders[oldest] = _identity(folder)
            os.close(folder)

    def _reopen_parent(self, identity: tuple[int, int]) -> int:
        """A descriptor of the folder above, which had this device and inode. Raises OSError."""
        above = os.open("..", FOLDER_FLAGS, dir_fd=self.fd)
        if _identity(above) == identity:
            return above
        os.close(above)
        fd = os.dup(self._root)
        for name in self.names:
            try:
                below = _open_folder(name, fd)
            finally:
                os.close(fd)
            fd = below
        return fd


def walk_folders(walk: DescriptorWalk) -> Iterator[tuple[str, list[str]]]:
    """Go through the current folder and all below it, parents first. Yields the prefix of paths in it, and a list.

    The caller appends to the list the names of the folders to go into. Folders that cannot be entered are skipped, and
    so are paths that are longer than operating systems accept.
    """
    first = len(walk.names)
    waiting: list[tuple[int, str, str]] = []
    prefix = ""
    while True:
        below: list[str] = []
        yield prefix, below
        depth = len(walk.names)
        short = (name for name in below if len(prefix) + len(name) < MAX_PATH_CHARACTERS)
        waiting += [(depth, name, f"{prefix}{name}/") for name in short]
        while waiting:
            depth, name, prefix = waiting.pop()
            walk.leave_to(depth)
            if try_enter(walk, name):
                break
        else:
            walk.leave_to(first)
            return


def try_enter(walk: DescriptorWalk, name: str, *, open_up: bool = False) -> bool:
    """Go into a folder; False if that is not possible. ``open_up``: change a mode that forbids it."""
    try:
        walk.enter(name)
    except PermissionError:
        if not open_up:
            return False
    except OSError:
        return False
    else:
        return True
    try:
        grant_to_owner(name, walk.fd)
        walk.enter(name)
    except OSError:
        return False
    return True


def grant_to_owner(name: str, folder: int, permissions: int = OWNER_ACCESS) -> None:
    """Add permissions to a folder or a file in ``folder``; no link is followed. Raises OSError.

    Linux has no ``fchmodat`` that does not follow links, and what may not be read cannot be opened for ``fchmod``. A
    descriptor of ``O_PATH`` needs no permission, and its name in ``/proc`` leads to what it was opened for.
    """
    o_path = getattr(os, "O_PATH", 0)
    if not o_path:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        os.chmod(name, stat.S_IMODE(mode) | permissions, dir_fd=folder, follow_symlinks=False)
        return
    fd = os.open(name, o_path | os.O_NOFOLLOW, dir_fd=folder)
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
            os.chmod(f"/proc/self/fd/{fd}", stat.S_IMODE(mode) | permissions)
    finally:
        os.close(fd)


def split_path(path: str) -> list[str]:
    """The components of a relative path. Raises OSError for a path that is absolute, has ``..``, or is too long."""
    if len(path) > MAX_PATH_CHARACTERS:
        raise OSError(errno.ENAMETOOLONG, "the path is too long", path)
    names = [name for name in path.split("/") if name not in {"", "."}]
    if path.startswith("/") or ".." in names or "\0" in path:
        raise OSError(errno.EINVAL, "no path below the folder", path)
    return names


def common_length(path: Sequence[str], other: Sequence[str]) -> int:
    """The number of components that two paths have in common at their beginning."""
    same = 0
    for name, other_name in zip(path, other, strict=False):
        if name != other_name:
            break
        same += 1
    return same


def with_path(error: OSError, path: str) -> OSError:
    """The same error with the whole path; calls relative to a descriptor name only the last component."""
    return OSError(error.errno, error.strerror, path) if error.errno is not None else error


def _open_folder(name: str, folder: int) -> int:
    try:
        return os.open(name, FOLDER_FLAGS, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:  # some systems report a link so, others as ENOTDIR
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name) from None
        raise


def _identity(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino
