"""A folder that others may change at any time, used through a descriptor.

No name is resolved through a symbolic link, except by the methods that follow links; those never lead out of the
folder. As root these methods run in a worker process (see ``system.supervisor.worker``), which calls them by name.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress

from skillgym_action.model.limits import MAX_PATH_CHARACTERS
from skillgym_action.system.files import links, removal
from skillgym_action.system.files.contents import CHUNK_BYTES, read_file, regular_file, write_new_file
from skillgym_action.system.files.globs import Glob, matches_nothing
from skillgym_action.system.files.open_below import (
    OWNER_ACCESS,
    DescriptorWalk,
    grant_to_owner,
    split_path,
    try_enter,
    walk_folders,
    with_path,
)

try:
    from _blake2 import blake2b  # hashlib would load OpenSSL, which takes longer than most calls of a worker
except ImportError:
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from skillgym_action.system.files.globs import States

    SnapshotEntry = tuple[str, int, int, int, int] | tuple[str]

DIRECTORY = ("directory",)
SKILLS = (".claude/skills", ".agents/skills")  # every agent looks for a project's skills in one of these


class Folder:
    """Paths are relative, with ``/``; names of any bytes are as ``os.fsdecode`` returns them."""

    def __init__(self, fd: int, path: str | None = None, check: Callable[[], None] = lambda: None) -> None:
        """``fd``: a descriptor of the folder, opened for reading; it stays open.

        ``path``: its absolute path without links, to which absolute links may lead. ``check``: is called again and
        again by what takes long where there is much, and may raise OSError.
        """
        self.fd, self.path, self._check = fd, path, check

    # --- read; no link is followed ------------------------------------------------------------------------------

    def snapshot(self, below: str = "", without: Collection[str] = ()) -> dict[str, SnapshotEntry]:
        """Every path below the folder at ``below``, relative to that, but ``without`` and folders called ``.git``.

        Kind (file, directory, symlink, other), size, mtime and ctime in ns, inode; of a directory the kind alone. What
        cannot be listed is left out. Raises what ``check`` raises.
        """
        with DescriptorWalk(self.fd) as walk:
            try:
                walk.go_to(split_path(below))
            except OSError:
                return {}
            return _snapshot(walk, frozenset(without), self._check)

    def entry(self, path: str) -> SnapshotEntry | None:
        """As in a snapshot; None if there is nothing, or only by way of a link."""
        found = self._stat(path)
        return _snapshot_entry(found) if found else None

    def mode(self, path: str) -> int | None:
        """File type and permissions, as in ``st_mode``; None if there is nothing."""
        found = self._stat(path)
        return found.st_mode if found else None

    def digest(self, path: str) -> str | None:
        """A hash of a file's content, or a link's target; None if it cannot be read or is of another kind.

        Raises what ``check`` raises.
        """
        with suppress(OSError, ValueError), self._at(path) as (folder, name):
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                return f"-> {os.readlink(name, dir_fd=folder)}"
            if stat.S_ISREG(mode):
                with regular_file(name, folder) as (fd, found):
                    hashed = blake2b()
                    while chunk := os.read(fd, min(found.st_size + 1, CHUNK_BYTES)):
                        hashed.update(chunk)
                        self._check()
                    return hashed.hexdigest()
        self._check()  # what it has raised is not an error of the file
        return None

    def read(self, path: str, limit: int) -> bytes | None:
        """The content of a regular file of at most ``limit`` bytes; None for anything else."""
        with suppress(OSError, ValueError), self._at(path) as (folder, name):
            return read_file(name, folder, limit)
        return None

    def readlink(self, path: str) -> str | None:
        """The target of a symbolic link; None if there is none."""
        with suppress(OSError, ValueError), self._at(path) as (folder, name):
            return os.readlink(name, dir_fd=folder)
        return None

    def files(self, patterns: Iterable[str]) -> tuple[str, ...]:
        """Regular files that match, pattern by pattern, each pattern's sorted by components; no targets of links."""
        found: list[str] = []
        for pattern in patterns:
            first = pattern.partition("/")[0]
            # Most patterns begin with the name of a folder that is not there: a walk would list the whole first folder.
            if "*" in first or "[" in first or "?" in first or self._stat(first):
                with DescriptorWalk(self.fd) as walk:
                    paths = {path for path, is_link in _matching(walk, pattern, self._check) if not is_link}
                in_order = sorted(paths, key=lambda path: path.split("/"))
                found += [path for path in in_order if self._is_file(path)]
        return tuple(found)

    # --- read; links are followed inside the folder ----------------------------------------------------------------

    def kind(self, path: str) -> str | None:
        """What ``path`` leads to: file, directory, symlink (to nothing), other, outside, or None for nothing."""
        try:
            with DescriptorWalk(self.fd) as walk:
                return _kind(links.follow(walk, path, self.path)[1].st_mode)
        except links.OutsideError:
            return "outside"
        except links.DanglingError:
            return "symlink"
        except (OSError, ValueError):
            return None

    def content(self, path: str, limit: int) -> bytes | None:
        """The content of the regular file that ``path`` leads to, of at most ``limit`` bytes; else None."""
        with suppress(OSError, ValueError, links.OutsideError), DescriptorWalk(self.fd) as walk:
            name, found = links.follow(walk, path, self.path)
            return read_file(name, walk.fd, limit) if stat.S_ISREG(found.st_mode) else None
        return None

    def text(self, path: str, limit: int) -> str | None:
        """The same as text with line feeds; what is not UTF-8 is replaced."""
        content = self.content(path, limit)
        return None if content is None else content.decode("utf-8", "replace").replace("\r\n", "\n")

    def target(self, path: str) -> str | None:
        """Where ``path`` leads, as a path without links; None for nothing and for outside."""
        with suppress(OSError, ValueError, links.OutsideError), DescriptorWalk(self.fd) as walk:
            name, _ = links.follow(walk, path, self.path)
            return "/".join([*walk.names, *([] if name == "." else [name])]) or "."
        return None

    def snapshot_path(self, path: str) -> str | None:
        """The path as it is in snapshots: without links on the way to its last component; None for outside."""
        if "/" not in path and path not in {"", ".", ".."}:
            return path
        with DescriptorWalk(self.fd) as walk:
            return links.without_links(walk, path, self.path)

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Files that match, and links that lead to files inside, sorted. Raises what ``check`` raises."""
        with DescriptorWalk(self.fd) as walk:
            found = list(_matching(walk, pattern, self._check))
        wanted = []
        for path, is_link in found:
            self._check()
            if self.kind(path) == "file" if is_link else self._is_file(path):
                wanted.append(path)
        return tuple(sorted(wanted))

    # --- changed; no link is followed ----------------------------------------------------------------------------

    def write(self, path: str, data: bytes, mode: int = 0o600) -> None:
        """Write a file to ``path``, replacing any file or link; missing folders are made.

        It is written to a new name and renamed: what is at ``path`` is never opened. Raises OSError, with the component
        of the path that is a link or no folder.
        """
        *parents, name = split_path(path) or [""]
        if not name:
            raise OSError(errno.EINVAL, "not the name of a file", path)
        temporary = f".{os.urandom(8).hex()}"
        with DescriptorWalk(self.fd) as walk:
            _make_folders(walk, parents)
            try:
                write_new_file(temporary, walk.fd, data, mode)
                os.replace(temporary, name, src_dir_fd=walk.fd, dst_dir_fd=walk.fd)
            except OSError as error:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=walk.fd)
                raise with_path(error, path) from None

    def make_folder(self, path: str) -> None:
        """Make a folder, and those on the way, if they are missing. Raises OSError as ``write`` does."""
        with DescriptorWalk(self.fd) as walk:
            _make_folders(walk, split_path(path))

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files, links and whole folders; missing paths are no error. Raises OSError."""
        for path in paths:
            removal.remove_below(self.fd, path)

    def empty(self) -> bool:
        """Remove everything below, of any modes, names and depth; return whether nothing is left.

        It ends early once ``check`` raises.
        """
        return removal.empty_folder(self.fd, self._check)

    def open_up(self, path: str = "") -> None:
        """Let the owner read and change a folder. Raises OSError."""
        if not split_path(path):
            mode = os.fstat(self.fd).st_mode
            if mode & OWNER_ACCESS != OWNER_ACCESS:
                os.fchmod(self.fd, stat.S_IMODE(mode) | OWNER_ACCESS)
            return
        with self._at(path) as (folder, name):
            grant_to_owner(name, folder)

    def begin(self, without: Collection[str] = ()) -> dict[str, SnapshotEntry]:
        """Link folders of skills, then take a snapshot. Raises OSError."""
        self.link_skills()
        return self.snapshot("", without)

    def link_skills(self) -> tuple[str, ...]:
        """Make a project's skills visible to every agent: if one of the two folders is missing, link it to the other.

        Returns what was made. It is excluded from git, unless a link is in the way there. Raises OSError.
        """
        for existing, missing in (SKILLS, SKILLS[::-1]):
            if self.kind(existing) not in {"directory", "outside"}:
                continue
            parent, name = missing.split("/")
            above = self._stat(parent)
            if self._stat(missing) or (above and not stat.S_ISDIR(above.st_mode)):
                continue
            with DescriptorWalk(self.fd) as walk:
                _make_folders(walk, [parent])
                os.symlink(f"../{existing}", name, dir_fd=walk.fd)
            with suppress(OSError):
                self._exclude_from_git(f"/{missing}\n")
            return (missing if above else parent,)
        return ()

    def _exclude_from_git(self, line: str) -> None:
        """Append a line to ``.git/info/exclude``. Raises OSError.

        A hard link could be a file outside of the folder, which has the same content as its other name.
        """
        with DescriptorWalk(self.fd) as walk:
            walk.enter(".git")
            _make_folders(walk, ["info"], first=1)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
            fd = os.open("exclude", flags, 0o666, dir_fd=walk.fd)
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
        *parents, name = split_path(path) or ["."]
        if not parents:
            yield self.fd, name
            return
        with DescriptorWalk(self.fd) as walk:
            walk.go_to(parents)
            yield walk.fd, name

    def _stat(self, path: str) -> os.stat_result | None:
        with suppress(OSError, ValueError), self._at(path) as (folder, name):
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
        return None

    def _is_file(self, path: str) -> bool:
        found = self._stat(path)
        return found is not None and stat.S_ISREG(found.st_mode)


