"""Suites written in TypeScript or JavaScript: programs that a suite host imports, and describes as data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.formats.program_suite import loaded_suite

if TYPE_CHECKING:
    from skillgym_action.formats import SuiteFile
    from skillgym_action.model.suite import BenchmarkSuite

TYPES = Path(__file__).parent.parent / "suite_programs" / "skillgym" / "index.d.ts"
NAME = re.compile(r"(^|[/_.-])suite\.(ts|mts|cts|js|mjs|cjs)$", re.IGNORECASE)


def named(path: str) -> bool:
    """``suite.ts``, ``*-suite.ts``, and the same with the other endings."""
    return NAME.search(path) is not None


def accepts(path: str, head: str) -> bool:
    """The same, where the file mentions skillgym."""
    return named(path) and "skillgym" in head


def suite(source: SuiteFile) -> BenchmarkSuite:
    """The suite. Raises SuiteError."""
    return loaded_suite(source, "typescript")


def types() -> str:
    """Types of what suites import, for editors and compilers."""
    return TYPES.read_text(encoding="utf-8").rstrip()
