"""What became of a directory, by two looks at it: compared by stat first, and by content only where that differs.

A change of content cannot hide: setting the modification time back still moves the ctime.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skillgym_action.filesystem.folder import SnapshotEntry


@dataclass(frozen=True, slots=True)
class Changes:
    """Relative paths, sorted."""

    created: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()


def changes_between(
    before: Mapping[str, SnapshotEntry],
    after: Mapping[str, SnapshotEntry],
    differs_at: Callable[[str, SnapshotEntry], bool],
) -> Changes:
    """What was created, modified and deleted; folders are only ever deleted."""
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
    """Whether what is at a path now is not what it was; the digests are asked for only where that has to be."""
    if now[0] == "directory":
        return False
    if before is None or before[0] != now[0] or (now[0] == "file" and before[1:2] != now[1:2]):
        return True  # what has another size need not be read
    return before != now and (digest_before() or "") != digest_now()
