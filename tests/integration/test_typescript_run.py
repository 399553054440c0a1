"""TypeScript suites through the whole line: repetitions, order, artifacts, workspaces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scratch import repository, skillgym

# Counts its sessions beside the repository, so that it may do something else each time.
AGENT = """\
n=$(($(cat "$COUNT" 2>/dev/null || echo 0) + 1)); echo $n > "$COUNT"
printf '{"type": "session", "finalOutput": "%s", "usage": {"inputTokens": %s00, "outputTokens": 1}}\\n' $n $n
echo $n >> trace.txt
"""
HEAD = 'import { readFileSync } from "node:fs";\nimport { assert } from "skillgym";\n'
CASE = '{ id: "%s", prompt: "p", assert: (report) => %s }'


def suite(*cases: tuple[str, str], workspace: str = "") -> str:
    """A suite of cases with those ids and checks."""
    exported = f"export const workspace = {workspace};\n" if workspace else ""
    return HEAD + exported + "export default [\n" + "".join(f"  {CASE % case},\n" for case in cases) + "];\n"


def run(root: Path, text: str, *options: str, settings: dict[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """Results by case and runner."""
    agent = {"type": "command", "command": ["sh", str(root / "agent.sh")], "output": "events"}
    runners = {
        name: {"agent": agent | {"env": {"COUNT": str(root.parent / f"count-{name}")}}} for name in ("one", "two")
    }
    files = {
        "bench/core.json": None,
        "skillgym.config.yaml": None,
        "skillgym.config.json": json.dumps({"runners": runners, "run": settings or {}}),
        "agent.sh": AGENT,
        "suites/own-suite.ts": text,
    }
    repository(root, files)
    given = options if "--runner" in options else (*options, "--runner", "one")
    ran = skillgym("run", "--output", "out", *given, cwd=root)
    assert ran.code in (0, 1, 2), ran.err
    stored = json.loads((root / "out" / "results.json").read_text())
    found = [result for each in stored["suites"] for result in each["results"]]
    return {f"{result['caseId']} {result.get('runnerId') or ''}".strip(): result for result in found}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "repository"


def attempts(result: dict[str, Any]) -> list[tuple[str, str]]:
    return [(attempt["artifactDir"], attempt["status"]) for attempt in result["attempts"]]


FLAKY = suite(("flaky", 'assert.notEqual(report.finalOutput, "2")'))


@pytest.mark.parametrize("name", ["repeatFailure", "retryFailed"])
def test_repetitions_are_averages_over_those_that_succeed(root, name):
    result = run(root, FLAKY, settings={"repeat": 2, name: 1})["flaky one"]
    assert attempts(result) == [
        ("own/flaky/one/repeat-1", "passed"),
        ("own/flaky/one/repeat-2", "failed"),
        ("own/flaky/one/repeat-2/session-2", "passed"),
    ]
    assert (result["status"], result["usage"]["inputTokens"]) == ("passed", 200)
    assert (root / "out/own/flaky/one/repeat-2/error.json").is_file()
    assert not (root / "out/own/flaky/one/repeat-2/session-2/error.json").exists()


def test_a_check_that_returns_a_boolean_causes_one_warning(root):
    text = suite(("never fails", "report.finalOutput === 'x'"), ("fine", "assert.ok(report)"))
    results = run(root, text, "--runner", "one", "--runner", "two")
    assert {result["status"] for result in results.values()} == {"passed"}
    (warning,) = json.loads((root / "out/results.json").read_text())["warnings"]
    assert warning == {
        "path": "suites/own-suite.ts",
        "line": 4,
        "column": 5,
        "message": "never fails: the check returned false, which has no effect; use `assert`",
    }


@pytest.mark.parametrize("schedule", ["serial", "parallel", "isolated-by-runner"])
def test_results_come_case_by_case_and_runner_by_runner_in_every_schedule(root, schedule):
    text = suite(("b", "assert.ok(report)"), ("a", "assert.ok(report)"))
    results = run(root, text, "--runner", "one", "--runner", "two", settings={"schedule": schedule, "maxParallel": 3})
    assert list(results) == ["b one", "b two", "a one", "a two"]
    assert {result["status"] for result in results.values()} == {"passed"}


def test_an_id_used_twice_costs_its_second_case_only_and_names_both_places(root):
    results = run(root, suite(("same", "assert.ok(1)"), ("same", "assert.ok(1)"), ("other", "assert.ok(1)")))
    assert {name: result["status"] for name, result in results.items()} == {
        "same one": "passed",
        "same": "errored",
        "other one": "passed",
    }
    message = results["same"]["error"]["message"]
    assert "the id 'same' is used twice: suites/own-suite.ts:4:5 and suites/own-suite.ts:5:5" in message


def test_every_execution_has_its_artifacts_and_ids_that_look_alike_do_not_share_them(root):
    results = run(root, suite(("a/b", "assert.ok(1)"), ("a:b", "assert.fail('no')")))
    folders = [result["artifactDir"] for result in results.values()]
    assert len({Path(folder).parts[1] for folder in folders}) == 2
    kept = [sorted(path.name for path in (root / "out" / folder).iterdir()) for folder in folders]
    always = ["changes", "changes.diff", "report.json", "stderr.log", "stdout.log", "workspace.json"]
    assert kept == [always, sorted([*always, "error.json"])]


def test_a_workspace_is_kept_when_the_check_fails_and_removed_when_it_does_not(root):
    cases = (("good", "assert.ok(1)"), ("bad", "assert.fail('no')"))
    run(root, suite(*cases, workspace='{ mode: "isolated" }'), settings={"keep": "all"})
    kept = root / "out" / "workspaces" / "own"
    assert [path.name for path in kept.iterdir()] == ["bad"]
    assert [path.name for path in (kept / "bad/one/repeat-1").iterdir()] == ["trace.txt"]


READS = "assert.equal(readFileSync(`${report.cwd}/trace.txt`, 'utf8'), '%s')"


def test_isolated_workspaces_are_fresh_and_shared_ones_are_one_for_all_cases(root):
    cases = (("first", READS % "1\\n"), ("second", READS % "2\\n"))
    isolated = run(root, suite(*cases, workspace='{ mode: "isolated" }'))
    assert [result["status"] for result in isolated.values()] == ["passed", "passed"]
    cases = (("first", READS % "3\\n"), ("second", READS % "3\\n4\\n"))
    shared = run(root, suite(*cases, workspace='{ mode: "shared" }'))
    assert [result["status"] for result in shared.values()] == ["passed", "passed"]


def test_shared_with_a_directory_runs_in_that_directory(root):
    (root / "suites" / "work").mkdir(parents=True)
    results = run(root, suite(("in", READS % "1\\n"), workspace='{ mode: "shared", cwd: "./work" }'))
    assert results["in one"]["status"] == "passed"
    assert (root / "suites/work/trace.txt").read_text() == "1\n"


SAID = "assert.equal(readFileSync(`${report.cwd}/said`, 'utf8'), '%s')"


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        pytest.param("isolated", ("a one own", "b one own"), id="its case and runner, where it is theirs alone"),
        pytest.param("shared", ("none none own", "none none own"), id="neither, where it is everybody's"),
    ],
)
def test_a_bootstrap_is_told_whose_workspace_it_prepares(root, mode, said):
    script = (
        'test "$SKILLGYM_WORKSPACE" -ef . && test -d "$SKILLGYM_ARTIFACT_DIR" || exit 9;'
        'test -d "$SKILLGYM_OUTPUT_DIR" && test ! -e said || exit 8;'
        'echo "${SKILLGYM_CASE_ID:-none} ${SKILLGYM_RUNNER_ID:-none} $OWN" > said'
    )
    bootstrap = {"command": "sh", "args": ["-c", script], "env": {"OWN": "own"}}
    workspace = json.dumps({"mode": mode, "bootstrap": bootstrap})
    cases = [(name, SAID % f"{line}\\n") for name, line in zip("ab", said, strict=True)]
    results = run(root, suite(*cases, workspace=workspace))
    assert [(result["status"], result.get("error")) for result in results.values()] == [("passed", None)] * 2
