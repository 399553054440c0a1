"""The log of a GitHub job, read by the runner's own rules."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from builders import run_report
from hostile import any_text
from paths import GOLDENS
from runner_parsers import command, commands, read_lines
from showcase import showcase
from skillgym_action.model.judgement import Outcome
from skillgym_action.reports.terminal.job_log import (
    MAX_LOG_ASSERTIONS,
    MAX_LOG_CHARACTERS,
    MAX_LOG_LINE_CHARACTERS,
    MAX_UNFOLDED_REASONS,
    JobLog,
)
from skillgym_action.reports.terminal.terminal import render

REPORT = """
    edit passed $0.20
    fix failed: expected a file
    slow errored timeout 2x: no answer in 120 s
    old unexpected-passed
    off skipped
"""
ANSWER = "\n".join(f"line {number}" for number in range(1, 31))
OUTCOMES = (
    Outcome(assertion="file:out.txt exists", type="file", passed=True, explanation="out.txt is there"),
    Outcome(assertion="test:make", type="test", passed=False, explanation="exited 2", evidence="first\nno rule\n"),
    Outcome(assertion="file:b exists", type="file", passed=False, explanation="b does not exist"),
    Outcome(assertion="graded", type="judge", passed=None, explanation="no judge"),
)


def answered(report, text=ANSWER, outcomes=None):
    """The report, where every execution has that answer."""
    results = []
    for result in report.results:
        judgement = replace(result.judgement, outcomes=outcomes) if outcomes else result.judgement
        results.append(replace(result, final_output=text, judgement=judgement))
    return replace(report, results=tuple(results))


def whole_log(report, *, verbose=False):
    """All that a job's log has of a run."""
    log = JobLog(verbose=verbose)
    groups = [log.finished(result, done, len(report.results)) for done, result in enumerate(report.results, 1)]
    return "".join((*groups, "\n", *render(report, red=log.unfolded)))


@pytest.mark.parametrize("verbose", [False, True], ids=["plain", "verbose"])
def test_the_log_of_a_run_with_everything_in_it(verbose):
    name = "verbose" if verbose else "plain"
    text = (GOLDENS / f"log-{name}.txt").read_text(encoding="utf-8")
    assert whole_log(answered(showcase(), outcomes=None), verbose=verbose) == text


def test_a_group_has_the_assertions_the_end_of_the_answer_and_where_the_files_are():
    report = answered(run_report("fix failed"), outcomes=OUTCOMES)
    assert JobLog().finished(report.results[0], 1, 2).splitlines() == [
        "::group::1/2 ✗ fix [claude]  failed  1.0 s  $0.01  Assertion failure",
        "  ✓ file:out.txt exists",
        "  ✗ test:make: exited 2",
        "    first",
        "    no rule",
        "  ✗ file:b exists: b does not exist",
        "  ? graded: no judge",
        "  the end of the answer:",
        *(f"    line {number}" for number in range(21, 31)),
        "  artifacts: core/fix/claude",
        "::endgroup::",
    ]


def test_what_is_red_is_shown_at_the_end_in_no_group():
    report = answered(run_report(REPORT), outcomes=OUTCOMES)
    end = "".join(render(report, red=JobLog().unfolded))
    assert commands(end) == []
    first = end.split("\n\n")[0].splitlines()
    assert first[:2] == ["✗ 1 result: expected a file", "  fix on claude"]
    assert first[2:10] == [
        "    1. test:make",
        "       exited 2",
        "       first",
        "       no rule",
        "    2. file:b exists",
        "       b does not exist",
        "    3. graded",
        "       could not be judged: no judge",
    ]
    assert first[-2:] == [
        "  bench/core.json:20, artifacts: core/fix/claude",
        "  skillgym-action run bench/core.json --case fix --runner claude"
    ]  # fmt: skip
    assert "      line 30" in first
    assert "✓ edit" not in end


