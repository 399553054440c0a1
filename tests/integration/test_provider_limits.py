"""Limits per provider in whole runs: how many sessions run at once, beside what else ends or delays a run."""

from __future__ import annotations

import json
import re
import signal

import pytest

from bench_runs import COUNT, MEET, MET, Bench, event, statuses, trouble
from scratch import HUNG, PASSING, case, config, repository, skillgym, started, suite
from waiting import until

# Each session notes how many run beside it: those that have begun, without those that have ended. None ends before
# so many have begun.
TOGETHER = (
    "echo x >> $LOG/begun; i=0; "
    "until [ $(wc -l < $LOG/begun) -ge {n} ] || [ $i -ge 6000 ]; do sleep 0.02; i=$((i+1)); done; sleep 0.05; "
    "echo $(( $(wc -l < $LOG/begun) - $(cat $LOG/ended 2>/dev/null | wc -l) )) >> $LOG/beside; echo x >> $LOG/ended"
)
BESIDE, THREE = TOGETHER.format(n=1), TOGETHER.format(n=3)
CASES = [case(f"case-{number}") for number in range(48)]


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def claude(bench: Bench, script: str) -> dict[str, object]:
    """A program that counts as Anthropic's, by its model."""
    return bench.agent(script, model="claude-sonnet-4-5")


def beside(bench: Bench) -> int:
    return max(map(int, bench.logged("beside")))


# --- at most so many --------------------------------------------------------------------------------


def test_with_a_limit_of_3_and_16_jobs_never_more_than_3_sessions_run_at_once(bench):
    report = bench.run({"a": claude(bench, f"{THREE}; {PASSING}")}, *CASES, jobs=16, limit=["anthropic=3"])
    assert set(statuses(report)) == {"passed"}
    assert (len(bench.logged("begun")), beside(bench)) == (48, 3)


def test_without_a_limit_more_than_3_do(bench):
    bench.run({"a": claude(bench, f"{TOGETHER.format(n=4)}; {PASSING}")}, *CASES, jobs=16)
    assert beside(bench) > 3


def test_runners_of_one_provider_share_its_places(bench):
    agents = {"a": claude(bench, THREE), "b": bench.agent(THREE, model="anthropic/claude-opus-4-5")}
    bench.run(agents, *CASES[:24], jobs=16, limit=["anthropic=3"])
    assert (len(bench.logged("begun")), beside(bench)) == (48, 3)


def test_sessions_of_another_provider_do_not_wait_behind_those_that_do(bench):
    """Each of the 5 sessions of openai passes only if all 5 run at the same time, beside one of anthropic."""
    agents = {"a": claude(bench, MET.format(n=5)), "b": bench.agent(MEET.format(n=5), model="gpt-5")}
    report = bench.run(agents, *CASES[:5], jobs=6, limit=["anthropic=1"])
    assert set(statuses(report)) == {"passed"}


# --- beside other rules -----------------------------------------------------------------------------


def test_dependencies_and_shared_workspaces_run_with_one_place(bench):
    test = {"input": "x", "assertions": [{"type": "contains", "value": "done"}]}
    chain = [{"id": "c", "depends_on": ["b"]}, {"id": "b", "depends_on": ["a"]}, {"id": "a"}, {"id": "d"}]
    shared = {"tests": [{"id": f"s{number}"} | test for number in range(4)], "workspace": {"isolation": "shared"}}
    files = {
        "bench/EVAL.yaml": json.dumps({"tests": [one | test for one in chain]}),
        "bench/shared.eval.yaml": json.dumps(shared),
    }
    say = event(type="session", finalOutput="done")
    agents = {"a": claude(bench, f"{BESIDE}; {PASSING}; {say}")}
    report = bench.run(agents, *CASES[:6], files=files, jobs=8, runner=["a"], limit=["anthropic=1"])
    assert (statuses(report), beside(bench)) == (["passed"] * 14, 1)


def test_a_session_that_waited_does_not_start_after_too_many_failures(bench):
    report = bench.run(
        {"a": claude(bench, f"{COUNT}; sleep 0.1")}, *CASES[:8], jobs=8, maxfail=1, limit=["anthropic=1"]
    )
    assert (statuses(report).count("failed"), statuses(report).count("skipped"), bench.sessions) == (1, 7, 1)


