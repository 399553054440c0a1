"""The command lines of the documents that define the formats, word for word but for the name of the program."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from paths import DATA
from scratch import Ran, config, runner, skillgym, written

if TYPE_CHECKING:
    from pathlib import Path

# --- x bench ------------------------------------------------------------------------------------------

SUITE = (DATA / "x-bench/example-suite.json").read_text(encoding="utf-8")
FORMAT = """\
{
"suite": "core-refactors",
"passed": 1,
"failed": 1,
"total": 2,
"totalCost": 3.42,
"cases": [
{
"id": "extract-auth",
"pass": true,
"cost": 1.87,
"duration": 45,
"tokens": { "input": 12400, "output": 3200 }
}
]
}
"""
SESSION = {
    "type": "session",
    "finalOutput": "worked on CASE",
    "usage": {"inputTokens": 12400, "outputTokens": 3200},
    "cost": {"usd": 1.71},
}
# Solves the first case, and says what it worked on.
WORK = f"""
[ {{case_id}} = add-tests ] || {{ mkdir -p src; echo 'export function login() {{}}' > src/auth.ts; }}
echo '{json.dumps(SESSION)}' | sed s/CASE/{{case_id}}/
"""
# The same, if another session runs at the same time: each waits for the file of the other one, for at most 20 s.
TOGETHER = """
touch "$MET/{case_id}"
n=0; while [ $(ls "$MET" | wc -l) -lt 2 ]; do n=$((n + 1)); [ $n -lt 200 ] || exit 1; sleep 0.1; done
"""


def x(root: Path, line: str, agent: str = WORK, suite: str = SUITE) -> Ran:
    """The run of a command line ``$ x …`` in a repository with that suite; a script of two lines is its npm."""
    npm = root / "bin" / "npm"
    files = {
        "repo/bench/example-suite.json": suite,
        "repo/skillgym.config.yaml": config(runner(agent, output="events", env={"MET": str(root / "met")})),
        "bin/npm": '#!/bin/sh\n[ "$*" = test ]\n',
        "met/.keep": "",
    }
    written(root, files)
    npm.chmod(0o755)
    sign, program, *args = shlex.split(line)
    assert (sign, program) == ("$", "x")
    return skillgym(*args, cwd=root / "repo", PATH=f"{npm.parent}{os.pathsep}{os.environ['PATH']}")


def stored(root: Path) -> dict[str, str]:
    """The statuses of the executions, by case and runner, in the only run directory at the default place."""
    (directory,) = (root / ".skillgym-results").iterdir()
    results = json.loads((directory / "results.json").read_text(encoding="utf-8"))
    return {one["caseId"]: one["status"] for suite in results["suites"] for one in suite["results"]}


ONE_OF_TWO = {"extract-auth": "passed", "add-tests": "failed"}


def test_x_bench_runs_a_suite(tmp_path):
    ran = x(tmp_path, "$ x bench bench/example-suite.json")
    assert ran.code == 1, ran.err
    assert stored(tmp_path / "repo") == ONE_OF_TWO
    assert "worked on" not in ran.err


def test_x_bench_runs_with_concurrency(tmp_path):
    ran = x(tmp_path, "$ x bench bench/example-suite.json --concurrent 4", TOGETHER + WORK)
    assert stored(tmp_path / "repo") == ONE_OF_TWO, ran.err


def test_x_bench_saves_results_to_a_file(tmp_path):
    ran = x(tmp_path, "$ x bench bench/example-suite.json --output results.json")
    assert ran.code == 1, ran.err
    assert stored(tmp_path / "repo") == ONE_OF_TWO
    found = json.loads((tmp_path / "repo/results.json").read_text(encoding="utf-8"))
    documented: dict[str, Any] = json.loads(FORMAT)
    assert found == found | documented | {"cases": found["cases"]}
    first, second = found["cases"]
    assert first.keys() >= documented["cases"][0].keys()
    assert (first["id"], first["pass"], first["cost"], first["tokens"]) == (
        "extract-auth",
        True,
        1.71,
        documented["cases"][0]["tokens"],
    )
    assert (second["id"], second["pass"]) == ("add-tests", False)


def test_x_bench_shows_the_output_of_each_case(tmp_path):
    ran = x(tmp_path, "$ x bench bench/example-suite.json --verbose")
    assert ran.code == 1, ran.err
    shown = ran.err.partition("\n\n")[2]
    assert "extract-auth [sh]: final output\n    worked on extract-auth\n" in shown
    assert "add-tests [sh]: final output\n    worked on add-tests\n" in shown


# --- skillgym -----------------------------------------------------------------------------------------

FIRST, TAGS = ((DATA / f"skillgym/{name}-suite.ts").read_text(encoding="utf-8") for name in ("list", "tags"))
END = "export default suite;\n"
MORE = """\
suite.push(
  { id: "only-auth", tags: ["auth"], prompt: "x", assert() {} },
  { id: "untagged", prompt: "x", assert() {} },
);
"""
TAGGED = TAGS.replace(END, MORE + END)


def runs(root: Path, line: str, suite: str, **run: Any) -> dict[str, str]:
    """The statuses after a command line ``skillgym …`` in a folder with ``suite.ts``; ``run`` is in its config."""
    written(root, {"suite.ts": suite, "skillgym.config.yaml": config(runner("echo skillgym ready"), run=run)})
    program, *args = shlex.split(line)
    assert program == "skillgym"
    ran = skillgym(*args, cwd=root)
    assert ran.code == 0, ran.err
    return stored(root)


@pytest.mark.parametrize(
    ("line", "cases"),
    [
        ("skillgym run ./suite.ts --tag smoke", ["login-smoke"]),
        ("skillgym run ./suite.ts --tag smoke --tag auth", ["login-smoke", "only-auth"]),
        ("skillgym run ./suite.ts --tag smoke,auth", ["login-smoke", "only-auth"]),
    ],
)
def test_skillgym_runs_the_cases_with_tags(tmp_path, line, cases):
    assert runs(tmp_path, line, TAGGED, tags=["untagged"]) == dict.fromkeys(cases, "passed")


def test_skillgym_runs_a_suite(tmp_path):
    assert runs(tmp_path, "skillgym run ./suite.ts", FIRST) == {"always-passes": "passed"}


def test_skillgym_takes_tags_of_the_configuration(tmp_path):
    assert runs(tmp_path, "skillgym run ./suite.ts", TAGGED, tags=["smoke"]) == {"login-smoke": "passed"}


# --- AgentV -------------------------------------------------------------------------------------------

BENCHMARK = """\
execution:
  targets:
    - name: claude-baseline
      use_target: ${{ AGENT_TARGET }}
    - name: claude-superpowers
      use_target: ${{ AGENT_TARGET }}
