"""Suites written in TypeScript or JavaScript: programs that a suite host imports, and describes as data."""

from __future__ import annotations

import re
from pathlib import Path
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
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.suites import SuiteFile

PACKAGE = "skillgym"
TYPES = Path(__file__).parent / "runtime" / "skillgym" / "index.d.ts"
NAME = re.compile(r"(^|[/_.-])suite\.(ts|mts|cts|js|mjs|cjs)$", re.IGNORECASE)

_IMPORTS = ImportNames(
    pattern=re.compile(r"""(?:\bfrom|\bimport|\brequire[ \t]*\()[ \t]*["']([^"'\n./][^"'\n]*)["']"""), known=(PACKAGE,)
)
_OWN_IMPORT = re.compile(rf"""(?:\bfrom|\brequire[ \t]*\()[ \t]*["']{PACKAGE}["']""")
_EXPORT = re.compile(r"^[ \t]*(?:export[ \t]+default\b|module\.exports\b)", re.MULTILINE)
_EXPORTED_NAME = re.compile(r"^[ \t]*export[ \t]+(?:(?:const|let|var)\b|\{)", re.MULTILINE)
_ASSERT = re.compile(r"\bassert\s*[:(]")
_PROMPT = re.compile(r"\bprompt\s*[:,}]")
_NO_SUITE_NAME = re.compile(r"(\.d\.[mc]?ts|\.config\.[a-z]+)$", re.IGNORECASE)


def named(path: str) -> bool:
    """``suite.ts``, ``*-suite.ts``, and the same with the other endings."""
    return NAME.search(path) is not None


def accepts(path: str, head: str) -> bool:
    """The same, where the file mentions skillgym, imports a module with nearly that name, or is empty."""
    if named(path) and is_blank(head):
        return not vendored_folder(path)
    return named(path) and (PACKAGE in head.replace("\0", "") or imports_nearly(head, _IMPORTS))


def rejection(path: str, head: str) -> NotASuite | None:
    """Why a script is not run, if it is called like a suite, or exports one."""
    if not named(path):
        other = vendored_folder(path) or not _exports_suite(path, head)
        return None if other else misnamed("exports cases", "*.suite.ts")
    if is_blank(head):
        return empty_rejection(path)
    if not vendored_folder(path) and _EXPORT.search(head) and _PROMPT.search(head) and "assert" in head:
        return written_like_one(f'import anything from "{PACKAGE}", such as its types')
    return NotASuite(reason=f"does not mention {PACKAGE}")


def _exports_suite(path: str, head: str) -> bool:
    """Whether the file imports skillgym and exports cases, whatever their name is."""
    if PACKAGE not in head or _NO_SUITE_NAME.search(path) or not (_OWN_IMPORT.search(head) and _PROMPT.search(head)):
        return False
    return bool(_EXPORT.search(head) or (_EXPORTED_NAME.search(head) and _ASSERT.search(head)))


def suite(source: SuiteFile) -> BenchmarkSuite:
    """The suite. Raises SuiteError."""
    return loaded_suite(source, "typescript", _IMPORTS)


def types() -> str:
    """Types of what suites import, for editors and compilers."""
    return TYPES.read_text(encoding="utf-8").rstrip()
