"""Changes drawn by a seed: what is changed, which tests run, and what is printed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import generated_mutants
from changed_tests import PACKAGE, Tree
from generated_mutants import NOT_DRAWN, Change, changes, changes_the_program, drawn, groups
from scratch import git_in, written

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("a == b < c\n", {"a != b < c", "a == b <= c"}, id="comparisons"),
        pytest.param("a is  not b\n", {"a is b"}, id="a comparison of two words"),
        pytest.param("(a) not in (b)\n", {"(a) in (b)"}, id="beside brackets"),
        pytest.param("a >= (  # why\n  b)\n", set(), id="not beside a comment"),
        pytest.param("é == 'x'\n", {"é != 'x'", "é == 'xx'"}, id="a text in a comparison, after more than ASCII"),
        pytest.param("f = 'x'\n", set(), id="another text"),
        pytest.param("a and b or c\n", {"a or b or c", "a and b and c"}, id="and, or"),
        pytest.param("not(a)\n", {"(a)"}, id="not"),
        pytest.param("a = True\n", {"a = False"}, id="a truth value"),
        pytest.param("a = -2_000, 0.5\n", {"a = -2001, 0.5", "a = -2_000, 1.5"}, id="numbers"),
        pytest.param("def f() -> int:\n  return a\n", {"def f() -> int:\n  return None"}, id="a returned value"),
        pytest.param("raise A\n", {"pass"}, id="an exception"),
        pytest.param("f(\n  a)\n", {"pass"}, id="a call of several lines"),
        pytest.param("if a:\n  b\n", {"if True:\n  b", "if False:\n  b"}, id="a condition"),
        pytest.param("b = c if a else d\n", {"b = c if True else d", "b = c if False else d"}, id="a short one"),
        pytest.param("while a:\n  b\n", {"while False:\n  b"}, id="a loop, which does not become endless"),
        pytest.param("[a for a in b if a]\n", {f"[a for a in b if {one}]" for one in (True, False)}, id="a filter"),
        pytest.param("a: f(1 == 2) = b\n", set(), id="not an annotation"),
        pytest.param("f'{a == 1}'\n", set(), id="not in a text with fields"),
        pytest.param("if TYPE_CHECKING:\n  a = 1\n", set(), id="not a block for types"),
    ],
)
def test_each_operator_condition_and_value_has_its_changes(source, expected):
    assert {change.applied(source).rstrip("\n") for change in changes("a.py", source)} == expected


def test_a_change_applies_if_lines_were_added_above_and_not_if_its_line_is_gone():
    (change,) = changes("a.py", "x = f\ny = 1\n")
    assert change == Change(file="a.py", line=2, column=4, text="1", becomes="2", whole="y = 1\n")
    assert change.shown() == "a.py:2: 1 -> 2"
    assert change.applied("\n\nx = f\ny = 1\n") == "\n\nx = f\ny = 2\n"
    assert [change.applied(source) for source in ("y = 3\n", "z\nz\ny = 1\ny = 1\n", "")] == [None, None, None]


def test_a_change_without_effect_or_with_a_syntax_error_does_not_count():
    one = Change(file="a.py", line=1, column=0, text="1", becomes="0x1", whole="1\n")
    assert not changes_the_program(one, "1\n")
    assert not changes_the_program(Change(**{**vars(one), "becomes": "1("}), "1\n")
    assert changes_the_program(Change(**{**vars(one), "becomes": "2"}), "1\n")


SOURCES = {f"{name}.py": "".join(f"a{line} = {line}\n" for line in range(50)) for name in ("one", "two")}


def test_a_seed_draws_the_same_lines_and_each_line_once():
    found = drawn(60, 1, SOURCES)
    assert found == drawn(60, 1, SOURCES) != drawn(60, 2, SOURCES)
    assert len({(change.file, change.line) for change in found}) == 60
    assert {change.file for change in found} == {"one.py", "two.py"}
    assert len(drawn(1000, 1, SOURCES)) == 100


def test_the_nearest_tests_come_first():
    files = {"model/test_scores.py": "", "model/test_arm.py": "", "cli/test_a.py": "", "text/test_b.py": ""}
    texts = {f"tests/unit/{file}": text for file, text in files.items()}
    texts["tests/unit/text/test_b.py"] = f"from {PACKAGE}.model.scores import a\n"
    tree = Tree(texts=texts, importers={f"{PACKAGE}.model.scores": frozenset({f"{PACKAGE}.cli.run"})})
    assert groups("model/scores.py", tree) == [
        ["tests/unit/model/test_scores.py", "tests/unit/text/test_b.py"],
        ["tests/unit/model"],
        ["tests/unit/cli"],
    ]
    assert groups("system/clock.py", tree) == []


# --- a repository of its own -------------------------------------------------------------------------

SOURCE = f"src/{PACKAGE}"
GUARD = (
    "def one():\n    return True\n\n\ndef two(number):\n    while number != 3:\n        number += 1\n\n\nthree = 3\n"
)
TESTS = f"""\
from {PACKAGE}.room import guard

def test_one():
    assert guard.one()

def test_two():
    guard.two(0)

def test_without_a_mutant():
    assert guard.three == 4
"""


@pytest.fixture
def repository(tmp_path) -> Path:
    """A product of one module, and tests of it of which one fails."""
    folder = tmp_path / "repository"
    files = {
        f"{SOURCE}/__init__.py": "",
        f"{SOURCE}/room/__init__.py": "",
        f"{SOURCE}/room/guard.py": GUARD,
        f"{SOURCE}/{NOT_DRAWN[0]}kill.py": "number = 1\n",
        "tests/unit/room/test_guard.py": TESTS,
    }
    git_in(written(folder, files), "init", "--quiet")
    return folder


def said(*arguments: object) -> tuple[int, list[str]]:
    argv = (sys.executable, generated_mutants.__file__, *map(str, arguments))
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


@pytest.mark.slow
def test_only_a_test_that_passes_without_the_mutant_kills_it_and_the_sources_stay(repository, tmp_path):
    before = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()}
    listed = tmp_path / "mutants.json"
    assert said("--repository", repository, "--list", listed) == (0, [])
    listed.write_text(listed.read_text().replace('"three = 3\\n"', '"three = 33\\n"'))
    code, rows = said("--repository", repository, "--from", listed, "--seconds", 5)
    assert code == 1, "one line no longer exists"
    test = "tests/unit/room/test_guard.py::test_"
    assert rows[:2] == ["tests that fail without a mutant: 1", f"  {test}without_a_mutant"]
    by_line = {row.split(":")[1]: row for row in rows[2:-1]}
    assert {line: row.split()[0] for line, row in by_line.items()} == {
        "2": "killed",
        "6": "survived",
        "7": "timeout",
        "10": "stale",
    }
    assert f"  [{test}one" in by_line["2"]
    assert rows[-1].startswith("1 killed, 1 stale, 1 survived, 1 timeout: 66.7% noticed, ")
    assert {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()} == before
