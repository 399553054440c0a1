"""TypeScript suites through the whole line: repetitions, order, artifacts, workspaces."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from scratch import repository, skillgym

if TYPE_CHECKING:
    from pathlib import Path

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


def test_repetitions_are_averages_over_those_that_succeed(root):
    result = run(root, FLAKY, settings={"repeat": 2, "repeatFailure": 1})["flaky one"]
    assert attempts(result) == [
        ("own/flaky/one/repeat-1", "passed"),
        ("own/flaky/one/repeat-2", "failed"),
        ("own/flaky/one/repeat-2/session-2", "passed"),
    ]
    assert (result["status"], result["usage"]["inputTokens"]) == ("passed", 200)
    assert (root / "out/own/flaky/one/repeat-2/error.json").is_file()
    assert not (root / "out/own/flaky/one/repeat-2/session-2/error.json").exists()


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
