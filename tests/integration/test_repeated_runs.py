"""Repeated and gated runs, as a job starts them: what was seen to be told wrongly is told as it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bench_runs import COUNT, event, trouble
from scratch import PASSING, case, config, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from pathlib import Path

    from scratch import Ran

FOUR = suite(*map(case, "abcd"))
COLLAPSED = config(runner("true"))


def stored(folder: Path, name: str = "out") -> dict[str, Any]:
    return json.loads((folder / name / "results.json").read_text(encoding="utf-8"))


def rows(folder: Path, name: str = "out") -> list[dict[str, Any]]:
    return [row for one in stored(folder, name)["suites"] for row in one["results"]]


def repetitions(row: dict[str, Any]) -> list[str]:
    return [f"{attempt['repetition']}.{attempt['session']} {attempt['status']}" for attempt in row["attempts"]]


def run(folder: Path, *args: str) -> Ran:
    return skillgym("run", "--output", "out", *args, cwd=folder)


def log(folder: Path) -> dict[str, Any]:
    (folder / "log").mkdir()
    return {"output": "events", "env": {"LOG": str(folder / "log")}}


# --- repetitions ------------------------------------------------------------------------------------


def test_seen_1_the_first_failure_does_not_end_a_case(tmp_path):
    repository(tmp_path, {"bench/core.json": FOUR})
    assert skillgym("run", "--output", "base", "--repeat", "5", cwd=tmp_path).code == 0
    written(tmp_path, {"skillgym.config.yaml": COLLAPSED})
    ran = run(tmp_path, "--repeat", "5", "--fail-on", "regression", "--baseline", "./base")
    assert [len(row["attempts"]) for row in rows(tmp_path)] == [5, 5, 5, 5]
    assert {attempt["status"] for row in rows(tmp_path) for attempt in row["attempts"]} == {"failed"}
    assert ran.code == 1, ran.err


def test_what_was_not_run_for_want_of_money_is_not_judged_again(tmp_path):
    script = f"{event(type='session', cost={'usd': 0.25})}; {PASSING}"
    files = {
        "bench/core.json": suite(case("a"), case("b")),
        "skillgym.config.yaml": config(runner(script, output="events")),
    }
    repository(tmp_path, files)
    run(tmp_path, "--repeat", "3", "--max-cost", "1")
    assert [len(row["attempts"]) for row in rows(tmp_path)] == [3, 1]
    skillgym("rejudge", "out", "--output", "again", cwd=tmp_path)
    assert [len(row["attempts"]) for row in rows(tmp_path, "again")] == [3, 1]


def test_a_run_that_was_interrupted_after_a_failure_is_resumed_with_the_next_repetition(tmp_path):
    script = f"{COUNT}; [ $n = 1 ] || {PASSING}"
    repository(tmp_path, {"skillgym.config.yaml": config(runner(script, **log(tmp_path)))})
    assert run(tmp_path, "--repeat", "2").code == 1
    resumed = skillgym("run", "--resume", "out", "--repeat", "4", "--require", "3", cwd=tmp_path)
    assert resumed.code == 0, resumed.err
    assert repetitions(rows(tmp_path)[0]) == ["1.1 failed", "2.1 passed", "3.1 passed", "4.1 passed"]
    assert "--require was not set and is 3" in resumed.err
    assert len((tmp_path / "log/sessions").read_text().splitlines()) == 4


def test_more_passes_than_repetitions_cannot_be_required(tmp_path):
    ran = skillgym("run", "--repeat", "2", "--require", "3", cwd=repository(tmp_path))
    assert (ran.code, "--require 3 with --repeat 2: so many can never pass" in ran.err) == (2, True)
    ran = skillgym("run", "--require", "some", cwd=tmp_path)
    assert (ran.code, "neither all, any, nor the number" in ran.err) == (2, True)


# --- limits -----------------------------------------------------------------------------------------

ROUNDS = "; ".join(
    event(type="step", id=str(number), model="m", usage={"inputTokens": 100_000, "outputTokens": 0})
    for number in range(3)
)


@pytest.mark.parametrize(
    ("script", "args", "fields", "failure_class", "origin"),
    [
        pytest.param("sleep 60", ["--timeout", "0.5"], {}, "timeout", "timeout", id="time", marks=pytest.mark.timed),
        pytest.param(f"{ROUNDS}; sleep 60", ["--max-steps", "2"], {}, "max-steps", "max-steps", id="steps"),
        pytest.param(f"{ROUNDS}; sleep 60", [], {"budget": 0.15}, "budget-exceeded", "runner", id="money"),
    ],
)
def test_seen_4_a_limit_counts_against_the_agent(tmp_path, script, args, fields, failure_class, origin):
    told = json.loads(config(runner(f"{PASSING}; {script}", output="events")))
    told["prices"] = {"m": {"input": 1, "output": 1}}
    one = case(expect=("test:true passes", "file:out.txt exists"), **fields)
    repository(tmp_path, {"bench/core.json": suite(one), "skillgym.config.yaml": json.dumps(told)})

    assert run(tmp_path, *args).code == 1
    (row,) = rows(tmp_path)
    assert (row["status"], row["failureClass"]["id"], row["failureOrigin"]) == ("failed", failure_class, "limit")
    evaluated = [True] if failure_class == "max-steps" else [True, True]
    assert [outcome["passed"] for outcome in row["outcomes"]] == evaluated, (
        "for the record, unless the report is partial"
    )
    assert stored(tmp_path)["totals"]["passRate"] == 0

    assert run(tmp_path, *args, "--on-limit", "errored").code == 3
    (row,) = rows(tmp_path)
    assert (row["status"], row["failureClass"]["id"], row["failureOrigin"]) == ("errored", failure_class, origin)
    assert [outcome["assertion"] for outcome in row["outcomes"]] == ["file:out.txt exists"]
    assert stored(tmp_path)["totals"]["passRate"] is None


INIT = event(type="system", subtype="init", session_id="s", model="m")
RETRY = event(type="system", subtype="api_retry", attempt=1, error_status=529)
CALL = event(
    type="assistant",
    message={
        "id": "1",
        "model": "m",
        "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "tail -f x"}}],
    },
)


@pytest.mark.timed
@pytest.mark.parametrize(
    ("script", "status", "failure_class"),
    [
        pytest.param(f"{INIT}; {RETRY}; sleep 60", "errored", "rate-limit", id="calls of the service fail"),
        pytest.param(f"{INIT}; sleep 60", "failed", "timeout", id="silence is no evidence"),
        pytest.param(f"{INIT}; {CALL}; sleep 60", "failed", "timeout", id="a command of the agent never ends"),
        pytest.param("sleep 60", "failed", "timeout", id="nobody knows"),
    ],
)
def test_a_time_limit_with_a_failing_service_is_trouble_of_the_service(tmp_path, script, status, failure_class):
    """With a program that prints what Claude Code prints."""
    agent = {"type": "claude-code", "command": ["sh", str(tmp_path / "claude.sh")], "env": {"ANTHROPIC_API_KEY": "k"}}
    files = {"skillgym.config.yaml": json.dumps({"runners": {"claude": {"agent": agent}}}), "claude.sh": script}
    ran = run(repository(tmp_path, files), "--timeout", "1.5")
    (row,) = rows(tmp_path)
    assert (row["status"], row["failureClass"]["id"]) == (status, failure_class), ran.err
    assert len(row["attempts"]) == (3 if failure_class == "rate-limit" else 1), "a time limit is paid once"


@pytest.mark.timed
def test_a_limit_is_never_a_failure_that_a_case_expects(tmp_path):
    files = {"bench/core.json": suite(case(expectedFail=True)), "skillgym.config.yaml": config(runner("sleep 60"))}
    repository(tmp_path, files)
    assert run(tmp_path, "--timeout", "0.5").code == 1
    (row,) = rows(tmp_path)
    assert (row["status"], row["failureClass"]["id"]) == ("failed", "timeout")


# --- the gate ---------------------------------------------------------------------------------------

MISSING = config(runner(None, command=["no-such-agent"]))


def test_seen_3_a_missing_agent_is_never_green(tmp_path):
    seven = suite(*map(case, "abcdefg"))
    repository(tmp_path, {"bench/core.json": seven})
    assert skillgym("run", "--output", "base", cwd=tmp_path).code == 0
    written(tmp_path, {"skillgym.config.yaml": MISSING})
    ran = run(tmp_path, "--fail-on", "failed,regression", "--baseline", "./base")
    assert (ran.code, "! Not tested: " in ran.err) == (3, True), ran.err
    assert "nothing was judged" in stored(tmp_path)["run"]["decision"]["reasons"]
    assert stored(tmp_path)["run"]["decision"]["verdict"] == "inconclusive"


def test_seen_3_a_pass_rate_over_nothing_is_not_green(tmp_path):
    ran = run(repository(tmp_path, {"skillgym.config.yaml": MISSING}), "--fail-on", "none", "--min-pass-rate", "0.1")
    assert (ran.code, "nothing was judged" in ran.err) == (3, True), ran.err


def test_seen_3_the_error_rate_needs_no_word_of_fail_on(tmp_path):
    script = f'case "$PWD" in *) {COUNT};; esac; if [ $n = 1 ]; then {trouble("workspace")}; exit; fi; {PASSING}'
    files = {"bench/core.json": FOUR, "skillgym.config.yaml": config(runner(script, **log(tmp_path)))}
    repository(tmp_path, files)
    ran = run(tmp_path, "--fail-on", "failed", "--max-error-rate", "0.2")
    assert (ran.code, "1 of 4 have no result, more than 20.0%" in ran.err) == (3, True), ran.err
    (tmp_path / "log/sessions").unlink()
    assert run(tmp_path, "--fail-on", "failed", "--max-error-rate", "0.25").code == 0


def test_seen_3_shards_that_are_not_gated_do_not_say_passed(tmp_path):
    script = f"{COUNT}; [ $n = 1 ] || {PASSING}"
    files = {"bench/core.json": FOUR, "skillgym.config.yaml": config(runner(script, **log(tmp_path)))}
    repository(tmp_path, files)
    ran = run(tmp_path, "--shard", "1/2", "--fail-on", "none")
    assert (ran.code, "i 1 of 2 results passes, 1 fails for 1 reason\n" in ran.err) == (0, True), ran.err
    summary = (tmp_path / "out/summary.md").read_text(encoding="utf-8")
    assert "## ℹ️ 1 of 2 results passes, 1 fails for 1 reason" in summary  # noqa: RUF001
    assert "✅ 1" not in summary.split("\n")[0]
    decision = stored(tmp_path)["run"]["decision"]
    assert (decision["verdict"], decision["exitCode"], decision["reasons"]) == ("not-gated", 0, [])


# --- the baseline -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(["--baseline", "nosuch"], "no baseline at nosuch", id="not there"),
        pytest.param(["--baseline", "bad"], "bad/results.json: not JSON", id="unreadable"),
        pytest.param(["--baseline", "other"], "other/results.json: schema: must be 1, not 2", id="of another version"),
        pytest.param(["--fail-on", "regression"], "regression in fail-on without a baseline", id="none is named"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--dry-run"]], ids=["run", "dry run"])
def test_seen_12_a_missing_baseline_is_told_before_anything_is_paid(tmp_path, args, message, more):
    files = {
        "skillgym.config.yaml": config(runner(f"touch {tmp_path}/started; {PASSING}")),
        "bad/results.json": "{",
        "other/results.json": '{"schema": 2}',
    }
    ran = skillgym("run", *args, *more, cwd=repository(tmp_path, files))
    assert (ran.code, message in ran.err) == (2, True), ran.err
    assert not (tmp_path / "started").exists()


def test_a_first_run_may_have_no_baseline(tmp_path):
    repository(tmp_path)
    ran = run(tmp_path, "--baseline", "nosuch", "--baseline-optional", "--fail-on", "failed,regression")
    assert (ran.code, "✓ First run: one passes\n" in ran.err) == (0, True), ran.err
    assert "no baseline at nosuch: nothing was compared" in ran.err
    assert "✅ First run: one passes" in (tmp_path / "out/summary.md").read_text(encoding="utf-8")
    alone = run(tmp_path, "--baseline", "nosuch", "--baseline-optional", "--fail-on", "regression")
    assert (alone.code, "i First run: one passes\n" in alone.err) == (0, True), alone.err


@pytest.mark.parametrize(
    ("cases", "args", "message"),
    [
        pytest.param(
            "abcde", [], "use --repeat 2 or more, or have 7 or more cases that pass in the baseline", id="5 cases x 1"
        ),
        pytest.param("a", ["--repeat", "4"], "use --repeat 99 or more", id="1 case x 4, 1 in the baseline"),
        pytest.param("abcdefg", [], None, id="7 cases x 1"),
        pytest.param("abcde", ["--repeat", "2"], None, id="5 cases x 2"),
    ],
)
def test_a_plan_that_can_never_show_a_regression_is_an_error(tmp_path, cases, args, message):
    repository(tmp_path, {"bench/core.json": suite(*map(case, cases))})
    assert skillgym("run", "--output", "base", cwd=tmp_path).code == 0
    written(tmp_path, {"skillgym.config.yaml": config(runner(f"touch {tmp_path}/started; {PASSING}"))})
    ran = run(tmp_path, "--baseline", "./base", "--fail-on", "regression", *args)
    assert (ran.code == 2, (tmp_path / "started").exists()) == (message is not None, message is None), ran.err
    if message:
        assert "even if all planned sessions failed, that could be chance" in ran.err
        assert message in ran.err


def test_a_plan_without_a_case_of_the_baseline_is_an_error(tmp_path):
    repository(tmp_path)
    assert skillgym("run", "--output", "base", cwd=tmp_path).code == 0
    written(tmp_path, {"bench/core.json": suite(case(prompt="Another one"))})
    ran = run(tmp_path, "--baseline", "./base", "--fail-on", "regression")
    assert (ran.code, "no case of this plan was judged in the baseline" in ran.err) == (2, True), ran.err


def test_a_dry_run_says_how_many_sessions_and_what_they_will_cost(tmp_path):
    script = f"{event(type='session', cost={'usd': 0.25})}; {PASSING}"
    repository(tmp_path, {"bench/core.json": FOUR, "skillgym.config.yaml": config(runner(script, output="events"))})
    assert skillgym("run", "--output", "base", "--repeat", "2", cwd=tmp_path).code == 0
    written(tmp_path, {"bench/core.json": suite(*map(case, "abcdefgh"))})
    told = skillgym("run", "--dry-run", "--repeat", "5", "--baseline", "./base", cwd=tmp_path)
    assert told.code == 0, told.err
    *_, sessions, cost, drop, single = told.out.splitlines()
    assert sessions == "8 executions, 40 sessions"
    assert cost == (
        "cost: about $5.00 at the mean cost of a session in the baseline, "
        "without e [sh], f [sh], g [sh], h [sh], whose cost is unknown"
    )
    assert drop.startswith("4 cases x 5: drops of ")
    assert single == "one case that breaks from all to nothing needs 5 or more repetitions in both runs"


def test_a_dry_run_counts_cases_as_the_comparison_does_and_announces_no_drop_of_nothing(tmp_path):
    cases = [*map(case, "abcdefghij"), case("broken", expect=["file:none.txt exists"])]
    expected = case("expected", expect=["file:none.txt exists"], expectedFail=True)
    repository(tmp_path, {"bench/core.json": suite(*cases, expected)})
    assert skillgym("run", "--output", "base", "--repeat", "5", cwd=tmp_path).code == 1
    planned = skillgym("run", "--dry-run", "--repeat", "5", "--baseline", "./base", cwd=tmp_path)
    assert planned.code == 0, planned.err
    assert "11 cases x 5: drops of 18 points or more are seen in 4 of 5 comparisons" in planned.out
    ran = run(tmp_path, "--repeat", "5", "--baseline", "./base")
    assert (ran.code, stored(tmp_path)["run"]["comparison"]["pairs"]) == (1, 11)


def test_a_plan_of_cases_that_are_expected_to_fail_shows_no_regression(tmp_path):
    expected = case("expected", expect=["file:none.txt exists"], expectedFail=True)
    repository(tmp_path, {"bench/core.json": suite(expected)})
    assert skillgym("run", "--output", "base", cwd=tmp_path).code == 0
    ran = run(tmp_path, "--baseline", "./base", "--fail-on", "regression")
    assert (ran.code, "without being expected to fail" in ran.err) == (2, True), ran.err
