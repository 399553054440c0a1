"""`resume: auto`: a job that is run again continues the run of its earlier attempt, and pays for no session twice."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import action_step
from scratch import case, committed, config, git_in, repository, runner, suite, written
from skillgym_action.cli.action.inputs import run_action
from skillgym_action.model.errors import UsageError
from waiting import until

if TYPE_CHECKING:
    from proofs import Proved

IS_ROOT, RUNNER = os.geteuid() == 0, 1001
TIMES = {"id", "startedAt", "endedAt", "durationMs", "runAttempt", "attempts", "commit"}
SPENT = """printf '{"type": "session", "cost": {"usd": 0.25}}\\n'"""
CRASH = """printf '{"type": "error", "class": "runner-crash", "message": "oh", "retryAfter": 0}\\n'"""
AGENT = f"""
read -r _ task; echo $task >> $LOG/begun; {SPENT}
[ -e $LOG/slow ] && sleep 0.2
case $task in
  *crashes) [ -e $LOG/fixed ] && echo $task > out.txt || {CRASH};;
  *fails) ;;
  *) echo $task > out.txt;;
esac
"""
CASES = ("a", "b-fails", "c-crashes", "d")
# b-fails is retried once, since `retry` is 1, and c-crashes, since agents that crash are.
SESSIONS = Counter({"a": 2, "b-fails": 4, "c-crashes": 4, "d": 2})
INPUTS = {"mode": "run", "resume": "auto", "report-dir": "run", "repeat": "2", "retry": "1", "max-cost": "9"}


class Job:
    """A job on GitHub with the action as its step: a repository, and what its agents remember."""

    def __init__(self, folder: Path) -> None:
        self.root, self.log = folder / "repo", folder / "log"
        self.log.mkdir(parents=True)
        configured = runner(AGENT, output="events", env={"LOG": str(self.log)})
        files = {"skillgym.config.yaml": config(configured), "bench/core.json": suite(*map(case, CASES))}
        repository(self.root, files | {".gitignore": "run\n"}, git=True)

    def attempt(self, number: int, monkeypatch: pytest.MonkeyPatch, **more: str) -> int:
        """An attempt of the job, as the action's program runs it; the exit code."""
        monkeypatch.chdir(self.root)
        return run_action(self.environment(number, **more))

    def environment(self, number: int, **more: str) -> dict[str, str]:
        files = self.root.parent / "files"
        written(files, {"event.json": "{}", "outputs": "", "summary": ""})
        inputs = INPUTS | {name: value for name, value in more.items() if name.islower()}
        variables = {name: value for name, value in more.items() if not name.islower()}
        told = {"GITHUB_RUN_ATTEMPT": str(number), "GITHUB_JOB": "bench", "GITHUB_REF": "refs/heads/main"} | variables
        return action_step.variables(None, "push", files, inputs, **told)

    @property
    def begun(self) -> Counter[str]:
        """How many sessions agents began, by case."""
        file = self.log / "begun"
        return Counter(file.read_text().split()) if file.exists() else Counter()

    def forget(self) -> None:
        (self.log / "begun").unlink(missing_ok=True)

    @property
    def run(self) -> Path:
        return self.root / "run"

    def lines(self) -> list[str]:
        return (self.run / "journal.jsonl").read_text().splitlines(keepends=True)

    def keep(self, whole: Path, lines: list[str], torn: str = "") -> None:
        """The run directory ``whole`` as it was when no more than these lines had been written."""
        shutil.rmtree(self.run, ignore_errors=True)
        shutil.copytree(whole, self.run, ignore=shutil.ignore_patterns("results.json", "*.md", "junit.xml", "*.html"))
        written(self.run, {"journal.jsonl": "".join(lines) + torn})

    def results(self) -> dict[str, Any]:
        return json.loads((self.run / "results.json").read_text())

    def summary(self) -> str:
        """The summary as it is shown: without the escapes of Markdown and HTML."""
        return html.unescape(re.sub(r"\\(.)", r"\1", (self.run / "summary.md").read_text()))

    def warnings(self) -> list[str]:
        return [one["message"] for one in self.results()["warnings"]]

    def statuses(self) -> list[str]:
        rows = self.results()["suites"][0]["results"]
        return [f"{row['caseId']} {row['status']} {len(row['attempts'])}" for row in rows]


