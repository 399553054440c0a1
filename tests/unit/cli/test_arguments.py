"""Options and inputs are made of what ``Settings`` declares; help names all there is to choose."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from skillgym_action.authoring.starter.suites import SUITE_FORMATS
from skillgym_action.cli.arguments import cli, quarantine
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.reports import REPORTERS
from skillgym_action.settings.option_types import FAIL_ON
from skillgym_action.settings.settings import Settings, declared


def options(command: str) -> dict[str, click.Option]:
    """The options of a command by their names."""
    found = cli.commands[command]
    params = found.get_params(click.Context(found))
    return {
        next(name for name in option.opts if name.startswith("--")): option
        for option in params
        if isinstance(option, click.Option)
    }


def helped(*command: str) -> str:
    return " ".join(CliRunner().invoke(cli, [*command, "--help"], terminal_width=1000).output.split())


def test_every_setting_can_be_set_by_an_option_or_an_input():
    kinds = {name: declared(name) for name in Settings.model_fields}
    assert [name for name, (setting, option) in kinds.items() if not option and not setting.input] == []


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_neither_version_nor_help_of_the_tool_wait_for_the_settings(option):
    costly = {"pydantic", "skillgym_action.settings.slices", "skillgym_action.workspaces.repository.repository"}
    program = f"""import sys
from click.testing import CliRunner
from skillgym_action.cli.arguments import cli
assert CliRunner().invoke(cli, [{option!r}]).exit_code == 0
print({costly!r} & set(sys.modules))"""
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "set()\n"


def test_help_shows_options_of_settings_and_the_command_s_own_options():
    first, *_, json_, matrix, cost, last = options("list")
    assert (first, json_, matrix, cost, last) == ("--config", "--json", "--matrix", "--cost", "--help")


@pytest.mark.parametrize("option", [name for name in options("run") if not options("run")[name].is_flag])
def test_an_option_with_a_metavar_takes_a_value(option):
    without = CliRunner().invoke(cli, ["run", "--dry-run", option])
    assert without.exit_code == ExitCode.INVALID_INPUT
    assert f"Option '{option}' requires an argument." in without.output
    command = cli.commands["run"]
    begun_with_a_dash = command.make_context("run", [option, "-1"], obj={}).params
    assert begun_with_a_dash[option.removeprefix("--").replace("-", "_")] in ("-1", ("-1",))


def test_options_belong_to_commands_that_there_are():
    named = {command for name in Settings.model_fields for command in declared(name)[0].commands}
    assert named <= {*cli.commands, *(f"quarantine {name}" for name in quarantine.commands)}


def test_an_option_has_the_name_of_its_field_and_an_environment_variable():
    jobs = options("run")["--jobs"]
    assert (jobs.name, jobs.metavar, jobs.envvar, jobs.is_flag, jobs.multiple) == (
        "jobs",
        "N",
        "SKILLGYM_JOBS",
        False,
        False,
    )
    assert options("run")["--install-agents"].is_flag
    assert options("run")["--case"].multiple
    assert "--jobs" not in options("report")


@pytest.mark.parametrize(
    ("command", "option", "words"),
    [
        pytest.param("run", "--report", REPORTERS, id="a new reporter is in the help of --report"),
        pytest.param("run", "--fail-on", FAIL_ON, id="a new condition is in the help of --fail-on"),
        pytest.param("init", "--format", SUITE_FORMATS, id="a new format is in the help of --format"),
    ],
)
def test_help_lists_what_can_be_chosen(command, option, words):
    text = options(command)[option].help or ""
    assert [word for word in words if word not in text] == []


@pytest.mark.parametrize("option", ["--agent-user", "--install-agents"])
def test_a_worker_has_options_of_runs_with_their_texts_and_variables(option):
    of_worker, of_run = options("worker")[option], options("run")[option]
    assert (of_worker.help, of_worker.envvar) == (of_run.help, of_run.envvar)


def test_help_lists_every_exit_code():
    text = helped().split("Exit codes:")[1].split("Examples:")[0]
    assert {int(word) for word in text.split() if word.isdigit()} == set(ExitCode)
