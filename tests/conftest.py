"""What holds for all tests."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from proofs import proved, pytest_terminal_summary

__all__ = ["proved", "pytest_terminal_summary"]

# How fast this machine is at the moment is not what a property test is about.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


ENDED: pytest.StashKey[int] = pytest.StashKey()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give each run a folder of its own.

    pytest's own is shared by all runs of a user: each removes what older ones left, and fails where a test dug deeper
    than Python's recursion goes. Workers are told theirs by the process that starts them.
    """
    if config.option.basetemp is None and not hasattr(config, "workerinput"):
        config.option.basetemp = Path(tempfile.mkdtemp(prefix="tests-"), "files")
        config.add_cleanup(lambda: discard(config))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[ENDED] = exitstatus


def discard(config: pytest.Config) -> None:
    """Remove what a run without failures left; of another one it is kept, to look at."""
    folder = config.option.basetemp.parent
    if config.stash.get(ENDED, pytest.ExitCode.OK) == pytest.ExitCode.OK:
        subprocess.run(["rm", "-rf", folder], check=True)
    else:
        os.write(2, f"temporary files of this run: {folder}\n".encode())
