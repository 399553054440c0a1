"""Regular files in a folder that is held by a descriptor: what was one a moment ago may be a link or a FIFO by now."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager

from skillgym_action.filesystem.descriptor_walk import FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK = 1024 * 1024
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


@contextmanager
def file_opened(folder: int, name: str) -> Iterator[tuple[int, int]]:
    """A descriptor of a regular file, and its size. Raises OSError; what was a file a moment ago may be none now."""
    fd = os.open(name, FILE, dir_fd=folder)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        yield fd, found.st_size
    finally:
        os.close(fd)


def content_of(folder: int, name: str, limit: int) -> bytes | None:
    """The content of a regular file of at most ``limit`` bytes; None for a larger one. Raises OSError."""
    with file_opened(folder, name) as (fd, size):
        if size > limit:
            return None
        content = os.read(fd, size + 1)
        if len(content) == size:
            return content
        while len(content) <= limit and (more := os.read(fd, CHUNK)):  # it grows while it is read
            content += more
        return content if len(content) <= limit else None


def write_new(folder: int, name: str, data: bytes, mode: int) -> None:
    """Make a file where nothing is. Raises OSError."""
    fd = os.open(name, NEW, mode, dir_fd=folder)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
        os.fchmod(fd, mode)
    finally:
        os.close(fd)
