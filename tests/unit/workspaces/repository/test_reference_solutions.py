"""Where the reference solutions of a suite are, and which of them can be used."""

from __future__ import annotations

from contextlib import closing

import pytest

from scratch import written
from skillgym_action.system.files.checkout import Checkout
from skillgym_action.workspaces.repository.reference_solutions import (
    is_in_companion,
    problem_with,
    solution_paths,
    solutions_folder,
)


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("bench/core.json.oracle/one/bench/core.json", True),
        ("EVAL.yaml.oracle/one.md", True),
        ("bench/core.json", False),
        ("bench/x.oracle", False),
    ],
)
def test_paths_in_solutions(path, inside):
    assert is_in_companion(path) is inside


def test_the_folder_is_named_like_the_suite():
    assert solutions_folder("bench/core.json") == "bench/core.json.oracle"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ([], []),
        (["one.patch", "two.patch"], ["one.patch"]),
        (["one/a.txt", "one.md"], ["one", "one.md"]),
        (["one.md"], ["one.md"]),
    ],
)
def test_the_solution_of_a_case(tmp_path, files, found):
    written(tmp_path, dict.fromkeys(files, ""))
    assert [path.name for path in solution_paths(tmp_path, "one")] == found


def test_two_solutions_and_links_cannot_be_used(tmp_path):
    written(tmp_path, {"s/one.patch": "", "s/one/a": "", "s/two.md": "", "s/two.patch": ""})
    (tmp_path / "s" / "three.md").symlink_to("two.md")
    (tmp_path / "t").symlink_to("s")
    with closing(Checkout(tmp_path)) as checkout:
        problems = [problem_with(solution_paths(tmp_path / "s", name), checkout) for name in ("one", "two", "three")]
        through_link = problem_with(solution_paths(tmp_path / "t", "two"), checkout)
    assert problems[0] == "there are two solutions, one.patch and one"
    assert problems[1] is None
    assert "link" in problems[2]
    assert "link" in through_link
