"""Where agents work in a directory of the user's own, the tool changes nothing in it, whatever the verdict."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

import pytest

from scratch import config, repository, runner, skillgym, written

if TYPE_CHECKING:
    from pathlib import Path

AGENT = "echo new >created.txt; echo more >>changed.txt"
OWN = {"created.txt", "changed.txt"}
XBENCH = json.dumps({"name": "core", "cases": [{"id": "one", "prompt": "p", "expect": ["file:nothing exists"]}]})
PYTHON = """
from skillgym_action import Suite, Workspace
suite = Suite()
workspace = Workspace(mode="none", cwd=".")
@suite.case("one", prompt="p")
def one(report, context): assert False
"""
CONFIGURED = {"workspace": {"mode": "none"}}


def folder(place: Path) -> Path:
    """What a cleaner of workspaces would change."""
    repository(place, {"changed.txt": "before\n", "d/inside.txt": "x", "bench/core.json": None}, git=True)
    repository(place / "nested", {"a.txt": "a"}, git=True)
    (place / "out").symlink_to("/etc")
    (place / "dangling").symlink_to("nowhere")
    (place / "loop").symlink_to("loop")
    (place / "inside").symlink_to("d/inside.txt")
    os.mkfifo(place / "fifo")
    with (place / "large").open("wb") as file:
        file.truncate(65 * 1024**2)
    (place / "closed").mkdir(mode=0o500)
    (place / "d" / "inside.txt").chmod(0o400)
    return place


def state(place: Path) -> dict[str, object]:
    """Every path but the run's own, and what can be seen of it."""
    found: dict[str, object] = {}
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if name.startswith("results") or name in OWN:
            continue
        told = path.lstat()
        content = str(path.readlink()) if path.is_symlink() else None
        if stat.S_ISREG(told.st_mode) and told.st_size < 1024**2:
            content = path.read_bytes()
        found[name] = (told.st_mode, told.st_uid, told.st_gid, told.st_size, told.st_mtime_ns, told.st_ino, content)
    return found


@pytest.mark.parametrize("keep", ["changed", "all", "none"])
@pytest.mark.parametrize(
    ("files", "run"),
    [
        pytest.param({"bench/core.json": XBENCH}, CONFIGURED, id="x-bench, mode none"),
        pytest.param({"bench/core.json": XBENCH}, {"cwd": "."}, id="x-bench, cwd"),
        pytest.param({"core_suite.py": PYTHON}, None, id="python, cwd"),
    ],
)
def test_the_tool_changes_nothing_in_a_directory_that_is_not_the_sessions_own(tmp_path, files, run, keep):
    place = folder(tmp_path / "repo")
    written(place, {"skillgym.config.yaml": config(runner(AGENT), run=run), **files})
    before = state(place)
    done = skillgym("run", "--keep", keep, "--output", "results", cwd=place)
    assert done.code == 1, done.out + done.err
    assert state(place) == before
    assert (place / "created.txt").read_text() == "new\n"
