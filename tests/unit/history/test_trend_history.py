"""What a store has over time."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from skillgym_action.history import StoreError
from skillgym_action.history.trend import MAX_TREND_EXECUTIONS, TrendQuery, read_trend
from stored_runs import NOON, GivenLines, line_of, run_of
from trend_stores import FIRST, StoredRun

if TYPE_CHECKING:
    from skillgym_action.model.trend import TrendHistory

QUERY = TrendQuery(now=NOON)


def sampled(history: TrendHistory) -> dict[str, list[tuple[int, int, int]]]:
    """Case -> position of the run, passed, judged."""
    return {
        series.name.case: [(one.run, one.passed, one.judged) for one in series.samples] for series in history.series
    }


def test_runs_are_in_the_order_of_time_whatever_the_order_of_lines_is():
    early, late = (line_of(run_of("a passed\nb failed"), hours=hours) for hours in (9, 2))
    history = read_trend(GivenLines(early, late), QUERY)
    assert [run.at for run in history.runs] == [NOON - timedelta(hours=9), NOON - timedelta(hours=2)]
    assert sampled(history) == {"a": [(0, 1, 1), (1, 1, 1)], "b": [(0, 0, 1), (1, 0, 1)]}


def test_the_jobs_of_a_workflow_run_are_one_run():
    first, second = (line_of(run_of(f"{case} passed"), hours=h, group="7/bench") for case, h in (("a", 3), ("b", 2)))
    history = read_trend(GivenLines(second, first), QUERY)
    assert [run.at for run in history.runs] == [NOON - timedelta(hours=3)]
    assert sampled(history) == {"a": [(0, 1, 1)], "b": [(0, 1, 1)]}


def test_only_runs_of_one_branch_count_and_the_others_are_counted():
    of_main = [line_of(run_of("a passed"), hours=hours) for hours in (2, 4)]
    of_topic = line_of(run_of("a failed"), hours=3, branch="topic")
    history = read_trend(GivenLines(of_main[0], of_topic, of_main[1]), QUERY)
    assert (history.branch, len(history.runs), history.other_branches) == ("main", 2, 1)
    named = read_trend(GivenLines(of_main[0], of_topic, of_main[1]), replace(QUERY, branch="topic"))
    assert (named.branch, sampled(named), named.other_branches) == ("topic", {"a": [(0, 0, 1)]}, 2)


def test_older_runs_than_were_asked_for_are_left_out():
    lines = [line_of(run_of("a passed"), hours=hours) for hours in (1, 30, 80)]
    assert len(read_trend(GivenLines(*lines), replace(QUERY, since=NOON - timedelta(hours=48))).runs) == 2


@pytest.mark.parametrize(
    ("query", "left"),
    [
        pytest.param({"cases": ("a*",)}, {"apple", "avocado"}, id="cases"),
        pytest.param({"cases": ("a*", "pear")}, {"apple", "avocado", "pear"}, id="several patterns"),
        pytest.param({"suites": ("bench",)}, {"apple", "avocado"}, id="a folder of suites"),
        pytest.param({"suites": ("!bench/**",)}, {"pear"}, id="all suites but one"),
        pytest.param({"runners": ("cod*",)}, {"avocado"}, id="runners"),
    ],
)
def test_executions_are_selected(query, left):
    run = StoredRun(
        number=1,
        at=FIRST,
        suites={"bench/fruit.json": "1", "evals/evals.json": "1"},
        runners=("claude", "codex"),
        agents=("claude-code", "codex"),
    )
    run.add("bench/fruit.json", "apple", "p")
    run.add("bench/fruit.json", "avocado", "p", runner="codex")
    run.add("evals/evals.json", "pear", "p")
    found = read_trend(GivenLines(run.line), TrendQuery(now=FIRST, **query))
    assert {series.name.case for series in found.series} == left


def test_a_run_without_an_execution_that_was_asked_for_is_none():
    with_it, without = line_of(run_of("a passed"), hours=1), line_of(run_of("b passed"), hours=2)
    assert len(read_trend(GivenLines(with_it, without), replace(QUERY, cases=("a",))).runs) == 1


def test_executions_of_older_runs_are_left_out_when_there_are_too_many():
    many = StoredRun(number=2, at=FIRST + timedelta(days=1), suites={"s.json": "1"})
    for number in range(MAX_TREND_EXECUTIONS):
        many.add("s.json", f"case {number}", "p")
    old = StoredRun(number=1, at=FIRST, suites={"s.json": "1"})
    old.add("s.json", "old", "p")
    history = read_trend(GivenLines(many.line, old.line), TrendQuery(now=FIRST + timedelta(days=2)))
    assert (len(history.series), history.executions_left_out, len(history.runs)) == (MAX_TREND_EXECUTIONS, 1, 1)


def test_a_line_that_no_run_wrote_is_refused_with_its_place():
    with pytest.raises(StoreError, match=r"the store: runs:2: entries.0.sessions: "):
        read_trend(
            GivenLines(
                line_of(run_of("a passed"), hours=1), line_of(run_of("a passed"), hours=2).replace(b'"p"', b'"x"')
            ),
            QUERY,
        )
