"""Every attack from every position, by root and by an ordinary user: see ``attempts`` and ``positions``."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

import everybody
import skillgym_action
from attempts import CONTENT, ENVIRONMENT, OPERATORS, said
from composite_step import composite_step, on_machine
from led_by_names import outcomes
from positions import (
    BY_NAME,
    IN_JOBS,
    IN_PLAY,
    SECOND_RUN,
    applies,
    attempts_of,
    disagreements,
    kept_of,
    play,
    play_of_two,
)
from scratch import HUNG, repository, skillgym, written
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attempts import Attempt
    from positions import Setting
    from scratch import Ran

IS_ROOT = os.geteuid() == 0
PACKAGE = Path(skillgym_action.__file__).parent
COMMAND_LINE: tuple[Setting, ...] = ("root", "ordinary user")
FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")


class Place:
    """A checkout that others can reach, beside the operator's home and a folder that only its owner can enter."""

    def __init__(self, folder: Path, setting: Setting | None) -> None:
        """``setting`` None: in the composite action root runs all as the caller."""
        self.folder, self.mark, self.setting = folder, uuid4().hex, setting
        self.root, self.operator, self.closed = folder / "checkout", folder / "operator", folder / "closed"
        written(self.operator, OPERATORS)
        written(self.closed, {"file.json": json.dumps({"name": CONTENT, "cases": []})})
        (self.closed / "results").mkdir()
        self.closed.chmod(0o700)
        folder.chmod(0o755)
        (folder / "tmp").mkdir()
        self.places: dict[str, str | Path] = {
            "checkout": self.root, "results": self.root / "results", "operator": self.operator, "package": PACKAGE,
            "closed": self.closed, "socket": "/nothing",
        }  # fmt: skip
        self.folders = on_machine(folder / "runner") if setting in IN_JOBS | {None} else None
        if self.folders:
            self.places |= self.folders.places

    def play(self) -> Ran:
        """All suites in the checkout, two sessions at a time."""
        if self.folders is None:
            return self.command("run", "--jobs", "2", "--output", "results")
        user = {"agent-user": "nobody"} if self.setting else {}
        inputs = {"jobs": "2", "report-dir": "results", **user}
        given = {"HOME": str(self.operator), "TMPDIR": str(self.folder / "tmp"), **ENVIRONMENT}
        return composite_step(self.root, self.folders, inputs, **given)

    def command(self, *args: str) -> Ran:
        """The tool in the checkout; whoever starts it owns all there is."""
        user = ("--agent-user", "nobody") if self.setting == "root" and args[0] == "run" else ()
        given = {"HOME": str(self.operator), "TMPDIR": str(self.folder / "tmp"), **ENVIRONMENT}
        owned = self.folder if self.setting == "ordinary user" else None
        return everybody.ran(*args, *user, cwd=self.root, owned=owned, **given)

    def run(self, *, output: str = "results", template_dir: str | None = None) -> tuple[int, str]:
        """Fulfils ``led_by_names.Tool``."""
        templates = ("--template-dir", template_dir) if template_dir else ()
        ran = self.command("run", "--keep", "all", "--output", output, *templates)
        return ran.code, ran.out + ran.err

    def report(self, folder: str) -> tuple[int, str]:
        """Fulfils ``led_by_names.Tool``."""
        ran = self.command("report", folder, "--output", "merged")
        return ran.code, ran.out + ran.err

    def reached(self, position: str, tried: tuple[Attempt, ...]) -> set[str]:
        """What was reached from there, in words. Everything was tried."""
        told = said(self.mark, self.root / "results").get(position, {})
        assert (told.get("able"), sorted(told.get("tried", ()))) == ([0], list(range(len(tried)))), position
        return {tried[number].words for number in told.get("reached", ())}

    def signal(self, name: str) -> None:
        """Tell the players."""
        Path(f"/tmp/{name}-{self.mark}").touch()

    def has(self, name: str) -> bool:
        return Path(f"/tmp/{name}-{self.mark}").exists()


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="skillgym-positions-"))
    made = Place(folder, request.param)
    yield made
    shutil.rmtree(folder)
    for name in ("left", "done", "begun", "go"):
        for found in (Path(folder, f"{name}-{made.mark}") for folder in FOLDERS):
            shutil.rmtree(found) if found.is_dir() else found.unlink(missing_ok=True)


def needs_root(place: Place) -> bool:
    """Whether nobody is root who has to be; who asks for users of sessions is told so."""
    if IS_ROOT or place.setting == "ordinary user":
        return False
    ran = skillgym("run", "--agent-user", "nobody", cwd=repository(place.root))
    assert (ran.code, "only root" in ran.err) == (2, True)
    return True


in_settings = pytest.mark.parametrize("place", COMMAND_LINE, indirect=True)


@pytest.mark.parametrize("place", [*COMMAND_LINE, "composite action"], indirect=True)
def test_no_position_reaches_what_is_not_its_own(place, proved):
    if needs_root(place):
        return
    tried = attempts_of(place.setting)
    repository(place.root, play(tried, place.mark, **place.places), git=True)
    ran = place.play()
    assert ran.code == 0, ran.out + ran.err
    found = {position: kept_of(tried, place.reached(position, tried)) for position in IN_PLAY}
    assert disagreements(found, place.setting) == []
    proved.cells(place.setting, found)


@pytest.mark.parametrize("place", [None], indirect=True)
def test_the_attacks_are_real_ones(place):
    """Where root runs everything as the caller, they succeed from every position."""
    if needs_root(place):
        return
    tried = tuple(attempt for attempt in attempts_of("composite action") if attempt.real)
    repository(place.root, play(tried, place.mark, **place.places), git=True)
    ran = place.play()
    assert ran.code == 0, ran.out + ran.err
    everything = {attempt.words for attempt in tried}
    assert [(position, missed) for position in IN_PLAY if (missed := everything - place.reached(position, tried))] == []


@in_settings
def test_a_second_run_that_has_ended_opens_nothing(place, proved):
    if needs_root(place):
        return
    tried = attempts_of(place.setting)
    repository(place.root, play_of_two(tried, place.mark, **place.places), git=True)
    first: list[Ran] = []
    files = ("bench/1-beside.json", "bench/2-attack.json", "bench/4_suite.py", "bench/5-end.json")
    running = threading.Thread(
        target=lambda: first.append(place.command("run", *files, "--jobs", "2", "--output", "results"))
    )
    running.start()
    until(lambda: place.has("begun") or not running.is_alive(), "the first run's attacks", limit=HUNG)
    second = place.command("run", "bench/core.json", "--output", "second")
    place.signal("go")
    running.join()
    assert (second.code, [ran.code for ran in first]) == (0, [0]), (second, first)
    found = {SECOND_RUN: kept_of(tried, place.reached(SECOND_RUN, tried))}
    assert disagreements(found, place.setting) == []
    proved.cells(place.setting, found)


@in_settings
def test_the_tool_is_led_nowhere_by_names(place, proved):
    if needs_root(place):
        return
    before = state(place.closed)
    found = outcomes(place, place.root, attempts_of(place.setting), place.places)
    for position in BY_NAME:
        wanted = {attempt.words for attempt in attempts_of(place.setting) if applies(attempt, position, place.setting)}
        assert found[position].keys() == wanted
    assert disagreements(found, place.setting) == []
    assert state(place.closed) == before
    proved.cells(place.setting, found)


def state(folder: Path) -> list[tuple[str, int, int]]:
    """Names, modes and times of all that is there."""
    return [
        (str(path), path.lstat().st_mode, path.lstat().st_mtime_ns) for path in (folder, *sorted(folder.rglob("*")))
    ]
