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
        "✗ 1 result: file:out.txt exists: expected a file\n"
        "  fix on codex\n"
        "    src/\n"
        "    README.md\n"
        "  bench/core.json:30, artifacts: core/fix/codex\n"
        "  skillgym-action run bench/core.json --case fix --runner codex\n"
        "\n"
        "✗ 1 result: Unexpected pass: every assertion passed\n"
        "  old on claude\n"
        "  bench/core.json:40, artifacts: core/old/claude\n"
        "  skillgym-action run bench/core.json --case old --runner claude\n"
        "\n"
        "! 1 result: Timeout: no answer in 120 s\n"
        "  slow on claude\n"
        "    help: raise the case's timeout, or make the task smaller\n"
        "  bench/core.json:20, artifacts: core/slow/claude\n"
        "\n"
        "warning bench/core.json:1: nothing was changed\n"
        "\n"
        "  Passed            claude                    codex\n"
        "  old               ✗ 1/1, marked as failing  —\n"
        "  fix               —                         ✗ 0/1\n"
        "  slow              ? no result               —\n"
        "  off               - skipped                 —\n"
        "  edit              ✓ 1/1                     —\n"
        "  All               1/1                       0/1\n"
        "  Cost per attempt  $0.073                    $0.100\n"
        "  Time per attempt  1.0 s                     1.0 s\n"
        "\n"
        "✗ 1 of 5 results passes, 1 fails for 1 reason\n"
        "  1 passes although marked as failing, 1 has no result, 1 was skipped.\n"
        "  4 attempts, cost $0.32, 1 min\n"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("edit passed", "✓ edit passes\n  1 attempt, cost $0.01, 1 min\n", id="green"),
        pytest.param("edit passed $?", "✓ edit passes\n  1 attempt, cost unknown, 1 min\n", id="an unknown cost"),
        pytest.param(
            "a passed $1\nb passed $?", "✓ All 2 results pass\n  2 attempts, cost ≥ $1.00, 1 min\n", id="in part"
        ),
        pytest.param(
            "off skipped",
            "! Not tested: every case was skipped\n  This says nothing about the change.\n  0 attempts, 1 min\n",
            id="nothing ran, nothing spent",
        ),
        pytest.param(
            "", "! Not tested: nothing ran\n  This says nothing about the change.\n  0 attempts, 1 min\n", id="no cases"
        ),
    ],
)
def test_the_last_lines(text, line):
    assert list(render(run_report(text)))[-1] == line


def test_a_cancelled_run_says_so():
    assert list(render(run_report("edit passed", cancelled=True)))[-1].startswith("! Cancelled: edit passes\n")


def test_the_comparison_is_in_the_last_lines_and_the_table():
    base = run_report("a passed 5of5\nb passed 5of5\nc failed 0of5", version="0.0.9")
    head = run_report("a failed 0of5\nb failed 3of5\nc passed 5of5")
    lines = "".join(shown(replace(head, comparison=compare(base, head)))).split("\n\n")[-3:]
    assert [part.splitlines() for part in lines] == [
        ["note differs: skillgym-action: 0.0.9 then, 1.0.0 now"],
        [
            "  Passed            claude",
            "  a                 ✗ 5/5 → 0/5",
            "  c                 ✓ 0/5 → 5/5",
            "  b                 ~ 3/5, flaky",
            "  All               10/15 → 8/15",
            "  Cost per attempt  $0.002 → $0.002",
            "  Time per attempt  1.0 s → 1.0 s",
        ],
        [
            "✗ Worse than run of 2 Jan: 67% → 53% of attempts pass",
            "  1 of 3 results newly fails, for 1 reason. 1 is fixed, 1 is flaky.",
            "  15 attempts, cost $0.03, 1 min",
        ],
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
        "note in the arm without, 1 failed, 1 without a result of 3: "
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
