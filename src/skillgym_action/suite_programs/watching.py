"""What comprehensions and generators of a rewritten ``assert`` went through: the items, and the value for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from skillgym_action.limits import MAX_LISTED_VALUES, MAX_SHOWN_VALUE_CHARACTERS
from skillgym_action.suite_programs.showing import cut, shown

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

MAX_NAMED_ITEMS = 5


class Watched:
    """An iterable, and the items that were taken from it; ``values``: of a generator, with the item that each is for.

    Iterating gives what the iterable gives, when it gives it.
    """

    def __init__(self, iterable: Any) -> None:
        self.iterable = iterable
        self.items: list[object] = []
        self.values: list[tuple[object, object]] | None = None
        self.taken = 0

    def __iter__(self) -> Generator[Any]:
        return self._items(iter(self.iterable))

    def _items(self, items: Iterator[Any]) -> Generator[Any]:
        for item in items:
            self.taken += 1
            self.last = item
            if len(self.items) < MAX_LISTED_VALUES:
                self.items.append(item)
            yield item

    def of(self, generator: Iterable[Any]) -> Generator[Any]:
        """The values of a generator over this iterable, remembered with their items."""
        values = self.values = []
        return self._values(generator, values)

    def _values(self, generator: Iterable[Any], values: list[tuple[object, object]]) -> Generator[Any]:
        for value in generator:
            # A value that is false is what a check stops at, or what all of them were: it is kept in any case.
            if len(values) < MAX_LISTED_VALUES or not _is_true(value):
                values[MAX_LISTED_VALUES:] = []
                values.append((self.last, value))
            yield value

    def lines(self, source: str, element: str) -> Iterator[tuple[str, str]]:
        """Labels and texts for messages: the items, then the values, those that are false first."""
        yield source, self._shown_items()
        if self.values is None:
            return
        if not self.values:
            if self.taken:
                yield element, f"never evaluated: the condition is true for none of {self.taken}"
        elif any(item is not value for item, value in self.values):
            yield element, _grouped(self.values)

    def _shown_items(self) -> str:
        """The iterable itself; of an iterator what it gave."""
        if not isinstance(self.iterable, Iterator):
            return shown(self.iterable)
        return shown(self.items) if self.taken == len(self.items) else f"{shown(self.items)} and more"


def _grouped(values: list[tuple[object, object]]) -> str:
    """``False for 'a', 'b'; True for 'c'``."""
    groups: dict[str, list[object]] = {}
    for item, value in sorted(values, key=lambda pair: _is_true(pair[1])):
        groups.setdefault(shown(value), []).append(item)
    return cut("; ".join(f"{value} for {_named(items)}" for value, items in groups.items()), MAX_SHOWN_VALUE_CHARACTERS)


def _named(items: list[object]) -> str:
    more = len(items) - MAX_NAMED_ITEMS
    return ", ".join(map(shown, items[:MAX_NAMED_ITEMS])) + (f" and {more} more" if more > 0 else "")


def _is_true(value: object) -> bool:
    try:
        return bool(value)
    except Exception:  # noqa: BLE001 - a suite's own class may do anything
        return True
