"""Suites written in Python: programs that a suite host imports, and describes as data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillgym_action.formats.program_suite import loaded_suite

if TYPE_CHECKING:
    from skillgym_action.formats import SuiteFile
    from skillgym_action.model.suite import BenchmarkSuite

NAME = re.compile(r"(^|[/_.-])suite\.py$", re.IGNORECASE)


def named(path: str) -> bool:
    """``suite.py`` and ``*_suite.py``."""
    return NAME.search(path) is not None


def accepts(path: str, head: str) -> bool:
    """``suite.py`` and ``*_suite.py`` that mention this package."""
    return named(path) and "skillgym_action" in head


def suite(source: SuiteFile) -> BenchmarkSuite:
    """The suite. Raises SuiteError."""
    return loaded_suite(source, "python")
