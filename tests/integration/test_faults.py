"""What may happen to a run at any moment: it is ended from outside, at whatever it does."""

from __future__ import annotations

import json
import math
import os
import shlex
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

import action_step
from faults import reported
from github_replies import late
from on_github import github_with
from scratch import HUNG, PROGRAM, case, config, environment, repository, runner, suite, world_in, written
from scripted_http import ScriptedServer, Silence
from skillgym_action.pipeline import pipeline, wiring
from skillgym_action.results.schema import Results
from skillgym_action.settings import resolve
from skillgym_action.settings.context import current_context
from skillgym_action.settings.runners import configured_runners
from skillgym_action.settings.settings import validated_settings
from skillgym_action.system.clock import Clock
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

SOON = 5.0 * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
"""Seconds from the signal to the end, on a machine that is not shared; GitHub kills 7.5 s after the signal."""
PYTHON = "from skillgym_action import Suite, Workspace\nimport os, signal, time\n"
STUBBORN = "trap '' TERM INT; "
CLINGING = (
    f'{sys.executable} -c \'import os, signal, time; signal.signal(15, signal.SIG_IGN); os.write(1, b"x"); '
    "time.sleep(600)'"
)
"""Writes a letter once it heeds no signal but SIGKILL."""


class Scene:
    """A repository below ``folder``, and everything a run in it could leave: its temporary folder, its processes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "repo"
        self.temporary, self.begun = folder / "tmp", folder / "begun"
        self.bin = folder / "bin"
        self.temporary.mkdir()

    def program(self, name: str, script: str) -> None:
        """A program that is found before any other of its name."""
        written(self.bin, {name: f"#!/bin/sh\n{script}\n"})
        (self.bin / name).chmod(0o755)

    @property
    def env(self) -> dict[str, str]:
        return {"PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "TMPDIR": str(self.temporary)}

    def started(self, *args: str, **env: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        given = environment(**self.env, **env)
        argv = (PROGRAM, *(args or ("run", "--output", "out")))
        return subprocess.Popen(argv, cwd=self.root, env=given, stdout=pipe, stderr=pipe, text=True)

    def ended(self, child: subprocess.Popen[str], number: int = signal.SIGTERM) -> str:
        """Signal it once it does what is to be interrupted; what it says by its end, which comes soon."""
        until(lambda: self.begun.exists() or child.poll() is not None, f"{self.begun}, or the end of the run")
        began = time.monotonic()
        child.send_signal(number)
        out, err = child.communicate(timeout=HUNG)
        took = time.monotonic() - began
        assert child.returncode == 130, err
        assert "Traceback" not in err + out
        assert "internal error" not in err
        assert took < SOON, f"{took:.1f} s"
        self.leaves_nothing()
        return err

    def leaves_nothing(self) -> None:
        """Neither a process nor a folder."""
        assert self.running() == []
        assert list(self.temporary.iterdir()) == []

    def running(self) -> list[str]:
        """Processes that have our PATH."""
        mark = os.fsencode(f"PATH={self.bin}:")
        found = []
        for process in Path("/proc").iterdir():
            if process.name.isdigit():
                try:
                    if mark in (process / "environ").read_bytes():
                        found.append((process / "cmdline").read_text())
                except OSError:
                    continue
        return found

    def results(self, name: str = "out") -> dict[str, Any]:
        """The results of a cancelled run, all of whose reports are whole."""
        folder = self.root / name
        told = reported(folder)
        assert (told["run"]["status"], told["run"]["decision"]["exitCode"]) == ("cancelled", 130)
        assert "cancelled" in (folder / "summary.md").read_text().lower()
        assert "cancelled" in (folder / "comment.md").read_text().lower()
        assert [path.name for path in folder.iterdir() if path.name.startswith(".") and path.name != ".gitignore"] == []
        return told

    def statuses(self, name: str = "out") -> dict[str, str]:
        return {one["caseId"]: one["status"] for part in self.results(name)["suites"] for one in part["results"]}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    made = Scene(tmp_path)
    made.program("nothing", "true")
    return made


def which(name: str) -> str:
    return subprocess.run(["sh", "-c", f"command -v {name}"], capture_output=True, text=True, check=True).stdout.strip()


def hangs(scene: Scene, *, stubborn: bool = False) -> str:
    """A line of shell that begins and never ends; or only when it is killed."""
    return f"{STUBBORN if stubborn else ''}: > {scene.begun}; while :; do sleep 300; done"


# --- every stage ------------------------------------------------------------------------------------


def discovering(scene: Scene) -> None:
    repository(scene.root, git=True)
    scene.program("git", f'case "$*" in *ls-files*) {hangs(scene, stubborn=True)};; esac; exec {which("git")} "$@"')


def loading(scene: Scene) -> None:
    body = f"open({str(scene.begun)!r}, 'w')\ntime.sleep(300)\n"
    repository(scene.root, {"bench/x_suite.py": PYTHON + body})


def running_while_hosts_stay(scene: Scene) -> None:
    """Suite programs that are there and do not want to go."""
    stays = "signal.signal(15, signal.SIG_IGN)\nsuite = Suite()\n@suite.case('{n}', prompt='p')\ndef x(report): pass\n"
    files = {f"bench/a{number}_suite.py": PYTHON + stays.format(n=number) for number in range(8)}
    repository(scene.root, files | {"bench/core.json": None, "skillgym.config.yaml": config(runner(hangs(scene)))})


def installing(scene: Scene) -> None:
    scene.program("npm", hangs(scene))
    claude = {"agent": {"type": "claude-code", "version": "9.9.9"}}
    repository(scene.root, {"skillgym.config.yaml": config(claude=claude)})


def copying_the_repository(scene: Scene) -> None:
    repository(scene.root, git=True)
    scene.program("git", f'case "$*" in *add*) {hangs(scene)};; esac; exec {which("git")} "$@"')


def bootstrapping(scene: Scene) -> None:
    repository(scene.root, {"bench/core.json": suite(workspace={"bootstrap": hangs(scene)})})


def executing(scene: Scene) -> None:
    """An agent that does not want to go, and neither does what it started and forgot."""
    clings = scene.folder / "clings"
    strays = "".join(f"(setsid {CLINGING} >>{clings} &) ; " for _ in range(6))
    script = f"{strays}until [ $(wc -c <{clings}) -ge 6 ]; do sleep 0.05; done; {hangs(scene, stubborn=True)}"
    repository(scene.root, {"skillgym.config.yaml": config(runner(script))})


def judging_with_a_command(scene: Scene) -> None:
    repository(scene.root, {"bench/core.json": suite(case(expect=(f"test:{hangs(scene)}",)))})


def judging_with_a_check(scene: Scene) -> None:
    body = f"open({str(scene.begun)!r}, 'w')\n    time.sleep(300)\n"
    check = f"suite = Suite()\n@suite.case('one', prompt='p')\ndef x(report):\n    {body}"
    repository(scene.root, {"bench/core.json": None, "bench/x_suite.py": PYTHON + check})


@pytest.mark.timed
@pytest.mark.parametrize(
    ("stage", "number", "statuses"),
    [
        pytest.param(discovering, signal.SIGTERM, {}, id="discover: git hangs"),
        pytest.param(loading, signal.SIGINT, {"one": "skipped"}, id="load: a suite hangs"),
        pytest.param(installing, signal.SIGTERM, {"one": "skipped"}, id="equip: npm hangs"),
        pytest.param(copying_the_repository, signal.SIGINT, {"one": "skipped"}, id="execute: git hangs"),
        pytest.param(bootstrapping, signal.SIGTERM, {"one": "skipped"}, id="execute: a bootstrap hangs"),
        pytest.param(executing, signal.SIGTERM, {"one": "skipped"}, id="execute: an agent and what it left"),
        pytest.param(running_while_hosts_stay, signal.SIGINT, dict.fromkeys("01234567", "skipped"), id="suites stay"),
        pytest.param(judging_with_a_command, signal.SIGTERM, {"one": "skipped"}, id="judge: a command"),
        pytest.param(judging_with_a_check, signal.SIGINT, {"one": "skipped"}, id="judge: a check"),
    ],
)
def test_a_run_that_is_cancelled_in_any_stage_ends_soon_with_all_reports(scene, stage, number, statuses, proved):
    stage(scene)
    install = {"SKILLGYM_INSTALL_AGENTS": "1", "SKILLGYM_AGENTS_DIR": str(scene.folder / "agents")}
    install["ANTHROPIC_API_KEY"] = "key-of-nobody"
    scene.ended(scene.started(**install), number)
    assert scene.statuses() == statuses
    missing = ["the run was cancelled before all suites were loaded"] if stage in {discovering, loading} else []
    assert scene.results()["run"].get("incomplete", []) == missing
    proved("faults", "stages in which SIGTERM or SIGINT left all reports within 5 s, and nothing else")


@pytest.mark.timed
def test_a_large_template_is_not_copied_to_its_end(scene, proved):
    template = scene.root / "template"
    for folder in range(20):
        (template / str(folder)).mkdir(parents=True)
        for file in range(200):
            (template / str(folder) / str(file)).touch()
    body = f"suite = Suite()\nworkspace = Workspace(template_dir={str(template)!r})\n"
    check = "@suite.case('x', prompt='p')\ndef x(report): pass\n"
    repository(scene.root, {"bench/core.json": None, "bench/x_suite.py": PYTHON + body + check})
    child = scene.started()
    copies = until(lambda: list(scene.temporary.glob("skillgym-*/*/workspace/*/*")), "files that were copied")
    scene.begun.touch()
    scene.ended(child)
    assert len(copies) < 4000
    assert scene.statuses() == {"x": "skipped"}
    proved("faults", "stages in which SIGTERM or SIGINT left all reports within 5 s, and nothing else")


MANY = "import os\nfor i in range(50_000): os.makedirs(f'd{i // 500}', exist_ok=True); open(f'd{i // 500}/{i}', 'w').close()"  # noqa: E501


def looking_at_a_large_file(scene: Scene) -> Callable[[int], bool]:
    """A file of the user's directory has another time and the same size; reading it would take many minutes."""
    large = scene.root / "work/large"
    body = "suite = Suite()\nworkspace = Workspace(mode='none', cwd='../work')\n"
    check = "@suite.case('one', prompt='p')\ndef x(report): pass\n"
    files = {"bench/core.json": None, "bench/x_suite.py": PYTHON + body + check, "work/large": ""}
    repository(scene.root, files | {"skillgym.config.yaml": config(runner("touch large"))})
    os.truncate(large, 2**43)
    return lambda tool: str(large) in [file.path for file in psutil.Process(tool).open_files()]


