"""Runs that use an earlier run: resumed, judged again, merged, gated by a baseline; and suites that `init` wrote."""

from __future__ import annotations

import json
import signal

import pytest

from scratch import case as x_bench
from scratch import committed, config, git_in, repository, runner, skillgym, started, suite, written
from waiting import until_written

EIGHT = tuple(map(x_bench, "abcdefgh"))
GOOD, BAD = "write out.txt", "do nothing"
AGENT = "if grep -q write AGENTS.md; then echo done > out.txt; fi"
"""An agent that does what the repository's instructions say, so that a commit can make it worse."""


def results(folder) -> dict:
    return json.loads((folder / "results.json").read_text())


def statuses(folder) -> dict[str, str]:
    return {one["caseId"]: one["status"] for part in results(folder)["suites"] for one in part["results"]}


def test_a_cancelled_run_is_resumed_with_the_sessions_that_did_not_end(tmp_path):
    log, begun, go = (tmp_path / name for name in ("log", "begun", "go"))
    script = (
        f"read -r _ task; echo $task >> {log}; "
        f"[ $task = slow ] && [ ! -e {go} ] && {{ echo x > {begun}; sleep 300; }}; echo done > out.txt"
    )
    cases = suite(x_bench("quick"), x_bench("slow"), x_bench("never"))
    root = repository(tmp_path / "r", {"bench/core.json": cases, "skillgym.config.yaml": config(runner(script))})
    child = started("run", "--output", "out", cwd=root)
    until_written(begun)
    child.send_signal(signal.SIGTERM)
    child.communicate()
    assert (child.returncode, statuses(root / "out")) == (
        130,
        {"quick": "passed", "slow": "skipped", "never": "skipped"},
    )
    go.touch()
    again = skillgym("run", "--resume", "out", cwd=root)
    assert (again.code, statuses(root / "out")) == (0, dict.fromkeys(("quick", "slow", "never"), "passed")), again.err
    assert "resumed: 1 session finished before" in again.err
    assert log.read_text().split() == ["quick", "slow", "slow", "never"]


@pytest.fixture
def project(tmp_path):
    files = {"bench/core.json": suite(*EIGHT), "skillgym.config.yaml": config(runner(AGENT)), "AGENTS.md": GOOD}
    return repository(tmp_path / "repo", files | {".gitignore": "out*\n"}, git=True)


def run(project, output, *args):
    ran = skillgym("run", "--fail-on", "regression", "--output", output, *args, cwd=project)
    return ran.code, results(project / output)["run"].get("comparison", {}).get("verdict"), ran.err


def test_a_gate_against_a_baseline_is_red_for_a_regression_alone(project):
    assert skillgym("run", "--output", "out-base", cwd=project).code == 0
    assert run(project, "out-same", "--baseline", "out-base")[:2] == (0, "no-regression-shown")
    written(project, {"AGENTS.md": BAD})
    committed(project)
    code, verdict, shown = run(project, "out-worse", "--baseline", "out-base")
    assert (code, verdict) == (1, "regression"), shown
    assert ": 100% → 0% of attempts pass\n" in shown
    compared = skillgym("compare", "out-base", "out-worse", "--fail-on", "regression", cwd=project)
    assert (compared.code, "✗ Worse than " in compared.out) == (1, True), compared.out


def test_results_in_a_store_are_the_baseline_of_later_commits(project, tmp_path):
    store = ("--store", f"path={tmp_path}/store")
    code, verdict, shown = run(project, "out-1", *store, "--store-write")
    assert (code, verdict) == (0, None), shown
    assert "has no results of the base: nothing was compared" in shown
    written(project, {"AGENTS.md": BAD})
    committed(project)
    code, verdict, shown = run(project, "out-2", *store)
    assert (code, verdict) == (1, "regression"), shown


def test_a_gate_without_a_baseline_is_inconclusive(project, tmp_path):
    code, _, shown = run(project, "out", "--store", f"path={tmp_path}/empty")
    assert (code, "no baseline to compare with" in shown) == (3, True), shown


def test_a_stored_run_is_judged_again_and_reported_without_its_agent(project):
    assert skillgym("run", "--output", "out-1", cwd=project).code == 0
    stricter = suite(x_bench("a", ("file:out.txt contains 'more'",)), *EIGHT[1:])
    written(project, {"bench/core.json": stricter, "skillgym.config.yaml": config(runner("exit 3"))})
    again = skillgym("rejudge", "out-1", "--output", "out-2", cwd=project)
    expected = {name: "failed" if name == "a" else "passed" for name in "abcdefgh"}
    assert (again.code, statuses(project / "out-2")) == (1, expected), again.err
    reported = skillgym("report", "out-2", "--output", "out-3", "--min-pass-rate", "0.8", cwd=project)
    assert (reported.code, statuses(project / "out-3")) == (1, expected), reported.err


def test_shards_are_merged_into_one_report(project):
    for shard in ("1/2", "2/2"):
        assert skillgym("run", "--shard", shard, "--output", f"out-{shard[0]}", cwd=project).code == 0
    merged = skillgym("report", "out-1", "out-2", "--output", "out", cwd=project)
    assert (merged.code, statuses(project / "out")) == (0, dict.fromkeys("abcdefgh", "passed")), merged.err


@pytest.mark.parametrize("kind", ["x-bench", "python", "typescript", "agentv"])
def test_what_init_writes_passes_check_and_fails_with_an_agent_that_does_nothing(tmp_path, kind):
    written(tmp_path, {"README.md": "# Shop\n"})
    git_in(tmp_path, "init", "--quiet", "--initial-branch=main")
    committed(tmp_path)
    assert skillgym("init", "--format", kind, cwd=tmp_path).code == 0
    checked = skillgym("check", cwd=tmp_path)
    assert (checked.code, "OK: 1 suite, 2 cases, 1 runner" in checked.out) == (0, True), checked.err
    played = skillgym("run", "--runner", "nop", cwd=tmp_path)
    assert (played.code, "✗ 0 of 2 results pass, 2 fail for " in played.err) == (1, True), played.err
