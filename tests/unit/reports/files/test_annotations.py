from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from builders import run_report
from hostile import any_text
from runner_parsers import command, read_lines
from skillgym_action.model.errors import Location, Problem
from skillgym_action.reports.files.annotations import render
from skillgym_action.results.statistics.comparison import compare

STALE = "remove the expectation from the case if this is to stay"


def at(line, title, message):
    return f"::error file=bench/core.json,line={line},title={title}::{message}"


def lines(report):
    return "".join(render(report)).removesuffix("\n").split("\n") if any(render(report)) else []


def test_what_is_red_becomes_an_error_at_its_place():
    report = run_report("""
        edit passed
        slow errored timeout: no answer
        old unexpected-passed
        fix @codex failed: expected a file
        flaky expected-failed
        off skipped
    """)
    assert lines(report) == [
        at("40", "1 result fails%3A fix on codex", "file:out.txt exists: expected a file%0Asrc/%0AREADME.md"),
        at("30", "1 result passes although marked as failing%3A old on claude", f"every assertion passed; {STALE}"),
        at("20", "1 result has no result%3A slow on claude", "no answer").replace("error", "warning", 1),
    ]


def test_a_reason_has_one_line_and_what_is_as_on_the_base_none():
    report = run_report(
        "\n".join(f"c{number} failed: after 0.{number} s" for number in range(1, 4)) + "\nold failed: x"
    )
    base = run_report("c1 passed\nold failed: x")
    found = lines(replace(report, comparison=compare(base, report)))
    assert [line.partition("::file")[0] for line in found] == [
        "::error file=bench/core.json,line=10,title=3 results fail here and passed before%3A c1 on claude%2C c2 on claude%2C c3 on claude"
    ]


def test_a_green_run_has_none():
    assert lines(run_report("edit passed\nflaky expected-failed")) == []


def test_warnings():
    problem = Problem(
        message="odd", location=Location(path="a,b.json", line=3, column=4), key_path="x", remedy="mend it"
    )
    assert lines(run_report("edit passed", warnings=(problem, Problem(message="100%")))) == [
        "::warning file=a%2Cb.json,line=3,col=4,title=skillgym-action::x: odd; mend it",
        "::warning title=skillgym-action::100%25",
    ]


@pytest.mark.parametrize("path", ["/etc/passwd", "../other/a.json", "a/../../b", ""])
def test_a_place_outside_the_repository_is_left_out(path):
    problem = Problem(message="odd", location=Location(path=path, line=3))
    assert lines(run_report("edit passed", warnings=(problem,))) == ["::warning title=skillgym-action::odd"]


@pytest.mark.parametrize("number", [1, 9, 10, 11, 12, 100, 1_234])
def test_there_are_ten_of_a_kind_at_most_and_one_counts_the_rest(number):
    report = run_report("\n".join(f"case-{index} failed: m{index}x\nwarning: odd" for index in range(number)))
    for kind in ("error", "warning"):
        found = [line for line in lines(report) if line.startswith(f"::{kind} ")]
        rest = [line for line in found if " more::" in line]
        assert len(found) == min(number, 10)
        assert len(rest) == (number > 10)
        assert not rest or rest[0].startswith(f"::{kind} title={number - 9:,} more::".replace(",", "%2C"))


@given(any_text, any_text)
def test_a_title_and_a_message_are_as_long_as_github_shows(case_id, message):
    report = run_report("fix failed")
    (result,) = report.results
    failure = replace(result.judgement.failure, message=message * 500)
    result = replace(result, case_id=case_id * 50, judgement=replace(result.judgement, failure=failure))
    (line,) = lines(replace(report, results=(result,)))
    _, properties, text = command(line)
    assert len(properties["title"]) <= 255
    assert len(text) <= 4_096


def test_ten_of_a_kind_are_all_shown():
    assert len(lines(run_report("\n".join(f"case-{number} failed: m{number}x" for number in range(10))))) == 10


def test_of_more_than_ten_the_last_says_how_many_more():
    report = run_report("\n".join(f"case-{number} failed: m{number}x\nwarning: odd" for number in range(11)))
    found = lines(report)
    assert [line.partition(" ")[0] for line in found] == ["::error"] * 10 + ["::warning"] * 10
    assert found[9] == ("::error title=2 more::2 more reasons: the job summary and the results file list all of them")
    assert found[19] == "::warning title=2 more::2 more warnings: the job summary and the results file list all of them"


def test_a_long_message_is_cut_in_the_middle():
    (line,) = lines(run_report(f"fix failed: {'x' * 10_000}y"))
    _, _, message = command(line)
    assert len(message) == 4_096
    assert message.endswith("xy")


def test_a_place_outside_the_suite_file_gives_way_to_the_case():
    report = run_report("fix failed: no")
    (result,) = report.results
    failure = replace(result.judgement.failure, location=Location(path="lib/checks.py", line=3))
    report = replace(report, results=(replace(result, judgement=replace(result.judgement, failure=failure)),))
    assert lines(report)[0].startswith("::error file=bench/core.json,line=10,")


@given(any_text, any_text)
def test_any_text_stays_inside_its_command(case_id, message):
    report = run_report("fix failed\nslow errored")
    results = []
    for result in report.results:
        failure = replace(result.judgement.failure, message=message)
        judgement = replace(result.judgement, failure=failure)
        results.append(replace(result, case_id=case_id, judgement=judgement, location=Location(path=case_id, line=1)))
    warning = Problem(message=message, location=Location(path=case_id))
    text = "".join(render(replace(report, results=tuple(results), warnings=(warning,))))
    assert [command(line)[0] for line in read_lines(text) if line] == ["error", "warning", "warning"]
    assert all(set(command(line)[1]) <= {"file", "line", "col", "title"} for line in read_lines(text) if line)
