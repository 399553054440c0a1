"""A run that was interrupted goes on: nothing is lost, nothing is held twice, and the report is that of one run."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from scratch import (
    Ran,
    Watched,
    case,
    committed,
    config,
    repository,
    run_in,
    runner,
    skillgym,
    started,
    suite,
    written,
)
from skillgym_action.model.errors import OutputError
from waiting import until

if TYPE_CHECKING:
    import subprocess

    from proofs import Proved

TIMES = {"id", "startedAt", "endedAt", "durationMs"}
SPENT = """printf '{"type": "session", "cost": {"usd": 0.25}}\\n'"""
CRASH = """printf '{"type": "error", "class": "runner-crash", "message": "oh", "retryAfter": 0}\\n'"""
KEY = "printf '%s RSA PRIVATE KEY-----\\nMIIE\\n' -----BEGIN"
# While the folder exists, an agent waits until it has removed one of the files in it.
GATE = "while [ -e $LOG/gate ]; do for file in $LOG/gate/*; do rm $file && break 2; done 2>/dev/null; sleep 0.02; done"
# What the prompt says is done; who is at work is remembered outside of the workspace.
AGENT = f"""
read -r _ task; echo $task >> $LOG/begun
{GATE}
[ -e $LOG/slow ] && sleep 0.$(($$ % 10))
case $task in
  *crashes) {CRASH};;
  *fails) {KEY};;
  *) {SPENT}; echo $task > out.txt;;
