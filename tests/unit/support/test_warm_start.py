"""Runs from the warm server end, also if their processes die or hang."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from scratch import PROGRAM, environment
from warm_start import warm_run


class EndsChild(str):
    """A value of a variable that ends the process that receives it, before this process takes its output's ends."""

    __slots__ = ()

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return os._exit, (7,)


class StopsChild(str):
    """A value of a variable for which the process that receives it waits for ever."""

    __slots__ = ()

    def __reduce__(self) -> tuple[object, tuple[()]]:
        return signal.pause, ()


def test_a_child_that_dies_early_has_no_output(tmp_path):
    done = warm_run(PROGRAM, "--version", cwd=tmp_path, env={"A": EndsChild()}, limit=60)
    assert (done.returncode, done.stdout, done.stderr) == (7, b"", b"")


def test_a_child_that_does_not_end_is_ended_at_the_limit(tmp_path):
    with pytest.raises(subprocess.TimeoutExpired):
        warm_run(PROGRAM, "--version", cwd=tmp_path, env={"A": StopsChild()}, limit=0.1)


def test_both_outputs_of_a_run_are_whole(tmp_path):
    done = warm_run(PROGRAM, "run", cwd=tmp_path, env=environment(), limit=60)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"no suite" in done.stderr
    help_ = warm_run(PROGRAM, "run", "--help", cwd=tmp_path, env=environment(), limit=60)
    assert (help_.returncode, help_.stderr) == (0, b"")
    assert help_.stdout.endswith(b"\n")
