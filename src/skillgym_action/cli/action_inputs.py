"""The GitHub action: inputs (``INPUT_*``) -> settings, and the run in the job around it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action import wiring
from skillgym_action.cli.job_paths import paths_in_workspace
from skillgym_action.cli.report import report_runs
from skillgym_action.cli.run import run_suites
from skillgym_action.github.event import github_event
from skillgym_action.github.step_files import give_to_owner
from skillgym_action.model.errors import UsageError, did_you_mean
from skillgym_action.processes.users import job_user
from skillgym_action.repository.checkout import working_directory
from skillgym_action.settings.context import Job, current_context
from skillgym_action.settings.option_types import PRINTED
from skillgym_action.settings.options import inputs_of_settings, validated_settings
from skillgym_action.settings.resolve import run_directory
from skillgym_action.text.escaping import terminal_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.github.event import GitHubEvent
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.options import Settings

PREFIX = "INPUT_"
# Inputs that are no field of ``Settings``; the others are declared there.
ACTION_ONLY = (
    "exclude",
    "mode",
    "results",
    "annotations",
    "summary",
    "reports",
    "junit-path",
    "results-path",
    "html",
    "html-path",
    "allow-untrusted",
    "github-token",
    "working-directory",
)
MODES = ("all", "run", "report")
BOOLEANS = {"true": True, "false": False}
YAML_MAPPING = re.compile(r"\A\s*\{|:\s|:$", re.MULTILINE)  # `agent:model` does not match
ALLOW_UNTRUSTED = ("false", "true", "with-configuration")


def inputs_in(environment: Mapping[str, str]) -> dict[str, str]:
    """The inputs that are set, by their names in action.yml. Raises UsageError for an unknown input."""
    names = {PREFIX + name.upper(): name for name in (*inputs_of_settings(), *ACTION_ONLY)}
    found = {key: value.strip() for key, value in environment.items() if key.startswith(PREFIX) and value.strip()}
    for key in found:
        if key not in names:
            name = key.removeprefix(PREFIX).lower()
            raise UsageError(f"unknown input {name!r}", remedy=did_you_mean(name, names.values()))
    return {names[key]: value for key, value in found.items()}


def settings_of(inputs: Mapping[str, str]) -> Settings:
    """The settings of inputs. Raises UsageError."""
    declared = inputs_of_settings()
    fields: dict[str, object] = {declared[name]: value for name, value in inputs.items() if name in declared}
    fields["paths"] = (*_lines(inputs, "suites"), *(f"!{line}" for line in _lines(inputs, "exclude")))
    runners = inputs.get("runners", "")
    if runners and not YAML_MAPPING.search(runners):
        fields["runner"] = tuple(re.sub(r"^\s*-\s+", "", line) for line in runners.splitlines())
        del fields["runners"]
    copies = (("junit", "junit-path"), ("results", "results-path"), ("html", "html-path"))
    reports = (*_lines(inputs, "reports"), *(f"{kind}={inputs[name]}" for kind, name in copies if name in inputs))
    fields["report"] = tuple(
        f"{kind}{equals}{_inside(path)}" for kind, equals, path in (r.partition("=") for r in reports)
    )
    fields |= {name: _inside(str(fields[name])) for name in ("output", "record", "resume") if name in fields}
    written = {field: name for name, field in declared.items()} | {"runner": "runners", "report": "reports"}
    fields.setdefault("install_agents", True)
    fields["no_html"] = not _boolean(inputs, "html")
    return validated_settings({**fields, "no_color": True}, lambda name: f"input {written.get(name, name)}")


def run_action(environment: Mapping[str, str]) -> int:
    """Run as a step of a job: GitHub's runner passes inputs and event in ``environment``. Raises UsageError."""
    inputs = paths_in_workspace(inputs_in(environment), environment)
    settings = settings_of(inputs)

    mode = _mode(inputs)
    job = _job(inputs, environment, mode)
    folder = working_directory(Path(inputs.get("working-directory", ".")))
    context = current_context(folder, environment, job)
    if mode == "report" and settings.resume:
        raise UsageError("mode report does not use the input resume", remedy="results are what mode report reads")
    user = job_user(settings.agent_user, context.root)
    verbose = settings.verbose or environment.get("RUNNER_DEBUG") == "1"
    settings = settings.model_copy(update={"agent_user": user, "verbose": verbose})
    if mode == "report" and settings.suites_from:
        remedy = "check out the base branch in this job: results are compared with the suites of the checkout"
        raise UsageError("mode report does not use the input suites-from", remedy=remedy)
    with wiring.with_suite_source(settings, context) as context:
        return _run_in(context, settings, inputs, mode)


