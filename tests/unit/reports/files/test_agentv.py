"""The report kind ``agentv``: lines as AgentV's index.jsonl has them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date

import pytest

from builders import run_report
from skillgym_action.model.judgement import Judgement, Outcome
from skillgym_action.model.session_report import Usage
from skillgym_action.model.verdicts import TROUBLES, Status
from skillgym_action.reports.files.agentv import render

SHOP = "suite evals/shop/core.yaml\n"


def rows(report):
    return [json.loads(line) for line in "".join(render(report)).splitlines()]


def row(text):
    (only,) = rows(run_report(SHOP + text))
    return only


def test_a_row_has_the_keys_of_agentv_and_our_status():
    assert row("kind @claude passed 0.875/0.8 $0.20 12s 120t") == {
        "timestamp": "2025-01-02T03:05:05Z",
        "test_id": "kind",
        "suite": "core",
        "category": "shop",
        "score": 0.875,
        "target": "claude",
        "duration_ms": 12_000,
        "token_usage": {"input": 100, "output": 20},
        "cost_usd": 0.2,
        "scores": [
            {
                "name": "file:out.txt exists",
                "type": "FileExists",
                "score": 1.0,
                "weight": 1.0,
                "verdict": "pass",
                "assertions": [{"text": "it is there", "passed": True}],
            }
        ],
        "execution_status": "ok",
        "status": "passed",
        "artifact_dir": "core/kind/claude",
        "eval_path": "evals/shop/core.yaml",
        "experiment": "default",
    }


@pytest.mark.parametrize(
    ("text", "status", "score"),
    [
        pytest.param("a passed 0.875/0.8", "ok", 0.875, id="passed"),
        pytest.param("a passed 0.66667/0.5", "ok", 0.6667, id="four digits"),
        pytest.param("a passed", "ok", 1, id="passed without a score"),
        pytest.param("a failed 0.5/0.8", "quality_failure", 0.5, id="failed"),
        pytest.param("a failed", "quality_failure", 0, id="failed without a score"),
        pytest.param("a expected-failed 0.5/0.8", "ok", 0.5, id="green is ok"),
        pytest.param("a unexpected-passed 0.9/0.8", "quality_failure", 0.9, id="red is not"),
        pytest.param("a errored timeout", "execution_error", 0, id="errored"),
        pytest.param("a skipped", "execution_error", 0, id="skipped: AgentV has no other word"),
    ],
)
def test_status_and_score(text, status, score):
    line = row(text)
    assert (line["execution_status"], line["score"]) == (status, score)
    assert ("error" in line) == (status != "ok")


STAGES = {
    **dict.fromkeys(TROUBLES, ("agent", "provider_error")),
    **dict.fromkeys(("grader", "assert-hook", "snapshot"), ("evaluator", "evaluator_error")),
    **dict.fromkeys(("container", "workspace", "suite-invalid"), ("setup", "setup_error")),
    "workspace-bootstrap": ("setup", "script_error"),
}


@pytest.mark.parametrize(("trouble", "where"), STAGES.items())
def test_where_it_went_wrong(trouble, where):
    line = row(f"a errored {trouble}: no answer")
    assert (line["failure_stage"], line["failure_reason_code"], line["error"]) == (*where, "no answer")


@pytest.mark.parametrize(("origin", "code"), [("budget", "budget_exceeded"), ("dependency", "dependency_failed")])
def test_why_it_was_skipped(origin, code):
    report = run_report("a skipped")
    judgement = Judgement(status=Status.SKIPPED, origin=origin, reason="it is so")
    (line,) = rows(replace(report, results=(replace(report.results[0], judgement=judgement),)))
    assert (line["failure_stage"], line["failure_reason_code"], line["error"]) == ("setup", code, "it is so")


@pytest.mark.parametrize(
    ("passed", "score", "expected"),
    [
        pytest.param(True, 0.85, ("pass", 0.85), id="holds"),
        pytest.param(False, 2 / 3, ("fail", 0.6667), id="does not"),
        pytest.param(None, None, ("skip", 0), id="not graded"),
        pytest.param(True, None, ("pass", 1), id="without a score"),
    ],
)
def test_a_grader(passed, score, expected):
    outcome = Outcome(
        assertion="rule", type="regex", passed=passed, score=score, weight=2.5, explanation="because", evidence="a\nb"
    )
    report = run_report("a failed")
    judgement = replace(report.results[0].judgement, outcomes=(outcome,))
    (one,) = rows(replace(report, results=(replace(report.results[0], judgement=judgement),)))[0]["scores"]
    assert (one["verdict"], one["score"], one["weight"], one["type"]) == (*expected, 2.5, "regex")
    assert one["assertions"] == [{"text": "because", "passed": passed is True, "evidence": "a\nb"}]


@pytest.mark.parametrize(
    ("path", "category"),
    [
        ("EVAL.yaml", "Uncategorized"),
        ("evals/EVAL.yaml", "Uncategorized"),
        ("evals/shop/cart/EVAL.yaml", "shop/cart"),
        ("shop/evals/EVAL.yaml", "shop"),
    ],
)
def test_the_category_is_made_of_the_folders(path, category):
    assert [line["category"] for line in rows(run_report(f"suite {path}\na passed"))] == [category]


def test_the_metadata_of_the_case_are_there():
    report = run_report(SHOP + "kind passed")
    metadata = {"difficulty": "medium", "seen": [1, None, {"by": date(2025, 1, 2)}], "odd": float("inf")}
    (only,) = rows(replace(report, results=(replace(report.results[0], metadata=metadata),)))
    assert only["metadata"] == {"difficulty": "medium", "seen": [1, None, {"by": "2025-01-02"}], "odd": "inf"}


def test_what_is_not_known_is_left_out():
    report = run_report("a passed $?")
    (line,) = rows(replace(report, results=(replace(report.results[0], runner=None, directory=None, usage=Usage()),)))
    assert line.keys() & {"target", "token_usage", "cost_usd", "artifact_dir"} == set()


def test_a_run_of_nothing_has_no_lines():
    assert rows(run_report("")) == []