def lasting(value: Any) -> Any:
    """Results without what differs between runs, and without the attempts of the job."""
    if isinstance(value, dict):
        return {key: lasting(item) for key, item in value.items() if key not in TIMES or isinstance(item, list)}
    return [lasting(item) for item in value] if isinstance(value, list) else value


def comparable(results: dict[str, Any]) -> Any:
    """What two runs must agree in: all but times, attempts, and warnings about the interruption."""
    results["run"].pop("attempts", None)
    results["warnings"] = [one for one in results["warnings"] if "running when" not in one["message"]]
    for row in results["suites"][0]["results"]:
        for one in row["attempts"]:
            one.pop("runAttempt")
    return lasting(results)


def finished_in(lines: list[str]) -> Counter[str]:
    """The sessions in journal lines that an attempt has judged, by case."""
    rows = [json.loads(line)["result"] for line in lines[1:] if '"event":' not in line[:12]]
    return Counter(row["caseId"] for row in rows if row["status"] != "errored")


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


@pytest.fixture
def whole(job, tmp_path, monkeypatch):
    """The run directory of a first attempt that ended."""
    assert job.attempt(1, monkeypatch) == 1
    assert job.begun == SESSIONS
    shutil.copytree(job.run, tmp_path / "whole")
    return tmp_path / "whole"


# --- nothing lost, nothing twice --------------------------------------------------------------------


def test_killed_after_a_line_of_the_journal_the_next_attempt_comes_to_the_same_results(
    job, whole, monkeypatch, proved: Proved
):
    lines, expected = job.lines(), comparable(job.results())
    assert len(lines) == 1 + 2 * SESSIONS.total()
    for size in range(0, len(lines) + 1, 3):  # lines of beginnings and of ends take turns
        job.forget()
        job.keep(whole, lines[:size])
        assert job.attempt(2, monkeypatch) == 1
        finished = finished_in(lines[:size])
        assert job.begun == SESSIONS - finished, f"after {size} lines"
        assert comparable(job.results()) == expected, f"after {size} lines"
        (first, second) = shares if len(shares := job.results()["run"]["attempts"]) == 2 else ({"sessions": 0}, *shares)
        assert (first["sessions"], second["sessions"]) == (finished.total(), (SESSIONS - finished).total())
    proved("faults", "journal lines after which a job was killed, continued by the next attempt without loss", size)


def test_a_job_that_is_really_killed_is_continued_by_further_attempts(job, proved: Proved):
    (job.log / "slow").touch()
    number, kills = 0, 0
    more = {"GITHUB_JOB": "bench", "GITHUB_REF": "refs/heads/main"}
    while kills < 3:
        number += 1
        before = job.begun.total()
        process, _ = action_step.started(
            job.root, None, INPUTS, event=("push", {}), GITHUB_RUN_ATTEMPT=str(number), **more
        )
        until(lambda before=before: job.begun.total() >= before + 2, "two more sessions that have begun")
        process.kill()
        process.communicate()
        kills += 1
    (job.log / "slow").unlink()
    done = action_step.step(job.root, None, INPUTS, event=("push", {}), GITHUB_RUN_ATTEMPT=str(number + 1), **more)
    assert done.code == 1, done.said
    assert job.statuses() == ["a passed 2", "b-fails failed 4", "c-crashes errored 4", "d passed 2"]
    began = Counter(job.begun)
    again = began - SESSIONS
    assert all(count <= kills + 1 for count in again.values()), "only those that were interrupted, and errored ones"
    assert sum(share["sessions"] for share in job.results()["run"]["attempts"]) == SESSIONS.total()
    assert "resumed: " in done.said + done.log
    proved("faults", "attempts of a job that were killed, continued without loss", kills)


def test_only_sessions_that_could_not_be_judged_run_again(job, whole, monkeypatch):
    del whole
    job.forget()
    (job.log / "fixed").touch()
    assert job.attempt(2, monkeypatch) == 1
    assert job.begun == Counter({"c-crashes": 2})
    assert job.statuses() == ["a passed 2", "b-fails failed 4", "c-crashes passed 2", "d passed 2"]
    assert job.results()["run"]["attempts"] == [
        {"number": 1, "sessions": 8, "costUsd": 2.0, "repeated": 4, "repeatedCostUsd": 1.0},
        {"number": 2, "sessions": 2, "costUsd": 0.5},
    ]
    assert job.results()["totals"]["costUsd"] == 2.5
    assert "Sessions by attempt of the job: 8 of attempt 1 ($2.00), 2 of attempt 2 ($0.50)." in job.summary()
    assert "Run again, and not counted in the results: 4 sessions of attempt 1 ($1.00)." in job.summary()
    runs = {one["runAttempt"] for row in job.results()["suites"][0]["results"] for one in row["attempts"]}
    assert runs == {1, 2}


