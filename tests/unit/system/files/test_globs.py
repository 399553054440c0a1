"""The one dialect of glob patterns; walks through folders are tested in tests/integration/test_endless_patterns.py."""

from __future__ import annotations

import time

import pytest

from skillgym_action.system.files.globs import is_pattern, matches, matches_path_or_folder

PATHS = ("a.json", "bench/a.json", "bench/b.txt", "bench/sub/a.json", "bench/sub/.x/a.json", "bench.json", ".hidden/a")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        pytest.param("*.json", ["a.json", "bench.json"], id="a star stops at a slash"),
        pytest.param("bench/*.json", ["bench/a.json"], id="also below a folder"),
        pytest.param("bench?a.json", [], id="so does a question mark"),
        pytest.param("bench[/]a.json", [], id="and a set"),
        pytest.param("?.json", ["a.json"], id="a question mark is one character"),
        pytest.param(
            "**/a.json", ["a.json", "bench/a.json", "bench/sub/a.json", "bench/sub/.x/a.json"], id="any depth"
        ),
        pytest.param("bench/**/a.json", ["bench/a.json", "bench/sub/a.json", "bench/sub/.x/a.json"], id="also none"),
        pytest.param("bench/**", list(PATHS[1:5]), id="everything below"),
        pytest.param("**", list(PATHS), id="everything"),
        pytest.param("**/**/b.txt", ["bench/b.txt"], id="any depth twice"),
        pytest.param("be**.json", ["bench.json"], id="in a name two stars are one"),
        pytest.param("bench/[ab].*", ["bench/a.json", "bench/b.txt"], id="a set"),
        pytest.param("bench/[!a].*", ["bench/b.txt"], id="all but a set"),
        pytest.param("*/a", [".hidden/a"], id="a dot is a character"),
        pytest.param("./bench/b.txt", ["bench/b.txt"], id="from here"),
        pytest.param("BENCH/b.txt", [], id="upper and lower case differ"),
        pytest.param("{a,bench}.json", [], id="braces mean nothing"),
        pytest.param("bench", [], id="a folder is not what is in it"),
        pytest.param("", [], id="nothing"),
        pytest.param("*" * 1_001, [], id="too long"),
    ],
)
def test_a_pattern_matches(pattern, found):
    assert [path for path in PATHS if matches(path, pattern)] == found


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        pytest.param("bench", list(PATHS[1:5]), id="a name"),
        pytest.param("b*", list(PATHS[1:6]), id="a pattern"),
        pytest.param("bench/*", list(PATHS[1:5]), id="what is in it, whether file or folder"),
        pytest.param("**/sub/", list(PATHS[3:5]), id="at any depth"),
        pytest.param("**/*.txt", ["bench/b.txt"], id="a file"),
    ],
)
def test_a_pattern_matches_a_path_or_a_folder_above_it(pattern, found):
    assert [path for path in PATHS if matches_path_or_folder(path, pattern)] == found


@pytest.mark.timed
@pytest.mark.parametrize(
    "pattern", ["**/*" * 200 + "b", "*a" * 400 + "b", "**/a/" * 190 + "b", "**/" + "?*" * 400 + "b"]
)
def test_matching_takes_time_in_proportion_to_the_pattern(pattern):
    began = time.process_time()
    assert not matches("/".join(["a"] * 400), pattern)
    assert not matches("a" * 1_000, pattern)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("text", "is_one"), [("a*", True), ("a?", True), ("[a]", True), ("a/b.json", False), ("!a", False)]
)
def test_what_is_a_pattern(text, is_one):
    assert is_pattern(text) == is_one
