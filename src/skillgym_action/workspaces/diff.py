"""What became of a workspace, as ``git diff`` tells it."""

from __future__ import annotations

import os
import re
import stat
from difflib import unified_diff
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.filesystem.folder import Folder
    from skillgym_action.workspaces.session_files import SessionFiles
    from skillgym_action.workspaces.workspace import Workspace

LARGEST_FILE = 512 * 1024
LARGEST = 4 * 1024 * 1024
"""Bytes of a file, and characters of it all; what is larger is named, and not shown."""
MOST_COMPARISONS = 4_000_000  # lines of one file times lines of the other
_CONTEXT = 3
_HUNK = re.compile(r"([-+])(\d+)")
_NONE = "/dev/null"
_AWKWARD = dict(zip('"\\\a\b\t\n\v\f\r', '"\\abtnvfr', strict=True))


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
    template = workspace.original(path)
    original = template.folder if template else None
    mode_before = original.mode(path) if original and existed else None
    mode_now = workspace.inside.mode(path) if exists else None
    if not exists and mode_before is not None and stat.S_ISDIR(mode_before):
        return
    yield f"diff --git {_named('a', path)} {_named('b', path)}\n"
    if not existed:
        yield f"new file mode {_mode(mode_now)}\n"
    elif not exists:
        yield f"deleted file mode {_mode(mode_before)}\n"
    before = _lines(original, path, mode_before) if existed else []
    after = _lines(workspace.inside, path, mode_now) if exists else []
    old, new = _named("a", path) if existed else _NONE, _named("b", path) if exists else _NONE
    if before is None or after is None:
        yield f"Binary files {old} and {new} differ\n"
        return
    for line in _compared(before, after, old, new):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _compared(before: list[str], after: list[str], old: str, new: str) -> Iterator[str]:
    """What ``difflib`` tells; where it would take long, that all between what is the same at both ends is replaced."""
    same = _same_lines(before, after)
    rest = (before[same:], after[same:])
    end = min(len(rest[0]), len(rest[1]), _same_lines(rest[0][::-1], rest[1][::-1]))
    first, last = max(0, same - _CONTEXT), max(0, end - _CONTEXT)
    before, after = before[first : len(before) - last], after[first : len(after) - last]
    if len(before) * len(after) > MOST_COMPARISONS:
        yield from (f"--- {old}\n", f"+++ {new}\n", f"@@ -{first + 1},{len(before)} +{first + 1},{len(after)} @@\n")
        yield from (f"-{line}" for line in before)
        yield from (f"+{line}" for line in after)
        return
    for line in unified_diff(before, after, old, new):
        yield _HUNK.sub(lambda found: f"{found[1]}{int(found[2]) + first}", line) if line.startswith("@@") else line


def _same_lines(before: list[str], after: list[str]) -> int:
    """How many at the beginning."""
    different = (number for number, (old, new) in enumerate(zip(before, after, strict=False)) if old != new)
    return next(different, min(len(before), len(after)))


def _named(side: str, path: str) -> str:
    """As git writes it: a name that could be taken for more than one is quoted."""
    if path.isprintable() and not _AWKWARD.keys() & set(path):
        return f"{side}/{path}"
    return f'"{side}/{"".join(map(_quoted, path))}"'


def _quoted(character: str) -> str:
    if character in _AWKWARD:
        return f"\\{_AWKWARD[character]}"
    return character if character.isprintable() else "".join(f"\\{byte:03o}" for byte in os.fsencode(character))


def _lines(folder: SessionFiles | Folder | None, path: str, mode: int | None) -> list[str] | None:
    """The lines of a text, or the target of a symlink; None for what is none, or too large, or unknown."""
    if folder is None or mode is None:
        return None
    if stat.S_ISLNK(mode):
        target = folder.readlink(path)
        return None if target is None else [target]
    content = folder.read(path, LARGEST_FILE)
    if content is None or b"\0" in content:
        return None
    lines = content.decode("utf-8", "replace").split("\n")  # only a line feed ends a line
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _mode(mode: int | None) -> str:
    return "120000" if stat.S_ISLNK(mode or 0) else "100755" if (mode or 0) & stat.S_IXUSR else "100644"
