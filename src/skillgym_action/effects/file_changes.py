"""What became of a workspace, as ``git diff`` tells it."""

from __future__ import annotations

import os
import stat
from difflib import unified_diff
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.effects.workspace import Workspace

LARGEST_FILE = 512 * 1024
LARGEST = 4 * 1024 * 1024
"""Bytes of a file, and characters of it all; what is larger is named, and not shown."""
_NONE = "/dev/null"


def changes_as_diff(workspace: Workspace) -> str:
    """A unified diff of all files that differ from what the agent found."""
    changes = workspace.changes()
    paths = sorted({*changes.created, *changes.modified, *changes.deleted})
    pieces: list[str] = []
    size = 0
    for path in paths:
        if size > LARGEST:
            pieces.append(f"(and more: {len(paths) - len(pieces)} of {len(paths)} changed files are left out)\n")
            break
        existed, exists = path not in changes.created, path not in changes.deleted
        pieces.append("".join(_diff(path, workspace, existed=existed, exists=exists)))
        size += len(pieces[-1])
    return "".join(pieces)


def _diff(path: str, workspace: Workspace, *, existed: bool, exists: bool) -> Iterator[str]:
    original, now = workspace.original(path), workspace.path / path
    if not exists and original is not None and original.is_dir() and not original.is_symlink():
        return
    yield f"diff --git a/{path} b/{path}\n"
    if not existed:
        yield f"new file mode {_mode(now)}\n"
    elif not exists:
        yield f"deleted file mode {_mode(original)}\n"
    before = _lines(original) if existed else []
    after = _lines(now) if exists else []
    old, new = f"a/{path}" if existed else _NONE, f"b/{path}" if exists else _NONE
    if before is None or after is None:
        yield f"Binary files {old} and {new} differ\n"
        return
    for line in unified_diff(before, after, old, new):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(path: Path | None) -> list[str] | None:
    """The lines of a text, or the target of a symlink; None for what is none, or too large, or not kept."""
    if path is None:
        return None
    try:
        if path.is_symlink():
            return [os.readlink(path)]
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError:
        return None
    if len(content) > LARGEST_FILE or b"\0" in content:
        return None
    lines = content.decode("utf-8", "replace").split("\n")  # only a line feed ends a line
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _mode(path: Path | None) -> str:
    try:
        mode = os.lstat(path).st_mode if path else 0
    except OSError:
        mode = 0
    return "120000" if stat.S_ISLNK(mode) else "100755" if mode & stat.S_IXUSR else "100644"
