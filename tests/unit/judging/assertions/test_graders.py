"""Grades of several votes: the majority decides, the score is the median."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skillgym_action.judging.assertions.graders import by_majority, grade_of, negated, not_gradable, with_minimum
from skillgym_action.model.judge_question import JudgeInfo, majority, united_judges


def votes(*scores: float | None):
    """A grade per score, passed from 0.8; None: not gradable."""
    return tuple(not_gradable("no reply") if score is None else grade_of(score=score) for score in scores)


@pytest.mark.parametrize(
    ("scores", "passed", "score"),
    [
        pytest.param((0.9, 0.8, 1.0), True, 0.9, id="unanimous"),
        pytest.param((0.9, 0.1, 0.8), True, 0.8, id="two of three pass"),
        pytest.param((0.9, 0.1, 0.2), False, 0.2, id="two of three fail"),
        pytest.param((0.9, None, 0.8), True, pytest.approx(0.85), id="two pass and one is missing"),
        pytest.param((0.9, None, 0.1), None, None, id="one against one"),
        pytest.param((0.9, None, None), None, None, id="a single vote of three"),
        pytest.param((0.9, 0.9, 0.1, 0.1, None), None, None, id="two against two"),
        pytest.param((0.9, 0.9, 0.9, 0.1, None), True, 0.9, id="three of five"),
        pytest.param((None, None, None), None, None, id="none"),
    ],
)
def test_more_than_half_of_all_votes_decide(scores, passed, score):
    grade = by_majority(votes(*scores))
    assert (grade.passed, grade.score) == (passed, score)
    assert [vote.score for vote in grade.votes] == list(scores)


def test_a_disagreement_is_in_the_explanation_and_each_vote_in_the_evidence():
    grade = by_majority(votes(0.9, 0.1, None))
    assert grade.explanation == (
        "the votes of the judge have no majority: 1 of 3 votes passed, 1 failed, 1 without an answer"
    )
    assert grade.all_evidence.splitlines() == [
        "vote 1: passed with the score 0.9: 0 of 0 passed",
        "vote 2: failed with the score 0.1: 0 of 0 passed",
        "vote 3: no answer: no reply",
    ]
    assert by_majority(votes(0.9, 0.1, 0.8)).explanation.endswith("(2 of 3 votes passed)")


def test_where_there_is_no_answer_at_all_the_reason_is_that_of_the_first():
    assert by_majority(votes(None, None, None)).explanation == "no reply"


def test_a_minimum_and_a_negation_hold_for_each_vote():
    split = by_majority(votes(0.9, 0.6, None))
    assert split.passed is None
    assert (with_minimum(split, 0.5).passed, with_minimum(split, 0.95).passed) == (True, False)
    opposite = negated(by_majority(votes(0.9, 0.1, 0.8)))
    assert (opposite.passed, opposite.score) == (False, pytest.approx(0.2))


def test_the_judge_survives_a_change_of_votes():
    judge = JudgeInfo(api="openai", model="m", votes=3)
    grade = replace(by_majority(votes(0.9, 0.6, 0.9)), judge=judge)
    assert with_minimum(grade, 0.5).judge == negated(grade).judge == judge


@pytest.mark.parametrize(("number", "needed"), [(1, 1), (3, 2), (5, 3), (15, 8)])
def test_a_majority_is_more_than_half(number, needed):
    assert majority(number) == needed


def test_judges_are_united_with_all_versions():
    first, second = (JudgeInfo(api="openai", model="m", versions=(name,), votes=n) for name, n in (("b", 1), ("a", 3)))
    assert united_judges((None, first, second)) == JudgeInfo(api="openai", model="m", versions=("a", "b"), votes=3)
    assert united_judges((None,)) is None
