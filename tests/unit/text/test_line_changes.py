"""Which lines of a text changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgym_action.text.line_changes import changed_lines

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "a b"]), max_size=8)


def changes(before, after, limit=1000):
    return [f"{line.sign}{line.number} {line.text}" for line in changed_lines(before, after, limit)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a\nb\n", "a\nb\n", []),
        ("a\nb\n", "a\nb\nc\n", ["+3 c"]),
        ("a\nb", "a\nb\nc", ["+3 c"]),
        ("a\nb\n", "x\na\nb\n", ["+1 x"]),
        ("a\nb\nc\n", "a\nx\nc\n", ["-2 b", "+2 x"]),
        ("a\nb\nc\n", "a\nc\n", ["-2 b"]),
        ("a\nb\n", "b\na\n", []),
        ("a\na\n", "a\na\na\n", ["+3 a"]),
        ("", "a\n", ["+1 a"]),
        ("a\n", "", ["-1 a"]),
        ("one two\n", "one three\n", ["-1 one two", "+1 one three"]),
        ("a\r\n", "a\n", ["-1 a\r", "+1 a"]),
    ],
)
def test_lines_that_are_gone_and_lines_that_are_new(before, after, expected):
    assert changes(before, after) == expected


def test_too_much_between_the_first_change_and_the_last_is_not_compared():
    before, after = "a\n" + "b\n" * 100 + "c\n", "x\n" + "b\n" * 100 + "y\n"
    assert changed_lines(before, after, 100) is None
    assert changes(before, after) == ["-1 a", "+1 x", "-102 c", "+102 y"]
    assert changed_lines(before, before + "z\n", 100) is not None


@given(LINES, LINES)
def test_every_line_that_only_one_text_has_is_found_where_it_is(before, after):
    old, new = "".join(f"{line}\n" for line in before), "".join(f"{line}\n" for line in after)
    found = changed_lines(old, new, 10_000)
    for line in found:
        assert line.text == (before if line.sign == "-" else after)[line.number - 1]
    for sign, own, other in (("+", after, before), ("-", before, after)):
        texts = [line.text for line in found if line.sign == sign]
        for text in ("a", "b", "c", "a b"):
            assert texts.count(text) == max(0, own.count(text) - other.count(text))
