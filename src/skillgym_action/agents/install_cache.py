"""Installed CLIs of agents that outlive a job: one file each, in a folder that a workflow keeps with actions/cache.

A file has a line that names agent, version and system, a line of JSON with files that are hard links of others, the
installation as a bundle, and a SHA-256 of all this. It is written beside and renamed, so that a file is whole or not
there; and restored into a new folder, whose name the caller changes once everything was verified. The digest reveals
damage, not malice: whoever can write the folder can write a digest, too. docs/reference/agents.md says who can.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import stat
import sys
import tempfile
from contextlib import suppress
from typing import IO, TYPE_CHECKING, cast

from skillgym_action.system.files.bundle import BundleEntry, BundleError, BundleLimits, read_bundle, write_bundle
from skillgym_action.system.files.folder import Folder
from skillgym_action.system.files.open_below import FOLDER_FLAGS
from skillgym_action.system.files.packing import folder_entries, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MAX_CACHED_AGENT_BYTES = 4 * 1024**3  # of an installed CLI that is kept for later jobs
MAX_CACHED_LINKS_BYTES = 1024**2  # of the list of its hard links
START = "skillgym agent 1"
LIMITS = BundleLimits(file_bytes=MAX_CACHED_AGENT_BYTES, total_bytes=MAX_CACHED_AGENT_BYTES)
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class AgentCache:
    """The files in ``folder``, which is made when the first one is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def restore(self, name: str, folder: Path) -> bool:
        """Restore ``name`` into the new ``folder``; False if there is no such file.

        Raises BundleError for a file that is damaged or forged, OSError; what was restored until then stays.
        """
        try:
            descriptor = os.open(self._path(name), READ_FLAGS)
        except FileNotFoundError:
            return False
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise BundleError("it is not a regular file")
            head, content = _head(name), _Hashed(file)
            if content.read(len(head)) != head:
                raise BundleError("it is of something else, or of another system")
            folder.mkdir()
            opened = os.open(folder, FOLDER_FLAGS)
            try:
                again = _hard_links(content.line())
                bundle = _Checked(read_bundle(cast("IO[bytes]", content), LIMITS, alone=False))
                unpack(Folder(opened), bundle.entries())
                for path, first in again.items():
                    bundle.check_hard_link(path, first)
                    os.link(first, path, src_dir_fd=opened, dst_dir_fd=opened, follow_symlinks=False)
            finally:
                os.close(opened)
            if file.read() != content.digest():
                raise BundleError("its content has changed since it was written")
        return True

    def keep(self, name: str, folder: Path) -> None:
        """Write the installation in ``folder``; one of that name is replaced. Raises OSError, BundleError.

        The file belongs to the owner of the folder around the cache, which may be another user than root.
        """
        new = not self.folder.is_dir()
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self.folder, prefix=".new-", delete=False) as file:
            try:
                self._write(name, folder, cast("IO[bytes]", file))
                os.fchmod(file.fileno(), 0o644)
                if os.geteuid() == 0:
                    owner = os.stat(self.folder.parent if new else self.folder)
                    os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
                    os.chown(self.folder, owner.st_uid, owner.st_gid)
                os.replace(file.name, self._path(name))
            # Also a cancellation: no half-written file stays in a folder that later jobs restore.
            except BaseException:
                with suppress(OSError):
                    os.unlink(file.name)
                raise

    def _write(self, name: str, folder: Path, file: IO[bytes]) -> None:
        content, again = _Hashed(file), _linked_again(folder)
        content.write(_head(name) + json.dumps(again).encode() + b"\n")
        opened = os.open(folder, FOLDER_FLAGS)
        try:
            entries = (entry for entry in folder_entries(Folder(opened)) if entry.path not in again)
            write_bundle(cast("IO[bytes]", content), entries)
        finally:
            os.close(opened)
        file.write(content.digest())
        file.flush()

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}-{_system()}"


class _Hashed:
    """A file whose content is hashed as it is read or written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._hash = file, hashlib.sha256()
        self.digest = self._hash.digest

    def read(self, size: int) -> bytes:
        content = self._file.read(size)
        self._hash.update(content)
        return content

    def line(self) -> bytes:
        content = self._file.readline(MAX_CACHED_LINKS_BYTES)
        self._hash.update(content)
        return content

    def write(self, content: bytes) -> int:
        self._hash.update(content)
        return self._file.write(content)


def _system() -> str:
    """The kind of machine that a program was installed for; packages have other files for each."""
    library = platform.libc_ver()[0] if sys.platform == "linux" else ""
    return "-".join(part for part in (sys.platform, platform.machine(), library) if part)


def _head(name: str) -> bytes:
    return f"{START}\n{name} {_system()}\n".encode()


def _linked_again(folder: Path) -> dict[str, str]:
    """The hard links of a folder, by path, each with the path that its file has first; packages link large programs."""
    first: dict[int, str] = {}
    again: dict[str, str] = {}
    for above, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(above, name)
            found = os.lstat(path)
            if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
                relative = os.path.relpath(path, folder)
                if (other := first.setdefault(found.st_ino, relative)) != relative:
                    again[relative] = other
    return again


def _hard_links(line: bytes) -> dict[str, str]:
    """The line of hard links. Raises BundleError."""
    try:
        found = json.loads(line)
    except ValueError as error:
        raise BundleError("its list of hard links is not JSON") from error
    if not isinstance(found, dict) or not all(isinstance(path, str) for path in found.values()):
        raise BundleError("its list of hard links is not a mapping")
    return found


class _Checked:
    """Entries of a bundle, without links that lead out of the folder."""

    def __init__(self, bundle: Iterable[BundleEntry]) -> None:
        self._bundle = bundle
        self._kinds: dict[str, str] = {"": "folder"}

    def entries(self) -> Iterator[BundleEntry]:
        """The entries. Raises BundleError.

        In the target of a link ``..`` may come at its beginning alone: later it could follow another link.
        """
        for entry in self._bundle:
            if entry.kind == "link":
                names = entry.target.split("/")
                up = next((number for number, name in enumerate(names) if name != ".."), len(names))
                if not names[0] or ".." in names[up:] or up > entry.path.count("/"):
                    raise BundleError(f"{entry.path!r} is a link that leads out of it")
            self._kinds[entry.path] = entry.kind
            yield entry

    def check_hard_link(self, path: str, first: str) -> None:
        """Raises BundleError unless ``first`` is a file of the bundle, ``path`` a new name in one of its folders."""
        above, _, name = path.rpartition("/")
        is_new = path not in self._kinds and name not in {"", ".", ".."}
        if not is_new or self._kinds.get(above) != "folder" or self._kinds.get(first) != "file":
            raise BundleError(f"{path!r} is not a hard link of one of its files")
