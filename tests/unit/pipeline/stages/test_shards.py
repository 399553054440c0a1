"""Plans of shards: what belongs together stays in one, and what is not known is estimated."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import run_report
from skillgym_action.model.arm import Arm
from skillgym_action.model.errors import Location, UsageError
from skillgym_action.model.runner import Runner
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite, WorkspaceSpec
from skillgym_action.pipeline.stages.plan import plan
from skillgym_action.pipeline.stages.shards import Recorded, ShardRequest, in_shard, plan_shards, recorded_in_runs
from skillgym_action.settings.settings import ExecuteOptions
from skillgym_action.settings.slices import PlanOptions
from skillgym_action.text.escaping import path_key

SHARED = WorkspaceSpec(mode="shared", source="empty")


def case(case_id, **fields):
    return BenchmarkCase(id=case_id, prompt="p", location=Location(path="x"), assertions=(), **fields)


def suite(*cases, name="core", **fields):
    path = f"bench/{name}.json"
    return BenchmarkSuite(path=path, file=Path("/repo", path), name=name, format="x-bench", cases=cases, **fields)


def runner(name):
    return Runner(id=name, path_key=path_key(name), agent=AgentConfig(type="command"))


def plan_of(*suites, runners=("claude",)):
    return plan(suites, tuple(map(runner, runners)), PlanOptions())


def digest_of(execution):
    return path_key(execution.title)


def planned(made, recorded=None, shards=None, target=600.0, **options):
    request = ShardRequest(shards=shards, target=target)
    return plan_shards(made, recorded or {}, request, ExecuteOptions(**options), digest_of)


def names(stored):
    return sorted([one.case for one in shard.executions] for shard in stored.shards)


def test_cases_that_depend_on_each_other_stay_together_on_each_runner():
    chain = suite(case("a"), case("b", depends_on=("a",)), case("c", depends_on=("b",)), case("d"))
    stored = planned(plan_of(chain, runners=("claude", "codex")), shards=64)
    assert names(stored) == [["a", "b", "c"], ["a", "b", "c"], ["d"], ["d"]]
    assert all(len({one.runner for one in shard.executions}) == 1 for shard in stored.shards)


def test_cases_that_share_a_workspace_stay_together():
    made = plan_of(suite(case("a"), case("b"), workspace=SHARED), suite(case("c"), case("d"), name="other"))
    assert names(planned(made, shards=64)) == [["a", "b"], ["c"], ["d"]]


def test_sessions_outside_of_workspaces_may_be_in_several_jobs():
    made = plan_of(suite(case("a"), case("b"), workspace=WorkspaceSpec(mode="none", source="empty")))
    assert names(planned(made, shards=64)) == [["a"], ["b"]]


def test_unknown_cases_count_as_the_median_of_their_suite_else_of_all_with_all_repetitions():
    made = plan_of(suite(*map(case, "abcd")), suite(case("x"), name="other"))
    recorded = {0: Recorded(seconds=1.0), 1: Recorded(seconds=5.0), 2: Recorded(seconds=9.0)}
    stored = planned(made, recorded, shards=1, repeat=2)
    assert [one.seconds for one in stored.shards[0].executions] == [2.0, 10.0, 18.0, 10.0, 10.0]
    assert (stored.known, stored.executions, stored.shards[0].seconds) == (3, 5, 50.0)


def test_a_shard_with_parallel_sessions_takes_as_long_as_its_longest_chain_at_least():
    recorded = {0: Recorded(seconds=30.0), 1: Recorded(seconds=5.0), 2: Recorded(seconds=5.0)}
    stored = planned(plan_of(suite(*map(case, "abc"))), recorded, shards=1, jobs=4)
    assert stored.shards[0].seconds == 30.0


def test_only_what_was_judged_has_a_recorded_time():
    made = plan_of(suite(case("one"), case("two"), case("three")))
    report = run_report("one passed 40s $0.50\ntwo errored timeout 1s\nthree failed 20s 2x")
    found = recorded_in_runs(made, [report, report])
    assert found == {0: Recorded(seconds=40.0, usd=0.5), 2: found[2]}


def test_a_shard_of_executions_that_cost_nothing_has_a_part_of_the_budget():
    made = plan_of(suite(*map(case, "ab")), runners=("free", "paid"))
    prices = {"free": 0.0, "paid": 0.5}
    recorded = {one.index: Recorded(seconds=1.0, usd=prices[one.runner.id]) for one in made.executions}
    stored = planned(made, recorded, shards=4)
    shares = {(one.runner, one.case): shard.cost_share for shard in stored.shards for one in shard.executions}
    floor = 0.025 / 1.05  # a tenth of the mean, of which the two free executions add one each
    assert shares == pytest.approx({(name, one): floor if name == "free" else 0.5 / 1.05 for name, one in shares})
    assert sum(shares.values()) == pytest.approx(1)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_shard_is_what_the_plan_says(number):
    made = plan_of(suite(*map(case, "abcdefg")))
    stored = planned(made, shards=3)
    own = in_shard(made, stored, (number, 3), digest_of)
    assert [one.case.id for one in own.executions] == [one.case for one in stored.shards[number - 1].executions]


def test_a_digest_that_differs_is_refused():
    made = plan_of(suite(case("a"), case("b")))
    stored = planned(made, shards=2)
    with pytest.raises(UsageError, match=r"1 case differs from the plan \(bench/core.json b \[claude\]\)"):
        in_shard(made, stored, (1, 2), lambda one: digest_of(one) if one.case.id == "a" else "other")


def test_arms_are_different_executions_of_one_chain():
    arms = (Arm(name="with", decides=True), Arm(name="without", decides=False))
    stored = planned(plan_of(suite(case("a"), case("b"), arms=arms)), shards=64)
    assert [[(one.case, one.arm) for one in shard.executions] for shard in stored.shards] == [
        [("a", "with"), ("a", "without")],
        [("b", "with"), ("b", "without")],
    ]
