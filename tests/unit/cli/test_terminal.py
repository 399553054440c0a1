"""Which streams get colors."""

from __future__ import annotations

import os
import pty

import pytest

from skillgym_action.cli.terminal import is_colored


@pytest.mark.parametrize(
    ("environment", "on_a_terminal", "elsewhere"),
    [
        pytest.param({}, True, False, id="nothing is set"),
        pytest.param({"NO_COLOR": "1"}, False, False, id="NO_COLOR"),
        pytest.param({"NO_COLOR": ""}, True, False, id="NO_COLOR is empty"),
        pytest.param({"FORCE_COLOR": "1"}, True, True, id="FORCE_COLOR"),
        pytest.param({"FORCE_COLOR": "true"}, True, True, id="FORCE_COLOR with a word"),
        pytest.param({"FORCE_COLOR": "0"}, True, False, id="FORCE_COLOR is 0"),
        pytest.param({"FORCE_COLOR": ""}, True, False, id="FORCE_COLOR is empty"),
        pytest.param({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False, id="NO_COLOR wins"),
    ],
)
def test_a_stream_gets_colors_if_it_is_a_terminal_and_as_variables_say(environment, on_a_terminal, elsewhere):
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as terminal, open(os.devnull, "w") as file:  # noqa: PTH123
        assert is_colored(terminal, environment) is on_a_terminal
        assert is_colored(file, environment) is elsewhere
    os.close(master)
