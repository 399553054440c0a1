"""Executing a plan with real agents, each a few lines of shell."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench_runs import COUNT, MEET, Bench, attempts, event, statuses, trouble
from fakes_clock import FakeClock
from scratch import PASSING, Watched, case, config, repository, run_in, runner, skillgym, suite, written
from skillgym_action.model.errors import OutputError
from skillgym_action.model.verdicts import TROUBLES, Status


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


# --- one session ------------------------------------------------------------------------------------


def test_an_agent_that_does_the_work_passes_and_leaves_nothing_behind(bench):
    (result,) = bench.run(PASSING).results
    assert (result.status, attempts(result)) == (Status.PASSED, ["1.1 passed"])
    assert not bench.artifact("workspaces").exists()
    assert not bench.artifact("core/one/sh/repeat-1/error.json").exists()


@pytest.mark.parametrize(
    ("keep", "changes", "workspace"),
    [
        pytest.param(None, ["other.txt"], ["other.txt", "skillgym.config.yaml"], id="by default all of it"),
        pytest.param("changed", ["other.txt"], [], id="what changed"),
        pytest.param("all", ["other.txt"], ["other.txt", "skillgym.config.yaml"], id="all of it"),
        pytest.param("none", [], [], id="nothing"),
    ],
)
def test_an_agent_that_does_nothing_fails_and_its_workspace_is_archived_if_wanted(bench, keep, changes, workspace):
    given = {"keep": keep} if keep else {}
    (result,) = bench.run("echo > other.txt", **given).results
    assert (result.status, result.judgement.failure.message) == (Status.FAILED, "out.txt does not exist")
    saved, kept = bench.artifact("core/one/sh/repeat-1/changes"), bench.artifact("workspaces/core/one/sh/repeat-1")
    assert [path.name for path in saved.rglob("*")] == changes
    assert sorted(path.name for path in kept.glob("[!.]*")) == workspace
    workspace_json = json.loads(bench.artifact("core/one/sh/repeat-1/workspace.json").read_text())
    assert (workspace_json["created"], workspace_json["complete"]) == (["other.txt"], keep != "none")
    error = json.loads(bench.artifact("core/one/sh/repeat-1/error.json").read_text())
    assert (error["name"], error["message"]) == ("AssertionError", "out.txt does not exist")


def test_of_a_large_workspace_the_changes_and_a_note_are_archived(bench):
    prepared = {"workspace": {"bootstrap": "truncate -s 65M large.bin"}}
    bench.run("echo > other.txt", suite_fields=prepared)
    kept = bench.artifact("workspaces/core/one/sh/repeat-1")
    assert [path.name for path in kept.iterdir()] == ["not-archived.txt"]
    note = (kept / "not-archived.txt").read_text()
    assert note.startswith("This workspace was not archived: it had 3 files and folders of 65 MiB, and at most 20,000")
    changes = bench.artifact("core/one/sh/repeat-1/changes")
    assert [path.name for path in changes.iterdir()] == ["other.txt"]


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("exit 9", id="a crash"),
        pytest.param(trouble("refused"), id="a refusal"),
        pytest.param(trouble("auth"), id="no key"),
    ],
)
def test_every_session_that_is_not_green_leaves_its_workspace(bench, script):
    bench.run(f"echo > other.txt; {script}")
    assert bench.artifact("workspaces/core/one/sh/repeat-1/other.txt").exists()


def test_a_failed_bootstrap_leaves_its_workspace(bench):
    bench.run("true", suite_fields={"workspace": {"bootstrap": "echo > half.txt; exit 3"}})
    assert bench.artifact("workspaces/core/one/sh/repeat-1/half.txt").exists()


@pytest.mark.parametrize(
    ("script", "status"),
    [
        pytest.param("true", Status.EXPECTED_FAILED, id="it fails as expected"),
        pytest.param(PASSING, Status.UNEXPECTED_PASSED, id="it passes after all"),
        pytest.param(trouble("auth"), Status.ERRORED, id="trouble is no expected failure"),
        pytest.param(trouble("refused"), Status.FAILED, id="nor is an answer that the model refused"),
    ],
)
def test_a_case_may_expect_to_fail(bench, script, status):
    (result,) = bench.run(script, case(expectedFail=True)).results
    assert result.status is status


def test_after_trouble_file_assertions_are_evaluated_and_commands_are_not_run(bench):
    expect = ("file:out.txt exists", "test:touch $LOG/ran", "no-file:out.txt")
    (result,) = bench.run(f"{PASSING}; {trouble('auth')}", case(expect=expect)).results
    assert [(one.assertion, one.passed) for one in result.judgement.outcomes] == [
        ("file:out.txt exists", True),
        ("no-file:out.txt", False),
    ]


def test_suites_with_the_same_name_are_named_by_their_paths(bench):
    report = bench.run(PASSING, files={"bench/other.json": suite()})
    assert [result.suite.name for result in report.results] == ["bench/core.json", "bench/other.json"]
    assert len({result.directory for result in report.results}) == 2


def test_the_journal_has_a_line_for_each_session(bench):
    bench.run(PASSING, case("a"), case("b", ("no-file:out.txt",)), retry=1)
    first, *others = (json.loads(line) for line in bench.artifact("journal.jsonl").read_text().splitlines())
    lines = [line for line in others if "event" not in line]
    assert (first["schema"], first["command"], first["settings"]["retry"]) == (1, "run", 1)
    stored = [line["result"] for line in lines]
    assert [(one["caseId"], one["runnerId"], one["status"], one["attempts"][0]["session"]) for one in stored] == [
        ("a", "sh", "passed", 1),
        ("b", "sh", "failed", 1),
        ("b", "sh", "failed", 2),
    ]


# --- trouble and retries ----------------------------------------------------------------------------

SESSIONS = {
    **dict.fromkeys(("rate-limit", "provider", "network"), 3),
    **dict.fromkeys(("runner-crash", "container"), 2),
    **dict.fromkeys(("auth", "model-rejected", "agent-missing", "mcp-server", "quota", "no-model-call"), 1),
    **dict.fromkeys(("content-policy", "context-exceeded", "output-limit", "refused"), 1),
    **dict.fromkeys(("timeout", "max-steps", "budget-exceeded", "resource-limit", "out-of-memory"), 1),
    **dict.fromkeys(("workspace", "workspace-bootstrap", "collection", "normalization"), 1),
    **dict.fromkeys(("snapshot", "assert-hook", "grader", "suite-invalid"), 1),
    **dict.fromkeys(("worker-lost", "worker-answer"), 1),
}


@pytest.mark.parametrize(("kind", "sessions"), SESSIONS.items())
def test_the_number_of_sessions_by_kind_of_trouble(bench, kind, sessions):
    (result,) = bench.run(f"{COUNT}; {trouble(kind)}").results
    status = TROUBLES[kind].status
    assert (result.status, result.judgement.failure_class.id) == (status, kind)
    assert result.judgement.failure.message == f"{kind}!"
    assert (len(result.attempts), bench.sessions) == (sessions, sessions)


def test_every_kind_of_trouble_has_its_number_of_sessions():
    assert SESSIONS.keys() == TROUBLES.keys()


def test_a_session_that_succeeds_after_trouble_counts(bench):
    script = f"{COUNT}; if [ $n = 1 ]; then {trouble('rate-limit')}; exit 1; fi; {PASSING}"
    report = bench.run(script)
    (result,) = report.results
    assert (result.status, attempts(result)) == (Status.PASSED, ["1.1 errored", "1.2 passed"])
    assert result.attempts[0].failure_class.id == "rate-limit"
    assert report.totals().retries == 1
    assert (result.directory, bench.artifact(result.directory).is_dir()) == ("core/one/sh/repeat-1/session-2", True)


def test_a_crash_is_retried_once(bench):
    (result,) = bench.run(f"{COUNT}; echo oops >&2; exit 3").results
    assert (result.status, bench.sessions) == (Status.ERRORED, 2)
    assert (result.judgement.failure_class.id, result.judgement.failure.message) == (
        "runner-crash",
        "exited with code 3: oops",
    )


def test_retry_after_of_the_service_is_respected(bench):
    clock = FakeClock()
    report = bench.run(f"{COUNT}; [ $n = 2 ] || {trouble('rate-limit', retryAfter=0.4)}; {PASSING}", clock=clock)
    assert (statuses(report), bench.sessions, clock.waits) == (["passed"], 2, [0.4])


@pytest.mark.parametrize("kind", [kind for kind, trouble in TROUBLES.items() if trouble.stops_runner])
def test_permanent_trouble_stops_its_runner_only(bench, kind):
    agents = {"broken": bench.agent(f"{COUNT}; {trouble(kind)}"), "sound": bench.agent(PASSING)}
    report = bench.run(agents, case("a"), case("b"), case("c"))
    assert statuses(report) == ["errored", "passed"] * 3
    broken = [result for result in report.results if result.runner.id == "broken"]
    assert [result.judgement.failure_class.id for result in broken] == [kind] * 3
    assert [result.judgement.failure.message for result in broken] == [
        f"{kind}!",
        *[f"not started, since the runner failed before: {kind}!"] * 2,
    ]
    assert ([len(result.attempts) for result in broken], bench.sessions) == ([1, 0, 0], 1)


def test_a_service_that_two_cases_cannot_reach_stops_its_runner(bench):
    agents = {"away": bench.agent(f"{COUNT}; {trouble('network')}"), "sound": bench.agent(PASSING)}
    report = bench.run(agents, case("a"), case("b"), case("c"))
    assert statuses(report) == ["errored", "passed"] * 3
    away = [result for result in report.results if result.runner.id == "away"]
    assert [len(result.attempts) for result in away] == [3, 3, 0]
    assert away[2].judgement.failure.message == "not started, since the runner failed before: network!"


def test_a_service_that_answers_between_stops_nothing(bench):
    script = f"{COUNT}; case $n in 4) {PASSING} ;; *) {trouble('network')} ;; esac"
    report = bench.run({"sh": bench.agent(script)}, case("a"), case("b"), case("c"), case("d"))
    assert statuses(report) == ["errored", "passed", "errored", "errored"]
    assert [len(result.attempts) for result in report.results] == [3, 1, 3, 3]


@pytest.mark.parametrize("kind", [kind for kind, trouble in TROUBLES.items() if not trouble.stops_runner])
def test_other_trouble_affects_its_execution_only(bench, kind):
    script = f"test -e mark || {trouble(kind)}; {PASSING}"
    report = bench.run(script, case("a"), case("b"), files={"bench/t/x": ""})
    assert [result.judgement.failure_class.id for result in report.results] == [kind, kind]
    assert all(result.attempts for result in report.results)


def test_a_missing_program_is_a_missing_agent(bench):
    agents = {"sh": {"agent": {"type": "command", "command": ["no-such-agent"]}}}
    (result,) = bench.run(agents).results
    assert (result.judgement.failure_class.id, result.judgement.failure.message) == (
        "agent-missing",
        "cannot start 'no-such-agent': No such file or directory",
    )


# --- time limits ------------------------------------------------------------------------------------


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.timed
def test_a_time_limit_leaves_nothing_running_not_even_what_left_the_session(bench):
    script = f"{COUNT}; setsid sh -c 'echo $$ > $LOG/pid; exec sleep 300' & sleep 300"
    (result,) = bench.run(script, timeout=0.5).results
    assert (result.judgement.failure_class.id, bench.sessions) == ("timeout", 1)
    assert result.judgement.failure.message == "timed out after 0.5 s"
    assert not is_running(int(bench.logged("pid")[0]))


def test_what_an_agent_leaves_running_ends_with_its_session(bench):
    script = f"(setsid sleep 300 >/dev/null 2>&1 & echo $! > $LOG/pid); {PASSING}"
    assert statuses(bench.run(script)) == ["passed"]
    assert not is_running(int(bench.logged("pid")[0]))


@pytest.mark.timed
def test_output_before_the_limit_is_kept(bench):
    bench.run("echo working; echo trouble >&2; sleep 300", timeout=0.5)
    folder = bench.artifact("core/one/sh/repeat-1")
    assert ((folder / "stdout.log").read_text(), (folder / "stderr.log").read_text()) == ("working\n", "trouble\n")


def test_a_time_limit_of_years_is_no_trouble(bench):
    assert statuses(bench.run(PASSING, timeout=1e12)) == ["passed"]


def test_a_session_with_too_many_model_rounds_is_ended_at_once(bench):
    rounds = "; ".join(event(type="step", id=str(number)) for number in range(3))
    (result,) = bench.run(f"{COUNT}; {rounds}; sleep 30; touch $LOG/went-on", max_steps=2).results
    assert not (bench.log / "went-on").exists()
    assert (result.judgement.failure_class.id, bench.sessions) == ("max-steps", 1)
    assert result.judgement.failure.message == "exceeded the limit of 2 model rounds"


def test_a_session_with_too_many_model_rounds_leaves_its_output_and_a_report_that_is_marked_as_partial(bench):
    rounds = "; ".join(event(type="step", id=str(number)) for number in range(3))
    expect = ("test:touch $LOG/judged", "file:out.txt exists")
    (result,) = bench.run(f"{rounds}; echo trouble >&2; sleep 30", case(expect=expect), max_steps=2).results
    assert [outcome.assertion for outcome in result.judgement.outcomes] == ["file:out.txt exists"]
    assert not (bench.log / "judged").exists()
    folder = bench.artifact("core/one/sh/repeat-1")
    assert len((folder / "stdout.log").read_text().splitlines()) == 3
    assert (folder / "stderr.log").read_text() == "trouble\n"
    assert not (folder / "report.json").exists()
    report = json.loads((folder / "partial-report.json").read_text())
    assert (report["partial"], report["prompt"], report["trouble"]["kind"]) == (True, "Do one", "max-steps")


def test_a_session_that_has_cost_more_than_its_budget_is_failed_though_its_work_is_done(bench):
    script = f"{PASSING}; {event(type='session', cost={'usd': 9.5})}"
    (result,) = bench.run(script, case(budget=0.1, expectedFail=True)).results
    assert (result.status, result.judgement.origin) == (Status.FAILED, "limit")
    assert result.judgement.failure_class.id == "budget-exceeded"
    assert result.judgement.failure.message == "exceeded the budget of $0.10: $9.50 spent"
    assert [outcome.passed for outcome in result.judgement.outcomes] == [True]
    report = json.loads(bench.artifact("core/one/sh/repeat-1/report.json").read_text())
    assert report["trouble"]["kind"] == "budget-exceeded"
    (result,) = bench.run(f"{PASSING}; {event(type='session', cost={'usd': 0.104})}", case(budget=0.1)).results
    assert result.judgement.failure.message == "exceeded the budget of $0.100: $0.104 spent"
    (result,) = bench.run(f"{PASSING}; {event(type='session', cost={'usd': 0.1})}", case(budget=0.1)).results
    assert result.status is Status.PASSED, "as much as it may cost is not too much"


def test_a_budget_that_could_not_be_checked_is_a_warning(bench):
    agents = {"sh": bench.agent(PASSING), "told": bench.agent(f"{PASSING}; {event(type='session', cost={'usd': 0.1})}")}
    report = bench.run(agents, case("a", budget=1), case("b", budget=1), case("c"))
    (warning,) = report.warnings
    assert str(warning) == (
        "sh: the budgets of 2 executions could not be checked, since the cost of the sessions is unknown; set the "
        "price of the model under prices in the configuration, or remove the budget"
    )


# --- repetitions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "given", "expected", "status"),
    [
        pytest.param(
            PASSING, {"repeat": 3}, ["1.1 passed", "2.1 passed", "3.1 passed"], "passed", id="as many as asked for"
        ),
        pytest.param(
            "[ $n = 2 ] || " + PASSING, {"repeat": 3}, ["1.1 passed", "2.1 failed", "3.1 passed"], "failed",
            id="whatever failed before",
        ),
        pytest.param(
            "[ $n = 1 ] || " + PASSING, {"repeat": 4, "require": "any"},
            ["1.1 failed", "2.1 passed", "3.1 passed", "4.1 passed"], "passed", id="one has to pass",
        ),
        pytest.param(
            "[ $n = 1 ] || " + PASSING, {"repeat": 3, "require": "2"},
            ["1.1 failed", "2.1 passed", "3.1 passed"], "passed", id="two of three have to pass, and do",
        ),
        pytest.param(
            "[ $n -le 2 ] || " + PASSING, {"repeat": 3, "require": "2"},
            ["1.1 failed", "2.1 failed", "3.1 passed"], "failed", id="two of three have to pass, and do not",
        ),
        pytest.param(
            f"[ $n != 2 ] || {trouble('workspace')}; " + PASSING, {"repeat": 3},
            ["1.1 passed", "2.1 errored", "3.1 passed"], "errored", id="one that cannot be judged leaves it open",
        ),
        pytest.param(
            f"[ $n != 2 ] || {trouble('workspace')}; [ $n = 3 ] || " + PASSING, {"repeat": 3},
            ["1.1 passed", "2.1 errored", "3.1 failed"], "failed", id="one that failed decides beside it",
        ),
        pytest.param(
            f"[ $n != 2 ] || {trouble('workspace')}; " + PASSING, {"repeat": 3, "require": "2"},
            ["1.1 passed", "2.1 errored", "3.1 passed"], "passed", id="enough passed, whatever the other would have",
        ),
        pytest.param(
            f"[ $n = 1 ] && {trouble('auth')}; " + PASSING, {"repeat": 3}, ["1.1 errored"], "errored",
            id="a runner that cannot work gets no other session",
        ),
        pytest.param(
            "[ $n = 2 ] || " + PASSING,
            {"repeat": 3, "retry": 1},
            ["1.1 passed", "2.1 failed", "2.2 passed", "3.1 passed"],
            "passed",
            id="a failed one is tried again",
        ),
        pytest.param(
            "true", {"retry": 2}, ["1.1 failed", "1.2 failed", "1.3 failed"], "failed", id="as often as allowed"
        ),
        pytest.param(PASSING, {"retry": 2}, ["1.1 passed"], "passed", id="success needs no retry"),
        pytest.param(
            f"[ $n = 1 ] && {trouble('rate-limit')}; true",
            {"retry": 1},
            ["1.1 errored", "1.2 failed", "1.3 failed"],
            "failed",
            id="trouble does not use up retries",
        ),
    ],
)  # fmt: skip
def test_repetitions_and_retries(bench, script, given, expected, status):
    report = bench.run(f"{COUNT}; {script}", **given)
    (result,) = report.results
    assert attempts(result) == expected
    assert str(result.status) == status


def test_the_artifacts_of_an_execution_are_those_of_the_session_that_decided_it(bench):
    (result,) = bench.run(f"{COUNT}; [ $n = 2 ] || {PASSING}", repeat=3).results
    assert (result.directory, result.judgement.failure.name) == ("core/one/sh/repeat-2", "AssertionError")
    (result,) = bench.run(f"{COUNT}; [ $n = 6 ] || {PASSING}", repeat=3, require="any").results
    assert (result.directory, result.judgement.failure) == ("core/one/sh/repeat-2", None)


@pytest.mark.timed
@pytest.mark.parametrize(
    ("on_limit", "status", "origin", "evaluated"),
    [
        pytest.param(None, Status.FAILED, "limit", ["test:true passes", "file:out.txt exists"], id="by default"),
        pytest.param("errored", Status.ERRORED, "timeout", ["file:out.txt exists"], id="errored"),
    ],
)
def test_a_time_limit_is_a_failure_of_the_agent_unless_it_is_to_be_errored(bench, on_limit, status, origin, evaluated):
    one = case(expect=("test:true passes", "file:out.txt exists"))
    report = bench.run(f"{PASSING}; sleep 300", one, timeout=0.5, on_limit=on_limit)
    (result,) = report.results
    assert (result.status, result.judgement.origin) == (status, origin)
    assert [(outcome.assertion, outcome.passed) for outcome in result.judgement.outcomes] == [
        (assertion, True) for assertion in evaluated
    ]
    assert report.decision.exit_code == (1 if status is Status.FAILED else 3)


def test_a_crashed_check_is_not_retried(bench):
    (result,) = bench.run(COUNT, case(expect=("test:no-such-command-anywhere",)), retry=3).results
    assert (result.judgement.failure_class.id, bench.sessions) == ("grader", 1)


def test_tokens_are_averages_over_successes_and_cost_is_the_sum_of_all(bench):
    def usage(tokens: int, usd: float) -> str:
        return event(type="session", usage={"inputTokens": tokens, "outputTokens": 1}, cost={"usd": usd})

    script = (
        f"{COUNT}; case $n in 1) {usage(10, 0.5)};; 2) {usage(990, 1.5)}; exit;; 3) {usage(30, 0.25)};; esac; {PASSING}"
    )
    (result,) = bench.run(script, repeat=2, retry=1).results
    assert attempts(result) == ["1.1 passed", "2.1 failed", "2.2 passed"]
    assert (result.usage.input_tokens, result.usage.output_tokens, result.usage.total_tokens) == (20, 1, 21)
    assert (result.cost.usd, result.cost.source) == (2.25, "reported")


def test_cost_is_unknown_as_soon_as_one_session_s_is(bench):
    known = event(type="session", cost={"usd": 0.5})
    (result,) = bench.run(f"{COUNT}; [ $n = 2 ] || {known}; {PASSING}", repeat=2).results
    assert result.cost.usd is None


def test_each_session_keeps_a_workspace_of_its_own(bench):
    bench.run(f"{COUNT}; touch session-$n.txt", retry=1, keep="all")
    kept = bench.artifact("workspaces/core/one/sh")
    found = sorted(path.relative_to(kept).as_posix() for path in kept.rglob("session-*.txt"))
    assert found == ["repeat-1-session-2/session-2.txt", "repeat-1/session-1.txt"]


# --- money ------------------------------------------------------------------------------------------


def test_no_session_starts_once_the_budget_is_spent(bench):
    script = f"{COUNT}; {event(type='session', cost={'usd': 0.6})}; {PASSING}"
    report = bench.run(script, case("a"), case("b"), case("c"), case("d"), max_cost=1)
    assert statuses(report) == ["passed", "passed", "skipped", "skipped"]
    assert report.results[2].judgement.reason == "the run's budget is spent: $1.20 of $1.00"
    assert bench.sessions == 2
    assert report.decision.exit_code == 0


def test_a_budget_that_was_spent_may_be_made_red(bench):
    script = f"{event(type='session', cost={'usd': 2})}; {PASSING}"
    report = bench.run(script, case("a"), case("b"), max_cost=1, fail_on="budget")
    assert (report.decision.exit_code, report.decision.reasons) == (
        3,
        ("1 not started, since the run's budget was spent",),
    )


# --- order and schedules ----------------------------------------------------------------------------

ALONE = "mkdir $LOG/lock-{lock} || echo two > $LOG/overlap; sleep 0.05; rmdir $LOG/lock-{lock}; echo > out.txt"


def test_results_are_in_plan_order_whatever_finishes_first(bench):
    class Marking(Watched):
        """Marks in a file that an execution has ended."""

        def finished(self, result):
            super().finished(result)
            (bench.log / result.case_id).touch()

    watched = Marking()
    wait = f"until [ -e {bench.log}/fast ]; do sleep 0.02; done"
    script = f"case $(cat) in *slow) {wait};; esac; echo > out.txt"
    standard = {"bench/core.json": suite(case("slow"), case("fast")), "skillgym.config.yaml": config(runner(script))}
    report = run_in(repository(bench.root, standard), watched, jobs=2)
    assert [result.case_id for result in report.results] == ["slow", "fast"]
    assert (watched.total, watched.begun[0], watched.ended) == (2, "slow", ["fast", "slow"])


def test_jobs_run_at_once(bench):
    report = bench.run(MEET.format(n=3), case("a"), case("b"), case("c"), jobs=3)
    assert statuses(report) == ["passed"] * 3


def test_serial_means_one_at_a_time(bench):
    agents = {name: bench.agent(ALONE.format(lock="all")) for name in ("x", "y")}
    assert statuses(bench.run(agents, case("a"), case("b"), jobs=4, schedule="serial")) == ["passed"] * 4
    assert bench.logged("overlap") == []


def test_isolated_by_runner_means_one_at_a_time_for_each_runner(bench):
    agents = {name: bench.agent(ALONE.format(lock=name)) for name in ("x", "y")}
    report = bench.run(agents, case("a"), case("b"), case("c"), schedule="isolated-by-runner")
    assert statuses(report) == ["passed"] * 6
    assert bench.logged("overlap") == []


def test_isolated_by_runner_runs_runners_in_parallel(bench):
    agents = {name: bench.agent(MEET.format(n=2)) for name in ("x", "y")}
    assert statuses(bench.run(agents, schedule="isolated-by-runner")) == ["passed"] * 2


# --- workspaces -------------------------------------------------------------------------------------


def test_a_template_and_a_bootstrap_prepare_the_workspace(bench):
    fields = {"workspace": {"templateDir": "start", "bootstrap": {"command": "./prepare.sh", "args": ["made.txt"]}}}
    files = {
        "bench/start/given.txt": "given",
        "bench/prepare.sh": "#!/bin/sh\necho $SKILLGYM_CASE_ID > $1; env > env.txt\n",
    }
    bench.run("true")  # makes the folder
    written(bench.root, files)
    (bench.root / "bench/prepare.sh").chmod(0o755)
    expect = ("file:given.txt contains 'given'", "file:made.txt contains 'one'", "diff:made.txt", "no-file:bench")
    report = bench.run("echo one-changed > made.txt; cp env.txt $LOG", case(expect=expect), suite_fields=fields)
    assert statuses(report) == ["passed"]
    seen = dict(line.split("=", 1) for line in bench.logged("env.txt"))
    assert seen["SKILLGYM_RUNNER_ID"] == "sh"
    assert seen["SKILLGYM_ARTIFACT_DIR"] == str(bench.artifact("core/one/sh/repeat-1"))
    assert seen["SKILLGYM_WORKSPACE"] == seen["PWD"]
    assert "LOG" not in seen


def test_files_of_the_bootstrap_are_no_changes_of_the_agent(bench):
    fields = {"workspace": {"bootstrap": "echo prepared > made.txt"}}
    (result,) = bench.run("touch made.txt", case(expect=("diff:made.txt",)), suite_fields=fields).results
    assert result.status is Status.FAILED


@pytest.mark.parametrize(
    ("bootstrap", "message"),
    [
        pytest.param("echo no network >&2; exit 7", "sh: exit code 7\nno network", id="it fails"),
        pytest.param(
            {"command": "sleep", "args": ["300"], "timeout": 0.3},
            "sleep: timed out after 0.3 s",
            id="it hangs",
            marks=pytest.mark.timed,
        ),
        pytest.param({"command": "nope"}, "cannot start 'nope': No such file or directory", id="it is missing"),
    ],
)
def test_a_failed_bootstrap_is_reported_and_no_agent_starts(bench, bootstrap, message):
    fields = {"workspace": {"bootstrap": bootstrap}}
    report = bench.run(COUNT, case("a"), case("b"), suite_fields=fields, retry=2, keep="all")
    assert statuses(report) == ["errored", "errored"]
    first = report.results[0]
    assert (first.judgement.origin, first.judgement.failure.message) == ("workspace-bootstrap", message)
    assert (bench.sessions, len(first.attempts)) == (0, 1)
    assert bench.artifact("core/a/sh/repeat-1/bootstrap.stderr.log").exists()
    assert bench.artifact("workspaces/core/a/sh/repeat-1/bench").is_dir() is False
    assert bench.artifact("workspaces/core/a/sh/repeat-1/skillgym.config.yaml").exists()


def test_a_missing_template_is_trouble_with_the_workspace(bench):
    (result,) = bench.run(COUNT, suite_fields={"workspace": {"templateDir": "nowhere"}}).results
    assert (result.judgement.failure_class.id, bench.sessions) == ("workspace", 0)
    assert "nowhere" in result.judgement.failure.message


PYTHON = """from skillgym_action import Suite, Workspace
workspace = Workspace(mode={mode!r}{more})
suite = Suite()
@suite.case("one", prompt="Do one")
def one(report, ctx): pass
@suite.case("two", prompt="Do two")
def two(report, ctx): pass
"""


def with_python(mode: str, more: str = "") -> dict[str, str]:
    return {"bench/core.json": None, "bench/own_suite.py": PYTHON.format(mode=mode, more=more)}


def test_a_missing_directory_is_trouble_with_the_workspace(bench):
    report = bench.run("true", files=with_python("none", ", cwd='nowhere'"))
    assert [result.judgement.failure_class.id for result in report.results] == ["workspace", "workspace"]
    assert str(bench.root / "bench/nowhere") in report.results[1].judgement.failure.message


def test_a_shared_directory_keeps_what_sessions_left(bench):
    bench.run("ls >> $LOG/seen; touch left.txt", files=with_python("shared"))
    assert bench.logged("seen") == ["left.txt"]


@pytest.mark.parametrize("schedule", ["parallel", "isolated-by-runner"])
def test_sessions_in_a_shared_directory_run_one_after_the_other(bench, schedule):
    agents = {name: bench.agent(ALONE.format(lock="one for both")) for name in ("x", "y")}
    report = bench.run(agents, files=with_python("shared"), schedule=schedule, jobs=4)
    assert statuses(report) == ["passed"] * 4
    assert bench.logged("overlap") == []


def test_sessions_in_isolated_directories_run_in_parallel(bench):
    agents = {name: bench.agent(MEET.format(n=4)) for name in ("x", "y")}
    report = bench.run(agents, files=with_python("isolated"), jobs=4)
    assert statuses(report) == ["passed"] * 4


def test_an_isolated_directory_is_empty_each_time(bench):
    bench.run("ls >> $LOG/seen; echo end >> $LOG/seen; touch left.txt", files=with_python("isolated"))
    assert bench.logged("seen") == ["end", "end"]


def test_a_shared_directory_that_an_agent_removed_is_trouble_with_the_workspace(bench):
    report = bench.run('rm -rf "$PWD"', files=with_python("shared"))
    assert report.results[1].judgement.failure_class.id == "workspace"


# --- hostile agents ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param('rm -rf "$PWD"', id="removes its workspace"),
        pytest.param("cd ..; rm -rf workspace; ln -s / workspace", id="makes its workspace the whole machine"),
        pytest.param('rm -rf "$HOME"', id="removes its home"),
        pytest.param("mkfifo out.txt", id="leaves a FIFO without a writer"),
        pytest.param("ln -s /etc/passwd out.txt", id="leaves a link to a file outside"),
        pytest.param("kill -9 $$", id="kills itself"),
        pytest.param("head -c 3000000 /dev/urandom", id="prints what is no text", marks=pytest.mark.slow),
    ],
)
def test_an_agent_harms_no_execution_but_its_own(bench, harm):
    script = f"case $(cat) in *evil) {harm}; exit;; esac; echo > out.txt"
    report = bench.run(script, case("evil"), case("good"))
    assert statuses(report)[0] in {"failed", "errored"}
    assert statuses(report)[1] == "passed"


@pytest.mark.slow
def test_an_agent_may_create_folders_deeper_than_the_longest_path(bench):
    dig = "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')"
    assert statuses(bench.run(f'{PASSING}; {sys.executable} -c "{dig}"', case("a"), case("b"))) == ["passed", "passed"]


def test_no_artifact_contains_a_key_of_the_agent(bench, tmp_path):
    key = "k-1234567890-very-secret"
    script = 'echo $API_TOKEN; echo $API_TOKEN >&2; echo "#$API_TOKEN" > out.txt; mkdir d; cp out.txt d/.env; exit 3'
    agents = {"sh": runner(script, env={"API_TOKEN": "${{ API_TOKEN }}"})}
    standard = {
        "bench/core.json": suite(case(expect=("file:out.txt contains 'zzz'",))),
        "skillgym.config.yaml": config(**agents),
    }
    ran = skillgym("run", "--output", "results", "--verbose", cwd=repository(bench.root, standard), API_TOKEN=key)
    assert (ran.code, key in ran.err) == (3, False)
    artifacts = [path for path in bench.artifact(".").rglob("*") if path.is_file()]
    assert {"stdout.log", ".env", "out.txt", "report.json"} <= {path.name for path in artifacts}
    assert [path for path in artifacts if key.encode() in path.read_bytes()] == []


def test_graders_find_nothing_in_their_home(bench):
    script = 'mkdir -p "$HOME/grader-home"; touch "$HOME/grader-home/evil" "$HOME/.npmrc"'
    (result,) = bench.run(script, case(expect=('test:test -z "$(ls -A $HOME)"',))).results
    assert result.status is Status.PASSED


# --- when results cannot be written -----------------------------------------------------------------


def test_an_unwritable_run_directory_ends_the_run_with_a_clear_message(bench):
    replace = f"rm -rf {bench.root}/results; touch {bench.root}/results"
    wait = "while [ ! -e $LOG/asleep ]; do sleep 0.02; done"
    script = f"case $(cat) in *breaks) {wait}; {replace};; *) touch $LOG/asleep; sleep 30; touch $LOG/went-on;; esac"
    with pytest.raises(OutputError, match=r"cannot write .*results"):
        bench.run(script, case("breaks"), case("sleeps"), case("waits"), jobs=2)
    assert not (bench.log / "went-on").exists()
