"""Stored runs: a report made from the file is the one the run made, and a file that cannot be true is refused."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import restored_text, run_report, suite_at
from growth import grows_in_proportion
from hostile import any_text
from skillgym_action.model.errors import Location, Problem, UsageError
from skillgym_action.model.judgement import Failure, Judgement, Outcome
from skillgym_action.model.limits import MAX_RESULTS_BYTES
from skillgym_action.model.verdicts import FailureClass, Status
from skillgym_action.reports import REPORTERS, reporter_named
from skillgym_action.results.stored_runs import baseline, stored_reports
from skillgym_action.text.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skillgym_action.model.report import RunReport

EVERY_STATUS = """
suite bench/core.json
edit passed $0.20 12s 900t 2x
fix @codex failed $?: expected a file
flaky expected-failed missed-skill
old unexpected-passed
slow errored rate-limit 3x: 429 too many requests
off skipped: not selected
suite tests/skills.suite.py
find passed
warning: nothing was changed
"""


def rendered(kind: str, report: RunReport) -> str:
    return "".join(reporter_named(kind)(report))


def file_of(report: RunReport) -> str:
    return rendered("results", report)


def read_back(report: RunReport) -> RunReport:
    """The report out of the file that was made of it; what the gate decides is the same, given the same options."""
    return replace(restored_text(file_of(report)), decision=report.decision)


# --- the report made from the file is the report of the run -----------------------------------------


@pytest.mark.parametrize("kind", REPORTERS)
@pytest.mark.parametrize(
    "report",
    [
        pytest.param(run_report(EVERY_STATUS, commit="abc123"), id="every status"),
        pytest.param(run_report(""), id="nothing ran"),
        pytest.param(run_report("suite a.yaml\na passed 0.875/0.8\nb failed 0.33333/0.8"), id="scores"),
        pytest.param(run_report(EVERY_STATUS, cancelled=True, shard="1/3", incomplete=("gone",)), id="cancelled shard"),
        pytest.param(run_report("", suites=(suite_at(), suite_at("bench/empty.json"))), id="suites without results"),
        pytest.param(run_report("a passed\na @codex failed\nb passed\nb @codex passed"), id="runner by runner"),
        pytest.param(
            run_report("suite a.json\none failed\nsuite b.json\ntwo failed\nsuite a.json\nthree failed"),
            id="another order than suite by suite",
        ),
    ],
)
def test_every_report_made_from_the_file_is_the_run_s(kind, report):
    assert rendered(kind, read_back(report)) == rendered(kind, report)


def test_what_reports_may_show_comes_back():
    outcome = Outcome(
        assertion="check",
        type="check",
        passed=False,
        explanation="no",
        evidence="a\nb",
        score=0.5,
        location=Location(path="tests/x_suite.py", line=4, column=9),
        failure_class=FailureClass(id="own", label="Own class"),
    )
    report = run_report("edit failed $0.20 2x", runners=())
    (result,) = report.results
    judgement = replace(result.judgement, outcomes=(outcome,))
    suite = replace(suite_at(), digest="0" * 64)
    report = run_report(
        "", results=(replace(result, judgement=judgement, suite=suite),), runners=(result.runner,), suites=(suite,)
    )
    (back,) = read_back(report).results
    assert replace(back, suite=suite, runner=result.runner) == report.results[0]
    assert (back.suite.digest, back.runner.agent.type, back.runner.agent.model) == (
        "0" * 64, "claude-code", "claude-model",
    )  # fmt: skip


def test_a_case_that_could_not_be_used_comes_back_without_a_runner():
    report = run_report("(suite) errored suite-invalid: no cases")
    (result,) = report.results
    report = replace(report, results=(replace(result, runner=None, attempts=(), directory=None),), runners=())
    for kind in REPORTERS:
        assert rendered(kind, read_back(report)) == rendered(kind, report)


def test_a_warning_comes_back_in_one_sentence():
    problem = Problem(
        message="odd", location=Location(path="a.json", line=3, column=7), key_path="cases[0]", remedy="mend it"
    )
    report = run_report("edit passed", warnings=(problem,))
    assert read_back(report).warnings == (
        Problem(message="cases[0]: odd; mend it", location=Location(path="a.json", line=3, column=7)),
    )
    for kind in REPORTERS:
        assert rendered(kind, read_back(report)) == rendered(kind, report)


def test_the_decision_of_a_file_is_not_believed():
    assert restored_text(file_of(run_report("edit failed"))).decision is None


# Half a surrogate pair is no text that a file could hold: the file has U+FFFD instead, and so have reports.
some_text = any_text.map(lambda text: text.encode("utf-8", "replace").decode())


@pytest.mark.slow
@given(any_text, any_text, st.sampled_from(Status))
def test_any_text_of_an_agent_comes_back_as_reports_show_it(text, other, status):
    report = run_report(f"edit {status} 2x\nfix passed\nwarning: odd")
    first, second = report.results
    judgement = first.judgement
    outcomes = tuple(replace(one, explanation=text, evidence=other) for one in judgement.outcomes)
    failure = judgement.failure and replace(judgement.failure, message=text)
    attempts = tuple(replace(one, message=other) for one in first.attempts)
    judgement = replace(judgement, outcomes=outcomes, failure=failure, reason=judgement.reason and text)
    first = replace(first, judgement=judgement, attempts=attempts, prompt=other, final_output=text, session_id=other)
    report = replace(report, results=(first, second))
    redacted = Redactor(["octocat"]).redacted(report)
    for kind in REPORTERS:
        assert rendered(kind, read_back(redacted)) == rendered(kind, redacted)


@pytest.mark.slow
@given(some_text, some_text)
def test_any_text_of_a_suite_comes_back_as_reports_show_it(text, other):
    report = run_report("edit failed\nfix passed", warnings=(Problem(message=f"odd {other}"),))
    suite = replace(report.suites[0], name=text)
    runner = replace(report.runners[0], id=other)
    first, second = (replace(one, suite=suite, runner=runner, tags=(text,), model=other) for one in report.results)
    first = replace(first, case_id=text + "1")
    report = replace(report, results=(first, second), suites=(suite,), runners=(runner,))
    for kind in REPORTERS:
        assert rendered(kind, read_back(report)) == rendered(kind, report)


def test_a_place_outside_of_the_repository_is_no_place_in_the_file():
    """Such as a library that a check called: the report of the run names it, one made from the file names the case."""
    outside = Location(path="/usr/lib/x.py", line=3)
    report = run_report("edit failed")
    (result,) = report.results
    failure = Failure(name="AssertionError", message="no", location=outside)
    judgement = Judgement(status=Status.FAILED, origin="assertion", failure=failure)
    report = replace(report, results=(replace(result, judgement=judgement),))
    (back,) = read_back(report).results
    assert (back.judgement.failure, back.location) == (replace(failure, location=None), result.location)


# --- what is refused --------------------------------------------------------------------------------


def changed(change: Callable[[Any], None], text: str = EVERY_STATUS) -> str:
    """A results file after ``change``."""
    value = json.loads(file_of(run_report(text, commit="abc123")))
    change(value)
    return json.dumps(value)


def at(*path: str | int, value: object) -> Callable[[Any], None]:
    def change(container: Any) -> None:
        for part in path[:-1]:
            container = container[part]
        container[path[-1]] = value

    return change


def refusal(folder: Path, content: str | bytes) -> list[str]:
    """What is said of a results file with that content."""
    (folder / "results.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError) as caught:
        stored_reports(["results.json"], folder)
    return str(caught.value).splitlines()


RESULT = ("suites", 0, "results", 0)
FIRST = "suites[0].results[0]"
UPWARDS = ("../x", "a/../../x", "a/..", "..", ".", "a/./b", "a//b", "a/", "")


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        pytest.param(("more",), 1, "more: is not a key of a results file of this version", id="an unknown key"),
        pytest.param(("schema",), 2, "schema: must be 1, not 2", id="another schema"),
        pytest.param((*RESULT, "status"), "fine", f"{FIRST}.status: must be 'passed', ", id="an unknown status"),
        pytest.param(
            (*RESULT, "durationMs"), "1",
            f'{FIRST}.durationMs: must be a valid integer, not "1"', id="text for a number",
        ),
        pytest.param(
            (*RESULT, "durationMs"), -1,
            f"{FIRST}.durationMs: must be greater than or equal to 0", id="a negative number",
        ),
        pytest.param(
            (*RESULT, "durationMs"), 10**400,
            f"{FIRST}.durationMs: must be less than or equal to", id="a number without end",
        ),
        pytest.param(
            (*RESULT, "costUsd"), 1e300,
            f"{FIRST}.costUsd: must be less than or equal to", id="more money than there is",
        ),
        pytest.param((*RESULT, "costUsd"), float("nan"), "not JSON: NaN is not a JSON number", id="no number"),
        pytest.param(
            (*RESULT, "caseId"), "x" * 65_537,
            f"{FIRST}.caseId: must have at most 65536", id="an id without end",
        ),
        pytest.param((*RESULT, "location", "line"), 0, f"{FIRST}.location.line: must be greater than", id="line 0"),
        pytest.param(
            ("run", "commit"), "--upload-pack=x",
            'run.commit: must be a commit in hexadecimal digits, not "--upload-pack=x"', id="a commit",
        ),
        pytest.param(("run", "shard"), "0/3", 'run.shard: must be I/N, such as 2/4, not "0/3"', id="a shard"),
        pytest.param(("run", "shard"), "4/3", "run.shard: there is no part 4/3", id="a shard too high"),
        pytest.param(("run", "id"), "../x", 'run.id: must be a name without slashes, not "../x"', id="a run's name"),
        pytest.param(
            ("run", "startedAt"), "2025-02-30T00:00:00Z", "run.startedAt: day is out of range for month, not",
            id="a day that there is not",
        ),
        pytest.param(
            ("run", "startedAt"), "yesterday",
            'run.startedAt: must be a time in UTC, such as 2025-01-02T03:04:05Z, not "yesterday"', id="no time",
        ),
        pytest.param(
            (*RESULT, "runnerId"), "gone", "suites[0].results[0].runnerId: there is no runner 'gone' in runners",
            id="a runner that is not there",
        ),
        pytest.param(
            (*RESULT, "passed"), False, "suites[0].results[0].passed: contradicts the status passed", id="passed"
        ),
        pytest.param(
            (*RESULT, "expectedFail"), True, f"{FIRST}.status: is passed, but the case is expected to fail",
            id="a pass in spite of the expectation",
        ),
        pytest.param(
            (*RESULT, "status"), "expected-failed",
            f"{FIRST}.status: is expected-failed, but the case is not expected to fail", id="an expected failure",
        ),
        pytest.param(
            (*RESULT, "quarantine"), {"reason": "flaky", "owner": "me", "expires": "2099-01-01"},
            f"{FIRST}: is in quarantine", id="quarantine",
        ),
        pytest.param(
            (*RESULT, "reused"), {"commit": "abc", "at": "2025-01-01T00:00:00Z", "samples": [True]},
            f"{FIRST}.reused: has attempts, though it was not run", id="a session in a reused result",
        ),
        pytest.param(
            ("suites", 1, "path"), "bench/core.json", "suites[1].path: is the same as in suites[0]", id="twice"
        ),
        pytest.param(("runners", 1, "id"), "claude", "runners[1].id: is the same as in runners[0]", id="runner"),
        pytest.param(
            ("suites", 0, "results", 2, "caseId"), "edit",
            "suites[0].results[2]: is the same case on the same runner as results[0]", id="an execution twice",
        ),
        pytest.param(
            ("suites", 0, "path"), "/etc/passwd",
            "suites[0].path: must be relative to the repository, not '/etc/passwd'", id="a suite elsewhere",
        ),
        pytest.param(
            ("suites", 0, "results", 1, "error", "location", "path"), "/etc/passwd",
            "suites[0].results[1].error.location.path: must be relative to the repository, not '/etc/passwd'",
            id="a place elsewhere",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_true_is_refused_with_its_place(tmp_path, path, value, told):
    lines = refusal(tmp_path, changed(at(*path, value=value)))
    assert [line for line in lines if line.startswith(f"results.json: {told}")] != []


@pytest.mark.parametrize("value", [*UPWARDS, "/etc/passwd", "a\0b", "a b", "a\\b", ".git/config"])
def test_artifacts_are_nowhere_but_in_the_run_directory(tmp_path, value):
    (line,) = refusal(tmp_path, changed(at(*RESULT, "artifactDir", value=value)))
    place = "results.json: suites[0].results[0].artifactDir"
    assert line.startswith(f"{place}: must be a path below the run directory, without steps upwards, not ")


@pytest.mark.parametrize("value", [*UPWARDS, "a\0b", "/a/../b"])
@pytest.mark.parametrize("key", [("location", "path"), ("error", "location", "path")])
def test_no_place_leads_upwards(tmp_path, key, value):
    where = ("suites", 0, "results", 1, *key)
    (line,) = refusal(tmp_path, changed(at(*where, value=value)))
    assert line.startswith(f"results.json: suites[0].results[1].{'.'.join(key)}: must be a path without steps upwards")


TOTALS = {
    "executions": 8, "judged": 4, "passed": 3, "failed": 0, "expectedFailed": 2, "unexpectedPassed": 0, "errored": 0,
    "skipped": 0, "passRate": 1.0, "costUsd": 0.0, "costComplete": True, "retries": 0,
}  # fmt: skip


@pytest.mark.parametrize(("key", "value"), TOTALS.items())
@pytest.mark.parametrize("whose", ["totals", "runners"])
def test_sums_that_the_results_do_not_come_to_are_refused(tmp_path, whose, key, value):
    place = ("totals",) if whose == "totals" else ("runners", 0)
    text = EVERY_STATUS.replace("@codex ", "")
    (line,) = refusal(tmp_path, changed(at(*place, key, value=value), text))
    assert line.startswith(f"results.json: {'totals' if whose == 'totals' else 'runners[0]'}.{key}: is {value}, but")


def test_tokens_that_the_results_do_not_come_to_are_refused(tmp_path):
    (line,) = refusal(tmp_path, changed(at("totals", "tokens", "total", value=1)))
    assert line == "results.json: totals.tokens.total: is 1, but the results add up to 1500"


def test_money_in_another_order_is_the_same_money():
    text = "\n".join(f"case-{number} passed ${number / 7}" for number in range(50))
    value = json.loads(file_of(run_report(text)))
    value["suites"][0]["results"].reverse()
    for result in value["suites"][0]["results"]:
        del result["index"]
    assert restored_text(json.dumps(value)).results[0].case_id == "case-49"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param("", "not JSON: Expecting value: line 1 column 1", id="empty"),
        pytest.param("{", "not JSON: Expecting property name enclosed in double quotes: line 1 column 2", id="cut off"),
        pytest.param(b"\xff\xfe", "not JSON: 'utf-8' codec can't decode byte 0xff in position 0", id="not UTF-8"),
        pytest.param("[" * 100_000, "nested more than 100 levels deep; no run writes that", id="nested too deep"),
        pytest.param('{"a": "\\ud800"}', "schema: is missing", id="half a surrogate pair"),
        pytest.param("[]", ": must be an object", id="a list"),
    ],
)
def test_what_is_no_results_file_is_told(tmp_path, content, told):
    line = refusal(tmp_path, content)[0]
    assert line.startswith("results.json: ")
    assert told in line


def test_only_the_first_few_problems_are_told(tmp_path):
    def spoil(value: Any) -> None:
        wrong = {"durationMs": -1, "model": 3, "caseId": 0, "status": "", "passed": 0, "sessionId": 1, "version": 2}
        value["suites"][0]["results"][0] |= wrong

    lines = refusal(tmp_path, changed(spoil))
    assert len(lines) == 6
    assert lines[-1] == "results.json: and 2 more problems"


def test_a_long_value_is_told_in_short(tmp_path):
    (line,) = refusal(tmp_path, changed(at(*RESULT, "artifactDir", value="../" * 100)))
    assert len(line) < 200


def test_a_file_larger_than_any_run_writes_is_not_read(tmp_path):
    with (tmp_path / "results.json").open("wb") as file:
        file.truncate(MAX_RESULTS_BYTES + 1)
    with pytest.raises(UsageError, match="is larger than 1,073,741,824 bytes"):
        stored_reports(["results.json"], tmp_path)


# --- which files ------------------------------------------------------------------------------------


def stored(folder: Path, **runs: str) -> Path:
    """A folder with a run directory for each name."""
    for name, text in runs.items():
        directory = folder / name
        directory.mkdir(parents=True)
        (directory / "results.json").write_text(file_of(run_report(text, id=name)))
    return folder


@pytest.mark.parametrize(
    ("runs", "found"),
    [
        pytest.param(["one"], ["one"], id="a directory"),
        pytest.param(["one/results.json"], ["one"], id="a file"),
        pytest.param(["two", "one"], ["two", "one"], id="in the order they are named"),
        pytest.param(["*"], ["one", "two"], id="directories that match"),
        pytest.param(["**/results.json"], ["one", "two"], id="files that match"),
        pytest.param(["./o*"], ["one"], id="with a dot"),
        pytest.param(["one", "one/results.json", "*"], ["one", "two"], id="each of them once"),
    ],
)
def test_runs_are_found(tmp_path, runs, found):
    stored(tmp_path, one="a passed", two="b passed")
    (tmp_path / "bug-1.log").write_text("not a run")
    assert [report.id for _, report in stored_reports(runs, tmp_path)] == found


@pytest.mark.parametrize("confined", [False, True])
@pytest.mark.parametrize("special", ["x[1]", "a*", "b?", "**"])
def test_characters_of_patterns_in_the_names_of_folders_are_no_patterns(tmp_path, special, confined):
    here = stored(tmp_path / special, **{"one": "a passed", "two[1]": "b passed", "*": "c passed"})

    def found(run):
        return {report.id for _, report in stored_reports([run], here, confined=confined)}

    for run in ("one", str(here / "one"), "one/results.json", "o*", f"{here}/o*"):
        assert found(run) == {"one"}, run
    for run in ("two[1]", "two[1]/results.json", str(here / "two[1]")):
        assert found(run) == {"two[1]"}, run
    assert found("*") == {"one", "two[1]", "*"}


def test_what_agents_write_is_no_run(tmp_path):
    session = "a/core/one/sh/repeat-1/session-2/changes"
    stored(tmp_path / "runs", **{"a": "a passed", "repeat-3": "b passed", session: "forged passed"})
    for pattern in ("**/results.json", "runs/**/results.json"):
        assert [report.id for _, report in stored_reports([pattern], tmp_path)] == ["a", "repeat-3"]
    with pytest.raises(UsageError, match="no such run"):
        stored_reports(["runs/a/core/**/results.json"], tmp_path)


def test_runs_are_found_by_an_absolute_pattern(tmp_path):
    stored(tmp_path / "elsewhere", one="a passed")
    assert [report.id for _, report in stored_reports([f"{tmp_path}/else*/*"], tmp_path / "here")] == ["one"]


@pytest.mark.parametrize(
    ("run", "told"),
    [
        pytest.param("nope", "no such run: nope; name a run directory", id="nothing of that name"),
        pytest.param("**", "**: runs cannot be named by a pattern that ends with **; write runs/*", id="any folder"),
        pytest.param("e*/**", "e*/**: runs cannot be named by a pattern", id="any folder below"),
        pytest.param("nope-*", "no such run: nope-*; name a run directory", id="a pattern that matches nothing"),
        pytest.param("empty", "empty/results.json: No such file or directory", id="a directory without results"),
        pytest.param("e*", "empty/results.json: No such file or directory", id="a pattern that matches one"),
        pytest.param("killed", "killed: the run did not finish: it has no results.json; continue", id="unfinished"),
        pytest.param("folder", "folder/results.json: is not a file", id="a folder of that name"),
        pytest.param("pipe/results.json", "pipe/results.json: is not a file", id="what never ends"),
        pytest.param("a**b", "no such run: a**b", id="stars in a name stay in the name"),
    ],
)
def test_what_is_no_run_is_told(tmp_path, run, told):
    for name in ("empty", "killed"):
        (tmp_path / name).mkdir()
    (tmp_path / "killed/journal.jsonl").write_text("")
    (tmp_path / "folder/results.json").mkdir(parents=True)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe/results.json")
    with pytest.raises(UsageError) as caught:
        stored_reports([run], tmp_path)
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize("run", ["artifacts/evil", "artifacts/evil/results.json", "artifacts/*", "artifacts/linked*"])
def test_links_do_not_lead_out_of_what_was_named(tmp_path, run):
    stored(tmp_path, secret="a passed")
    (tmp_path / "artifacts/evil").mkdir(parents=True)
    (tmp_path / "artifacts/evil/results.json").symlink_to(tmp_path / "secret/results.json")
    (tmp_path / "artifacts/linked").symlink_to(tmp_path / "secret")
    with pytest.raises(UsageError, match=r"artifacts/\S+: is a symbolic link, which is not followed; put a copy"):
        stored_reports([run], tmp_path)


def test_a_directory_that_is_named_may_be_a_link(tmp_path):
    stored(tmp_path, one="a passed")
    (tmp_path / "latest").symlink_to("one")
    assert [report.id for _, report in stored_reports(["latest"], tmp_path)] == ["one"]


# --- the baseline -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["base", "base/results.json"])
def test_a_baseline_is_a_directory_or_a_file(tmp_path, path):
    stored(tmp_path, base="a passed")
    found = baseline(tmp_path / path, tmp_path)
    assert found is not None
    assert found.id == "base"


@pytest.mark.parametrize("path", ["nope", "nope/results.json", "empty"])
def test_a_baseline_may_not_be_there_yet(tmp_path, path):
    (tmp_path / "empty").mkdir()
    assert baseline(tmp_path / path, tmp_path) is None


def test_a_baseline_is_read_as_strictly(tmp_path):
    (tmp_path / "base.json").write_text(changed(at(*RESULT, "artifactDir", value="..")))
    with pytest.raises(UsageError, match=r"^base.json: suites\[0\].results\[0\].artifactDir: must be"):
        baseline(tmp_path / "base.json", tmp_path)


@pytest.mark.slow
def test_the_time_to_read_results_grows_with_their_number(tmp_path):
    def read(number: int) -> None:
        ((_, report),) = stored_reports([f"results-{number}.json"], tmp_path)
        assert len(report.results) == number

    for number in (500, 4_000):
        text = "\n".join(f"case-{index} failed 2x: expected {index}" for index in range(number))
        (tmp_path / f"results-{number}.json").write_text(file_of(run_report(text)))
    assert grows_in_proportion(read, 4_000)


@pytest.mark.parametrize(
    "name", ["a" * 5_000, "/".join(["a" * 100] * 50), "a" * 5_000 + "/*"], ids=["name", "path", "pattern"]
)
def test_a_name_that_no_file_can_have_is_a_mistake_of_the_user(tmp_path, name):
    with pytest.raises(UsageError, match="File name too long"):
        stored_reports([name], tmp_path)
    with pytest.raises(UsageError):
        baseline(tmp_path / name, tmp_path)
