"""Directories that hold anything at all, since agents make them: copied, and given away.

No link is followed, nothing special is opened, and neither depth nor names matter, as far as the system takes paths.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from skillgym_action.effects.cancellation import Cancellation

CHUNK = 1024 * 1024


def copy_tree(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    cancelled: Cancellation,
    without: Collection[str] = (),
) -> None:
    """Copy a directory to ``target``, which is not there yet; symlinks as symlinks, with modes and times.

    Devices, sockets and FIFOs are left out, and so is whatever has a name in ``without``. Raises OSError in the middle
    of it, with the path in question; InterruptedError once cancelled.
    """
    folders = [(os.fspath(source), os.fspath(target))]
    finished: list[tuple[str, os.stat_result]] = []
    while folders:
        folder, copy = folders.pop()
        finished.append((copy, os.stat(folder)))
        os.mkdir(copy)
        with os.scandir(folder) as entries:
            for entry in entries:
                cancelled.heed()
                if entry.name in without:
                    continue
                there = f"{copy}/{entry.name}"
                if entry.is_symlink():
                    os.symlink(os.readlink(entry.path), there)
                elif entry.is_dir():
                    folders.append((entry.path, there))
                elif entry.is_file():
                    copy_file(entry.path, there)
    for copy, found in reversed(finished):  # a folder that is read-only takes nothing any more
        os.chmod(copy, stat.S_IMODE(found.st_mode))
        os.utime(copy, ns=(found.st_atime_ns, found.st_mtime_ns))


def made_usable(folder: Path) -> bool:
    """Make a directory where there is none, or something else, and open one that is closed; whether it is a new one.

    Raises OSError.
    """
    try:
        mode = os.lstat(folder).st_mode
    except FileNotFoundError:
        mode = 0
    if not stat.S_ISDIR(mode):
        folder.unlink(missing_ok=True)
        folder.mkdir(parents=True)
        return True
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        folder.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)
    return False


def give_tree(root: str | os.PathLike[str], uid: int, gid: int) -> None:
    """Give ``root`` to somebody, with all below it; links, never what they point to. Raises OSError."""
    os.chown(root, uid, gid, follow_symlinks=False)
    folders = [os.fspath(root)] if stat.S_ISDIR(os.lstat(root).st_mode) else []
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                os.chown(entry.path, uid, gid, follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)


def copy_file(source: str, target: str) -> None:
    """Copy a regular file to ``target``, which is not there yet: the whole of it, or nothing. Raises OSError."""
    with open(source, "rb", buffering=0, opener=_without_surprises) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", source)
        try:
            with open(target, "xb") as copy:
                while chunk := file.read(CHUNK):
                    copy.write(chunk)
                copy.flush()
                os.chmod(copy.fileno(), stat.S_IMODE(found.st_mode))
                os.utime(copy.fileno(), ns=(found.st_atime_ns, found.st_mtime_ns))
        except OSError as error:
            if not isinstance(error, FileExistsError):
                os.unlink(target)
            raise


def _without_surprises(path: str, flags: int) -> int:
    """What was a file a moment ago may be a link or a FIFO by now."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
