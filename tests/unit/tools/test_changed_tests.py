"""Which tests the program selects for a change."""

from __future__ import annotations

import fnmatch
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import changed_tests
from changed_tests import (
    DOCUMENTS,
    MARKS,
    SMOKE_OF,
    Selection,
    Tree,
    imports,
    marked,
    room_of,
    runs,
    selection,
    tree_of,
)
from paths import REPOSITORY
from scratch import git_in, written

if TYPE_CHECKING:
    from pathlib import Path

ALL = ("tests/smoke", "tests/unit")
TEXTS = {
    "tests/smoke/test_reports.py": "from scratch import skillgym\n",
    "tests/smoke/test_starts.py": "from paths import DATA\n\nSUITE = DATA / 'suites' / 'one.yaml'\n",
    "tests/unit/cli/commands/test_report.py": "",
    "tests/unit/model/test_scores.py": "from skillgym_action.reports.files import (\n  ctrf,\n  junit,  # both\n)\n",
    "tests/unit/reports/files/test_junit.py": "from paths import GOLDENS\nfrom builders import result, suite\n",
    "tests/unit/reports/html/test_report.py": "",
    "tests/unit/reports/test_tables.py": "",
    "tests/unit/results/test_merge.py": "",
    "tests/unit/test_architecture.py": "",
    "tests/unit/system/test_clock.py": "",
    "tests/integration/test_cli.py": "from scratch import skillgym\nimport only_slow\n",
    "tests/integration/test_docs.py": "",
    "tests/integration/test_schemas.py": "PAGE = 'docs/how-to/editor.md'\n",
    "tests/agents/test_real.py": "import attacks\n",
    "tests/browser/test_page.py": "import attacks\n",
    "tests/container/test_image.py": "import only_slow\nimport attacks\n",
    "tests/support/builders.py": "from shapes import shape\n",
    "tests/support/shapes.py": "FILE = 'shapes.json'\n",
    "tests/support/scratch.py": "",
    "tests/support/only_slow.py": "",
    "tests/support/attacks.py": "",
}
TREE = Tree(
    texts=TEXTS,
    importers={
        "skillgym_action.reports.files.junit": frozenset(
            {"skillgym_action.reports", "skillgym_action.cli.commands.report"}
        ),
        "skillgym_action.reports.files.ctrf": frozenset({"skillgym_action.results.merge"}),
        "skillgym_action.reports.html.report": frozenset({"skillgym_action.reports.files.junit"}),
        "skillgym_action.system.clock": frozenset({"skillgym_action.pipeline.wiring", "skillgym_action.results.merge"}),
    },
    smoke={"reports": ("reports",), "system": ()},
)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param(
            "src/skillgym_action/reports/files/junit.py",
            (
                "tests/smoke/test_reports.py",
                "tests/unit/cli/commands",
                "tests/unit/model/test_scores.py",
                "tests/unit/reports/files",
                "tests/unit/reports/test_tables.py",
                "tests/unit/results",
                "tests/unit/test_architecture.py",
            ),
            id="a room, its importers, who imports the module, and its runs",
        ),
        pytest.param(
            "src/skillgym_action/system/clock.py",
            ("tests/unit/results", "tests/unit/system", "tests/unit/test_architecture.py"),
            id="a module without runs",
        ),
        pytest.param(
            "src/skillgym_action/pipeline/wiring.py",
            ("tests/smoke/test_reports.py", "tests/smoke/test_starts.py", "tests/unit/test_architecture.py"),
            id="a module that is in no table: every run",
        ),
        pytest.param(
            "templates/report.css",
            (
                "tests/smoke/test_reports.py",
                "tests/unit/reports/files",
                "tests/unit/reports/html",
                "tests/unit/reports/test_tables.py",
                "tests/unit/test_architecture.py",
            ),
            id="a template of reports",
        ),
        pytest.param(
            "tests/unit/cli/commands/test_report.py", ("tests/unit/cli/commands/test_report.py",), id="a test"
        ),
        pytest.param("tests/integration/test_cli.py", ("tests/integration/test_cli.py",), id="a slower test"),
        pytest.param("tests/unit/cli/commands/test_gone.py", (), id="a test that was removed"),
        pytest.param("tests/container/test_image.py", (), id="a test that needs an engine"),
        pytest.param("tests/support/scratch.py", ("tests/smoke/test_reports.py",), id="a module of quick tests"),
        pytest.param(
            "tests/support/only_slow.py",
            ("tests/integration/test_cli.py",),
            id="a module of slower tests",
        ),
        pytest.param("tests/support/shapes.py", ("tests/unit/reports/files/test_junit.py",), id="a module of a module"),
        pytest.param("tests/support/attacks.py", (), id="a module of tests that other commands run"),
        pytest.param("tests/agents/test_real.py", (), id="a test that needs the CLIs of agents"),
        pytest.param("tests/support/gone.py", ALL, id="a module that nothing imports"),
        pytest.param("tests/data/suites/two/a.md", ("tests/smoke/test_starts.py",), id="a file in a named folder"),
        pytest.param(
            "tests/data/shapes.json", ("tests/unit/reports/files/test_junit.py",), id="a file that a module names"
        ),
        pytest.param(
            "tests/goldens/log.txt", ("tests/unit/reports/files/test_junit.py",), id="a file in a known folder"
        ),
        pytest.param("tests/captures/a/out.json", ALL, id="a file that nothing reads"),
        pytest.param("README.md", ("tests/integration/test_docs.py",), id="a document"),
        pytest.param(
            "docs/how-to/editor.md",
            ("tests/integration/test_docs.py", "tests/integration/test_schemas.py"),
            id="a document that a test names",
        ),
        *(
            pytest.param(path, ALL, id=path)
            for path in (
                "pyproject.toml",
                "Makefile",
                "requirements/development.txt",
                "tests/conftest.py",
                "action.yml",
            )
        ),
    ],
)
def test_a_change_needs_the_tests_of_what_it_affects(changed, expected):
    assert selection([changed], TREE).chosen == expected


