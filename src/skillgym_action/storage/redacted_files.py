"""Files that programs wrote where they stay: secrets are taken out of content, names and links.

What cannot be looked through does not stay.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.filesystem.descriptor_walk import FOLDER_FLAGS
from skillgym_action.filesystem.folder import Folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from skillgym_action.text.redaction import Leak, Redactor

    Found = Mapping[str, frozenset[Leak]]

CHUNK = 4 * 1024 * 1024
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class RedactedFiles:
    """Takes secrets out of files, which no other process may write meanwhile."""

    def __init__(self, redactor: Redactor) -> None:
        """``redactor`` knows the secrets."""
        self._redactor = redactor

    def rewrite(self, path: Path) -> frozenset[Leak]:
        """Remove secrets from a file and return them. Does nothing unless it is a regular file.

        A file with a secret that cannot be rewritten is emptied. Raises OSError.
        """
        found: set[Leak] = set()
        if size := _size(path):
            try:
                self._rewrite(path, size, found)
            except OSError:
                if found:
                    with suppress(OSError):
                        os.truncate(path, 0)
                raise
        return frozenset(found)

    def _rewrite(self, path: Path, size: int, found: set[Leak]) -> None:
        if size > CHUNK:
            with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
                replace(path, self._redactor.stream(iter(lambda: file.read(CHUNK), ""), found))
            return
        with path.open("rb", buffering=0) as raw:
            content = raw.readall()
        if (clean := self._redactor.bytes(content, found)) != content:
            replace(path, [clean.decode("utf-8", "surrogateescape")])

    def look(self, content: bytes) -> frozenset[Leak]:
        """The secrets in the content of a file."""
        found: set[Leak] = set()
        self._redactor.bytes(content, found)
        return frozenset(found)

    def clean(self, root: Path, paths: Iterable[str]) -> Found:
        """Remove secrets from what is at ``paths`` below ``root``; the secrets that were found, by path.

        What has a secret in its name, or leads to such a name, is removed, and so is what cannot be read or rewritten.
        """
        found: dict[str, frozenset[Leak]] = {}
        for path in paths:
            leaks: set[Leak] = set()
            shown = self._redactor.text(path, leaks)
            if shown == path:
                leaks |= self._cleaned(root, path)
            else:
                remove_below(root, self._path_with_secret(path))
            if leaks:
                found[shown] = found.get(shown, frozenset()) | leaks
        return found

    def _path_with_secret(self, path: str) -> str:
        """The first folder on the way to ``path`` with a secret in its name; the path itself, if that has it."""
        parts = path.split("/")
        ways = ("/".join(parts[: number + 1]) for number in range(len(parts)))
        return next((way for way in ways if self._redactor.text(way) != way), path)

    def _cleaned(self, root: Path, path: str) -> set[Leak]:
        leaks: set[Leak] = set()
        file = root / path
        try:
            mode = os.lstat(file).st_mode
            if stat.S_ISLNK(mode):
                if self._redactor.text(target := os.readlink(file), leaks) != target:
                    file.unlink()
            else:
                leaks |= self.rewrite(file)
        except (FileNotFoundError, NotADirectoryError):
            pass  # removed with its folder
        except OSError:
            remove_below(root, path)
        return leaks


def replace(path: Path, pieces: Iterable[str], folder: int | None = None) -> None:
    """Write a temporary file and rename it, so that ``path`` is never incomplete. Raises OSError.

    ``folder``: a descriptor of its folder, which is then used instead of the path.
    """
    temporary = f".{os.urandom(8).hex()}"
    if folder is None:
        name, temporary = os.fspath(path), os.fspath(path.with_name(temporary))
    else:
        name = path.name
    try:
        with open(
            os.open(temporary, NEW, 0o666, dir_fd=folder), "w", encoding="utf-8", errors="surrogateescape", newline=""
        ) as file:
            file.writelines(pieces)
            with suppress(FileNotFoundError):
                found = os.lstat(name, dir_fd=folder).st_mode
                if stat.S_ISREG(found):
                    os.fchmod(file.fileno(), stat.S_IMODE(found))
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)


def remove_below(root: Path, path: str) -> None:
    """Remove what is at ``path`` below ``root``, which together may be longer than systems take. Raises OSError.

    Links are removed, never their targets; missing paths are no error.
    """
    with suppress(FileNotFoundError):
        folder = os.open(root, FOLDER_FLAGS)
        try:
            Folder(folder).remove([path])
        finally:
            os.close(folder)


def _size(path: Path) -> int:
    """The size of a regular file; 0 if there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
