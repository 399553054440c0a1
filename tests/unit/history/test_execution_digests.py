"""Digests of what executions are given: each input changes its own digest, and nothing else does."""

from __future__ import annotations

import json

import pytest

from scratch import case, config, repository, runner, suite, world_in, written
from skillgym_action.history.digests import ExecutionDigests
from skillgym_action.pipeline import pipeline
from skillgym_action.pipeline.wiring import configuration
from skillgym_action.settings import resolve
from skillgym_action.settings.context import current_context
from skillgym_action.settings.runners import configured_runners
from skillgym_action.settings.settings import validated_settings


def digests(root):
    """The digests of the case ``one`` of the suite."""
    settings, context = validated_settings({}, str), current_context(root, {})
    config_ = configuration(settings, context)
    options = resolve.options(settings, config_, context, runners=1)
    with world_in(root) as services:
        plan = pipeline.plan_run(services, configured_runners(settings, config_, context), options)
        found = ExecutionDigests(services.suites)
        return next(found.of(execution) for execution in plan.executions if execution.case.id == "one")


def test_digests_are_the_same_in_another_place_and_when_another_case_is_added(tmp_path):
    for name in ("first", "second"):
        repository(tmp_path / name)
    before = digests(tmp_path / "first")
    assert digests(tmp_path / "second") == before
    written(tmp_path / "second", {"bench/core.json": suite(case("new"), case("one"))})
    assert digests(tmp_path / "second") == before
    written(tmp_path / "second", {"AGENTS.md": "other", "skillgym.config.yaml": config(runner("true"))})
    assert digests(tmp_path / "second") == before, "what is compared is in no digest"


CHANGES = {
    "prompt": (case("one", prompt="Do it otherwise"), "prompt"),
    "an assertion's operand": (case("one", expect=("file:other.txt exists",)), "assertions"),
    "one assertion more": (case("one", expect=("file:out.txt exists", "file:b exists")), "assertions"),
}


@pytest.mark.parametrize(("changed", "part"), CHANGES.values(), ids=CHANGES)
def test_each_change_changes_its_own_digest(tmp_path, changed, part):
    repository(tmp_path)
    before = digests(tmp_path)
    written(tmp_path, {"bench/core.json": suite(changed)})
    after = digests(tmp_path)
    names = ("prompt", "assertions", "workspace", "program")
    assert [name for name in names if getattr(before, name) != getattr(after, name)] == [part]


def test_the_operands_of_a_rule_about_steps_are_in_the_digest_of_the_assertions(tmp_path):
    repository(tmp_path, {"bench/core.json": None})
    found = set()
    for names in (["Read", "Edit"], ["Edit", "Read"]):
        rule = {"type": "trajectory:tool-sequence", "value": names}
        test = {"id": "one", "input": "Do it", "assert": [rule]}
        written(tmp_path, {"bench/core.eval.yaml": json.dumps({"environment": {"type": "host"}, "tests": [test]})})
        found.add(digests(tmp_path).assertions)
    assert len(found) == 2


def test_a_bootstrap_is_an_input_of_the_workspace(tmp_path):
    repository(tmp_path)
    before = digests(tmp_path)
    workspace = {"mode": "isolated", "bootstrap": {"command": "true"}}
    written(tmp_path, {"skillgym.config.yaml": config(runner(), run={"workspace": workspace})})
    after = digests(tmp_path)
    assert (after.prompt, after.assertions) == (before.prompt, before.assertions)
    assert after.workspace != before.workspace


@pytest.mark.slow
def test_the_code_of_a_grading_function_is_in_the_digest_of_the_program(tmp_path):
    repository(tmp_path)
    (tmp_path / "bench/core.json").unlink()
    found = []
    for score in (1, 0):
        test = f'{{ id: "one", input: "Do it", assertions: [() => ({{ name: "f", score: {score} }})] }}'
        written(tmp_path, {"bench/core.eval.ts": f"export default {{ name: 'core', tests: [{test}] }};\n"})
        found.append(digests(tmp_path))
    before, after = found
    assert (after.prompt, after.assertions, after.workspace) == (before.prompt, before.assertions, before.workspace)
    assert after.program != before.program
