"""The day of a date, as the field-accuracy grader compares it."""

from __future__ import annotations

import pytest

from skillgym_action.suites.agentv.answer_graders import day_of

DAYS = {
    "2025-01-15": "2025-01-15",
    "2025-01": "2025-01-01",
    "2025": "2025-01-01",
    "2025-01-15T10:00": "2025-01-15",
    "2025-01-15T10:00:00Z": "2025-01-15",
    "2025-01-15T23:00:00-05:00": "2025-01-16",
    "2025-01-15T00:30:00+0100": "2025-01-14",
    "2025-01-15T10:00:00.123456Z": "2025-01-15",
    "2025-01-15T24:00:01Z": None,
    "2025-01-15T10": None,
    "2025-01-15 23:30:00 -0500": "2025-01-16",
    "2025-13-01": None,
    "2025-1-5": "2025-01-05",
    "2025/01/15": "2025-01-15",
    "2025.01.15": "2025-01-15",
    "01/15/2025": "2025-01-15",
    "02/03/2025": "2025-02-03",
    "15/01/2025": None,
    "12-31-2025": "2025-12-31",
    "31-12-2025": None,
    "15.01.2025": None,
    "Jan 15, 2025": "2025-01-15",
    "Jan. 15, 2025": "2025-01-15",
    "15 January 2025 10:00": "2025-01-15",
    "15-JAN-2025": "2025-01-15",
    "Wed, 15 Jan 2025 10:00:00 GMT": "2025-01-15",
    "Wed Jan 15 2025 00:30:00 GMT+0100 (CET)": "2025-01-14",
    "Dec 31 2025 23:30 EST": "2026-01-01",
    "Sept 5, 2025": "2025-09-05",
    "Jan 2025": "2025-01-01",
    "January 15th, 2025": None,
    "Jan 32, 2025": None,
    "0/1/2025": None,
    "1 2 3 4": None,
    "20250115": None,
    "1736899200000": None,
    "2025-W03": None,
    "2025 in": None,
    "hello": None,
    "": None,
    "[object Object]": None,
    "12:99 Jan 1 2025": None,
    "2025-01-15 10:00:00": "2025-01-15",
    "2025-01-15 10:00:00 UTC": "2025-01-15",
    "1/15/2025, 10:00:00 AM": "2025-01-15",
    "Wednesday, January 15, 2025": "2025-01-15",
    "Jan 15 00:30:00 GMT+0100": None,
    "2025-01-15 23:30:00.5-05:00": "2025-01-16",
    "01/15/2025 10:00 AM": "2025-01-15",
    "January 5, 2025 11:59 PM": "2025-01-05",
    "Wed, 15 Jan 2025 23:00:00 -0500": "2025-01-16",
    "Wed, 15 Jan 2025": "2025-01-15",
    "Mar 99 2025 x y z :": None,
    "9" * 5_000: None,
}

ONLY_TO_DATE_PARSE = (
    *(
        "2025-02-30",
        "02/30/2025",
        "2025-01-15T24:00:00Z",
        "+002025-01-15",
        "12/25/49",
        "1/2",
        "99",
        "4 July",
        "in 2025",
    ),
)


@pytest.mark.parametrize(("text", "day"), DAYS.items())
def test_the_day_of_a_date(text, day):
    found = day_of(text)
    assert (found.isoformat() if found else None) == day


@pytest.mark.parametrize("text", ONLY_TO_DATE_PARSE)
def test_what_only_date_parse_takes_for_a_date(text):
    assert day_of(text) is None
