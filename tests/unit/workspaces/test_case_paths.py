"""Cases that are selected together, and modules that suite programs import."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import suite_at
from scratch import repository, world_in, written
from skillgym_action.model.errors import Location
from skillgym_action.model.suite import BenchmarkCase, InputFile, WorkspaceSpec
from skillgym_action.system.files.checkout import Checkout
from skillgym_action.workspaces.case_paths import CasePaths
from skillgym_action.workspaces.program_imports import imported_modules

SUITE = "bench/core.json"


def suite_of(root, *cases: BenchmarkCase, workspace: WorkspaceSpec):
    return replace(suite_at(SUITE), file=root / SUITE, cases=cases, workspace=workspace, hidden=(), files=())


def case_of(root, case_id: str, mode: str = "isolated", **more) -> BenchmarkCase:
    file = InputFile(path="in.txt", source=root / f"{case_id}.txt")
    spec = WorkspaceSpec(mode=mode, source="empty", files=(file,))  # type: ignore[arg-type]
    return BenchmarkCase(
        id=case_id, prompt="Do it", location=Location(path=SUITE), assertions=(), workspace=spec, **more
    )


def touched(root, path: str, *cases: BenchmarkCase) -> set[str]:
    with world_in(root) as services:
        paths = CasePaths([suite_of(root, *cases, workspace=WorkspaceSpec())], services.suites)
        return {case_id for _, case_id in paths.of(path)}


@pytest.fixture
def root(tmp_path):
    return repository(tmp_path / "repository", {f"{name}.txt": name for name in "abcd"}, git=True)


def test_an_input_file_belongs_to_its_case(root):
    assert touched(root, "a.txt", case_of(root, "a"), case_of(root, "b")) == {"a"}
    assert touched(root, "other.txt", case_of(root, "a"), case_of(root, "b")) == set()


def test_cases_that_depend_on_each_other_are_selected_together(root):
    cases = (case_of(root, "a"), case_of(root, "b", depends_on=("a",)), case_of(root, "c", depends_on=("b",)))
    for path in ("a.txt", "b.txt", "c.txt"):
        assert touched(root, path, *cases, case_of(root, "d")) == {"a", "b", "c"}
    assert touched(root, "d.txt", *cases, case_of(root, "d")) == {"d"}


def test_cases_in_one_workspace_are_selected_together(root):
    cases = (case_of(root, "a", "shared"), case_of(root, "b", "shared"), case_of(root, "c"))
    assert touched(root, "a.txt", *cases) == {"a", "b"}
    assert touched(root, "c.txt", *cases) == {"c"}


def test_a_link_in_a_template_leads_to_an_input(root):
    (root / "template").mkdir()
    (root / "template/data.txt").symlink_to("../a.txt")
    spec = WorkspaceSpec(source="template", template=root / "template")
    assert touched(root, "a.txt", replace(case_of(root, "b"), workspace=spec), case_of(root, "c")) == {"b"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import helper", ["helper.py"]),
        ("import os, helper as h", ["helper.py"]),
        ("from pack import inner", ["pack/__init__.py", "pack/inner.py"]),
        ("from pack.inner import (\n    one,\n    two,\n)", ["pack/__init__.py", "pack/inner.py"]),
        ("def check():\n    from . import helper", ["helper.py"]),
        ("from .pack import inner", ["pack/__init__.py", "pack/inner.py"]),
        ("import deep", ["deep.py", "helper.py"]),
        ("import missing\nfrom ..x import y\nimport ...\nfrom a..b import (", []),
        ("# import helper", []),
    ],
)
def test_modules_that_a_python_suite_imports(root, text, found):
    files = {"helper.py": "import suite\n", "pack/__init__.py": "", "pack/inner.py": "", "deep.py": "import helper\n"}
    written(root, files | {"suite.py": text})
    modules = imported_modules(root / "suite.py", Checkout(root))
    assert sorted(module.relative_to(root).as_posix() for module in modules) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('import { a } from "./lib/a.ts";', ["lib/a.ts"]),
        ("import './lib/a'", ["lib/a.ts"]),
        ('export * from "./lib/a.js"', ["lib/a.ts"]),
        ('const b = await import("./lib")', ["lib/a.ts", "lib/index.ts"]),
        ("const data = require('./data.json')", ["data.json"]),
        ('import { x } from "skillgym"; import y from "../../outside.ts"', []),
        ('import x from "./\0.ts"', []),
    ],
)
def test_modules_that_a_typescript_suite_imports(root, text, found):
    files = {"lib/a.ts": "", "lib/index.ts": 'export * from "./a.js"', "data.json": "{}", "suite.ts": text}
    written(root, files)
    modules = imported_modules(root / "suite.ts", Checkout(root))
    assert sorted(module.relative_to(root).as_posix() for module in modules) == found
