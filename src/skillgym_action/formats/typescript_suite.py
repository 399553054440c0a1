"""Suites written in TypeScript or JavaScript: recognised, so that none is passed over in silence; not run yet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillgym_action.errors import Location, Problem, SuiteError

if TYPE_CHECKING:
    from skillgym_action.domain import Suite
    from skillgym_action.formats import SuiteFile

NAME = re.compile(r"(^|[/_.-])suite\.(ts|mts|cts|js|mjs|cjs)$", re.IGNORECASE)


def accepts(path: str, head: str) -> bool:
    """``suite.ts``, ``*-suite.ts`` and their kin that mention skillgym."""
    return NAME.search(path) is not None and "skillgym" in head


def suite(source: SuiteFile) -> Suite:
    """Raises SuiteError."""
    where, remedy = Location(path=source.path), f"write the suite in Python, or leave it out with !{source.path}"
    raise SuiteError.of(Problem(message="the format typescript is not supported yet", location=where, remedy=remedy))
