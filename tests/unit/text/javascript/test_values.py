"""JSON values as JavaScript has them. What is expected was printed by Node.js 20."""

from __future__ import annotations

import math

import pytest

from skillgym_action.text.javascript.values import (
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
    ("text", "message"),
    [
        ("", "Expecting value: line 1 column 1"),
        ("NaN", "NaN is not JSON"),
        ("-Infinity", "-Infinity is not JSON"),
        ("01", "Extra data: line 1 column 2"),
        ("1.", "Extra data: line 1 column 2"),
        ("'a'", "Expecting value: line 1 column 1"),
        ("{a: 1}", "Expecting property name enclosed in double quotes: line 1 column 2"),
        ("[1,]", "Expecting value: line 1 column 4|Illegal trailing comma"),
        ("\ufeff1", "Unexpected UTF-8 BOM"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json(text, message):
    with pytest.raises(ValueError, match=message):
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