def test_a_session_that_waited_does_not_start_after_its_runner_was_stopped(bench):
    report = bench.run({"a": claude(bench, f"{COUNT}; {trouble('auth')}")}, *CASES[:8], jobs=8, limit=["anthropic=1"])
    assert (set(statuses(report)), bench.sessions) == ({"errored"}, 1)


def test_a_cancelled_run_does_not_wait_for_places(bench):
    files = {
        "bench/core.json": suite(*CASES[:8]),
        "skillgym.config.yaml": json.dumps(
            json.loads(config(a=claude(bench, f"{COUNT}; sleep 600"))) | {"limits": {"anthropic": {"sessions": 2}}}
        ),
    }
    folder = repository(bench.root, files)
    process = started("run", "--jobs", "8", "--output", "results", cwd=folder)
    until(lambda: bench.sessions == 2, "two sessions that have begun")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=HUNG)
    assert (process.returncode, bench.sessions) == (130, 2)


# --- rate limits ------------------------------------------------------------------------------------


def test_a_rate_limit_slows_the_provider_without_any_setting(bench):
    first_of_8 = "[ $n -le 8 ] && mkdir $LOG/{case_id}"  # a case that is limited at every attempt would be errored
    limited = f"{COUNT}; if {first_of_8}; then {trouble('rate-limit')}; else {BESIDE}; {PASSING}; fi"
    report = bench.run({"a": claude(bench, limited)}, *CASES[:24], jobs=8)
    assert set(statuses(report)) == {"passed"}
    assert beside(bench) <= 4
    (line,) = report.slowed
    assert re.fullmatch(r"anthropic: \d+ rate limits?; 8 sessions at once became [1-4]", line)


def test_a_slowed_provider_is_in_the_summary_and_in_the_results(bench):
    script = f"if mkdir $LOG/first; then {trouble('rate-limit')}; else {PASSING}; fi 2> $LOG/errors"
    files = {"bench/core.json": suite(*CASES[:4]), "skillgym.config.yaml": config(a=claude(bench, script))}
    folder = repository(bench.root, files)
    ran = skillgym("run", "--jobs", "2", "--output", "results", "--report", "summary=summary.md", cwd=folder)
    line = r"anthropic: 1 rate limit; 2 sessions at once became 1"
    assert ran.code == 0
    assert f"slowed {line}" in ran.err
    assert f"slowed by {line}" in (folder / "summary.md").read_text()
    assert json.loads((folder / "results/results.json").read_text())["run"]["slowed"] == [line]


# --- settings ---------------------------------------------------------------------------------------


def run(bench: Bench, *options: str, limits: object = None, together: int = 1):
    configured = json.loads(config(a=claude(bench, f"{TOGETHER.format(n=together)}; {PASSING}")))
    configured |= {} if limits is None else {"limits": limits}
    files = {"bench/core.json": suite(*CASES[:12]), "skillgym.config.yaml": json.dumps(configured, indent=1)}
    return skillgym("run", "--jobs", "8", *options, cwd=repository(bench.root, files))


@pytest.mark.parametrize(
    ("options", "limits", "most"),
    [
        pytest.param(("--limit", "anthropic=2"), None, 2, id="the option"),
        pytest.param(("--limit", "anthropic=1", "--limit", "openai=5"), {"anthropic": {"sessions": 6}}, 1, id="both"),
    ],
)
def test_option_and_configuration_limit_sessions(bench, options, limits, most):
    assert run(bench, *options, limits=limits, together=most).code == 0
    assert (len(bench.logged("begun")), beside(bench)) == (12, most)


MEANT = "unknown provider 'antropic'; did you mean 'anthropic'?"
FORM = "is not PROVIDER=N, such as anthropic=40"


@pytest.mark.parametrize(
    ("options", "limits", "words"),
    [
        pytest.param(("--limit", "antropic=2"), None, f"--limit: {MEANT}", id="option"),
        pytest.param((), {"antropic": {"sessions": 2}}, f"limits.antropic: {MEANT}", id="configuration"),
    ],
)
def test_mistakes_are_named_with_their_place(bench, options, limits, words):
    ran = run(bench, *options, limits=limits)
    assert (ran.code, bench.logged("begun")) == (2, [])
    assert words in ran.err
