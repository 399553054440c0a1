"""Where agents work in a directory of the user's own, the tool changes nothing in it, whatever the verdict."""

from __future__ import annotations

import json
import os
import signal
from itertools import cycle
from typing import TYPE_CHECKING, Any

import pytest

from in_place import MODES, Asked, checkout, differing, state
from scratch import skillgym, started

if TYPE_CHECKING:
    from pathlib import Path

KEEP = cycle(("changed", "all", "none"))
QUIET = "echo ok"
WRITES = "echo ok; echo new >created.txt; echo more >>odd/closed/known.txt"


def results(run: Path) -> list[dict[str, Any]]:
    told = json.loads((run / "results.json").read_text())
    return [result for suite in told["suites"] for result in suite["results"]]


# The agent, whether the case holds, what has to be done first, options; exit code, status and failure class.
OUTCOMES = {
    "failed": (Asked(agent=QUIET), (), 1, ("failed",)),
    "passed": (Asked(agent=QUIET, passes=True), (), 0, ("passed",)),
    "crashed": (Asked(agent="exit 3"), (), 3, ("errored",)),
    "missing": (Asked(agent="no-such-program-of-anybody"), (), 3, ("errored",)),
    "late": (Asked(agent="sleep 60"), ("--timeout", "0.3"), 3, ("errored",)),
    "unprepared": (Asked(agent=QUIET, prepare="exit 7"), (), 3, ("errored",)),
}
ALWAYS = {"failed"}


def rows() -> list[Any]:
    """Every mode fails; each other outcome is seen in every third mode; all ways to keep things take turns."""
    found = []
    for number, (name, mode) in enumerate(MODES.items()):
        for place, outcome in enumerate(OUTCOMES):
            possible = (
                outcome in {"failed", "passed"} if not mode.has_agent else mode.prepares or outcome != "unprepared"
            )
            if possible and (outcome in ALWAYS or (number + place) % 3 == 0):
                keep = next(KEEP)
                found.append(pytest.param(name, outcome, keep, id=f"{name} - {outcome} - keep {keep}"))
    return found


@pytest.mark.parametrize(("name", "outcome", "keep"), rows())
def test_the_tool_changes_nothing_in_the_users_own_directory(tmp_path, name, outcome, keep):
    mode, (asked, options, code, statuses) = MODES[name], OUTCOMES[outcome]
    root = checkout(tmp_path / "repo", mode.files(asked), mode.cwd)
    before = state(root)
    done = skillgym("run", "--keep", keep, "--output", tmp_path / "out", *options, cwd=root)
    assert differing(before, state(root)) == {}
    told = results(tmp_path / "out")
    assert (done.code, tuple(one["status"] for one in told)) == (code, statuses), done.out + done.err


WRITING = [name for name, mode in MODES.items() if mode.has_agent]


@pytest.mark.parametrize(("name", "keep"), [*zip(WRITING, cycle(("changed", "all", "none")), strict=False)])
def test_what_the_agent_changes_there_is_all_that_changes_and_all_that_is_kept(tmp_path, name, keep):
    mode = MODES[name]
    root = checkout(tmp_path / "repo", mode.files(Asked(agent=WRITES)), mode.cwd)
    place = "" if mode.cwd == "." else f"{mode.cwd}/"
    before = state(root)
    done = skillgym("run", "--keep", keep, "--output", tmp_path / "out", cwd=root)
    assert [one["status"] for one in results(tmp_path / "out")] == ["failed"], done.out + done.err
    after = state(root)
    known = f"{place}odd/closed/known.txt"
    assert set(differing(before, after)) == {mode.cwd, f"{place}created.txt", known}
    assert (after[known][0], after[mode.cwd][:2]) == (before[known][0], before[mode.cwd][:2])
    assert not (tmp_path / "out" / "workspaces").exists()
    kept = [path for folder in (tmp_path / "out").rglob("changes") for path in folder.rglob("*") if path.is_file()]
    names = sorted(path.as_posix().partition("/changes/")[2] for path in kept)
    assert names == ([] if keep == "none" else ["created.txt", "odd/closed/known.txt"])


@pytest.mark.parametrize(
    ("name", "number", "keep"),
    [
        pytest.param(name, (signal.SIGTERM, signal.SIGINT)[place % 2], keep, id=f"{name} - keep {keep}")
        for place, (name, keep) in enumerate(zip(WRITING, cycle(("changed", "all", "none")), strict=False))
        if place % 2 == 0
    ],
)
def test_nor_does_a_run_that_is_cancelled_while_an_agent_works_there(tmp_path, name, number, keep):
    mode = MODES[name]
    os.mkfifo(ready := tmp_path / "ready")
    root = checkout(tmp_path / "repo", mode.files(Asked(agent=f"echo >{ready}; sleep 60")), mode.cwd)
    before = state(root)
    with started("run", "--keep", keep, "--output", str(tmp_path / "out"), cwd=root) as tool:
        ready.read_text()  # once the agent has opened it
        tool.send_signal(number)
        out, err = tool.communicate(timeout=30)
    assert differing(before, state(root)) == {}
    assert [one["status"] for one in results(tmp_path / "out")] == ["skipped"], out + err
