"""Answers of the judge: only what fits the schema as it is written is an answer."""

from __future__ import annotations

from typing import Any

import pytest

from skillgym_action.judging.judge.client import AnswerFormatError, parsed_answer
from skillgym_action.model.judge_question import Question
from skillgym_action.suites.agentv.judge_graders import ChecklistAnswer, PointsAnswer, ScoreAnswer, complete_form
from skillgym_action.suites.plugin_evals.graders import CriteriaVerdict
from table_rows import each_row

POINTS: Any = complete_form(PointsAnswer, ("a",))
CHECKLIST: Any = complete_form(ChecklistAnswer, ("a",))


def answer(form, text):
    return parsed_answer(Question(instructions="", prompt=("x",), form=form), text)


@each_row(
    [
        ("a score", (ScoreAnswer, '{"score": 0.5}', 0.5)),
        ("a whole number", (ScoreAnswer, '{"score": 1}', 1.0)),
        ("in a fence", (ScoreAnswer, '```json\n{"score": 0.5}\n```', 0.5)),
    ]
)
def test_a_score_is_a_number_from_0_to_1(row):
    form, text, score = row
    assert answer(form, text).score == score


def test_points_may_be_written_with_a_decimal_point():
    assert answer(POINTS, '{"checks": [{"id": "a", "score": 7.0}]}').checks[0].score == 7


@each_row(
    [
        ("a score in quotes", (ScoreAnswer, '{"score": "0.9"}', "score: Input should be a valid number")),
        ("a score that is true", (ScoreAnswer, '{"score": true}', "score: Input should be a valid number")),
        ("NaN", (ScoreAnswer, '{"score": NaN}', "score: Input should be less than or equal to 1")),
        ("a scale to 10", (ScoreAnswer, '{"score": 7}', "score: Input should be less than or equal to 1")),
        ("a score twice", (ScoreAnswer, '{"score": 0.1, "score": 1}', "'score' is there twice")),
        ("two answers", (ScoreAnswer, '{"score": 0.1}\n{"score": 1}', "Invalid JSON: trailing characters")),
        ("cut off", (ScoreAnswer, '{"score": 1', "Invalid JSON: EOF while parsing")),
        ("points in quotes", (POINTS, '{"checks": [{"id": "a", "score": "7"}]}', "checks.0.score: Input should be")),
        ("half points", (POINTS, '{"checks": [{"id": "a", "score": 7.5}]}', "checks.0.score: Input should be")),
        ("yes", (CHECKLIST, '{"checks": [{"id": "a", "satisfied": "yes"}]}', "checks.0.satisfied: Input should be")),
        ("1", (CHECKLIST, '{"checks": [{"id": "a", "satisfied": 1}]}', "checks.0.satisfied: Input should be")),
        (
            "a rubric twice",
            (
                CHECKLIST,
                '{"checks": [{"id": "a", "satisfied": true}, {"id": "a", "satisfied": false}]}',
                "there are several checks with the id a",
            ),
        ),
        ("a verdict twice", (CriteriaVerdict, '{"verdict": "FAIL", "verdict": "PASS"}', "'verdict' is there twice")),
        ("half a verdict", (CriteriaVerdict, '{"verdict": "pass"}', "verdict: Input should be 'PASS' or 'FAIL'")),
    ]
)
def test_anything_else_is_refused(row):
    form, text, why = row
    with pytest.raises(AnswerFormatError) as raised:
        answer(form, text)
    assert why in str(raised.value)
