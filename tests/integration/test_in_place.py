"""Where agents work in a directory of the user's own, the tool changes nothing in it, whatever the verdict."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import everybody
from in_place import MODES, Asked, checkout, differing, open_up, state
from scratch import HUNG, skillgym, started

if TYPE_CHECKING:
    from collections.abc import Iterator

IS_ROOT = os.geteuid() == 0
KEEP = cycle(("changed", "all", "none"))
QUIET = "echo ok"
WRITES = "echo ok; echo new >created.txt; echo more >>odd/closed/known.txt"


@pytest.fixture(autouse=True)
def removable(tmp_path: Path) -> Iterator[None]:
    yield
    open_up(tmp_path)


def results(run: Path) -> list[dict[str, Any]]:
    told = json.loads((run / "results.json").read_text())
    return [result for suite in told["suites"] for result in suite["results"]]


# The agent, whether the case holds, what has to be done first, options; exit code, status and failure class.
OUTCOMES = {
    "failed": (Asked(agent=QUIET), (), 1, ("failed",)),
    "passed": (Asked(agent=QUIET, passes=True), (), 0, ("passed",)),
    "crashed": (Asked(agent="exit 3"), (), 3, ("errored",)),
    "missing": (Asked(agent="no-such-program-of-anybody"), (), 3, ("errored",)),
    "late": (Asked(agent="sleep 600"), ("--timeout", "0.3"), 1, ("failed",)),
    "unprepared": (Asked(agent=QUIET, prepare="exit 7"), (), 3, ("errored",)),
}
ALWAYS = {"failed"}


def rows() -> list[Any]:
    """Every second mode fails; each other outcome is seen in every sixth mode; all ways to keep things take turns."""
    found = []
    for number, (name, mode) in enumerate(MODES.items()):
        for place, outcome in enumerate(OUTCOMES):
            possible = (
                outcome in {"failed", "passed"} if not mode.has_agent else mode.prepares or outcome != "unprepared"
            )
            if possible and (number % 2 == 0 if outcome in ALWAYS else (number + place) % 6 == 0):
                keep = next(KEEP)
                marks = [pytest.mark.timed] if outcome == "late" else []
                found.append(pytest.param(name, outcome, keep, id=f"{name} - {outcome} - keep {keep}", marks=marks))
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


@pytest.mark.parametrize(("name", "keep"), [*zip(WRITING[1::2], cycle(("changed", "all", "none")), strict=False)])
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
        if place % 3 == 0
    ],
)
def test_nor_does_a_run_that_is_cancelled_while_an_agent_works_there(tmp_path, name, number, keep):
    mode = MODES[name]
    os.mkfifo(ready := tmp_path / "ready")
    root = checkout(tmp_path / "repo", mode.files(Asked(agent=f"echo >{ready}; sleep 600")), mode.cwd)
    before = state(root)
    with started("run", "--keep", keep, "--output", str(tmp_path / "out"), cwd=root) as tool:
        ready.read_text()  # once the agent has opened it
        tool.send_signal(number)
        out, err = tool.communicate(timeout=HUNG)
    assert differing(before, state(root)) == {}
    assert [one["status"] for one in results(tmp_path / "out")] == ["skipped"], out + err


# --- with a user of their own; needs root -----------------------------------------------------------

AS_USER = [name for name in MODES if name.partition(",")[0] in {"x-bench", "python", "typescript", "agentv"}][::2]
AS_USER += ["agentv, workspace.path, prepared once"]
NOBODY = "nobody"


@pytest.fixture
def shelf():
    """A place that others can reach; pytest's own folders are not."""
    folder = Path(tempfile.mkdtemp(prefix="skillgym-in-place-"))
    folder.chmod(0o755)
    yield folder
    open_up(folder)
    shutil.rmtree(folder)


def as_user(shelf: Path, *options: str) -> tuple[int, str, list[dict[str, Any]]]:
    """The exit code, what was said, and the results; who is not root is told that this needs root."""
    ran = everybody.ran("run", "--agent-user", NOBODY, "--output", shelf / "out", *options, cwd=shelf / "repo")
    if not IS_ROOT:
        assert (ran.code, "only root" in ran.err) == (2, True)
        return 2, ran.err, []
    return ran.code, ran.out + ran.err, results(shelf / "out")


@pytest.mark.parametrize(("name", "keep"), [*zip(AS_USER, cycle(("none", "changed", "all")), strict=False)])
def test_a_directory_that_agents_can_only_read_stays_as_it_is(shelf, name, keep):
    mode = MODES[name]
    root = checkout(shelf / "repo", mode.files(Asked(agent=QUIET)), mode.cwd)
    before = state(root, ctime=False)
    code, said, told = as_user(shelf, "--keep", keep)
    assert differing(before, state(root, ctime=False)) == {}
    if IS_ROOT:
        assert (code, [one["status"] for one in told]) == (1, ["failed"]), said
        assert said.count(f"the user {NOBODY} can read {root / mode.cwd}, but not change it\n") == mode.has_agent


@pytest.mark.parametrize("name", ["x-bench, run.cwd .", "agentv, workspace.path, prepared once", "agentv, cli"])
def test_what_an_agent_may_not_write_is_its_own_failure(shelf, name):
    mode = MODES[name]
    root = checkout(shelf / "repo", mode.files(Asked(agent=WRITES)), mode.cwd)
    before = state(root, ctime=False)
    code, said, told = as_user(shelf)
    assert differing(before, state(root, ctime=False)) == {}
    if IS_ROOT:
        assert (code, [one["status"] for one in told]) == (3, ["errored"]), said
        assert "Permission denied" in told[0]["error"]["message"]


