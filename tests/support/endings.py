"""How sessions end, whatever agent held them: rows for the tables of trouble of all adapters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from skillgym_action.model.session import Ending
from skillgym_action.model.session_report import Trouble

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

WORDS = "HTTP 401, invalid api key"
Lines = list[dict[str, Any]]


def endings(*, words: Lines, unfinished: Lines, done: Lines) -> list[ParameterSet]:
    """Lines, what the process did, and the trouble. ``words``: the model said ``WORDS``; ``done``: and that was all."""
    return [
        pytest.param(
            words,
            {"ending": Ending.SIGNALLED, "exit_code": -9},
            Trouble(kind="runner-crash", message="ended by SIGKILL"),
            id="killed; what the model said is no evidence",
        ),
        pytest.param(
            unfinished,
            {},
            Trouble(kind="runner-crash", message="ended without a result"),
            id="exit code 0 without a result",
        ),
        pytest.param(
            done,
            {"exit_code": 7},
            Trouble(kind="runner-crash", message="exited with code 7"),
            id="a crash after the result",
        ),
        pytest.param(done, {"ending": Ending.STOPPED, "exit_code": -15}, None, id="ended by us after its result"),
    ]
