from __future__ import annotations

import json

from builders import run_report
from skillgym_action.reports.files.xbench import render


def written(text):
    return json.loads("".join(render(run_report(text))))


def test_one_suite_is_an_object_with_the_keys_of_x_bench_first():
    results = written("edit passed $1.87 45.2s 120t\nfix failed $1.55: expected a file")
    assert list(results) == [
        "suite",
        "passed",
        "failed",
        "total",
        "totalCost",
        "costComplete",
        "cases",
        "schemaVersion",
    ]
    assert {key: results[key] for key in ("suite", "passed", "failed", "total", "totalCost")} == {
        "suite": "core", "passed": 1, "failed": 1, "total": 2, "totalCost": 3.42,
    }  # fmt: skip
    assert list(results["cases"][0])[:5] == ["id", "pass", "cost", "duration", "tokens"]
    assert results["cases"][0] == {
        "id": "edit",
        "pass": True,
        "cost": 1.87,
        "duration": 45.2,
        "tokens": {"input": 100, "output": 20},
        "durationMs": 45200,
        "status": "passed",
        "runner": "claude",
        "model": "claude-model",
        "attempts": 1,
        "expectations": [{"expectation": "file:out.txt exists", "pass": True, "explanation": "it is there"}],
        "error": None,
    }
    assert results["cases"][1]["error"] == "expected a file"


def test_a_duration_of_whole_seconds_has_no_fraction_as_in_the_page_of_x_bench():
    (case,) = written("edit passed 45s")["cases"]
    assert repr(case["duration"]) == "45"


def test_several_suites_are_a_list():
    assert [suite["suite"] for suite in written("suite a/x.json\nedit passed\nsuite a/y.json\nedit passed")] == [
        "x",
        "y",
    ]


def test_no_suite_is_an_empty_list():
    assert written("") == []


def test_an_unknown_cost_is_null_and_the_sum_is_of_what_is_known():
    results = written("edit passed $0.5\nfix passed $?")
    assert (results["totalCost"], results["costComplete"], results["cases"][1]["cost"]) == (0.5, False, None)


def test_what_could_not_be_judged_failed_and_what_was_skipped_did_not():
    results = written("slow errored timeout\noff skipped\nflaky expected-failed")
    assert (results["passed"], results["failed"], results["total"]) == (1, 1, 3)
    assert [case["pass"] for case in results["cases"]] == [False, False, True]
