"""A walk through folders by descriptors: each component is opened relative to the one before, and no link is followed.

What is a link is looked at, and either refused or walked in its turn. ``..`` goes back to a folder that is still open.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MOST_LINKS = 20
GIT = ".git"
NOTHING = ("", ".")
PASSING = getattr(os, "O_PATH", os.O_RDONLY)  # where the system has it, a folder need not be readable to be passed
# Without an access mode: see PASSING. This walk follows links by rules of its own, unlike ``DescriptorWalk``.
FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class PathRefusedError(OSError):
    """A path below the checkout that is not opened; ``strerror`` says which component it is, and why."""

    def __init__(self, message: str) -> None:
        """``message`` names the component, relative to the checkout."""
        super().__init__(errno.ELOOP, message)

    def __str__(self) -> str:
        """The message alone."""
        return str(self.strerror)


class Way:
    """The folders from the first one to where the walk is, all of them open.

    After ``end``, ``name`` is in the folder that was reached last, and ``mode`` what it was just now: no link, 0 for
    what is not there. The name is empty where the path is that folder itself.
    """

    def __init__(self, root: int, *, follow: bool, make: bool) -> None:
        """``root`` is the descriptor of the first folder, which stays open. ``make``: missing folders are made."""
        self._folders, self._names = [root], [""]
        self._follow, self._make = follow, make
        self._links, self._link_shown = 0, ""
        self.name, self.mode = "", stat.S_IFDIR

    @property
    def folder(self) -> int:
        """The descriptor of the folder that was reached last."""
        return self._folders[-1]

    def shown(self, name: str | None = None) -> str:
        """How messages call what is called ``name`` in that folder."""
        return "/".join([*self._names[1:], name or self.name]).strip("/") or "."

    def close(self) -> None:
        """Close all folders but the first one."""
        for folder in self._folders[1:]:
            os.close(folder)

    def end(self, parts: list[str]) -> None:
        """Walk. Raises PathRefusedError, OSError, and ValueError for what no file can be called."""
        todo = deque(part for part in parts if part not in NOTHING)
        while todo:
            part = todo.popleft()
            if part == "..":
                self._up()
            elif part.casefold() == GIT:
                raise PathRefusedError(f"{self.shown(part)} leads into {GIT}")
            elif (target := self._last(part) if not todo else self._down(part)) is not None:
                todo.extendleft(reversed([part for part in target.split("/") if part not in NOTHING]))

    def _up(self) -> None:
        if len(self._folders) == 1:
            way = f"{self._link_shown} is a symbolic link that" if self._link_shown else self.shown("..")
            raise PathRefusedError(f"{way} leads out of the checkout")
        os.close(self._folders.pop())
        self._names.pop()

    def _last(self, part: str) -> str | None:
        """Where the last component leads, if it is a link."""
        try:
            mode = os.lstat(part, dir_fd=self.folder).st_mode
        except FileNotFoundError:
            mode = 0
        if stat.S_ISLNK(mode):
            return self._link(part)
        self.name, self.mode = part, mode
        return None

    def _down(self, part: str) -> str | None:
        """Open a folder; where it leads, if it is a link."""
        if self._make:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=self.folder)
        try:
            folder = os.open(part, PASSING | FOLDER, dir_fd=self.folder)
        except OSError:
            if is_link(part, self.folder):
                return self._link(part)
            raise
        self._folders.append(folder)
        self._names.append(part)
        return None

    def _link(self, part: str) -> str:
        """Where a link leads that may be followed."""
        if not self._follow:
            raise PathRefusedError(f"{self.shown(part)} is a symbolic link")
        target = os.readlink(part, dir_fd=self.folder)
        self._links, self._link_shown = self._links + 1, self.shown(part)
        if target.startswith("/"):
            raise PathRefusedError(f"{self._link_shown} is a symbolic link that leads out of the checkout")
        if self._links > MOST_LINKS:
            raise PathRefusedError(f"{self._link_shown} is one symbolic link too many: {MOST_LINKS} are followed")
        return target


def is_link(name: str, above: int) -> bool:
    """Whether a name in an open folder is a symbolic link."""
    with suppress(OSError):
        return stat.S_ISLNK(os.lstat(name, dir_fd=above).st_mode)
    return False


def open_regular(path: str | Path, _flags: int = 0) -> int:
    """A descriptor of a regular file, links followed: for paths that are trusted. Raises PathRefusedError, OSError."""
    found = os.stat(path)
    return regular(os.fspath(path), os.fspath(path), found.st_mode, None)


def opened(way: Way) -> int:
    """The descriptor of the folder at the end of a walk, to be listed. Raises PathRefusedError, OSError."""
    try:
        return os.open(way.name or ".", os.O_RDONLY | FOLDER, dir_fd=way.folder)
    except OSError as error:
        if is_link(way.name, way.folder):
            raise PathRefusedError(f"{way.shown()} became a symbolic link") from error
        raise


def regular(name: str, shown: str, mode: int, folder: int | None) -> int:
    """The descriptor of a regular file, whose ``mode`` was just looked at. Raises PathRefusedError, OSError.

    The mode comes first, since opening alone does something to a device; and it is looked at again once the file is
    open, since somebody may have put something else there.
    """
    if kind := _KINDS.get(stat.S_IFMT(mode)):
        raise PathRefusedError(f"{shown} is {kind}, not a regular file")
    flags = _FILE if folder is not None else _FILE & ~os.O_NOFOLLOW
    try:
        file = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if folder is not None and error.errno in {errno.ELOOP, errno.EMLINK}:
            raise PathRefusedError(f"{shown} became a symbolic link") from error
        raise
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise PathRefusedError(f"{shown} is not a regular file")
    return file