def test_a_third_attempt_continues_both(job, whole, monkeypatch):
    del whole
    assert job.attempt(2, monkeypatch) == 1
    (job.log / "fixed").touch()
    job.forget()
    assert job.attempt(3, monkeypatch) == 1
    assert job.begun == Counter({"c-crashes": 2})
    assert [share["sessions"] for share in job.results()["run"]["attempts"]] == [8, 0, 2]
    job.forget()
    assert job.attempt(4, monkeypatch) == 1
    assert job.begun == Counter()
    assert [share["sessions"] for share in job.results()["run"]["attempts"]] == [8, 0, 2, 0]


def test_a_repetition_that_is_missing_costs_no_later_one(job, monkeypatch):
    """The first repetition crashed, the second one passed: only the first runs again, and its files replace the old."""
    script = AGENT.replace("[ -e $LOG/fixed ]", "[ -e $LOG/fixed ] || grep -q crashes $LOG/second")
    configured = runner(script + "echo $task >> $LOG/second", output="events", env={"LOG": str(job.log)})
    written(job.root, {"skillgym.config.yaml": config(configured), "bench/core.json": suite(case("c-crashes"))})
    committed(job.root)
    (job.log / "second").touch()
    more = {"retry": "0", "fail-on": "none"}
    # The agent's crash is retried once in the first repetition, and passes there.
    assert job.attempt(1, monkeypatch, **more) == 0
    assert job.statuses() == ["c-crashes passed 3"]
    lines = job.lines()
    (first,) = (line for line in lines if '"repetition": 1' in line and '"session": 2' in line and '"result"' in line)
    crashed = json.loads(first)
    crashed["result"] |= {"status": "errored", "passed": False}
    crashed["result"]["attempts"][0]["status"] = "errored"
    written(job.run, {"journal.jsonl": "".join(lines).replace(first, json.dumps(crashed) + "\n")})
    old = (job.run / "core/c-crashes/sh/repeat-2/report.json").stat().st_mtime_ns
    job.forget()
    assert job.attempt(2, monkeypatch, **more) == 0
    assert job.begun == Counter({"c-crashes": 1})
    assert job.statuses() == ["c-crashes passed 2"]
    assert (job.run / "core/c-crashes/sh/repeat-2/report.json").stat().st_mtime_ns == old
    assert not (job.run / "core/c-crashes/sh/repeat-1/session-2").exists()


def test_after_a_failed_gate_nothing_runs_again_and_the_report_says_so(job, monkeypatch):
    written(job.root, {"bench/core.json": suite(case("a"), case("b-fails"))})
    committed(job.root)
    assert job.attempt(1, monkeypatch) == 1
    job.forget()
    assert job.attempt(2, monkeypatch) == 1
    assert job.begun == Counter()
    assert job.statuses() == ["a passed 2", "b-fails failed 4"]
    assert "Sessions by attempt of the job: 6 of attempt 1 ($1.50), none of attempt 2." in job.summary()


def test_the_budget_is_that_of_all_attempts(job, monkeypatch):
    more = {"max-cost": "0.75", "fail-on": "none"}
    job.attempt(1, monkeypatch, **more)
    spent = job.begun
    assert spent.total() == 3
    job.attempt(2, monkeypatch, **more)
    assert job.begun == spent


@pytest.mark.timed
def test_a_session_that_exceeded_a_limit_does_not_run_again(job, monkeypatch):
    slow = runner("read -r _ task; echo $task >> $LOG/begun; sleep 60", env={"LOG": str(job.log)})
    written(job.root, {"skillgym.config.yaml": config(slow), "bench/core.json": suite(case("slow"))})
    committed(job.root)
    more = {"timeout": "1", "on-limit": "errored", "repeat": "1", "max-cost": ""}
    for number in (1, 2):
        assert job.attempt(number, monkeypatch, **more) == 3
        assert job.begun == Counter({"slow": 1})
        assert job.statuses() == ["slow errored 1"]


