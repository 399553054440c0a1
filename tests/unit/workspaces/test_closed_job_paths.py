"""Which paths of a job are closed to agents, in each kind of job."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from composite_step import FILES
from scratch import written
from skillgym_action.workspaces.closed_job_paths import job_paths
from table_rows import each_row_holds

if TYPE_CHECKING:
    from collections.abc import Iterator

MACHINE = {
    "GITHUB_EVENT_PATH": "work/_temp/_github_workflow/event.json",
    **{name: f"work/_temp/_runner_file_commands/{file}" for name, file in FILES.items()},
    "RUNNER_TEMP": "work/_temp",
    "HOME": "home",
}
CONTAINER = MACHINE | {"GITHUB_EVENT_PATH": "github/workflow/event.json", "HOME": "github/home"}
ACTION = {
    "GITHUB_EVENT_PATH": "github/workflow/event.json",
    **{name: f"github/file_commands/{file}" for name, file in FILES.items()},
    "RUNNER_TEMP": "github/runner_temp",
    "HOME": "github/home",
}
SHARED = {name: f"shared/{file}" for name, file in FILES.items()} | {"RUNNER_TEMP": "shared", "HOME": "home"}
OF_TEMP = ("git-credentials-1.config", "_github_workflow/event.json", "_runner_file_commands/set_env", "tools/bin/x")


@pytest.fixture
def place() -> Iterator[Path]:
    """Beside the temporary folder of the tool, which sessions need."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(os.path.realpath(folder))


def closed(place: Path, variables: dict[str, str], *, checkout: str = "work/repo", path: str = "") -> set[str]:
    """The paths, relative to ``place``; so are all others."""
    environment = {name: str(place / value) for name, value in variables.items()}
    found = job_paths({**environment, "PATH": str(place / path) if path else "/usr/bin"}, [place / checkout])
    return {path.relative_to(place).as_posix() for path in found}


COMMANDS = "work/_temp/_runner_file_commands"
STEP = {"work/_temp/_github_workflow", COMMANDS}
ROWS: dict[str, tuple[dict[str, str], dict[str, str], set[str]]] = {
    "no job": ({"HOME": "home"}, {}, set()),
    "a machine": (MACHINE, {}, {*STEP, "work/_temp"}),
    "a machine, with a program on the search path": (
        MACHINE,
        {"path": "work/_temp/tools/bin"},
        {*STEP, "work/_temp/git-credentials-1.config"},
    ),
    "a machine, with the checkout in the temporary folder": (
        MACHINE,
        {"checkout": "work/_temp/tools"},
        {*STEP, "work/_temp/git-credentials-1.config"},
    ),
    "a container": (
        CONTAINER,
        {},
        {"work/_temp/_runner_file_commands", "github/workflow", "github/home", "work/_temp"},
    ),
    "a container, with a program in the home": (
        CONTAINER,
        {"path": "github/home/.local/bin"},
        {COMMANDS, "github/workflow", "github/home/.cache", "work/_temp"},
    ),
    "the container of an action": (
        ACTION,
        {"checkout": "github/workspace"},
        {"github/workflow", "github/file_commands", "github/home", "github/runner_temp"},
    ),
    "one folder for all": (
        SHARED,
        {"path": "shared/bin"},
        {*(f"shared/{file}" for file in FILES.values()), "shared/other"},
    ),
    "a temporary folder that is missing": ({"RUNNER_TEMP": "none"}, {"path": "none/bin"}, set()),
}


def test_the_folders_come_from_the_variables_of_the_job(place):
    files = {
        **{f"work/_temp/{name}": "x" for name in OF_TEMP},
        **{f"shared/{name}": "x" for name in (*FILES.values(), "other", "bin/x")},
        "github/home/.local/bin/x": "x",
        "github/home/.cache/x": "x",
    }
    written(place, files)

    def check(row: tuple[dict[str, str], dict[str, str], set[str]]) -> None:
        variables, more, expected = row
        assert closed(place, variables, **more) == expected

    each_row_holds(ROWS.items(), check)


def test_what_the_tool_itself_is_run_with_stays_open():
    """The composite action installs its packages into the runner's temporary folder."""
    own = Path(sys.prefix).resolve()
    found = [*job_paths({"RUNNER_TEMP": str(own.parent)}, [])]
    assert [path for path in found if own.is_relative_to(path)] == []


def test_links_and_what_others_own_or_cannot_open_stay_as_they_are(place):
    """A link leads elsewhere; what somebody else owns could become one."""
    temp = written(place / "temp", {"open": "x", "private": "x", "others": "x", "elsewhere/x": "x"})
    (temp / "link").symlink_to("/usr")
    (temp / "private").chmod(0o600)
    (temp / "elsewhere").chmod(0o711)
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(temp / "others", 4711, 4711)
    expected = {"temp/open"} | (set() if is_root else {"temp/others"})
    assert closed(place, {"RUNNER_TEMP": "temp"}, path="temp") == expected
    assert stat.S_IMODE((temp / "open").stat().st_mode) & 0o044
