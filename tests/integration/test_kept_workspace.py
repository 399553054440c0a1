"""A workspace that is kept for people: without secrets, and with the history that the agent found."""

from __future__ import annotations

import json
import subprocess
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from faults import bound_by_permissions
from planted_keys import made
from scratch import IDENTITY, PROGRAM, case, config, environment, git_in, repository, runner, suite, written

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KEY = made(1)["github"]
GIT = " ".join(("git", *IDENTITY))
KEPT = "results/workspaces/core/one/sh/repeat-1"


def kept(folder: Path, script: str, files: Mapping[str, str] = MappingProxyType({})) -> Path:
    """What was kept of a session that failed, by somebody whom modes bind."""
    written(folder, {"agent.sh": script})
    standard = {
        "skillgym.config.yaml": config(runner(f"sh {folder}/agent.sh")),
        "bench/core.json": suite(case("one", ("file:nothing exists",))),
        "a.txt": "a\n",
    }
    root = repository(folder / "repo", standard | dict(files), git=True)
    argv = [PROGRAM, "run", "--output", "results", "--keep", "all"]
    ran = subprocess.run(
        argv, cwd=root, env=environment(), capture_output=True, check=False, preexec_fn=bound_by_permissions
    )
    assert ran.returncode == 1, ran.stderr
    return root / KEPT


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(f"echo b >> a.txt; {GIT} commit --all --quiet -m {KEY}", id="a commit"),
        pytest.param(f"echo b >> a.txt; {GIT} tag {KEY[:20]}; echo {KEY} > .git/description", id="a tag"),
        pytest.param("echo b >> a.txt; rm -rf .git", id="its end"),
        pytest.param("echo b >> a.txt; rm -rf .git; ln -s /etc .git", id="a link in its place"),
    ],
)
def test_whatever_an_agent_does_to_the_history_its_changes_can_be_seen(tmp_path, script):
    workspace = kept(tmp_path, script)
    assert git_in(workspace, "log", "--format=%s").splitlines() == ["workspace"]
    assert git_in(workspace, "diff", "--unified=0", "--", "a.txt").splitlines()[-1] == "+b"
    assert git_in(workspace, "tag") == ""
    assert not any(KEY[:20].encode() in path.read_bytes() for path in workspace.rglob("*") if path.is_file())


def test_a_history_of_the_agent_s_own_is_not_kept(tmp_path):
    workspace = kept(tmp_path, f"mkdir -p d/e; cd d/e; git init --quiet; echo {KEY} > x; {GIT} add x")
    assert (workspace / "d/e/x").read_text() == "***\n"
    assert not (workspace / "d/e/.git").exists()
    assert json.loads((tmp_path / "repo/results/core/one/sh/repeat-1/workspace.json").read_text())["created"] == [
        "d/e/x"
    ]


@pytest.mark.parametrize("mode", ["000"])
def test_what_may_not_be_read_or_written_is_redacted_as_well(tmp_path, mode):
    workspace = kept(tmp_path, f"mkdir d; echo {KEY} > d/x; chmod {mode} d/x; chmod 500 d")
    assert (workspace / "d/x").read_text() == "***\n"


CLOSES = f"echo {KEY} > closed/x; mkdir closed/{KEY}; echo {KEY} > closed/new; chmod 000 closed"


@pytest.mark.parametrize(
    ("files", "script"),
    [
        pytest.param({}, f"mkdir closed; {CLOSES}", id="a new one"),
        pytest.param({"closed/x": "x\n", "closed/y": "y"}, CLOSES, id="one that was there"),
    ],
)
def test_a_folder_that_the_agent_closed_is_redacted_as_well(tmp_path, files, script):
    """Those who may not enter a closed folder see nothing that changed in it; its copy is open."""
    workspace = kept(tmp_path, script, files)
    assert (workspace / "closed/x").read_text() == (workspace / "closed/new").read_text() == "***\n"
    assert sorted(path.name for path in (workspace / "closed").iterdir() if path.name != "y") == ["new", "x"]
    assert not any(KEY in path.as_posix() for path in workspace.rglob("*"))


def test_a_name_with_a_secret_is_kept_nowhere_and_the_recording_says_that_it_is_not_complete(tmp_path):
    workspace = kept(tmp_path, f"mkdir {KEY}; echo x > {KEY}/x; echo y > y")
    session = tmp_path / "repo/results/core/one/sh/repeat-1"
    assert [(workspace / "y").exists(), (session / "changes/y").exists()] == [True, True]
    assert not any(KEY in path.as_posix() for path in (tmp_path / "repo/results").rglob("*"))
    told = json.loads((session / "workspace.json").read_text())
    assert (told["created"], told["complete"]) == (["***/x", "y"], False)