esac
"""
EIGHT = ("a", "b-fails", "c", "d-crashes", "e", "f-fails", "g", "h")


def cases(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [case(name, expectedFail=name.startswith("f"), **more) for name in names]


class Scene:
    """A repository below ``folder`` with a suite of several cases, and what its agents remember."""

    def __init__(self, folder: Path, *names: str, script: str = AGENT, **agent: Any) -> None:
        self.root, self.log, self.temporary = folder / "repo", folder / "log", folder / "tmp"
        self.log.mkdir(parents=True)
        self.temporary.mkdir()
        agent = {"output": "events", "env": {"LOG": str(self.log)}} | agent
        self.files = {"skillgym.config.yaml": config(runner(script, **agent)), "bench/core.json": None}
        repository(self.root, self.files | {"bench/core.json": suite(*cases(*(names or EIGHT)))})

    def run(self, **given: Any):
        """In this process, into ``results``."""
        self.watched = Watched()
        return run_in(self.root, self.watched, **given)

    def resume(self, **given: Any):
        return self.run(resume="results", **given)

    @property
    def env(self) -> dict[str, str]:
        return {"TMPDIR": str(self.temporary)}

    def tool(self, *args: str, **env: str) -> Ran:
        """In a process of its own."""
        return skillgym(*args, cwd=self.root, **self.env, **env)

    def left_running(self, *args: str) -> subprocess.Popen[str]:
        return started(*args, cwd=self.root, **self.env)

    @property
    def begun(self) -> list[str]:
        """The tasks that agents began with, in that order."""
        file = self.log / "begun"
        return file.read_text().split() if file.exists() else []

    def forget(self) -> None:
        (self.log / "begun").unlink(missing_ok=True)

    def let(self, number: int) -> None:
        """Let at most ``number`` more agents work; others begin and wait."""
        self.let_all()
        written(self.log, {f"gate/{one}": "" for one in range(number)})
        (self.log / "gate").mkdir(exist_ok=True)

    def let_all(self) -> None:
        shutil.rmtree(self.log / "gate", ignore_errors=True)

    def journal(self, output: str = "results", *, events: bool = False) -> list[str]:
        """The beginning and the sessions that have ended; ``events``: also what began."""
        file = self.root / output / "journal.jsonl"
        lines = file.read_text().splitlines(keepends=True) if file.exists() else []
        return [line for line in lines if events or not line.startswith('{"event":')]

    def keep(self, lines: list[str]) -> None:
        """The journal as it was when no more than that had been written, and nothing that comes at the end."""
        written(self.root, {"results/journal.jsonl": "".join(lines)})
        (self.root / "results/results.json").unlink(missing_ok=True)

    def results(self, output: str = "results") -> dict[str, Any]:
        return json.loads((self.root / output / "results.json").read_text())


def lasting(value: Any) -> Any:
    """Results without what is another one each time."""
    if isinstance(value, dict):
        return {key: lasting(item) for key, item in value.items() if key not in TIMES}
    return [lasting(item) for item in value] if isinstance(value, list) else value


def shown(report: Any) -> list[str]:
    return [f"{one.case_id} {one.status} {len(one.attempts)}" for one in report.results]


def warnings(report: Any) -> list[str]:
    return [str(one) for one in report.warnings]


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path)


# --- nothing lost, nothing twice --------------------------------------------------------------------


def test_after_any_of_its_sessions_a_run_goes_on_to_the_same_results(scene, proved: Proved):
    settings = {"repeat": 2, "retry": 1}
    scene.run(**settings)
    whole, journal, tasks = scene.results(), scene.journal(), Counter(scene.begun)
    assert len(journal) == 1 + tasks.total() == 21
    for size in range(1, len(journal) + 1, 3):
        scene.forget()
        scene.keep(journal[:size])
        scene.resume(**settings)
        done = Counter(json.loads(line)["result"]["caseId"] for line in journal[1:size])
        assert Counter(scene.begun) == tasks - done
        assert lasting(scene.results()) == lasting(whole)
        assert len(scene.journal()) == len(journal)
    proved("faults", "sessions after which a run was interrupted, resumed without loss", len(journal))


def test_a_finished_run_holds_nothing_again_and_writes_its_reports(scene):
    code = scene.tool("run", "--output", "results").code
    reports = {path: path.read_bytes() for path in (scene.root / "results").glob("*.*")}
    before = lasting(scene.results())
    scene.forget()
    for path in reports:
        if path.name != "journal.jsonl":
            path.unlink()
    ran = scene.tool("run", "--resume", "results")
    assert (ran.code, scene.begun) == (code, [])
    assert "resumed: 9 sessions finished before" in ran.err
    assert {path for path in reports if path.exists()} == reports.keys() - {scene.root / "results/.gitignore"}
    assert lasting(scene.results()) == before


def test_a_run_that_had_not_begun_begins(scene):
    scene.run()
    whole = scene.results()
    for beginning in ([], scene.journal()[0][:30]):
        scene.forget()
        scene.keep(list(beginning))
        report = scene.resume()
        assert len(scene.begun) == 9
        assert lasting(scene.results())["suites"] == lasting(whole)["suites"]
        torn = ["journal.jsonl:1: is torn off; a new run starts"]
        assert warnings(report) == (torn if beginning else [])


def test_a_torn_line_is_told_and_the_next_one_does_not_join_it(scene):
    scene.run()
    journal = scene.journal()
    scene.keep([*journal[:4], journal[4][:50]])
    report = scene.resume()
    assert warnings(report) == ["journal.jsonl:5: is torn off; its session is run again"]
    assert [json.loads(line).keys() for line in scene.journal()] == [json.loads(line).keys() for line in journal]


def test_a_session_that_was_interrupted_leaves_nothing_of_itself(scene):
    scene.run(retry=1)
    journal = scene.journal()
    place = next(number for number, line in enumerate(journal) if '"d-crashes"' in line)
    written(
        scene.root / "results",
        {
            "core/d-crashes/sh/repeat-1/session-2/half.log": "",
            "workspaces/core/d-crashes/sh/repeat-1-session-2/half.txt": "",
            "core/e/sh/repeat-1/half.log": "",
            "core/e/sh/repeat-3/half.log": "",
            "workspaces/core/e/sh/repeat-1/half.txt": "",
            "workspaces/core/b-fails/sh/.0123456789abcdef/half.txt": "",
            ".0123456789abcdef": "half of a report",
        },
    )
    scene.keep(journal[: place + 1])
    scene.resume(retry=1)
    assert [*(scene.root / "results").rglob("half.*"), *(scene.root / "results").glob(".0*")] == []
    assert (scene.root / "results/core/d-crashes/sh/repeat-1/session-2/stdout.log").exists()


def test_a_workspace_that_was_being_kept_goes_when_the_session_succeeds(tmp_path):
    scene = Scene(tmp_path, "a")
    scene.run(repeat=2)
    written(scene.root / "results", {"workspaces/core/a/sh/repeat-2/half.txt": ""})
    scene.keep(scene.journal()[:2])
    assert shown(scene.resume(repeat=2)) == ["a passed 2"]
    assert list((scene.root / "results").rglob("half.txt")) == []


def test_repetitions_can_be_added(scene):
    scene.run()
    scene.forget()
    report = scene.resume(repeat=2)
    assert shown(report)[:2] == ["a passed 2", "b-fails failed 2"]
    assert Counter(scene.begun) == Counter(["a", "b-fails", "c", "d-crashes", "d-crashes", "e", "f-fails", "g", "h"])
    assert warnings(report) == [
        "the run is resumed with other options: --repeat was 1 and is 2; finished sessions are not run again"
    ]


def test_a_recording_holds_all_sessions_in_the_end(scene):
    scene.run(record="whole")
    scene.keep(scene.journal()[:3])
    scene.resume(record="resumed")
    names = [
        sorted(path.relative_to(scene.root / one).as_posix() for path in (scene.root / one).rglob("report.json"))
        for one in ("whole", "resumed")
    ]
    assert names[0] == names[1]
    assert len(names[0]) == 8


# --- what counts as missing -------------------------------------------------------------------------


def test_a_runner_that_could_not_work_is_tried_again(tmp_path):
    broken = """printf '{"type": "error", "class": "auth", "message": "no"}\\n'; exit 1"""
    scene = Scene(tmp_path, "a", "b", "c", script=f"[ -e $LOG/mended ] || {{ {broken}; }}\n{AGENT}")
    assert shown(scene.run()) == ["a errored 1", "b errored 0", "c errored 0"]
    assert shown(scene.resume()) == ["a errored 1", "b errored 0", "c errored 0"]
    (scene.log / "mended").touch()
    assert shown(scene.resume()) == ["a passed 1", "b passed 1", "c passed 1"]
    assert scene.begun == ["a", "b", "c"]


def test_other_trouble_is_an_end(scene):
    assert shown(scene.run())[3] == "d-crashes errored 2"
    scene.forget()
    assert (shown(scene.resume())[3], scene.begun) == ("d-crashes errored 2", [])


def test_money_that_was_spent_counts(scene):
    scene.run()
    journal = scene.journal()
    scene.keep(journal[:3])  # a, which cost 0.25, and b, which nobody knows the cost of
    scene.forget()
    assert {one.judgement.origin for one in scene.resume(max_cost=9).results[2:]} == {"budget"}
    scene.keep([*journal[:2], journal[3]])  # a and c
    report = scene.resume(max_cost=0.5)
    assert [str(one.status) for one in report.results[:3]] == ["passed", "skipped", "passed"]
    assert report.results[1].judgement.reason == "the run's budget is spent: $0.50 of $0.50"
    assert scene.begun == []


def test_what_no_money_was_left_for_is_held_when_there_is_some(tmp_path):
    scene = Scene(tmp_path, "a", "c", "e", "g")
    assert shown(scene.run(max_cost=0.5)) == ["a passed 1", "c passed 1", "e skipped 0", "g skipped 0"]
    assert shown(scene.resume(max_cost=0.75)) == ["a passed 1", "c passed 1", "e passed 1", "g skipped 0"]
    assert shown(scene.resume()) == ["a passed 1", "c passed 1", "e passed 1", "g passed 1"]
    assert scene.begun == ["a", "c", "e", "g"]


# --- another plan -----------------------------------------------------------------------------------


def test_a_suite_that_changed_is_begun_anew(tmp_path):
    scene = Scene(tmp_path, "a", "b-fails")
    written(scene.root, {"bench/other.json": json.dumps({"name": "other", "cases": cases("c", "e")})})
    scene.run(repeat=2)
    written(scene.root, {"bench/core.json": suite(*cases("a", "b-fails", budget=7))})
    scene.forget()
    report = scene.resume()
    assert shown(report) == ["a passed 1", "b-fails failed 1", "c passed 2", "e passed 2"]
    assert scene.begun == ["a", "b-fails"]
    why = "run again, since suite, prompt, skill, inputs, arm, agent or model changed"
    _, again, budget = warnings(report)
    assert again == f"{why}: bench/core.json a [sh], bench/core.json b-fails [sh]"
    assert "the budget of 1 execution could not be checked" in budget
    assert not (scene.root / "results/core/a/sh/repeat-2").exists()
    assert (scene.root / "results/other/c/sh/repeat-2").exists()


def test_a_workspace_template_that_changed_is_begun_anew(tmp_path):
    scene = Scene(tmp_path, "a")
    kept = {"workspace": {"templateDir": "../template"}, "cases": cases("a")}
    other = {"name": "other", "workspace": {"templateDir": "../others"}, "cases": cases("c")}
    files = {"bench/core.json": kept, "bench/other.json": other}
    written(scene.root, {name: json.dumps(text) for name, text in files.items()})
    written(scene.root, {"template/x.txt": "x", "others/x.txt": "x"})
    scene.run()
    written(scene.root, {"template/x.txt": "y"})
    scene.forget()
    report = scene.resume()
    assert scene.begun == ["a"]
    assert next(line for line in warnings(report) if "inputs" in line).endswith("changed: bench/core.json a [sh]")


@pytest.mark.parametrize(
    ("change", "again"),
    [
        pytest.param({"script": AGENT + "true"}, True, id="another command"),
        pytest.param({"output": "text"}, True, id="read in another way"),
        pytest.param({"budget": 3}, False, id="a limit"),
        pytest.param({"env": {"MORE": "1"}}, False, id="another variable"),
    ],
)
def test_a_runner_that_changed_is_begun_anew_but_limits_and_keys_may_change(tmp_path, change, again):
    scene = Scene(tmp_path, "a")
    scene.run()
    changed = {"output": "events", "env": {"LOG": str(scene.log)}} | change
    changed["env"] = {"LOG": str(scene.log)} | changed["env"]
    written(scene.root, {"skillgym.config.yaml": config(runner(changed.pop("script", AGENT), **changed))})
    scene.resume()
    assert scene.begun == (["a", "a"] if again else ["a"])


def test_what_is_not_asked_for_is_not_reported_and_not_lost(scene):
    scene.run()
    whole, journal = scene.results(), scene.journal()
    scene.forget()
    report = scene.resume(case="a,c")
    assert shown(report) == ["a passed 1", "c passed 1"]
    (warning,) = warnings(report)
    assert warning.startswith(
        "in the journal but not in the report, since they are not selected: bench/core.json b-fails"
    )
    assert warning.endswith("and 1 more; resume with the arguments that the run was started with")
    scene.resume()
    assert (lasting(scene.results()), scene.journal(), scene.begun) == (lasting(whole), journal, [])


def test_a_commit_that_changed_is_told(scene):
    shutil.rmtree(scene.root)
    repository(scene.root, scene.files | {"bench/core.json": suite(*cases("a"))}, git=True)
    scene.run()
    committed(scene.root)
    (warning,) = warnings(scene.resume())
    assert warning.startswith("the run was started on commit ")


def test_a_shared_workspace_that_is_gone_is_told(tmp_path):
    program = "from skillgym_action import Suite, Workspace\nworkspace = Workspace(mode='shared')\nsuite = Suite()\n"
    for name in ("a", "c"):
        program += f"@suite.case({name!r}, prompt='Do {name}')\ndef {name}(report, ctx): pass\n"
    scene = Scene(tmp_path)
    (scene.root / "bench/core.json").unlink()
    written(scene.root, {"bench/own_suite.py": program})
    scene.run()
    scene.keep(scene.journal()[:2])
    told = ["bench/own_suite.py: the shared workspace of the finished sessions no longer exists"]
    assert warnings(scene.resume()) == told
    assert warnings(scene.resume()) == []


# --- places and times -------------------------------------------------------------------------------


def test_a_run_directory_that_was_moved_goes_on_with_its_new_name(scene):
    scene.run()
    scene.keep(scene.journal()[:4])
    (scene.root / "elsewhere").mkdir()
    (scene.root / "results").rename(scene.root / "elsewhere/kept")
    scene.forget()
    ran = scene.tool("run", "--resume", "elsewhere/kept")
    assert (ran.code, len(scene.begun)) == (1, 6)
    assert scene.results("elsewhere/kept")["run"]["id"] == "kept"
    assert not (scene.root / "results").exists()


def test_a_repository_that_was_moved_is_the_same(tmp_path):
    scene = Scene(tmp_path, "a", script="./agent.sh")
    agent = {"type": "command", "command": ["./agent.sh"], "env": {"LOG": str(scene.log)}}
    written(scene.root, {"skillgym.config.yaml": config({"agent": agent}), "agent.sh": "#!/bin/sh\necho > out.txt\n"})
    (scene.root / "agent.sh").chmod(0o755)
    assert shown(scene.run()) == ["a passed 1"]
    scene.root = scene.root.rename(tmp_path / "moved")
    scene.resume()
    assert scene.watched.lines == ["resumed: 1 session finished before"]


def test_a_clock_that_was_set_back_makes_no_time_negative(scene):
    scene.run()
    first, *rest = scene.journal()
    future = json.loads(first) | {"startedAt": "2999-01-02T03:04:05.678Z"}
    scene.keep([json.dumps(future) + "\n", *rest[:3]])
    scene.resume()
    run = scene.results()["run"]
    assert (run["startedAt"], run["endedAt"]) == ("2999-01-02T03:04:05.678Z",) * 2
    assert run["durationMs"] == 0
    order = [one["caseId"] for part in scene.results()["suites"] for one in part["results"]]
    assert order == list(EIGHT)


def test_a_resumed_run_lasts_from_its_first_start(scene):
    scene.run()
    first, *rest = scene.journal()
    past = json.loads(first) | {"startedAt": "2025-01-02T03:04:05.678Z"}
    scene.keep([json.dumps(past) + "\n", *rest])
    scene.resume()
    run = scene.results()["run"]
    assert (run["startedAt"], run["durationMs"] > 1e9) == ("2025-01-02T03:04:05.678Z", True)


# --- mistakes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "env", "message"),
    [
        pytest.param(
            ["--resume", "bench"],
            {},
            "cannot resume bench: there is no journal.jsonl in it; name the run directory of a run that was not "
            "finished, or leave resume out to begin a new run",
            id="no run directory",
        ),
        pytest.param(
            [],
            {"SKILLGYM_RESUME": "nowhere"},
            "cannot resume nowhere: there is no journal",
            id="by its twin",
        ),
        pytest.param(
            ["--resume", "results", "--output", "other"],
            {},
            "--resume and --output: a resumed run stays in its directory; leave one of them out",
            id="two directories",
        ),
        pytest.param(["--resume", "results", "--dry-run"], {}, "nothing would start", id="a dry run"),
        pytest.param(["--resume", "foreign"], {}, "journal.jsonl:1: schema: must be 1, not 7", id="another schema"),
        pytest.param(["--resume", "link"], {}, "cannot write", id="a journal that is a link"),
    ],
)
def test_what_cannot_be_resumed_is_told_and_left_alone(scene, args, env, message):
    written(scene.root, {"foreign/journal.jsonl": '{"schema": 7}\n', "link/target": "", "results/journal.jsonl": ""})
    (scene.root / "link/journal.jsonl").symlink_to("target")
    ran = scene.tool("run", *args, **env)
    assert (ran.code, scene.begun) == (3 if "link" in args else 2, [])
    assert message in ran.err
    assert (scene.root / "foreign/journal.jsonl").read_text() == '{"schema": 7}\n'
    assert (scene.root / "link/target").read_text() == ""


def test_links_in_a_run_directory_lead_nowhere(scene, tmp_path):
    outside = written(tmp_path / "outside", {"a/sh/repeat-1/mine.txt": "mine"})
    scene.run()
    scene.keep(scene.journal()[:1])
    for name in ("core", "workspaces"):
        shutil.rmtree(scene.root / "results" / name, ignore_errors=True)
        (scene.root / "results" / name).symlink_to(outside)
    scene.resume()
    assert [path for path in outside.rglob("*") if path.is_file()] == [outside / "a/sh/repeat-1/mine.txt"]


def test_a_link_in_place_of_sessions_that_were_finished_is_refused(tmp_path):
    outside = written(tmp_path / "outside", {"a/sh/repeat-2/mine.txt": "mine"})
    scene = Scene(tmp_path, "a")
    scene.run(repeat=2)
    scene.keep(scene.journal()[:2])
    shutil.rmtree(scene.root / "results/core")
    (scene.root / "results/core").symlink_to(outside)
    with pytest.raises(OutputError, match=r"cannot write .*/results/core/a/sh/repeat-2"):
        scene.resume(repeat=2)
    assert (outside / "a/sh/repeat-2/mine.txt").exists()


# --- killed -----------------------------------------------------------------------------------------


def test_a_run_directory_is_for_one_tool_at_a_time_and_free_when_that_is_killed(scene):
    scene.let(0)
    tool = scene.left_running("run", "--output", "results")
    until(lambda: scene.begun, "a session that has begun")
    for option in ("--output", "--resume"):
        ran = scene.tool("run", option, "results")
        assert ran.code == 2
        assert ran.err.endswith(
            "results is in use by a run that has not ended; wait for it, end it, or choose another folder with "
            "--output\n"
        )
    tool.kill()
    tool.communicate()
    scene.let_all()
    assert scene.tool("run", "--resume", "results").code == 1
    assert len(scene.results()["suites"][0]["results"]) == 8


def processes_below(folder: Path) -> list[int]:
    """Processes that work below ``folder``."""
    found = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(folder) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def test_nothing_of_a_run_that_is_killed_goes_on(tmp_path, proved: Proved):
    script = "echo x >> $LOG/begun; setsid sh -c \"trap '' TERM; sleep 300\" & sleep 300"
    scene = Scene(tmp_path, "a", "c", script=script)
    tool = scene.left_running("run", "--output", "results", "--jobs", "2")
    until(lambda: len(scene.begun) == 2 and len(processes_below(scene.temporary)) >= 6, "all processes of two sessions")
    running = len(processes_below(scene.temporary))
    tool.kill()
    tool.communicate()
    until(lambda: not processes_below(scene.temporary) and not list(scene.temporary.iterdir()), "their end")
    proved("processes", "processes that a killed run left behind, ended", running)


class Killed:
    """What is known of a run that is killed again and again."""

    def __init__(self, scene: Scene, seed: int) -> None:
        self.scene, self.random = scene, random.Random(seed)
        self.interrupted: Counter[str] = Counter()
        self.kills = 0

    def finished(self) -> Counter[str]:
        """Sessions in the journal, by case; what was torn off is none."""
        whole = [line for line in self.scene.journal()[1:] if line.endswith("\n")]
        places = [json.loads(line)["result"]["artifactDir"] for line in whole]
        assert len(set(places)) == len(places), "a session that had finished was held again"
        return Counter(place.split("/")[1] for place in places)

    def kill(self, *args: str, jobs: int) -> bool:
        """Start the tool and kill it soon after up to two more sessions have begun; False: it had already ended."""
        before = len(self.scene.begun)
        self.scene.let(self.random.randrange(1, 3))
        tool = self.scene.left_running("run", *args)
        more, late = self.random.randrange(3), self.random.random() * 0.4
        until(lambda: tool.poll() is not None or len(self.scene.begun) >= before + more, "sessions that have begun")
        time.sleep(late)
        tool.kill()
        tool.communicate()
        ended = tool.returncode != -signal.SIGKILL
        until(lambda: not processes_below(self.scene.temporary), "the end of its processes")
        interrupted = Counter(self.scene.begun) - self.finished() - self.interrupted
        assert interrupted.total() <= jobs
        assert all(count == 1 for count in interrupted.values())
        self.interrupted += interrupted
        self.kills += not ended
        return not ended


KILLS = 8


def test_a_run_that_is_killed_again_and_again_is_finished_in_the_end(tmp_path, proved: Proved):
    names = (*EIGHT, "i", "j-fails", "k", "l-crashes")
    args, jobs = ("--retry", "1", "--jobs", "3"), 3
    unbroken, scene = Scene(tmp_path / "unbroken", *names), Scene(tmp_path / "killed", *names)
    code = unbroken.tool("run", "--output", "results", *args).code
    sessions = Counter(unbroken.begun)
    (scene.log / "slow").touch()
    killed, where = Killed(scene, seed=1), "--output"
    while killed.kills < KILLS and killed.kill(where, "results", *args, jobs=jobs):
        where = "--resume" if scene.journal() or (scene.root / "results/journal.jsonl").exists() else "--output"
    (scene.log / "slow").unlink()
    scene.let_all()
    assert scene.tool("run", where, "results", *args).code == code
    assert killed.finished() == sessions
    assert Counter(scene.begun) == sessions + killed.interrupted
    expected, found = lasting(unbroken.results()), lasting(scene.results())
    more = [one for one in found.pop("warnings") if not re.search("torn off|running when", one["message"])]
    assert (found, more) == ({key: value for key, value in expected.items() if key != "warnings"}, [])
    until(lambda: not list(scene.temporary.iterdir()), "an empty temporary folder")
    assert killed.kills == KILLS
    proved("faults", "kills at random points, resumed without loss", killed.kills)


# --- what began and did not end ---------------------------------------------------------------------

# What agents and `test:` commands do outside is written down outside, as it begins.
QUICK = f"""read -r _ task; echo $task >> $LOG/begun; {GATE}; sleep 0.0$(($$ % 5)); echo $task > out.txt"""
JUDGES = (
    "test:echo {name} >> $(cat log.txt)/judged; while [ -e $(cat log.txt)/held ]; do sleep 0.02; done; "
    "sleep 0.$(($$ % 2))$(($$ % 10)); grep -q {name} out.txt"
)


def judging(scene: Scene, *names: str) -> None:
    """The suite, with commands that leave a trace."""
    made = [case(name, (JUDGES.format(name=name),)) for name in names]
    written(scene.root, {"bench/core.json": suite(*made), "log.txt": str(scene.log)})


def event(scene: Scene, kind: str, place: str = "1.1", session: int = 1) -> str:
    """The line that says that a session of the journal's ``session``th began, or was about to be judged."""
    digest = json.loads(scene.journal()[session])["digest"]
    repetition, number = place.split(".")
    return f'{{"event":"{kind}","digest":"{digest}","repetition":{repetition},"session":{number}}}\n'


