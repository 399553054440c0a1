"""Two runs side by side on a terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from builders import run_report
from hostile import any_text
from runner_parsers import commands
from skillgym_action.model.report import Decision
from skillgym_action.reports.terminal.comparison import render
from skillgym_action.reports.wording.rates import BAD_DAY
from skillgym_action.results.statistics.comparison import compare

EIGHT = "abcdefgh"


def run(name: str, text: str):
    return replace(run_report(text), id=name, runners=(), decision=None, commit=f"{name}0123456789abcdef")


def shown(base, head, **options) -> str:
    return "".join(render(base, replace(head, comparison=compare(base, head)), **options))


def test_a_regression():
    base = run("then", "\n".join(f"{one} passed 2s $0.10" for one in EIGHT))
    head = run("now", "\n".join(f"{one} failed 1s $0.20" for one in EIGHT) + "\nnew passed $?")
    assert shown(base, head) == (
        "base then, commit then01234567: 8 executions, 8 sessions, started 2025-01-02T03:04:05Z\n"
        "head now, commit now012345678: 9 executions, 9 sessions, started 2025-01-02T03:04:05Z\n"
        "\n"
        "             pass rate                     cost             tokens      time\n"
        "all runners  100% [68, 100] → 11% [2, 43]  $0.80 → ≥ $1.60  960 → 1.1k  16 s → 9.0 s\n"
        "\n"
        "Of 8 cases with a result both in base and now, 100% of attempts passed then and 0% now. " + BAD_DAY + "\n"
        "\n"
        + "".join(
            f"changed, each by itself may be chance: {one} [claude] passed then, failed now (one session each)\n"
            for one in EIGHT
        )
        + "only in head: new [claude]\n"
        "\n"
        "✗ Worse than run then01: 100% → 0% of attempts pass\n"
        "  8 of 9 results fail here and passed before, for 1 reason.\n"
        "  1 passes.\n"
    )


def test_a_runner_has_a_row_of_its_own_if_there_are_several():
    text = "a passed\na @codex failed\nb passed\nb @codex passed"
    both = run_report(text)
    lines = shown(both, both).splitlines()
    assert [line.split("  ")[0] for line in lines[3:7]] == ["", "all runners", "claude", "codex"]
    assert lines[5].split()[1:4] == ["100%", "[34,", "100]†"]


def test_columns_without_a_number_are_left_out():
    base = run("then", "a passed $?")
    table = shown(base, base).splitlines()
    assert table[3].split() == ["pass", "rate", "tokens", "time"]


def test_the_last_piece_is_the_title():
    base = run("then", "\n".join(f"{one} passed" for one in EIGHT))
    head = run("now", "\n".join(f"{one} failed" for one in EIGHT))
    decision = Decision(verdict="failed", exit_code=1, reasons=("8 failed",))
    decided = replace(head, comparison=compare(base, head), decision=decision)
    *_, last = render(base, decided)
    assert last.startswith("✗ Worse than run then01: 100% → 0% of attempts pass\n")
    *_, ungated = render(base, replace(decided, decision=Decision(verdict="not-gated", exit_code=0)))
    assert ungated == last.replace("✗", "i")


def test_flaky_executions_of_both_sides_are_named():
    base = run("then", "a passed 3of5\nb passed")
    head = run("now", "a passed\nb failed 2of5")
    text = shown(base, head)
    assert "flaky in base: a [claude]\n" in text
    assert "flaky in head: b [claude]\n" in text


def test_long_lists_are_cut_and_counted():
    base = run("then", "a passed")
    head = run("now", "a passed\n" + "\n".join(f"new-{number} passed" for number in range(25)))
    lines = [line for line in shown(base, head).splitlines() if line.startswith("only in head")]
    assert (len(lines), lines[-1]) == (21, "only in head: 5 more")


@given(any_text)
def test_no_name_is_a_workflow_command(text):
    base = run_report("a passed\nb passed")
    head = replace(base, id=text, results=tuple(replace(one, case_id=f"{text}{one.index}") for one in base.results))
    assert commands(shown(replace(base, id=text, commit=text), head)) == []


def test_a_report_that_was_not_compared_is_refused():
    report = run_report("a passed")
    with pytest.raises(ValueError, match="not compared"):
        tuple(render(report, report))


def test_a_runner_of_one_of_the_runs_has_no_time_in_the_other():
    base, head = (replace(run_report(f"a passed 2s @{name}"), id=name, decision=None) for name in ("old", "new"))
    rows = {line.split()[0]: line.rsplit("  ", 1)[-1] for line in shown(base, head).splitlines() if " → " in line}
    assert (rows["old"], rows["new"]) == ("2.0 s → —", "— → 2.0 s")
