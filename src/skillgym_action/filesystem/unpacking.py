"""Folders created from bundles or as copies of folders; no existing file is written to, and no link is followed."""

from __future__ import annotations

import os
import stat

from skillgym_action.filesystem.descriptor_walk import (
    NEW_FILE_FLAGS,
    OWNER_ACCESS,
    DescriptorWalk,
    split_path,
    with_path,
)
from skillgym_action.filesystem.file_contents import copy_file, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from skillgym_action.filesystem.bundle import BundleEntry
    from skillgym_action.filesystem.folder import Folder


def unpack(folder: Folder, entries: Iterable[BundleEntry]) -> None:
    """Create the entries of a bundle with their modes and times; folders keep the setgid bit inherited from above.

    Raises OSError with the path, also if something is there already; what was created until then stays.
    """
    finished: list[tuple[str, str, int, int]] = []
    current = ""
    with DescriptorWalk(folder.fd) as walk:
        for entry in entries:
            above, _, name = entry.path.rpartition("/")
            try:
                if above != current:
                    walk.go_to(split_path(above))
                    current = above
                _create(walk.fd, name, entry)
            except OSError as error:
                raise with_path(error, entry.path) from None
            if entry.kind == "folder":
                finished.append((above, name, entry.mode, entry.mtime))
        for above, name, mode, mtime in reversed(finished):  # only now: nothing can be created in a read-only folder
            walk.go_to(split_path(above))
            _set_mode_and_times(walk, name, mode, (mtime, mtime))


def _create(folder: int, name: str, entry: BundleEntry) -> None:
    if entry.kind == "folder":
        os.mkdir(name, entry.mode | OWNER_ACCESS, dir_fd=folder)
    elif entry.kind == "link":
        os.symlink(entry.target, name, dir_fd=folder)
    else:
        fd = os.open(name, NEW_FILE_FLAGS, entry.mode, dir_fd=folder)
        try:
            for chunk in entry.chunks():
                write_all(fd, chunk)
            os.fchmod(fd, entry.mode)
            os.utime(fd, ns=(entry.mtime, entry.mtime))
        finally:
            os.close(fd)


def _set_mode_and_times(walk: DescriptorWalk, name: str, mode: int, times: tuple[int, int]) -> None:
    """Set mode and times of a folder below the current one. Raises OSError.

    ``chmod`` by a user who is not in the folder's group clears setgid, even if the mode stays the same: so it is called
    only for another mode.
    """
    now = os.stat(name, dir_fd=walk.fd, follow_symlinks=False).st_mode
    if (now ^ mode) & ~stat.S_ISGID & 0o7777:
        walk.enter(name)
        os.fchmod(walk.fd, mode | (now & stat.S_ISGID))
        walk.leave()
    os.utime(name, ns=times, dir_fd=walk.fd, follow_symlinks=False)


def copy_into(source: Folder, target: Folder, cancelled: Callable[[], None] | None = None) -> None:
    """Copy the content of one folder into another: files, and links as links, with modes and times.

    Devices, sockets and FIFOs are left out. ``cancelled`` is called for each entry, and may raise. Raises OSError with
    the path; what was copied until then stays.
    """
    finished: list[tuple[list[str], os.stat_result]] = []
    waiting = [(0, "")]
    with DescriptorWalk(source.fd) as walk, DescriptorWalk(target.fd) as copy:
        while waiting:
            depth, name = waiting.pop()
            walk.leave_to(depth)
            copy.leave_to(depth)
            if name:
                finished.append(([*copy.names, name], _copy_folder(walk, copy, name, source)))
            below = _copy_files(walk, copy.fd, source, cancelled)
            depth = len(copy.names)
            waiting += [(depth, name) for name in below]
        for names, found in reversed(finished):
            copy.go_to(names[:-1])
            _set_mode_and_times(copy, names[-1], stat.S_IMODE(found.st_mode), (found.st_atime_ns, found.st_mtime_ns))


def _copy_folder(walk: DescriptorWalk, copy: DescriptorWalk, name: str, source: Folder) -> os.stat_result:
    """Create a folder of the source in the copy and go into both; its status. Raises OSError."""
    try:
        walk.enter(name)
        found = os.fstat(walk.fd)
        os.mkdir(name, stat.S_IMODE(found.st_mode) | OWNER_ACCESS, dir_fd=copy.fd)
        copy.enter(name)
    except OSError as error:
        raise _with_path(error, source, [*copy.names, name]) from None
    return found


def _copy_files(walk: DescriptorWalk, target: int, source: Folder, cancelled: Callable[[], None] | None) -> list[str]:
    """Copy the files and links of the current folder; the names of its folders. Raises OSError."""
    folders: list[str] = []
    name, folder = "", walk.fd
    try:
        with walk.scan() as entries:
            for entry in entries:
                if cancelled:
                    cancelled()
                name = entry.name
                if entry.is_file(follow_symlinks=False):
                    copy_file(name, name, folder, target)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(name)
                elif entry.is_symlink():
                    os.symlink(os.readlink(name, dir_fd=folder), name, dir_fd=target)
    except OSError as error:
        raise _with_path(error, source, [*walk.names, name]) from None
    return folders


def _with_path(error: OSError, source: Folder, names: list[str]) -> OSError:
    return with_path(error, "/".join([source.path, *names] if source.path else names).rstrip("/"))
