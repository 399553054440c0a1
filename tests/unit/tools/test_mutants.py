"""The list of mutants fits the sources, and the program that tries them tells those that are noticed from others."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING

import psutil
import pytest

import mutants
from mutants import LIST, PACKAGE, REPOSITORY, Mutant
from scratch import git_in, written
from table_rows import each_row_holds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LISTED = mutants.mutants()


def each_entry_holds(check: Callable[[Mutant], None]) -> None:
    each_row_holds(((mutant.name, mutant) for mutant in LISTED), check)


def test_every_entry_fits_the_sources():
    def fits(mutant: Mutant) -> None:
        assert mutant.stale(REPOSITORY) is None
        assert mutant.tests
        assert mutant.removes

    each_entry_holds(fits)


@pytest.mark.slow
def test_every_entry_changes_what_the_program_does():
    unchanged = cache(lambda file: ast.dump(ast.parse(source_of(file))))

    def changes(mutant: Mutant) -> None:
        changed = source_of(mutant.file).replace(mutant.text, mutant.becomes)
        assert ast.dump(ast.parse(changed)) != unchanged(mutant.file)

    each_entry_holds(changes)


def source_of(file: str) -> str:
    return (REPOSITORY / PACKAGE / file).read_text(encoding="utf-8")


def test_there_are_many_and_each_has_a_name_of_its_own():
    assert len({mutant.name for mutant in LISTED}) == len(LISTED) >= 40
    assert len({(mutant.file, mutant.text, mutant.becomes) for mutant in LISTED}) == len(LISTED)


@pytest.mark.slow
def test_every_test_that_is_named_is_there_with_its_parameters():
    """One name that is not ends the collection of all."""
    named = sorted({test for mutant in LISTED for test in mutant.tests})
    argv = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *named]
    done = subprocess.run(argv, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


ENTRY = """\
[[mutants]]
name = "{name}"
file = "{file}"
text = "{text}"
becomes = "return {name}"
removes = "x"
tests = ["{test}"]
"""


def made(name: str, text: str = "return True", file: str = "guard.py", test: str = "test_a") -> str:
    return ENTRY.format(name=name, text=text, file=file, test=f"tests/test_guard.py::{test}")


@pytest.fixture
def repository(tmp_path) -> Path:
    """A product of one protection that is tested, and of one that is not."""
    files = {
        f"{PACKAGE}/__init__.py": "",
        f"{PACKAGE}/guard.py": "def one():\n    return True\n\n\ndef two():\n    return not False\n",
        "tests/test_guard.py": "from skillgym_action.guard import one\n\n\ndef test_a():\n    assert one()\n",
        LIST: made("False"),
    }
    git_in(written(tmp_path / "repository", files), "init", "--quiet")
    return tmp_path / "repository"


def tried(repository: Path, *only: str) -> tuple[int, list[str]]:
    """The exit code, and the first words of each line."""
    argv = (sys.executable, mutants.__file__, *only, "--repository", repository)
    done = subprocess.run(argv, capture_output=True, check=False, text=True, timeout=60)
    assert done.stderr == ""
    return done.returncode, [line.split("  ")[0] for line in done.stdout.splitlines() if not line.startswith(" ")]


@pytest.mark.slow
def test_mutants_that_a_test_notices_are_killed_and_the_sources_stay(repository):
    before = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()}
    code, rows = tried(repository)
    assert (code, rows[1], rows[2].startswith("1 killed in")) == (0, "killed", True)
    assert {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()} == before


OTHERS = {
    "True": ("survived", {"text": "return not False"}),
    "None": ("stale", {"text": "return maybe"}),
    "0": ("stale", {"text": "return "}),
    "0.0": ("stale", {"file": "gone.py"}),
    "''": ("stale", {"test": "test_b"}),
    "False)": ("broken", {}),
}


LEAVES = """
import os
from skillgym_action.guard import one
def test_a():
    os.system("setsid sleep {mark} >/dev/null 2>&1 &")
    assert one()
"""


@pytest.mark.slow
def test_what_tests_leave_running_ends_with_the_program(repository):
    mark = f"4714.{os.getpid()}"
    written(repository, {"tests/test_guard.py": LEAVES.format(mark=mark)})
    assert tried(repository)[0] == 0
    assert [
        process.pid for process in psutil.process_iter(["cmdline"]) if mark in (process.info["cmdline"] or ())
    ] == []


@pytest.mark.slow
def test_any_other_mutant_is_an_error_that_says_which(repository):
    entries = (made(name, **changes) for name, (_, changes) in OTHERS.items())
    written(repository, {LIST: "\n".join([*entries, made("()")])})
    code, rows = tried(repository)
    assert code == 1
    expected = ["killed", *(status for status, _ in OTHERS.values())]
    assert sorted(row.split(" ")[0] for row in rows[:-1] if not row.startswith("without")) == sorted(expected)
    assert tried(repository, r"^\(\)")[0] == 0


@pytest.mark.slow
def test_a_test_that_fails_without_a_mutant_kills_none(repository):
    written(repository, {"tests/test_guard.py": "def test_a():\n    assert False\n"})
    code, rows = tried(repository)
    assert (code, rows[0][:36]) == (1, "without a mutant 0 of 1 tests pass (")
    assert rows[-2].startswith("in vain")


def test_a_test_that_only_begins_like_one_that_fails_has_not_failed():
    test = "tests/test_a.py::test_b"
    assert [mutants._is_of(f"tests/test_a.py::test_{failed}", test) for failed in ("b", "b[x]", "b - y", "bc")] == [
        True, True, True, False,
    ]  # fmt: skip
    assert isinstance(LISTED[0], Mutant)
