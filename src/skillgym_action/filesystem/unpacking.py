"""Folders made of bundles and of other folders; nothing that is there is written to, and no link is followed."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from skillgym_action.filesystem.descriptor_walk import FILE, Descent, named, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from skillgym_action.filesystem.bundle import BundleEntry
    from skillgym_action.filesystem.folder import Folder

CHUNK = 1024 * 1024
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
USABLE = stat.S_IRWXU


def unpack(folder: Folder, entries: Iterable[BundleEntry]) -> None:
    """Make what a bundle holds, with modes and times; of a folder's mode, setgid is as the folder above gave it.

    Raises OSError in the middle of it, with the path in question, also where something is there already.
    """
    finished: list[tuple[str, str, int, int]] = []
    present = ""
    with Descent(folder.fd) as place:
        for entry in entries:
            above, _, name = entry.path.rpartition("/")
            try:
                if above != present:
                    place.go(parts_of(above))
                    present = above
                _make(place.fd, name, entry)
            except OSError as error:
                raise named(error, entry.path) from None
            if entry.kind == "folder":
                finished.append((above, name, entry.mode, entry.changed))
        for above, name, mode, changed in reversed(finished):  # a folder that is read-only takes nothing any more
            place.go(parts_of(above))
            _finish(place, name, mode, (changed, changed))


def _make(folder: int, name: str, entry: BundleEntry) -> None:
    if entry.kind == "folder":
        os.mkdir(name, entry.mode | USABLE, dir_fd=folder)
    elif entry.kind == "link":
        os.symlink(entry.target, name, dir_fd=folder)
    else:
        fd = os.open(name, NEW, entry.mode, dir_fd=folder)
        try:
            for chunk in entry.chunks():
                _write(fd, chunk)
            os.fchmod(fd, entry.mode)
            os.utime(fd, ns=(entry.changed, entry.changed))
        finally:
            os.close(fd)


def _finish(place: Descent, name: str, mode: int, times: tuple[int, int]) -> None:
    """Mode and times of a folder below the present one. Raises OSError.

    Who is not in a folder's group would clear its setgid by any change of the mode: so it is changed only if it has to.
    """
    now = os.stat(name, dir_fd=place.fd, follow_symlinks=False).st_mode
    if (now ^ mode) & ~stat.S_ISGID & 0o7777:
        place.enter(name)
        os.fchmod(place.fd, mode | (now & stat.S_ISGID))
        place.leave()
    os.utime(name, ns=times, dir_fd=place.fd, follow_symlinks=False)


def copy_into(
    source: Folder, target: Folder, cancelled: Callable[[], None] | None = None, without: Collection[str] = ()
) -> None:
    """Copy what is in one folder into another: files, and links as links, with modes and times.

    Devices, sockets and FIFOs are left out, and so is whatever has a name in ``without``. ``cancelled`` is called for
    each entry, and may raise. Raises OSError in the middle of it, with the path in question.
    """
    finished: list[tuple[list[str], os.stat_result]] = []
    waiting = [(0, "")]
    with Descent(source.fd) as place, Descent(target.fd) as copy:
        while waiting:
            depth, name = waiting.pop()
            place.rise(depth)
            copy.rise(depth)
            if name:
                finished.append(([*copy.names, name], _copy_folder(place, copy, name, source)))
            below = _copy_files(place, copy.fd, source, cancelled, without)
            depth = len(copy.names)
            waiting += [(depth, name) for name in below]
        for names, found in reversed(finished):
            copy.go(names[:-1])
            _finish(copy, names[-1], stat.S_IMODE(found.st_mode), (found.st_atime_ns, found.st_mtime_ns))


def _copy_folder(place: Descent, copy: Descent, name: str, source: Folder) -> os.stat_result:
    """Go into a folder in both walks, where it is made in the second; its stat. Raises OSError."""
    try:
        place.enter(name)
        found = os.fstat(place.fd)
        os.mkdir(name, stat.S_IMODE(found.st_mode) | USABLE, dir_fd=copy.fd)
        copy.enter(name)
    except OSError as error:
        raise _placed(error, source, [*copy.names, name]) from None
    return found


def _copy_files(
    place: Descent, target: int, source: Folder, cancelled: Callable[[], None] | None, without: Collection[str]
) -> list[str]:
    """Copy the files and links of the present folder; the names of the folders in it. Raises OSError."""
    folders: list[str] = []
    name, folder = "", place.fd
    try:
        with place.scan() as entries:
            for entry in entries:
                if cancelled:
                    cancelled()
                name = entry.name
                if name in without:
                    continue
                if entry.is_file(follow_symlinks=False):
                    _copy_file(folder, target, name)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(name)
                elif entry.is_symlink():
                    os.symlink(os.readlink(name, dir_fd=folder), name, dir_fd=target)
    except OSError as error:
        raise _placed(error, source, [*place.names, name]) from None
    return folders


def _placed(error: OSError, source: Folder, names: list[str]) -> OSError:
    return named(error, "/".join([source.path, *names] if source.path else names).rstrip("/"))


def _copy_file(source: int, target: int, name: str) -> None:
    """Copy a regular file, the whole of it or nothing. Raises OSError."""
    file = os.open(name, FILE, dir_fd=source)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        mode = stat.S_IMODE(found.st_mode)
        fd = os.open(name, NEW, mode & 0o777, dir_fd=target)
        try:
            while chunk := os.read(file, min(found.st_size + 1, CHUNK)):
                _write(fd, chunk)
            os.fchmod(fd, mode)
            os.utime(fd, ns=(found.st_atime_ns, found.st_mtime_ns))
        except OSError:
            with suppress(OSError):
                os.unlink(name, dir_fd=target)
            raise
        finally:
            os.close(fd)
    finally:
        os.close(file)


def _write(fd: int, chunk: bytes) -> None:
    written = os.write(fd, chunk)
    while written < len(chunk):
        written += os.write(fd, memoryview(chunk)[written:])
