"""What is in a directory, compared by stat first and by content only where that differs.

A change of content cannot hide: whoever sets the modification time back still moves the ctime.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Entry:
    """One path. ``stamp`` differs whenever content was written; a directory's is empty."""

    kind: str
    stamp: tuple[int, ...]


Snapshot = dict[str, Entry]


@dataclass(frozen=True, slots=True)
class Changes:
    """What became of a directory: relative paths, sorted."""

    created: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()


def snapshot(root: Path) -> Snapshot:
    """Every path below ``root`` but folders called ``.git``, relative with ``/``, without following symlinks.

    What cannot be listed, such as a path longer than the system allows, is left out.
    """
    return dict(_entries(os.fspath(root)))


def entry_at(path: Path) -> Entry | None:
    """The entry of one path; None when there is nothing."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return Entry("directory", ()) if stat.S_ISDIR(found.st_mode) else _entry(found)


def digest(path: Path) -> str | None:
    """A hash of a file's content, or a symlink's target; None when it cannot be read, or never ends as a FIFO."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return f"-> {os.readlink(path)}"
        if not stat.S_ISREG(mode):
            return None
        with path.open("rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()
    except OSError:
        return None


def _entries(root: str) -> Iterator[tuple[str, Entry]]:
    folders = [(root, "")]
    while folders:
        folder, prefix = folders.pop()
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                path = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != ".git":
                        yield path, Entry("directory", ())
                        folders.append((entry.path, path + "/"))
                    continue
                with suppress(OSError):
                    yield path, _entry(entry.stat(follow_symlinks=False))


def _entry(found: os.stat_result) -> Entry:
    mode = found.st_mode
    kind = "file" if stat.S_ISREG(mode) else "symlink" if stat.S_ISLNK(mode) else "other"
    return Entry(kind, (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino))
