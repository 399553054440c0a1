"""Settings and hooks of all tests."""

import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from proofs import proved, pytest_terminal_summary

__all__ = ["proved", "pytest_terminal_summary"]

# A property test must fail neither because the machine is slow, nor because of the examples that were drawn this time:
# the examples are the same in each run. EXPLORE=1 draws others. Add those that fail to the test, with @example.
EXPLORE = os.environ.get("EXPLORE") == "1"
settings.register_profile("fixed", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=not EXPLORE)
settings.load_profile("fixed")


TESTS = Path(__file__).parent
OPEN_FILES = 10_000
ENDED: pytest.StashKey[int] = pytest.StashKey()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give each run a folder of its own.

    All runs of a user share pytest's own folder: each run removes the folders of older runs, and fails if one is nested
    deeper than Python's recursion limit. Workers get their folder from the process that starts them.
    """
    # Runs inside this process freeze the objects that there are, so what earlier tests left open is never closed.
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    few = allowed != resource.RLIM_INFINITY and allowed < OPEN_FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed if few else OPEN_FILES, allowed))
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Failures(config))
    if config.option.basetemp is None and not hasattr(config, "workerinput"):
        config.option.basetemp = Path(tempfile.mkdtemp(prefix="tests-"), "files")
        config.add_cleanup(lambda: discard(config))


class Failures:
    """Prints each failure when it happens, instead of all of them at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            terminal = self._config.pluginmanager.get_plugin("terminalreporter")
            terminal.section(f"{report.when} of {report.nodeid}", "-")
            terminal.write_line(report.longreprtext)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._config.option.tbstyle = "no"


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder like pytest's own, which is removed at once unless a test has failed: all of them need a gigabyte.

    Pytest can do this, too, but not for folders that are nested deeper than Python's recursion limit.
    """
    path = tmp_path_factory.mktemp(re.sub(r"\W", "_", request.node.name)[:30])
    yield path
    if not request.session.testsfailed:
        try:
            shutil.rmtree(path, ignore_errors=True)
        except RecursionError:
            subprocess.run(["rm", "-rf", path], check=False)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make test` runs: unit tests and smoke tests, without those that are slow, measure time or need npm."""
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        others = [name for name in ("slow", "timed", "agents", "more_agents") if item.get_closest_marker(name)]
        if folder in {"unit", "smoke"} and not others:
            item.add_marker("quick")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[ENDED] = exitstatus


def discard(config: pytest.Config) -> None:
    """Remove the folder of a run without failures; keep that of another run for inspection."""
    folder = config.option.basetemp.parent
    if config.stash.get(ENDED, pytest.ExitCode.OK) == pytest.ExitCode.OK:
        # Only root can remove folders that tests have made read-only.
        subprocess.run(["chmod", "-R", "u+rwX", folder], check=True)
        subprocess.run(["rm", "-rf", folder], check=True)
    else:
        os.write(2, f"temporary files of this run: {folder}\n".encode())