def looking_at_many_files(scene: Scene) -> Callable[[int], bool]:
    """As many as npm installs."""
    done = scene.folder / "done"
    agent = runner(f"{shlex.quote(sys.executable)} -c {shlex.quote(MANY)}; echo $$ > {done}.new; mv {done}.new {done}")
    repository(scene.root, {"skillgym.config.yaml": config(agent)})
    return lambda _: done.exists() and not psutil.pid_exists(int(done.read_text()))


@pytest.mark.timed
@pytest.mark.parametrize("files", [looking_at_a_large_file, looking_at_many_files])
def test_the_look_at_what_an_agent_has_left_is_not_waited_for(scene, files, proved):
    has_begun = files(scene)
    child = scene.started("run", "--output", "out", "--keep", "all")
    until(lambda: has_begun(child.pid) or child.poll() is not None, "the look, or the end of the run")
    scene.begun.touch()
    scene.ended(child)
    assert scene.statuses() == {"one": "skipped"}
    proved("faults", "stages in which SIGTERM or SIGINT left all reports within 5 s, and nothing else")


@pytest.mark.timed
def test_a_judge_that_does_not_answer_is_not_waited_for(scene, proved):
    told = {"judge": {"api": "anthropic", "model": "m"}}
    suite_file = "tests:\n- {id: one, input: Greet., criteria: It greets.}\n"
    files = {"bench/core.json": None, "bench/EVAL.yaml": suite_file}
    repository(scene.root, files | {"skillgym.config.yaml": config(runner(), run=told)})
    with ScriptedServer(Silence()) as server:
        child = scene.started(ANTHROPIC_API_KEY="a-key-of-the-judge", ANTHROPIC_BASE_URL=server.url)
        until(lambda: server.requests, "a request to the judge")
        scene.begun.touch()
        scene.ended(child)
    assert scene.statuses() == {"one": "skipped"}
    proved("faults", "stages in which SIGTERM or SIGINT left all reports within 5 s, and nothing else")