def test_what_begins_is_written_down_before_it_begins(scene):
    scene.run()
    lines = [json.loads(line) for line in scene.journal(events=True)[1:]]
    assert [line.get("event", "ended") for line in lines] == ["started", "ended"] * 9
    judging(scene, "a")
    scene.run()
    lines = [json.loads(line) for line in scene.journal(events=True)[1:]]
    assert [line.get("event", "ended") for line in lines] == ["started", "judging", "ended"]
    assert [line["digest"] for line in lines] == [lines[0]["digest"]] * 3


AGAIN = "bench/core.json a [sh] repetition 1: its commands, graders or checks had begun when the run was interrupted"


@pytest.mark.parametrize(
    ("events", "ended", "notes"),
    [
        pytest.param(["started"], False, ["1 session was running"], id="the agent had begun"),
        pytest.param(
            ["started", "judging"],
            False,
            [f"{AGAIN}, and run again with the session", "1 session was running"],
            id="its commands had begun",
        ),
        pytest.param(
            ["started", "judging", "started", "judging"],
            True,
            [f"{AGAIN}, and were run again", "1 session was running"],
            id="it was judged again, and has ended",
        ),
        pytest.param(["started", "judging"], True, [], id="it has ended"),
    ],
)
def test_what_was_interrupted_is_reported(tmp_path, events, ended, notes):
    scene = Scene(tmp_path, "a")
    judging(scene, "a")
    scene.run()
    first, last = scene.journal()
    scene.keep([first, *(event(scene, kind) for kind in events), *([last] if ended else [])])
    report = scene.resume()
    assert shown(report) == ["a passed 1"]
    found = [re.sub(" when the run was interrupted; the cost is unknown$", "", one) for one in warnings(report)]
    assert found == notes


