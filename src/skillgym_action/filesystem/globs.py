"""Paths below a folder that match a pattern."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.filesystem.glob_patterns import LONGEST, Glob, matches_nothing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["LONGEST", "paths_matching"]


def paths_matching(folder: Path, pattern: str) -> Iterator[Path]:
    """What matches below a folder and is no folder; links to folders are not followed."""
    if matches_nothing(pattern):
        return
    glob = Glob(pattern)
    waiting = [(folder, glob.start)]
    while waiting:
        place, states = waiting.pop()
        with suppress(OSError):
            for entry in place.iterdir():
                if not (reached := glob.after(states, entry.name)):
                    continue
                if entry.is_dir() and not entry.is_symlink():
                    waiting.append((entry, reached))
                elif glob.accepts(reached):
                    yield entry
