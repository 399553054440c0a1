"""Suites written in TypeScript or JavaScript: programs that a suite host imports, and tells us about as data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.formats.program_suite import suite_told

if TYPE_CHECKING:
    from skillgym_action.formats import SuiteFile
    from skillgym_action.model.suite import Suite

TYPES = Path(__file__).parent.parent / "suite_programs" / "skillgym" / "index.d.ts"
NAME = re.compile(r"(^|[/_.-])suite\.(ts|mts|cts|js|mjs|cjs)$", re.IGNORECASE)


def named(path: str) -> bool:
    """``suite.ts``, ``*-suite.ts`` and their kin."""
    return NAME.search(path) is not None


def accepts(path: str, head: str) -> bool:
    """``suite.ts``, ``*-suite.ts`` and their kin that mention skillgym."""
    return named(path) and "skillgym" in head


def suite(source: SuiteFile) -> Suite:
    """The suite. Raises SuiteError."""
    return suite_told(source, "typescript")


def types() -> str:
    """Types of what suites import, for editors and compilers."""
    return TYPES.read_text(encoding="utf-8").rstrip()