def test_a_retry_that_was_interrupted_is_named(tmp_path):
    scene = Scene(tmp_path, "a-crashes")
    scene.run(retry=1)
    first, one, _ = scene.journal()
    scene.keep([first, event(scene, "judging", "1.2"), one])
    (warning,) = warnings(scene.resume(retry=1))
    assert warning.startswith("bench/core.json a-crashes [sh] repetition 1, session 2: its commands")


def test_what_was_interrupted_of_a_suite_that_changed_is_not_judged_again(tmp_path):
    scene = Scene(tmp_path, "a")
    scene.run()
    first, *_ = scene.journal()
    scene.keep([first, event(scene, "started").replace('digest":"', 'digest":"0')[:-1] + "\n"])
    assert warnings(scene.resume())[0].startswith("journal.jsonl:2: digest: must be 64 hexadecimal digits")
    judging(scene, "a")
    report = scene.resume()
    assert [one for one in warnings(report) if "commands" in one] == []


def killed_at_random(scene: Scene, chance: random.Random, *args: str, judging: bool) -> bool:
    """Start the tool and kill it soon after up to two more sessions have begun; whether it was still running.

    ``judging``: kill it while a command is under way that judges one.
    """
    if judging:  # what an earlier run left would take the place of a session
        until(lambda: not processes_below(scene.temporary), "the end of its processes")
        (scene.log / "held").touch()
    scene.let(chance.randrange(1, 3))
    begun, before = len(scene.begun), judged(scene).total()
    tool = scene.left_running("run", *args)
    more = chance.randrange(3)

    def is_soon() -> bool:
        return judged(scene).total() > before if judging else len(scene.begun) >= begun + more

    until(lambda: tool.poll() is not None or is_soon(), "sessions that have begun")
    time.sleep(chance.random() * 0.15)
    tool.kill()
    tool.communicate()
    (scene.log / "held").unlink(missing_ok=True)
    return tool.returncode == -signal.SIGKILL


