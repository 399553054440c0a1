"""Bundles: the content of a folder as a stream of bytes.

An entry is its kind, mode, path, size, modification time and content; a folder comes before what is in it. Sessions
send bundles to the tool, which has more rights: the reader trusts nothing in them and refuses forged ones.
"""

from __future__ import annotations

import io
import struct

from skillgym_action.model.limits import MAX_BUNDLE_LINK_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import IO, NoReturn

# Bundles that others can forge and that are uploaded as artifacts. The tool's own, such as templates, may be larger.
MAX_BUNDLE_LEVELS = 400  # folders in each other
MAX_BUNDLE_PATH_BYTES = 3_000
MAX_BUNDLE_ENTRIES = 200_000
MAX_BUNDLE_FILE_BYTES = 64 * 1024**2
MAX_BUNDLE_BYTES = 512 * 1024**2  # of all files together
MAX_BUNDLE_NAME_BYTES = 255  # of one component of a path, as in file systems
START = b"skillgym bundle 1\n"
HEADER = struct.Struct(">cIIQq")  # kind, mode, length of the path, length of the content, mtime in ns
KINDS = {"folder": b"d", "file": b"f", "link": b"l"}
NAMES = {letter: kind for kind, letter in KINDS.items()}
END = b"."
CHUNK_BYTES = 1024 * 1024
SMALL_FILE_BYTES = 64 * 1024  # of a file that is read in one piece
PERMISSIONS = 0o777

Tree = dict[bytes, "Tree | None"]


class BundleError(Exception):
    """A bundle is refused; the message says why, and at which entry."""


class BundleLimits:
    """Limits of a bundle: folders in each other, bytes of a path, entries, bytes of a file, and bytes in total."""

    __slots__ = ("entries", "file_bytes", "levels", "path_bytes", "total_bytes")

    def __init__(
        self,
        *,
        levels: int = MAX_BUNDLE_LEVELS,
        path_bytes: int = MAX_BUNDLE_PATH_BYTES,
        entries: int = MAX_BUNDLE_ENTRIES,
        file_bytes: int = MAX_BUNDLE_FILE_BYTES,
        total_bytes: int = MAX_BUNDLE_BYTES,
    ) -> None:
        self.levels, self.path_bytes, self.entries = levels, path_bytes, entries
        self.file_bytes, self.total_bytes = file_bytes, total_bytes


class BundleEntry:
    """A folder, a file or a link. ``size`` is that of a file's content in bytes, ``mtime`` is in ns.

    The content of an entry that is read from a stream can be read once, before the next entry.
    """

    __slots__ = ("_content", "kind", "mode", "mtime", "path", "size", "target")

    def __init__(self, kind: str, path: str, mode: int, mtime: int = 0, target: str = "") -> None:
        """A folder, or a link to ``target``; a file gets its content by ``with_content``."""
        self.kind, self.path, self.mode, self.mtime, self.target = kind, path, mode, mtime, target
        self.size = 0
        self._content: bytes | Callable[[], Iterable[bytes]] = b""

    def with_content(self, size: int, content: bytes | Callable[[], Iterable[bytes]]) -> BundleEntry:
        """Set the content: ``size`` bytes, or a callable that returns as many in chunks. Returns the same entry."""
        self.size, self._content = size, content
        return self

    def chunks(self) -> Iterable[bytes]:
        """The content of a file; none of the chunks is empty."""
        content = self._content
        if isinstance(content, bytes):
            return (content,) if content else ()
        return content()


def write_bundle(file: IO[bytes], entries: Iterable[BundleEntry]) -> None:
    """Write a bundle. Raises OSError; BundleError if the length of a file is not the one in its entry."""
    file.write(START)
    for entry in entries:
        path = entry.path.encode("utf-8", "surrogateescape")
        target = entry.target.encode("utf-8", "surrogateescape")
        size = len(target) if entry.kind == "link" else entry.size
        head = HEADER.pack(KINDS[entry.kind], entry.mode & 0o7777, len(path), size, entry.mtime) + path + target
        left = entry.size
        for chunk in entry.chunks():
            left -= len(chunk)
            if left < 0:
                break
            file.write(head + chunk if head else chunk)
            head = b""
        if left:
            raise BundleError(f"{entry.path}: its size changed while it was read")
        file.write(head)
    file.write(HEADER.pack(END, 0, 0, 0, 0))


def read_bundle(file: IO[bytes], limits: BundleLimits | None = None, *, alone: bool = True) -> Iterator[BundleEntry]:
    """The entries of a bundle, folders before what is in them, each path once, all of them below the folder.

    setuid, setgid and sticky bits are dropped. ``alone``: the file has to end with the bundle. Raises BundleError.
    """
    return _Reader(file, limits or BundleLimits()).entries(alone=alone)


def checked_entries(entries: Iterable[BundleEntry], limits: BundleLimits | None = None) -> Iterator[BundleEntry]:
    """Entries that did not come in a bundle, by the same rules as those of one. Raises BundleError."""
    reader = _Reader(io.BytesIO(), limits or BundleLimits())
    for entry in entries:
        reader.check(entry)
        yield entry


