"""Files that programs wrote where they stay: secrets are taken out of content, names and links.

What cannot be looked through does not stay.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.effects.leftovers import remove

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from skillgym_action.redaction import Leak, Redactor

    Found = Mapping[str, frozenset[Leak]]

CHUNK = 4 * 1024 * 1024


class RedactedFiles:
    """Rewrites files, for as long as nobody else does."""

    def __init__(self, redactor: Redactor) -> None:
        """``redactor`` knows the secrets."""
        self._redactor = redactor

    def rewrite(self, path: Path) -> frozenset[Leak]:
        """Take secrets out of a file; what they were. Nothing is done to what is none, or is not there.

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

    def look(self, path: Path) -> frozenset[Leak]:
        """What would have to be taken out of a file; nothing of what cannot be read."""
        found: set[Leak] = set()
        with suppress(OSError):
            if _size(path):
                self._redactor.bytes(path.read_bytes(), found)
        return frozenset(found)

    def clean(self, root: Path, paths: Iterable[str]) -> Found:
        """Take secrets out of what is at ``paths`` below ``root``; what they were, by path.

        What has a secret in its name, or leads to such a name, is removed, and so is what cannot be read or rewritten.
        """
        found: dict[str, frozenset[Leak]] = {}
        for path in paths:
            leaks: set[Leak] = set()
            shown = self._redactor.text(path, leaks)
            if shown == path:
                leaks |= self._cleaned(root / path)
            else:
                remove_path(root / self._unspeakable(path))
            if leaks:
                found[shown] = found.get(shown, frozenset()) | leaks
        return found

    def _unspeakable(self, path: str) -> str:
        """The first folder on the way to ``path`` with a secret in its name; the path itself, if that has it."""
        parts = path.split("/")
        ways = ("/".join(parts[: number + 1]) for number in range(len(parts)))
        return next((way for way in ways if self._redactor.text(way) != way), path)

    def _cleaned(self, place: Path) -> set[Leak]:
        leaks: set[Leak] = set()
        try:
            mode = os.lstat(place).st_mode
            if stat.S_ISLNK(mode):
                if self._redactor.text(target := os.readlink(place), leaks) != target:
                    place.unlink()
            else:
                leaks |= self.rewrite(place)
        except FileNotFoundError:
            pass  # went with a folder of that kind
        except OSError:
            remove_path(place)
        return leaks


def replace(path: Path, pieces: Iterable[str]) -> None:
    """Write a file beside its place, and rename it: complete, or as it was. Raises OSError."""
    beside = path.with_name(f".{os.urandom(8).hex()}")
    try:
        with beside.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.writelines(pieces)
        with suppress(FileNotFoundError):
            beside.chmod(stat.S_IMODE(path.stat().st_mode))
        beside.replace(path)
    finally:
        with suppress(OSError):
            beside.unlink()


def remove_path(path: Path) -> None:
    """Remove whatever is there; links, never what they lead to. Raises OSError."""
    if path.is_dir() and not path.is_symlink():
        remove(path)
    else:
        path.unlink(missing_ok=True)


def _size(path: Path) -> int:
    """Of a regular file; 0 where there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
