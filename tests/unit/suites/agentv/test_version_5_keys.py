"""No key of a suite of AgentV 5, or of its providers, is dropped without a word."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agentv_files import read
from nested_keys import mappings_in, with_key
from skillgym_action.model.errors import SuiteError

if TYPE_CHECKING:
    from pathlib import Path

SUITE: dict[str, Any] = {
    "name": "all",
    "tags": {"experiment": "a"},
    "env": {"A": "1"},
    "providers": ["main", {"id": "mock", "label": "own", "config": {"response": "b"}}],
    "prompts": [{"label": "one", "prompt": "{{ input }}"}],
    "evaluate_options": {"repeat": {"count": 2}, "budget_usd": 1},
    "default_test": {"vars": {"input": "Do it"}, "metadata": {"a": 1}, "options": {}},
    "environment": {
        "type": "host",
        "workdir": "start",
        "setup": {"command": ["sh", "x.sh", "./start"]},
        "env": {"B": "2"},
    },
    "assert": [{"type": "contains", "value": "a"}],
    "tests": [
        {
            "id": "a",
            "vars": {"x": 1},
            "options": {},
            "environment": {"workdir": "start"},
            "execution": {"skip_defaults": True},
            "assert": [
                {"type": "llm-rubric", "value": [{"id": "r", "outcome": "good"}]},
                {"type": "assert-set", "assert": [{"type": "contains", "value": "a"}]},
                {"type": "skill-used", "value": {"name": "pdf"}},
                {"type": "not-trajectory:tool-used", "value": {"name": "Read"}},
                {"type": "trajectory:tool-sequence", "value": {"steps": [{"name": "Read"}]}},
                {"type": "trajectory:tool-args-match", "value": {"name": "Read", "args": {"a": 1}}},
                {"type": "trajectory:step-count", "value": {"max": 3}},
                {"type": "trajectory:goal-success", "value": {"goal": "done"}},
                {"type": "javascript", "value": "true"},
            ],
        },
        {"id": "b", "mode": "conversation", "turns": [{"input": "Hi", "assert": ["polite"]}]},
    ],
    "scenarios": [{"config": [{"id": "c", "vars": {"y": 2}}], "tests": [{"id": "d", "assert": ["x"]}]}],
}
PROVIDERS: list[Any] = [{"id": "mock", "label": "main", "runtime": {"mode": "host"}, "config": {"response": "a"}}]
FREE = ("vars", "tags", "env", "metadata", "args")
"""Mappings that may have any key."""


def told(root: Path, suite: Any, providers: Any) -> str:
    """Everything that is said of the suite."""
    files = {
        "evals/suite.yaml": json.dumps(suite),
        ".agentv/providers.yaml": json.dumps(providers),
        "evals/start/x": "",
    }
    try:
        loaded = read(root, files, path="evals/suite.yaml")
    except SuiteError as error:
        return "\n".join(map(str, error.problems))
    problems = [*(one.problem for one in loaded.invalid), *loaded.warnings]
    return "\n".join(map(str, [*problems, *(one.problem for one in loaded.runners if one.problem)]))


def test_without_an_unknown_key_nothing_is_said(tmp_path):
    assert told(tmp_path, SUITE, PROVIDERS) == ""


@pytest.mark.parametrize("at", mappings_in(SUITE, FREE), ids=lambda at: ".".join(map(str, at)) or "top")
def test_a_key_that_nobody_knows_is_named_wherever_it_is(tmp_path, at):
    assert "zebra" in told(tmp_path, with_key(SUITE, at, "zebra"), PROVIDERS)


@pytest.mark.parametrize("at", mappings_in(PROVIDERS, FREE), ids=lambda at: ".".join(map(str, at)))
def test_a_key_of_a_provider_that_nobody_knows_is_named(tmp_path, at):
    assert "zebra" in told(tmp_path, SUITE, with_key(PROVIDERS, at, "zebra"))
