"""A repository with a suite of each format and with each assertion, and the digests of their plans."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import yaml

from scratch import repository, world_in
from skillgym_action.history.digests import OPAQUE, canonical
from skillgym_action.pipeline import pipeline
from skillgym_action.pipeline.stages.baseline import baseline_keys
from skillgym_action.pipeline.stages.reuse import with_whole_digests
from skillgym_action.pipeline.wiring import configuration, store_of
from skillgym_action.settings import resolve
from skillgym_action.settings.context import current_context
from skillgym_action.settings.runners import configured_runners
from skillgym_action.settings.settings import validated_settings

if TYPE_CHECKING:
    from pathlib import Path

SKILL = "---\nname: {}\ndescription: Works.\n---\nWork.\n"
MESSAGE = "Write a report"
X_BENCH: dict[str, Any] = {
    "name": "core",
    "workspace": {"templateDir": "../template"},
    "cases": [
        {
            "id": "files",
            "prompt": MESSAGE,
            "timeout": 60,
            "tags": ["t"],
            "expect": [
                "file:x exists",
                {"file": "*.x", "glob": True, "matches": "/a*/i", "failFast": True},
                {"file": "x", "contains": "y"},
                "diff:x",
                "no-file:y",
            ],
        },
        {"id": "command", "prompt": MESSAGE, "expect": [{"test": "make test", "exits": 3, "timeout": 5}]},
    ],
}
IN_CONTAINERS: dict[str, Any] = {
    "name": "containers",
    "workspace": {
        "image": "python:3.12-slim",
        "network": {"mode": "none"},
        "limits": {"memory": "2GiB"},
        "bootstrap": {"command": "sh", "args": ["-c", "x"], "env": {"A": "b"}},
    },
    "cases": [{"id": "container", "prompt": MESSAGE, "expect": ["file:x exists"]}],
}
PYTHON = """from skillgym_action import Case, Workspace

def check(report, ctx):
    assert "x" in ctx.final_output()

