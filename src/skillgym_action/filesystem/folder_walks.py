"""What is below a folder, looked at in one walk: all of it, or what matches a pattern."""

from __future__ import annotations

import stat
from contextlib import suppress
from time import monotonic

from skillgym_action.filesystem.descriptor_walk import LONGEST, Descent, entered, walked
from skillgym_action.filesystem.glob_patterns import Glob, matches_nothing

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterator

    from skillgym_action.filesystem.glob_patterns import States

    Entry = tuple[str, int, int, int, int] | tuple[str]

DIRECTORY = ("directory",)


def kind_of(mode: int) -> str:
    """The kind of a path: directory, file, symlink or other."""
    if stat.S_ISDIR(mode):
        return "directory"
    return "file" if stat.S_ISREG(mode) else "symlink" if stat.S_ISLNK(mode) else "other"


def entry_of(found: os.stat_result) -> Entry:
    """Kind, size, times of change of content and entry in ns, and inode; of a folder the kind alone."""
    if stat.S_ISDIR(found.st_mode):
        return DIRECTORY
    return kind_of(found.st_mode), found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def snapshot(place: Descent, without: Collection[str], deadline: float | None) -> dict[str, Entry]:
    """Every path below the present folder but those in ``without`` and folders called ``.git``; no link is followed.

    What cannot be listed is left out. Raises TimeoutError once ``monotonic()`` is past ``deadline``.
    """
    entries: dict[str, Entry] = {}
    for prefix, below in walked(place):
        if deadline is not None and monotonic() > deadline:
            raise TimeoutError("looking at the folder took too long")
        with suppress(OSError), place.scan() as found:
            for entry in found:
                name = entry.name
                path = prefix + name
                if without and path in without:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if name != ".git":
                        entries[path] = DIRECTORY
                        below.append(name)
                    continue
                with suppress(OSError):
                    entries[path] = entry_of(entry.stat(follow_symlinks=False))
    return entries


def matching(place: Descent, pattern: str) -> Iterator[tuple[str, bool]]:
    """Paths that match and are no folders, and whether each is a link; links to folders are not followed."""
    if matches_nothing(pattern):
        return
    glob = Glob(pattern)
    waiting: list[tuple[int, str, str, States]] = [(0, "", "", glob.start)]
    while waiting:
        depth, name, prefix, states = waiting.pop()
        place.rise(depth)
        if name and not entered(place, name):
            continue
        depth = len(place.names)
        with suppress(OSError), place.scan() as found:
            for entry in found:
                if not (reached := glob.after(states, entry.name)):
                    continue
                path = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    if len(path) < LONGEST:
                        waiting.append((depth, entry.name, path + "/", reached))
                elif glob.accepts(reached):
                    yield path, entry.is_symlink()


def sorted_by_parts(paths: set[str]) -> tuple[str, ...]:
    """Paths in the order of their parts, as folders are listed."""
    key: Callable[[str], list[str]] = lambda path: path.split("/")  # noqa: E731
    return tuple(sorted(paths, key=key))
