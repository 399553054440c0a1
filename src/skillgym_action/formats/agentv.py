"""AgentV's ``EVAL.yaml``: recognised, so that none is passed over in silence; not run yet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillgym_action.errors import Location, Problem, SuiteError

if TYPE_CHECKING:
    from skillgym_action.domain import Suite
    from skillgym_action.formats import SuiteFile

NAME = re.compile(r"(^|/)(eval\.yaml|[^/]*\.eval\.ya?ml)$", re.IGNORECASE)


def accepts(path: str, head: str) -> bool:  # noqa: ARG001 - the name says it all
    """``EVAL.yaml`` and ``*.eval.yaml``, in any case."""
    return NAME.search(path) is not None


def suite(source: SuiteFile) -> Suite:
    """Raises SuiteError."""
    where, remedy = Location(path=source.path), f"leave it out with !{source.path}"
    raise SuiteError.of(Problem(message="the format agentv is not supported yet", location=where, remedy=remedy))
