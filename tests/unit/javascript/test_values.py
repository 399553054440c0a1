"""JSON values as JavaScript has them. What is expected was printed by Node.js 20."""

from __future__ import annotations

import math

import pytest

from skillgym_action.javascript.dates import day_of
from skillgym_action.javascript.values import (
    is_true,
    leading_number,
    number,
    parsed,
    same,
    stringified,
    text_of,
    trimmed,
)


@pytest.mark.parametrize(
    ("text", "trim"),
    [
        (" a ", "a"),
        ("\ufeffa\xa0", "a"),
        ("\u2028\u3000a\v\f\r\n\t", "a"),
        ("\x1ca\x85", "\x1ca\x85"),
        ("\u200ba", "\u200ba"),
    ],
)
def test_trim(text, trim):
    assert trimmed(text) == trim


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1.0), (' {"a": [true, null]} ', {"a": [True, None]}), ("1e999", math.inf), ('"\\ud800"', "\ud800")],
)
def test_json(text, value):
    assert parsed(text) == value


@pytest.mark.parametrize(
    "text", ["", "NaN", "-Infinity", "01", "1.", "'a'", "{a: 1}", "[1,]", "\ufeff1", "[" * 100_000]
)
def test_what_is_no_json(text):
    with pytest.raises(ValueError, match=r"."):
        parsed(text)


SAME = [
    pytest.param(1, 1.0, True, id="1 is 1.0"),
    pytest.param(1, True, False, id="1 is not true"),
    pytest.param(0, False, False, id="0 is not false"),
    pytest.param(0, None, False, id="0 is not null"),
    pytest.param("1", 1, False, id="a text is no number"),
    pytest.param(9007199254740993, 9007199254740992.0, True, id="numbers have 53 bits"),
    pytest.param(10**400, math.inf, True, id="a number too large"),
    pytest.param(math.nan, math.nan, False, id="NaN"),
    pytest.param({"a": 1, "b": [1]}, {"b": [1.0], "a": 1}, True, id="objects"),
    pytest.param({"a": 1}, {"a": 1, "b": None}, False, id="a key more"),
    pytest.param([1, 2], [1], False, id="an item less"),
    pytest.param([], {}, False, id="a list is no object"),
]


@pytest.mark.parametrize(("one", "other", "equal"), SAME)
def test_equality(one, other, equal):
    assert same(one, other) is equal
    assert same(other, one) is equal


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12.5 EUR", 12.5),
        (" \ufeff-3", -3),
        (".5", 0.5),
        ("5.", 5),
        ("1e3x", 1000),
        ("1e", 1),
        ("+7", 7),
        ("0x10", 0),
        ("Infinity", math.inf),
        ("-Infinity!", -math.inf),
        ("EUR 1", None),
        ("", None),
        ("- 1", None),
        ("inf", None),
    ],
)
def test_parse_float(text, value):
    assert leading_number(text) == value


@pytest.mark.parametrize(
    ("value", "found"), [(1, 1.0), (True, None), ("1", None), (None, None), (-(10**400), -math.inf)]
)
def test_a_number(value, found):
    assert number(value) == found


@pytest.mark.parametrize(
    ("value", "truth"),
    [
        (0, False),
        (0.0, False),
        (math.nan, False),
        ("", False),
        (None, False),
        (False, False),
        ("false", True),
        ("0", True),
        ([], True),
        ({}, True),
        (-1, True),
    ],
)
def test_truth(value, truth):
    assert is_true(value) is truth


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (1.0, "1"),
        (0.5, "0.5"),
        ({}, "[object Object]"),
        ([1, None, "a"], "1,,a"),
        ("a", "a"),
    ],
)
def test_string(value, text):
    assert text_of(value) == text


def test_stringify():
    value = {"a": 1.0, "b": [math.nan, math.inf, 0.5], "ü": "\u2028", "t": (1,)}
    assert stringified(value) == '{"a":1,"b":[null,null,0.5],"ü":"\u2028","t":[1]}'
    assert stringified({"a": [1]}, indent=2) == '{\n  "a": [\n    1\n  ]\n}'


DAYS = {
    "2025-01-15": "2025-01-15",
    " 2025-01-15 ": "2025-01-15",
    "2025-01": "2025-01-01",
    "2025": "2025-01-01",
    "+002025-01-15": "2025-01-15",
    "2025-01-15T10:00": "2025-01-15",
    "2025-01-15T10:00:00Z": "2025-01-15",
    "2025-01-15T23:00:00-05:00": "2025-01-16",
    "2025-01-15T00:30:00+0100": "2025-01-14",
    "2025-01-15T10:00:00.123456Z": "2025-01-15",
    "2025-01-15T24:00:00Z": "2025-01-16",
    "2025-01-15T24:00:01Z": None,
    "2025-01-15T10": None,
    "2025-01-15 23:30:00 -0500": "2025-01-16",
    "2025-02-30": "2025-03-02",
    "02/30/2025": "2025-03-02",
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
    "12/25/49": "2049-12-25",
    "12/25/50": "1950-12-25",
    "1/2": "2001-01-02",
    "99": "1999-01-01",
    "Jan 15, 2025": "2025-01-15",
    "Jan. 15, 2025": "2025-01-15",
    "15 January 2025 10:00": "2025-01-15",
    "15-JAN-2025": "2025-01-15",
    "Wed, 15 Jan 2025 10:00:00 GMT": "2025-01-15",
    "Wed Jan 15 2025 00:30:00 GMT+0100 (CET)": "2025-01-14",
    "Dec 31 2025 23:30 EST": "2026-01-01",
    "Sept 5, 2025": "2025-09-05",
    "Jan 2025": "2025-01-01",
    "4 July": "2001-07-04",
    "January 15th, 2025": None,
    "Jan 32, 2025": None,
    "0/1/2025": None,
    "1 2 3 4": None,
    "20250115": None,
    "1736899200000": None,
    "2025-W03": None,
    "in 2025": "2025-01-01",
    "2025 in": None,
    "hello": None,
    "": None,
    "[object Object]": None,
    "12:99 Jan 1 2025": None,
}


@pytest.mark.parametrize(("text", "day"), DAYS.items())
def test_the_day_of_a_date(text, day):
    found = day_of(text)
    assert (found.isoformat() if found else None) == day
