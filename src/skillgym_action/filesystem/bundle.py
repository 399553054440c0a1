"""A folder as a stream of bytes, and the reader that believes none of it: forged streams are refused.

An entry is its kind, mode, path, size, time of change and content; a folder comes before what is in it.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import IO, NoReturn

START = b"skillgym bundle 1\n"
HEADER = struct.Struct(">cIIQq")  # kind, mode, length of the path, length of the content, time of change in ns
KINDS = {"folder": b"d", "file": b"f", "link": b"l"}
NAMES = {letter: kind for kind, letter in KINDS.items()}
END = b"."
CHUNK = 1024 * 1024
SMALL = 64 * 1024  # bytes of a file that is read at once
LONGEST_NAME, LONGEST_TARGET = 255, 4095  # bytes
PERMISSIONS = 0o777

Tree = dict[bytes, "Tree | None"]


class BundleError(Exception):
    """A bundle is refused: why, and at which entry."""


class Limits:
    """What a bundle may hold: levels, bytes of a path, entries, bytes of a file, and bytes in all."""

    __slots__ = ("deepest", "entries", "largest", "longest", "total")

    def __init__(
        self,
        *,
        deepest: int = 400,
        longest: int = 3000,
        entries: int = 200_000,
        largest: int = 64 * 1024**2,
        total: int = 512 * 1024**2,
    ) -> None:
        """What others can pack and upload; the tool's own bundles, such as those of templates, may be larger."""
        self.deepest, self.longest, self.entries = deepest, longest, entries
        self.largest, self.total = largest, total


class BundleEntry:
    """A folder, a file or a link. ``size`` is that of a file's content in bytes, ``changed`` a time in ns.

    The content of an entry that is read from a stream can be read once, before the next entry.
    """

    __slots__ = ("_content", "changed", "kind", "mode", "path", "size", "target")

    def __init__(self, kind: str, path: str, mode: int, changed: int = 0, target: str = "") -> None:
        """A folder, or a link to ``target``; a file gets its content by ``holding``."""
        self.kind, self.path, self.mode, self.changed, self.target = kind, path, mode, changed, target
        self.size = 0
        self._content: bytes | Callable[[], Iterable[bytes]] = b""

    def holding(self, size: int, content: bytes | Callable[[], Iterable[bytes]]) -> BundleEntry:
        """The same with content: ``size`` bytes, or a callable that gives as many in chunks."""
        self.size, self._content = size, content
        return self

    def chunks(self) -> Iterable[bytes]:
        """The content of a file; none of the chunks is empty."""
        content = self._content
        if isinstance(content, bytes):
            return (content,) if content else ()
        return content()


def write_bundle(file: IO[bytes], entries: Iterable[BundleEntry]) -> None:
    """Write a bundle. Raises OSError; BundleError where a file's content is not as long as its entry says."""
    file.write(START)
    for entry in entries:
        path = entry.path.encode("utf-8", "surrogateescape")
        target = entry.target.encode("utf-8", "surrogateescape")
        size = len(target) if entry.kind == "link" else entry.size
        head = HEADER.pack(KINDS[entry.kind], entry.mode & 0o7777, len(path), size, entry.changed) + path + target
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


def read_bundle(file: IO[bytes], limits: Limits | None = None, *, alone: bool = True) -> Iterator[BundleEntry]:
    """The entries of a bundle, folders before what is in them, each path once, all of them below the folder.

    setuid, setgid and sticky are dropped. ``alone``: nothing may come after the bundle. Raises BundleError.
    """
    return _Reader(file, limits or Limits()).entries(alone=alone)