@pytest.mark.parametrize(
    ("name", "closed"),
    [
        pytest.param("x-bench, run.cwd", "app", id="the directory itself"),
        pytest.param("x-bench, mode none", ".", id="the checkout"),
        pytest.param("agentv, workspace.path", ".", id="a folder above"),
        pytest.param("agentv, workspace.path, prepared once", "app", id="of several"),
        pytest.param("agentv, cli with cwd", "app", id="of a target"),
    ],
)
def test_a_directory_that_agents_cannot_reach_is_said_and_nothing_runs(shelf, name, closed):
    mode = MODES[name]
    root = checkout(shelf / "repo", mode.files(Asked(agent=QUIET)), mode.cwd)
    (root / closed).chmod(0o700)
    before = state(root, ctime=False)
    code, said, told = as_user(shelf)
    assert differing(before, state(root, ctime=False)) == {}
    if IS_ROOT:
        assert (code, [one["status"] for one in told]) == (3, ["errored"]), said
        says = f"the user {NOBODY} cannot work in {(root / mode.cwd).resolve()}; give that user read access"
        assert says in told[0]["error"]["message"]


@pytest.mark.parametrize(
    ("name", "keep"), [*zip(["x-bench, run.cwd", "agentv, cli with cwd"], ["all", "changed"], strict=True)]
)
def test_in_a_directory_of_the_agents_user_only_what_it_changes_is_changed(shelf, name, keep):
    mode = MODES[name]
    root = checkout(shelf / "repo", mode.files(Asked(agent=WRITES)), mode.cwd)
    if IS_ROOT:
        for path in ((root / mode.cwd), *(root / mode.cwd).rglob("*")):
            shutil.chown(path, NOBODY, -1) if not path.is_symlink() else None
    before = state(root, ctime=False)
    code, said, told = as_user(shelf, "--keep", keep)
    after = state(root, ctime=False)
    if IS_ROOT:
        assert (code, [one["status"] for one in told]) == (1, ["failed"]), said
        known = f"{mode.cwd}/odd/closed/known.txt"
        assert set(differing(before, after)) == {mode.cwd, f"{mode.cwd}/created.txt", known}
        kept = [path for folder in (shelf / "out").rglob("changes") for path in folder.rglob("*") if path.is_file()]
        assert sorted(path.name for path in kept) == ["created.txt", "known.txt"]


def test_a_run_that_is_cancelled_leaves_it_to_the_other_user_as_it_was(shelf):
    mode = MODES["x-bench, run.cwd"]
    os.mkfifo(ready := shelf / "ready")
    ready.chmod(0o666)
    root = checkout(shelf / "repo", mode.files(Asked(agent=f"echo >{ready}; sleep 600")), mode.cwd)
    before = state(root, ctime=False)
    with started("run", "--agent-user", NOBODY, "--output", str(shelf / "out"), cwd=root) as tool:
        if IS_ROOT:
            ready.read_text()
            tool.send_signal(signal.SIGTERM)
        out, err = tool.communicate(timeout=HUNG)
    assert differing(before, state(root, ctime=False)) == {}
    if IS_ROOT:
        assert [one["status"] for one in results(shelf / "out")] == ["skipped"], out + err


# --- what is played again ---------------------------------------------------------------------------


def played_again(tmp_path: Path, name: str) -> Path:
    """A checkout in which an agent has worked, whose user went on since; what was recorded is beside it."""
    mode = MODES[name]
    root = checkout(tmp_path / "repo", mode.files(Asked(agent=f"{WRITES}; rm a.txt", passes=True)), mode.cwd)
    (root / mode.cwd / "a.txt").write_text("a")
    done = skillgym("run", "--output", tmp_path / "out", "--record", tmp_path / "recorded", cwd=root)
    assert done.code == 0, done.out + done.err
    (root / mode.cwd / "created.txt").write_text("of the user\n")
    (root / mode.cwd / "a.txt").write_text("of the user\n")
    return root


PLAYED = ["x-bench, run.cwd", "typescript, shared with cwd", "agentv, workspace.path, prepared once"]


@pytest.mark.parametrize("name", PLAYED)
def test_judging_again_changes_nothing_where_the_agent_worked(tmp_path, name):
    root = played_again(tmp_path, name)
    before = state(root)
    done = skillgym("rejudge", tmp_path / "out", "--output", tmp_path / "again", cwd=root)
    assert differing(before, state(root)) == {}
    assert (done.code, [one["status"] for one in results(tmp_path / "again")]) == (0, ["passed"]), done.out + done.err


def test_playing_a_recording_changes_nothing_there_either(tmp_path):
    root = played_again(tmp_path, PLAYED[0])
    told = json.loads((root / "skillgym.config.yaml").read_text())
    told["runners"]["sh"]["agent"] = {"type": "replay", "sessions": str(tmp_path / "recorded")}
    (root / "skillgym.config.yaml").write_text(json.dumps(told))
    before = state(root)
    done = skillgym("run", "--output", tmp_path / "again", cwd=root)
    assert differing(before, state(root)) == {}
    assert (done.code, [one["status"] for one in results(tmp_path / "again")]) == (0, ["passed"]), done.out + done.err
    (played,) = (tmp_path / "again").rglob("changes/created.txt")
    assert played.read_text() == "new\n"
