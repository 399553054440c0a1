"""Defaults that the reference and the JSON Schemas name in words are those that apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from skillgym_action.cli.schemas.schema_values import DEFAULTS
from skillgym_action.judging.assertions.commands import CommandPasses
from skillgym_action.model.limits import DEFAULT_DISK_BYTES
from skillgym_action.model.resource_limits import format_size
from skillgym_action.settings import resolve
from skillgym_action.settings.arm_options import AUTO
from skillgym_action.settings.configuration_file import Config
from skillgym_action.settings.context import current_context
from skillgym_action.settings.settings import Settings
from skillgym_action.settings.slices import EngineOptions
from skillgym_action.suites.container_section import ContainerKeys, container_spec
from skillgym_action.suites.xbench.expectations import CommandKind, ExpectationOptions

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.settings.slices import Options


@pytest.fixture
def options(tmp_path: Path) -> Options:
    """What applies if neither an option nor the configuration sets anything."""
    return resolve.options(Settings(), Config(), current_context(tmp_path, {}), runners=1)


def words(value: object) -> str:
    """A value as tables show it."""
    if isinstance(value, bool):
        return f"`{value}`".lower()
    return f"`{value}`" if isinstance(value, str) else f"{value:g}"


def test_defaults_of_runs(options):
    run, execute = DEFAULTS["RunSection"], options.execute
    assert (run["repeat"], run["require"], run["onLimit"]) == ("1", "`all`", "`failed`"), "as in the options of a stage"
    assert run["repeatFailure"] == run["retryFailed"] == words(execute.retry)
    assert run["schedule"].startswith(words(execute.schedule))
    assert (run["maxSteps"], execute.max_steps) == (run["maxCost"], execute.max_cost) == ("no limit", None)
    assert set(run["failOn"].split(", ")) == {words(word) for word in options.gate.fail_on}


def test_the_default_folder_of_run_directories(tmp_path):
    folder = resolve.run_directories(Settings(), Config(), current_context(tmp_path, {}))
    assert DEFAULTS["RunSection"]["outputDir"] == f"`{folder.relative_to(tmp_path)}` in the working directory"


def test_defaults_of_reports(options):
    publisher = options.publisher
    assert DEFAULTS["ReportSection"]["reviewComments"] == words(publisher.review_comments) == "`false`"
    assert DEFAULTS["ReportSection"]["html"] == words(options.publish.html)
    assert options.publish.comment_id == publisher.comment_id


def test_defaults_of_limits(options):
    limits, in_action = options.plan.limits, resolve.default_limits(in_action=True)
    assert DEFAULTS["LimitsSection"]["processes"] == words(limits.processes)
    assert DEFAULTS["LimitsSection"]["fileSize"] == format_size(limits.file_size or 0)
    assert DEFAULTS["LimitsSection"]["disk"] == f"in the action {format_size(in_action.disk or 0)}, elsewhere `none`"
    assert (limits.disk, in_action.disk) == (None, DEFAULT_DISK_BYTES)
    assert (in_action.processes, in_action.file_size) == (limits.processes, limits.file_size)
    assert DEFAULTS["DefaultsSection"]["timeoutMs"] == f"{options.plan.default_timeout * 1000:.0f}"


def test_defaults_of_other_sections(options):
    assert DEFAULTS["SandboxSection"]["type"] == words(options.sandbox.type)
    assert (DEFAULTS["SkillsSection"]["arms"], options.arms.selected) == (words(AUTO), ())
    assert (DEFAULTS["ConfigFile"]["reuse"], options.reuse) == ("`never`", None)
    assert (DEFAULTS["ConfigFile"]["engine"], options.engine) == ("this machine", None)
    assert DEFAULTS["ConfigFile"]["store"].endswith("elsewhere `none`")
    assert options.store is None


def test_defaults_of_clusters():
    engine = EngineOptions(address="tls://example.com:8786")
    assert DEFAULTS["EngineSection"] == {
        "slots": words(engine.slots),
        "lostAfter": f"`{engine.lost_after:g}s`",
        "lostRetries": words(engine.lost_retries),
        "wait": f"`{engine.wait / 60:g}m`",
    }


def test_the_default_exit_code_of_a_command():
    command = CommandKind().from_object("make", ExpectationOptions(), {})
    assert isinstance(command, CommandPasses)
    assert DEFAULTS["ExpectationSection"]["exits"] == f"{command.exits}, unless `fails` is true"


def test_the_default_network_of_containers(tmp_path):
    container = container_spec(ContainerKeys(image="debian"), None, tmp_path, lambda _: None)
    assert container
    assert DEFAULTS["ContainerKeys"]["network"] == words(container.network.mode.value)
