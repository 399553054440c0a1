"""A walk along a path by descriptors: each component is opened relative to the one before, with ``O_NOFOLLOW``.

A commit can put a symbolic link at any name, and another process can replace a component between two system calls.
So the kernel never resolves a path as a whole: a component that is a link is read, then refused or walked in its turn,
and ``..`` goes back to a folder that is still open.
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

MAX_LINKS_IN_PATH = 20  # symbolic links followed on the way to a file; a loop would have no end
GIT = ".git"
NO_STEP = ("", ".")
PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY)  # with O_PATH a folder on the way need not be readable
FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a FIFO must not wait for a writer. O_NOCTTY: a terminal must not become the tool's.
REGULAR_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class PathRefusedError(OSError):
    """A path below the checkout was refused; the message says which component, relative to the checkout, and why."""

    def __init__(self, message: str) -> None:
        super().__init__(errno.ELOOP, message)

    def __str__(self) -> str:
        return str(self.strerror)  # without OSError's "[Errno 40]"


class Walk:
    """The open folders from the first one to the last one reached.

    After ``to``, ``folder`` has the descriptor of the last folder, ``name`` is the path's last component in it, and
    ``mode`` is that component's ``st_mode``: never a link; 0 if nothing is there. The name is empty if the path is
    the folder itself.
    """

    def __init__(self, root: int, *, follow: bool, make: bool) -> None:
        """Start in the folder with descriptor ``root``, which ``close`` leaves open.

        ``follow``: relative links that stay inside are walked. ``make``: missing folders on the way are made.
        """
        self._folders, self._names = [root], [""]
        self._follow, self._make = follow, make
        self._links, self._link_shown = 0, ""
        self.name, self.mode = "", stat.S_IFDIR

    @property
    def folder(self) -> int:
        """The descriptor of the last folder reached."""
        return self._folders[-1]

    def display_path(self, name: str | None = None) -> str:
        """The path of ``name`` in that folder, relative to the first folder, for messages."""
        return "/".join([*self._names[1:], name or self.name]).strip("/") or "."

    def close(self) -> None:
        """Close all folders except the first one."""
        for folder in self._folders[1:]:
            os.close(folder)

    def to(self, parts: list[str]) -> None:
        """Walk along the components.

        Raises PathRefusedError, OSError, and ValueError for a name that no file can have.
        """
        todo = deque(part for part in parts if part not in NO_STEP)
        while todo:
            part = todo.popleft()
            if part == "..":
                self._go_back()
            elif part.casefold() == GIT:
                raise PathRefusedError(f"{self.display_path(part)} leads into {GIT}")
            elif (target := self._look_at_last(part) if not todo else self._enter(part)) is not None:
                todo.extendleft(reversed([part for part in target.split("/") if part not in NO_STEP]))

    def _go_back(self) -> None:
        if len(self._folders) == 1:
            subject = f"{self._link_shown} is a symbolic link that" if self._link_shown else self.display_path("..")
            raise PathRefusedError(f"{subject} leads out of the checkout")
        os.close(self._folders.pop())
        self._names.pop()

    def _look_at_last(self, part: str) -> str | None:
        """The target of the last component, if it is a link; else its name and mode are kept."""
        try:
            mode = os.lstat(part, dir_fd=self.folder).st_mode
        except FileNotFoundError:
            mode = 0
        if stat.S_ISLNK(mode):
            return self._link(part)
        self.name, self.mode = part, mode
        return None

    def _enter(self, part: str) -> str | None:
        """Open a folder and go into it; return the target instead, if it is a link."""
        if self._make:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=self.folder)
        try:
            folder = os.open(part, PATH_ONLY | FOLDER, dir_fd=self.folder)
        except OSError:
            # Which errno O_NOFOLLOW gives for a link depends on the system and on O_DIRECTORY, so look again.
            if is_link(part, self.folder):
                return self._link(part)
            raise
        self._folders.append(folder)
        self._names.append(part)
        return None

    def _link(self, part: str) -> str:
        """The target of a link that may be followed. Raises PathRefusedError for all others."""
        if not self._follow:
            raise PathRefusedError(f"{self.display_path(part)} is a symbolic link")
        target = os.readlink(part, dir_fd=self.folder)
        self._links, self._link_shown = self._links + 1, self.display_path(part)
        if target.startswith("/"):
            raise PathRefusedError(f"{self._link_shown} is a symbolic link that leads out of the checkout")
        if self._links > MAX_LINKS_IN_PATH:
            raise PathRefusedError(
                f"{self._link_shown} is one symbolic link too many: {MAX_LINKS_IN_PATH} are followed"
            )
        return target


def is_link(name: str, folder: int) -> bool:
    """Whether a name in an open folder is a symbolic link."""
    with suppress(OSError):
        return stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode)
    return False


def open_regular(path: str | Path, _flags: int = 0) -> int:
    """A descriptor of a regular file, links followed: only for trusted paths. Raises PathRefusedError, OSError."""
    found = os.stat(path)
    return open_checked_file(os.fspath(path), os.fspath(path), found.st_mode, None)


def open_folder_reached(walk: Walk) -> int:
    """A descriptor of the folder at the end of a walk, for listing. Raises PathRefusedError, OSError."""
    try:
        return os.open(walk.name or ".", os.O_RDONLY | FOLDER, dir_fd=walk.folder)
    except OSError as error:
        if is_link(walk.name, walk.folder):
            raise PathRefusedError(f"{walk.display_path()} became a symbolic link") from error
        raise


def open_checked_file(name: str, display_path: str, mode: int, folder: int | None) -> int:
    """A descriptor of the regular file ``name``. Raises PathRefusedError, OSError.

    ``folder``: the descriptor that ``name`` is relative to; None for a trusted path, whose links are followed.
    ``mode``: the file's ``st_mode`` from a moment ago. It is checked before the file is opened, since opening a device
    can have effects, and again afterwards, since another process may have replaced the file in between.
    """
    if kind := _KINDS.get(stat.S_IFMT(mode)):
        raise PathRefusedError(f"{display_path} is {kind}, not a regular file")
    flags = REGULAR_FILE if folder is not None else REGULAR_FILE & ~os.O_NOFOLLOW
    try:
        file = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if folder is not None and error.errno in {errno.ELOOP, errno.EMLINK}:
            raise PathRefusedError(f"{display_path} became a symbolic link") from error
        raise
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise PathRefusedError(f"{display_path} is not a regular file")
    return file
