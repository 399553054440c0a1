from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from hypothesis import given

from builders import run_report
from hostile import any_text
from runner_parsers import commands
from skillgym_action.model.arm import Arm
from skillgym_action.model.execution import Execution
from skillgym_action.model.result import Quarantine
from skillgym_action.model.suite import BenchmarkCase
from skillgym_action.reports.terminal.live import LiveTable
from skillgym_action.reports.terminal.terminal import finished_line, render
from skillgym_action.reports.wording.rates import BAD_DAY
from skillgym_action.results.statistics.comparison import compare

SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def shown(report, **options):
    return "".join(render(report, **options))


def test_the_end_of_a_run():
    report = run_report("""
        edit passed $0.20
        slow errored timeout: no answer in 120 s
        fix @codex failed $0.10: expected a file
        old unexpected-passed
        off skipped
        warning: nothing was changed
    """)
    assert shown(report) == (
        "✗ fix [codex] failed: Assertion failure\n"
        "    file:out.txt exists\n"
        "    expected a file\n"
        "    src/\n"
        "    README.md\n"
        "    bench/core.json:30, artifacts: core/fix/codex\n"
        "\n"
        "✗ old [claude] unexpected-passed: Unexpected pass\n"
        "    every assertion passed\n"
        "    bench/core.json:40, artifacts: core/old/claude\n"
        "\n"
        "! slow [claude] errored: Timeout\n"
        "    no answer in 120 s\n"
        "    help: raise the case's timeout, or make the task smaller\n"
        "    bench/core.json:20, artifacts: core/slow/claude\n"
        "\n"
        "warning bench/core.json:1: nothing was changed\n"
        "\n"
        "rate 50 % of sessions pass, 95 % interval [9, 91] for the same 2 cases again; "
        "fewer than 5 cases say nothing about other cases\n"
        "rate 1 case was not judged and counts in no pass rate\n"
        "rate 1 execution is expected to fail and counts in no pass rate\n"
        "\n"
        "slowest edit [claude] 1.0 s, slow [claude] 1.0 s, fix [codex] 1.0 s\n"
        "most expensive edit [claude] $0.20, fix [codex] $0.10, slow [claude] $0.01\n"
        "\n"
        "failed: 1 failed, 1 unexpected pass, 1 could not be judged, 1 passed, 1 skipped of 5, in 1 min, cost $0.32"
        " (2 of 5 executions are red)\n"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("edit passed", "passed: 1 passed of 1, in 1 min, cost $0.01\n", id="green"),
        pytest.param("edit passed $?", "passed: 1 passed of 1, in 1 min, cost unknown\n", id="an unknown cost"),
        pytest.param("a passed $1\nb passed $?", "passed: 2 passed of 2, in 1 min, cost ≥ $1.00\n", id="in part"),
        pytest.param(
            "off skipped", "passed: 1 skipped of 1, in 1 min\n", id="nothing ran, nothing spent"
        ),
        pytest.param(
            "", "inconclusive: nothing ran, in 1 min (0 of 0 executions could not be judged)\n", id="no cases"
        ),
    ],
)  # fmt: skip
def test_the_verdict_line(text, line):
    assert list(render(run_report(text)))[-1] == line


def test_a_cancelled_run_says_so():
    assert list(render(run_report("edit passed", cancelled=True)))[-1].startswith("cancelled, passed: ")


def test_flaky_executions_and_the_comparison_stand_before_the_verdict():
    base = run_report("a passed 5of5\nb passed 5of5\nc failed 0of5", version="0.0.9")
    head = run_report("a failed 0of5\nb failed 3of5\nc passed 5of5")
    lines = shown(replace(head, comparison=compare(base, head))).split("\n\n")[-2].splitlines()
    assert lines == [
        (
            "rate 53 % of sessions pass, 95 % interval [38, 68] for the same 3 cases again; "
            "fewer than 5 cases say nothing about other cases"
        ),
        "rate at least one of 5 sessions passes in 67 % of cases (pass@5), all 5 pass in 33 % (pass^5)",
        "flaky b [claude] 3 of 5 sessions passed, 95 % interval [23, 88]",
        "baseline differs: skillgym-action: 0.0.9 then, 1.0.0 now",
        f"baseline of 3 cases judged both in run-1 and now, 67 % of sessions passed then and 53 % now. {BAD_DAY}",
        "baseline newly failing: a [claude] 5 of 5 → 0 of 5",
        "baseline fixed: c [claude] 0 of 5 → 5 of 5",
        "baseline regression: 1 case passes less often than in the baseline, not by chance",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("edit passed $0.2 12s", " 3/40 ✓ edit [claude]  passed  12 s  $0.20", id="passed"),
        pytest.param("fix failed $?", " 3/40 ✗ fix [claude]  failed  1.0 s  unknown  Assertion failure", id="failed"),
        pytest.param("kind failed 0.5/0.8",
                     " 3/40 ✗ kind [claude]  failed  1.0 s  $0.01  score 0.5 of 0.8", id="a score"),
        pytest.param("slow errored timeout 3x 125s",
                     " 3/40 ! slow [claude]  errored  2 min 5 s  $0.01  Timeout  after 2 retries", id="errored"),
        pytest.param("off skipped", " 3/40 - off [claude]  skipped", id="skipped"),
    ],
)  # fmt: skip
def test_a_line_per_finished_execution(text, line):
    assert finished_line(run_report(text).results[0], 3, 40) == line


