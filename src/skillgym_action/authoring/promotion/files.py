"""Small trees of files in memory: committed files, templates, and what a session changed in one."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from dataclasses import field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from skillgym_action.authoring.promotion.local_session import Hunk
from skillgym_action.model.errors import UsageError
from skillgym_action.model.limits import MAX_PROMOTED_BYTES
from skillgym_action.model.records import record
from skillgym_action.system.files.folder import Folder
from skillgym_action.system.files.open_below import FOLDER_FLAGS
from skillgym_action.workspaces.repository.changed_files import CommittedTree, changed_since
from skillgym_action.workspaces.repository.reference_solutions import is_in_companion, recordings_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from skillgym_action.authoring.promotion.local_session import FileEdit
    from skillgym_action.services import Services

MAX_PROMOTED_FILES = 2_000  # in a template; of a larger commit only what the session read or changed is taken


@record
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


def committed_files(
    services: Services, commit: str, below: str, used: Collection[str], without: Collection[str] = ()
) -> tuple[FileTree, list[str]]:
    """The files of a commit below a folder, relative to it, and notes for people. Raises UsageError, OSError.

    ``used``: the paths that are taken if all files are more than the limits. ``without``: paths, or folders, that are
    left out; both are relative to the folder.

    All files are taken, or of a large commit those that the session used.
    """
    prefix = f"{below}/" if below else ""
    tree = CommittedTree(services.repository.root, services.processes, commit)
    sizes = {path.removeprefix(prefix): size for path, size in tree.sizes(below).items() if path.startswith(prefix)}
    hidden = tuple(without)
    wanted = [path for path in sizes if not _is_among(path, hidden)]
    notes = []
    if len(wanted) > MAX_PROMOTED_FILES or sum(sizes[path] for path in wanted) > MAX_PROMOTED_BYTES:
        limits = f"{MAX_PROMOTED_FILES:,} files or {MAX_PROMOTED_BYTES // 1024**2} MiB"
        notes.append(
            f"the commit has more than {limits}: the template has only files that the session read or changed; add the "
            "commands need"
        )
        wanted = [path for path in wanted if path in used]
    with TemporaryDirectory(prefix="skillgym-") as temporary:
        target = Path(temporary) / "tree"
        tree.write(target, below, only=frozenset(f"{prefix}{path}" for path in wanted))
        files, left_out = folder_tree(target / below, wanted, "the commit")
    if left_out:
        notes.append(f"not in the template, since they lead out of it: {', '.join(sorted(left_out)[:5])}")
    return files, notes


def files_changed_since(services: Services, commit: str, below: str) -> tuple[FileTree, list[str]]:
    """The present files below a folder of the checkout that differ from a commit, and the paths of those that are gone.

    Both relative to the folder. What `promote` wrote is left out. Raises UsageError, OSError.
    """
    root, prefix = services.repository.root, f"{below}/" if below else ""
    changed = changed_since(root, services.processes, commit, below)
    inner = [path.removeprefix(prefix) for path in changed if not _is_of_promotion(root, path)]
    is_there = {path: os.path.lexists(root / below / path) for path in inner}
    gone, there = ([path for path in inner if is_there[path] is wanted] for wanted in (False, True))
    files, _ = folder_tree(root / below, there, "what changed since the commit")
    return files, gone


def _is_of_promotion(root: Path, path: str) -> bool:
    return is_in_companion(path) or (root / recordings_folder(path)).is_dir()


def folder_tree(folder: Path, paths: Collection[str] | None, what: str) -> tuple[FileTree, list[str]]:
    """``file_tree`` of a folder by its path, of all files below it without ``paths``. Raises UsageError, OSError."""
    if not folder.is_dir():
        return {}, []
    descriptor = os.open(folder, FOLDER_FLAGS)
    try:
        opened = Folder(descriptor)
        if paths is None:
            paths = [path for path, entry in opened.snapshot().items() if entry[0] in {"file", "symlink"}]
        return file_tree(opened, paths, what)
    finally:
        os.close(descriptor)


def _is_among(name: str, paths: tuple[str, ...]) -> bool:
    return any(name == path or name.startswith(f"{path}/") for path in paths)


_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@.*")
_FILE_HEADS = ("--- ", "+++ ", "diff ", "index ")


@record(frozen=False)
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
