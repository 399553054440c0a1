"""Money: nothing is started that nobody would pay, and what is not known is not nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bench_runs import COUNT, MEET, Bench, attempts, event, statuses, trouble
from judged_runs import JUDGED, MODEL, SPENT, results, run, said, scratch
from scratch import PASSING, case, config, repository, runner, skillgym, suite
from scripted_http import Reply, ScriptedServer
from skillgym_action.sessions.run_limits import Budget

if TYPE_CHECKING:
    from pathlib import Path

    from proofs import Proved

UNKNOWN = "unknown"
SOME_UNPAID = "2 not started, since the run's budget was spent"


def costs(*amounts: float | str) -> str:
    """A shell line: the first session costs the first amount and so on; the last one holds for all that follow."""
    branches = [f"{number}) {told(amount)};;" for number, amount in enumerate(amounts[:-1], 1)]
    return f"{COUNT}; case $n in {' '.join(branches)} *) {told(amounts[-1])};; esac"


def told(amount: float | str) -> str:
    return "true" if amount == UNKNOWN else event(type="session", cost={"usd": amount})


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


SPENT_OUT = "the run's budget is spent: ${spent:.2f} of $1.00"
NOBODY_KNOWS = (
    "the run's budget of $1.00 cannot be checked, since the cost of a session on sh is unknown; "
    "set the price of its model under prices in the configuration, or remove the budget"
)
# What each session costs, what becomes of four cases under a budget of a dollar, how many sessions there were, why not
# more of them.
RUNS = [
    pytest.param((0.6, 0.6, 0.6, 0.6), 2, SPENT_OUT.format(spent=1.2), id="it is spent"),
    pytest.param((0.5, 0.5, 0.5, 0.5), 2, SPENT_OUT.format(spent=1.0), id="to the cent"),
    pytest.param((0.1, 0.1, 0.1, 0.1), 4, None, id="it is enough"),
    pytest.param((0.1, UNKNOWN, 0.1, 0.1), 2, NOBODY_KNOWS, id="one on the way is unknown"),
    pytest.param((0.1, 0.1, 0.1, UNKNOWN), 4, None, id="the last one is unknown: nothing is left to start"),
]


@pytest.mark.parametrize(("amounts", "sessions", "reason"), RUNS)
def test_what_is_started_under_a_budget(bench, amounts, sessions, reason, proved: Proved):
    report = bench.run(f"{costs(*amounts)}; {PASSING}", *map(case, "abcd"), max_cost=1)
    assert statuses(report) == ["passed"] * sessions + ["skipped"] * (4 - sessions)
    assert bench.sessions == sessions
    skipped = report.results[sessions:]
    assert {result.judgement.reason for result in skipped} == ({reason} if reason else set())
    assert {result.judgement.origin for result in skipped} == ({"budget"} if reason else set())
    assert {result.judgement.failure_class.id for result in skipped if result.judgement.failure_class} == (
        {"unknown-cost"} if reason == NOBODY_KNOWS else set()
    )
    proved("budget", "sessions that were not started, since the money was spent or nobody knew", len(skipped))


@pytest.mark.parametrize(
    ("amounts", "given", "decision"),
    [
        pytest.param((0.6,), {}, (0, (SOME_UNPAID,)), id="green, and not silent"),
        pytest.param((0.6,), {"fail_on": "budget"}, (3, (SOME_UNPAID,)), id="red"),
        pytest.param(
            (UNKNOWN,), {}, (3, ("3 not started, since the cost of sessions is unknown",)), id="nobody can tell"
        ),
        pytest.param((UNKNOWN,), {"fail_on": "none"}, (0, ()), id="but nothing at all"),
    ],
)  # fmt: skip
def test_what_a_run_with_sessions_that_were_not_started_comes_to(bench, amounts, given, decision):
    report = bench.run(f"{costs(*amounts)}; {PASSING}", *map(case, "abcd"), max_cost=1, **given)
    assert (report.decision.exit_code, report.decision.reasons) == decision


def test_without_a_budget_nobody_has_to_know(bench):
    report = bench.run(f"{costs(UNKNOWN)}; {PASSING}", *map(case, "abcd"))
    assert (statuses(report), report.decision.exit_code) == (["passed"] * 4, 0)
    assert (report.totals().cost_usd, report.totals().cost_complete) == (None, False)


@pytest.mark.parametrize(
    ("script", "given", "told_", "status"),
    [
        pytest.param(costs(0.6), {"retry": 5}, ["1.1 failed", "1.2 failed"], "failed", id="a retry is not started"),
        pytest.param(
            f"{costs(0.1)}; {trouble('provider')}", {}, ["1.1 errored", "1.2 errored", "1.3 errored"],
            "errored", id="what there is money for is tried again",
        ),
        pytest.param(
            f"{costs(0.6)}; {PASSING}", {"repeat": 3}, ["1.1 passed", "2.1 passed"], "skipped",
            id="a repetition is missing: nobody can tell",
        ),
        pytest.param(
            f"{costs(0.6)}; [ $n = 2 ] || {PASSING}", {"repeat": 3}, ["1.1 passed", "2.1 failed"], "failed",
            id="one that fails needs no other",
        ),
    ],
)  # fmt: skip
def test_retries_and_repetitions_are_paid_like_any_other_session(bench, script, given, told_, status, proved: Proved):
    report = bench.run(script, max_cost=1, **given)
    (result,) = report.results
    assert (attempts(result), str(result.status)) == (told_, status)
    proved("budget", "executions that did not go on past their budget")


@pytest.mark.parametrize(
    ("script", "status", "known"),
    [
        pytest.param("sleep 600", "failed", False, id="ended by the time limit", marks=pytest.mark.timed),
        pytest.param("kill -9 $$", "errored", False, id="killed"),
        pytest.param(
            f"{event(type='session', cost={'usd': 0.1})}; kill -9 $$", "errored", True, id="killed after it had told"
        ),
        pytest.param(trouble("auth"), "errored", False, id="refused by the service"),
    ],
)
def test_what_a_session_cost_that_did_not_end_well_is_known_only_if_it_was_told(bench, script, status, known):
    agents = {"bad": bench.agent(f"{COUNT}; {script}"), "good": bench.agent(f"{costs(0.1)}; {PASSING}")}
    report = bench.run(agents, timeout=1.5 if "sleep" in script else 300, max_cost=1)
    assert statuses(report) == [status, "passed" if known else "skipped"]


@pytest.mark.parametrize(
    ("agent", "fields"),
    [
        pytest.param(runner(None, command=["no-such-agent"]), {}, id="there is no such program"),
        pytest.param(None, {"workspace": {"bootstrap": "exit 1"}}, id="its bootstrap failed"),
    ],
)
def test_a_session_that_never_began_cost_nothing(bench, agent, fields):
    files = {"bench/other.json": suite(case("other"))}
    priced = bench.agent(f"{costs(0.1)}; {PASSING}")
    report = bench.run({"a": agent or priced, "b": priced}, max_cost=1, files=files, suite_fields=fields)
    assert statuses(report) == ["errored", "passed" if agent else "errored", "errored" if agent else "passed", "passed"]
    assert (report.results[0].cost.usd, report.totals().cost_complete) == (0, True)


def test_the_users_own_price_makes_it_known(bench):
    """And comes before what the agent says; the model's name counts with its provider, too."""
    usage = {"inputTokens": 300_000, "outputTokens": 100_000, "cacheTokens": 100_000}
    script = f"{event(type='session', model='acme/own-1', usage=usage, cost={'usd': 0})}; {PASSING}"
    configuration = json.loads(config(runner(script, output="events")))
    prices = {"own-1": {"input": 1, "output": 2, "cached": 0.5}}
    files = {"skillgym.config.yaml": json.dumps(configuration | {"prices": prices})}
    report = bench.run(script, *map(case, "abc"), max_cost=0.8, files=files)
    assert statuses(report) == ["passed", "passed", "skipped"]
    assert (report.results[0].cost.usd, report.results[0].cost.source) == (pytest.approx(0.45), "computed")


