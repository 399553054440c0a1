"""Which streams get colors."""

from __future__ import annotations

import io

import pytest

from skillgym_action.cli.terminal import is_colored


class TerminalStream(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "colored"),
    [
        pytest.param(TerminalStream(), {}, True, id="a terminal"),
        pytest.param(TerminalStream(), {"NO_COLOR": "1"}, False, id="a terminal and NO_COLOR"),
        pytest.param(TerminalStream(), {"NO_COLOR": ""}, True, id="a terminal and an empty NO_COLOR"),
        pytest.param(TerminalStream(), {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, id="a terminal and both"),
        pytest.param(io.StringIO(), {}, False, id="nothing is set"),
        pytest.param(io.StringIO(), {"FORCE_COLOR": "1"}, True, id="FORCE_COLOR"),
        pytest.param(io.StringIO(), {"FORCE_COLOR": "true"}, True, id="FORCE_COLOR with a word"),
        pytest.param(io.StringIO(), {"FORCE_COLOR": "0"}, False, id="FORCE_COLOR is 0"),
        pytest.param(io.StringIO(), {"FORCE_COLOR": ""}, False, id="FORCE_COLOR is empty"),
        pytest.param(io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, id="NO_COLOR wins"),
    ],
)
def test_a_stream_is_colored_where_it_is_a_terminal_or_somebody_forces_it(stream, environment, colored):
    assert is_colored(stream, environment) is colored
