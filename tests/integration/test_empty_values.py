"""An empty value on the command line is an error; an empty variable or input of the action is not set."""

from __future__ import annotations

import json

import pytest

from action_step import step
from scratch import case, repository, skillgym, suite

GATES = ("--min-pass-rate", "--max-error-rate", "--max-cost", "--shard", "--baseline", "--fail-on")
FILTERS = ("--case", "--tag", "--match", "--runner", "--format")


@pytest.fixture
def root(tmp_path):
    cases = (case("one"), case("two", ("file:gone exists",)))
    return repository(tmp_path / "repo", {"bench/core.json": suite(*cases)}, git=True)


@pytest.mark.parametrize("option", [*GATES, *FILTERS, "--report", "--output", "--output-dir", "--limits", "--engine"])
def test_an_empty_value_turns_nothing_off(root, option):
    message = f"error: {option}: the value is empty; leave the option out\n"
    for args in ((option, ""), (f"{option}=",), (option, " ")):
        ran = skillgym("run", *args, cwd=root)
        assert (ran.code, ran.out, ran.err) == (2, "", message)
    assert not (root / ".skillgym-results").exists()


def test_each_of_several_empty_values_has_a_message(root):
    ran = skillgym("run", "--case", "one", "--min-pass-rate", "", "-k", "", "--case", "", "--tag", ",", cwd=root)
    messages = [f"error: {name}: the value is empty; leave the option out" for name in _OPTIONS]
    assert (ran.code, ran.err.splitlines()) == (2, messages)


_OPTIONS = ("--case", "--min-pass-rate", "--match", "--tag")


@pytest.mark.parametrize(
    ("args", "option"),
    [
        (("init", "--agent", ""), "--agent"),
        (("doctor", "--install", ""), "--install"),
        (("trend", "--output", ""), "--output"),
        (("quarantine", "suggest", "--owner", ""), "--owner"),
        (("worker", "tcp://127.0.0.1:1", "--tls-ca", ""), "--tls-ca"),
        (("report", ".", "--suites", ""), "--suites"),
    ],
)
def test_options_of_single_commands_are_no_exception(root, args, option):
    ran = skillgym(*args, cwd=root)
    assert (ran.code, ran.err) == (2, f"error: {option}: the value is empty; leave the option out\n")


def test_an_empty_value_is_an_error_in_the_document_of_json(root):
    ran = skillgym("check", "--json", "--case", "", cwd=root)
    (error,) = json.loads(ran.out)["errors"]
    assert (ran.code, error["message"], error["remedy"]) == (2, "--case: the value is empty", "leave the option out")


def test_an_empty_variable_is_not_set(root):
    names = [name.removeprefix("--").replace("-", "_").upper() for name in (*GATES, *FILTERS)]
    ran = skillgym("run", cwd=root, **{f"SKILLGYM_{name}": "" for name in names})
    assert (ran.code, "✗ 1 of 2 results passes, 1 fails for 1 reason" in ran.err) == (1, True), ran.err


def test_an_empty_input_of_the_action_is_not_set(root):
    inputs = dict.fromkeys(("min-pass-rate", "max-cost", "cases", "tags", "baseline", "shard", "fail-on"), "")
    done = step(root, inputs=inputs)
    assert (done.code, done.outputs["passed"], done.outputs["failed"]) == (1, "1", "1"), done.said
