"""``--maxfail``: after so many failures no session starts, and the run is not green."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bench_runs import Bench, attempts, statuses
from scratch import PASSING, Watched, case, repository, runner, skillgym, suite, written
from scratch import config as configuration

if TYPE_CHECKING:
    from pathlib import Path

CASES = tuple(map(case, "abcdef"))
ALTERNATELY = "echo x >> $LOG/sessions; [ $(( $(wc -l < $LOG/sessions) % 2 )) = 1 ] || echo > out.txt"


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"exitfirst": True}, ["failed"] + ["skipped"] * 5, id="-x"),
        pytest.param({"maxfail": 2}, ["failed", "passed", "failed"] + ["skipped"] * 3, id="two"),
        pytest.param({"maxfail": 4}, ["failed", "passed"] * 3, id="more than there are"),
    ],
)
def test_no_session_starts_after_so_many_failures(bench, given, expected):
    report = bench.run(ALTERNATELY, *CASES, **given)
    assert statuses(report) == expected
    assert bench.sessions == len([status for status in expected if status != "skipped"])


def test_what_was_skipped_has_the_reason_and_the_run_is_incomplete(bench):
    report = bench.run(ALTERNATELY, *CASES, maxfail=2)
    skipped = report.results[-1].judgement
    assert (skipped.origin, skipped.reason) == ("maxfail", "the run ended before, with 2 failures (--maxfail 2)")
    assert report.incomplete == ("3 executions were not started or not finished, since the run ended with 2 failures",)
    assert (report.decision.verdict, report.decision.exit_code) == ("failed", 1)


def test_what_could_not_be_judged_counts_too(bench):
    report = bench.run("exit 1", *CASES, maxfail=1)
    assert statuses(report) == ["errored"] + ["skipped"] * 5
    assert (report.decision.verdict, report.decision.exit_code) == ("inconclusive", 3)


def test_a_run_that_ended_before_is_never_green(bench):
    """Even if the failures themselves do not count: the rest may have failed as well."""
    report = bench.run("true", *CASES, maxfail=1, fail_on="errored")
    assert (report.decision.verdict, report.decision.exit_code) == ("inconclusive", 3)
    assert "5 executions were not started or not finished" in report.decision.reasons[0]


def test_expected_failures_do_not_count(bench):
    report = bench.run("true", case("a", expectedFail=True), case("b"), case("c"), maxfail=1)
    assert statuses(report) == ["expected-failed", "failed", "skipped"]


class Markers(Watched):
    """Creates a file when the tool has finished a case."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def finished(self, result):
        super().finished(result)
        (self._folder / f"{result.case_id}-finished").touch()


def test_missing_repetitions_are_not_run_either(bench):
    """The second execution has begun when the first one fails: it ends without its other repetitions."""
    first = "until [ -e $LOG/begun ]; do sleep 0.05; done"
    others = "touch $LOG/begun; until [ -e $LOG/a-finished ]; do sleep 0.05; done; echo > out.txt"
    script = f"case {{prompt}} in *a) {first};; *) {others};; esac"
    report = bench.run(script, *CASES, maxfail=1, repeat=2, jobs=2, observer=Markers(bench.log))
    assert statuses(report) == ["failed"] + ["skipped"] * 5
    assert [attempts(result) for result in report.results[:3]] == [["1.1 failed", "2.1 failed"], ["1.1 passed"], []]


def test_a_resumed_run_counts_the_failures_of_before(tmp_path):
    repository(tmp_path, {"bench/core.json": suite(*CASES), "skillgym.config.yaml": configuration(runner("true"))})
    first = skillgym("run", "-x", "--output", "out", cwd=tmp_path)
    again = skillgym("run", "-x", "--resume", "out", cwd=tmp_path)
    for ran in (first, again):
        assert (ran.code, "1 failed, 5 skipped of 6" in ran.err) == (1, True), ran.err
    assert skillgym("run", "--resume", "out", cwd=tmp_path).err.count("6 failed of 6") == 1


# --- --last-failed ------------------------------------------------------------------------------------