def test_no_sample_is_stored_twice(job, monkeypatch):
    commit = git_in(job.root, "rev-parse", "HEAD").strip()
    more = {"mode": "all", "comment": "off", "status": "off", "github-token": "", "store": "path=store"}
    protected = {"GITHUB_REF_PROTECTED": "true", "GITHUB_SHA": commit}
    written(job.root, {".git/info/exclude": "store\n"})
    counts = [{"a": 2, "b-fails": 2, "d": 2}, {"c-crashes": 2}, {}]
    seen: Counter[str] = Counter()
    for number, expected in enumerate(counts, start=1):
        job.attempt(number, monkeypatch, **more, **protected)
        (job.log / "fixed").touch()
        stored: Counter[str] = Counter()
        for file in (job.root / "store").rglob("*.jsonl"):
            for line in file.read_text().splitlines():
                stored.update({row["case"]: len(row["sessions"]) for row in json.loads(line)["entries"]})
        assert stored - seen == Counter(expected)
        assert [one for one in job.warnings() if "not added" in one] == []
        seen = stored


# --- the run directory, brought back by the runner's user ----------------------------------------------


@pytest.fixture
def workspace():
    """A folder that every user can reach, as a runner's workspace is; pytest's own folders are not."""
    folder = Path(tempfile.mkdtemp(prefix="skillgym-attempts-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_runner(*argv: str, cwd: Path) -> None:
    """A command of a cache step: as the owner of the workspace, not as root."""
    who = {"user": RUNNER, "group": RUNNER, "extra_groups": []} if IS_ROOT else {}
    subprocess.run(argv, cwd=cwd, check=True, **who)  # type: ignore[call-overload]


@pytest.mark.parametrize("end", ["at its end", "killed"])
def test_the_runners_user_can_save_and_restore_what_root_and_agents_wrote(workspace, end):
    """As actions/cache does, with tar. Where root runs the tests, the action runs as root, and agents as others."""
    job = Job(workspace)
    job.log.chmod(0o777)
    inputs = INPUTS | ({"agent-user": "nobody"} if IS_ROOT else {})
    if IS_ROOT:
        subprocess.run(["chown", "-R", f"{RUNNER}:{RUNNER}", job.root], check=True)
    more = {"GITHUB_JOB": "bench", "GITHUB_REF": "refs/heads/main"}
    if end == "killed":
        (job.log / "slow").touch()
    process, files = action_step.started(job.root, None, inputs, event=("push", {}), GITHUB_RUN_ATTEMPT="1", **more)
    if end == "killed":
        until(lambda: job.begun.total() >= 3, "three sessions that have begun")
        process.kill()
        process.communicate()
        (job.log / "slow").unlink()
        if IS_ROOT:  # the step of the how-to
            subprocess.run(["chown", "-R", f"{RUNNER}:{RUNNER}", job.run], check=True)
    else:
        assert action_step.finished(process, files).code == 1
    finished = finished_in([line for line in job.lines() if line.endswith("\n")])
    owners = {path.stat().st_uid for path in [job.run, *job.run.rglob("*")]}
    assert end == "killed" or not IS_ROOT or owners == {RUNNER}
    archive = job.root.parent / "cache.tar"
    job.root.parent.chmod(0o777)
    as_runner("tar", "-cf", str(archive), "-C", str(job.root), "run", cwd=job.root)
    shutil.rmtree(job.run)
    as_runner("tar", "-xf", str(archive), "-C", str(job.root), cwd=job.root)
    job.forget()
    again = action_step.step(job.root, None, inputs, event=("push", {}), GITHUB_RUN_ATTEMPT="2", **more)
    assert again.code == 1, again.said
    assert job.begun == SESSIONS - finished
    assert job.statuses() == ["a passed 2", "b-fails failed 4", "c-crashes errored 4", "d passed 2"]
    as_runner("tar", "-cf", str(archive), "-C", str(job.root), "run", cwd=job.root)


# --- other runs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param({"GITHUB_RUN_ID": "101"}, "it is of the workflow run 100 of", id="another workflow run"),
        pytest.param({"GITHUB_JOB": "other"}, "it is of the job bench", id="another job"),
        pytest.param({"matrix": '{"os": "b"}'}, "it is of the same job with another matrix", id="another matrix"),
        pytest.param({"retry": "2"}, "it has other settings: retry", id="a second chance for what failed"),
    ],
)
def test_what_is_no_earlier_attempt_of_this_job_is_not_continued(job, whole, monkeypatch, change, reason):
    del whole
    job.forget()
    job.attempt(2, monkeypatch, **change)
    assert job.begun["a"] == 2
    (warning,) = (one for one in job.warnings() if "not continued" in one)
    assert warning.startswith("the run in the run directory is not continued, and all sessions run: " + reason)


