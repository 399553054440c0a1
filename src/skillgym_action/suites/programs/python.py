"""Suites written in Python: programs that a suite host imports, and describes as data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillgym_action.model.suite import NotASuite
from skillgym_action.suites import vendored_folder
from skillgym_action.suites.programs.suite import (
    ImportNames,
    empty_rejection,
    imports_nearly,
    is_blank,
    loaded_suite,
    misnamed,
    written_like_one,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.suites import SuiteFile

PACKAGE = __name__.partition(".")[0]
NAME = re.compile(r"(^|[/_.-])suite\.py$", re.IGNORECASE)

_IMPORTS = ImportNames(
    pattern=re.compile(r"^[ \t]*(?:from|import)[ \t]+([\w-]+)(?![\w.-])", re.MULTILINE), known=(PACKAGE, "skillgym")
)
_MENTION = re.compile(rf"\b{PACKAGE}\b(?!\.\w)")  # modules below the package are not for suites
_SUITE = re.compile(r"^(?:suite\b[^=\n]*=|@suite\.case\b)", re.MULTILINE)
_CASE = re.compile(r"\bCase\s*\(|\.case\s*\(")
_IMPORTED = re.compile(rf"^from[ \t]+{PACKAGE}[ \t]+import[ \t]*(?:\(([^)]*)\)|([^\n]*))", re.MULTILINE)
_IMPORTED_MODULE = re.compile(rf"^import[ \t]+{PACKAGE}(?:[ \t]+as[ \t]+(\w+))?[ \t]*(?:#|$)", re.MULTILINE)
_IMPORTED_NAME = re.compile(r"\b(Case|Suite)\b(?:\s+as\s+(\w+))?")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*[ \t]*(?::[^=\n]*)?=(?!=)")
_TESTS = re.compile(
    r"^(?:(?:async[ \t]+)?def[ \t]+test_|import[ \t]+(?:pytest|unittest)\b|class[ \t]+Test)", re.MULTILINE
)
_TEST_NAME = re.compile(r"(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$")
_QUOTED = re.compile(r"(\"{3}|'{3}).*?\1", re.DOTALL)


def named(path: str) -> bool:
    """``suite.py`` and ``*_suite.py``."""
    return NAME.search(path) is not None


def accepts(path: str, head: str) -> bool:
    """``suite.py`` and ``*_suite.py`` that mention this package, or import a module with nearly its name; empty ones.

    Not a module of tests that defines no suite: ``test_suite.py`` is a common name for one.
    """
    if not named(path):
        return False
    if is_blank(head):
        return not vendored_folder(path) and not _TEST_NAME.search(path)
    if not (_MENTION.search(head.replace("\0", "")) or imports_nearly(head, _IMPORTS)):
        return False
    code = _QUOTED.sub("", head)
    return _TESTS.search(code) is None or _SUITE.search(code) is not None


def rejection(path: str, head: str) -> NotASuite | None:
    """Why a Python file is not run, if it is called like a suite, or defines one."""
    if not named(path):
        other = vendored_folder(path) or _TEST_NAME.search(path)
        return None if other or not _defines_suite(head) else misnamed("defines a suite", "*_suite.py")
    if is_blank(head):
        return empty_rejection(path)
    code = _QUOTED.sub("", head)
    if not vendored_folder(path) and _SUITE.search(code) and _CASE.search(code):
        return written_like_one(f"import {PACKAGE}")
    if _TESTS.search(code):
        near_miss = _IMPORTED.search(code) is not None and not (_TEST_NAME.search(path) or vendored_folder(path))
        return NotASuite(reason="has tests and no variable `suite`", near_miss=near_miss)
    return NotASuite(reason=f"does not import {PACKAGE}")


def _defines_suite(head: str) -> bool:
    """Whether the file imports the package and defines a suite, whatever the variable is called."""
    if PACKAGE not in head:
        return False
    code = _QUOTED.sub("", head)
    names = "\n".join(match[1] or match[2] or "" for match in _IMPORTED.finditer(code))
    if re.search(r"\bSuite\b", names) or (_SUITE.search(code) and "Case" in names):
        return True
    calls = [f"{match[1] or PACKAGE}\\.(?:Case|Suite)" for match in _IMPORTED_MODULE.finditer(code)]
    calls += [match[2] or match[1] for match in _IMPORTED_NAME.finditer(names)]
    calls += ["Case", "Suite"] if "*" in names else []
    return bool(calls) and any(re.search(rf"\b(?:{'|'.join(calls)})\(", text) for text in _assignments(code))


def _assignments(code: str) -> Iterator[str]:
    """The assignments to variables of the module, each with all of its lines."""
    statement: list[str] = []
    for line in [*code.split("\n"), "end"]:
        if line[:1].strip(" \t\r)]}#"):  # the beginning of another statement
            text = "\n".join(statement)
            if _ASSIGNED.match(text):
                yield text
            statement = []
        statement.append(line)


def suite(source: SuiteFile) -> BenchmarkSuite:
    """The suite. Raises SuiteError."""
    return loaded_suite(source, "python", _IMPORTS)
