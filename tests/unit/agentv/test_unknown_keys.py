"""No key of a suite or of its targets is dropped without a word: each place is given one that nobody knows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentv_files import read
from nested_keys import mappings_in, with_key
from skillgym_action.model.errors import SuiteError

if TYPE_CHECKING:
    from pathlib import Path

SUITE: dict[str, Any] = {
    "name": "all",
    "requires": {"agentv": ">=4"},
    "execution": {"target": "main", "trials": {"count": 2}},
    "workspace": {
        "template": "./start",
        "hooks": {"before_all": {"command": ["true"]}},
        "env": {"required_commands": ["sh"]},
    },
    "assertions": [{"type": "contains", "value": "a"}],
    "tests": [
        {
            "id": "a",
            "input": "Do it",
            "execution": {"threshold": 0.5},
            "workspace": {"hooks": {"after_each": {"command": ["true"]}}},
            "assertions": [
                {"type": "regex", "value": "a"},
                {"type": "tool-trajectory", "mode": "in_order", "expected": [{"tool": "Read"}]},
                {"type": "field-accuracy", "fields": [{"path": "a", "match": "exact"}]},
                {
                    "type": "composite",
                    "assertions": [{"name": "x", "type": "contains", "value": "a"}],
                    "aggregator": {"type": "weighted_average"},
                },
                {"type": "llm-grader", "prompt": "Is it good?"},
                {"type": "rubrics", "criteria": [{"id": "r", "outcome": "good"}]},
            ],
        },
        {"id": "b", "mode": "conversation", "turns": [{"input": "Hi"}]},
    ],
}
TARGETS: dict[str, Any] = {"targets": [{"name": "main", "provider": "mock", "response": "a"}]}
FREE = ("requires",)
"""Mappings that may have any key."""


def told(root: Path, suite: Any, targets: Any) -> str:
    """Everything that is said of the suite."""
    files = {"evals/EVAL.yaml": json.dumps(suite), "targets.yaml": json.dumps(targets), "evals/start/x": ""}
    try:
        loaded = read(root, files)
    except SuiteError as error:
        return "\n".join(map(str, error.problems))
    problems = [*(one.problem for one in loaded.invalid), *loaded.warnings]
    return "\n".join(map(str, [*problems, *(one.problem for one in loaded.runners if one.problem)]))


def test_without_an_unknown_key_nothing_is_said(tmp_path):
    assert told(tmp_path, SUITE, TARGETS) == ""


ALL = [("suite", at) for at in mappings_in(SUITE, FREE)] + [("targets", at) for at in mappings_in(TARGETS, FREE)]


@pytest.mark.parametrize(
    ("file", "at"), ALL, ids=lambda part: ".".join(map(str, part)) if part and part != "suite" else ""
)
def test_an_unknown_key_is_named_wherever_it_is(tmp_path, file, at):
    suite = with_key(SUITE, at, "zebra") if file == "suite" else SUITE
    targets = with_key(TARGETS, at, "zebra") if file == "targets" else TARGETS
    assert "zebra" in told(tmp_path, suite, targets)


@settings(deadline=None, max_examples=60)
@given(place=st.sampled_from(ALL), key=st.from_regex(r"[a-z]{2}_[a-z]{3}q", fullmatch=True))
def test_no_other_key_is_dropped_either(tmp_path_factory, place, key):
    file, at = place
    suite = with_key(SUITE, at, key) if file == "suite" else SUITE
    targets = with_key(TARGETS, at, key) if file == "targets" else TARGETS
    assert key in told(tmp_path_factory.mktemp("suite"), suite, targets)
