"""Glob patterns for paths below a folder, matched in one walk.

Each entry of a folder is looked at once, however many ``**`` there are: a walk keeps the set of the components of the
pattern that may come next, as a state machine does. Trying one component after the other would take exponential time.
"""

from __future__ import annotations

import re
from contextlib import suppress
from fnmatch import translate

from skillgym_action.limits import MAX_PATTERN_CHARACTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANY_DEPTH = "**"

States = frozenset[int]


class Glob:
    """A pattern. A state is the index of the component that comes next."""

    def __init__(self, pattern: str) -> None:
        """``**`` as a component stands for any folders, at the end for all files below; ``*`` stays within a name."""
        parts: list[str] = []
        for part in pattern.split("/"):
            if part not in {"", "."} and not (part == ANY_DEPTH and parts[-1:] == [part]):
                parts.append(part)
        if parts and parts[-1] == ANY_DEPTH:
            parts.append("*")
        self._parts = [None if part == ANY_DEPTH else re.compile(translate(part)).match for part in parts]
        self.start = self._closure({0})

    def after(self, states: States, name: str) -> States:
        """The states after an entry of that name; none if it cannot be part of a path that matches."""
        reached: set[int] = set()
        for state in states:
            if state == len(self._parts):
                continue
            part = self._parts[state]
            if part is None:
                reached.add(state)
            elif part(name):
                reached.add(state + 1)
        return self._closure(reached)

    def accepts(self, states: States) -> bool:
        """Whether the pattern can end here."""
        return len(self._parts) in states

    def _closure(self, states: set[int]) -> States:
        """With the states that follow where ``**`` stands for no folder."""
        more = {state + 1 for state in states if state < len(self._parts) and self._parts[state] is None}
        return frozenset(states | more)


def matches_nothing(pattern: str) -> bool:
    """Whether a pattern has no name in it, or is too long."""
    return not pattern.strip("/.") or len(pattern) > MAX_PATTERN_CHARACTERS


def paths_matching(folder: Path, pattern: str) -> Iterator[Path]:
    """Paths below a folder that match and are no folders; links to folders are not followed.

    By path, for folders that nobody changes meanwhile; ``Folder.glob`` is the one for folders of sessions.
    """
    if matches_nothing(pattern):
        return
    glob = Glob(pattern)
    waiting = [(folder, glob.start)]
    while waiting:
        current, states = waiting.pop()
        with suppress(OSError):
            for entry in current.iterdir():
                if not (reached := glob.after(states, entry.name)):
                    continue
                if entry.is_dir() and not entry.is_symlink():
                    waiting.append((entry, reached))
                elif glob.accepts(reached):
                    yield entry
