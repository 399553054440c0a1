"""Paths that are closed to agents are so until the last run that closes them has ended, however it ends. Needs root."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import subprocess
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from scratch import case, repository, skillgym, started, suite
from skillgym_action.model.errors import UsageError
from skillgym_action.workspaces import closed_path_records
from skillgym_action.workspaces.closed_path_records import (
    ClosingRun,
    Record,
    locked,
    name_of,
    read,
    repair,
    this_process,
    write,
)
from skillgym_action.workspaces.closed_paths import closed_but_to, closed_to_others, suite_group
from waiting import until, until_blocked

if TYPE_CHECKING:
    from collections.abc import Iterator

IS_ROOT = os.geteuid() == 0
GROUP, OTHER = 50_000, 50_001
CASES = ("one", "two")
# Each case of a run waits for a file of its name, and then writes down what it can read.
LOOKS = """\
read -r _ name
touch $GATE/begun-$TAG-$name
until [ -e $GATE/$TAG-$name ]; do sleep 0.02; done
for path in $ROOT/bench/core.json $ROOT/.git/config $ROOT/README.md $ROOT/first $ROOT/second; do
  if [ -r $path ]; then echo $path >>out.txt; fi
done
touch out.txt
"""


def modes(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Mode, user and group of all that lies in the checkout but what runs made."""
    made = {folder / "first", folder / "second"}
    paths = [folder, *(path for path in folder.rglob("*") if made.isdisjoint((path, *path.parents)))]
    found = {str(path): path.lstat() for path in paths}
    return {path: (one.st_mode, one.st_uid, one.st_gid) for path, one in found.items()}


class Checkout:
    """A checkout in which two runs take place, and a folder outside by which they are steered."""

    def __init__(self, folder: Path) -> None:
        self.root, self.gate = folder / "checkout", folder / "gate"
        folder.chmod(0o755)
        self.gate.mkdir()
        self.gate.chmod(0o777)
        places = {
            "ROOT": str(self.root),
            "GATE": str(self.gate),
        }  # an agent whose command names the checkout could read it
        runners = {
            tag: {"agent": {"type": "command", "command": ["sh", "-c", LOOKS], "env": places | {"TAG": tag}}}
            for tag in ("first", "second")
        }
        files = {
            "skillgym.config.yaml": json.dumps({"runners": runners}),
            "bench/core.json": suite(*(case(name) for name in CASES)),
            "README.md": "",
        }
        repository(self.root, files, git=True)
        (self.root / ".git").chmod(0o751)
        self.root.chmod(0o755)
        self.before = modes(self.root)
        self.tools: list[subprocess.Popen[str]] = []

    def start(self, tag: str) -> subprocess.Popen[str]:
        """A run that has closed the checkout, and whose first agent waits."""
        options = ("run", "--agent-user", "nobody", "--runner", tag, "--output", tag)
        tool = started(*options, cwd=self.root)
        self.tools.append(tool)
        begun = self.gate / f"begun-{tag}-one"
        until(lambda: begun.exists() or tool.poll() is not None, f"the first agent of {tag}")
        assert begun.exists(), tool.communicate()
        return tool

    def let(self, tag: str, *names: str) -> None:
        """These agents go on."""
        for name in names:
            (self.gate / f"{tag}-{name}").touch()

    def end(self, tool: subprocess.Popen[str]) -> None:
        _, err = tool.communicate(timeout=60)
        assert tool.returncode == 0, err

    def read_by(self, tag: str, name: str) -> str:
        """What that agent could read."""
        return (self.root / tag / "core" / name / tag / "repeat-1" / "changes" / "out.txt").read_text()

    @property
    def is_closed(self) -> bool:
        found = self.root.stat()
        git = stat.S_IMODE((self.root / ".git").stat().st_mode)
        return (stat.S_IMODE(found.st_mode), found.st_gid >= GROUP, git) == (0o750, True, 0o700)

    @property
    def is_as_before(self) -> bool:
        return modes(self.root) == self.before


@pytest.fixture
def checkout() -> Iterator[Checkout]:
    """Where others can get to, as a runner's workspace is; pytest's own folders are not."""
    folder = Path(tempfile.mkdtemp(prefix="skillgym-checkout-"))
    found = Checkout(folder)
    yield found
    for tool in found.tools:
        if tool.poll() is None:
            killed(tool)
    shutil.rmtree(folder)


