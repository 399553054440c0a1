"""What changed in a workspace: which paths, and the differences as a unified diff.

Two snapshots are compared by ``stat`` first, and by content only where that differs. A change of content cannot be
hidden from that: setting the modification time back still changes the ctime.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_DIFF_CHARACTERS, MAX_DIFF_COMPARISONS, MAX_DIFF_FILE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from skillgym_action.filesystem.folder import Folder, SnapshotEntry
    from skillgym_action.workspaces.session_files import SessionFiles
    from skillgym_action.workspaces.workspace import SessionWorkspace

_CONTEXT_LINES = 3
_HUNK_POSITION = re.compile(r"([-+])(\d+)")
_NO_FILE = "/dev/null"
_ESCAPES = dict(zip('"\\\a\b\t\n\v\f\r', '"\\abtnvfr', strict=True))


@dataclass(frozen=True, slots=True)
class Changes:
    """What was created, modified and deleted: relative paths, sorted."""

    created: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()


def changes_between(
    before: Mapping[str, SnapshotEntry],
    after: Mapping[str, SnapshotEntry],
    differs_at: Callable[[str, SnapshotEntry], bool],
) -> Changes:
    """Compare two snapshots. Only files and links count as created or modified; deleted folders are listed, too.

    ``differs_at(path, entry)`` returns whether the file or link, with its entry in ``after``, changed.
    """
    changed = [path for path, entry in after.items() if differs_at(path, entry)]
    return Changes(
        created=tuple(sorted(path for path in changed if path not in before)),
        modified=tuple(sorted(path for path in changed if path in before)),
        deleted=tuple(sorted(path for path in before if path not in after)),
    )


def differs(
    before: SnapshotEntry | None,
    now: SnapshotEntry,
    digest_before: Callable[[], str | None],
    digest_now: Callable[[], str | None],
) -> bool:
    """Whether a file or link changed. Digests are computed only if kind, size and ``stat`` do not decide it."""
    if now[0] == "directory":
        return False
    if before is None or before[0] != now[0] or (now[0] == "file" and before[1:2] != now[1:2]):
        return True  # new, of another kind, or of another size
    return before != now and (digest_before() or "") != digest_now()


# --- as a unified diff ------------------------------------------------------------------------------


def changes_as_diff(workspace: SessionWorkspace, changes: Changes) -> str:
    """A unified diff, as ``git diff`` prints it, of all files that differ from the state before the agent.

    Files over ``MAX_DIFF_FILE_BYTES`` are named only; the diff stops after about ``MAX_DIFF_CHARACTERS``.
    """
    paths = sorted({*changes.created, *changes.modified, *changes.deleted})
    pieces: list[str] = []
    size = 0
    for path in paths:
        if size > MAX_DIFF_CHARACTERS:
            pieces.append(f"(and more: {len(paths) - len(pieces)} of {len(paths)} changed files are left out)\n")
            break
        existed, exists = path not in changes.created, path not in changes.deleted
        pieces.append("".join(_diff(path, workspace, existed=existed, exists=exists)))
        size += len(pieces[-1])
    return "".join(pieces)


def _diff(path: str, workspace: SessionWorkspace, *, existed: bool, exists: bool) -> Iterator[str]:
    template = workspace.template_of(path)
    # What the bootstrap wrote is in no template: it is known to have changed, but not from what.
    original = template.folder if template else None
    mode_before = original.mode(path) if original and existed else None
    mode_now = workspace.inside.mode(path) if exists else None
    if not exists and mode_before is not None and stat.S_ISDIR(mode_before):
        return
    yield f"diff --git {_name('a', path)} {_name('b', path)}\n"
    if not existed:
        yield f"new file mode {_mode(mode_now)}\n"
    elif not exists:
        yield f"deleted file mode {_mode(mode_before)}\n"
    before = _lines(original, path, mode_before) if existed else []
    after = _lines(workspace.inside, path, mode_now) if exists else []
    old, new = _name("a", path) if existed else _NO_FILE, _name("b", path) if exists else _NO_FILE
    if before is None or after is None:
        yield f"Binary files {old} and {new} differ\n"
        return
    for line in _hunks(before, after, old, new):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _hunks(before: list[str], after: list[str], old: str, new: str) -> Iterator[str]:
    """The header and hunks of a file.

    ``difflib`` takes quadratic time. So common lines at both ends are cut off first; if the rest is still too much, it
    is shown as one hunk that replaces everything.
    """
    same = _common_prefix(before, after)
    rest = (before[same:], after[same:])
    end = min(len(rest[0]), len(rest[1]), _common_prefix(rest[0][::-1], rest[1][::-1]))
    first, last = max(0, same - _CONTEXT_LINES), max(0, end - _CONTEXT_LINES)
    before, after = before[first : len(before) - last], after[first : len(after) - last]
    if len(before) * len(after) > MAX_DIFF_COMPARISONS:
        yield from (f"--- {old}\n", f"+++ {new}\n", f"@@ -{first + 1},{len(before)} +{first + 1},{len(after)} @@\n")
        yield from (f"-{line}" for line in before)
        yield from (f"+{line}" for line in after)
        return
    for line in unified_diff(before, after, old, new):
        is_header = line.startswith("@@")  # its line numbers do not count the lines that were cut off
        yield _HUNK_POSITION.sub(lambda found: f"{found[1]}{int(found[2]) + first}", line) if is_header else line


def _common_prefix(before: list[str], after: list[str]) -> int:
    """The number of equal lines at the beginning."""
    different = (number for number, (old, new) in enumerate(zip(before, after, strict=False)) if old != new)
    return next(different, min(len(before), len(after)))


def _name(side: str, path: str) -> str:
    """A file name as git writes it: quoted if it has control characters, quotes or backslashes."""
    if path.isprintable() and not _ESCAPES.keys() & set(path):
        return f"{side}/{path}"
    return f'"{side}/{"".join(map(_quoted, path))}"'


def _quoted(character: str) -> str:
    if character in _ESCAPES:
        return f"\\{_ESCAPES[character]}"
    return character if character.isprintable() else "".join(f"\\{byte:03o}" for byte in os.fsencode(character))


def _lines(folder: SessionFiles | Folder | None, path: str, mode: int | None) -> list[str] | None:
    """The lines of a text, or the target of a link; None for binary, too large and unknown content."""
    if folder is None or mode is None:
        return None
    if stat.S_ISLNK(mode):
        target = folder.readlink(path)
        return None if target is None else [target]
    content = folder.read(path, MAX_DIFF_FILE_BYTES)
    if content is None or b"\0" in content:
        return None
    lines = content.decode("utf-8", "replace").split("\n")  # not splitlines: for git only a line feed ends a line
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _mode(mode: int | None) -> str:
    return "120000" if stat.S_ISLNK(mode or 0) else "100755" if (mode or 0) & stat.S_IXUSR else "100644"
