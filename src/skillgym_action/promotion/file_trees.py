"""Small trees of files in memory: templates, and what a session changed in one."""

from __future__ import annotations

import posixpath
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_PROMOTED_BYTES, MAX_PROMOTED_FILES
from skillgym_action.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skillgym_action.filesystem.folder import Folder


@dataclass(frozen=True, kw_only=True, slots=True)
class PromotedFile:
    """A regular file with its permissions; with a ``link``, a symbolic link to that path, without content."""

    content: bytes = b""
    mode: int = 0o644
    link: str | None = None


FileTree = dict[str, PromotedFile]
"""Files by their path, relative and with ``/``."""


def file_tree(folder: Folder, paths: Iterable[str], what: str) -> tuple[FileTree, list[str]]:
    """The files at ``paths`` below a folder, and the paths of what cannot be taken, such as links that lead out.

    Raises UsageError if it is more than the limits; ``what`` begins the message.
    """
    tree: FileTree = {}
    left_out: list[str] = []
    size = 0
    for path in paths:
        file = _file(folder, path, MAX_PROMOTED_BYTES - size)
        if file is None or not is_inside(path):
            left_out.append(path)
            continue
        tree[path] = file
        size += len(file.content)
        if len(tree) > MAX_PROMOTED_FILES:
            raise UsageError(f"{what} has more than {MAX_PROMOTED_FILES:,} files", remedy=_SMALLER)
    if left_out and size + _missing(folder, left_out) > MAX_PROMOTED_BYTES:
        raise UsageError(f"{what} is larger than {MAX_PROMOTED_BYTES // 1024**2} MiB", remedy=_SMALLER)
    return tree, left_out


_SMALLER = "write the case by hand, with a template that has only the files of the task"


def _missing(folder: Folder, paths: Iterable[str]) -> int:
    """Bytes of the regular files at ``paths``."""
    entries = (folder.entry(path) for path in paths)
    return sum(entry[1] for entry in entries if entry and len(entry) > 1 and entry[0] == "file")


def _file(folder: Folder, path: str, most: int) -> PromotedFile | None:
    mode = folder.mode(path)
    if mode is None:
        return None
    if stat.S_ISLNK(mode):
        target = folder.readlink(path)
        return PromotedFile(link=target) if target and _stays_inside(path, target) else None
    content = folder.read(path, most) if stat.S_ISREG(mode) else None
    return None if content is None else PromotedFile(content=content, mode=stat.S_IMODE(mode) & 0o755 | 0o600)


def _stays_inside(path: str, target: str) -> bool:
    """Whether a link at ``path`` leads to a path of the same tree."""
    return not target.startswith("/") and is_inside(posixpath.join(posixpath.dirname(path), target))


def is_inside(path: str) -> bool:
    """Whether a relative path stays in its folder, and is not in a ``.git``."""
    normal = posixpath.normpath(path)
    parts = normal.split("/")
    return not normal.startswith("/") and parts[0] != ".." and ".git" not in map(str.lower, parts) and "\0" not in path


def same_content(tree: Mapping[str, PromotedFile], other: Mapping[str, PromotedFile]) -> bool:
    """Whether two trees have the same files and links, whatever their permissions."""
    return {path: (file.content, file.link) for path, file in tree.items()} == {
        path: (file.content, file.link) for path, file in other.items()
    }
