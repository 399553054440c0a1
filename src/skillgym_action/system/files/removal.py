"""Removal of files and folders of any modes, names and depth."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from contextlib import suppress

from skillgym_action.system.files.open_below import (
    FOLDER_FLAGS,
    OWNER_ACCESS,
    DescriptorWalk,
    split_path,
    try_enter,
    with_path,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MNT_DETACH, UMOUNT_NOFOLLOW = 2, 8
ESCAPED = re.compile(rb"\\([0-7]{3})")
ATTEMPTS = 3  # to empty a folder in which files are created meanwhile


def remove_path(path: str | Path) -> None:
    """Remove a file, a link (never its target) or a folder with all below it, as far as that is possible.

    Only for folders in which only the tool changes names: ``path`` is looked up several times.
    """
    with suppress(OSError):
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode):
            os.unlink(path)
            return
        if found.st_mode & OWNER_ACCESS != OWNER_ACCESS:
            os.chmod(path, OWNER_ACCESS)
        folder = os.open(path, FOLDER_FLAGS)
        try:
            empty_folder(folder)
        finally:
            os.close(folder)
        os.rmdir(path)


def remove_below(root: int, path: str) -> None:
    """Remove what is at ``path`` below the folder of a descriptor, with all below it; no error if nothing is there.

    Raises OSError.
    """
    *parents, name = split_path(path) or [""]
    if not name:
        raise OSError(errno.EINVAL, "the folder itself is not removed", path)
    with DescriptorWalk(root) as walk:
        try:
            walk.go_to(parents)
            walk.open_up()
            if _unlink(walk, name):
                return
            if try_enter(walk, name, open_up=True):
                _empty_current(walk, lambda: None)
                walk.leave()
            os.rmdir(name, dir_fd=walk.fd)
        except FileNotFoundError:
            return
        except OSError as error:
            raise with_path(error, path) from None


def empty_folder(root: int, check: Callable[[], None] = lambda: None) -> bool:
    """Remove all below the folder of a descriptor; return whether nothing is left. What vanishes meanwhile is no error.

    ``check`` is called for each entry; once it raises OSError, nothing more is removed. File systems that sessions of
    root mounted there are unmounted first; if that fails, nothing is removed, since what is in them belongs to others.
    """
    if not _unmount_all(root):
        return False
    for _ in range(ATTEMPTS):
        with suppress(OSError), DescriptorWalk(root) as walk:
            _empty_current(walk, check)
        if is_empty(root):
            return True
    return False


def is_empty(root: int) -> bool:
    """Whether nothing is in a folder; False as well if it cannot be listed."""
    with suppress(OSError), DescriptorWalk(root) as walk, walk.scan() as entries:
        return next(entries, None) is None
    return False


def _unmount_all(root: int) -> bool:
    """Unmount what is mounted at or below a folder; whether its content may be removed then.

    It may not if the folder itself was a mount point: it is unmounted, too, but the descriptor still leads into it.
    """
    if os.geteuid() or sys.platform != "linux":
        return True
    try:
        path = os.readlink(f"/proc/self/fd/{root}")
        mounted = [point for point in _mount_points() if point == path or point.startswith(path + "/")]
    except OSError:
        return True  # without /proc there is no list of mount points
    if mounted:
        import ctypes

        umount = ctypes.CDLL(None).umount2
        for point in reversed(mounted):
            if umount(os.fsencode(point), MNT_DETACH | UMOUNT_NOFOLLOW):
                return False
    return path not in mounted


def _mount_points() -> Iterator[str]:
    """Absolute paths, in the order in which they were mounted. Raises OSError."""
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            yield os.fsdecode(ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), line.split(b" ", 5)[4]))


def _unlink(walk: DescriptorWalk, name: str) -> bool:
    """Remove a file or a link; False for a folder, which systems report by different errors. Raises OSError."""
    try:
        os.unlink(name, dir_fd=walk.fd)
    except (IsADirectoryError, PermissionError):
        return False
    return True


def _empty_current(walk: DescriptorWalk, check: Callable[[], None]) -> None:
    """Remove all below the current folder, the deepest first; what cannot be removed stays. Raises as ``check``."""
    waiting = [_remove_files(walk, check)]
    while waiting:
        if waiting[-1]:
            if try_enter(walk, waiting[-1][-1], open_up=True):
                waiting.append(_remove_files(walk, check))
            else:
                waiting[-1].pop()
            continue
        waiting.pop()
        if waiting:
            walk.leave()
            with suppress(OSError):
                os.rmdir(waiting[-1].pop(), dir_fd=walk.fd)


def _remove_files(walk: DescriptorWalk, check: Callable[[], None]) -> list[str]:
    """Remove all but folders from the current folder; the names of its folders."""
    folders: list[str] = []
    with suppress(OSError):
        walk.open_up()
    with suppress(OSError), walk.scan() as entries:
        for entry in entries:
            check()
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
                continue
            with suppress(OSError):
                os.unlink(entry.name, dir_fd=walk.fd)
    check()  # what it has raised is not an error of the folder
    return folders
