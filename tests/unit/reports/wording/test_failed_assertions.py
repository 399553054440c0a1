"""All assertions that do not hold are in every report, with numbers and evidence, within the report's limit."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from builders import run_report
from skillgym_action.model.errors import Location
from skillgym_action.model.judgement import Failure, Outcome
from skillgym_action.reports.files import ctrf, junit
from skillgym_action.reports.files.annotations import render as annotate
from skillgym_action.reports.markdown import report as markdown
from skillgym_action.reports.terminal import terminal
from skillgym_action.reports.wording.failed_assertions import explanation, failed_assertions, not_holding


def outcome(name, explanation="no match in a", evidence="+ 1 | x", *, passed=False, kind="file-matches", **fields):
    return Outcome(assertion=name, type=kind, passed=passed, explanation=explanation, evidence=evidence, **fields)


def report_with(*outcomes, status="failed", origin="assertion"):
    report = run_report(f"fix {status}")
    (result,) = report.results
    failure = Failure(name="AssertionError", message=outcomes[0].explanation)
    judgement = replace(result.judgement, outcomes=outcomes, failure=failure, origin=origin)
    return replace(report, results=(replace(result, judgement=judgement),))


def text_of(*outcomes, limit=3_000, evidence=True, **judgement):
    (result,) = report_with(*outcomes, **judgement).results
    return failed_assertions(result, limit, evidence=evidence).text()


def test_one_has_no_number():
    assert text_of(outcome("file:a matches /y/")) == "file:a matches /y/: no match in a\n+ 1 | x"


def test_evidence_that_the_explanation_quotes_is_not_said_again():
    said = outcome("It is short", "no: 300 words", "300\n words", kind="question")
    assert text_of(said) == "It is short: no: 300 words"
    assert text_of(replace(said, evidence="00 words")) == "It is short: no: 300 words\n00 words"


def test_several_are_numbered_and_their_evidence_is_indented():
    assert text_of(
        outcome("file:a matches /y/", evidence="changed by the agent:\n+ 1 | x"),
        outcome("test:make passes", "exited 2 after 0.3 s", "make: *** error", kind="command-passes"),
        outcome("file:b exists", "b exists", None, passed=True),
        outcome("rubric", "no judge is configured", None, passed=None),
    ) == (
        "1. file:a matches /y/: no match in a\n"
        "   changed by the agent:\n"
        "   + 1 | x\n"
        "2. test:make passes: exited 2 after 0.3 s\n"
        "   make: *** error\n"
        "3. rubric: could not be judged: no judge is configured"
    )


def test_checks_are_told_apart_by_their_place_and_keep_all_lines():
    at = Location(path="bench/x_suite.py", line=7)
    found = text_of(
        outcome("check", "expected a command\n  commands: none", None, kind="check", location=at),
        outcome("check", "assert x\n  x: 1", None, kind="check", location=replace(at, line=9)),
    )
    assert found == (
        "1. check (bench/x_suite.py:7): expected a command\n     commands: none\n"
        "2. check (bench/x_suite.py:9): assert x\n     x: 1"
    )


def test_a_reason_that_is_no_explanation_stands_first():
    scored = [outcome("contains-x", score=0.25), outcome("contains-y", "y", score=0.0)]
    (result,) = report_with(*scored).results
    judgement = replace(result.judgement, failure=replace(result.judgement.failure, message="the score is too low"))
    found = failed_assertions(replace(result, judgement=judgement), 3_000).text()
    assert found.startswith("the score is too low\n1. contains-x (score 0.25): no match in a\n")


def test_below_the_reason_nothing_of_it_is_said_again():
    def below(*outcomes, message):
        (result,) = report_with(*outcomes).results
        judgement = replace(result.judgement, failure=Failure(name="AssertionError", message=message))
        return failed_assertions(replace(result, judgement=judgement), 3_000).text_below_reason()

    one, other = outcome("a"), outcome("b", "y", None)
    assert below(one, message="no match in a") == "a\n+ 1 | x"
    assert below(one, message="the score is too low") == "a: no match in a\n+ 1 | x"
    assert below(one, other, message="no match in a") == "1. a: no match in a\n   + 1 | x\n2. b: y"
    assert below(outcome("c", passed=True), message="timed out") == ""


@pytest.mark.parametrize("message", ["no match in a", "the score is too low"])
def test_an_explanation_says_a_reason_once_and_where_it_is(message):
    (result,) = report_with(outcome("a"), outcome("b", "y")).results
    judgement = replace(result.judgement, failure=Failure(name="AssertionError", message=message))
    text = explanation(replace(result, judgement=judgement), 3_000)
    assert text.count(message) == 1
    assert "1. a: no match in a" in text
    assert text.endswith("\n\nat bench/core.json:10")


def test_only_what_exceeds_the_limit_is_counted():
    many = [outcome(f"file:f{number:02} exists", f"f{number:02} does not exist", "e" * 500) for number in range(40)]
    whole = text_of(*many, limit=100_000)
    assert whole.count("e" * 500) == 40
    assert "more" not in whole
    short = text_of(*many, limit=1_000)
    assert len(short) <= 1_000
    shown = short.count("does not exist")
    assert 10 < shown < 40
    assert short.endswith(f"\nand {40 - shown} more")


@pytest.mark.parametrize("limit", [300, 500, 1_000, 4_000])
@pytest.mark.parametrize("count", [1, 2, 7, 300])
@pytest.mark.parametrize("evidence", ["", "x", "x\n" * 500, "x" * 9_000, "\n" * 2_000])
def test_no_more_than_the_limit(limit, count, evidence):
    outcomes = [outcome(f"a{number}", f"e{number}", evidence) for number in range(count)]
    (result,) = report_with(*outcomes).results
    assert len(failed_assertions(result, limit).text()) <= limit
    assert len(explanation(result, limit)) <= limit + 40


def test_the_end_of_a_commands_output_is_kept_and_both_ends_of_other_evidence():
    output = "\n".join(f"line {number}" for number in range(1_000))
    command = text_of(outcome("test:make", "exited 1", output, kind="command-passes"), limit=400)
    assert "line 999" in command
    assert "line 0\n" not in command
    other = text_of(outcome("file:a", "no match", output), limit=400)
    assert "line 0\n" in other
    assert "line 999" in other


def test_without_evidence_explanations_stay():
    assert text_of(outcome("a"), outcome("b"), evidence=False) == "1. a: no match in a\n2. b: no match in a"


@pytest.mark.parametrize(
    ("status", "origin", "expected"),
    [
        pytest.param("failed", "assertion", ["a", "b"], id="failed"),
        pytest.param("failed", "limit", [], id="a limit is the reason"),
        pytest.param("expected-failed", "assertion", ["a", "b"], id="expected to fail"),
        pytest.param("errored", "infrastructure", [], id="evaluated for diagnosis"),
        pytest.param("errored", "grader", ["b"], id="a grader could not tell"),
        pytest.param("skipped", None, [], id="skipped"),
    ],
)
def test_which_assertions_are_the_reason(status, origin, expected):
    outcomes = [outcome("a"), outcome("b", passed=None), outcome("c", passed=True)]
    outcomes = [outcomes[1], outcomes[0]] if origin == "grader" else outcomes
    (result,) = report_with(*outcomes, status=status, origin=origin).results
    assert [each.assertion for each in not_holding(result)] == expected


SINKS = {
    "terminal": lambda report: "".join(terminal.render(report)),
    "annotations": lambda report: "".join(annotate(report)),
    "summary": lambda report: "".join(markdown.summary(report)),
    "comment": lambda report: "".join(markdown.comment(report)),
    "junit": lambda report: "".join(junit.render(report)),
    "ctrf": lambda report: "".join(ctrf.render(report)),
}


@pytest.mark.parametrize("sink", SINKS)
def test_every_report_shows_every_assertion_with_its_evidence(sink):
    report = report_with(
        outcome("file:first exists", "first does not exist", "nearest: frist"),
        outcome("test:second", "exited 3 after 0.1 s", "AssertionError: 1 != 2", kind="command-passes"),
        outcome("file:third matches /x/", "no match in third", "+ 7 | - [API] json"),
    )
    text = SINKS[sink](report)
    for part in ("exited 3 after 0.1 s", "nearest: frist", "AssertionError: 1 != 2", "7 | - [API] json"):
        assert part in text, part
    for number, name in enumerate(("file:first exists", "test:second", "file:third matches /x/"), start=1):
        assert f"{number}. {name}" in text


HOSTILE = (
    "\x1b[2J::error::owned\n::stop-commands::x\n##[error]\n```\n</details><script>alert(1)</script> @org %0A\u202e"
)


@pytest.mark.parametrize("sink", SINKS)
def test_hostile_evidence_stays_text(sink):
    text = SINKS[sink](report_with(outcome("a" + HOSTILE, "b" + HOSTILE, HOSTILE), outcome("c", HOSTILE, HOSTILE)))
    assert "\x1b" not in text
    assert "\u202e" not in text
    if sink == "terminal":
        assert not re.search(r"##\[|^\s*::", text, re.MULTILINE)
    if sink == "annotations":
        assert text.count("\n") == 1, "nothing of it is a command of its own"
    if sink in ("summary", "comment"):
        blocks = text.split("````")
        assert len(blocks) % 2 == 1, "the fence is longer than any in the evidence"
        outside = "".join(blocks[::2])
        assert "<script" not in outside
    if sink == "junit":
        assert "<script" not in text