def refused(root: Path) -> None:
    """Without root the message says that this needs root."""
    ran = skillgym("run", "--agent-user", "nobody", "--output", "results", cwd=root)
    assert (ran.code, "only root" in ran.err) == (2, True)


def guards_of(tool: subprocess.Popen[str]) -> list[psutil.Process]:
    """The processes that restore what the tool has closed, if it is killed."""
    found = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
        except psutil.Error:
            continue
        if closed_path_records.__file__ in words and str(tool.pid) in words and "-I" in words:
            found.append(process)
    return found


def killed(tool: subprocess.Popen[str]) -> None:
    tool.kill()
    tool.communicate()


# --- two runs ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_run_that_ends_first_leaves_the_checkout_closed_for_the_other(checkout):
    if not IS_ROOT:
        refused(checkout.root)
        return
    first, second = checkout.start("first"), checkout.start("second")
    checkout.let("first", *CASES)
    checkout.end(first)
    assert checkout.is_closed
    checkout.let("second", *CASES)
    checkout.end(second)
    assert [checkout.read_by(tag, name) for tag in ("first", "second") for name in CASES] == [""] * 4
    assert checkout.is_as_before


@pytest.mark.slow
def test_the_run_that_began_first_may_end_last(checkout):
    if not IS_ROOT:
        refused(checkout.root)
        return
    first, second = checkout.start("first"), checkout.start("second")
    checkout.let("second", *CASES)
    checkout.end(second)
    assert checkout.is_closed
    checkout.let("first", *CASES)
    checkout.end(first)
    assert [checkout.read_by("first", name) for name in CASES] == ["", ""]
    assert checkout.is_as_before


@pytest.mark.slow
def test_a_run_uses_the_group_of_another_one_that_is_under_way(checkout):
    if not IS_ROOT:
        refused(checkout.root)
        return
    with suite_group(checkout.root, 50_777):
        tool = checkout.start("first")
        assert mode(checkout.root) == "750 50777"
        checkout.let("first", *CASES)
        checkout.end(tool)
    assert checkout.is_as_before


# --- killed -----------------------------------------------------------------------------------------


@pytest.mark.timed
def test_what_a_killed_run_has_closed_is_as_it_was_within_two_seconds(checkout):
    if not IS_ROOT:
        refused(checkout.root)
        return
    tool = checkout.start("first")
    (guardian,) = guards_of(tool)
    assert checkout.is_closed
    killed(tool)
    until(lambda: checkout.is_as_before, "the modes of before", limit=2.0)
    until(lambda: not guardian.is_running(), "the end of the guardian")


@pytest.mark.slow
def test_a_killed_run_opens_nothing_that_another_one_closes(checkout):
    if not IS_ROOT:
        refused(checkout.root)
        return
    first, second = checkout.start("first"), checkout.start("second")
    (guardian,) = guards_of(first)
    killed(first)
    until(lambda: not guardian.is_running(), "the end of the guardian")
    assert checkout.is_closed
    checkout.let("second", *CASES)
    checkout.end(second)
    assert checkout.read_by("second", "one") == ""
    assert checkout.is_as_before


@pytest.mark.slow
def test_two_killed_runs_open_what_both_had_closed(checkout):
    if not IS_ROOT:
        refused(checkout.root)
        return
    first, second = checkout.start("first"), checkout.start("second")
    killed(first)
    killed(second)
    until(lambda: checkout.is_as_before, "the modes of before")


@pytest.mark.slow
def test_what_was_killed_with_its_guard_is_restored_by_the_next_run(checkout):
    if not IS_ROOT:
        refused(checkout.root)
        return
    tool = checkout.start("first")
    (guardian,) = guards_of(tool)
    guardian.kill()
    killed(tool)  # from now on each run on this machine, also that of another test, restores what it left closed
    checkout.let("second", *CASES)
    checkout.end(checkout.start("second"))
    assert checkout.is_as_before


@pytest.mark.slow
def test_nothing_is_left_to_wait_for_a_run_that_has_ended(checkout):
    if not IS_ROOT:
        refused(checkout.root)
        return
    tool = checkout.start("first")
    checkout.let("first", *CASES)
    checkout.end(tool)
    until(lambda: not guards_of(tool), "the end of the guardian")


# --- several closures of a path ---------------------------------------------------------------------


