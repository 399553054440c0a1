"""Files of run directories, which may come from another workflow: found and read without following a single link.

The folder that a search starts in is trusted. Below it each component is opened relative to the folder before it, with
``O_NOFOLLOW``; files are opened with ``O_NONBLOCK``, and only regular ones are read.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from skillgym_action.system.files.globs import Glob, is_pattern
from skillgym_action.system.files.open_below import FILE_FLAGS, FOLDER_FLAGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from skillgym_action.system.files.globs import States

    Parts = tuple[str, ...]

MAX_SEARCHED_ENTRIES = 200_000  # of folders that one search for runs looks at
MAX_SEARCHED_LEVELS = 100  # of folders below the one that a search starts in
_LINK = "is a symbolic link, which is not followed"


class Content(NamedTuple):
    """What is in a file; ``identity`` is the same for two names of one file."""

    data: bytes
    identity: tuple[int, int]


def read_file(folder: Path, parts: Sequence[str], largest: int) -> Content:
    """The content of the regular file ``parts`` below ``folder``, at most ``largest`` + 1 bytes of it.

    Raises OSError, as ``open_file`` does.
    """
    with open_file(folder, parts, largest) as (opened, identity):
        return Content(opened.read(largest + 1), identity)


@contextmanager
def open_file(folder: Path, parts: Sequence[str], largest: int) -> Iterator[tuple[BinaryIO, tuple[int, int]]]:
    """The regular file ``parts`` below ``folder``, opened for reading, and its identity as in ``Content``.

    Raises OSError, also for links, for what is not a regular file and for what is larger, whose ``strerror`` says so.
    """
    with _opened(folder, parts[:-1]) as within:
        _look(within, folder, parts)  # opening a device would already be too much
        file = os.open(parts[-1], FILE_FLAGS, dir_fd=within)
        try:
            found = os.fstat(file)
            _refuse_other_than_file(found, folder, parts)
            if found.st_size > largest:
                raise _refused(errno.EFBIG, f"is larger than {largest:,} bytes", folder, parts)
            os.set_blocking(file, True)
            with open(file, "rb", closefd=False) as opened:
                yield opened, (found.st_dev, found.st_ino)
        finally:
            os.close(file)


def read_ends(folder: Path, parts: Sequence[str], most: int) -> tuple[bytes, bytes, int]:
    """Beginning, end and size of the regular file ``parts`` below ``folder``; at most ``most`` bytes of it.

    The end is empty if the beginning is the whole file. Raises OSError, also for links and for special files.
    """
    with _opened(folder, parts[:-1]) as within:
        _look(within, folder, parts)
        file = os.open(parts[-1], FILE_FLAGS, dir_fd=within)
        try:
            found = os.fstat(file)
            _refuse_other_than_file(found, folder, parts)
            if found.st_size <= most:
                return os.pread(file, most, 0), b"", found.st_size
            half = most // 2
            return os.pread(file, half, 0), os.pread(file, half, found.st_size - half), found.st_size
        finally:
            os.close(file)


def entries_of(folder: Path, parts: Sequence[str]) -> list[str]:
    """The names in the folder ``parts`` below ``folder``, sorted. Raises OSError, also for too many."""
    with _opened(folder, parts) as within:
        names = os.listdir(within)
    if len(names) > MAX_SEARCHED_ENTRIES:
        raise _refused(errno.E2BIG, f"has more than {MAX_SEARCHED_ENTRIES:,} entries", folder, parts)
    return sorted(names)


def is_folder(folder: Path, parts: Sequence[str]) -> bool:
    """Whether ``parts`` below ``folder`` is a folder. Raises OSError, also for a link."""
    with _opened(folder, parts[:-1]) as within:
        found = _found(within, parts[-1])
        if stat.S_ISLNK(found.st_mode):
            raise _refused(errno.ELOOP, _LINK, folder, parts)
        return stat.S_ISDIR(found.st_mode)


def matching(folder: Path, pattern: Sequence[str]) -> list[Parts]:
    """Entries below ``folder`` that match a pattern, or the one of a name, sorted.

    Raises OSError for a link that matches a part other than ``**``, and for more than can be searched.
    """
    if not any(map(is_pattern, pattern)):
        return _named(folder, tuple(pattern))
    glob = Glob("/".join(pattern))
    looked_at = 0
    found: list[Parts] = []
    waiting: list[tuple[Parts, States]] = [((), glob.start)]
    while waiting:
        here, states = waiting.pop()
        if len(here) > MAX_SEARCHED_LEVELS:
            raise _refused(errno.ENAMETOOLONG, f"is more than {MAX_SEARCHED_LEVELS} levels deep", folder, here)
        with _opened(folder, here) as within:
            names = os.listdir(within)
            looked_at += len(names)
            if looked_at > MAX_SEARCHED_ENTRIES:
                raise _refused(errno.E2BIG, f"has more than {MAX_SEARCHED_ENTRIES:,} entries", folder, ())
            for name in names:
                if not (reached := glob.after(states, name)):
                    continue
                mode = _found(within, name).st_mode
                if not stat.S_ISLNK(mode):
                    found += [(*here, name)] if glob.accepts(reached) else []
                    waiting += [((*here, name), reached)] if stat.S_ISDIR(mode) else []
                elif glob.is_named(states, name):
                    raise _refused(errno.ELOOP, _LINK, folder, (*here, name))
    return sorted(found)


def _named(folder: Path, parts: Parts) -> list[Parts]:
    """The entry ``parts`` below ``folder``, if there is one. Raises OSError for a link."""
    with suppress(FileNotFoundError, NotADirectoryError), _opened(folder, parts[:-1]) as within:
        if stat.S_ISLNK(_found(within, parts[-1]).st_mode):
            raise _refused(errno.ELOOP, _LINK, folder, parts)
        return [parts]
    return []


@contextmanager
def _opened(folder: Path, parts: Sequence[str]) -> Iterator[int]:
    """A descriptor of the folder ``parts`` below ``folder``.

    Not a ``DescriptorWalk``, which cannot say which component of a path is a link: the message names it.
    """
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for number, part in enumerate(parts, start=1):
            if stat.S_ISLNK(_found(here, part).st_mode):
                raise _refused(errno.ELOOP, _LINK, folder, parts[:number])
            below = os.open(part, FOLDER_FLAGS, dir_fd=here)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def _look(within: int, folder: Path, parts: Sequence[str]) -> None:
    found = _found(within, parts[-1])
    if stat.S_ISLNK(found.st_mode):
        raise _refused(errno.ELOOP, _LINK, folder, parts)
    _refuse_other_than_file(found, folder, parts)


def _found(within: int, name: str) -> os.stat_result:
    try:
        return os.stat(name, dir_fd=within, follow_symlinks=False)
    except ValueError:  # the name is from a file of others and may be any text
        raise OSError(errno.EINVAL, "is not a name that a file can have", name) from None


def _refuse_other_than_file(found: os.stat_result, folder: Path, parts: Sequence[str]) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _refused(errno.EINVAL, "is not a file", folder, parts)


def _refused(number: int, reason: str, folder: Path, parts: Sequence[str]) -> OSError:
    return OSError(number, reason, os.path.join(folder, *parts))