class _Reader:
    def __init__(self, file: IO[bytes], limits: Limits) -> None:
        self._file, self._limits = file, limits
        self._count = self._total = self._left = 0
        self._tree: Tree = {}
        self._near: tuple[bytes, Tree] = (b"", self._tree)  # the last folder that something was in

    def entries(self, *, alone: bool) -> Iterator[BundleEntry]:
        if self._exactly(len(START)) != START:
            self._refuse("it does not begin as a bundle does")
        while (entry := self._entry()) is not None:
            yield entry
            if self._left:
                self._skip()
        if alone and self._file.read(1):
            self._refuse("something comes after its end")

    def _entry(self) -> BundleEntry | None:
        letter, mode, length, size, changed = HEADER.unpack(self._exactly(HEADER.size))
        if letter == END and not mode and not length and not size and not changed:
            return None
        kind = self._kind(letter)
        if length > self._limits.longest:
            self._refuse(f"a path of {length} bytes")
        path = self._exactly(length)
        self._place(path, is_folder=kind == "folder")
        self._sized(kind, size, path)
        entry = BundleEntry(kind, _text(path), mode & PERMISSIONS, changed)
        if kind == "link":
            entry.target = self._target(path, size)
        if kind != "file":
            return entry
        if size <= SMALL:
            return entry.holding(size, self._exactly(size))
        self._left = size
        return entry.holding(size, self._chunks)

    def _kind(self, letter: bytes) -> str:
        self._count += 1
        if self._count > self._limits.entries:
            self._refuse(f"more than {self._limits.entries} entries")
        if letter not in NAMES:
            self._refuse(f"an unknown kind, {letter!r}")
        return NAMES[letter]

    def _sized(self, kind: str, size: int, path: bytes) -> None:
        """Raises BundleError for what is too large."""
        self._total += size + len(path)
        if self._total > self._limits.total:
            self._refuse(f"more than {self._limits.total} bytes in all", path)
        if kind == "folder" and size:
            self._refuse("a folder with content", path)
        if size > self._limits.largest:
            self._refuse(f"a file of {size} bytes", path)

    def _place(self, path: bytes, *, is_folder: bool) -> None:
        """Remember the path. Raises BundleError unless it is new, and in a folder that came before."""
        above, slash, name = path.rpartition(b"/")
        if above != self._near[0] or (slash and not above):
            self._near = (above, self._folder(path, above))
        siblings = self._near[1]
        if name in {b"", b".", b".."} or b"\0" in name or len(name) > LONGEST_NAME:
            self._refuse("no name of an entry", path)
        if path.count(b"/") >= self._limits.deepest:
            self._refuse(f"more than {self._limits.deepest} levels", path)
        if name in siblings:
            self._refuse("a path that came before", path)
        siblings[name] = {} if is_folder else None

    def _folder(self, path: bytes, above: bytes) -> Tree:
        tree = self._tree
        for name in above.split(b"/") if b"/" in path else ():
            below = tree.get(name)
            if below is None:
                self._refuse("its folder did not come before it", path)
            tree = below
        return tree

    def _target(self, path: bytes, size: int) -> str:
        if not 0 < size <= LONGEST_TARGET:
            self._refuse(f"a link to a path of {size} bytes", path)
        target = self._exactly(size)
        if b"\0" in target:
            self._refuse("a link to no path", path)
        return _text(target)

    def _chunks(self) -> Iterator[bytes]:
        while self._left:
            chunk = self._file.read(min(self._left, CHUNK))
            if not chunk:
                self._refuse("it ends too early")
            self._left -= len(chunk)
            yield chunk

    def _skip(self) -> None:
        for _ in self._chunks():
            pass

    def _exactly(self, size: int) -> bytes:
        """That many bytes, which the caller has checked to be few."""
        found = self._file.read(size) if size else b""
        while len(found) < size:
            if not (more := self._file.read(size - len(found))):
                self._refuse("it ends too early")
            found += more
        return found

    def _refuse(self, reason: str, path: bytes | None = None) -> NoReturn:
        place = f"entry {self._count}" + (f", {path.decode('utf-8', 'backslashreplace')!r}" if path else "")
        raise BundleError(f"the bundle is refused at {place}: {reason}")


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
