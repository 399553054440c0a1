"""The day that ``Date.parse`` finds in a text, as Node.js does it where the time zone is UTC.

First the format of ISO 8601, strictly; then whatever has up to three numbers and perhaps the name of a month.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta

from skillgym_action.javascript.values import trimmed

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ZONES = {"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7}
_SKIPPED = frozenset({"z", "ut", "utc", "gmt", "am", "pm", *_ZONES})
_DAYS, _MONTHS, _HOURS, _MINUTES = 31, 12, 24, 60
_PARTS = 3
_THIS_CENTURY, _LAST_CENTURY = 50, 100

_ISO = re.compile(
    r"(?P<year>\d{4}|[+-]\d{6})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?"
    r"(?:T(?P<hours>\d\d):(?P<minutes>\d\d)(?::(?P<seconds>\d\d)(?:\.\d+)?)?(?P<zone>Z|[+-]\d\d:?\d\d)?)?",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?P<hours>\d{1,2}):(?P<minutes>\d\d)(?::(?P<seconds>\d\d)(?:\.\d+)?)?(?P<zone>\s*(?:GMT|UTC?|Z)?\s*[+-]\d\d:?\d\d)?",
    re.IGNORECASE,
)
_FREE = re.compile(r"[A-Za-z0-9\s,./+-]*")
_TOKEN = re.compile(r"[0-9]+|[a-z]+")


def day_of(text: str) -> date | None:
    """The day; None where ``Date.parse`` gives NaN, and outside of the years 1 to 9999."""
    text = trimmed(text)
    iso = _ISO.fullmatch(text)
    try:
        return (_iso_day(iso) if iso else None) or _free_day(text)
    except (ValueError, OverflowError):
        return None


def _iso_day(found: re.Match[str]) -> date | None:
    year, month, day = int(found["year"]), int(found["month"] or 1), int(found["day"] or 1)
    if not 1 <= month <= _MONTHS or not 1 <= day <= monthrange(year, month)[1]:
        return None
    moment = _moment(found)
    return None if moment is None else (datetime(year, month, day, tzinfo=UTC) + moment).date()


def _moment(found: re.Match[str]) -> timedelta | None:
    """The time of a day in UTC, since its beginning where the clock was read; None if no clock shows it."""
    hours, minutes, seconds = (int(found[name] or 0) for name in ("hours", "minutes", "seconds"))
    midnight = hours == _HOURS and minutes == seconds == 0
    if not (hours < _HOURS or midnight) or minutes >= _MINUTES or seconds >= _MINUTES:
        return None
    return timedelta(hours=hours, minutes=minutes, seconds=seconds) - _offset(found["zone"] or "")


def _offset(zone: str) -> timedelta:
    digits = re.sub(r"\D", "", zone)
    if not digits:
        return timedelta()
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -offset if "-" in zone else offset


def _free_day(text: str) -> date | None:
    """Numbers and words in any order, the way browsers have always read them."""
    text = re.sub(r"\([^()]*\)", " ", text)
    moment = timedelta()
    if time := _TIME.search(text):
        found = _moment(time)
        if found is None:
            return None
        moment, text = found, f"{text[: time.start()]} {text[time.end() :]}"
    if _FREE.fullmatch(text) is None:
        return None
    numbers: list[int] = []
    month = None
    for token in _TOKEN.findall(text.lower()):
        if token.isdecimal():
            numbers.append(int(token))
        elif token[:3] in MONTHS:
            month = MONTHS.index(token[:3]) + 1
        elif numbers and token not in _SKIPPED:
            return None
        moment -= timedelta(hours=_ZONES.get(token, 0))
    if not 1 <= len(numbers) <= _PARTS:
        return None
    return _composed(numbers + [1] * (_PARTS - len(numbers)), month, moment)


def _composed(parts: list[int], month: int | None, moment: timedelta) -> date | None:
    first, second, third = parts
    if month is not None:
        day, year = (first, second) if _is_day(first) else (second, first)
    elif _is_day(first):
        month, day, year = first, second, third
    else:
        year, month, day = first, second, third
    if not _is_day(day) or not 1 <= month <= _MONTHS:
        return None
    year += 2000 if year < _THIS_CENTURY else 1900 if year < _LAST_CENTURY else 0
    return (datetime(year, month, 1, tzinfo=UTC) + timedelta(days=day - 1) + moment).date()


def _is_day(number: int) -> bool:
    return 1 <= number <= _DAYS
