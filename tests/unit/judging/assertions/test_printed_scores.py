"""Scores that programs print: what is read, and what is refused since it could mean another score, or none."""

from __future__ import annotations

import pytest

from skillgym_action.judging.assertions.printed_scores import UnusableScoreError, answer_in, score_of
from table_rows import each_row

READ = (
    ("an object", '{"score": 0.5}', {"score": 0.5}),
    ("an object of other keys", '{"level": "info"}', {"level": "info"}),
    ("a number", " 0.4\n", 0.4),
    ("a number of a calculator", ".25", 0.25),
    ("true", "true", 1.0),
    ("false in a fence", "```\nfalse\n```", 0.0),
    ("a fence", '```json\n{"score": 0}\n```', {"score": 0}),
    ("a fence around a number", "```\n0.5\n```", 0.5),
    ("a fence after words", 'The grade:\n```json\n{"score": 0}\n```\nThat is all.', {"score": 0}),
    ("a line after it", '{"score": 0}\nfinished in 0.1 s', {"score": 0}),
    ("lines before it", 'loading\n{"score": 0.25}', {"score": 0.25}),
    ("lines on both sides", 'a\n{\n  "score": 0.25\n}\nb', {"score": 0.25}),
    ("indented", 'a\n  {"score": 0.25}', {"score": 0.25}),
    ("logs in JSON around it", '{"level": 1}\n{"score": 0.25}\n{"level": 2}', {"score": 0.25}),
    ("many logs in JSON before it", '{"level": 1}\n' * 5_000 + '{"score": 0.25}', {"score": 0.25}),
    ("the same twice", '{"score": 0.25}\n{"score": 0.25}', {"score": 0.25}),
    ("lines of code before it", 'if (a) {\n{\n  b()\n}\n{"score": 0.25}', {"score": 0.25}),
    ("words", "all fine: 3 of 3 tests passed", None),
    ("words about a score", "the score is good", None),
    ("logs in JSON", '{"level": 1}\n{"level": 2}', None),
    ("a log with brackets", "[INFO] done", None),
    ("nothing", "", None),
)


@each_row((name, row) for name, *row in READ)
def test_an_answer_is_read_where_it_says_one_thing(row):
    printed, answer = row
    assert answer_in(printed) == answer


REFUSED = (
    ("two that differ", '{"score": 0}\n{"score": 1}', "several answers, which differ"),
    ("one that was begun before", '{"score": 0, "asser\n{"score": 1}', "several answers, which differ"),
    ("a key twice", '{"score": 0, "score": 1}', "'score' is there twice"),
    ("a key twice among lines", 'log\n{"score": 0, "score": 1}', "'score' is there twice"),
    ("cut off", '{"score": 1', "cut off, or not JSON"),
    ("cut off before its score", '{"assertions": [{"text": "a", "pas', "cut off, or not JSON"),
    ("quotes of Python", "{'score': 1}", "cut off, or not JSON"),
    ("an object as Node.js prints it", "{ score: 0.2 }", "a score that is not JSON: 'score: 0.2 }'"),
    ("more on its line", 'log\n{"score": 1} of {"score": 2}', "is followed by"),
    ("in a line", 'result: {"score": 0}', "a score that is not JSON"),
    ("words", "score: 7/10", "a score that is not JSON"),
    ("words in Markdown", "**Score**: 0.2", "a score that is not JSON"),
    ("a word instead of a number", "Score = NaN", "a score that is not JSON"),
    ("a number and a line after it", "0.4\nfinished in 0.1 s", "the line '0.4', which may be a score or not"),
    ("a number after a line", "loading\n0.85", "the line '0.85'"),
    ("percent", "50%", "the line '50%'"),
    ("a share", "12/100", "the line '12/100'"),
    ("a comma", "0,5", "the line '0,5'"),
    ("NaN", "NaN", "the output is nan"),
    ("no value of Python", "None", "the output is None, not a score"),
    ("no value of JavaScript", "undefined", "the output is undefined, not a score"),
    ("null", "null", "the output is null: neither"),
    ("text in quotes", '"0.5"', "the output is '0.5': neither"),
    ("a list", '[{"score": 1}]', "neither a score nor an object"),
    ("lines that begin objects", "{ a\n" * 200 + '{"score": 1}', "more than 100 lines begin an object"),
)


@each_row((name, row) for name, *row in REFUSED)
def test_what_could_be_another_score_is_refused(row):
    printed, why = row
    with pytest.raises(UnusableScoreError) as raised:
        answer_in(printed)
    assert why in str(raised.value)


def test_brackets_without_end_are_words():
    assert answer_in("[" * 100_000) is None


@each_row(
    [
        ("0", (0, 0.0)),
        ("1", (1, 1.0)),
        ("a sum that was rounded", (1.0000000000000002, 1.0)),
        ("a difference that was rounded", (-1e-17, 0.0)),
    ]
)
def test_a_score_is_a_number_from_0_to_1(row):
    value, score = row
    assert score_of(value) == score


@each_row(
    (repr(value)[:20], value)
    for value in (12, 1.01, -0.01, float("nan"), float("inf"), 10**400, "0.5", True, False, None, [0.5], {"score": 1})
)
def test_anything_else_is_no_score(value):
    with pytest.raises(UnusableScoreError, match="number from 0 to 1"):
        score_of(value)
