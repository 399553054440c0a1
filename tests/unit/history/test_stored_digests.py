"""Digests that are stored and compared with those of later runs, of a plan with each format and each assertion.

They are the same in each place and for each user, and they outlive changes of the source. They contain names of classes
and fields, and no names of modules: if a class or field gets another name, ``canonical`` has to write the old one. A
change of the golden file is a decision, with a line in CHANGELOG.md: baselines begin anew, and no earlier session is
reused or resumed. Only then write the file again, with ``.venv/bin/python tools/goldens.py digests``.
"""

from __future__ import annotations

import ast
import json

import pytest

from every_format import stored_digests
from paths import GOLDENS, REPOSITORY
from skillgym_action.history.digests import READERS

pytestmark = pytest.mark.slow
OF_NO_SUITE = {"AssertionGroup"}
"""Classes that no case has: a list of assertions takes those of an include one by one."""


def judges_alone(function: ast.FunctionDef) -> bool:
    """Whether it is the method that makes a class an assertion, a grader or a judge of turns."""
    arguments = [one.arg for one in function.args.args]
    return function.name in {"judge", "grade", "judge_turn"} and arguments == ["self", "context"]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return stored_digests(tmp_path_factory.mktemp("digests"))


def test_stored_digests_are_as_they_were(found):
    assert found == json.loads((GOLDENS / "digests.json").read_text(encoding="utf-8"))


def test_every_class_that_judges_is_in_a_stored_digest(found):
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in (REPOSITORY / "src").rglob("*.py"))
    classes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    judges = {
        one.name
        for one in classes
        if "Protocol" not in map(ast.unparse, one.bases)
        and any(isinstance(part, ast.FunctionDef) and judges_alone(part) for part in one.body)
    }
    assert judges - set(found["classes"]) == OF_NO_SUITE


def test_every_class_that_only_reads_is_in_a_stored_digest(found):
    assert READERS - set(found["classes"]) == set()