def judged(scene: Scene) -> Counter[str]:
    """How often the `test:` command of each case began."""
    file = scene.log / "judged"
    return Counter(file.read_text().split() if file.exists() else [])


def untimed(results: dict[str, Any]) -> dict[str, Any]:
    """Without what is another one each time, and without how long commands took."""
    return json.loads(re.sub(r" after \d+\.\d s", "", json.dumps(lasting(results))))


TWELVE = 12


def test_twelve_kills_in_thirty_sessions_lose_nothing_and_repeat_nothing_without_a_note(tmp_path, proved: Proved):
    seed, kills = random.randrange(10_000), 0
    print("seed", seed)
    chance = random.Random(seed)
    names = tuple(f"case-{number:02}" for number in range(10))
    args = ("--repeat", "3", "--jobs", "2")
    unbroken, scene = Scene(tmp_path / "unbroken", script=QUICK), Scene(tmp_path / "killed", script=QUICK)
    for one in (unbroken, scene):
        judging(one, *names)
    assert unbroken.tool("run", "--output", "results", *args).code == 0
    where = "--output"
    while kills < TWELVE and killed_at_random(scene, chance, where, "results", *args, judging=kills % 3 == 1):
        where, kills = "--resume" if (scene.root / "results/journal.jsonl").exists() else "--output", kills + 1
    scene.let_all()
    assert scene.tool("run", where, "results", *args).code == 0
    assert kills == TWELVE
    assert Killed(scene, seed).finished() == judged(unbroken) == Counter(dict.fromkeys(names, 3))
    whole, found = untimed(unbroken.results()), untimed(scene.results())
    assert found["suites"] == whole["suites"]
    messages = [one["message"] for one in found["warnings"]]
    noted: Counter[str] = Counter()
    for message in messages:
        if note := re.fullmatch(
            r"\S+ (\S+) \[sh\] repetition \d: its commands.* interrupted(?: \((\d+) .*)?, .*", message
        ):
            noted[note[1]] += int(note[2] or 1)
    again = judged(scene) - judged(unbroken)
    assert again - noted == Counter(), "judged again without a note"
    assert again.total() > 0, "no command was interrupted: the test shows nothing"
    (under_way,) = (
        int(message.split()[0]) for message in messages if "running when the run was interrupted" in message
    )
    assert under_way >= (Counter(scene.begun) - Counter(unbroken.begun)).total() >= again.total()
    proved("faults", "kills in one run of 30 sessions, resumed without loss", kills)
