"""Points, marks and differences of results over time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from skillgym_action.history.trend import MAX_TREND_EXECUTIONS
from skillgym_action.model.comparison import Samples
from skillgym_action.model.trend import (
    Conditions,
    Trend,
    TrendHistory,
    TrendLine,
    TrendName,
    TrendRun,
    TrendSample,
    TrendSeries,
)
from skillgym_action.results.statistics.rates import wilson
from skillgym_action.results.statistics.trends import (
    MAX_TREND_LINE_POINTS,
    MAX_TREND_POINTS,
    MIN_TREND_LINE_POINTS,
    TREND_POINTS_PER_MARK,
    difference_interval,
    trend_of,
)
from trend_stores import FIRST

SONNET = Conditions(prompt="1" * 16, agent="claude-code", version="2.1", model="sonnet")


def series(
    sessions: str, *, case: str = "a", conditions: dict[int, Conditions] | None = None, **more: Any
) -> TrendSeries:
    """``pff - p``: the sessions of each run; a dash where there was none. ``conditions``: from that run on."""
    found, now = [], SONNET
    for run, text in enumerate(sessions.split()):
        now = (conditions or {}).get(run, now)
        if text != "-":
            usd = more.get("usd", 0.1)
            found.append(TrendSample(run, text.count("p"), len(text), usd, 1000 * (run + 1), now))
    name = TrendName("s.json", case, more.get("runner", "claude"))
    return TrendSeries(name=name, samples=tuple(found), expected_fail=more.get("expected_fail", False))


def trend(*of: TrendSeries, days: float = 1.0, runs: int = 0, digests: Any = None) -> Trend:
    """The trend of runs that are so many days apart."""
    number = runs or 1 + max(sample.run for one in of for sample in one.samples)
    every = tuple(TrendRun(at=FIRST + timedelta(days=days * at), commit=f"{at:040x}") for at in range(number))
    return trend_of(TrendHistory(store="the store", runs=every, series=of, digests=digests or {}))


def points(line: TrendLine) -> list[tuple[int, int, str]]:
    """First and last run, and how many attempts passed."""
    return [(point.first, point.last, str(point.samples)) for point in line.points]


# --- points -------------------------------------------------------------------------------------------


def test_each_run_is_a_point_and_what_was_not_run_is_none():
    (execution,) = trend(series("ppp - pff p")).executions
    assert points(execution.line) == [(0, 0, "3 of 3"), (2, 2, "1 of 3"), (3, 3, "1 of 1")]


@pytest.mark.parametrize(
    ("sessions", "low", "high"), [("ppp", 0.4385, 1.0), ("fff", 0.0, 0.5615), ("ppf", 0.2077, 0.9385)]
)
def test_the_interval_of_a_few_sessions_is_wilsons_and_never_a_point(sessions, low, high):
    (point,) = trend(series(sessions)).executions[0].line.points
    assert point.interval == pytest.approx((low, high), abs=1e-4)


def test_several_cases_have_the_mean_of_their_rates_and_the_interval_of_the_same_cases():
    (group,) = trend(series("pppp"), series("ppff", case="b")).suites
    (point,) = group.line.points
    assert (point.cases, point.rate, str(point.samples)) == (2, 0.75, "6 of 8")
    assert point.interval
    assert point.interval[0] < 0.75 < point.interval[1]


def test_a_case_on_several_runners_is_one_case_of_all():
    found = trend(series("pp"), series("ff", runner="codex"))
    assert found.total.points[0].cases == 1
    assert found.total.points[0].interval == pytest.approx(wilson(0.5, 4))
    assert [group.runner for group in found.runners] == ["claude", "codex"]


def test_a_case_that_is_expected_to_fail_has_a_rate_of_its_own_and_counts_in_no_other():
    found = trend(series("pp"), series("ff", case="b", expected_fail=True))
    assert found.suites[0].line.points[0].rate == 1.0
    assert [one.line.points[0].rate for one in found.executions] == [1.0, 0.0]
    alone = trend(series("ff", expected_fail=True), series("ff", case="b", expected_fail=True))
    assert alone.suites[0].line.points[0].rate is None


def test_costs_are_means_of_sessions_and_an_unknown_one_is_not_zero():
    found = trend(series("pp", usd=0.3), series("p", case="b", usd=None))
    (point,) = found.total.points
    assert (point.usd, point.usd_total, point.cost_complete) == (pytest.approx(0.3), pytest.approx(0.6), False)
    assert trend(series("p", usd=None)).total.points[0].usd is None


@pytest.mark.parametrize(
    ("runs", "days", "period"),
    [
        pytest.param(MAX_TREND_LINE_POINTS, 1.0, 0, id="as many runs as have room"),
        pytest.param(200, 0.1, 1, id="several runs a day"),
        pytest.param(MAX_TREND_LINE_POINTS + 1, 1.0, 7, id="too many days"),
        pytest.param(900, 1.0, 28, id="years"),
    ],
)
def test_many_runs_are_pooled_by_day_week_or_longer(runs, days, period):
    found = trend(series(" ".join(["pf"] * runs)), days=days)
    line = found.executions[0].line
    assert found.period == period
    assert len(line.points) <= MAX_TREND_LINE_POINTS
    assert sum(point.samples.judged for point in line.points) == 2 * runs, "none is lost"
    assert sum(point.runs for point in line.points) == runs


def test_the_more_executions_there_are_the_fewer_points_each_has():
    runs = MAX_TREND_LINE_POINTS
    found = trend(*(series(" ".join(["p"] * runs), case=f"{number:04}") for number in range(MAX_TREND_EXECUTIONS)))
    assert max(len(one.line.points) for one in found.executions) <= MAX_TREND_POINTS // MAX_TREND_EXECUTIONS
    assert MAX_TREND_POINTS // MAX_TREND_EXECUTIONS >= MIN_TREND_LINE_POINTS


# --- marks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        pytest.param({"model": "opus"}, "model", id="model"),
        pytest.param({"version": "2.2"}, "CLI version", id="CLI"),
        pytest.param({"agent": "codex"}, "agent", id="agent"),
        pytest.param({"judge": "gpt"}, None, id="a judge where none was known"),
        pytest.param({"model": None}, None, id="a model that is not known any more"),
        pytest.param({"prompt": "2" * 16}, "prompt", id="prompt"),
    ],
)
def test_a_change_of_what_is_known_is_a_mark_from_then_on(changed, what):
    (execution,) = trend(series("p p p p", conditions={2: SONNET._replace(**changed)})).executions
    marks = [(mark.run, [change.what for change in mark.changes]) for mark in execution.line.marks]
    assert marks == ([(2, [what])] if what else [])


def test_a_mark_says_what_changed_from_what_to_what_also_after_runs_that_did_not_know():
    steps = {
        1: SONNET._replace(model=None),
        2: SONNET._replace(model="opus", judge="gpt"),
        3: SONNET._replace(judge="o5"),
    }
    (execution,) = trend(series("p p p p", conditions=steps)).executions
    found = [(mark.run, *change[:3]) for mark in execution.line.marks for change in mark.changes]
    assert found == [(2, "model", "sonnet", "opus"), (3, "model", "opus", "sonnet"), (3, "judge", "gpt", "o5")]


def test_results_from_before_and_after_a_change_are_never_pooled():
    runs = 70  # the change is on a Thursday
    found = trend(series(" ".join(["p"] * 38 + ["f"] * 32), conditions={38: SONNET._replace(model="opus")}))
    line = found.executions[0].line
    assert found.period == 7
    assert {point.rate for point in line.points} == {0.0, 1.0}
    assert (line.since_mark.first, line.since_mark.last, str(line.since_mark.samples)) == (38, runs - 1, "0 of 32")


def test_the_marks_of_several_cases_are_counted_and_said_once():
    later = SONNET._replace(model="opus", prompt="2" * 16)
    cases = [series("p p p", case=case, conditions={1: later}) for case in "ab"]
    seldom = series("p - p", case="c", conditions={2: SONNET._replace(model="opus")})
    (group,) = trend(*cases, seldom, digests={"s.json": {0: "a" * 64, 1: "b" * 64, 2: "b" * 64}}).suites
    assert [(mark.run, [tuple(change) for change in mark.changes]) for mark in group.line.marks] == [
        (1, [("suite file", "a" * 64, "b" * 64, 1), ("model", "sonnet", "opus", 2), ("prompt", None, None, 2)])
    ]


def test_the_newest_marks_are_kept():
    steps = {run: SONNET._replace(version=str(run)) for run in range(30)}
    line = trend(series(" ".join(["p"] * 30), conditions=steps)).executions[0].line
    most = MAX_TREND_LINE_POINTS // TREND_POINTS_PER_MARK
    assert (len(line.marks), line.marks_left_out, line.marks[-1].run) == (most, 29 - most, 29)


# --- differences --------------------------------------------------------------------------------------


def test_the_largest_differences_of_the_halves_come_first_and_equal_rates_are_none():
    found = trend(series("pp pp ff ff"), series("pf pf pp pf", case="b"), series("pp pp pp pp", case="c"))
    assert found.middle == 2
    assert [(one.name.case, str(one.earlier), str(one.later)) for one in found.differences] == [
        ("a", "4 of 4", "0 of 4"),
        ("b", "2 of 4", "3 of 4"),
    ]
    assert found.differences[0].difference == -1.0


def test_an_execution_that_is_only_in_one_half_differs_from_nothing():
    assert trend(series("pp pp"), series("- - ff ff", case="b"), runs=4).differences == ()


def test_what_changed_meanwhile_is_named():
    (found,) = trend(series("p p f f", conditions={2: SONNET._replace(model="opus")})).differences
    assert found.changed == ("model",)


def test_the_interval_of_a_difference_is_newcombes():
    low, high = difference_interval(Samples(passed=48, judged=80), Samples(passed=56, judged=70))
    # Newcombe (1998), table II (a), method 10: 56/70 - 48/80 is 0.2 [0.0524, 0.3339]
    assert (low, high) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    low, high = difference_interval(Samples(passed=0, judged=10), Samples(passed=10, judged=10))
    assert (low, high) == pytest.approx((0.6075, 1.0), abs=5e-5), "(e): 10/10 - 0/10, method 10"
