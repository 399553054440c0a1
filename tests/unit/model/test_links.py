from __future__ import annotations

import re

import pytest
from hypothesis import given

from hostile import any_text
from skillgym_action.model.errors import Location
from skillgym_action.model.report import Links

LINKS = Links(repository="https://github.com/octo/skills", commit="4f2a9c1")


@pytest.mark.parametrize(
    ("location", "address"),
    [
        pytest.param(Location(path="bench/a.json", line=3), "/bench/a.json#L3", id="a line"),
        pytest.param(Location(path="bench/a.json"), "/bench/a.json", id="a file"),
        pytest.param(Location(path="a b/(c)#d?e.json"), "/a%20b/%28c%29%23d%3Fe.json", id="an odd name"),
        pytest.param(Location(path="%2e%2e/a"), "/%252e%252e/a", id="what is encoded already"),
        pytest.param(Location(path="a\ud800"), "/a%3F", id="no character at all"),
    ],
)
def test_a_location_links_to_its_line_in_the_commit(location, address):
    assert LINKS.line_address(location) == f"https://github.com/octo/skills/blob/4f2a9c1{address}"


@pytest.mark.parametrize("path", ["/etc/passwd", "../a", "a/../../../evil/repo", "//evil.example", "./a", "a/", ""])
def test_a_path_outside_of_the_repository_has_no_address(path):
    assert LINKS.line_address(Location(path=path)) is None


def test_without_a_commit_a_location_has_no_address():
    assert Links(repository="https://github.com/octo/skills").line_address(Location(path="a")) is None


def test_a_commit_has_an_address():
    assert LINKS.commit_address("abc/../d") == "https://github.com/octo/skills/commit/abc%2F..%2Fd"


@given(any_text)
def test_no_path_leads_out_of_the_commit(path):
    address = LINKS.line_address(Location(path=path, line=1))
    assert address is None or re.fullmatch(
        r"https://github\.com/octo/skills/blob/4f2a9c1(/(?!\.\.?(/|#))[\w.~%-]+)+#L1", address
    )