workspace = Workspace(mode="isolated")
suite = [Case("python", prompt="Write a report", tags=["t"], check=check)]
"""
TYPESCRIPT = """import { assert, type Case } from "skillgym";
const suite: Case[] = [{ id: "typescript", prompt: "Write a report", assert(report, ctx) { assert.ok(ctx); } }];
export default suite;
"""
FUNCTIONS = """// agentv
export default { tests: [{ id: "function", input: "Write", criteria: "c", assert: [() => ({ score: 1 })] }] };
"""
CALL = {"tool": "x", "args": {"a": 1}, "args_match": "superset", "max_duration_ms": 5}
HOOK = {"command": ["sh", "x"], "timeout_ms": 5}
AGENTV_ASSERTIONS: dict[str, list[Any]] = {
    "texts": [
        {"type": "contains", "value": "x"},
        {"type": "regex", "name": "re", "value": "a+$", "flags": "im", "weight": 2, "negate": True},
        {"type": "contains-any", "value": ["x"], "min_score": 0.5, "required": True},
        {"type": "equals", "value": "x"},
        {"type": "is-json"},
        {"include": "./shared.yaml"},
    ],
    "fields": [{"type": "field-accuracy", "fields": [{"path": "a.b[0]", "match": "date", "formats": ["MM/DD"]}]}],
    "tools": [
        {"type": "tool-trajectory", "mode": "in_order", "expected": [CALL]},
        {"type": "tool-trajectory", "mode": "any_order", "minimums": {"Read": 2}},
        {"type": "skill-trigger", "skill": "pdf", "should_trigger": False},
    ],
    "metrics": [
        {"type": "execution-metrics", "max_tokens": 5, "max_llm_calls": 2, "target_exploration_ratio": 0.5},
        {"type": "token-usage", "max_input": 5},
        {"type": "cost", "budget": 5},
        {"type": "latency", "threshold": 5},
    ],
    "programs": [
        {"type": "code-grader", "command": ["python3", "./x.py"], "config": {"a": 1}, "cwd": "template"},
        {"type": "composite", "assertions": [{"type": "is-json"}], "aggregator": {"type": "code-grader", "path": "x"}},
    ],
    "judged": [
        {"type": "llm-grader", "prompt": "Is it right?", "rubrics": ["good"], "votes": 3},
        {"type": "llm-grader", "prompt": {"command": ["python3", "./x.py"]}},
        "The answer is polite",
        {"type": "composite", "assertions": [{"type": "is-json"}], "aggregator": {"type": "llm-grader", "prompt": "p"}},
    ],
    "composites": [
        {
            "type": "composite",
            "assertions": [{"include": "./shared.yaml"}, {"type": "is-json"}],
            "aggregator": {"type": kind, **settings},
        }
        for kind, settings in {"weighted_average": {"weights": {"is-json": 2}}, "threshold": {"threshold": 0.5}}.items()
    ],
}
RUBRIC = {
    "id": "r",
    "outcome": "right",
    "weight": 2,
    "required": False,
    "score_ranges": [{"score_range": [0, 10], "outcome": "x"}],
}
AGENTV: dict[str, Any] = {
    "name": "suite",
    "workspace": {"template": "../template"},
    "execution": {"trials": {"count": 2, "strategy": "pass_at_k"}},
    "tests": [
        *({"id": name, "input": MESSAGE, "assertions": entries} for name, entries in AGENTV_ASSERTIONS.items()),
        {"id": "rubrics", "input": MESSAGE, "expected_output": "x", "criteria": "done", "rubrics": [RUBRIC]},
        {
            "id": "talk",
            "mode": "conversation",
            "turns": [{"input": "hello", "assertions": [{"type": "contains", "value": "hi"}]}, {"input": "bye"}],
            "aggregation": "min",
            "on_turn_failure": "stop",
            "window_size": 2,
        },
    ],
}
FETCHED = {
    "name": "fetched",
    "workspace": {
        "repos": [{"repo": "https://example.com/a", "path": "a", "commit": "main"}],
        "hooks": {"before_all": HOOK},
    },
    "tests": [{"id": "fetched", "input": MESSAGE, "assertions": [{"type": "is-json"}]}],
}
STEPS: list[dict[str, Any]] = [
    {"type": "trajectory:tool-used", "value": ["Read"]},
    {"type": "trajectory:tool-sequence", "value": ["Read", "Edit"]},
    {"type": "trajectory:step-count", "value": {"type": "tool", "max": 10}},
    {"type": "skill-used", "value": ["pdf", "docx"]},
    {"type": "not-skill-used", "value": ["pdf", "docx"]},
    {"type": "skill-used", "value": {"name": "pdf", "max": 3}},
    {"type": "assert-set", "assert": [{"type": "icontains", "value": "x"}], "threshold": 0.5},
]
AGENTV_5 = {"environment": {"type": "host"}, "tests": [{"id": "steps", "input": MESSAGE, "assert": STEPS}]}
EVALS: dict[str, Any] = {
    "skill_name": "notes",
    "evals": [
        {
            "id": 1,
            "prompt": MESSAGE,
            "expected_output": "x",
            "files": ["evals/files/a.txt", {"path": "b.txt", "content": "c"}],
            "expectations": ["a", {"id": "q", "text": "b", "advisory": True}],
        },
        {
            "id": 2,
            "prompt": MESSAGE,
            "assertions": [
                {"type": "regex", "value": "a+$", "path": "x"},
                {"type": "file_exists", "path": "o.txt"},
                {"type": "json_valid", "path": "x.json"},
                {"type": "skill_used"},
            ],
            "should_trigger": True,
        },
    ],
}
QUERIES = [{"id": "x", "query": "a", "should_trigger": True}, {"id": "y", "query": "b", "should_trigger": False}]
PLUGIN_CASE: dict[str, Any] = {
    "schema_version": "1.0",
    "name": "n",
    "execution": {"prompt": "Greet.", "allowed_tools": ["Read"], "env": {"EVAL_MODE": "fast"}},
    "graders": [
        {"name": "a", "type": "regex", "pattern": "hello", "flags": "i", "target": "trace"},
        {"name": "b", "type": "tool_used", "tool": "Read", "input_match": "x", "min": 1, "max": 2, "weight": 2},
        {"name": "c", "type": "tool_order", "before": "Read", "after": {"tool": "Edit", "input_match": "x"}},
        {"name": "d", "type": "file_exists", "path": "*.txt", "exists": False, "arm": "both"},
        {"name": "e", "type": "llm", "criteria": "good", "focus": {"source": "file", "path": "x"}},
    ],
}
HARBOR = """schema_version = "1.4"
[agent]
timeout_sec = 60.0
[verifier]
timeout_sec = 30.0
env = { A = "b" }
[environment]
cpus = 2
memory_mb = 512
[environment.healthcheck]
command = "true"
"""
CONFIGURATION = {
    "runners": {"agent": {"agent": {"type": "claude-code", "version": "1.2.3", "model": "m", "env": {"A": "b"}}}},
    "run": {"judge": {"api": "anthropic", "model": "judge-1", "votes": 3}},
}
"""The version of the agent is named, so that none has to be installed."""
FILES = {
    "bench/core.json": json.dumps(X_BENCH),
    "bench/containers.json": json.dumps(IN_CONTAINERS),
    "template/a.txt": "a",
    "bench/python_suite.py": PYTHON,
    "bench/typescript-suite.ts": TYPESCRIPT,
    "agentv/all.eval.yaml": json.dumps(AGENTV),
    "agentv/steps.eval.yaml": json.dumps(AGENTV_5),
    "agentv/fetched.eval.yaml": json.dumps(FETCHED),
    "agentv/functions.eval.ts": FUNCTIONS,
    "agentv/shared.yaml": "assertions: [{type: equals, value: x}, {type: starts-with, value: x}]",
    "agentv/x.py": "print(1)\n",
    "skills/notes/SKILL.md": SKILL.format("notes"),
    "skills/notes/evals/evals.json": json.dumps(EVALS),
    "skills/notes/evals/trigger-evals.json": json.dumps(QUERIES),
    "skills/notes/evals/files/a.txt": "a",
    "greeter/.claude-plugin/plugin.json": '{"name": "greeter"}',
    "greeter/skills/greeting/SKILL.md": SKILL.format("greeting"),
    "greeter/evals/one/case.yaml": yaml.safe_dump(PLUGIN_CASE),
    "tasks/one/task.toml": HARBOR,
    "tasks/one/instruction.md": "Write it.\n",
    "tasks/one/environment/Dockerfile": "FROM python:3.12-slim\n",
    "tasks/one/tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
    "skillgym.config.yaml": json.dumps(CONFIGURATION),
}
EVALS_FILE, QUERIES_FILE = (f"skills/notes/evals/{name}" for name in ("evals.json", "trigger-evals.json"))
FORMATS: dict[str, dict[str, Any]] = {
    "x-bench": {"paths": ["bench/core.json"]},
    "x-bench in containers": {"paths": ["bench/containers.json"], "sandbox": "docker"},
    "python": {"paths": ["bench/python_suite.py"]},
    "typescript": {"paths": ["bench/typescript-suite.ts"]},
    "agentv": {"paths": ["agentv/all.eval.yaml"]},
    "agentv 5": {"paths": ["agentv/steps.eval.yaml"]},
    "agentv with a repository": {"paths": ["agentv/fetched.eval.yaml"]},
    "agentv in TypeScript": {"paths": ["agentv/functions.eval.ts"]},
    "skill evals": {"paths": [EVALS_FILE], "arms": "with"},
    "skill evals in arms": {"paths": [EVALS_FILE]},
    "trigger queries": {"paths": [QUERIES_FILE], "arms": "with"},
    "plugin evals": {"paths": ["greeter/evals"], "arms": "with"},
    "harbor": {"paths": ["tasks"], "sandbox": "docker"},
}
"""Settings that plan one suite, by its format."""


def stored_digests(folder: Path) -> dict[str, Any]:
    """The digests of each execution by format, case and arm; and what they are made of.

    ``classes``: names of classes; ``no data``: what stands for objects that are no data.
    ``folder``: an empty one, in which the repository is created.
    """
    root = repository(folder / "repo", FILES, git=True)
    store, lines = {"store": f"path={folder / 'store'}", "store_write": True}, set[str]()
    return {
        "digests": {name: _planned(root, {**store, **settings}, lines) for name, settings in FORMATS.items()},
        "classes": sorted(line[1:] for line in lines if re.fullmatch(r"\(\w+", line)),
        "no data": sorted(line for line in lines if line.startswith(OPAQUE)),
    }


def _planned(root: Path, fields: dict[str, Any], lines: set[str]) -> dict[str, dict[str, str | None]]:
    """``baseline``: the digests of prompt, assertions, workspace and program. ``lines``: gets what they are made of."""
    settings, context = validated_settings(fields, str), current_context(root, {})
    config = configuration(settings, context)
    options = resolve.options(settings, config, context, runners=1)
    found: dict[str, dict[str, str | None]] = {}
    with world_in(root) as services:
        made = replace(services, store=store_of(context, options.store, services.processes, services.clock))
        plan = pipeline.plan_run(made, configured_runners(settings, config, context), options)
        problems = [str(one.problem) for suite in plan.suites for one in suite.invalid]
        assert (problems, bool(plan.executions)) == ([], True), fields
        wanted = with_whole_digests(made, plan, baseline_keys(made, plan, {}), options, version="1.0.0")
        execution_digest = pipeline.execution_digests(services, options)
        for execution in plan.executions:
            inputs = wanted[execution.index].inputs
            parts = (inputs.prompt, inputs.assertions, inputs.workspace, inputs.program)
            found[" ".join(filter(None, (execution.case.id, execution.arm_name)))] = {
                "baseline": " ".join(part or "-" for part in parts),
                "execution": execution_digest(execution),
                "reuse": inputs.whole,
            }
            made_of = (execution.case, execution.suite.workspace, execution.runner, options.judge)
            lines.update(canonical(made_of))
    return found
