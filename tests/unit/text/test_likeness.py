"""How much texts are alike."""

from __future__ import annotations

import time

import pytest

from skillgym_action.text.likeness import Likeness, literal_part


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^- \[CLI\] .*--json", "- [CLI] --json"),
        (r"\bnpm\s+(?:run )?test\b", "npm run test"),
        (r"v\d+\.\d+\.[0-9]{1,3}$", "v . ."),
        (r"a\\b", r"a\b"),
        (r"(?<name>x)|(?=y)", "x y"),
        (r"[^\n\r]*end", "end"),
        ("", ""),
        ("[" * 500, ""),
    ],
)
def test_the_literal_part_of_a_pattern(pattern, text):
    assert literal_part(pattern) == text


def test_the_nearest_is_first_then_the_shorter_then_the_earlier():
    texts = ["git log", "npm run test", "npm test --all", "NPM TEST", "npm test", ""]
    assert [texts[at] for at in Likeness("npm test").nearest_first(texts)] == [
        "NPM TEST", "npm test", "npm run test", "npm test --all", "", "git log",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "text", "near"),
    [
        ("deploy", "deploying", True),
        ("deploy", "depl", True),
        ("deploy", "dep", False),
        ("a", "banana", False),
        ("a", "a", True),
        ("", "anything", False),
        ("aaaa", "aa", False),
    ],
)
def test_half_of_the_pairs_are_near(wanted, text, near):
    assert Likeness(wanted).is_near(text) is near


def test_long_texts_are_compared_by_their_beginning():
    started = time.process_time()
    Likeness("a" * 10_000_000).nearest_first(["a" * 10_000_000] * 20)
    assert time.process_time() - started < 1
