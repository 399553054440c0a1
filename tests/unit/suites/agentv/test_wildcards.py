"""Names and patterns with ``*`` and ``?``."""

from __future__ import annotations

import pytest

from growth import grows_in_proportion
from skillgym_action.system.files.globs import matches_wildcards


@pytest.mark.parametrize(
    ("text", "pattern", "fits"),
    [
        pytest.param("Read", "Read", True, id="the same"),
        pytest.param("Read", "Rea", False, id="the beginning"),
        pytest.param("Read", "R*d", True, id="a star"),
        pytest.param("Read", "*", True, id="anything"),
        pytest.param("", "*", True, id="nothing"),
        pytest.param("", "?", False, id="one character of none"),
        pytest.param("Read", "R??d", True, id="question marks"),
        pytest.param("Read", "?Read", False, id="one too many"),
        pytest.param("mcp__a__b", "mcp__*__b", True, id="in the middle"),
        pytest.param("aXbXc", "a*X?", True, id="the star takes more"),
        pytest.param("a.b", "a.b", True, id="a dot is a dot"),
        pytest.param("axb", "a.b", False, id="and nothing else"),
        pytest.param("[a]", "[a]", True, id="brackets are brackets"),
    ],
)
def test_the_whole_text_fits(text, pattern, fits):
    assert matches_wildcards(text, pattern) is fits


def test_many_stars_take_little_time():
    assert not matches_wildcards("a" * 5000, "*a" * 50 + "b")
    assert grows_in_proportion(lambda size: matches_wildcards("a" * size, "*a" * 50 + "b"), 5000)