def _run_in(context: LaunchContext, settings: Settings, inputs: Mapping[str, str], mode: str) -> int:
    config = wiring.configuration(settings, context)
    directory = run_directory(settings, config, context)
    settings = settings.model_copy(update={"output": str(directory)})
    try:
        if mode == "report":
            settings = settings.model_copy(update={"compare_suites": True})
            return report_runs(_lines(inputs, "results"), settings, context)
        return run_suites(settings, context, command="action")
    finally:
        try:
            named = (*(path for _, path in settings.report), *filter(None, [settings.record]))
            written = (directory, *(context.cwd / path for path in named))
            give_to_owner([path for path in written if context.checkout.accepts(path)], context.root)
        except OSError as error:  # the verdict does not depend on the owner of files
            note = terminal_text(f"note: what this run wrote belongs to root, and others cannot remove it: {error}")
            print(note, file=sys.stderr)  # noqa: T201


def _mode(inputs: Mapping[str, str]) -> str:
    mode = inputs.get("mode", "all")
    if mode not in MODES:
        raise UsageError(f"input mode: unknown word {mode!r}", remedy=did_you_mean(mode, MODES))
    if (mode == "report") != ("results" in inputs):
        word = "needs" if mode == "report" else "does not use"
        raise UsageError(f"mode {mode} {word} the input results", remedy="results are what mode report reads")
    return mode


def _job(inputs: Mapping[str, str], environment: Mapping[str, str], mode: str) -> Job:
    """The job that runs the action. Raises UsageError if agents would run untrusted text where secrets are present."""
    event = github_event(environment)
    return Job(
        event=event,
        untrusted_repository=_untrusted_repository(event, inputs) if event and mode != "report" else None,
        token=None if mode == "run" else inputs.get("github-token"),
        programs=mode != "report",
        annotations=_boolean(inputs, "annotations"),
        summary=_file(environment, "GITHUB_STEP_SUMMARY") if _boolean(inputs, "summary") else None,
        outputs=_file(environment, "GITHUB_OUTPUT"),
        workspace=Path(os.path.realpath(Path.cwd())),
    )


def _untrusted_repository(event: GitHubEvent, inputs: Mapping[str, str]) -> str | None:
    """The repository of an untrusted commit whose agent configuration is to be hidden from agents; else None.

    Raises UsageError for an untrusted commit unless ``allow-untrusted`` is set.
    """
    allowed = inputs.get("allow-untrusted", "false").lower()
    if allowed not in ALLOW_UNTRUSTED:
        remedy = did_you_mean(allowed, ALLOW_UNTRUSTED)
        raise UsageError(f"input allow-untrusted: unknown word {allowed!r}", remedy=remedy)
    if not event.untrusted or allowed == "with-configuration":
        return None
    whose = event.head.repository if event.head and event.head.repository else "a pull request"
    if allowed == "true":
        return whose
    raise UsageError(
        f"{event.name} on a commit of {whose}: agents would follow untrusted text with this repository's secrets",
        remedy="run on pull_request (mode: run) and only report here (mode: report), or set allow-untrusted: true",
    )


def _lines(inputs: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in inputs.get(name, "").splitlines() if line.strip())


def _boolean(inputs: Mapping[str, str], name: str, default: str = "true") -> bool:
    value = inputs.get(name, default).lower()
    if value not in BOOLEANS:
        raise UsageError(f"input {name}: {value!r} is neither true nor false")
    return BOOLEANS[value]


def _file(environment: Mapping[str, str], name: str) -> Path | None:
    return Path(environment[name]) if environment.get(name) else None


def _inside(path: str) -> str:
    """``path``. Raises UsageError for one on the machine around the container, or for standard output."""
    if path == PRINTED:
        raise UsageError("a report on standard output, -, would be in the job's log alone", remedy="name a file")
    if path.startswith("/") and not path.startswith("/github/") and not Path(path).is_relative_to(Path.cwd()):
        raise UsageError(
            f"{path} does not exist inside the action's container, which has the workspace alone",
            remedy="give a path relative to the workspace",
        )
    return path