def test_colours_only_when_asked_for():
    report = run_report("edit passed\nfix failed\nslow errored\nwarning: odd")
    for result in report.results:
        assert "\x1b" not in finished_line(result, 1, 3)
        assert SEQUENCE.sub("", finished_line(result, 1, 3, color=True)) == finished_line(result, 1, 3)
    assert "\x1b" not in shown(report)
    assert "\x1b[31m" in shown(report, color=True)
    assert SEQUENCE.sub("", shown(report, color=True)) == shown(report)


@given(any_text, any_text)
def test_any_text_is_shown_and_never_obeyed(case_id, message):
    report = run_report("fix failed\nold unexpected-passed\nwarning: odd")
    results = []
    for result in report.results:
        failure = replace(result.judgement.failure, message=message)
        results.append(replace(result, case_id=case_id, judgement=replace(result.judgement, failure=failure)))
    text = shown(replace(report, results=tuple(results), warnings=(replace(report.warnings[0], message=message),)))
    assert commands(text) == []
    assert commands(finished_line(results[0], 1, 1)) == []
    assert "\x1b" not in text


# --- the live table ---------------------------------------------------------------------------------


class Screen(io.StringIO):
    """A terminal that remembers what was written."""

    def isatty(self):
        return True


def execution_of(result):
    case = BenchmarkCase(id=result.case_id, prompt="", location=result.location, assertions=())
    return Execution(
        index=result.index,
        suite=result.suite,
        case=case,
        runner=result.runner,
        directory="",
        timeout=60,
        budget=None,
        model=None,
    )


def test_the_live_table_shows_what_runs_and_what_it_costs(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    screen = Screen()
    first, second = run_report("edit passed $0.20\n[red]fix failed $?").results
    with LiveTable(2, color=False, stream=screen) as table:
        table.started(execution_of(first))
        table.finished(first)
        table.started(execution_of(second))
        table.refresh()
        running = screen.getvalue()
        table.finished(second)
        table.refresh()
    assert "[red]fix [claude] core" in SEQUENCE.sub("", running)
    assert "1 passed   cost $0.20" in running
    assert "1/2" in running
    assert "1 passed   1 failed   cost ≥ $0.20" in screen.getvalue()
    assert not re.search(r"\x1b\[[0-9;]*3[1-6]m", screen.getvalue())


def test_what_no_runner_ran_counts_too():
    (result,) = run_report("edit errored suite-invalid").results
    with LiveTable(1, stream=Screen()) as table:
        table.finished(replace(result, runner=None))
        assert table.done == 1


def test_artifacts_are_found_from_the_working_directory():
    report = run_report("fix failed: x")
    assert "artifacts: core/fix/claude\n" in shown(report)
    assert "artifacts: runs/one/core/fix/claude\n" in shown(report, run_directory="runs/one")


def test_three_executions_have_no_list_of_the_slowest():
    assert "slowest" not in shown(run_report("a passed 9s\nb passed 5s\nc passed 3s"))


def test_the_slowest_and_the_most_expensive_executions_are_listed_in_order():
    report = run_report("a passed 9s $?\nb passed 5s $0.50\nc passed 30s $0.10\nd passed 3s $2\ne skipped")
    assert "slowest c [claude] 30 s, a [claude] 9.0 s, b [claude] 5.0 s\n" in shown(report)
    assert "most expensive d [claude] $2.00, b [claude] $0.50, c [claude] $0.10\n" in shown(report)


# --- what cannot fail the run -------------------------------------------------------------------------

ARMS = (Arm(name="with", decides=True), Arm(name="without"))


def in_arm(result, name):
    """The result in an arm of its suite, which has ``ARMS``."""
    return replace(result, suite=replace(result.suite, arms=ARMS), arm=name)


def test_an_execution_that_is_only_compared_is_not_red():
    result = run_report("fix failed: expected a file").results[0]
    assert "\x1b[31m✗\x1b[0m" in finished_line(in_arm(result, "with"), 1, 2, color=True)
    line = finished_line(in_arm(result, "without"), 2, 2, color=True)
    assert "\x1b[2m✗\x1b[0m fix [claude] without  failed  only compared  " in line
    assert "\x1b[31m" not in line


def test_an_execution_in_quarantine_is_not_red():
    result = replace(
        run_report("fix failed: x").results[0], quarantine=Quarantine(reason="x", owner="o", expires="2030-01-01")
    )
    assert "\x1b[31m" not in finished_line(result, 1, 1, color=True)


def test_the_end_says_that_failures_of_other_arms_do_not_fail_the_run():
    passed, *others = run_report("a passed\nb failed: x\nc errored timeout: y\nd passed").results
    report = run_report("a passed", results=(passed,), other_arms=tuple(in_arm(one, "without") for one in others))
    assert (
        "note in the arm without, 1 failed, 1 could not be judged of 3: "
        "this arm is only compared with the deciding arm, so these executions do not fail the run\n"
    ) in shown(report)
    green = replace(report, other_arms=report.other_arms[-1:])
    assert "note in the arm" not in shown(green)


def test_the_live_table_counts_what_is_only_compared_apart():
    first, second = run_report("a passed $0.20\nb failed $0.10: x").results
    screen = Screen()
    with LiveTable(2, color=False, stream=screen) as table:
        table.finished(in_arm(first, "with"))
        table.finished(in_arm(second, "without"))
        table.refresh()
        assert table.done == 2
    assert "1 passed   1 only compared   cost $0.30" in SEQUENCE.sub("", screen.getvalue())
