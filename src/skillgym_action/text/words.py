"""Numbers, amounts of money, times and lists in words, which reports, results and messages share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.limits import MAX_LISTED_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta


def listed(words: Sequence[str]) -> str:
    """Return the first few words, and how many more there are."""
    rest = len(words) - MAX_LISTED_NAMES
    return ", ".join(words[:MAX_LISTED_NAMES]) + (f" and {rest:,} more" if rest > 0 else "")


def money(usd: float | None, *, complete: bool = True) -> str:
    """US dollars. An unknown cost is not treated as zero: ``unknown``, or ``≥`` the known part."""
    if usd is None:
        return "—" if complete else "unknown"
    if 0 < usd < 0.0001:  # noqa: PLR2004
        return "under $0.0001" if complete else "unknown"
    digits = 2 if usd == 0 or usd >= 0.01 else 4  # noqa: PLR2004 - a cent
    return f"{'' if complete else '≥ '}${usd:,.{digits}f}"


def duration(milliseconds: int) -> str:
    """A time in at most two units."""
    seconds = milliseconds / 1000
    if milliseconds < 1000:  # noqa: PLR2004
        return f"{milliseconds} ms"
    if seconds < 9.95:  # noqa: PLR2004
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for unit, below, part in ((3600, "h", (60, "min")), (60, "min", (1, "s"))):
        if whole >= unit:
            rest = whole % unit // part[0]
            return f"{whole // unit} {below} {rest} {part[1]}" if rest else f"{whole // unit} {below}"
    return f"{whole} s"


def amount(number: int | None) -> str:
    """A count of tokens: ``950``, ``12.4k``, ``3.1M``, ``unknown``."""
    if number is None:
        return "unknown"
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= unit * 0.99995:  # what rounds to the unit is written in it
            return f"{number / unit:.1f}{letter}"
    return str(number)


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 case``, ``2 cases``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def percent(rate: float) -> str:
    """A rate in percent; 100% only if it is exactly that."""
    shown = round(rate * 100)
    if shown == 100 and rate < 1:  # noqa: PLR2004
        shown = 99
    return f"{1 if shown == 0 and rate > 0 else shown}%"


def age(passed: timedelta) -> str:
    """``3 days``: in the largest unit that it has at least two of."""
    seconds = max(0, int(passed.total_seconds()))
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return counted(seconds // size, unit)
    return "a minute"
