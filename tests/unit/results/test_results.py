from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from pydantic import ValidationError

from builders import restored_text, run_report
from hostile import any_text
from skillgym_action.model.errors import Location, Problem
from skillgym_action.model.judge_question import JudgeInfo
from skillgym_action.model.judgement import Outcome
from skillgym_action.model.result import FINDINGS
from skillgym_action.reports import REPORTERS, reporter_named
from skillgym_action.results.results_file import render
from skillgym_action.results.schema import Results, results_schema
from skillgym_action.results.statistics.comparison import compare
from skillgym_action.settings.option_types import FAIL_ON

EVERY_STATUS = """
suite bench/core.json
edit passed $0.20 12s 900t 2x
fix @codex failed $?: expected a file
flaky expected-failed
old unexpected-passed
slow errored timeout
off skipped: not selected
suite tests/skills.suite.py
find passed
warning: nothing was changed
"""


def written(report):
    return json.loads("".join(render(report)))


def read(report):
    return Results.model_validate_json("".join(render(report)), strict=True)


def test_what_is_written_fits_the_schema_strictly():
    results = read(run_report(EVERY_STATUS, commit="abc"))
    assert [result.status for suite in results.suites for result in suite.results] == [
        "passed", "failed", "expected-failed", "unexpected-passed", "errored", "skipped", "passed",
    ]  # fmt: skip


def test_the_metadata_of_a_case_are_written_and_read():
    report = run_report("edit passed")
    metadata = {"difficulty": "medium", "tags": ["a"], "odd": float("nan")}
    report = replace(report, results=(replace(report.results[0], metadata=metadata),))
    (suite,) = written(report)["suites"]
    assert suite["results"][0]["metadata"] == {"difficulty": "medium", "tags": ["a"], "odd": "nan"}
    assert read(report).suites[0].results[0].metadata["difficulty"] == "medium"
    assert "metadata" not in written(run_report("edit passed"))["suites"][0]["results"][0]


def test_the_head():
    head = written(run_report("edit passed\nfix failed", commit="abc"))
    assert list(head) == ["schema", "tool", "run", "totals", "runners", "suites", "warnings"]
    assert head["schema"] == 1
    assert head["tool"] == {"name": "skillgym-action", "version": "1.0.0"}
    assert head["run"] == {
        "id": "run-1",
        "status": "finished",
        "startedAt": "2025-01-02T03:04:05Z",
        "endedAt": "2025-01-02T03:05:05Z",
        "durationMs": 60000,
        "command": "skillgym-action run",
        "commit": "abc",
        "decision": {"verdict": "failed", "passed": False, "exitCode": 1, "reasons": ["1 failed"]},
    }
    interval = head["totals"]["rate"].pop("sameCases")
    assert (interval["low"], interval["high"]) == (pytest.approx(0.0945, abs=1e-4), pytest.approx(0.9055, abs=1e-4))
    assert head["totals"] == {
        "executions": 2, "judged": 2, "passed": 1, "failed": 1, "expectedFailed": 0, "unexpectedPassed": 0,
        "errored": 0, "skipped": 0, "passRate": 0.5,
        "rate": {"cases": 2, "unjudgedCases": 0, "sessions": 2, "casesLikeThese": None},
        "costUsd": 0.02, "costComplete": True,
        "tokens": {"input": 200, "output": 40, "reasoning": None, "cache": None, "total": 240}, "retries": 0,
    }  # fmt: skip