def ran_cases(folder, output) -> list[str]:
    document = json.loads((folder / output / "results.json").read_text(encoding="utf-8"))
    return [row["caseId"] for row in document["suites"][0]["results"]]


def test_only_what_was_not_green_is_run_again(tmp_path):
    some = "case $(cat prompt.txt 2>/dev/null || echo {prompt}) in *[ace]*) ;; *) echo > out.txt;; esac"
    files = {"bench/core.json": suite(*CASES), "skillgym.config.yaml": configuration(runner("{ " + some + "; }"))}
    repository(tmp_path, files)
    first = skillgym("run", cwd=tmp_path)
    failed = [line.split()[1] for line in first.err.splitlines() if line.startswith("✗")]
    assert failed
    written(tmp_path, {"skillgym.config.yaml": configuration(runner(PASSING))})
    again = skillgym("run", "--last-failed", "--output", "again", cwd=tmp_path)
    assert f"last-failed: {len(failed)} of 6 executions in .skillgym-results/" in again.err
    assert (again.code, ran_cases(tmp_path, "again")) == (0, failed)


def test_with_nothing_failed_or_nothing_known_everything_runs(tmp_path):
    repository(tmp_path, {"bench/core.json": suite(*CASES)})
    first = skillgym("run", "--last-failed", cwd=tmp_path)
    assert "last-failed: no run in .skillgym-results: all run\n" in first.err
    again = skillgym("run", "--last-failed", "--output", "again", cwd=tmp_path)
    assert "last-failed: all was green in .skillgym-results/" in again.err
    assert (again.code, ran_cases(tmp_path, "again")) == (0, list("abcdef"))


def test_a_run_in_which_nothing_ran_does_not_hide_the_failures_before_it(tmp_path):
    files = {"bench/core.json": suite(*CASES), "skillgym.config.yaml": configuration(runner("true"))}
    repository(tmp_path, files)
    skillgym("run", "--case", "b", cwd=tmp_path)
    assert skillgym("run", "-k", "misspelt", cwd=tmp_path).code == 2
    again = skillgym("run", "--last-failed", "--output", "again", cwd=tmp_path)
    assert "last-failed: 1 of 1 execution in .skillgym-results/" in again.err
    assert ran_cases(tmp_path, "again") == ["b"]


def test_with_only_runs_in_which_nothing_ran_everything_runs(tmp_path):
    repository(tmp_path, {"bench/core.json": suite(*CASES)})
    skillgym("run", "-k", "misspelt", cwd=tmp_path)
    again = skillgym("run", "--last-failed", "--dry-run", cwd=tmp_path)
    assert "last-failed: nothing ran in .skillgym-results/" in again.err
    assert "6 executions" in again.out


def test_a_named_run_directory_is_the_last_run(tmp_path):
    files = {"bench/core.json": suite(*CASES), "skillgym.config.yaml": configuration(runner("true"))}
    repository(tmp_path, files)
    skillgym("run", "--case", "b", "--output", "out", cwd=tmp_path)
    skillgym("run", "--case", "c", cwd=tmp_path)
    assert "1 of 1 execution in out\n" in skillgym("run", "--last-failed", "--output", "out", cwd=tmp_path).err
    assert ran_cases(tmp_path, "out") == ["b"]


def test_a_resumed_run_has_its_own_executions(tmp_path):
    repository(tmp_path)
    skillgym("run", "--output", "out", cwd=tmp_path)
    ran = skillgym("run", "--last-failed", "--resume", "out", cwd=tmp_path)
    assert (ran.code, "--last-failed with --resume" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(("-x", "--maxfail", "3"), "--exitfirst is --maxfail 1, but there is --maxfail 3", id="-x"),
        pytest.param(("-q", "-v"), "--quiet and --verbose exclude each other", id="-q -v"),
    ],
)
def test_options_that_contradict_each_other_are_an_error(tmp_path, options, message):
    ran = skillgym("run", *options, cwd=repository(tmp_path))
    assert (ran.code, message in ran.err) == (2, True), ran.err


def test_an_option_that_says_the_same_twice_is_none(tmp_path):
    ran = skillgym("run", "-x", "--maxfail", "1", cwd=repository(tmp_path))
    assert ran.code == 0, ran.err