def test_the_cause_of_what_could_not_be_judged_and_its_sessions_are_in_its_group():
    (result,) = run_report("slow errored timeout 2x: no answer in 120 s").results
    lines = JobLog().finished(result, 1, 1).splitlines()
    assert "  no answer in 120 s" in lines
    assert [line.split(":")[0] for line in lines if "repetition" in line] == [
        "  repetition 1",
        "  repetition 1, retry 1",
    ]


def test_verbose_shows_more():
    report = answered(run_report("fix failed 2x"), outcomes=OUTCOMES)
    plain, verbose = JobLog(), JobLog(verbose=True)
    shown = verbose.finished(report.results[0], 1, 1)
    assert "  ✓ file:out.txt exists: out.txt is there\n" in shown
    assert "    line 1\n" in shown
    assert ", artifacts: core/fix/claude/repeat-1" in shown
    assert (plain.detail("x"), verbose.detail("::error::x\r::y::")) == ("", ": :error::x ::y::\n")


@pytest.mark.parametrize("verbose", [False, True])
@given(any_text, any_text)
def test_no_text_begins_a_command_or_ends_a_group(verbose, text, other):
    report = run_report("fix failed\nslow errored 2x\nold unexpected-passed\nedit passed")
    results = []
    for result in report.results:
        outcome = Outcome(assertion=text, type="file", passed=False, explanation=other, evidence=f"{text}\n{other}")
        attempts = tuple(replace(attempt, message=other, directory=text) for attempt in result.attempts)
        judgement = replace(result.judgement, outcomes=(outcome, *OUTCOMES), reason=other)
        changed = {"judgement": judgement, "final_output": f"{other}\n{text}", "attempts": attempts, "directory": text}
        results.append(replace(result, case_id=text, **changed))
    report = replace(report, results=tuple(results))
    log = JobLog(verbose=verbose)
    for result in results:
        lines = read_lines(log.finished(result, 1, 4))
        assert [found[0] for line in lines if (found := command(line))] == ["group", "endgroup"]
        assert commands("\n".join(lines)) == ["group"] * 2 + ["endgroup"] * 2  # read in two ways
        assert command(lines[0])
        assert command(lines[-2])
    assert commands("".join(log.unfolded(report))) == []
    assert commands(log.detail(f"{text} $ {other}")) == []


def test_a_name_cannot_make_two_lines_of_the_title():
    """The runner decodes what follows `group`."""
    (result,) = run_report("fix failed").results
    title = JobLog().finished(replace(result, case_id="a%0A##[endgroup]%25"), 1, 1).splitlines()[0]
    assert title.startswith("::group::1/1 ✗ a%250A## [endgroup]%2525 [claude]")


@pytest.mark.slow
def test_a_thousand_executions_with_long_texts_do_not_fill_the_log():
    long = "x" * 5_000
    outcomes = tuple(
        Outcome(assertion=f"file:{number}", type="file", passed=number < 30, explanation=long, evidence=long)
        for number in range(60)
    )
    report = answered(run_report("\n".join(f"case-{n} failed: m{n}x {long}" for n in range(1_000))), long, outcomes)
    text = whole_log(report)
    assert len(text) <= MAX_LOG_CHARACTERS + 1_000 * 300 + MAX_UNFOLDED_REASONS * 45_000
    assert text.count("note: the log is long enough") == 1
    for number in (0, 999):
        assert f"/1000 ✗ case-{number} [claude]" in text
    assert "950 more reasons without details here" in text
    assert max(map(len, text.splitlines())) <= MAX_LOG_LINE_CHARACTERS + 200
    first = text.split("::endgroup::")[0]
    assert first.count("  ✗ file:") == MAX_LOG_ASSERTIONS, "what does not hold comes first"
    assert "  and 40 more assertions\n" in first


def test_a_verbose_log_has_an_end_as_well():
    log = JobLog(verbose=True)
    text = "".join(log.detail("x" * 10_000) for _ in range(1_000))
    assert len(text) <= 8_000_100
    assert log.detail("y") == ""


def test_a_thousand_green_executions_have_all_their_groups():
    report = answered(run_report("\n".join(f"case-{n} passed" for n in range(1_000))))
    text = whole_log(report)
    assert text.count("::group::") == text.count("::endgroup::") == 1_000
