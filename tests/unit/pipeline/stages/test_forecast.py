"""What a plan will cost and how long it will take, from stored runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from builders import runner_named, suite_at
from skillgym_action.history import StoreError
from skillgym_action.history.pooling import baseline_keys_of
from skillgym_action.history.reading import read_history
from skillgym_action.model.arm import Arm
from skillgym_action.model.errors import Location, UsageError
from skillgym_action.model.execution import Execution, Plan
from skillgym_action.model.suite import BenchmarkCase, TrialRule
from skillgym_action.pipeline.stages.forecast import forecast, refuse_beyond_budget
from skillgym_action.reports.wording.plan import forecast_lines
from skillgym_action.settings.settings import ExecuteOptions
from stored_runs import POINT, GivenLines, inputs_of, line_of, run_of

if TYPE_CHECKING:
    from skillgym_action.model.forecast import Forecast


def case(id_: str, **changes: Any) -> BenchmarkCase:
    return BenchmarkCase(id=id_, prompt="p", location=Location(path="bench/core.json"), assertions=(), **changes)


def forecast_of(
    text: str,
    *stored: str | bytes,
    options: ExecuteOptions | None = None,
    cases: dict[str, dict[str, Any]] | None = None,
    suite_fields: dict[str, Any] | None = None,
    arms: tuple[Arm | None, ...] = (None,),
    **changed: str,
) -> Forecast:
    """The forecast of a run of the executions in ``text``, after the ``stored`` runs, the newest first.

    ``cases``: fields of cases by id; ``suite_fields``: of the suite. ``changed``: another prompt by id of the case.
    """
    options = options or ExecuteOptions()
    head = run_of(text)
    fields = cases or {}
    inputs = {id_: inputs_of(id_, prompt=prompt) for id_, prompt in changed.items()}
    head = replace(
        head, results=tuple(replace(one, inputs=inputs.get(one.case_id, one.inputs)) for one in head.results)
    )
    lines = [one if isinstance(one, bytes) else line_of(run_of(one), hours=n) for n, one in enumerate(stored, 1)]
    ids = dict.fromkeys(one.case_id for one in head.results)
    suite = replace(suite_at(), cases=tuple(case(id_, **fields.get(id_, {})) for id_ in ids), **(suite_fields or {}))
    of_id = {one.id: one for one in suite.cases}
    pairs = [(result, arm) for result in head.results for arm in arms]
    executions = tuple(
        Execution(
            index=index,
            suite=suite,
            case=of_id[result.case_id],
            runner=runner_named(result.runner.id),
            directory=f"s/{index}",
            timeout=60,
            budget=None,
            model=None,
            arm=arm,
        )
        for index, (result, arm) in enumerate(pairs)
    )
    plan = Plan(suites=(suite,), runners=(), executions=executions, unrunnable=())
    planned = [(execution, options.repeat) for execution in executions]
    wanted = dict(enumerate(one for one in baseline_keys_of(head) for _ in arms))
    return forecast(plan, planned, ("the store", read_history(GivenLines(*lines), POINT), wanted), options)


def refused(found: Forecast, **options: Any) -> str:
    with pytest.raises(UsageError) as error:
        refuse_beyond_budget(found, ExecuteOptions(**options))
    return str(error.value)


AB = "a passed\nb passed"
THREE = (
    "a passed $0.10 10s\nb passed $0.20 20s",
    "a passed $0.12 12s\nb passed $0.24 24s",
    "a passed $0.14 14s\nb passed $0.28 28s",
)


def test_the_expected_cost_is_the_mean_of_runs_times_the_sessions():
    found = forecast_of(AB, *THREE, options=ExecuteOptions(repeat=2))
    assert found.usd.total == pytest.approx(2 * 0.12 + 2 * 0.24)
    assert found.usd.interval
    assert found.usd.interval.runs == 3
    assert found.ms.total == 2 * (12_000 + 24_000)
    cost, time = forecast_lines(found)
    assert cost == "cost: about $0.72 (95%: $0.31 to $1.65, from 3 stored runs)"
    assert time == "time of the agents: about 1 min 12 s with 1 job (95%: 31 s to 2 min 45 s, from 3 stored runs)"


def test_jobs_take_one_execution_after_another_and_no_order_is_faster_than_the_bound():
    stored = "a passed 10s\nb passed 20s\nc passed 30s"
    found = forecast_of("a passed\nb passed\nc passed", stored, options=ExecuteOptions(jobs=2, schedule="parallel"))
    assert (found.ms.total, found.least_ms) == (40_000, 30_000)
    assert list(forecast_lines(found))[1] == (
        "time of the agents: about 40 s with 2 jobs (too few stored runs for an interval); "
        "no order of the sessions takes less than 30 s"
    )


def test_executions_of_a_runner_follow_each_other_where_runners_are_isolated():
    stored = "a passed @claude 10s\nb passed @claude 20s\na passed @codex 5s\nb passed @codex 5s"
    options = ExecuteOptions(jobs=4, schedule="isolated-by-runner")
    assert forecast_of(stored, stored, options=options).ms.total == 30_000


def test_what_is_not_stored_is_counted_and_never_zero():
    found = forecast_of("a passed\nb passed\nc passed", THREE[0])
    assert [one.title for one in found.usd.unknown] == ["c [claude]"]
    few = "(too few stored runs for an interval); 1 of 3 executions has no stored"
    assert list(forecast_lines(found)) == [
        f"cost: at least about $0.30 {few} cost: c [claude]",
        f"time of the agents: at least about 30 s with 1 job {few} duration: c [claude]",
    ]
    assert list(forecast_lines(forecast_of("x passed", *THREE))) == [
        "cost and time: unknown, since the store has no results of these cases"
    ]


def test_an_agent_that_reports_no_cost_has_a_time_and_no_cost():
    found = forecast_of(AB, *("a passed $? 10s\nb passed $? 20s" for _ in range(3)))
    cost, time = forecast_lines(found)
    assert cost == (
        "cost: unknown, since no stored session has a cost: its agent reports none, and no price is configured"
    )
    assert time.startswith("time of the agents: about 30 s")
    assert refuse_beyond_budget(found, ExecuteOptions(max_cost=0.01)) == (
        "stored sessions on claude have no cost: with max-cost the run ends after the first session whose cost is "
        "unknown; set prices in the configuration, or remove max-cost"
    )


def test_runs_of_another_prompt_are_used_where_there_are_no_others_and_named():
    found = forecast_of(AB, *THREE, a="f" * 16)
    assert found.usd.total == pytest.approx(0.36)
    assert [one.title for one in found.with_other_keys] == ["a [claude]"]
    assert list(forecast_lines(found))[2] == (
        "1 execution was stored with another prompt, assertion, workspace, agent, model, version or arm, and may cost "
        "something else now: a [claude]"
    )
    assert found.least_usd == pytest.approx(0.15445 * 2 / 3, abs=0.00001), "it may cost less: nothing is refused for it"


def test_runs_with_the_same_key_come_before_newer_ones_with_another():
    def other(text: str) -> bytes:
        run = run_of(text)
        return line_of(replace(run, results=tuple(replace(one, model="other") for one in run.results)), hours=0.5)

    found = forecast_of("a passed", other("a passed $9"), "a passed $0.10", "a passed $0.30")
    assert found.usd.total == pytest.approx(0.2)
    assert found.with_other_keys == ()


def test_retries_after_failures_cost_as_often_as_sessions_failed():
    stored = ["a failed 2of4 $4.00"] * 3  # 4 sessions of a dollar
    options = ExecuteOptions(retry=2)
    found = forecast_of("a passed", *stored, options=options)
    assert found.usd.total == pytest.approx(1 + 0.5 + 0.25)
    assert forecast_of("a passed", *stored).usd.total == pytest.approx(1)
    of_case = forecast_of("a passed", *stored, cases={"a": {"retries": 1}})
    assert of_case.usd.total == pytest.approx(1.5)


def test_other_arms_are_expected_to_cost_what_the_deciding_one_did_and_named():
    found = forecast_of("a passed", *THREE, arms=(Arm(name="with", decides=True), Arm(name="without")))
    assert found.usd.total == pytest.approx(0.24)
    assert [one.title for one in found.with_other_keys] == ["a [claude] without"]


def test_shards_of_one_run_are_one_run():
    group = {"hours": 1, "group": "run 7"}
    lines = [line_of(run_of("a passed $0.10"), **group), line_of(run_of("b passed $0.20"), **(group | {"hours": 2}))]
    found = forecast_of(AB, *lines)
    assert (found.usd.total, found.usd.interval) == (pytest.approx(0.3), None)


# --- max-cost -----------------------------------------------------------------------------------------


def test_a_run_that_costs_more_by_all_stored_runs_is_refused():
    found = forecast_of(AB, *THREE)
    assert found.least_usd == pytest.approx(0.15445, abs=0.00001)
    assert refused(found, max_cost=0.15) == (
        "the run is expected to cost more than the max-cost of $0.15, according to the runs in the store: about $0.36 "
        "(95%: $0.15 to $0.82, from 3 stored runs); no session was started; raise max-cost, lower repeat, select "
        "fewer cases, or set allow-partial to run what max-cost pays"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param({"max_cost": 0.15, "allow_partial": True}, "will probably reach", id="allowed"),
        pytest.param({"max_cost": 0.2}, "will probably reach the max-cost of $0.20", id="above, but not surely"),
        pytest.param({"max_cost": 0.37}, None, id="enough"),
        pytest.param({}, None, id="no limit"),
    ],
)
def test_a_run_that_may_cost_less_is_only_warned_about(options, said):
    note = refuse_beyond_budget(forecast_of(AB, *THREE), ExecuteOptions(**options))
    assert (note is None) == (said is None)
    assert note is None or said in note


EARLY = "if it does not end early"


@pytest.mark.parametrize(
    ("options", "more", "said"),
    [
        pytest.param({"maxfail": 1}, {}, EARLY, id="the first failure may end it"),
        pytest.param(
            {"repeat": 4},
            {"cases": {"a": {"trials": TrialRule(strategy="mean", cost_limit=0.1)}}},
            EARLY,
            id="trials have a limit",
        ),
        pytest.param({}, {"suite_fields": {"budget": 0.1}}, "None", id="the suite has a budget"),
    ],
)
def test_a_run_that_may_end_early_is_not_refused_for_what_it_may_not_run(options, more, said):
    found = forecast_of(AB, *THREE, options=ExecuteOptions(**options), **more)
    whole = 0.1545 * options.get("repeat", 1)
    assert found.least_usd is not None
    assert found.least_usd < 0.8 * whole
    assert said in str(refuse_beyond_budget(found, ExecuteOptions(max_cost=0.8 * whole, **options)))


def test_what_a_resumed_run_has_spent_is_no_longer_there():
    found = forecast_of(AB, *THREE)
    assert refuse_beyond_budget(found, ExecuteOptions(max_cost=1.0), spent=0.5) is None
    with pytest.raises(UsageError, match=r"the max-cost of \$1\.00, of which \$0\.90 is spent, according to the runs"):
        refuse_beyond_budget(found, ExecuteOptions(max_cost=1.0), spent=0.9)


def test_too_few_stored_runs_refuse_nothing():
    found = forecast_of(AB, *THREE[:2])
    assert (found.usd.interval and found.usd.interval.level, found.least_usd) == (None, None)
    note = refuse_beyond_budget(found, ExecuteOptions(max_cost=0.01))
    assert note == (
        "the run will probably reach the max-cost of $0.01 before its plan is done: about $0.33 "
        "($0.30 to $0.36 in 2 stored runs, too few or too different for an interval)"
    )


def test_a_limit_of_exactly_what_it_costs_is_enough():
    stored = ["a passed $0.10\nb passed $0.20"] * 3
    assert refuse_beyond_budget(forecast_of(AB, *stored), ExecuteOptions(max_cost=0.3)) is None


# --- hostile figures ----------------------------------------------------------------------------------


@pytest.mark.parametrize("usd", ["1e308", "-1", "NaN", "Infinity", "1e400"])
def test_a_line_with_an_impossible_cost_is_no_stored_run(usd):
    line = line_of(run_of("a passed $0.10"), hours=1).replace(b'"usd":0.1', f'"usd":{usd}'.encode())
    with pytest.raises(StoreError, match=r"entries\.0\.usd|runs:1"):
        forecast_of("a passed", line)


def test_the_greatest_and_the_least_costs_that_a_store_may_have_have_figures():
    def with_usd(text: str, hours: float) -> bytes:
        return line_of(run_of("a passed $0.10"), hours=hours).replace(b'"usd":0.1', f'"usd":{text}'.encode())

    stored = [with_usd(text, n) for n, text in enumerate(("1e9", "5e-324", "1e-300", "0"), 1)]
    found = forecast_of("a passed", *stored, options=ExecuteOptions(repeat=1_000_000))
    assert found.usd.interval
    assert (found.usd.interval.low, found.usd.interval.high, found.least_usd) == (0, 1e15, None)
    assert next(forecast_lines(found)).startswith("cost: about $250,000,000,000,000.00 ($0.00 to $1,000,000,000,000,")