@pytest.mark.timed
@pytest.mark.parametrize(
    ("where", "executed"),
    [
        pytest.param("", "skipped", id="from the beginning"),
        pytest.param("PATCH", "passed", id="when it is told the end"),
    ],
)
def test_a_github_that_does_not_answer_is_not_waited_for(scene, where, executed, proved):
    repository(scene.root)
    with github_with() as github:
        github.fail(late(300), times=100, where=where)
        child, files = action_step.started(scene.root, github, {"report-dir": "out"}, **scene.env)
        until(lambda: any(one.startswith(where) for one in github.asked), "the request that gets no answer")
        assert (scene.root / "out" / "junit.xml").exists() == bool(where)
        began = time.monotonic()
        child.send_signal(signal.SIGTERM)
        step = action_step.finished(child, files)
        took = time.monotonic() - began
    assert (step.code, step.outputs["exit-code"], step.outputs["verdict"]) == (130, "130", "inconclusive")
    assert took < SOON, f"{took:.1f} s"
    assert scene.statuses() == {"one": executed}
    assert "cancelled" in step.summary
    scene.leaves_nothing()
    proved("faults", "stages in which SIGTERM or SIGINT left all reports within 5 s, and nothing else")


@pytest.mark.timed
@pytest.mark.parametrize("command", ["check", "list", "run --dry-run"])
def test_commands_that_only_look_are_cancelled_as_well(scene, command):
    loading(scene)
    assert scene.ended(scene.started(*command.split())).strip() == "cancelled"


