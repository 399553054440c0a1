"""Numbers that are compared, as text."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_DIGITS = 15  # of a float
_LIMIT_DIGITS = 4
_NOISE = 1e-9


def distinct_texts(value: float, limit: float, digits: int, shown: Callable[[float, int], str]) -> tuple[str, str]:
    """A number and its limit as texts that differ if the numbers do: ``66.67%`` and ``66.70%``, not twice ``66.7%``.

    ``shown(number, digits)`` gives a text with so many digits after the point; there are at least ``digits``, and more
    for a limit that has more, up to four.
    """
    texts = "", ""
    for places in range(digits, _MOST_DIGITS + 1):
        texts = shown(value, places), shown(limit, places)
        is_exact = places >= _LIMIT_DIGITS or abs(round(limit, places) - limit) < _NOISE
        if is_exact and (value == limit or texts[0] != texts[1]):
            break
    return texts


def dollars(value: float, limit: float) -> tuple[str, str]:
    """An amount of US dollars and its limit: ``$0.104`` and ``$0.100``."""
    return distinct_texts(value, limit, 2, lambda number, digits: f"${number:.{digits}f}")


def percentages(value: float, limit: float) -> tuple[str, str]:
    """A share from 0 to 1 and its limit in percent."""
    return distinct_texts(100 * value, 100 * limit, 1, lambda number, digits: f"{number:.{digits}f}%")