def mode(path: Path) -> str:
    found = path.stat()
    return f"{stat.S_IMODE(found.st_mode):o} {found.st_gid}"


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder that all users can read."""
    made = tmp_path / "folder"
    made.mkdir()
    made.chmod(0o755)
    return made


OWN = os.getegid()


def test_a_path_that_is_closed_in_both_ways_is_open_to_the_group_alone(folder):
    if not IS_ROOT:
        refused(repository(folder))
        return
    with closed_to_others([folder], folder):
        assert mode(folder) == f"700 {OWN}"
        with closed_but_to(GROUP, [folder], folder):
            assert mode(folder) == f"750 {GROUP}"
        assert mode(folder) == f"700 {OWN}"
    assert mode(folder) == f"755 {OWN}"


def test_closures_of_a_path_end_in_any_order(folder):
    if not IS_ROOT:
        refused(repository(folder))
        return
    contexts = [closed_but_to(GROUP, [folder], folder), closed_to_others([folder], folder)]
    contexts.append(closed_but_to(GROUP, [folder], folder))
    for context in contexts:
        context.__enter__()
    seen = []
    for context in contexts:
        seen.append(mode(folder))
        context.__exit__(None, None, None)
    assert (seen, mode(folder)) == ([f"750 {GROUP}"] * 3, f"755 {OWN}")


def test_a_second_run_uses_the_group_of_the_first(folder):
    if not IS_ROOT:
        refused(repository(folder))
        return
    runs = [suite_group(folder, group) for group in (GROUP, OTHER, OTHER)]
    found = [run.__enter__() for run in runs[:2]]
    with closed_but_to(found[1], [folder], folder):
        assert mode(folder) == f"750 {GROUP}"
    runs[0].__exit__(None, None, None)
    found.append(runs[2].__enter__())
    assert (found, mode(folder)) == ([GROUP] * 3, f"755 {OWN}")
    for run in runs[1:]:
        run.__exit__(None, None, None)
    with suite_group(folder, OTHER) as alone:
        assert alone == OTHER


def test_a_path_that_is_open_to_another_group_is_refused_and_stays_as_it_is(folder):
    if not IS_ROOT:
        refused(repository(folder))
        return
    beside = folder / "beside"
    beside.mkdir()
    beside.chmod(0o751)
    with closed_but_to(GROUP, [folder], folder):
        wait = pytest.raises(UsageError, match=f"open to group {GROUP} instead of {OTHER}; wait until")
        with wait, closed_but_to(OTHER, [beside, folder], folder):
            pass
        assert (mode(folder), mode(beside)) == (f"750 {GROUP}", f"751 {OWN}")


# --- links ------------------------------------------------------------------------------------------


def test_a_link_that_takes_the_place_of_a_closed_path_is_not_followed(folder, tmp_path):
    if not IS_ROOT:
        refused(repository(folder))
        return
    target, closed = tmp_path / "target", folder / "closed"
    for path in (target, closed):
        path.mkdir()
        path.chmod(0o705)
    with closed_to_others([closed], folder):
        moved = closed.rename(folder / "moved")
        closed.symlink_to(target)
        target.chmod(0o700)
    assert (mode(target), mode(moved)) == (f"700 {OWN}", f"705 {OWN}")


@pytest.mark.parametrize("name", [".git", "between/.git"])
def test_a_link_out_of_the_checkout_is_refused_and_its_target_stays_as_it_is(folder, tmp_path, name):
    if not IS_ROOT:
        refused(repository(folder))
        return
    target = tmp_path / "target"
    (target / ".git").mkdir(parents=True)
    (folder / name.split("/")[0]).symlink_to(target)
    before = modes(target)
    with (
        pytest.raises(UsageError, match="a link that leads out of the checkout"),
        closed_to_others([folder / name], folder),
    ):
        pass
    assert modes(target) == before


# --- records ----------------------------------------------------------------------------------------


DEAD = {"pid": 2**22 + 1, "start": "1", "boot": closed_path_records.boot_id(), "token": "t", "closes": True}


def left_closed(place: Path, path: Path, found: os.stat_result, **more: Any) -> str:
    """The record of a run that closed ``path`` and is not there any more; its name."""
    name = name_of(found)
    with locked([str(place)]) as records:
        record = Record(path=str(path), mode=stat.S_IMODE(found.st_mode), gid=found.st_gid)
        record.holders.append(ClosingRun(**(DEAD | more)))
        write(records, name, record)
    path.chmod(0o700)
    return name


def repaired(place: Path, name: str) -> bool:
    """Whether nothing is left to do."""
    with locked([str(place)]) as records:
        repair(records)
        return read(records, name) is None


@pytest.fixture
def place(tmp_path) -> Path:
    """Where records lie."""
    made = tmp_path / "place"
    made.mkdir()
    return made


@pytest.mark.parametrize(
    "holder",
    [
        pytest.param({}, id="no such process"),
        pytest.param({"pid": os.getpid()}, id="a later process with its number"),
        pytest.param({"pid": os.getpid(), "start": this_process()["start"], "boot": "another"}, id="before a restart"),
    ],
)
def test_what_a_run_left_closed_is_restored(folder, place, holder):
    name = left_closed(place, folder, folder.stat(), **holder)
    assert repaired(place, name)
    assert mode(folder) == f"755 {OWN}"


def test_the_next_run_restores_what_a_dead_one_left_closed(folder, place):
    left_closed(place, folder, folder.stat())
    with closed_to_others([folder], folder, [str(place)]):
        assert mode(folder) == f"700 {OWN}"
    assert mode(folder) == f"755 {OWN}"


def test_what_a_run_closes_that_goes_on_stays_closed(folder, place):
    name = left_closed(place, folder, folder.stat(), **this_process())
    assert not repaired(place, name)
    assert mode(folder) == f"700 {OWN}"


def test_a_link_in_the_place_of_what_was_left_closed_is_not_followed(folder, place):
    name = left_closed(place, folder, folder.stat())
    folder.rename(folder.with_name("moved"))
    folder.symlink_to("moved")
    assert repaired(place, name)
    assert mode(folder.with_name("moved")) == f"700 {OWN}"


def test_what_somebody_has_changed_since_stays_as_it_is(folder, place):
    name = left_closed(place, folder, folder.stat())
    folder.chmod(0o711)
    assert repaired(place, name)
    assert mode(folder) == f"711 {OWN}"


def test_another_folder_of_the_same_name_stays_as_it_is(folder, place):
    name = left_closed(place, folder, folder.stat())
    folder.rename(folder.with_name("moved"))
    folder.mkdir(mode=0o700)
    assert repaired(place, name)
    assert mode(folder) == f"700 {OWN}"


def test_a_process_that_has_ended_does_not_run_although_nobody_has_waited_for_it():
    with subprocess.Popen(("sleep", "60")) as child:
        assert closed_path_records.process_start(child.pid) is not None
        child.kill()
        until(lambda: closed_path_records.process_start(child.pid) is None, "the end of the process")


def test_a_record_that_is_none_is_passed_over(folder, place):
    name = name_of(folder.stat())
    for text in ("", "[]", "{", '{"path": 1}'):
        with locked([str(place)]):
            (place / "skillgym-action" / "closures" / name).write_text(text)
        assert repaired(place, name)


def test_records_are_one_runs_at_a_time(place):
    events = []

    def another() -> None:
        with locked([str(place)]):
            events.append("the second enters")

    thread = threading.Thread(target=another)
    with locked([str(place)]) as folder:
        lock = os.open(closed_path_records.LOCK, os.O_RDWR, dir_fd=folder)
        with closing(os.fdopen(lock)), pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        thread.start()
        until_blocked(thread)
        events.append("the first leaves")
    thread.join()
    assert events == ["the first leaves", "the second enters"]


def test_records_that_others_can_write_to_are_refused(folder, place):
    inside = place / "skillgym-action"
    inside.mkdir()
    inside.chmod(0o777)
    public = pytest.raises(UsageError, match="closures: others can write to it, or own it; let only root write to")
    with public, closed_to_others([folder], folder, [str(place)]):
        pass
    assert mode(folder) == f"755 {OWN}"


def test_without_a_place_for_records_nothing_is_closed(folder):
    missing = pytest.raises(UsageError, match="that use one checkout cannot be counted: /proc/skillgym-action/closures")
    with missing, closed_to_others([folder], folder, ["/proc"]):
        pass
    assert mode(folder) == f"755 {OWN}"


def test_a_link_in_the_place_of_records_is_refused(folder, place, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (place / "skillgym-action").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="cannot be counted"), closed_to_others([folder], folder, [str(place)]):
        pass
    assert list((tmp_path / "elsewhere").iterdir()) == []