def test_another_commit_is_not_continued(job, whole, monkeypatch):
    del whole
    committed(job.root)
    job.forget()
    job.attempt(2, monkeypatch)
    assert job.begun == SESSIONS
    assert any("it is of commit" in one for one in job.warnings())


def test_an_attempt_after_this_one_is_not_continued(job, whole, monkeypatch):
    lines = job.lines()
    job.keep(whole, [lines[0].replace('"attempt": 1', '"attempt": 7'), *lines[1:]])
    job.forget()
    job.attempt(2, monkeypatch)
    assert job.begun == SESSIONS
    assert any("it is of attempt 7, and this is attempt 2" in one for one in job.warnings())


def test_two_steps_of_a_job_do_not_share_a_run_directory(job, whole, monkeypatch):
    del whole
    with pytest.raises(UsageError, match=r"has a run of this attempt of the job; give each step"):
        job.attempt(1, monkeypatch)
    assert job.begun == SESSIONS


def test_without_a_run_directory_all_attempts_of_a_job_have_the_same_one(job, monkeypatch):
    only = {"report-dir": "", "matrix": '{"os": "a", "n": 1}'}
    job.attempt(1, monkeypatch, **only)
    (folder,) = (job.root / ".skillgym-results").glob("run-100-bench-*")
    job.forget()
    job.attempt(2, monkeypatch, **only | {"matrix": '{\n  "n": 1, "os": "a"\n}'})
    assert job.begun == Counter({"c-crashes": 4})
    assert [*(job.root / ".skillgym-results").glob("run-*")] == [folder]


def test_outside_of_a_job_there_is_no_earlier_attempt(job, monkeypatch):
    environment = {name: value for name, value in job.environment(1).items() if name != "GITHUB_ACTIONS"}
    monkeypatch.chdir(job.root)
    with pytest.raises(UsageError, match="--resume auto outside of a job on GitHub"):
        run_action(environment)


# --- damaged and forged -----------------------------------------------------------------------------


def test_a_file_that_is_no_journal_is_not_continued(job, whole, monkeypatch):
    job.keep(whole, ["{}\n", *job.lines()[1:]])
    job.forget()
    assert job.attempt(2, monkeypatch) == 1
    assert job.begun == SESSIONS
    assert any("not continued" in one for one in job.warnings())


def passes(line: str) -> str:
    """The line of a failed session, changed into a pass that does not contradict itself."""
    row = json.loads(line)
    outcomes = [{**outcome, "passed": True} for outcome in row["result"]["outcomes"]]
    row["result"] |= {"status": "passed", "passed": True, "outcomes": outcomes}
    row["result"]["attempts"][0]["status"] = "passed"
    return json.dumps(row) + "\n"


def test_a_pass_with_the_artifacts_of_another_session_does_not_count(job, whole, monkeypatch):
    lines = job.lines()
    (place, line) = next((at, line) for at, line in enumerate(lines) if '"b-fails"' in line and '"result"' in line)
    row = json.loads(passes(line))
    row["result"]["attempts"][0]["artifactDir"] = "core/a/sh/repeat-1"
    job.keep(whole, [*lines[:place], json.dumps(row) + "\n"])
    job.forget()
    assert job.attempt(2, monkeypatch, repeat="2") == 1
    assert job.statuses()[1] == "b-fails failed 4"
    assert any("its artifacts are not in core/b-fails/sh/repeat-1" in one for one in job.warnings()), job.warnings()


def test_a_pass_without_artifacts_does_not_count(job, whole, monkeypatch):
    lines = job.lines()
    shutil.rmtree(whole / "core/b-fails")
    job.keep(whole, [passes(line) if '"b-fails"' in line else line for line in lines])
    job.forget()
    assert job.attempt(2, monkeypatch) == 1
    assert job.begun["b-fails"] == SESSIONS["b-fails"]
    assert job.statuses()[1] == "b-fails failed 4"
    assert re.search(
        r"b-fails \[sh\] repetition 1: run again, since its artifacts are not in", "\n".join(job.warnings())
    )
