"""Patterns for paths, matched in one walk: each entry of a folder is looked at once, however many ``**`` there are."""

from __future__ import annotations

import re
from fnmatch import translate

LONGEST = 1_000
"""Characters of a pattern; one that is longer matches nothing."""
ANY_DEPTH = "**"

States = frozenset[int]


class Glob:
    """A pattern, part by part. A state is the number of the part that comes next."""

    def __init__(self, pattern: str) -> None:
        """``**`` as a part stands for any folders, at the end for all files below; elsewhere ``*`` is within a name."""
        parts: list[str] = []
        for part in pattern.split("/"):
            if part not in {"", "."} and not (part == ANY_DEPTH and parts[-1:] == [part]):
                parts.append(part)
        if parts and parts[-1] == ANY_DEPTH:
            parts.append("*")
        self._parts = [None if part == ANY_DEPTH else re.compile(translate(part)).match for part in parts]
        self.start = self._closed({0})

    def after(self, states: States, name: str) -> States:
        """Where an entry of that name leads."""
        reached: set[int] = set()
        for state in states:
            if state == len(self._parts):
                continue
            part = self._parts[state]
            if part is None:
                reached.add(state)
            elif part(name):
                reached.add(state + 1)
        return self._closed(reached)

    def accepts(self, states: States) -> bool:
        """Whether the pattern ends here."""
        return len(self._parts) in states

    def _closed(self, states: set[int]) -> States:
        """With what follows where a ``**`` stands for nothing."""
        more = {state + 1 for state in states if state < len(self._parts) and self._parts[state] is None}
        return frozenset(states | more)


def matches_nothing(pattern: str) -> bool:
    """Whether a pattern names no path at all, or is too long."""
    return not pattern.strip("/.") or len(pattern) > LONGEST
