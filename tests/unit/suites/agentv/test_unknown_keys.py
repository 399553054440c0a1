"""No key of a suite or of its targets is dropped without a word: each place is given one that nobody knows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentv_files import case, problems, read, read_tests, suite_text, warnings
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


# --- misspelled keys of assertions ------------------------------------------------------------------

YES: dict[str, Any] = {"type": "contains", "value": "ok"}
MEAN = {"type": "weighted_average"}
MISSPELLED = [
    *(
        pytest.param({**entry, "weigth": 2}, "", "weight", id=f"{entry['type']}.weigth")
        for entry in (
            YES,
            {"type": "is-json"},
            {"type": "not-regex", "value": "a"},
            {"type": "llm-grader", "prompt": "Is it good?"},
            {"type": "llm_grader", "prompt": "Is it good?"},
            {"type": "rubrics", "criteria": ["a"]},
            {"type": "rubric", "rubrics": ["a"]},
            {"type": "llm-rubric", "value": "a"},
            {"type": "not-javascript", "value": "true"},
            {"type": "python", "value": "True"},
            {"type": "composite", "assertions": [{**YES, "name": "a"}], "aggregator": MEAN},
            {"type": "assert-set", "assert": [YES]},
            {"type": "trajectory:tool-used", "value": "Read"},
        )
    ),
    pytest.param({"type": "llm-grader", "promt": "a"}, "", "prompt", id="prompt"),
    pytest.param({"type": "rubrics", "criteria": ["a"], "vote": 3}, "", "votes", id="votes"),
    pytest.param({"type": "llm-rubric", "value": "a", "treshold": 0.5}, "", "threshold", id="threshold"),
    pytest.param({"type": "python", "value": "1", "confg": {}}, "", "config", id="config"),
    pytest.param({"type": "assert-set", "assert": [YES], "minScroe": 0.5}, "", "min_score", id="in camelCase"),
    pytest.param(
        {"type": "tool-trajectory", "mode": "exact", "expected": [{"tool": "Read", "arg": {"a": 1}}]},
        ".expected[0]",
        "args",
        id="an expected call",
    ),
    pytest.param(
        {"type": "field-accuracy", "fields": [{"path": "a", "match": "exact", "requird": False}]},
        ".fields[0]",
        "required",
        id="a field",
    ),
    pytest.param(
        {"type": "composite", "assertions": [YES], "aggregator": {**MEAN, "weight": {"a": 1}}},
        ".aggregator",
        "weights",
        id="an aggregator",
    ),
    pytest.param(
        {"type": "composite", "assertions": [{**YES, "negat": True}], "aggregator": MEAN},
        ".assertions[0]",
        "negate",
        id="a member of a composite",
    ),
    pytest.param(
        {"type": "assert-set", "assert": [YES, {"type": "llm-rubric", "value": "a", "promt": "b"}]},
        ".assert[1]",
        "prompt",
        id="a member of a set",
    ),
    pytest.param(
        {"type": "rubrics", "criteria": ["a", {"outcome": "b", "requried": False}]},
        ".criteria[1]",
        "required",
        id="a rubric",
    ),
    pytest.param({"type": "llm-rubric", "value": [{"outcom": "b"}]}, ".value[0]", "outcome", id="a rubric as a value"),
    pytest.param(
        {"type": "rubrics", "criteria": [{"outcome": "b", "score_ranges": [{"score_rang": [0, 10], "outcome": "c"}]}]},
        ".criteria[0].score_ranges[0]",
        "score_range",
        id="a range of points",
    ),
    pytest.param(
        {"type": "llm-grader", "prompt": {"command": ["a"], "confg": {}}}, ".prompt", "config", id="a prompt's program"
    ),
    pytest.param(
        {"type": "trajectory:tool-args-match", "value": {"name": "a", "args": {}, "ingore": "b"}},
        ".value",
        "ignore",
        id="a value",
    ),
    pytest.param(
        {"type": "trajectory:tool-sequence", "value": {"steps": ["a", {"name": "b", "patern": "c"}]}},
        ".value.steps[1]",
        "pattern",
        id="a step",
    ),
]


@pytest.mark.parametrize(("entry", "place", "meant"), MISSPELLED)
def test_a_misspelled_key_of_an_assertion_makes_the_case_invalid(tmp_path, entry, place, meant):
    suite = read_tests(tmp_path, case("a", assertions=[entry]), case("b"))
    (problem,) = problems(suite)
    assert f": tests[0].assertions[0]{place}: unknown key" in problem
    assert problem.endswith(f"did you mean {meant!r}?")
    assert [one.id for one in suite.cases] == ["b"]


def test_a_misspelled_key_of_an_assertion_of_all_tests_makes_the_suite_invalid(tmp_path):
    with pytest.raises(SuiteError, match="unknown key 'promt'; did you mean 'prompt'"):
        read_tests(tmp_path, assertions=[{"type": "llm-grader", "promt": "a"}])


def test_a_misspelled_key_of_a_rubric_of_a_test_makes_the_case_invalid(tmp_path):
    (problem,) = problems(read_tests(tmp_path, case(rubrics=[{"outcome": "a", "weigth": 2}])))
    assert "tests[0].rubrics[0]: unknown key 'weigth'; did you mean 'weight'?" in problem


CONFIG = {"treshold": 1, "vars": {"confg": 2}}
FREE_KEYS = [
    pytest.param({"type": "code-grader", "command": ["a"], "weigth": 2, "config": CONFIG}, id="a program's"),
    pytest.param({"type": "script", "command": ["a"], "weigth": 2}, id="a script's"),
    pytest.param({"type": "of-the-suite", "weigth": 2}, id="a type of the suite's own"),
    pytest.param({"type": "python", "weigth": 2}, id="its own type of the same name"),
    pytest.param({"type": "javascript", "value": "true", "config": CONFIG}, id="config"),
    pytest.param({"type": "assert-set", "assert": [YES], "config": CONFIG}, id="the config of a set"),
    pytest.param({"type": "llm-grader", "prompt": {"command": ["a"], "config": CONFIG}}, id="the config of a prompt"),
    pytest.param(
        {"type": "tool-trajectory", "mode": "exact", "expected": [{"tool": "Read", "args": {"arg": 1, "tol": 2}}]},
        id="args",
    ),
    pytest.param({"type": "tool-trajectory", "mode": "any_order", "minimums": {"expectd": 1}}, id="minimums"),
    pytest.param(
        {"type": "composite", "assertions": [YES], "aggregator": {**MEAN, "weights": {"weigth": 1}}}, id="weights"
    ),
    pytest.param(
        {"type": "trajectory:tool-args-match", "value": {"name": "a", "args": {"nam": 1}, "defaults": {"arg": 2}}},
        id="args of version 5",
    ),
    pytest.param(
        {"type": "rubrics", "criteria": [{"outcome": "a", "score_ranges": {0: "bad", 5: "good"}}]}, id="score_ranges"
    ),
    pytest.param({**YES, "x-weight": 1, "$value": 2}, id="extensions"),
]


@pytest.mark.parametrize("entry", FREE_KEYS)
def test_keys_that_belong_to_the_author_are_never_refused(tmp_path, entry):
    grader = {f"evals/.agentv/assertions/{name}.ts": "" for name in ("of-the-suite", "python")}
    suite = read(tmp_path, {"evals/EVAL.yaml": suite_text(case(assertions=[entry])), **grader})
    assert suite.invalid == ()


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param({"type": "llm-grader", "zebra": 1}, id="llm-grader"),
        pytest.param({"type": "llm-rubric", "value": "a", "rubricPrompt": "b"}, id="a key of promptfoo"),
        pytest.param({"type": "skill-used", "value": "a", "provider": "b"}, id="a key of another type"),
        pytest.param({"type": "assert-set", "assert": [YES], "description": "b"}, id="assert-set"),
        pytest.param(
            {"type": "tool-trajectory", "mode": "exact", "expected": [{"tool": "a", "note": 1}]}, id="an inner mapping"
        ),
        pytest.param({"type": "llm-grader", "prompt": {"command": ["a"], "timeout": 1}}, id="a prompt's program"),
    ],
)
def test_an_unknown_key_that_is_like_no_known_key_is_a_warning(tmp_path, entry):
    suite = read_tests(tmp_path, case(assertions=[entry]))
    assert suite.invalid == ()
    (warning,) = warnings(suite)
    assert "unknown key" in warning
