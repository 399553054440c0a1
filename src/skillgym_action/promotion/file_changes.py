"""What edits in a transcript make of files: the content before the session, and after it."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillgym_action.promotion.file_trees import FileTree, PromotedFile, is_inside
from skillgym_action.promotion.local_session import Hunk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skillgym_action.promotion.local_session import FileEdit

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@.*")
_FILE_HEADS = ("--- ", "+++ ", "diff ", "index ")


@dataclass(kw_only=True, slots=True)
class ChangedFiles:
    """``after``: content by path, None for a deleted file. ``before``: where it is not as it was committed.

    ``outside``: paths that are not in the session's folder; ``unknown``: files with an edit that does not fit.
    """

    before: dict[str, bytes | None] = field(default_factory=dict)
    after: dict[str, bytes | None] = field(default_factory=dict)
    outside: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def changed_files(edits: Iterable[FileEdit], cwd: str, committed: Mapping[str, PromotedFile]) -> ChangedFiles:
    """Apply edits one after the other to the files of a commit, or to what the transcript says was there instead."""
    found = ChangedFiles()
    for edit in edits:
        path, target = (relative_path(name, cwd) if name else None for name in (edit.path, edit.moved_to))
        if path is None or (edit.moved_to and target is None):
            found.outside.append(edit.path if path is None else str(edit.moved_to))
            continue
        if path in found.unknown:
            continue
        if path not in found.after and edit.before is not None:
            _note_before(found, path, edit.before.encode(errors="replace"), committed)
        content = _content_after(edit, _current(found, path, committed))
        if content is None and not edit.deleted:
            found.unknown.append(path)
            found.after.pop(path, None)
            continue
        if target and target != path:
            found.after[path] = None
        found.after[target or path] = content
    return found


def relative_path(path: str, cwd: str) -> str | None:
    """The path relative to the session's folder; None if it is not in it."""
    joined = posixpath.normpath(posixpath.join(cwd, path))
    root = posixpath.normpath(cwd)
    if not joined.startswith(f"{root.rstrip('/')}/"):
        return None
    relative = joined[len(root.rstrip("/")) + 1 :]
    return relative if is_inside(relative) else None


def _current(found: ChangedFiles, path: str, committed: Mapping[str, PromotedFile]) -> bytes | None:
    for state in (found.after, found.before):
        if path in state:
            return state[path]
    file = committed.get(path)
    return None if file is None or file.link is not None else file.content


def _note_before(found: ChangedFiles, path: str, before: bytes, committed: Mapping[str, PromotedFile]) -> None:
    file = committed.get(path)
    if file is None or _without_cr(file.content) != _without_cr(before):
        found.before[path] = before


def _without_cr(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n")


def _content_after(edit: FileEdit, current: bytes | None) -> bytes | None:
    """The content after an edit; None if the file is deleted, or if the edit does not fit."""
    if edit.deleted:
        return None
    if edit.content is not None:
        return edit.content.encode(errors="replace")
    try:
        text = (current or b"").decode()
    except UnicodeDecodeError:
        return None
    changed = _patched(text, edit.hunks)
    return None if changed is None else changed.encode(errors="replace")


def _patched(text: str, hunks: Iterable[Hunk]) -> str | None:
    """The text with all hunks applied; None if one does not fit."""
    ends_open = bool(text) and not text.endswith("\n")
    lines = text.split("\n") if text else []
    lines = lines if ends_open or not lines else lines[:-1]
    shift = 0
    for hunk in hunks:
        old = [line[1:] for line in hunk.lines if line[:1] in ("-", " ", "")]
        new = [line[1:] for line in hunk.lines if line[:1] in ("+", " ", "")]
        start = _place(lines, old, hunk.line + shift)
        if start is None:
            return None
        lines[start : start + len(old)] = new
        shift += len(new) - len(old)
    end = "" if ends_open or not lines else "\n"
    return "\n".join(lines) + end


def _place(lines: list[str], old: list[str], line: int) -> int | None:
    """The index of ``old``: as of the line, from 1, else of the only place that has it. Nothing is after that line."""
    if not old:
        return max(0, min(line, len(lines)))
    expected = max(0, line - 1)
    if lines[expected : expected + len(old)] == old:
        return expected
    places = [at for at in range(len(lines) - len(old) + 1) if lines[at : at + len(old)] == old]
    return places[0] if len(places) == 1 else None


def hunks_of_diff(diff: str) -> tuple[Hunk, ...]:
    """The hunks of a unified diff of one file."""
    hunks: list[Hunk] = []
    line = 0
    lines: list[str] = []
    for text in diff.split("\n"):
        if found := _HUNK.fullmatch(text):
            if lines:
                hunks.append(Hunk(line=line, lines=tuple(lines)))
            line, lines = int(found[1]), []
        elif text[:1] in ("-", "+", " ") and not (not lines and not line and text.startswith(_FILE_HEADS)):
            lines.append(text)
    return (*hunks, *([Hunk(line=line, lines=tuple(lines))] if lines else ()))


def tree_before(committed: FileTree, found: ChangedFiles) -> FileTree:
    """The files before the session."""
    changed = {
        path: PromotedFile(content=content, mode=_mode(committed, path))
        for path, content in found.before.items()
        if content is not None
    }
    return {**committed, **changed}


def changes_of(before: FileTree, found: ChangedFiles) -> tuple[FileTree, list[str]]:
    """The files that differ after the session, and the paths of those that are deleted."""
    files = {
        path: PromotedFile(content=content, mode=_mode(before, path))
        for path, content in found.after.items()
        if content is not None and (path not in before or before[path].content != content)
    }
    return files, sorted(path for path, content in found.after.items() if content is None and path in before)


def _mode(tree: FileTree, path: str) -> int:
    return tree[path].mode if path in tree else 0o644