def test_a_failed_execution():
    (suite,) = written(run_report("fix @codex failed $? 12s 2x missed-skill: expected a file"))["suites"]
    assert (suite["path"], suite["name"], suite["format"]) == ("bench/core.json", "core", "x-bench")
    assert suite["results"] == [
        {
            "index": 0,
            "caseId": "fix",
            "runnerId": "codex",
            "tags": ["smoke"],
            "location": {"path": "bench/core.json", "line": 10},
            "status": "failed",
            "passed": False,
            "failureOrigin": "assertion",
            "failureClass": {"id": "missed-skill", "label": "missed-skill"},
            "error": {
                "name": "AssertionError",
                "message": "expected a file",
                "location": {"path": "bench/core.json", "line": 10},
            },
            "outcomes": [
                {
                    "assertion": "file:out.txt exists",
                    "type": "FileExists",
                    "passed": False,
                    "explanation": "expected a file",
                    "evidence": "src/\nREADME.md",
                }
            ],
            "durationMs": 12000,
            "usage": {
                "inputTokens": 100, "outputTokens": 20, "reasoningTokens": None, "cacheTokens": None,
                "totalTokens": 120, "inputChars": 0, "outputChars": 0, "reasoningChars": 0,
            },
            "costUsd": None,
            "costSource": "unknown",
            "model": "codex-model",
            "version": "1.2.3",
            "sessionId": "session-0",
            "attempts": [
                {
                    "repetition": 1,
                    "session": 1,
                    "status": "errored",
                    "failureClass": {"id": "rate-limit", "label": "Rate limit"},
                    "message": "429 too many requests",
                    "durationMs": 12000,
                    "artifactDir": "core/fix/codex/repeat-1/session-1",
                },
                {
                    "repetition": 1,
                    "session": 2,
                    "status": "failed",
                    "durationMs": 12000,
                    "artifactDir": "core/fix/codex/repeat-1/session-2",
                },
            ],
            "artifactDir": "core/fix/codex",
            "prompt": "Do fix",
            "finalOutput": "Done.",
        }
    ]  # fmt: skip


def test_a_skipped_execution_says_why():
    (suite,) = written(run_report("off skipped: not selected"))["suites"]
    assert suite["results"][0]["error"] == {"name": "skipped", "message": "not selected"}


def test_an_unknown_cost_is_null_and_the_sum_not_complete():
    totals = written(run_report("edit passed $0.20\nfix passed $?"))["totals"]
    assert (totals["costUsd"], totals["costComplete"]) == (0.2, False)


def test_a_runner_has_its_own_sums():
    runners = written(run_report("edit passed\nedit @codex errored timeout"))["runners"]
    assert [(one["id"], one["agent"], one["model"], one["version"], one["judged"]) for one in runners] == [
        ("claude", "claude-code", "claude-model", "1.2.3", 1),
        ("codex", "codex", "codex-model", "1.2.3", 0),
    ]


def test_a_case_that_could_not_be_used_has_no_runner():
    report = run_report("edit errored suite-invalid: no prompt")
    (result,) = report.results
    report = replace(report, results=(replace(result, runner=None, location=None),), runners=())
    (suite,) = read(report).suites
    assert (suite.results[0].runner_id, suite.results[0].location.path) == (None, "bench/core.json")


def test_a_warning_names_its_place_and_remedy():
    problem = Problem(message="odd", location=Location(path="a.json", line=3), key_path="cases[0]", remedy="mend it")
    assert written(run_report("edit passed", warnings=(problem,)))["warnings"] == [
        {"path": "a.json", "line": 3, "message": "cases[0]: odd; mend it"}
    ]


@pytest.mark.parametrize(("cancelled", "status"), [(True, "cancelled"), (False, "finished")])
def test_a_run_without_results_is_written_too(cancelled, status):
    results = read(run_report("", cancelled=cancelled, decision=None))
    assert (results.run.status, results.suites, results.run.decision) == (status, (), None)


def test_a_score_that_is_no_number_is_left_out():
    report = run_report("edit passed")
    (result,) = report.results
    outcome = Outcome(assertion="a", type="Rubric", passed=True, explanation="", score=float("nan"))
    report = replace(report, results=(replace(result, judgement=replace(result.judgement, outcomes=(outcome,))),))
    assert "score" not in written(report)["suites"][0]["results"][0]["outcomes"][0]


@given(any_text)
def test_any_text_is_written(text):
    report = run_report("edit failed")
    (result,) = report.results
    report = replace(report, results=(replace(result, case_id=text, prompt=text, final_output=text),))
    "".join(render(report)).encode()
    assert read(report).suites[0].results[0].case_id == re.sub("[\ud800-\udfff]", "\ufffd", text)