class _Reader:
    def __init__(self, file: IO[bytes], limits: BundleLimits) -> None:
        self._file, self._limits = file, limits
        self._count = self._total = self._left = 0
        self._tree: Tree = {}
        # The folder of the last entry: most entries are in the same one, which is found only once.
        self._parent_path, self._siblings = b"", self._tree

    def entries(self, *, alone: bool) -> Iterator[BundleEntry]:
        if self._exactly(len(START)) != START:
            self._refuse("it does not begin as a bundle does")
        while (entry := self._entry()) is not None:
            yield entry
            if self._left:
                self._skip()
        if alone and self._file.read(1):
            self._refuse("something comes after its end")

    def check(self, entry: BundleEntry) -> None:
        """Apply the rules to an entry, whose setuid, setgid and sticky bits are dropped. Raises BundleError."""
        path = entry.path.encode("utf-8", "surrogateescape")
        self._kind(KINDS.get(entry.kind, b"?"))
        if len(path) > self._limits.path_bytes:
            self._refuse(f"a path of {len(path)} bytes")
        self._add(path, is_folder=entry.kind == "folder")
        target = entry.target.encode("utf-8", "surrogateescape")
        self._check_size(entry.kind, len(target) if entry.kind == "link" else entry.size, path)
        if entry.kind == "link" and not (0 < len(target) <= MAX_BUNDLE_LINK_BYTES and b"\0" not in target):
            self._refuse("a link to no path", path)
        entry.mode &= PERMISSIONS

    def _entry(self) -> BundleEntry | None:
        letter, mode, length, size, mtime = HEADER.unpack(self._exactly(HEADER.size))
        if letter == END and not mode and not length and not size and not mtime:
            return None
        kind = self._kind(letter)
        if length > self._limits.path_bytes:
            self._refuse(f"a path of {length} bytes")
        path = self._exactly(length)
        self._add(path, is_folder=kind == "folder")
        self._check_size(kind, size, path)
        entry = BundleEntry(kind, _text(path), mode & PERMISSIONS, mtime)
        if kind == "link":
            entry.target = self._target(path, size)
        if kind != "file":
            return entry
        if size <= SMALL_FILE_BYTES:
            return entry.with_content(size, self._exactly(size))
        self._left = size
        return entry.with_content(size, self._chunks)

    def _kind(self, letter: bytes) -> str:
        self._count += 1
        if self._count > self._limits.entries:
            self._refuse(f"more than {self._limits.entries} entries")
        if letter not in NAMES:
            self._refuse(f"an unknown kind, {letter!r}")
        return NAMES[letter]

    def _check_size(self, kind: str, size: int, path: bytes) -> None:
        """Raises BundleError if it is too large."""
        self._total += size + len(path)
        if self._total > self._limits.total_bytes:
            self._refuse(f"more than {self._limits.total_bytes} bytes in all", path)
        if kind == "folder" and size:
            self._refuse("a folder with content", path)
        if size > self._limits.file_bytes:
            self._refuse(f"a file of {size} bytes", path)

    def _add(self, path: bytes, *, is_folder: bool) -> None:
        """Add the path to the tree. Raises BundleError unless it is new, and in a folder that came before.

        Hence no entry is unpacked through a link of the same bundle.
        """
        above, slash, name = path.rpartition(b"/")
        if above != self._parent_path or (slash and not above):
            self._parent_path, self._siblings = above, self._parent(path, above)
        siblings = self._siblings
        if name in {b"", b".", b".."} or b"\0" in name or len(name) > MAX_BUNDLE_NAME_BYTES:
            self._refuse("not the name of an entry", path)
        if path.count(b"/") >= self._limits.levels:
            self._refuse(f"more than {self._limits.levels} levels", path)
        if name in siblings:
            self._refuse("a path that came before", path)
        siblings[name] = {} if is_folder else None

    def _parent(self, path: bytes, above: bytes) -> Tree:
        tree = self._tree
        for name in above.split(b"/") if b"/" in path else ():
            below = tree.get(name)
            if below is None:
                self._refuse("its folder did not come before it", path)
            tree = below
        return tree

    def _target(self, path: bytes, size: int) -> str:
        if not 0 < size <= MAX_BUNDLE_LINK_BYTES:
            self._refuse(f"a link to a path of {size} bytes", path)
        target = self._exactly(size)
        if b"\0" in target:
            self._refuse("a link to no path", path)
        return _text(target)

    def _chunks(self) -> Iterator[bytes]:
        while self._left:
            chunk = self._file.read(min(self._left, CHUNK_BYTES))
            if not chunk:
                self._refuse("it ends too early")
            self._left -= len(chunk)
            yield chunk

    def _skip(self) -> None:
        for _ in self._chunks():
            pass

    def _exactly(self, size: int) -> bytes:
        """Read so many bytes. The caller has limited ``size``: it is allocated at once."""
        found = self._file.read(size) if size else b""
        while len(found) < size:
            if not (more := self._file.read(size - len(found))):
                self._refuse("it ends too early")
            found += more
        return found

    def _refuse(self, reason: str, path: bytes | None = None) -> NoReturn:
        location = f"entry {self._count}" + (f", {path.decode('utf-8', 'backslashreplace')!r}" if path else "")
        raise BundleError(f"the bundle is refused at {location}: {reason}")


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