@pytest.mark.parametrize(
    ("prices", "words"),
    [
        pytest.param({"m": {"input": 1, "output": 1, "cache": 1}}, "cache", id="another word"),
    ],
)
def test_a_price_that_is_none_is_told(tmp_path, prices, words):
    told_ = json.loads(config(runner())) | {"prices": prices}
    ran = skillgym("check", cwd=repository(tmp_path, {"skillgym.config.yaml": json.dumps(told_)}))
    assert ran.code == 2
    assert words in ran.err


def test_a_budget_is_passed_by_what_ran_at_the_same_time_and_no_more(bench, proved: Proved):
    """Two begin, since both found the money there; whoever comes after them finds it spent."""
    script = f"{COUNT}; {told(1.0)}; {MEET.format(n=2)}"
    report = bench.run(script, *map(case, "abcdef"), max_cost=1, jobs=2)
    assert sorted(statuses(report)) == ["passed"] * 2 + ["skipped"] * 4
    assert (bench.sessions, report.totals().cost_usd) == (2, 2.0)
    proved("budget", "sessions that were not started, since the money was spent or nobody knew", 4)


# --- suites and the judge ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amounts", "statuses_", "reason"),
    [
        pytest.param((0.6,), ["passed", "passed", "skipped"], "is spent: $1.20 of $1.00", id="spent"),
        pytest.param((UNKNOWN,), ["passed", "skipped", "skipped"], "of $1.00 cannot be checked", id="unknown"),
    ],
)
def test_a_suite_has_a_budget_of_its_own_and_costs_no_other_suite_anything(bench, amounts, statuses_, reason):
    """AgentV's ``budget_usd``."""
    tests = [{"id": name, "input": "x", "assertions": [{"type": "latency", "threshold": 60000}]} for name in "abc"]
    own = {"tests": tests, "execution": {"budget_usd": 1}}
    files = {"bench/core.json": None, "bench/EVAL.yaml": json.dumps(own), "bench/other.json": suite(case("other"))}
    report = bench.run(f"{costs(*amounts)}; {PASSING}", files=files)
    assert statuses(report) == [*statuses_, "passed"]
    assert f"the suite's budget {reason}" in report.results[2].judgement.reason