def test_tests_that_other_commands_run_are_named():
    chosen = selection(["tests/support/attacks.py", "tests/browser/chromium.sh"], TREE)
    assert (chosen.chosen, runs(chosen, TREE)) == ((), [])
    assert chosen.elsewhere == {
        "make test-rest, make test-agents": ("tests/agents/test_real.py",),
        "make test-browser": ("tests/browser/chromium.sh", "tests/browser/test_page.py"),
        "make test-container": ("tests/container/test_image.py",),
    }


def test_nothing_is_chosen_twice_and_the_reasons_are_in_one_line():
    changed = [
        "src/skillgym_action/system/clock.py",
        "tests/unit/results/test_merge.py",
        "tests/container/test_image.py",
    ]
    assert selection(changed, TREE) == Selection(
        why={
            "system changed": ("tests/unit/system",),
            "rooms that import system": ("tests/unit/results",),
            "runs for system": (),
            "all sources": ("tests/unit/test_architecture.py",),
            "import system.clock": (),
            "changed": ("tests/unit/results/test_merge.py",),
        },
        changed=("tests/unit/results/test_merge.py",),
        elsewhere={"make test-container": ("tests/container/test_image.py",)},
    )
    assert selection(changed, TREE).chosen == (
        "tests/unit/results",
        "tests/unit/system",
        "tests/unit/test_architecture.py",
    )
    assert selection(changed, TREE).summary() == (
        "system changed: tests/unit/system; rooms that import system: tests/unit/results; "
        "all sources: tests/unit/test_architecture.py; changed: tests/unit/results/test_merge.py; "
        "not run here: tests/container/test_image.py (make test-container)"
    )
    assert selection([], TREE).summary() == "no changed file has tests"


SLOW = "@pytest.mark.slow\ndef test_a(): pass\n"
TIMED = "@pytest.mark.timed\ndef test_b(): pass\n"
QUICK = "def test_c(): pass\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(QUICK, {""}, id="quick"),
        pytest.param(SLOW + QUICK, {"slow", ""}, id="slow and quick"),
        pytest.param("import pytest\npytestmark = [pytest.mark.slow]\n" + QUICK, {"slow"}, id="slow as a whole"),
        pytest.param("class TestA:\n    @pytest.mark.timed\n    def test_a(self): pass\n", {"timed"}, id="in a class"),
        pytest.param("def helper(): pass\n", set(), id="no test"),
    ],
)
def test_marks_of_a_file_are_read(text, expected):
    assert marked(text) == expected


