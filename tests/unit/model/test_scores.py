"""Cases with a threshold: the score from outcomes, the status from the score, and where reports show it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from xml.etree import ElementTree as ET

import pytest

from builders import restored_text, run_report
from skillgym_action.model.errors import Location
from skillgym_action.model.judgement import Outcome
from skillgym_action.model.result import case_score, format_score
from skillgym_action.model.session_report import Trouble
from skillgym_action.model.suite import BenchmarkCase
from skillgym_action.reports.files import junit
from skillgym_action.results import results_file
from skillgym_action.sessions.judge import judge

CASE, RULE = Location(path="EVAL.yaml", line=3), Location(path="EVAL.yaml", line=9)


def scored(score, *, weight=1.0, required=False, passed=None, name="rule"):
    """An outcome; a score of None: it could not tell."""
    return Outcome(
        assertion=name,
        type="says",
        passed=None if score is None else score >= 0.8 if passed is None else passed,
        explanation=f"it scores {score}",
        score=score,
        weight=weight,
        required=required,
        trouble="grader" if score is None else None,
        location=RULE,
    )


@dataclass
class Says:
    """An assertion that has its outcome ready."""

    outcome: Outcome
    diagnostic: bool = True
    fail_fast: bool = False

    def judge(self, _):
        return (self.outcome,)


class Asks:
    """A context that asks each assertion once."""

    def decided(self, assertion):
        return assertion.judge(self)


def judged(*outcomes, threshold=0.8, trouble=None, expected_fail=False):
    assertions = tuple(map(Says, outcomes))
    case = BenchmarkCase(
        id="a", prompt="p", location=CASE, assertions=assertions, threshold=threshold, expected_fail=expected_fail
    )
    return judge(case, Asks(), trouble)


# --- the score --------------------------------------------------------------------------------------

SCORES = [
    pytest.param([], 0, id="nothing"),
    pytest.param([scored(1)], 1, id="one"),
    pytest.param([scored(1), scored(0), scored(0)], 0.3333, id="the mean"),
    pytest.param([scored(1, weight=3), scored(0.5)], 0.875, id="weights"),
    pytest.param([scored(1, weight=0), scored(0.5)], 0.5, id="a weight of 0"),
    pytest.param([scored(1, weight=0)], 0, id="no weight at all"),
    pytest.param([scored(0.8, required=True), scored(1)], 0.9, id="a required one that is good enough"),
    pytest.param([scored(0.79, required=True), scored(1, weight=9)], 0, id="a required one that is not"),
    pytest.param([scored(0.6, required=0.6), scored(1)], 0.8, id="its own line"),
    pytest.param([scored(0.89, required=0.9), scored(1)], 0, id="its own line is missed"),
    pytest.param([scored(0.5, required=True, weight=0), scored(1)], 0, id="required without a weight"),
    pytest.param(
        [replace(scored(0), score=None, passed=True), replace(scored(0), score=None)], 0.5, id="without scores"
    ),
]


@pytest.mark.parametrize(("outcomes", "score"), SCORES)
def test_the_score_of_a_case(outcomes, score):
    assert round(case_score(tuple(outcomes), 0.8), 4) == score
    assert round(judged(*outcomes).score, 4) == score


def test_a_required_assertion_needs_the_case_s_threshold():
    assert judged(scored(0.5, required=True), scored(1), threshold=0.5).score == 0.75
    assert judged(scored(0.5, required=True), scored(1), threshold=0.6).score == 0


# --- the verdict ------------------------------------------------------------------------------------

UNKNOWN = scored(None)
VERDICTS = [
    pytest.param([scored(1), scored(0.6)], 0.8, "passed", id="at the threshold"),
    pytest.param([scored(1), scored(0.59)], 0.8, "failed", id="below it"),
    pytest.param([scored(0.2)], 0.2, "passed", id="an assertion that fails need not matter"),
    pytest.param([scored(0.9)], 0.95, "failed", id="one that passes need not be enough"),
    pytest.param([scored(0)], 0, "passed", id="nothing is needed"),
    pytest.param([], 0.8, "failed", id="nothing says that it passed"),
    pytest.param(
        [scored(1, weight=0.1), scored(1, weight=0.1), scored(0.4, weight=0.1)],
        0.8,
        "passed",
        id="sums of fractions are not exact, and that never decides",
    ),
    pytest.param([UNKNOWN], 0.8, "errored", id="cannot be judged"),
    pytest.param([scored(1, weight=99), UNKNOWN], 0.8, "errored", id="what could not be judged never passes"),
    pytest.param([scored(1), scored(None, weight=0)], 0.8, "errored", id="... whatever its weight"),
    pytest.param([scored(0.5), UNKNOWN], 0.8, "failed", id="the threshold is out of reach"),
    pytest.param([scored(0.6), UNKNOWN], 0.8, "errored", id="the threshold is within reach"),
    pytest.param([scored(0, required=True, weight=0), scored(1), UNKNOWN], 0.8, "failed", id="a required one fails"),
    pytest.param([scored(1), scored(None, required=True)], 0.8, "errored", id="a required one is undecided"),
]


@pytest.mark.parametrize(("outcomes", "threshold", "status"), VERDICTS)
def test_the_verdict(outcomes, threshold, status):
    judgement = judged(*outcomes, threshold=threshold)
    assert judgement.status == status
    assert (judgement.score is None) is (status == "errored")


def test_a_case_without_a_threshold_has_no_score():
    assert judged(scored(0.9), threshold=None).score is None
    assert judged(scored(0.9), scored(0.7), threshold=None).status == "failed"


def test_after_trouble_there_is_no_score():
    judgement = judged(scored(1), trouble=Trouble(kind="provider", message="no answer"))
    assert (judgement.status, judgement.score) == ("errored", None)
    judgement = judged(scored(1), trouble=Trouble(kind="timeout", message="no end"))
    assert (judgement.status, judgement.score) == ("failed", None)


@pytest.mark.parametrize(
    ("score", "status", "message"),
    [
        (0.5, "expected-failed", "rule: it scores 0.5"),
        (
            0.9,
            "unexpected-passed",
            "the score is 0.9, but the case expects a failure: the expectation is outdated, or the agent has improved",
        ),
    ],
)
def test_an_expected_failure(score, status, message):
    judgement = judged(scored(score), expected_fail=True)
    assert (judgement.status, judgement.score, judgement.failure.message) == (status, score, message)


# --- the reason -------------------------------------------------------------------------------------

REASONS = [
    pytest.param(
        [scored(1), scored(0, name="b"), scored(0.1, name="c")],
        "b: it scores 0",
        RULE,
        id="the first that fails",
    ),
    pytest.param(
        [scored(0.9), scored(0.85, name="b")],
        "b: it scores 0.85",
        RULE,
        id="the lowest, where all pass",
    ),
    pytest.param(
        [scored(0), scored(0.5, required=True, name="b")],
        "b is required to score 0.95 and scored 0.5: it scores 0.5",
        RULE,
        id="a required one",
    ),
    pytest.param(
        [scored(0.5, required=0.6, name="b")],
        "b is required to score 0.6 and scored 0.5: it scores 0.5",
        RULE,
        id="a required one with its own line",
    ),
    pytest.param([], "no assertion was evaluated", CASE, id="no assertion"),
    pytest.param(
        [UNKNOWN, scored(0, weight=9, name="b")],
        "b: it scores 0",
        RULE,
        id="not one that could not tell",
    ),
]


@pytest.mark.parametrize(("outcomes", "message", "location"), REASONS)
def test_a_failure_explains_the_low_score(outcomes, message, location):
    failure = judged(*outcomes, threshold=0.95).failure
    assert (failure.name, failure.message, failure.location) == ("AssertionError", message, location)


@pytest.mark.parametrize(("score", "text"), [(1, "1"), (1.0, "1"), (0, "0"), (0.5, "0.5"), (2 / 3, "0.6667")])
def test_a_score_has_four_digits_at_most(score, text):
    assert format_score(score) == text


# --- the reports ------------------------------------------------------------------------------------


def report_with(score, *outcomes):
    report = run_report("edit failed\nfix passed")
    edit, fix = report.results
    judgement = replace(edit.judgement, score=score, outcomes=outcomes)
    return replace(report, results=(replace(edit, judgement=judgement), fix))


def test_results_have_scores_with_four_digits_and_weights_other_than_one():
    report = report_with(2 / 3, scored(2 / 3, weight=2.5), scored(1.0), scored(None))
    text = "".join(results_file.render(report))
    edit, fix = json.loads(text)["suites"][0]["results"]
    assert edit["score"] == 0.6667
    assert [(one.get("score"), one.get("weight")) for one in edit["outcomes"]] == [
        (0.6667, 2.5),
        (1.0, None),
        (None, None),
    ]
    assert "score" not in fix
    stored = restored_text(text)
    assert stored.results[0].score == 0.6667
    assert [one.weight for one in stored.results[0].judgement.outcomes] == [2.5, 1, 1]
    assert "".join(results_file.render(replace(stored, decision=report.decision))) == text


def test_junit_has_the_score_as_a_property():
    tree = ET.fromstring("".join(junit.render(report_with(2 / 3))))
    edit, fix = ({one.get("name"): one.get("value") for one in case.iter("property")} for case in tree.iter("testcase"))
    assert edit["skillgym.score"] == "0.6667"
    assert "skillgym.score" not in fix
