from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from jsonschema import Draft7Validator

from builders import run_report
from hostile import any_text
from paths import REPOSITORY
from skillgym_action.model.judge_question import JudgeInfo
from skillgym_action.model.judgement import Outcome
from skillgym_action.model.result import ADDRESSES_JUDGE, Attempt, Finding
from skillgym_action.model.verdicts import Status
from skillgym_action.reports.files.ctrf import render

SCHEMA = json.loads((REPOSITORY / "tests/data/ctrf.schema.json").read_text(encoding="utf-8"))
EVERY_STATUS = """
suite bench/core.json
edit passed $0.20 12s 900t
fix @codex failed $? 0.5/0.8: expected a file
flaky expected-failed
old unexpected-passed
slow errored timeout 2x: no answer
off skipped: not selected
leaky passed !github:stdout.log
suite tests/skills.suite.py
find passed
"""


def written(report):
    document = json.loads("".join(render(report)), parse_constant=pytest.fail)
    Draft7Validator(SCHEMA).validate(document)
    return document["results"]


def by_name(text):
    return {test["name"]: test for test in written(run_report(text))["tests"]}


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        ("passed", "passed"),
        ("expected-failed", "passed"),
        ("failed", "failed"),
        ("unexpected-passed", "failed"),
        ("errored", "other"),
        ("skipped", "skipped"),
    ],
)
def test_a_status_and_what_it_becomes(raw, status):
    test = by_name(f"edit {raw}{' timeout' if raw == 'errored' else ''}")["edit"]
    assert (test["status"], test["rawStatus"]) == (status, raw)


def test_the_schema_refuses_what_it_does_not_know():
    document = json.loads("".join(render(run_report("edit passed"))))
    document["results"]["tests"][0]["more"] = 1
    assert not Draft7Validator(SCHEMA).is_valid(document)


def test_the_head_and_the_summary():
    results = written(run_report(EVERY_STATUS, commit="abc"))
    assert results["tool"] == {"name": "skillgym-action", "version": "1.0.0"}
    assert results["environment"] == {"commit": "abc"}
    assert results["summary"] == {
        "tests": 8, "passed": 4, "failed": 2, "skipped": 1, "pending": 0, "other": 1, "flaky": 0, "suites": 2,
        "start": 1735787045000, "stop": 1735787105000, "duration": 60000,
    }  # fmt: skip


def test_a_failed_execution():
    assert by_name(EVERY_STATUS)["fix"] == {
        "name": "fix",
        "status": "failed",
        "rawStatus": "failed",
        "duration": 1000,
        "suite": ["core", "codex"],
        "filePath": "bench/core.json",
        "line": 20,
        "tags": ["smoke"],
        "retries": 0,
        "flaky": False,
        "message": "expected a file",
        "trace": "file:out.txt exists: expected a file\nsrc/\nREADME.md\n\nat bench/core.json:20",
        "extra": {
            "agent": "codex", "model": "codex-model", "tokens": 120, "score": 0.5, "threshold": 0.8,
            "failureClass": "assertion", "artifactDir": "core/fix/codex",
        },
    }  # fmt: skip


def test_a_passed_execution_has_neither_message_nor_trace():
    assert {"message", "trace"} & set(by_name(EVERY_STATUS)["edit"]) == set()


def test_retries_are_listed_and_trouble_is_not_a_failed_attempt():
    test = by_name("slow passed 2x")["slow"]
    assert (test["retries"], test["flaky"]) == (1, False)
    assert [(one["attempt"], one["status"], one["extra"]["rawStatus"]) for one in test["retryAttempts"]] == [
        (1, "other", "errored"),
        (2, "passed", "passed"),
    ]


@pytest.mark.parametrize(("last", "flaky"), [(Status.PASSED, True), (Status.FAILED, False)])
def test_passed_after_a_failed_attempt_is_flaky(last, flaky):
    report = run_report(f"edit {last}")
    (result,) = report.results
    first = Attempt(repetition=1, session=1, status=Status.FAILED, duration_ms=1, directory="a")
    result = replace(result, attempts=(first, replace(first, session=2, status=last)))
    results = written(replace(report, results=(result,)))
    assert (results["tests"][0]["flaky"], results["summary"]["flaky"]) == (flaky, int(flaky))


def test_leaked_keys_are_named():
    assert by_name(EVERY_STATUS)["leaky"]["extra"]["leaks"] == "github in stdout.log"


def test_the_judge_and_text_that_addresses_it_are_named():
    report = run_report("edit passed")
    (result,) = report.results
    judge = JudgeInfo(api="openai", model="m", versions=("m-1",), votes=3)
    outcome = Outcome(assertion="a", type="rubrics", passed=True, explanation="x", judge=judge)
    finding = Finding(id=ADDRESSES_JUDGE, kind="verdict", where="judge-1.json: final answer")
    result = replace(result, judgement=replace(result.judgement, outcomes=(outcome,)), findings=(finding,))
    extra = written(replace(report, results=(result,)))["tests"][0]["extra"]
    assert extra["judge"] == "m (openai), answered as m-1, 3 votes per question"
    assert extra["addressesJudge"] == "verdict in judge-1.json: final answer"
    assert "leaks" not in extra


def test_a_case_without_a_runner_and_a_run_without_results():
    report = run_report("edit errored suite-invalid: no prompt")
    (result,) = report.results
    (test,) = written(replace(report, results=(replace(result, runner=None, location=None),)))["tests"]
    assert (test["suite"], test["filePath"]) == (["core"], "bench/core.json")
    assert written(run_report("", decision=None))["tests"] == []


@given(any_text)
def test_any_text_makes_valid_json_without_controls(text):
    report = run_report("edit failed")
    (result,) = report.results
    outcome = Outcome(assertion=text, type="x", passed=False, explanation=text, evidence=text, score=float("nan"))
    judgement = replace(result.judgement, outcomes=(outcome,), score=float("nan"), failure=None)
    hostile = replace(result, case_id=text, tags=(text,), suite=replace(result.suite, name=text), judgement=judgement)
    document = "".join(render(replace(report, results=(hostile,))))
    (test,) = written(replace(report, results=(hostile,)))["tests"]
    assert document.isascii()
    assert "\x1b" not in json.dumps(test, ensure_ascii=False)