assertions:
  - type: contains
    value: harmless
tests: ./cases/
"""
CASE = """\
input: "Fix the null pointer in parser.ts"
criteria: Agent should identify root cause and fix without breaking existing tests.
assertions:
  - type: contains
    value: fixed
metadata:
  difficulty: medium
  category: debugging
"""


@pytest.mark.parametrize(
    ("args", "runners"),
    [
        (["run", "my-benchmark/benchmark.eval.yaml"], {"claude-baseline", "claude-superpowers"}),
        (["run", "my-benchmark/benchmark.eval.yaml", "--runner", "claude-baseline"], {"claude-baseline"}),
    ],
    ids=["agentv eval FILE", "agentv eval FILE --target NAME"],
)
def test_agentv_eval_is_run_on_all_targets_or_on_one(tmp_path, args, runners):
    """The document has no command lines, only this layout of folders."""
    files = {
        "benchmark.eval.yaml": BENCHMARK,
        "cases/fix-null-check/case.yaml": CASE,
        "cases/add-auth/case.yaml": CASE,
        "cases/refactor-parser/workspace/parser.ts": "",
        "targets.yaml": json.dumps(
            {"targets": [{"name": "sh", "provider": "cli", "command": "echo fixed, harmless > {OUTPUT_FILE}"}]}
        ),
        ".env": "AGENT_TARGET=sh\n",
    }
    written(tmp_path, {f"my-benchmark/{name}": text for name, text in files.items()})
    ran = skillgym(*args, cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert "refactor-parser" in ran.err.partition("warning ")[2].partition("\n")[0]
    assert stored(tmp_path) == {"add-auth": "passed", "fix-null-check": "passed"}
    (directory,) = (tmp_path / ".skillgym-results").iterdir()
    results = json.loads((directory / "results.json").read_text(encoding="utf-8"))
    assert {one["runnerId"] for suite in results["suites"] for one in suite["results"]} == runners