def _make_folders(walk: DescriptorWalk, names: list[str], first: int = 0) -> None:
    """Go to a folder below the current one; make those that are missing.

    Raises OSError with the path from the folder ``first`` levels below the first one.
    """
    for name in names:
        try:
            try:
                walk.enter(name)
            except FileNotFoundError:
                os.mkdir(name, dir_fd=walk.fd)
                walk.enter(name)
        except OSError as error:
            raise with_path(error, "/".join([*walk.names[first:], name])) from None


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "directory"
    return "file" if stat.S_ISREG(mode) else "symlink" if stat.S_ISLNK(mode) else "other"


def _snapshot_entry(found: os.stat_result) -> SnapshotEntry:
    """Kind, size, mtime and ctime in ns, and inode; of a folder the kind alone.

    The ctime is there since no program can set it: a changed file is seen even if its mtime was set back.
    """
    if stat.S_ISDIR(found.st_mode):
        return DIRECTORY
    return _kind(found.st_mode), found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _snapshot(walk: DescriptorWalk, without: frozenset[str], check: Callable[[], None]) -> dict[str, SnapshotEntry]:
    """See ``Folder.snapshot``; of the current folder."""
    entries: dict[str, SnapshotEntry] = {}
    for prefix, below in walk_folders(walk):
        for entry, is_folder in _listed(walk):
            check()
            name = entry.name
            path = prefix + name
            if path in without:
                continue
            if is_folder:
                if name != ".git":
                    entries[path] = DIRECTORY
                    below.append(name)
                continue
            with suppress(OSError):
                entries[path] = _snapshot_entry(entry.stat(follow_symlinks=False))
    return entries


def _listed(walk: DescriptorWalk) -> Iterator[tuple[os.DirEntry[str], bool]]:
    """The entries of the current folder, and whether each is a folder; what cannot be listed is left out."""
    with suppress(OSError), walk.scan() as entries:
        for entry in entries:
            yield entry, entry.is_dir(follow_symlinks=False)


def _matching(walk: DescriptorWalk, pattern: str, check: Callable[[], None]) -> Iterator[tuple[str, bool]]:
    """Paths that match and are no folders, and whether each is a link; links to folders are not followed."""
    if matches_nothing(pattern):
        return
    glob = Glob(pattern)
    waiting: list[tuple[int, str, str, States]] = [(0, "", "", glob.start)]
    while waiting:
        depth, name, prefix, states = waiting.pop()
        walk.leave_to(depth)
        if name and not try_enter(walk, name):
            continue
        depth = len(walk.names)
        for entry, is_folder in _listed(walk):
            check()
            if not (reached := glob.after(states, entry.name)):
                continue
            path = prefix + entry.name
            if is_folder:
                if len(path) < MAX_PATH_CHARACTERS:
                    waiting.append((depth, entry.name, path + "/", reached))
            elif glob.accepts(reached):
                yield path, entry.is_symlink()
