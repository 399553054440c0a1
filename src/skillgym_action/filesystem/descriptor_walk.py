"""Walks through folders by descriptors: no name is resolved through a symbolic link, and no path can be too long."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import _ScandirIterator as Entries
    from typing import Self

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
HELD = 32  # descriptors that a walk holds at most, besides the first
LONGEST = 4095  # characters of a path, as many bytes as systems take
USABLE = stat.S_IRWXU


class Descent:
    """A walk: the folder it is in, and the folders it came through. A context manager, which closes descriptors.

    Of deep trees only the last folders are held. The way back from there is ``..``, which must be the folder that the
    walk came through; where the tree was changed meanwhile it is walked to again from the first folder.
    """

    __slots__ = ("_held", "_root", "_scans", "fd", "names")

    def __init__(self, root: int) -> None:
        """``root`` is the descriptor of the first folder; it stays open."""
        self._root = self.fd = root
        self._held: list[int | tuple[int, int]] = []  # folders below the root; (device, inode) of those not held
        self._scans = -1
        self.names: list[str] = []
        """The way from the first folder to the present one, whose descriptor is ``fd``."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for held in self._held:
            if isinstance(held, int):
                os.close(held)
        self._held.clear()
        if self._scans >= 0:
            os.close(self._scans)

    def enter(self, name: str) -> None:
        """Go into a folder below the present one. Raises OSError: NotADirectoryError also for a symbolic link."""
        self._push(_opened(name, self.fd))
        self.names.append(name)

    def leave(self) -> None:
        """Go back. Raises OSError where the folder that the walk came through is no longer there."""
        self.names.pop()
        last = self._held.pop()
        try:
            if not self._held:
                self.fd = self._root
            elif isinstance(held := self._held[-1], int):
                self.fd = held
            else:
                self._held[-1] = self.fd = self._regained(held)
        finally:
            os.close(last)  # type: ignore[arg-type]  # the present folder is always held

    def rise(self, depth: int) -> None:
        """Go back until ``depth`` folders below the first."""
        while len(self.names) > depth:
            self.leave()

    def go(self, names: Sequence[str]) -> None:
        """Go to the folder at ``names`` below the first. Raises OSError."""
        self.rise(shared(self.names, names))
        for name in names[len(self.names) :]:
            self.enter(name)

    def scan(self) -> Entries[str]:
        """What is in the present folder. Raises OSError.

        Of the first folder by a descriptor of its own: one that several walks share has one position for all of them.
        """
        if self.names:
            return os.scandir(self.fd)
        if self._scans < 0:
            self._scans = os.open(".", FOLDER, dir_fd=self._root)
        return os.scandir(self._scans)

    def open_up(self) -> None:
        """Make the present folder one that its owner can read and change, if it is not. Raises OSError."""
        mode = os.fstat(self.fd).st_mode
        if mode & USABLE != USABLE:
            os.fchmod(self.fd, stat.S_IMODE(mode) | USABLE)

    def _push(self, fd: int) -> None:
        self._held.append(fd)
        self.fd = fd
        oldest = len(self._held) - 1 - HELD
        if oldest >= 0 and isinstance(held := self._held[oldest], int):
            self._held[oldest] = _identity(held)
            os.close(held)

    def _regained(self, identity: tuple[int, int]) -> int:
        above = os.open("..", FOLDER, dir_fd=self.fd)
        if _identity(above) == identity:
            return above
        os.close(above)
        fd = os.dup(self._root)
        for name in self.names:
            try:
                below = _opened(name, fd)
            finally:
                os.close(fd)
            fd = below
        return fd


def walked(place: Descent, *, open_up: bool = False) -> Iterator[tuple[str, list[str]]]:
    """Go through the present folder and those below, each before those in it: what paths in it begin with, and a list.

    Whoever walks puts the names of the folders to go into into that list. Those that cannot be entered are left out,
    and so is what has a longer path than systems take. ``open_up``: folders that are closed are opened first.
    """
    first = len(place.names)
    waiting: list[tuple[int, str, str]] = []
    prefix = ""
    while True:
        below: list[str] = []
        if open_up:
            place.open_up()
        yield prefix, below
        depth = len(place.names)
        waiting += [(depth, name, f"{prefix}{name}/") for name in below if len(prefix) + len(name) < LONGEST]
        while waiting:
            depth, name, prefix = waiting.pop()
            place.rise(depth)
            if entered(place, name, open_up=open_up):
                break
        else:
            place.rise(first)
            return


def entered(place: Descent, name: str, *, open_up: bool = False) -> bool:
    """Go into a folder, if that is possible; with ``open_up``, also into one whose mode forbids it."""
    try:
        place.enter(name)
    except PermissionError:
        if not open_up:
            return False
    except OSError:
        return False
    else:
        return True
    try:
        made_usable(name, place.fd)
        place.enter(name)
    except OSError:
        return False
    return True


def made_usable(name: str, folder: int, least: int = USABLE) -> None:
    """Give the owner of a folder, or a file, the permissions ``least``; no link is followed. Raises OSError."""
    through = getattr(os, "O_PATH", 0)
    if not through:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        os.chmod(name, stat.S_IMODE(mode) | least, dir_fd=folder, follow_symlinks=False)
        return
    fd = os.open(name, through | os.O_NOFOLLOW, dir_fd=folder)
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
            os.chmod(f"/proc/self/fd/{fd}", stat.S_IMODE(mode) | least)
    finally:
        os.close(fd)


def parts_of(path: str) -> list[str]:
    """The names in a relative path. Raises OSError for one that is absolute, has ``..``, or is too long."""
    if len(path) > LONGEST:
        raise OSError(errno.ENAMETOOLONG, "the path is too long", path)
    names = [name for name in path.split("/") if name not in {"", "."}]
    if path.startswith("/") or ".." in names or "\0" in path:
        raise OSError(errno.EINVAL, "no path below the folder", path)
    return names


def shared(way: Sequence[str], other: Sequence[str]) -> int:
    """How many names two ways have in common at their beginning."""
    same = 0
    for here, there in zip(way, other, strict=False):
        if here != there:
            break
        same += 1
    return same


def named(error: OSError, path: str) -> OSError:
    """The same error with the whole path; calls that begin at a descriptor name only the last part of it."""
    return OSError(error.errno, error.strerror, path) if error.errno is not None else error


def _opened(name: str, folder: int) -> int:
    try:
        return os.open(name, FOLDER, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:  # what some systems say of a link
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name) from None
        raise


def _identity(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino
