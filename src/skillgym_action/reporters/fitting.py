"""How a report template is made to fit: rendered again from data, with fewer rows, never cut."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_TRIES = 5
_MARGIN = 0.98  # of the room that another try gets, so that it need not be the last but one


def size_in_bytes(text: str) -> int:
    """The size of ``text`` as UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


@dataclass(slots=True)
class Room:
    """What is left of a limit. Once something has not fitted, nothing does: reports lose whole rows, from the end."""

    left: int
    measure: Callable[[str], int] = len
    full: bool = False

    def holds(self, strings: Iterable[str], overhead: int) -> bool:
        """Whether there was room for ``strings``, and ``overhead`` that a template adds to them; it is taken."""
        return self._takes(overhead + self.size(strings))

    def grows(self, before: Iterable[str], after: Iterable[str], overhead: int) -> bool:
        """Whether there was room for ``after`` where there was ``before``; it is taken."""
        return self._takes(overhead + self.size(after) - self.size(before))

    def size(self, strings: Iterable[str]) -> int:
        """What ``strings`` take."""
        return sum(map(self.measure, strings))

    def _takes(self, size: int) -> bool:
        self.full = self.full or size > self.left
        if not self.full:
            self.left -= size
        return not self.full

    @contextmanager
    def part(self, share: float) -> Iterator[Room]:
        """A part of the room, at most ``share`` of it; what is not taken of it comes back."""
        part = Room(int(self.left * share), self.measure)
        self.left -= part.left
        yield part
        self.left += part.left


def fitted(render: Callable[[int], str], verdict: Callable[[], str], limit: int, measure: Callable[[str], int]) -> str:
    """What ``render`` makes of the most room for rows with which it is at most ``limit`` as ``measure`` counts.

    ``verdict`` is for a limit that not even a report without rows keeps; the caller sees whether it is kept then.
    """
    bare = render(0)
    room = spare = limit - (size := measure(bare))
    for _ in range(_TRIES):
        if room <= 0:
            break
        text = render(room)
        if (taken := measure(text)) <= limit:
            return text
        # A template may show a row twice: what counts is what it made of the last room.
        room = min(room - 1, int(room * spare / (taken - size) * _MARGIN))
    return bare if size <= limit else verdict()
