"""What a terminal shows, and which streams get colors."""

from __future__ import annotations

import os
import pty
from dataclasses import replace

import pytest

from builders import run_report
from skillgym_action.cli.commands.run import show_report
from skillgym_action.cli.terminal import Terminal, is_colored
from skillgym_action.settings.settings import Settings
from skillgym_action.text.redaction import Redactor


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


def test_verbose_shows_final_outputs_of_other_arms_too(tmp_path, capsys):
    first, second = (
        replace(one, final_output=f"output {one.case_id}") for one in run_report("a passed\nb failed: x").results
    )
    report = run_report("a passed", results=(first,), other_arms=(replace(second, arm="without"),))
    terminal = Terminal(redactor=Redactor(()), color=False, quiet=False, live=False)
    show_report(terminal, report, tmp_path, Settings(verbose=True))
    shown = capsys.readouterr().err
    assert "a [claude]: final output\n    output a\n" in shown
    assert "b [claude] without: final output\n    output b\n" in shown
