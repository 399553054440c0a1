from __future__ import annotations

from dataclasses import replace

import pytest

from builders import run_report
from skillgym_action.model.judgement import Outcome
from skillgym_action.reports.wording.results import cause, verdict
from skillgym_action.text.words import amount, counted, duration, money, percent


@pytest.mark.parametrize(
    ("usd", "complete", "shown"),
    [
        pytest.param(None, False, "unknown", id="unknown is not nothing"),
        pytest.param(None, True, "—", id="nothing ran"),
        pytest.param(0.0, True, "$0.00", id="an agent that says it cost nothing"),
        pytest.param(0.00001, True, "under $0.0001", id="hardly anything is not nothing"),
        pytest.param(0.0042, True, "$0.0042", id="below a cent"),
        pytest.param(1234.5, True, "$1,234.50", id="a lot"),
        pytest.param(1.5, False, "≥ $1.50", id="known in part"),
    ],
)
def test_money(usd, complete, shown):
    assert money(usd, complete=complete) == shown


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1.0 s"),
        (9_949, "9.9 s"),
        (9_950, "10 s"),
        (59_400, "59 s"),
        (59_600, "1 min"),
        (61_000, "1 min 1 s"),
        (3_599_700, "1 h"),
        (3_660_000, "1 h 1 min"),
        (90_000_000, "25 h"),
    ],
)
def test_duration(milliseconds, shown):
    assert duration(milliseconds) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (None, "unknown"),
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (12_440, "12.4k"),
        (999_949, "999.9k"),
        (999_950, "1.0M"),
        (3_100_000, "3.1M"),
    ],
)
def test_amount(number, shown):
    assert amount(number) == shown


@pytest.mark.parametrize(
    ("rate", "shown"), [(0, "0%"), (0.001, "1%"), (0.5, "50%"), (0.999, "99%"), (1, "100%")]
)  # fmt: skip
def test_percent_says_all_or_nothing_only_when_it_is(rate, shown):
    assert percent(rate) == shown


def test_counted():
    assert [counted(1, "case"), counted(2_000, "case"), counted(0, "retry", "retries")] == [
        "1 case",
        "2,000 cases",
        "0 retries",
    ]


def test_assertions_looked_at_after_trouble_are_not_its_cause():
    (result,) = run_report("slow errored timeout: no answer").results
    broken = Outcome(assertion="file:a exists", type="FileExists", passed=False, explanation="nothing there")
    found = cause(replace(result, judgement=replace(result.judgement, outcomes=(broken,))))
    assert (found.label, found.message, found.assertion) == ("Timeout", "no answer", None)


def test_an_assertion_that_could_not_tell_is_the_cause():
    (result,) = run_report("slow errored grader: not a number").results
    unsure = Outcome(assertion="rubric", type="Rubric", passed=None, explanation="not a number")
    assert cause(replace(result, judgement=replace(result.judgement, outcomes=(unsure,)))).assertion == "rubric"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a passed\nb expected-failed", "passed"),
        ("a passed\nb errored", "inconclusive"),
        ("a errored\nb failed", "failed"),
        ("a unexpected-passed", "failed"),
        ("a skipped", "inconclusive"),
        ("", "inconclusive"),
    ],
)
def test_before_the_gate_the_counts_are_the_verdict(text, word):
    assert verdict(run_report(text, decision=None)) == word
