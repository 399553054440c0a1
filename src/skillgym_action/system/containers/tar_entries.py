"""Entries of bundles as tar archives, which engines of containers read and write."""

from __future__ import annotations

import stat
import tarfile
from typing import IO, TYPE_CHECKING, NamedTuple

from skillgym_action.model.containers import Owner
from skillgym_action.system.files.bundle import BundleEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TYPES = {"folder": tarfile.DIRTYPE, "file": tarfile.REGTYPE, "link": tarfile.SYMTYPE}
BLOCK_BYTES = tarfile.BLOCKSIZE
CHUNK_BYTES = 1024 * 1024
NS = 1_000_000_000
END = bytes(2 * BLOCK_BYTES)  # of an archive


class HardLink(NamedTuple):
    """Another name of a file that came before; the archive has no content for it. ``mtime`` is in ns."""

    path: str
    mode: int
    mtime: int


def write_tar(entries: Iterable[BundleEntry], owner: Owner | None = None, below: str = "") -> Iterator[bytes]:
    """The pieces of a tar archive with the entries, without its end; names start with ``below``. None: root's."""
    owner = owner or Owner()
    for entry in entries:
        member = tarfile.TarInfo(below + entry.path)
        member.type, member.mode = TYPES[entry.kind], stat.S_IMODE(entry.mode)
        member.size, member.linkname = entry.size, entry.target
        member.mtime = entry.mtime // NS
        member.uid, member.gid = owner.uid, owner.gid
        head, left = member.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape"), entry.size
        for chunk in entry.chunks():
            left -= len(chunk)
            yield head + chunk if head else chunk
            head = b""
        if left:
            raise OSError(f"{entry.path}: its size changed while it was read")
        yield head + bytes(-entry.size % BLOCK_BYTES)


def read_tar(file: IO[bytes]) -> Iterator[BundleEntry | HardLink]:
    """The entries of the archive of one folder, as they are read from a stream; nothing is checked.

    Names are relative to the folder, whose own entry is left out, as are devices and FIFOs. Raises tarfile.TarError.
    """
    with tarfile.open(fileobj=file, mode="r|", errors="surrogateescape") as archive:
        while (member := archive.next()) is not None:
            archive.members = []  # type: ignore[attr-defined] # else it would remember all of them
            _, _, path = member.name.rstrip("/").partition("/")
            if path and (entry := _entry(archive, member, path)):
                yield entry


def _entry(archive: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> BundleEntry | HardLink | None:
    mode, mtime = member.mode & 0o777, int(member.mtime * NS)
    if member.isdir():
        return BundleEntry("folder", path, mode, mtime)
    if member.issym():
        return BundleEntry("link", path, mode, mtime, member.linkname)
    if member.islnk():
        return HardLink(path, mode, mtime)
    if not member.isreg():
        return None
    return BundleEntry("file", path, mode, mtime).with_content(member.size, lambda: _chunks(archive, member))


def _chunks(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    file = archive.extractfile(member)
    while file and (chunk := file.read(CHUNK_BYTES)):
        yield chunk
