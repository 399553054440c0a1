"""The GitHub action: ``INPUT_*`` -> the settings of ``run``, and the files GitHub reads afterwards."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.options import Settings

PREFIX = "INPUT_"
# Input -> setting. Those that only the action has are in OWN.
SETTINGS = {
    "suites": "paths",
    "config": "config",
    "runners": "runners",
    "cases": "case",
    "tags": "tag",
    "model": "model",
    "repeat": "repeat",
    "retry": "retry",
    "jobs": "jobs",
    "schedule": "schedule",
    "timeout": "timeout",
    "max-steps": "max_steps",
    "max-cost": "max_cost",
    "fail-on": "fail_on",
    "min-pass-rate": "min_pass_rate",
    "max-error-rate": "max_error_rate",
    "report-dir": "output",
    "shard": "shard",
}
OWN = ("exclude", "annotations", "summary", "junit-path", "results-path", "working-directory")
BOOLEANS = {"true": True, "false": False}


def inputs(environment: Mapping[str, str]) -> dict[str, str]:
    """The inputs that are set, by their names in action.yml. Raises UsageError for one that does not exist."""
    names = {PREFIX + name.upper(): name for name in (*SETTINGS, *OWN)}
    given = {key: value.strip() for key, value in environment.items() if key.startswith(PREFIX) and value.strip()}
    for key in given:
        if key not in names:
            name = key.removeprefix(PREFIX).lower()
            raise UsageError(f"unknown input {name!r}", remedy=did_you_mean(name, names.values()))
    return {names[key]: value for key, value in given.items()}


def settings_of(given: Mapping[str, str]) -> Settings:
    """The settings that the inputs ask for. Raises UsageError."""
    from skillgym_action.options import settings

    fields: dict[str, object] = {SETTINGS[name]: value for name, value in given.items() if name in SETTINGS}
    excluded = tuple(f"!{line.strip()}" for line in given.get("exclude", "").splitlines() if line.strip())
    fields["paths"] = (*(line.strip() for line in given.get("suites", "").splitlines() if line.strip()), *excluded)
    runners = given.get("runners", "")
    if runners and ":" not in runners:
        fields["runner"] = tuple(re.sub(r"^\s*-\s+", "", line) for line in runners.splitlines())
        del fields["runners"]
    fields["report"] = tuple(
        f"{kind}={_inside(given[name])}"
        for kind, name in (("junit", "junit-path"), ("results", "results-path"))
        if name in given
    )
    if "output" in fields:
        fields["output"] = _inside(str(fields["output"]))
    written = {setting: name for name, setting in SETTINGS.items()} | {"runner": "runners", "report": "junit-path"}
    return settings({**fields, "no_color": True}, lambda name: f"input {written.get(name, name)}")


def run_action() -> int:
    """Run as GitHub's runner starts us."""
    environment = dict(os.environ)
    given = inputs(environment)
    for name in [name for name in os.environ if name.startswith((PREFIX, "ACTIONS_", "GITHUB_"))]:
        del os.environ[name]
    settings = settings_of(given)
    from skillgym_action import commands, composition
    from skillgym_action.effects.clock import Clock
    from skillgym_action.effects.github_files import hand_over

    composition.forget_keys()
    here = composition.place(Path(given.get("working-directory", ".")), environment)
    config, runners, options = commands.resolved(settings, here)
    options = replace(
        options,
        deliver=replace(
            options.deliver,
            annotations=_boolean(given, "annotations"),
            step_summary=_file(environment, "GITHUB_STEP_SUMMARY") if _boolean(given, "summary") else None,
            step_outputs=_file(environment, "GITHUB_OUTPUT"),
        ),
    )
    directory = composition.run_directory(settings, config, here, Clock())
    try:
        return commands.executed(settings, here, runners, options, directory, command="action")
    finally:
        hand_over([directory, *(path for _, path in options.deliver.reports)], here.root)


def _boolean(given: Mapping[str, str], name: str) -> bool:
    value = given.get(name, "true").lower()
    if value not in BOOLEANS:
        raise UsageError(f"input {name}: {value!r} is neither true nor false")
    return BOOLEANS[value]


def _file(environment: Mapping[str, str], name: str) -> Path | None:
    return Path(environment[name]) if environment.get(name) else None


def _inside(path: str) -> str:
    """Paths of the machine around the container do not exist in it. Raises UsageError."""
    if path.startswith("/") and not path.startswith("/github/"):
        raise UsageError(
            f"{path} does not exist inside the action's container", remedy="give a path relative to the workspace"
        )
    return path
