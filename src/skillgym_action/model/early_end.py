"""The end of a run that has no report: an error, an internal error or a cancellation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillgym_action.model.errors import Problem

ERROR_VERDICT = "error"
"""The step output ``verdict`` of a run that ended early."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlyEnd:
    """Why a run ended early, in one or more problems. ``exit_code``: of the process.

    ``reported``: the run had written its report, and failed only then.
    """

    exit_code: int
    problems: tuple[Problem, ...]
    reported: bool = False
