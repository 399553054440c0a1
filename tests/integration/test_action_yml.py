"""action.yml: well formed, complete, and in agreement with the Dockerfile it starts."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import get_args

import pytest
import yaml

import composite_action
from paths import REPOSITORY
from skillgym_action.cli.action.inputs import MODES, known_inputs
from skillgym_action.github.options import CommentMode, CommentWhen, StatusMode
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.reports import REPORTERS
from skillgym_action.settings.option_types import FAIL_ON, Schedule

TEXT = (REPOSITORY / "action.yml").read_text(encoding="utf-8")
ACTION = yaml.safe_load(TEXT)


def test_it_is_what_githubs_schema_describes():
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions"]
    finished = subprocess.run([*checker, REPOSITORY / "action.yml"], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout


def test_it_has_the_outputs_that_workflows_read():
    assert list(ACTION["outputs"]) == [
        "verdict",
        "exit-code",
        "executions",
        "passed",
        "failed",
        "expected-failed",
        "unexpected-passed",
        "errored",
        "skipped",
        "pass-rate",
        "flaky",
        "comparison",
        "regression-check",
        "cost-usd",
        "tokens",
        "duration-seconds",
        "report-dir",
        "junit-path",
        "results-path",
        "html-path",
        "store-path",
        "summary-path",
        "matrix",
        "shard-count",
        "plan-path",
        "comment-url",
        "comment-id",
    ]


def test_its_inputs_are_those_that_the_script_writes():
    assert composite_action.action(TEXT) == TEXT
    assert set(ACTION["inputs"]) == set(known_inputs())


def test_an_input_without_an_entry_gets_one_with_the_words_of_its_option():
    entry = '  max-steps:\n    description: "Maximum number of model rounds in a session."\n'
    assert entry in TEXT
    assert composite_action.action(TEXT.replace(entry, "")) == TEXT
    unknown = TEXT.replace(entry, f"{entry}  max-step:\n    description: It has no setting.\n")
    assert composite_action.action(unknown) == TEXT


@pytest.mark.parametrize(
    ("field", "words"),
    [
        pytest.param(
            "allow_partial",
            "`true` or `false`: start even if the forecast is above `max-cost`; the run ends once this amount is spent."
            " Default: `false`.",
            id="a switch",
        ),
        pytest.param(
            "threshold",
            "Minimum mean score of plugin evals and Harbor tasks, 0 to 1. Default: 1.",
            id="a value with a default",
        ),
    ],
)
def test_the_words_of_an_option_become_those_of_an_input(field, words):
    assert composite_action.description(field) == words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("fail-on", FAIL_ON, id="what makes the job red"),
        pytest.param("schedule", get_args(Schedule), id="how executions are scheduled"),
        pytest.param("mode", MODES, id="what the action does"),
        pytest.param("comment", get_args(CommentMode), id="which comment is written"),
        pytest.param("comment-when", get_args(CommentWhen), id="when a comment is begun"),
        pytest.param("status", get_args(StatusMode), id="when a status is set"),
        pytest.param("reports", REPORTERS, id="kinds of reports"),
    ],
)
def test_an_input_that_takes_words_names_them_all(name, words):
    assert [word for word in words if word not in ACTION["inputs"][name]["description"]] == []


def test_the_output_with_the_exit_code_names_them_all():
    described = {int(code) for code in re.findall(r"\d+", ACTION["outputs"]["exit-code"]["description"])}
    assert described == set(ExitCode) - {ExitCode.BROKEN_PIPE}, "a job reads everything"


@pytest.mark.parametrize("section", ["inputs", "outputs"])
def test_every_entry_says_in_a_sentence_what_it_is(section):
    for name, entry in ACTION[section].items():
        assert entry["description"].endswith("."), name


def test_no_input_has_a_default_that_would_hide_the_configuration_file():
    given = [name for name, entry in ACTION["inputs"].items() if "default" in entry or "required" in entry]
    assert given == ["github-token", "matrix"], "which no configuration file may hold"


def test_it_runs_the_image_of_this_repository_and_passes_no_text_on_a_command_line():
    assert ACTION["runs"] == {"using": "docker", "image": "Dockerfile"}
    dockerfile = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
    assert 'ENTRYPOINT ["/usr/local/bin/python3", "-IBu", "/usr/local/bin/skillgym-action-entrypoint"]' in dockerfile


def test_the_dockerfile_needs_no_other_builder_than_the_one_an_engine_has():
    lines = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("# syntax=") or "<<" in line or "--mount" in line] == []
    assert [line for line in lines if line.startswith("USER")] == [], "an action's container has to run as root"
