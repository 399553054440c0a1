"""Output of programs in files."""

from __future__ import annotations

import pytest

from skillgym_action.model.errors import OutputError
from skillgym_action.system.processes.outputs import OutputTail


def test_an_output_file_that_was_removed_is_a_problem_of_the_run_directory(tmp_path):
    with pytest.raises(OutputError, match=r"cannot write .*stdout\.log: No such file"):
        OutputTail(tmp_path / "stdout.log", lambda _: None)
