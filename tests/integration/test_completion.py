"""Completion by real shells on a pseudo-terminal, and what the tool answers them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, get_args

import click
import pytest

from scratch import PASSING, Ran, case, config, repository, runner, skillgym, suite
from shells import INSTALLED, completed
from skillgym_action.cli.arguments import cli, quarantine
from skillgym_action.cli.help.completion import COMMAND_COMPLETERS, COMPLETERS, of_setting
from skillgym_action.model.resource_limits import LIMIT_FIELDS
from skillgym_action.settings.option_types import ARTIFACT_STORE, PATH_STORE, REUSE, StoreWord

if TYPE_CHECKING:
    from pathlib import Path

SUITE = suite(case("parser-fast", tags=["quick"]), case("login", tags=["slow", "network"]))
FILES = {
    "bench/core.json": SUITE,
    "skillgym.config.yaml": config(claude_fast=runner(PASSING), stand_in=runner(PASSING)),
}
RUN = ".skillgym-results/20260101T000000Z-abc"


def stored(*cases: str, runner_id: str = "old-runner") -> str:
    """A results file, as far as completion reads it."""
    rows = [{"caseId": name, "runnerId": runner_id, "tags": ["stored-tag"]} for name in cases]
    return json.dumps({"suites": [{"path": "bench/gone_suite.py", "results": rows}]})


def asked(folder: Path, *words: str, **env: str) -> Ran:
    """What the tool answers zsh about the last of these words."""
    line = " ".join(["skillgym-action", *words])
    environment = {"COMP_WORDS": line, "COMP_CWORD": str(len(words)), "_SKILLGYM_ACTION_COMPLETE": "zsh_complete"}
    return skillgym(cwd=folder, **environment, **env)


def offered(folder: Path, *words: str) -> list[str]:
    """The values among the answers; a type in place of values that the shell is to find."""
    ran = asked(folder, *words)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines() if ran.out.strip() else []
    return [value if kind == "plain" else kind for kind, value in zip(lines[::3], lines[1::3], strict=True)]


# --- shells -------------------------------------------------------------------------------------------


def test_bash_is_installed():
    assert "bash" in INSTALLED


@pytest.mark.parametrize("shell", INSTALLED)
def test_a_shell_completes_commands_options_values_and_paths(shell, tmp_path):
    folder = repository(tmp_path / "work", {**FILES, "notes/readme.txt": "", f"{RUN}/results.json": stored("x")})
    lines = {
        "skillgym-action rej\t": ["rejudge"],
        "skillgym-action quarantine su\t": ["quarantine", "suggest"],
        "skillgym-action run --no-ht\t": ["run", "--no-html"],
        "skillgym-action run --case par\t": ["run", "--case", "parser-fast"],
        "skillgym-action run --case=par\t": ["run", "--case=parser-fast"],
        "skillgym-action run --report junit=out.xml --runner sh:x --case par\t": [
            *("run", "--report", "junit=out.xml", "--runner", "sh:x", "--case", "parser-fast"),
        ],
        "skillgym-action run --runner claude_\t": ["run", "--runner", "claude_fast"],
        "skillgym-action run --fail-on regr\t": ["run", "--fail-on", "regression"],
        "skillgym-action run --format skill\t --schedule isol\t": [
            *("run", "--format", "skill-evals", "--schedule", "isolated-by-runner"),
        ],
        "skillgym-action view .skillgym-results/2026\t": ["view", RUN],
        "skillgym-action run ben\t": ["run", "bench/"],
    }
    if shell != "fish":  # click's script for fish cuts values at commas
        lines["skillgym-action run --tag slow,net\t"] = ["run", "--tag", "slow,network"]
    expected = list(lines.values())
    given = completed(shell, list(lines), folder, tmp_path / "bin")
    assert [[word.removesuffix("/") for word in words] for words in given] == [
        [word.removesuffix("/") for word in words] for words in expected
    ]


# --- names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "values"),
    [
        pytest.param(["run", "--case", ""], ["parser-fast", "login", "old-case"], id="cases"),
        pytest.param(["run", "--tag", ""], ["quick", "slow", "network", "stored-tag"], id="tags"),
        pytest.param(["run", "--runner", "s"], ["stand_in"], id="runners of the configuration"),
        pytest.param(["run", "--runner", "o"], ["old-runner", "opencode"], id="runners of the last run, and agents"),
        pytest.param(["run", "bench/core.json", "--case", "l"], ["login"], id="cases of named suites"),
        pytest.param(["promote", RUN, "--case", ""], ["old-case"], id="cases of a run directory"),
        pytest.param(["promote", RUN, "--runner", ""], ["old-runner"], id="runners of a run directory"),
        pytest.param(["view", ""], [RUN], id="run directories"),
        pytest.param(["run", "--baseline", ""], ["auto", RUN], id="baselines"),
        pytest.param(["run", "--output-dir", ""], ["dir"], id="folders"),
        pytest.param(["run", "--output", ""], ["file"], id="a run directory or a file of results"),
        pytest.param(["run", "--report", "ct"], ["ctrf="], id="reports"),
        pytest.param(["schema", "q"], ["quarantine", "quarantine-suggest"], id="schemas"),
        pytest.param(["run", "--repeat", ""], [], id="a number"),
    ],
)
def test_values_are_completed(tmp_path, words, values):
    folder = repository(tmp_path, {**FILES, f"{RUN}/results.json": stored("old-case")})
    assert offered(folder, *(word or "''" for word in words)) == values


def test_programs_of_the_checkout_are_not_run(tmp_path):
    touch = "import pathlib; pathlib.Path('ran').touch()\n"
    script = "require('fs').writeFileSync('ran', ''); module.exports = {};\n"
    files = {
        "bench/core.json": None,
        "skillgym.config.yaml": None,
        "skillgym.config.cjs": script,
        "evals/a_suite.py": f"from skillgym_action import Case, Suite\n{touch}",
        "evals/b.suite.cjs": f"const name = 'skillgym';\n{script}",
        f"{RUN}/results.json": stored("of-a-program"),
    }
    folder = repository(tmp_path, files)
    assert offered(folder, "run", "--case", "''") == ["of-a-program"]
    assert offered(folder, "run", "--runner", "old") == ["old-runner"]
    assert list(folder.rglob("ran")) == []


INTERPRETED = (
    *("$(touch x)", "`touch`", "a b", "a;b", "a|b", "a&b", "a>b", "a*", "a?", "a[b]", "a{b,c}", "a'b", 'a"b', "a\\b"),
    *("~root", "#a", "-rf", "!a", "a!b", "a\nb", "a\x1b[2Jb", "a\u202eb", "a\u200bb", "=ls$"),
)


def test_a_name_that_a_shell_or_a_terminal_would_interpret_is_not_offered(tmp_path):
    files = {"bench/core.json": suite(case("safe")), f"{RUN}/results.json": stored(*INTERPRETED, "stored-and-safe")}
    folder = repository(tmp_path, files)
    assert offered(folder, "run", "--case", "''") == ["safe", "stored-and-safe"]


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"skillgym.config.yaml": "runners: ["}, id="a configuration that cannot be read"),
        pytest.param({f"{RUN}/results.json": "[" * 100_000}, id="results in deep nesting"),
        pytest.param({"bench/bad.json": "{"}, id="a suite that cannot be read"),
    ],
)
def test_what_cannot_be_read_is_left_out_without_a_message(tmp_path, files):
    assert offered(repository(tmp_path, {**FILES, **files}), "run", "--case", "''") == ["parser-fast", "login"]


def test_results_behind_a_link_are_not_read(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "results.json").write_text(stored("from-outside"), encoding="utf-8")
    folder = repository(tmp_path / "work", {**FILES, ".skillgym-results/a/x": ""})
    (folder / ".skillgym-results" / "a" / "results.json").symlink_to(tmp_path / "outside" / "results.json")
    (folder / ".skillgym-results" / "b").symlink_to(tmp_path / "outside")
    os.mkfifo(folder / ".skillgym-results" / "a" / "fifo")
    assert offered(folder, "run", "--case", "''") == ["parser-fast", "login"]


def test_an_unknown_request_of_a_shell_is_an_error(tmp_path):
    assert skillgym(cwd=tmp_path, _SKILLGYM_ACTION_COMPLETE="tcsh_source").code == 2


def test_words_are_those_that_the_options_accept(tmp_path):
    folder = repository(tmp_path)
    assert offered(folder, "run", "--limits", "''") == [f"{name}=" for name in LIMIT_FIELDS]
    words = {word.partition(",")[0] for word in offered(folder, "run", "--reuse", "''")}
    assert words == set(REUSE)
    assert offered(folder, "run", "--store", "''") == [*get_args(StoreWord), PATH_STORE, ARTIFACT_STORE]


# --- every option -------------------------------------------------------------------------------------

FREE = {
    *("match", "base", "branch", "since", "timeout", "max_steps", "max_cost", "maxfail", "repeat", "retry", "jobs"),
    *("lost_retries", "shard", "target", "threshold", "min_pass_rate", "max_error_rate", "min_uplift", "agent_user"),
    *("retry_failed", "max_parallel", "case_id", "commit", "expect", "owner", "issue", "days", "slots", "address"),
}
"""Parameters with numbers, times, names and texts that no shell can know."""


def test_every_parameter_is_completed_or_has_free_values():
    taken = {
        (name, str(param.name))
        for name, command in {**cli.commands, **quarantine.commands}.items()
        for param in command.get_params(click.Context(command))
        if isinstance(param, click.Argument) or (isinstance(param, click.Option) and not param.is_flag)
    }
    assert COMMAND_COMPLETERS.keys() <= taken
    left = {name for command, name in taken if (command, name) not in COMMAND_COMPLETERS}
    assert {name for name in left if name not in COMPLETERS and not of_setting(name)} == FREE
    assert COMPLETERS.keys() <= left
