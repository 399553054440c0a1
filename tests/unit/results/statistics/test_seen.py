"""What was wrong about repeated and compared runs, each as it was seen; random runs have a fixed seed."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from builders import run_report, runner_named
from skillgym_action.model.comparison import Difference
from skillgym_action.model.report import LimitSettings
from skillgym_action.model.result import Attempt
from skillgym_action.model.verdicts import Status
from skillgym_action.pipeline.stages.gate import gate
from skillgym_action.results.statistics.comparison import compare
from skillgym_action.results.statistics.rates import population_rate
from skillgym_action.settings.slices import GateOptions

REGRESSION = GateOptions(fail_on=frozenset({"regression"}))


def cases(number, passed, judged):
    status = "passed" if passed == judged else "failed"
    return "\n".join(f"case-{index} {status} {passed}of{judged}" for index in range(number))


def gated(base, head):
    return gate(replace(head, decision=None, comparison=compare(base, head)), REGRESSION)


class Agent:
    """An agent that is right with the same chance in every session."""

    def __init__(self, seed: str, chance: float = 0.8) -> None:
        self.random, self.chance = Random(seed), chance

    def report(self, number, *, repeat=1, retry=0, runners=("claude",)):
        """The report of a run over so many cases."""
        text = "\n".join(f"case-{index} @{runner} passed" for index in range(number) for runner in runners)
        report = run_report(text)
        results = (self.repeated(result, repeat, retry) for result in report.results)
        return replace(report, results=tuple(results))

    def repeated(self, result, repeat, retry):
        attempts = []
        for repetition in range(1, repeat + 1):
            for session in range(1, retry + 2):
                status = Status.PASSED if self.random.random() < self.chance else Status.FAILED
                attempts.append(
                    Attempt(repetition=repetition, session=session, status=status, duration_ms=1, directory="x")
                )
                if status is Status.PASSED:
                    break
        ends = {attempt.repetition: attempt.status for attempt in attempts}
        status = Status.FAILED if Status.FAILED in ends.values() else Status.PASSED
        return replace(result, attempts=tuple(attempts), judgement=replace(result.judgement, status=status))


def test_seen_1_an_agent_that_collapsed_is_a_regression():
    decision = gated(run_report(cases(4, 5, 5)), run_report(cases(4, 0, 5)))
    assert (decision.verdict, decision.exit_code) == ("failed", 1)
    assert decision.reasons == (
        "4 cases pass less often than in the baseline, not by chance",
        "the pass rate dropped by 100 points since the baseline (p < 0.001)",
    )


@pytest.mark.slow
@pytest.mark.parametrize(("chance", "repeat"), [(0.8, 3), (0.7, 2)])
def test_seen_2_retries_make_no_regression_where_nothing_changed(chance, repeat):
    agent = Agent("retries", chance)
    red = sum(
        compare(agent.report(50, repeat=repeat, retry=1), agent.report(50, repeat=repeat, retry=1)).verdict
        == "regression"
        for _ in range(100)
    )
    assert red <= 4  # at most 2%; more than 4 of 100 happen in 5% of such tests


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param({}, id="one session"),
        pytest.param({"repeat": 5}, id="repeat"),
        pytest.param({"retry": 2}, id="retry"),
        pytest.param({"repeat": 5, "retry": 1}, id="repeat and retry"),
        pytest.param({"repeat": 2, "runners": ("a", "b")}, id="two runners"),
    ],
)
def test_seen_5_one_agent_has_one_pass_rate_whatever_the_flags(flags):
    assert Agent("one rate").report(1_000, **flags).totals().pass_rate == pytest.approx(0.8, abs=0.03)


def test_seen_5_expected_failures_are_no_passes():
    totals = run_report("a passed\nb failed\nold expected-failed\nolder expected-failed").totals()
    assert (totals.pass_rate, totals.expected_to_fail) == (0.5, 2)


@pytest.mark.slow
def test_seen_6_repetitions_buy_power_and_no_unchanged_case_is_named():
    before, after = Agent("before", 0.8), Agent("after", 0.6)
    seen, named = {}, 0
    for repeat in (1, 10):
        found = [compare(before.report(20, repeat=repeat), after.report(20, repeat=repeat)) for _ in range(40)]
        seen[repeat] = sum(one.verdict == "regression" for one in found) / 40
    for _ in range(40):
        named += len(compare(before.report(20, repeat=3), before.report(20, repeat=3)).newly_failing)
    assert seen[1] < 0.5
    assert seen[10] > 0.9
    assert named == 0


@pytest.mark.slow
def test_seen_7_runners_are_no_independent_samples():
    """Three runners that pass the same cases: what is uncertain is the choice of cases."""
    random, covered = Random("runners"), 0
    for _ in range(300):
        passed = ["passed" if random.random() < 0.8 else "failed" for _ in range(20)]
        text = "\n".join(f"case-{n} @{runner} {status}" for n, status in enumerate(passed) for runner in "abc")
        low, high = population_rate(run_report(text).totals().cases).interval
        covered += low <= 0.8 <= high
    assert covered / 300 >= 0.92


def test_seen_11_what_else_changed_is_in_the_comparison():
    def report(model, cli, tool, digest):
        found = run_report("edit passed", version=tool)
        suite = replace(found.suites[0], digest=digest * 64, template_digest=digest * 64)
        runner = runner_named()
        results = (replace(one, model=model, version=cli, runner=runner, suite=suite) for one in found.results)
        return replace(found, results=tuple(results), suites=(suite,), runners=(runner,))

    found = compare(report("sonnet-4", "1.0.0", "0.1.0", "a"), report("sonnet-5", "1.1.0", "0.2.0", "b"))
    assert found.differences == (
        Difference(what="skillgym-action", subject="", before="0.1.0", after="0.2.0"),
        Difference(what="model", subject="claude", before="sonnet-4", after="sonnet-5"),
        Difference(what="version of the agent's CLI", subject="claude", before="1.0.0", after="1.1.0"),
        Difference(what="suite file", subject="bench/core.json", before="a" * 12, after="b" * 12),
        Difference(what="workspace template", subject="bench/core.json", before="a" * 12, after="b" * 12),
    )
    same = report("sonnet-4", "1.0.0", "0.1.0", "a")
    assert compare(same, same).differences == ()


def test_other_limits_of_sessions_are_in_the_comparison():
    usual = LimitSettings(default_timeout=300.0)
    other = LimitSettings(default_timeout=300.0, timeout=60.0, max_steps=20, on_limit="errored")
    before, after = (run_report("edit passed", limits=limits) for limits in (usual, other))
    assert compare(before, after).differences == (
        Difference(what="time limit", subject="", before="that of the suite", after="60 s"),
        Difference(what="limit of steps", subject="", before="none", after="20"),
        Difference(what="status of a session that exceeds a limit", subject="", before="failed", after="errored"),
    )
    assert compare(replace(before, limits=None), after).differences == ()


def test_what_is_unknown_is_no_difference():
    before, after = run_report("edit passed"), run_report("edit errored agent-missing")
    unknown = tuple(replace(one, model=None, version=None) for one in after.results)
    assert compare(before, replace(after, results=unknown)).differences == ()