@pytest.mark.timed
def test_a_configuration_that_is_a_program_does_not_keep_a_run_from_ending(scene):
    body = f"import fs from 'node:fs'; fs.writeFileSync({json.dumps(str(scene.begun))}, ''); for (;;);"
    repository(scene.root, {"skillgym.config.yaml": None, "skillgym.config.mjs": body})
    assert scene.ended(scene.started()).strip() == "cancelled"
    assert not (scene.root / "out").exists()


# --- the clock --------------------------------------------------------------------------------------


class SetBack(Clock):
    """Somebody sets the machine's clock back by an hour, again and again."""

    def __init__(self) -> None:
        super().__init__()
        self._hours = count()

    def now(self) -> datetime:
        return super().now() - timedelta(hours=next(self._hours))


def test_a_clock_that_is_set_back_makes_nothing_shorter_than_nothing(tmp_path, proved):
    root = repository(tmp_path, {"bench/core.json": suite(case("a"), case("b", ("no-file:out.txt",)))})
    given = validated_settings({"retry": 1}, str)
    context = current_context(root, environment())
    told = wiring.configuration(given, context)
    runners = configured_runners(given, told, context)
    options = resolve.options(given, told, context, runners=1)
    with world_in(root) as services:
        clock = SetBack()
        report = pipeline.run(replace(services, clock=clock), runners, options, command="run", show=lambda _: None)
    assert clock.now() < datetime.now(UTC) - timedelta(hours=3)
    results = json.loads((root / "results/results.json").read_text())
    Results.model_validate(results)
    assert report.started_at <= report.ended_at
    durations = [report.duration_ms, *(one.duration_ms for result in report.results for one in result.attempts)]
    assert (len(durations), min(durations) >= 0) == (4, True)
    times = [json.loads(path.read_text()) for path in root.rglob("report.json")]
    assert len(times) == 3
    assert all(one["startedAt"] <= one["endedAt"] and one["durationMs"] >= 0 for one in times)
    proved("faults", "times the clock was set back, and nothing lasted less than nothing", next(clock._hours))


# --- any moment -------------------------------------------------------------------------------------


def processor_seconds(child: subprocess.Popen[str]) -> float:
    """What a process has used so far, which says how far it is on any machine; endless once it has ended."""
    if child.poll() is not None:
        return math.inf
    used = psutil.Process(child.pid).cpu_times()
    return float(used.user + used.system)


def test_a_signal_at_any_moment_leaves_a_whole_run_or_none(scene, proved):
    repository(scene.root, {"bench/core.json": suite(*map(case, "abcd"))})
    codes = []
    for number in range(10):
        child = scene.started("run", "--output", f"out{number}")
        moment = 0.08 + number * 0.07
        until(lambda child=child, moment=moment: processor_seconds(child) >= moment, "that moment, or the end")
        child.send_signal((signal.SIGTERM, signal.SIGINT)[number % 2])
        out, err = child.communicate(timeout=HUNG)
        codes.append(child.returncode)
        if child.returncode == -signal.SIGTERM:  # before the program began
            assert not (scene.root / f"out{number}").exists()
            continue
        assert child.returncode in {0, 130}, err
        assert "Traceback" not in out + err
        folder = scene.root / f"out{number}"
        if (folder / "results.json").exists():
            told = json.loads((folder / "results.json").read_text())
            assert told["run"]["decision"]["exitCode"] == child.returncode
            ET.parse(folder / "junit.xml")
        scene.leaves_nothing()
    assert 130 in codes
    proved("faults", "moments at which a signal left a whole run or none", len(codes))
