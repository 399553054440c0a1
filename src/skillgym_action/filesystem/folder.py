"""A folder that somebody else may change at any time, held by a descriptor.

No name is resolved through a symbolic link, except where links are followed inside; those never lead out.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress

from skillgym_action.filesystem import folder_walks, links, removal
from skillgym_action.filesystem.descriptor_walk import Descent, made_usable, named, parts_of
from skillgym_action.filesystem.file_contents import CHUNK, content_of, file_opened, write_new

try:
    from _blake2 import blake2b  # hashlib would load OpenSSL, and that takes longer than most looks at a folder
except ImportError:
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from skillgym_action.filesystem.folder_walks import Entry

SKILLS = (".claude/skills", ".agents/skills")  # every agent looks for a project's skills in one of these


class Folder:
    """Paths are relative, with ``/``; names of any bytes are as ``os.fsdecode`` gives them."""

    def __init__(self, fd: int, path: str | None = None) -> None:
        """``fd``: a descriptor of the folder, opened for reading; it stays open.

        ``path``: its absolute path without links, to which absolute links may lead.
        """
        self.fd, self.path = fd, path

    # --- looked at; no link is followed -----------------------------------------------------------------------

    def snapshot(
        self, below: str = "", without: Collection[str] = (), deadline: float | None = None
    ) -> dict[str, Entry]:
        """Every path below the folder at ``below``, relative to that, but ``without`` and folders called ``.git``.

        Kind (file, directory, symlink, other), size, mtime and ctime in ns, inode; of a directory the kind alone. What
        cannot be listed is left out. Raises TimeoutError once ``time.monotonic()`` is past ``deadline``.
        """
        with Descent(self.fd) as place:
            try:
                place.go(parts_of(below))
            except OSError:
                return {}
            return folder_walks.snapshot(place, without, deadline)

    def entry(self, path: str) -> Entry | None:
        """As in a snapshot; None where nothing is, and for what lies behind a link."""
        found = self._stat(path)
        return folder_walks.entry_of(found) if found else None

    def mode(self, path: str) -> int | None:
        """Permissions, with type; None where nothing is."""
        found = self._stat(path)
        return found.st_mode if found else None

    def digest(self, path: str) -> str | None:
        """A hash of a file's content, or a link's target; None when it cannot be read, or never ends as a FIFO."""
        with suppress(OSError, ValueError), self._at(path) as (folder, name):
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                return f"-> {os.readlink(name, dir_fd=folder)}"
            if stat.S_ISREG(mode):
                with file_opened(folder, name) as (fd, size):
                    hashed = blake2b()
                    while chunk := os.read(fd, min(size + 1, CHUNK)):
                        hashed.update(chunk)
                    return hashed.hexdigest()
        return None

    def read(self, path: str, limit: int) -> bytes | None:
        """The content of a regular file of at most ``limit`` bytes; None for anything else."""
        with suppress(OSError, ValueError), self._at(path) as (folder, name):
            return content_of(folder, name, limit)
        return None

    def readlink(self, path: str) -> str | None:
        """Where a symbolic link leads; None where there is none."""
        with suppress(OSError, ValueError), self._at(path) as (folder, name):
            return os.readlink(name, dir_fd=folder)
        return None

    def files(self, patterns: Iterable[str]) -> tuple[str, ...]:
        """Regular files that match, pattern by pattern, and none that a link leads to."""
        found: list[str] = []
        for pattern in patterns:
            first = pattern.partition("/")[0]
            if "*" in first or "[" in first or "?" in first or self._stat(first):
                with Descent(self.fd) as place:
                    paths = {path for path, is_link in folder_walks.matching(place, pattern) if not is_link}
                found += [path for path in folder_walks.sorted_by_parts(paths) if self._is_file(path)]
        return tuple(found)

    # --- looked at; links are followed inside -----------------------------------------------------------------

    def kind(self, path: str) -> str | None:
        """What ``path`` leads to: file, directory, symlink (to nothing), other, outside, or None for nothing."""
        try:
            with Descent(self.fd) as place:
                return folder_walks.kind_of(links.follow(place, path, self.path)[1].st_mode)
        except links.OutsideError:
            return "outside"
        except links.DanglingError:
            return "symlink"
        except (OSError, ValueError):
            return None

    def content(self, path: str, limit: int) -> bytes | None:
        """The content of the regular file that ``path`` leads to, of at most ``limit`` bytes; else None."""
        with suppress(OSError, ValueError, links.OutsideError), Descent(self.fd) as place:
            name, found = links.follow(place, path, self.path)
            return content_of(place.fd, name, limit) if stat.S_ISREG(found.st_mode) else None
        return None

    def text(self, path: str, limit: int) -> str | None:
        """The same as text with line feeds; what is not UTF-8 is replaced."""
        content = self.content(path, limit)
        return None if content is None else content.decode("utf-8", "replace").replace("\r\n", "\n")

    def target(self, path: str) -> str | None:
        """Where ``path`` leads, as a path without links; None for nothing and for outside."""
        with suppress(OSError, ValueError, links.OutsideError), Descent(self.fd) as place:
            name, _ = links.follow(place, path, self.path)
            return "/".join([*place.names, *([] if name == "." else [name])]) or "."
        return None

    def place(self, path: str) -> str | None:
        """The path as snapshots know it, without links on the way to its last part; None for outside."""
        if "/" not in path and path not in {"", ".", ".."}:
            return path
        with Descent(self.fd) as place:
            return links.lexical(place, path, self.path)

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Files that match, and links that lead to files inside, sorted."""
        with Descent(self.fd) as place:
            found = list(folder_walks.matching(place, pattern))
        wanted = (path for path, is_link in found if (self.kind(path) == "file" if is_link else self._is_file(path)))
        return tuple(sorted(wanted))

    # --- changed; no link is followed -------------------------------------------------------------------------

    def write(self, path: str, data: bytes, mode: int = 0o600) -> None:
        """Put a file at ``path``, in place of any file or link; folders on the way are made where there is nothing.

        Raises OSError, with the part of the path that is a link or no folder.
        """
        *parents, name = parts_of(path) or [""]
        if not name:
            raise OSError(errno.EINVAL, "no name of a file", path)
        beside = f".{os.urandom(8).hex()}"
        with Descent(self.fd) as place:
            _make(place, parents)
            try:
                write_new(place.fd, beside, data, mode)
                os.replace(beside, name, src_dir_fd=place.fd, dst_dir_fd=place.fd)
            except OSError as error:
                with suppress(OSError):
                    os.unlink(beside, dir_fd=place.fd)
                raise named(error, path) from None

    def make_folder(self, path: str) -> None:
        """Make a folder, and those on the way, where there is nothing. Raises OSError as ``write`` does."""
        with Descent(self.fd) as place:
            _make(place, parts_of(path))

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files, links and whole folders; what is not there is no error. Raises OSError."""
        for path in paths:
            removal.remove(self.fd, path)

    def empty(self) -> bool:
        """Remove everything below, whatever its modes, names and depth; whether nothing is left."""
        return removal.empty(self.fd)

    def open_up(self, path: str = "") -> None:
        """Make a folder one that its owner can read and change. Raises OSError."""
        if not parts_of(path):
            mode = os.fstat(self.fd).st_mode
            if mode & stat.S_IRWXU != stat.S_IRWXU:
                os.fchmod(self.fd, stat.S_IMODE(mode) | stat.S_IRWXU)
            return
        with self._at(path) as (folder, name):
            made_usable(name, folder)

    def begin(self, without: Collection[str] = ()) -> dict[str, Entry]:
        """Link folders of skills, then take a snapshot. Raises OSError."""
        self.link_skills()
        return self.snapshot("", without)

    def link_skills(self) -> tuple[str, ...]:
        """Make a project's skills visible to every agent: where one of the two folders is missing, a link to the other.

        What was made is hidden from git, unless a link is in the way there, and returned. Raises OSError.
        """
        for here, there in (SKILLS, SKILLS[::-1]):
            if self.kind(here) not in {"directory", "outside"}:
                continue
            parent, name = there.split("/")
            above = self._stat(parent)
            if self._stat(there) or (above and not stat.S_ISDIR(above.st_mode)):
                continue
            with Descent(self.fd) as place:
                _make(place, [parent])
                os.symlink(f"../{here}", name, dir_fd=place.fd)
            with suppress(OSError):
                self._hide_from_git(f"/{there}\n")
            return (there if above else parent,)
        return ()

    def _hide_from_git(self, line: str) -> None:
        with Descent(self.fd) as place:
            place.enter(".git")
            _make(place, ["info"], first=1)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
            fd = os.open("exclude", flags, 0o666, dir_fd=place.fd)
            try:
                found = os.fstat(fd)
                if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
                    os.write(fd, line.encode())
            finally:
                os.close(fd)

    # --- one path ---------------------------------------------------------------------------------------------

    @contextmanager
    def _at(self, path: str) -> Iterator[tuple[int, str]]:
        """The descriptor of a path's folder, and its name there. Raises OSError."""
        *parents, name = parts_of(path) or ["."]
        if not parents:
            yield self.fd, name
            return
        with Descent(self.fd) as place:
            place.go(parents)
            yield place.fd, name

    def _stat(self, path: str) -> os.stat_result | None:
        with suppress(OSError, ValueError), self._at(path) as (folder, name):
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
        return None

    def _is_file(self, path: str) -> bool:
        found = self._stat(path)
        return found is not None and stat.S_ISREG(found.st_mode)


def _make(place: Descent, names: list[str], first: int = 0) -> None:
    """Go to a folder below the present one; where there is nothing, it is made."""
    for name in names:
        try:
            try:
                place.enter(name)
            except FileNotFoundError:
                os.mkdir(name, dir_fd=place.fd)
                place.enter(name)
        except OSError as error:
            raise named(error, "/".join([*place.names[first:], name])) from None
