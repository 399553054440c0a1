"""Removes whatever is in folders: any modes, names and depth."""

from __future__ import annotations

import errno
import os
import re
import sys
from contextlib import suppress

from skillgym_action.filesystem.descriptor_walk import Descent, entered, named, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

DETACHED, UNFOLLOWED = 2, 8  # MNT_DETACH, UMOUNT_NOFOLLOW
ESCAPED = re.compile(rb"\\([0-7]{3})")
ATTEMPTS = 3  # while something appears meanwhile


def empty(root: int) -> bool:
    """Remove all that is below a folder; whether nothing is left. What vanishes meanwhile is no error.

    What root's sessions mounted there is unmounted first, and nothing is removed where that cannot be done.
    """
    if not _unmounted(root):
        return False
    for _ in range(ATTEMPTS):
        with suppress(OSError), Descent(root) as place:
            _empty_present(place)
        if is_empty(root):
            return True
    return False


def _unmounted(root: int) -> bool:
    """Whether nothing is mounted at or below a folder: what is in it belongs to somebody else.

    What is below is unmounted. What is at it is, too, but the descriptor still leads there.
    """
    if os.geteuid() or sys.platform != "linux":
        return True
    try:
        path = os.readlink(f"/proc/self/fd/{root}")
        places = [place for place in _mount_points() if place == path or place.startswith(path + "/")]
    except OSError:
        return True  # without /proc nobody can tell
    if places:
        import ctypes

        umount = ctypes.CDLL(None).umount2
        for place in reversed(places):
            if umount(os.fsencode(place), DETACHED | UNFOLLOWED):
                return False
    return path not in places


def _mount_points() -> Iterator[str]:
    """Absolute paths, in the order in which they were mounted. Raises OSError."""
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            yield os.fsdecode(ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), line.split(b" ", 5)[4]))


def is_empty(root: int) -> bool:
    """Whether nothing is in a folder; False as well where nobody can look."""
    with suppress(OSError), Descent(root) as place, place.scan() as entries:
        return next(entries, None) is None
    return False


def remove(root: int, path: str) -> None:
    """Remove what is at ``path``, with all below it; nothing where nothing is. Raises OSError."""
    *parents, name = parts_of(path) or [""]
    if not name:
        raise OSError(errno.EINVAL, "the folder itself is not removed", path)
    with Descent(root) as place:
        try:
            place.go(parents)
            place.open_up()
            if _unlinked(place, name):
                return
            if entered(place, name, open_up=True):
                _empty_present(place)
                place.leave()
            os.rmdir(name, dir_fd=place.fd)
        except FileNotFoundError:
            return
        except OSError as error:
            raise named(error, path) from None


def _unlinked(place: Descent, name: str) -> bool:
    """False for a folder, which systems say in different ways. Raises OSError."""
    try:
        os.unlink(name, dir_fd=place.fd)
    except (IsADirectoryError, PermissionError):
        return False
    return True


def _empty_present(place: Descent) -> None:
    """Remove all below the folder that the walk is in, the deepest first; what cannot be removed stays."""
    waiting = [_emptied_of_files(place)]
    while waiting:
        if waiting[-1]:
            if entered(place, waiting[-1][-1], open_up=True):
                waiting.append(_emptied_of_files(place))
            else:
                waiting[-1].pop()
            continue
        waiting.pop()
        if waiting:
            place.leave()
            with suppress(OSError):
                os.rmdir(waiting[-1].pop(), dir_fd=place.fd)


def _emptied_of_files(place: Descent) -> list[str]:
    """Remove what is no folder; the names of folders."""
    folders: list[str] = []
    with suppress(OSError):
        place.open_up()
    with suppress(OSError), place.scan() as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
                continue
            with suppress(OSError):
                os.unlink(entry.name, dir_fd=place.fd)
    return folders