@pytest.mark.parametrize(
    ("model", "statuses_"),
    [
        pytest.param(MODEL, ["passed", "passed", "passed"], id="known"),
        pytest.param("nobody-knows", ["passed", "skipped", "skipped"], id="unknown"),
    ],
)
def test_what_the_judge_costs_counts(tmp_path, model, statuses_):
    text = "tests:\n" + "".join(f"- {{id: {name}, input: Greet., criteria: It greets.}}\n" for name in "abc")
    body = dict(said(0.9).body)
    with ScriptedServer(*[Reply(body=body | {"model": model})] * 3) as server:
        folder = scratch(tmp_path, SPENT | {"cost": {"usd": 0.1}}, text, **JUDGED | {"model": model})
        ran = run(folder, server, "run", "--output", "out", "--max-cost", "1")
    found = results(tmp_path)
    assert [one["status"] for one in found] == statuses_
    assert ran.code == (0 if model == MODEL else 3)
    if model != MODEL:
        assert "the cost of the judge's answers is unknown" in found[1]["error"]["message"]


def test_the_users_own_price_holds_for_the_judge(tmp_path):
    body = dict(said(0.9).body)
    with ScriptedServer(Reply(body=body | {"model": "nobody-knows"})) as server:
        folder = scratch(tmp_path, SPENT, **JUDGED | {"model": "nobody-knows"})
        told_ = json.loads((folder / "skillgym.config.yaml").read_text())
        prices = {"nobody-knows": {"input": 0, "output": 0}}
        (folder / "skillgym.config.yaml").write_text(json.dumps(told_ | {"prices": prices}))
        run(folder, server)
    assert results(tmp_path)[0]["costUsd"] == 0.5


# --- the whole program ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "code", "told_"),
    [
        pytest.param(0.6, 0, "2 not started, since the run's budget was spent", id="spent"),
        pytest.param(UNKNOWN, 3, "3 not started, since the cost of sessions is unknown", id="unknown"),
    ],
)
def test_what_was_skipped_is_told_everywhere_with_its_reason(tmp_path, amount, code, told_, proved: Proved):
    script = f"{told(amount)}; {PASSING}"
    files = {
        "bench/core.json": suite(*map(case, "abcd")),
        "skillgym.config.yaml": config(runner(script, output="events")),
    }
    ran = skillgym("run", "--max-cost", "1", "--output", "out", cwd=repository(tmp_path, files))
    stored: dict[str, Any] = json.loads((tmp_path / "out" / "results.json").read_text())
    summary = (tmp_path / "out" / "summary.md").read_text().replace("\\", "")
    junit = (tmp_path / "out" / "junit.xml").read_text()
    reason = "budget is spent" if code == 0 else "budget of $1.00 cannot be checked"
    count = int(told_[0])

    assert (ran.code, told_ in ran.err) == (code, True), ran.err
    assert told_ in " ".join(stored["run"]["decision"]["reasons"])
    assert stored["totals"]["skipped"] == count
    assert told_.replace("'", "") in summary.replace("'", "").replace("&#39;", "").replace("&apos;", "")
    assert junit.count("<skipped") == count
    assert reason in junit
    last = stored["suites"][0]["results"][-1]
    assert reason in last["error"]["message"]
    assert (last["failureOrigin"], (last.get("failureClass") or {}).get("id")) == (
        "budget",
        None if code == 0 else "unknown-cost",
    )
    again = skillgym("report", "out", "--output", "again", cwd=tmp_path)
    assert (again.code, told_ in again.err) == (code, True), again.err
    proved("budget", "places where what was not started is told: terminal, summary, results, JUnit, stored run", 5)


@pytest.mark.parametrize("limit", [None, 1.0])
def test_a_budget_by_itself(limit):
    budget = Budget("the run's", limit)
    budget.add(0.4, "a session on x")
    assert budget.refusal() is None
    budget.add(None, "a session on x")
    budget.add(None, "a session on y")
    refusal = budget.refusal()
    assert (refusal is not None) == (limit is not None)
    if refusal:
        assert "a session on x" in str(refusal.reason)
        budget.add(0.6, "a session on z")
        assert "is spent: $1.00 of $1.00" in str(budget.refusal().reason)
