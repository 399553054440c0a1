"""The content of a folder as entries of a bundle, and entries as the content of a folder; no link is followed."""

from __future__ import annotations

import errno
import os
import stat

from skillgym_action.system.files.bundle import SMALL_FILE_BYTES, BundleEntry
from skillgym_action.system.files.contents import CHUNK_BYTES, copy_file, write_all
from skillgym_action.system.files.open_below import (
    FILE_FLAGS,
    NEW_FILE_FLAGS,
    OWNER_ACCESS,
    DescriptorWalk,
    common_length,
    grant_to_owner,
    split_path,
    try_enter,
    with_path,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from skillgym_action.system.files.bundle import BundleLimits
    from skillgym_action.system.files.folder import Folder

READABLE_FILE = 0o600


def folder_entries(
    folder: Folder,
    paths: Iterable[str] | None = None,
    *,
    without: Collection[str] = (),
    limits: BundleLimits | None = None,
    open_up: bool = False,
) -> Iterator[BundleEntry]:
    """The entries of a folder: all of it but names in ``without``, or ``paths`` and the folders that they are in.

    Devices, sockets and FIFOs are left out; with ``limits``, so are paths that are too deep or too long and files that
    are too large. ``open_up``: change modes that keep the owner out. Raises OSError with the path: also for one of
    ``paths`` that is not there, and for more than the limit of bytes in total.

    No link is followed.
    """
    packer = _Packer(folder, limits, open_up=open_up)
    try:
        yield from packer.all(without) if paths is None else packer.some(paths)
    finally:
        packer.walk.__exit__()


class _Packer:
    def __init__(self, folder: Folder, limits: BundleLimits | None, *, open_up: bool) -> None:
        self.walk = DescriptorWalk(folder.fd)
        self._root = folder.path
        self._limits, self._open_up = limits, open_up
        self._total = 0

    def all(self, without: Collection[str]) -> Iterator[BundleEntry]:
        if self._open_up:
            self.walk.open_up()
        waiting = [(0, "", "")]
        while waiting:
            depth, name, path = waiting.pop()
            self.walk.leave_to(depth)
            if name:
                yield self._folder(name, path)
            prefix = path + "/" if path else ""
            depth = len(self.walk.names)
            for entry in self._listed(path):
                if entry.name in without or not self._fits(depth, prefix + entry.name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((depth, entry.name, prefix + entry.name))
                elif made := self._entry(entry.name, prefix + entry.name, is_file=entry.is_file(follow_symlinks=False)):
                    yield made

    def _listed(self, path: str) -> list[os.DirEntry[str]]:
        try:
            with self.walk.scan() as entries:
                return list(entries)
        except OSError as error:
            raise self._with_path(error, path) from None

    def some(self, paths: Iterable[str]) -> Iterator[BundleEntry]:
        made: set[str] = set()
        for path in paths:
            *parents, name = split_path(path) or [""]
            if not name:
                raise OSError(errno.EINVAL, "the folder itself has no entry", path)
            self.walk.leave_to(common_length(self.walk.names, parents))
            for parent in parents[len(self.walk.names) :]:
                entry = self._folder(parent, "/".join([*self.walk.names, parent]))
                if entry.path not in made:
                    made.add(entry.path)
                    yield entry
            if not self._fits(len(parents), path):
                raise OSError(errno.ENAMETOOLONG, "too deep", path)
            if (one := self._any_kind(name, "/".join([*parents, name]))) and one.path not in made:
                made.add(one.path)
                yield one

    def _any_kind(self, name: str, path: str) -> BundleEntry | None:
        try:
            mode = os.stat(name, dir_fd=self.walk.fd, follow_symlinks=False).st_mode
        except OSError as error:
            raise self._with_path(error, path) from None
        if stat.S_ISDIR(mode):
            return self._folder(name, path)
        return self._entry(name, path, is_file=stat.S_ISREG(mode))

    def _folder(self, name: str, path: str) -> BundleEntry:
        try:
            if self._open_up and try_enter(self.walk, name, open_up=True):
                self.walk.open_up()
            else:
                self.walk.enter(name)
        except OSError as error:
            raise self._with_path(error, path) from None
        found = os.fstat(self.walk.fd)
        return BundleEntry("folder", path, stat.S_IMODE(found.st_mode), found.st_mtime_ns)

    def _entry(self, name: str, path: str, *, is_file: bool) -> BundleEntry | None:
        """A file or a link; None for anything else. Raises OSError."""
        folder = self.walk.fd
        try:
            if is_file:
                return self._file(name, path)
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(found.st_mode):
                target = os.readlink(name, dir_fd=folder)
                return BundleEntry("link", path, stat.S_IMODE(found.st_mode), found.st_mtime_ns, target)
        except OSError as error:
            raise self._with_path(error, path) from None
        return None

    def _file(self, name: str, path: str) -> BundleEntry | None:
        """None for one that is too large. Raises OSError."""
        fd = self._opened(name)
        try:
            found = os.fstat(fd)
            size = found.st_size
            if not stat.S_ISREG(found.st_mode) or (self._limits and size > self._limits.file_bytes):
                return None
            self._count(size)
            entry = BundleEntry("file", path, stat.S_IMODE(found.st_mode), found.st_mtime_ns)
            if size > SMALL_FILE_BYTES:
                return entry.with_content(size, lambda: self._chunks(name, path, size))
            content = os.read(fd, size) if size else b""
        finally:
            os.close(fd)
        return entry.with_content(len(content), content)

    def _count(self, size: int) -> None:
        self._total += size
        if self._limits and self._total > self._limits.total_bytes:
            raise OSError(errno.EFBIG, f"it has more than {self._limits.total_bytes // 1024**2} MiB")

    def _chunks(self, name: str, path: str, size: int) -> Iterator[bytes]:
        """As much of a file as it was long. Raises OSError."""
        try:
            fd = self._opened(name)
        except OSError as error:
            raise self._with_path(error, path) from None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "not a regular file", path)
            while size and (chunk := os.read(fd, min(size, CHUNK_BYTES))):
                size -= len(chunk)
                yield chunk
        finally:
            os.close(fd)

    def _opened(self, name: str) -> int:
        try:
            return os.open(name, FILE_FLAGS, dir_fd=self.walk.fd)
        except PermissionError:
            if not self._open_up:
                raise
        grant_to_owner(name, self.walk.fd, READABLE_FILE)
        return os.open(name, FILE_FLAGS, dir_fd=self.walk.fd)

    def _fits(self, depth: int, path: str) -> bool:
        limits = self._limits
        return limits is None or (depth < limits.levels and len(os.fsencode(path)) <= limits.path_bytes)

    def _with_path(self, error: OSError, path: str) -> OSError:
        return with_path(error, f"{self._root}/{path}" if self._root else path)


def unpack(folder: Folder, entries: Iterable[BundleEntry]) -> None:
    """Create the entries of a bundle with their modes and times; folders keep the setgid bit inherited from above.

    Raises OSError with the path, also if something is there already; what was created until then stays.

    No existing file is written to, and no link is followed.
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

    No existing file is written to, and no link is followed.
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