def test_slow_tests_of_changed_files_run_too_and_timed_ones_run_alone():
    texts = {f"tests/unit/test_{name}.py": text for name, text in (("both", SLOW + QUICK), ("timed", TIMED))}
    tree = Tree(texts=texts, importers={})
    assert runs(selection(texts, tree), tree) == [
        ["-m", MARKS, "tests/unit/test_both.py"],
        ["-m", "slow and not timed", "tests/unit/test_both.py"],
        ["-n", "0", "-m", "timed", "tests/unit/test_timed.py"],
    ]
    assert runs(selection([], tree), tree) == []


def test_imports_of_every_form_are_seen():
    text = "import os, a.b as c\nfrom d import (\n  e,  # why\n  f as g,\n)\n    from h.i import j\n# from k import l\n"
    assert imports(text) == {"os", "a.b", "d", "d.e", "d.f", "h.i", "h.i.j"}


# --- this repository ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def here() -> Tree:
    return tree_of(REPOSITORY)


def test_the_table_of_runs_has_every_package_and_names_only_tests_that_are_there(here):
    rooms = {room_of(module) for module in here.importers}
    packages = {room.partition(".")[0] for room in rooms} - {changed_tests.PACKAGE}
    assert packages <= set(SMOKE_OF) <= rooms | packages
    stems = [path.rpartition("/")[2].removesuffix(".py") for path in here.tests("tests/smoke/")]
    named = {name for names in SMOKE_OF.values() for name in names}
    assert [name for name in sorted(named) if not fnmatch.filter(stems, f"test_{name}")] == []


def test_tests_of_documents_are_there(here):
    stems = {path.rpartition("/")[2] for path in here.tests()}
    assert [name for name in DOCUMENTS if f"test_{name}.py" not in stems] == []


# --- a repository of its own -------------------------------------------------------------------------

COMMIT = ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--all", "--message", "x")


@pytest.fixture
def repository(tmp_path) -> Path:
    """A branch that is one commit ahead of main, and two packages of which one imports the other."""
    folder = tmp_path / "repository"
    source = "src/skillgym_action"
    files = {
        f"{source}/__init__.py": "",
        f"{source}/text/__init__.py": "",
        f"{source}/cli/__init__.py": "import skillgym_action.text\n",
        **{f"tests/unit/{name}/test_{name}.py": QUICK for name in ("text", "cli", "model")},
        ".gitignore": "*.pyc\n",
    }
    git_in(written(folder, files), "init", "--quiet", "--initial-branch=main")
    git_in(folder, "add", ".")
    git_in(folder, *COMMIT)
    git_in(folder, "switch", "--quiet", "--create", "branch")
    return folder


def printed(repository: Path, *arguments: str) -> tuple[list[list[str]], str]:
    """The arguments of each run, and the summary."""
    argv = (sys.executable, changed_tests.__file__, "--repository", repository, *arguments)
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=repository)
    return [shlex.split(line) for line in done.stdout.splitlines()], done.stderr


def test_commits_uncommitted_changes_and_new_files_are_a_change(repository):
    assert printed(repository) == ([], "test-changed: no changed file has tests\n")
    written(repository, {"src/skillgym_action/text/__init__.py": "A = 1\n"})
    git_in(repository, *COMMIT)
    written(repository, {"tests/unit/model/test_model.py": SLOW, "tests/unit/model/test_new.py": QUICK, "a.pyc": ""})
    assert printed(repository) == (
        [
            ["-m", MARKS, "tests/unit/cli", "tests/unit/model/test_new.py", "tests/unit/text"],
            ["-m", "slow and not timed", "tests/unit/model/test_model.py"],
        ],
        (
            "test-changed: text changed: tests/unit/text; rooms that import text: tests/unit/cli; "
            "changed: tests/unit/model/test_model.py tests/unit/model/test_new.py\n"
        ),
    )
    assert printed(repository, "HEAD")[0][0] == ["-m", MARKS, "tests/unit/model/test_new.py"]


def test_a_renamed_file_counts_under_both_names(repository):
    git_in(repository, "mv", "src/skillgym_action/text", "src/skillgym_action/cli/inner")
    found, _ = printed(repository)
    assert found == [["-m", MARKS, "tests/unit/cli", "tests/unit/text"]]


def test_a_base_that_is_not_there_is_an_error_that_names_the_remedy(repository):
    assert printed(repository, "nothing")[0] == []
    assert "nothing" in printed(repository, "nothing")[1]
    git_in(repository, "branch", "--move", "main", "trunk")
    assert "BASE=HEAD~1" in printed(repository)[1]
