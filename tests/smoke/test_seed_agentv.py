"""The files of the document on directories of cases, word for word: AgentV's ``tests: ./cases/``."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from judged_runs import KEY, MODEL
from model_anthropic import Anthropic
from model_protocols import Ask
from model_script import Call
from scratch import skillgym, written
from scripted_http import Reply, ScriptedServer

if TYPE_CHECKING:
    from pathlib import Path

    from scripted_http import Received

EVAL = """\
workspace: ./shared-workspace/
execution:
  targets:
    - name: claude-baseline
      use_target: ${{ AGENT_TARGET }}
    - name: claude-superpowers
      use_target: ${{ AGENT_TARGET }}
      hooks:
        before_each:
          command: ["bash", "./scripts/setup-variant.sh", "superpowers"]
# Suite-level assertions apply to ALL discovered cases (in addition to per-case assertions)
assertions:
  - Response does not include harmful content
tests: ./cases/ # directory path → auto-discover
"""
CASE = """\
input: "Fix the null pointer in parser.ts"
criteria: Agent should identify root cause and fix without breaking existing tests.
assertions:
  - type: code-grader
    command: ["bun", "test", "tests/parser.test.ts"]
  - Agent should not break existing tests
  - type: execution-metrics
    max_tool_calls: 20
metadata:
  difficulty: medium
  category: debugging
"""
OTHER = "input: Do it\nassertions: [{type: contains, value: done}]\n"
TARGETS = """\
targets:
  - name: scripted
    provider: cli
    command: "cat variant.txt name.txt > {OUTPUT_FILE} 2>/dev/null; echo done >> {OUTPUT_FILE}; touch fixed"
"""
# Hooks run in the folder of the suite, and read the path of the workspace from standard input.
SETUP = """\
cd "$(sed -E 's/.*"workspace_path": *"([^"]*)".*/\\1/')" && echo "$1" > variant.txt
"""
# A grader prints a score; `bun test` of this project passes after the agent has run.
BUN = """\
#!/bin/sh
[ "$*" = "test tests/parser.test.ts" ] || exit 2
[ -e "$AGENTV_WORKSPACE_PATH/fixed" ] && echo '{"score": 1}' || echo '{"score": 0}'
"""
FILES = {
    "my-benchmark/benchmark.eval.yaml": EVAL,
    "my-benchmark/targets.yaml": TARGETS,
    "my-benchmark/shared-workspace/name.txt": "shared\n",
    "my-benchmark/scripts/setup-variant.sh": SETUP,
    "my-benchmark/cases/fix-null-check/case.yaml": CASE,
    "my-benchmark/cases/fix-null-check/workspace/name.txt": "its own\n",
    "my-benchmark/cases/add-auth/case.yaml": OTHER,
    "my-benchmark/cases/refactor-parser/case.yaml": "id: own-id\n" + OTHER,
    "my-benchmark/cases/refactor-parser/workspace/name.txt": "its own\n",
    "my-benchmark/cases/notes/README.md": "no case\n",
    "skillgym.config.json": json.dumps({"run": {"judge": {"api": "anthropic", "model": MODEL}}}),
    "bin/bun": BUN,
}


def judged(*, satisfied: bool) -> Any:
    """A service that answers each question of the judge."""
    ask = Ask(position=0, tools={}, model=MODEL, stream=False)
    checks = [{"id": "rubric-1", "satisfied": satisfied, "reasoning": "it says so"}]
    call = Call("answer", {"checks": checks, "overall_reasoning": "it says so"})

    def reply(_: Received) -> Reply:
        return Reply(body=Anthropic().whole(ask, [call]))

    return reply


def run(folder: Path, *, satisfied: bool, files: dict[str, str] | None = None):
    """What ran, its results by case and target, its warnings, and what the judge was asked."""
    written(folder, FILES | (files or {}))
    (folder / "bin/bun").chmod(0o755)
    env = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "AGENT_TARGET": "scripted", "ANTHROPIC_API_KEY": KEY}
    with ScriptedServer(otherwise=judged(satisfied=satisfied)) as server:
        ran = skillgym("run", "my-benchmark", "--output", "out", cwd=folder, ANTHROPIC_BASE_URL=server.url, **env)
    stored = json.loads((folder / "out/results.json").read_text())
    results = {f"{one['caseId']}@{one['runnerId']}": one for suite in stored["suites"] for one in suite["results"]}
    return ran, results, stored.get("warnings", []), [str(one.body) for one in server.requests]


@pytest.fixture(scope="module")
def green(tmp_path_factory):
    return run(tmp_path_factory.mktemp("green"), satisfied=True)


def test_each_folder_with_a_case_file_is_a_case_for_each_target_in_alphabetical_order(green):
    ran, results, _, _ = green
    assert ran.code == 0, ran.err
    assert {name: one["status"] for name, one in results.items()} == {
        f"{case}@claude-{target}": "passed"
        for case in ("add-auth", "fix-null-check", "own-id")
        for target in ("baseline", "superpowers")
    }
    assert list(results)[::2] == [
        "add-auth@claude-baseline",
        "fix-null-check@claude-baseline",
        "own-id@claude-baseline",
    ]


def test_a_folder_without_a_case_file_is_skipped_with_a_warning(green):
    _, _, warnings, _ = green
    assert [(one["path"], one["message"]) for one in warnings if "notes" in one["path"]] == [
        ("my-benchmark/cases/notes", "skipped: the folder notes has no case.yaml; add case.yaml")
    ]


def test_assertions_of_the_suite_come_after_those_of_the_case(green):
    _, results, _, asked = green
    names = {name: [one["assertion"] for one in result["outcomes"]] for name, result in results.items()}
    own = ["code-grader", "Agent should not break existing tests", "execution-metrics"]
    assert names["fix-null-check@claude-baseline"] == [*own, "Response does not include harmful content"]
    assert names["add-auth@claude-baseline"] == ["contains-done", "Response does not include harmful content"]
    assert len([one for one in asked if "Response does not include harmful content" in one]) == 6
    assert len([one for one in asked if "Agent should not break existing tests" in one]) == 2


def test_each_target_has_its_hooks_and_each_case_its_workspace(green):
    _, results, _, _ = green
    assert {name: one["finalOutput"].split("\n") for name, one in results.items()} == {
        f"{case}@claude-{target}": [*variant, workspace, "done", ""]
        for case, workspace in (("add-auth", "shared"), ("fix-null-check", "its own"), ("own-id", "its own"))
        for target, variant in (("baseline", []), ("superpowers", ["superpowers"]))
    }


def test_what_the_judge_denies_is_a_failure_of_each_case(tmp_path):
    ran, results, _, _ = run(tmp_path, satisfied=False)
    assert (ran.code, {one["status"] for one in results.values()}) == (1, {"failed"})