def test_a_key_that_is_not_known_is_refused():
    with pytest.raises(ValidationError, match="extra"):
        Results.model_validate({**written(run_report("edit passed")), "more": 1})


def test_the_schema_and_the_conditions_that_fail_a_run_have_the_findings_of_the_table():
    assert results_schema()["$defs"]["FindingEntry"]["properties"]["id"]["enum"] == list(FINDINGS)
    assert [kind.fail_on for kind in FINDINGS.values() if kind.fail_on not in ("", *FAIL_ON)] == []


def test_the_json_schema_uses_the_names_of_the_file():
    schema = results_schema()
    assert schema["required"] == ["schema", "tool", "run", "totals", "runners", "suites", "warnings"]
    assert "costUsd" in schema["$defs"]["TotalsEntry"]["properties"]


@pytest.mark.parametrize("kind", REPORTERS)
def test_every_reporter_of_the_table_takes_any_run(kind):
    for report in (run_report(EVERY_STATUS), run_report("", decision=None)):
        assert isinstance("".join(reporter_named(kind)(report)), str)


def test_samples_rates_and_flaky_executions_are_in_the_file():
    text = "\n".join(f"c{number} passed 5of5" for number in range(5)) + "\nf failed 3of5\nonce passed"
    file = written(run_report(text))
    rows = {row["caseId"]: row for row in file["suites"][0]["results"]}
    assert (rows["f"]["samples"], rows["f"]["flaky"]) == ({"passed": 3, "judged": 5}, True)
    assert (rows["c0"]["samples"], "flaky" in rows["c0"]) == ({"passed": 5, "judged": 5}, False)
    assert "samples" not in rows["once"]
    rate = file["totals"]["rate"]
    assert (rate["cases"], rate["sessions"], file["totals"]["flaky"]) == (7, 31, 1)
    assert file["totals"]["passRate"] == pytest.approx(6.6 / 7)
    assert rate["casesLikeThese"]["low"] < rate["sameCases"]["low"]


def test_the_comparison_is_in_the_file_and_not_read_again():
    base, head = run_report("a passed 5of5", version="0.0.9"), run_report("a failed 0of5")
    file = written(replace(head, comparison=compare(base, head)))
    assert file["run"]["comparison"] == {
        "baseId": "run-1", "verdict": "regression", "pairs": 1, "before": 1.0, "after": 0.0,
        "p": pytest.approx(1 / 252), "dropAtMost": 1.0, "coverage": 1.0, "newlyFailing": 1, "fixed": 0, "changed": 0,
        "noLongerJudged": 0, "redefined": 0, "added": 0, "removed": 0,
        "differences": ["skillgym-action: 0.0.9 then, 1.0.0 now"],
    }  # fmt: skip
    assert restored_text(json.dumps(file)).comparison is None


# --- the judge --------------------------------------------------------------------------------------


def test_the_judge_is_in_the_run_and_in_the_outcomes_that_it_decided():
    judge = JudgeInfo(api="openai", model="m", versions=("m-1", "m-2"), votes=3)
    votes = (True, None, False)
    outcome = Outcome(assertion="a", type="rubrics", passed=None, explanation="x", judge=judge, votes=votes)
    report = run_report("edit passed", judge=judge)
    (result,) = report.results
    judgement = replace(result.judgement, outcomes=(outcome, replace(outcome, judge=None, votes=())))
    entry = written(replace(report, results=(replace(result, judgement=judgement),)))
    known = {"api": "openai", "model": "m", "versions": ["m-1", "m-2"], "votes": 3}
    first, second = entry["suites"][0]["results"][0]["outcomes"]
    assert (entry["run"]["judge"], first["judge"], first["votes"]) == (known, known, list(votes))
    assert {"judge", "votes"} & second.keys() == set()
    assert "judge" not in written(run_report("edit passed"))["run"]
