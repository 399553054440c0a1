"""What a folder holds, entry by entry, as bundles hold it; no link is followed."""

from __future__ import annotations

import errno
import os
import stat

from skillgym_action.filesystem.bundle import BundleEntry
from skillgym_action.filesystem.descriptor_walk import FILE, Descent, entered, made_usable, named, parts_of, shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from skillgym_action.filesystem.bundle import Limits
    from skillgym_action.filesystem.folder import Folder

CHUNK = 1024 * 1024
SMALL = 64 * 1024  # bytes of a file that is read at once
READABLE_FILE = 0o600


def entries(
    folder: Folder,
    paths: Iterable[str] | None = None,
    *,
    without: Collection[str] = (),
    limits: Limits | None = None,
    open_up: bool = False,
) -> Iterator[BundleEntry]:
    """What a bundle of the folder holds: all of it but names in ``without``, or ``paths`` and the folders they are in.

    Devices, sockets and FIFOs are left out; with ``limits``, so is what is too deep, too long or too large. With
    ``open_up`` the owner's closed files and folders are opened. Raises OSError, with the path in question: also for
    one of ``paths`` that is not there, and where there is more than the limit in all.
    """
    packer = _Packer(folder, limits, open_up=open_up)
    try:
        yield from packer.all(without) if paths is None else packer.some(paths)
    finally:
        packer.place.__exit__()


class _Packer:
    def __init__(self, folder: Folder, limits: Limits | None, *, open_up: bool) -> None:
        self.place = Descent(folder.fd)
        self._within = folder.path
        self._limits, self._open_up = limits, open_up
        self._total = 0

    def all(self, without: Collection[str]) -> Iterator[BundleEntry]:
        if self._open_up:
            self.place.open_up()
        waiting = [(0, "", "")]
        while waiting:
            depth, name, path = waiting.pop()
            self.place.rise(depth)
            if name:
                yield self._entered(name, path)
            prefix = path + "/" if path else ""
            depth = len(self.place.names)
            for entry in self._listed(path):
                if entry.name in without or not self._fits(depth, prefix + entry.name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((depth, entry.name, prefix + entry.name))
                elif made := self._entry(entry.name, prefix + entry.name, is_file=entry.is_file(follow_symlinks=False)):
                    yield made

    def _listed(self, path: str) -> list[os.DirEntry[str]]:
        try:
            with self.place.scan() as entries:
                return list(entries)
        except OSError as error:
            raise self._named(error, path) from None

    def some(self, paths: Iterable[str]) -> Iterator[BundleEntry]:
        made: set[str] = set()
        for path in paths:
            *parents, name = parts_of(path) or [""]
            if not name:
                raise OSError(errno.EINVAL, "the folder itself has no entry", path)
            self.place.rise(shared(self.place.names, parents))
            for parent in parents[len(self.place.names) :]:
                entry = self._entered(parent, "/".join([*self.place.names, parent]))
                if entry.path not in made:
                    made.add(entry.path)
                    yield entry
            if not self._fits(len(parents), path):
                raise OSError(errno.ENAMETOOLONG, "too deep", path)
            if (one := self._one(name, "/".join([*parents, name]))) and one.path not in made:
                made.add(one.path)
                yield one

    def _one(self, name: str, path: str) -> BundleEntry | None:
        try:
            mode = os.stat(name, dir_fd=self.place.fd, follow_symlinks=False).st_mode
        except OSError as error:
            raise self._named(error, path) from None
        if stat.S_ISDIR(mode):
            return self._entered(name, path)
        return self._entry(name, path, is_file=stat.S_ISREG(mode))

    def _entered(self, name: str, path: str) -> BundleEntry:
        try:
            if self._open_up and entered(self.place, name, open_up=True):
                self.place.open_up()
            else:
                self.place.enter(name)
        except OSError as error:
            raise self._named(error, path) from None
        found = os.fstat(self.place.fd)
        return BundleEntry("folder", path, stat.S_IMODE(found.st_mode), found.st_mtime_ns)

    def _entry(self, name: str, path: str, *, is_file: bool) -> BundleEntry | None:
        """A file or a link; None for anything else. Raises OSError."""
        folder = self.place.fd
        try:
            if is_file:
                return self._file(name, path)
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(found.st_mode):
                target = os.readlink(name, dir_fd=folder)
                return BundleEntry("link", path, stat.S_IMODE(found.st_mode), found.st_mtime_ns, target)
        except OSError as error:
            raise self._named(error, path) from None
        return None

    def _file(self, name: str, path: str) -> BundleEntry | None:
        """None for one that is too large. Raises OSError."""
        fd = self._opened(name)
        try:
            found = os.fstat(fd)
            size = found.st_size
            if not stat.S_ISREG(found.st_mode) or (self._limits and size > self._limits.largest):
                return None
            self._count(size)
            entry = BundleEntry("file", path, stat.S_IMODE(found.st_mode), found.st_mtime_ns)
            if size > SMALL:
                return entry.holding(size, lambda: self._chunks(name, path, size))
            content = os.read(fd, size) if size else b""
        finally:
            os.close(fd)
        return entry.holding(len(content), content)

    def _count(self, size: int) -> None:
        self._total += size
        if self._limits and self._total > self._limits.total:
            raise OSError(errno.EFBIG, f"it has more than {self._limits.total // 1024**2} MiB")

    def _chunks(self, name: str, path: str, size: int) -> Iterator[bytes]:
        """As much of a file as it was long. Raises OSError."""
        try:
            fd = self._opened(name)
        except OSError as error:
            raise self._named(error, path) from None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "not a regular file", path)
            while size and (chunk := os.read(fd, min(size, CHUNK))):
                size -= len(chunk)
                yield chunk
        finally:
            os.close(fd)

    def _opened(self, name: str) -> int:
        try:
            return os.open(name, FILE, dir_fd=self.place.fd)
        except PermissionError:
            if not self._open_up:
                raise
        made_usable(name, self.place.fd, READABLE_FILE)
        return os.open(name, FILE, dir_fd=self.place.fd)

    def _fits(self, depth: int, path: str) -> bool:
        limits = self._limits
        return limits is None or (depth < limits.deepest and len(os.fsencode(path)) <= limits.longest)

    def _named(self, error: OSError, path: str) -> OSError:
        return named(error, f"{self._within}/{path}" if self._within else path)
