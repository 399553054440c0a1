"""Regular files, read, written and copied by descriptor.

What was a regular file a moment ago may be a link or a FIFO by now: files are opened without following links and
without blocking, and their type is checked on the open descriptor. Names are relative to the folder of a descriptor;
where that is None, to the working directory.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from hashlib import sha256

from skillgym_action.system.files.open_below import FILE_FLAGS, NEW_FILE_FLAGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

CHUNK_BYTES = 1024 * 1024


@contextmanager
def regular_file(name: str, folder: int | None) -> Iterator[tuple[int, os.stat_result]]:
    """Open a regular file for reading: its descriptor and status. Raises OSError, also for any other kind of file."""
    fd = os.open(name, FILE_FLAGS, dir_fd=folder)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        yield fd, found
    finally:
        os.close(fd)


def read_file(name: str, folder: int, limit: int) -> bytes | None:
    """The content of a regular file of at most ``limit`` bytes; None for a larger one. Raises OSError."""
    with regular_file(name, folder) as (fd, found):
        size = found.st_size
        if size > limit:
            return None
        content = os.read(fd, size + 1)
        if len(content) == size:
            return content
        while len(content) <= limit and (more := os.read(fd, CHUNK_BYTES)):  # it grows while it is read
            content += more
        return content if len(content) <= limit else None


def write_new_file(name: str, folder: int, data: bytes, mode: int) -> None:
    """Create a file where nothing is. Raises OSError."""
    fd = os.open(name, NEW_FILE_FLAGS, mode, dir_fd=folder)
    try:
        write_all(fd, data)
        os.fchmod(fd, mode)  # without the umask
    finally:
        os.close(fd)


def copy_file(name: str, target: str, folder: int | None = None, target_folder: int | None = None) -> None:
    """Copy a regular file to ``target``, where nothing is yet, with mode and times; on failure the copy is removed.

    Raises OSError.
    """
    with regular_file(name, folder) as (source, found):
        mode = stat.S_IMODE(found.st_mode)
        fd = os.open(target, NEW_FILE_FLAGS, mode & 0o777, dir_fd=target_folder)
        try:
            while chunk := os.read(source, min(found.st_size + 1, CHUNK_BYTES)):
                write_all(fd, chunk)
            os.fchmod(fd, mode)
            os.utime(fd, ns=(found.st_atime_ns, found.st_mtime_ns))
        except OSError:
            with suppress(OSError):
                os.unlink(target, dir_fd=target_folder)
            raise
        finally:
            os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    """Write all of ``data``; one call may write less. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def content_digest(file: BinaryIO, checked: Callable[[], None]) -> str:
    """SHA-256 of a file that is open for reading, in hexadecimal. Raises OSError.

    ``checked`` is called after each part of 1 MiB, and may raise, such as for a cancelled run.
    """
    digest = sha256()
    while part := file.read(CHUNK_BYTES):
        digest.update(part)
        checked()
    return digest.hexdigest()
