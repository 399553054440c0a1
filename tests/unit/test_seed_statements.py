"""What the original documents say: each statement has tests, and what they refer to is here."""

from __future__ import annotations

import ast
import tomllib
from functools import cache

from paths import DATA, REPOSITORY
from table_rows import each_row

STATEMENTS = tomllib.loads((DATA / "seed-statements.toml").read_text(encoding="utf-8"))
TESTS = REPOSITORY / "tests"


@cache
def named_in(path: str) -> frozenset[str]:
    """The names of the tests in a file, also of those that a table makes."""
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@each_row((says, named) for document in STATEMENTS.values() for says, named in document.items())
def test_every_statement_of_the_original_documents_has_tests_that_exist(named):
    assert named, "no test sees it"
    missing = [test for test in named if test.partition("::")[2] not in named_in(test.partition("::")[0])]
    assert missing == []
    assert all(test.partition("::")[2].startswith("test_") for test in named)


def test_no_document_and_no_statement_is_lost():
    assert {document: len(says) for document, says in STATEMENTS.items()} == {
        "skillgym": 95, "x-bench": 43, "agentv": 43,
    }  # fmt: skip


def test_the_pages_that_the_original_documents_refer_to_are_here():
    pages = REPOSITORY / "docs" / "reference"
    assert {"assertions.md", "workspaces.md"} <= {page.name for page in pages.glob("*.md")}
    text = (pages / "workspaces.md").read_text(encoding="utf-8")
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == [
        "## Modes", "## Paths", "## Content", "## Bootstrap", "## What becomes of a workspace",
    ]  # fmt: skip


def test_the_examples_are_called_as_in_the_original_document():
    examples = {path.name for path in (REPOSITORY / "examples" / "typescript").glob("*.ts")}
    assert examples == {"basic-suite.ts", "skill-selection-suite.ts", "workspace-isolation-suite.ts"}
