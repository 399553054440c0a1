"""Which cases a change touches: each input of each format is changed, deleted, renamed, and gets a new neighbour.

The inputs, and what they touch, are a table in ``support/monorepo.py``.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

import pytest

from monorepo import INPUTS, KINDS, Input, mono_repository, planned, touched, words_of
from scratch import committed, git_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return mono_repository(tmp_path_factory.mktemp("mono") / "repository")


@pytest.fixture
def root(whole) -> Iterator[Path]:
    yield whole
    git_in(whole, "reset", "--quiet", "--hard", "main")
    git_in(whole, "clean", "--quiet", "--force", "-d")


def ids(one: Input) -> str:
    return f"{one.kind}-{one.path}".replace("/", "_").replace(" ", "_")


def beside(path: str, name: str) -> str:
    return posixpath.join(posixpath.dirname(path), name)


def test_the_table_has_every_kind_of_input():
    assert (
        *("suite file", "case file", "file with tests", "variables", "template", "input file", "file beside a case"),
        *("skill", "plugin", "grader", "hook", "bootstrap", "imported module", "reference solution"),
        *("runner's program", "runner's recordings", "configuration", "declared input", "declared to be none"),
        *("quarantine file", "report template", "snapshots", "not mapped"),
    ) == KINDS


def test_the_table_has_every_file_of_the_repository(root):
    # What is left out lies beside a file of the same kind, or only makes others complete.
    left_out = {
        "agentv/cases/beta/case.yaml",
        "plugin/evals/two/graders/hello.md",
        "plugin/evals/two/prompt.md",
        "py/tools/__init__.py",
        "reports/comment.md.j2",
    }
    assert set(git_in(root, "ls-files").split()) == {one.path for one in INPUTS} | left_out


def test_all_suites_of_the_repository_can_be_used(root):
    plan = planned(root)
    assert [str(entry.invalid.problem) for entry in plan.unrunnable] == []
    assert {suite.format for suite in plan.suites} == {
        *("agentv", "plugin-evals", "python", "skill-evals", "typescript", "x-bench")
    }
    assert all(words_of(plan, [word]) for one in INPUTS for word in one.changed)


def test_a_changed_byte_selects_exactly_its_cases(root):
    """All inputs are changed at once; what each file selects does not depend on others."""
    for one in INPUTS:
        file = root / one.path
        file.write_bytes(file.read_bytes() + b"\n")
    committed(root)
    plan = planned(root)
    found = {one.path: touched(plan, one.path) for one in INPUTS}
    assert found == {one.path: words_of(plan, one.changed) for one in INPUTS}


def test_a_deleted_configuration_selects_all(root):
    (root / "skillgym.config.yaml").unlink()
    plan = planned(root, runner=("claude-code",))
    assert touched(plan) == words_of(plan, "*")


@pytest.mark.parametrize("one", [one for one in INPUTS if one.kind != "configuration"], ids=ids)
def test_a_deleted_file_selects_the_cases_that_may_have_had_it(root, one):
    (root / one.path).unlink()
    plan = planned(root)
    assert touched(plan, one.path) == words_of(plan, one.changed if one.deleted is None else one.deleted)


def test_a_new_file_selects_the_cases_that_get_it(root):
    new = {one: beside(one.path, "added.txt") for one in INPUTS}
    for path in new.values():
        (root / path).write_text("new")
    plan = planned(root)
    found = {one.path: touched(plan, path) for one, path in new.items()}
    assert found == {one.path: words_of(plan, one.added) for one in new}


@pytest.mark.parametrize(
    "kind", ["template", "skill", "reference solution", "declared input", "runner's recordings", "file beside a case"]
)
def test_a_renamed_file_selects_what_both_names_select(root, kind):
    one = next(entry for entry in INPUTS if entry.kind == kind)
    git_in(root, "mv", one.path, beside(one.path, "added.txt"))
    plan = planned(root)
    gone = one.changed if one.deleted is None else one.deleted
    assert {file.path for file in plan.selection.files} == {one.path, beside(one.path, "added.txt")}
    assert touched(plan) == words_of(plan, (*gone, *one.added))


def test_a_file_moved_from_one_template_to_another_selects_the_cases_of_both(root):
    git_in(root, "mv", "py/template/app.txt", "ts/template/moved.txt")
    plan = planned(root)
    assert touched(plan) == words_of(plan, ("py/notes_suite.py", "ts/price-suite.ts", "bench/copy.json"))
