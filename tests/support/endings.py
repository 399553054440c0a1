"""A row for the tables of trouble of all adapters. Other endings are tested in tests/unit/agents/test_agents.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from skillgym_action.model.session import Ending
from skillgym_action.model.session_report import Trouble

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

WORDS = "HTTP 401, invalid api key"


def killed_after(*lines: dict[str, Any]) -> ParameterSet:
    """Lines, how the process ended, and the trouble; in the lines the model says ``WORDS``."""
    return pytest.param(
        [*lines],
        {"ending": Ending.SIGNALLED, "exit_code": -9},
        Trouble(kind="runner-crash", message="ended by SIGKILL"),
        id="killed; what the model said is no evidence",
    )
