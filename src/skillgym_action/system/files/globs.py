"""Glob patterns, the one dialect of the tool: for paths, and for names such as the ids of cases and runners.

``*`` and ``?`` stand for characters of one part, never for ``/``; ``[abc]``, ``[a-z]`` and ``[!a]`` for one character.
``**`` as a whole part stands for any number of folders, also none; as the last part for everything below. Upper and
lower case differ, and names that begin with a dot are not special. Documented in docs/reference/patterns.md.
"""

from __future__ import annotations

import re
from contextlib import suppress
from fnmatch import translate
from functools import lru_cache

from skillgym_action.model.limits import MAX_PATTERN_CHARACTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANY_DEPTH = "**"
_CACHED_PATTERNS = 1_024

States = frozenset[int]


class Glob:
    """A pattern, part by part. A state is the number of the part that comes next.

    A path is matched with the set of all states it may be in, as by a finite automaton: no backtracking over ``**``,
    and one walk looks at each entry of a folder once. Within a part, ``translate`` makes an expression that does not
    backtrack either.
    """

    def __init__(self, pattern: str) -> None:
        parts: list[str] = []
        for part in pattern.split("/"):
            if part not in {"", "."} and not (part == ANY_DEPTH and parts[-1:] == [part]):
                parts.append(part)
        if parts and parts[-1] == ANY_DEPTH:
            parts.append("*")
        self._parts = [None if part == ANY_DEPTH else re.compile(translate(part)).match for part in parts]
        self.start = self._closure({0})

    def after(self, states: States, name: str) -> States:
        """The states after an entry of that name; empty if nothing below it can match."""
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
        """Whether a path that leads to these states matches."""
        return len(self._parts) in states

    def is_named(self, states: States, name: str) -> bool:
        """Whether a part other than ``**`` matches an entry of that name."""
        parts = (self._parts[state] for state in states if state < len(self._parts))
        return any(part is not None and part(name) for part in parts)

    def _closure(self, states: set[int]) -> States:
        """The states, and those after a ``**`` that stands for no folder."""
        more = {state + 1 for state in states if state < len(self._parts) and self._parts[state] is None}
        return frozenset(states | more)


def is_pattern(text: str) -> bool:
    """Whether a text has a character with a meaning in patterns; if not, it can only be a name."""
    return any(sign in text for sign in "*?[")


def matches_nothing(pattern: str) -> bool:
    """Whether a pattern names no path at all, or is too long."""
    return not pattern.strip("/.") or len(pattern) > MAX_PATTERN_CHARACTERS


def matches(path: str, pattern: str) -> bool:
    """Whether the pattern stands for the whole path, or name."""
    return any(whole for whole in _matched_lengths(path, pattern))


def matches_wildcards(text: str, pattern: str) -> bool:
    """Whether a whole text fits a pattern of AgentV: ``*`` and ``?`` stand for any characters, nothing else does."""
    return bool(re.match(translate(pattern.replace("[", "[[]")), text))


def matches_path_or_folder(path: str, pattern: str) -> bool:
    """Whether the pattern stands for the path, or for a folder above it."""
    return any(True for _ in _matched_lengths(path, pattern))


def paths_matching(folder: Path, pattern: str, *, links: bool = False) -> Iterator[Path]:
    """Paths below a folder that match and are no folders; links to folders are not followed.

    ``links``: also links that are no files, below which something might match.
    By path, for folders that are not changed meanwhile; ``Folder.glob`` is the one for folders of sessions.
    """
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
                elif glob.accepts(reached) or (links and entry.is_symlink() and not entry.is_file()):
                    yield entry


def _matched_lengths(path: str, pattern: str) -> Iterator[bool]:
    """For each beginning of the path that the pattern stands for, the shortest first: whether it is the whole path."""
    if matches_nothing(pattern):
        return
    glob, parts = _compiled(pattern), path.split("/")
    states = glob.start
    for number, part in enumerate(parts, start=1):
        if not (states := glob.after(states, part)):
            return
        if glob.accepts(states):
            yield number == len(parts)


@lru_cache(maxsize=_CACHED_PATTERNS)
def _compiled(pattern: str) -> Glob:
    return Glob(pattern)
