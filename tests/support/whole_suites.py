"""A valid file of every format with all of its keys, and what loading a changed one says and keeps."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from plugin_runs import MANIFEST
from scratch import written
from skillgym_action.model.errors import SkillgymError
from skillgym_action.model.suite import FoundSuite
from skillgym_action.pipeline.stages.load import load
from skillgym_action.settings.configuration_file import read_config
from skillgym_action.settings.suite_options import LoadOptions
from skillgym_action.text.documents.located_values import key_path_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    KeyPath = tuple[str | int, ...]

# --- the files ------------------------------------------------------------------------------------------

X_BENCH = {
    "name": "core",
    "description": "d",
    "model": "m",
    "tags": ["t"],
    "runners": ["r*"],
    "defaults": {"budget": 1.5, "timeout": 60},
    "workspace": {
        "templateDir": "template",
        "bootstrap": {"command": "sh", "args": ["-c", "x"], "timeout": 5, "env": {"A": "b"}},
        "limits": {"memory": "2GiB", "cpus": 1.5, "pids": 100},
        "image": "python:3.12-slim",
        "workdir": "/app",
        "user": "1000",
        "network": {"mode": "allow-list", "hosts": ["example.com"]},
    },
    "cases": [
        {
            "id": "a",
            "prompt": "p",
            "expect": [
                "file:x exists",
                {"file": "*.x", "glob": True, "matches": "/a*/", "failFast": True},
                {"file": "x", "contains": "y"},
                {"test": "x", "exits": 3, "timeout": 5},
            ],
            "budget": 2.5,
            "timeout": 5,
            "model": "n",
            "tags": ["u"],
            "expectedFail": True,
            "runners": ["s"],
        }
    ],
}
_HOOK = {"command": ["sh", "x"], "timeout_ms": 5, "cwd": "template"}
AGENTV: dict[str, Any] = {
    "name": "suite",
    "tags": ["t"],
    "metadata": {"a": [1, 2], "b": {"c": "d"}},
    "governance": {"owner": "me"},
    "input": [{"role": "system", "content": "Be brief"}],
    "workspace": {
        "template": "./template",
        "isolation": "per_test",
        "limits": {"memory": "2GiB"},
        "hooks": {"before_all": _HOOK, "after_each": _HOOK},
        "env": {"required_commands": ["sh"]},
        "repos": [{"repo": "https://example.com/a", "path": "a", "commit": "main", "ancestor": 1, "sparse": ["b"]}],
    },
    "execution": {
        "targets": ["mine", {"name": "other", "use_target": "mine", "hooks": {"before_each": _HOOK}}],
        "threshold": 0.5,
        "budget_usd": 3,
        "trials": {"count": 2, "strategy": "pass_at_k"},
    },
    "assertions": [{"type": "contains", "value": "x"}, "The answer is polite", {"include": "./shared.yaml"}],
    "tests": [
        {
            "id": "a",
            "input": [{"role": "user", "content": [{"type": "text", "value": "do {{ what.n }}"}]}],
            "vars": {"what": {"n": "it"}},
            "criteria": "done",
            "tags": ["one"],
            "metadata": {"tags": ["m"]},
            "expected_output": [{"role": "assistant", "content": {"n": 1}, "tool_calls": [{"tool": "x", "input": {}}]}],
            "rubrics": [
                {
                    "id": "r",
                    "outcome": "right",
                    "weight": 2,
                    "required": False,
                    "operator": "contradiction",
                    "score_ranges": [{"score_range": [0, 10], "outcome": "x"}],
                }
            ],
            "execution": {"skip_defaults": False, "threshold": 0.1, "targets": ["mine"]},
            "on_dependency_failure": "run",
            "expected_fail": True,
            "workspace": {"template": "./template", "hooks": {"before_each": _HOOK}},
            "assertions": [
                {"type": "regex", "name": "re", "value": "(a+)+$", "flags": "im", "weight": 2, "negate": True},
                {"type": "contains-any", "value": ["x"], "min_score": 0.5, "required": True},
                {"type": "field-accuracy", "fields": [{"path": "a.b[0]", "match": "date", "formats": ["MM/DD"]}]},
                {
                    "type": "tool-trajectory",
                    "mode": "in_order",
                    "expected": [{"tool": "x", "args": {"a": 1}, "args_match": "superset", "max_duration_ms": 5}],
                },
                {"type": "tool-trajectory", "mode": "any_order", "minimums": {"Read": 2}},
                {"type": "execution-metrics", "max_tokens": 5, "target_exploration_ratio": 0.5},
                {"type": "skill-trigger", "skill": "pdf", "should_trigger": False},
                {"type": "token-usage", "max_input": 5},
                {"type": "cost", "budget": 5},
                {"type": "code-grader", "command": ["python3", "./x.py"], "config": {"a": 1}, "cwd": "template"},
                {"type": "llm-grader", "prompt": "Is it right?", "rubrics": ["good"], "votes": 3},
                {
                    "type": "composite",
                    "assertions": [{"type": "is-json"}, {"type": "latency", "threshold": 5}],
                    "aggregator": {"type": "weighted_average", "weights": {"is-json": 2}},
                },
            ],
        },
        {
            "id": "talk",
            "mode": "conversation",
            "turns": [
                {
                    "input": "hello",
                    "expected_output": "hi",
                    "assertions": [{"type": "code-grader", "command": ["sh", "x"]}],
                }
            ],
            "aggregation": "min",
            "on_turn_failure": "stop",
            "window_size": 2,
        },
    ],
}
TARGETS = {
    "targets": [
        {
            "name": "mine",
            "provider": "cli",
            "command": "x {PROMPT_FILE}",
            "env": ["N"],
            "timeout_seconds": 5,
            "cwd": ".",
            "files_format": "{path}",
        },
        {"name": "mock", "provider": "mock", "response": "x", "delay_ms": 5},
        {"name": "agent", "provider": "claude", "model": "m", "executable": "claude", "args": ["-x"]},
    ]
}
EVALS: dict[str, Any] = {
    "skill_name": "pdf",
    "threshold": 0.5,
    "evals": [
        {
            "id": 1,
            "name": "n",
            "prompt": "p",
            "expected_output": "x",
            "files": ["evals/files/a.txt", {"path": "b.txt", "content": "c"}],
            "tags": ["t"],
            "category": "c",
            "split": "train",
            "expectations": ["a", {"id": "q", "text": "b", "advisory": True}, {"name": "c", "check": "prose"}],
            "assertions": [{"type": "regex", "value": "(a+)+$", "path": "x"}, {"type": "file_exists", "path": "o.txt"}],
            "must_not_have": {"tone": ["rude"]},
            "rubric": {"form": {"description": "short", "weight": 2}},
            "expected_rows": [1, {"total": 2}],
            "should_trigger": True,
            "timeout_seconds": 5,
            "max_turns": 3,
            "expected_fail": False,
            "metadata": {"a": 1},
        }
    ],
}
LIST_OF_EVALS = [{"prompt": "p", "assertions": ["a", {"text": "b"}]}]
QUERIES = {
    "skill_name": "pdf",
    "runs": 3,
    "threshold": 0.5,
    "queries": [{"id": "x", "query": "a", "should_trigger": True, "split": "train"}, {"query": "b", "expected": "no"}],
}
LIST_OF_QUERIES = [{"query": "a", "should_trigger": True}, {"query": "b", "should_trigger": False}]
TWO_LISTS = {"should_trigger": ["a", {"query": "b"}], "should_not_trigger": ["c"]}
BY_SKILL = {"skills": [{"name": "pdf", "should_trigger": [{"query": "b"}], "should_not_trigger": ["c"]}]}
PLUGIN_CASE: dict[str, Any] = {
    "schema_version": "1.0",
    "name": "n",
    "tags": ["t"],
    "runs": 5,
    "plugins": ["../.."],
    "execution": {
        "prompt": "Greet.",
        "model": "haiku",
        "append_system_prompt": "Be brief.",
        "max_turns": 20,
        "timeout_seconds": 60,
        "allowed_tools": ["Read"],
        "disallowed_tools": ["Bash"],
        "env": {"EVAL_MODE": "fast"},
    },
    "context": {"scaffold_script": "prepare.sh", "add_dirs": ["fixtures"]},
    "graders": [
        {"name": "a", "type": "regex", "pattern": "hello", "flags": "i", "match": "contains", "target": "trace"},
        {"name": "b", "type": "tool_used", "tool": "Read", "input_match": "x", "min": 1, "max": 2, "weight": 2},
        {"name": "c", "type": "tool_order", "before": "Read", "after": {"tool": "Edit", "input_match": "x"}},
        {"name": "d", "type": "file_exists", "path": "*.txt", "exists": False, "arm": "both"},
        {"name": "e", "type": "llm", "criteria": "good", "focus": {"source": "file", "path": "x"}},
        {"name": "f", "type": "baseline", "baseline_file": "old.txt", "criteria": "good"},
    ],
}
PLUGIN_PROMPT: dict[str, Any] = {
    "tags": ["t"],
    "runs": 5,
    "model": "haiku",
    "max_turns": 20,
    "env": {"EVAL_MODE": "fast"},
    "context": {"add_dirs": ["fixtures"]},
}
PLUGIN_GRADER: dict[str, Any] = {"type": "regex", "weight": 2, "flags": "i", "match": "count:2", "arm": "both"}
HARBOR_TASK: dict[str, Any] = {
    "schema_version": "1.4",
    "source": "s",
    "task": {
        "name": "examples/one",
        "version": "2",
        "description": "d",
        "keywords": ["k"],
        "authors": [{"name": "n", "email": "e"}],
    },
    "metadata": {"tags": ["t"], "difficulty": "easy"},
    "agent": {"timeout_sec": 5, "user": "worker", "network_mode": "allowlist", "allowed_hosts": ["a.example"]},
    "verifier": {
        "timeout_sec": 5,
        "user": "root",
        "env": {"A": "b"},
        "environment_mode": "shared",
        "network_mode": "allowlist",
        "allowed_hosts": ["a.example"],
    },
    "solution": {"env": {"B": "c"}},
    "environment": {
        "build_timeout_sec": 600,
        "docker_image": "image",
        "os": "linux",
        "cpus": 2,
        "memory_mb": 512,
        "storage_mb": 1024,
        "gpus": 0,
        "env": {"C": "d"},
        "workdir": "/app",
        "network_mode": "allowlist",
        "allowed_hosts": ["b.example"],
        "healthcheck": {
            "command": "true",
            "interval_sec": 1,
            "timeout_sec": 2,
            "start_period_sec": 3,
            "start_interval_sec": 4,
            "retries": 5,
        },
    },
}
CONFIGURATION: dict[str, Any] = {
    "runners": {
        "r": {
            "agent": {
                "type": "command",
                "model": "m",
                "command": ["x"],
                "commandArgs": ["y"],
                "env": {"A": "b"},
                "budget": 1.5,
                "output": "events",
            }
        }
    },
    "run": {
        "outputDir": "out",
        "schedule": "parallel",
        "repeat": 2,
        "tags": ["t"],
        "workspace": {
            "mode": "isolated",
            "bootstrap": {"command": "x", "args": ["y"], "env": {"A": "b"}},
            "image": "python:3.12-slim",
            "workdir": "/app",
            "user": "1000",
            "network": {"mode": "allow-list", "hosts": ["example.com"]},
            "limits": {"cpus": 1.5},
        },
        "judge": {"api": "anthropic", "model": "m", "votes": 3, "env": {"A": "b"}},
        "limits": {"memory": "2GiB"},
    },
    "defaults": {"timeoutMs": 5},
    "report": {"comment": "new"},
    "snapshots": {"metric": "inputTokens", "tolerance": {"percent": 5}},
    "prices": {"m": {"input": 1, "output": 2}},
    "sandbox": {"type": "docker", "agents": "bundle", "proxyImage": "squid:1"},
    "skills": {"workspace": "repository", "triggerRounds": 3, "arms": ["with"]},
    "plugins": {"allowTools": ["Read"]},
    "arms": {"a": {"files": "x", "remove": ["y"], "env": {"A": "b"}, "commandArgs": ["-x"]}, "b": {"skill": "none"}},
}
FOLDER = {
    "a.txt": "text",
    "template/x.py": "x",
    "shared.yaml": "assertions: [{type: equals, value: x}]",
    "skills/pdf/SKILL.md": "---\nname: pdf\ndescription: d\n---\n",
    MANIFEST: '{"name": "greeter"}',
    "evals/one/prepare.sh": "true\n",
    "evals/one/fixtures/x": "x",
    "evals/one/old.txt": "x",
}
_REGEX = "---\ntype: regex\n---\nhello\n"
_CASE = {"evals/one/prompt.md": "Greet.\n"}


def frontmatter(value: object, body: str) -> str:
    """A Markdown file with that value above the body."""
    return f"---\n{yaml.safe_dump(value, sort_keys=False)}---\n{body}"


def toml(value: Any) -> str:
    """A mapping as TOML, with a line for each key; inner mappings are inline tables."""
    return "".join(f"{json.dumps(key)} = {_inline(member)}\n" for key, member in value.items())


def _inline(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_inline(member)}" for key, member in value.items()) + "}"
    return f"[{', '.join(map(_inline, value))}]" if isinstance(value, list) else json.dumps(value)


@dataclass(frozen=True, kw_only=True)
class WholeFile:
    """A file of a format. ``suite``: the suite it belongs to, if it is none itself; ``beside``: its other files.

    ``body``: of a Markdown file with the value above it. ``named_from``: the key whose path messages replace by the
    file's. ``without_effect``: keys that are documented to have none; ``unused``: variables that no text uses, or whose
    text is named in their place.
    """

    path: str
    value: Any
    format: str
    suite: str | None = None
    body: str | None = None
    beside: Mapping[str, str] = field(default_factory=dict)
    named_from: str | None = None
    without_effect: frozenset[str] = frozenset()
    unused: frozenset[str] = frozenset()

    def shown(self, path: KeyPath) -> str:
        """A key path as messages show it."""
        if self.named_from and path[0] == self.named_from:
            return f"{self.path}{key_path_text(path[1:])}"
        return key_path_text(path)

    def text(self, value: object) -> str:
        """The file with another value in it."""
        if self.body is not None:
            return frontmatter(value, self.body)
        return toml(value) if self.path.endswith(".toml") else json.dumps(value, indent=1)

    def loaded(self, root: Path, value: object) -> Loaded:
        """What loading the suite says, and what it keeps, with another value in this file."""
        written(root, {**FOLDER, **self.beside, self.path: self.text(value)})
        if self.format == "configuration":
            try:
                return Loaded(messages=(), kept=repr(read_config(root / self.path, self.path)))
            except SkillgymError as error:
                return Loaded(messages=(str(error),), kept="")
        path = self.suite or self.path
        found = FoundSuite(path=path, file=root / path, format=self.format)
        (suite,) = load([found], NoHosts(), LoadOptions())
        wrong = [one.problem for one in (*suite.invalid, *suite.runners) if one.problem]
        variables = [one.agent.env for one in suite.runners]
        return Loaded(messages=tuple(map(str, (*suite.warnings, *wrong))), kept=repr((suite, variables)))


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """The messages of a load; and all that cases and suite are made of, as text."""

    messages: tuple[str, ...]
    kept: str

    def mention(self, shown: str) -> bool:
        """Whether a message names a key path as a whole, or its last key and the mapping it is in."""
        above, _, last = shown.rpartition(".")
        return any(shown in message or (f"{last!r}" in message and above in message) for message in self.messages)

    def keep(self, value: object) -> bool:
        """Whether a text or a number, and all texts of a container, are kept."""
        texts = value if isinstance(value, list) else value.values() if isinstance(value, dict) else [value]
        return all(str(text) in self.kept for text in texts)


@dataclass(frozen=True)
class NoHosts:
    """None of these suites is a program."""

    cancelled: bool = False


_UNUSED = frozenset({"vars.zzunknownzz", "vars.what.zzunknownzz", "vars.what"})
FILES: dict[str, WholeFile] = {
    "x-bench": WholeFile(path="bench/core.json", value=X_BENCH, format="x-bench"),
    "AgentV": WholeFile(
        unused=frozenset(f"tests[0].{name}" for name in _UNUSED),
        path="a.eval.yaml",
        value=AGENTV,
        format="agentv",
        beside={"targets.yaml": json.dumps(TARGETS)},
    ),
    "AgentV case.yaml": WholeFile(
        unused=_UNUSED,
        path="cases/one/case.yaml",
        value=AGENTV["tests"][0] | {"id": "one"},
        format="agentv",
        suite="b.eval.yaml",
        beside={"b.eval.yaml": "tests: ./cases/\n"},
    ),
    "AgentV include": WholeFile(
        path="shared.yaml",
        value={"assertions": AGENTV["tests"][0]["assertions"]},
        format="agentv",
        suite="b.eval.yaml",
        named_from="assertions",
        beside={"b.eval.yaml": "assertions: [{include: ./shared.yaml}]\ntests: [{id: a, input: b, criteria: c}]\n"},
    ),
    "AgentV targets": WholeFile(
        path="targets.yaml",
        value=TARGETS,
        format="agentv",
        suite="b.eval.yaml",
        beside={"b.eval.yaml": "execution: {targets: [mine, mock, agent]}\ntests: [{id: a, input: b, criteria: c}]\n"},
    ),
    "AgentV evals.json": WholeFile(
        path="skills/pdf/evals/evals.json",
        value={"skill_name": "s", "evals": [{"id": 1, "prompt": "p", "expected_output": "x", "assertions": ["a"]}]},
        format="agentv",
    ),
    "evals.json": WholeFile(
        without_effect=frozenset({"evals[0].rubric.form.weight"}),
        path="skills/pdf/evals/evals.json",
        value=EVALS,
        format="skill-evals",
        beside={"skills/pdf/evals/files/a.txt": "x"},
    ),
    "evals.json, a list": WholeFile(path="skills/pdf/evals/evals.json", value=LIST_OF_EVALS, format="skill-evals"),
    "queries": WholeFile(path="skills/pdf/evals/trigger-evals.json", value=QUERIES, format="skill-evals"),
    "queries, a list": WholeFile(
        path="skills/pdf/evals/trigger-evals.json", value=LIST_OF_QUERIES, format="skill-evals"
    ),
    "queries, two lists": WholeFile(path="skills/pdf/evals/trigger-evals.json", value=TWO_LISTS, format="skill-evals"),
    "queries, by skill": WholeFile(path="skills/pdf/evals/trigger-evals.json", value=BY_SKILL, format="skill-evals"),
    "plugin case.yaml": WholeFile(path="evals/one/case.yaml", value=PLUGIN_CASE, format="plugin-evals", suite=MANIFEST),
    "plugin prompt.md": WholeFile(
        path="evals/one/prompt.md",
        value=PLUGIN_PROMPT,
        format="plugin-evals",
        suite=MANIFEST,
        body="Greet.\n",
        beside={"evals/one/graders/a.md": _REGEX},
    ),
    "plugin grader": WholeFile(
        path="evals/one/graders/a.md",
        value=PLUGIN_GRADER,
        format="plugin-evals",
        suite=MANIFEST,
        body="hello\n",
        beside=_CASE,
    ),
    "Harbor task": WholeFile(
        path="tasks/one/task.toml",
        value=HARBOR_TASK,
        format="harbor",
        suite="tasks",
        beside={
            "tasks/one/instruction.md": "Do it.\n",
            "tasks/one/tests/test.sh": "true\n",
            "tasks/one/solution/solve.sh": "true\n",
        },
    ),
    "configuration": WholeFile(path="skillgym.config.yaml", value=CONFIGURATION, format="configuration"),
}


# --- changes --------------------------------------------------------------------------------------------


def mappings_of(value: object, at: KeyPath = ()) -> Iterator[KeyPath]:
    """The paths of all mappings in a value."""
    if isinstance(value, dict):
        yield at
    members: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield from mappings_of(member, (*at, key))


def keys_of(value: object) -> Iterator[KeyPath]:
    """The paths of all keys of all mappings in a value."""
    for path in mappings_of(value):
        for key in at(value, path):
            yield (*path, key)


def at(value: Any, path: KeyPath) -> Any:
    """The part of a value at a path."""
    for key in path:
        value = value[key]
    return value


def changed(value: object, path: KeyPath, new: object) -> object:
    """A copy of the value with another one at a path, which may be new."""
    copied = json.loads(json.dumps(value))  # deepcopy would keep equal parts one object
    at(copied, path[:-1])[path[-1]] = new
    return copied


def misspelled(key: str) -> str:
    """The key with its last two letters exchanged, or the two before, so that it is another one."""
    if key[-1] != key[-2]:
        return f"{key[:-2]}{key[-1]}{key[-2]}"
    return f"{key[:-3]}{key[-2]}{key[-3]}{key[-1]}"
