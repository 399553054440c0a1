"""The GitHub action: ``INPUT_*`` -> the settings of ``run``, and the files GitHub reads afterwards."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError, did_you_mean
from skillgym_action.settings.context import current_context
from skillgym_action.settings.resolve import run_directory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.github.event import GitHubEvent
    from skillgym_action.settings.context import Context, Job
    from skillgym_action.settings.options import Settings

PREFIX = "INPUT_"
# Input -> setting. Those that only the action has are in OWN.
SETTINGS = {
    "suites": "paths",
    "suites-from": "suites_from",
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
    "limits": "limits",
    "keep": "keep",
    "install-agents": "install_agents",
    "fail-on": "fail_on",
    "min-pass-rate": "min_pass_rate",
    "max-error-rate": "max_error_rate",
    "baseline": "baseline",
    "allow-changed-suites": "allow_changed_suites",
    "report-dir": "output",
    "shard": "shard",
    "comment": "comment",
    "comment-when": "comment_when",
    "comment-id": "comment_id",
    "review-comments": "review_comments",
    "status": "status",
    "template-dir": "template_dir",
}
OWN = (
    "exclude",
    "mode",
    "results",
    "annotations",
    "summary",
    "junit-path",
    "results-path",
    "allow-untrusted",
    "github-token",
    "working-directory",
)
MODES = ("all", "run", "report")
BOOLEANS = {"true": True, "false": False}
YAML_MAPPING = re.compile(r"\A\s*\{|:\s|:$", re.MULTILINE)  # `agent:model` is none
ALLOWED = ("false", "true", "with-configuration")


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
    from skillgym_action.settings.options import settings

    fields: dict[str, object] = {SETTINGS[name]: value for name, value in given.items() if name in SETTINGS}
    fields["paths"] = (*_lines(given, "suites"), *(f"!{line}" for line in _lines(given, "exclude")))
    runners = given.get("runners", "")
    if runners and not YAML_MAPPING.search(runners):
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
    fields.setdefault("install_agents", True)
    return settings({**fields, "no_color": True}, lambda name: f"input {written.get(name, name)}")


def run_action(environment: Mapping[str, str]) -> int:
    """Run as GitHub's runner starts us, with that environment."""
    given = inputs(environment)
    settings = settings_of(given)
    from skillgym_action import wiring
    from skillgym_action.processes.users import images_own_user
    from skillgym_action.repository.checkout import working_directory

    mode = _mode(given)
    job = _job(given, environment, mode)
    folder = working_directory(Path(given.get("working-directory", ".")))
    context = current_context(folder, environment, job)
    settings = settings.model_copy(update={"agent_user": images_own_user()})
    if mode == "report" and settings.suites_from:
        remedy = "check out the base branch in this job: results are compared with the suites of the checkout"
        raise UsageError("mode report has no use for the input suites-from", remedy=remedy)
    with wiring.with_suite_source(settings, context) as context:
        return _run_in(context, settings, given, mode)


def _run_in(context: Context, settings: Settings, given: Mapping[str, str], mode: str) -> int:
    from skillgym_action import wiring
    from skillgym_action.cli import commands
    from skillgym_action.clock import Clock
    from skillgym_action.github.step_files import give_to_owner
    from skillgym_action.text.escaping import log_line

    config = wiring.configuration(settings, context)
    directory = run_directory(settings, config, context, Clock())
    settings = settings.model_copy(update={"output": str(directory)})
    try:
        if mode == "report":
            settings = settings.model_copy(update={"compare_suites": True})
            return commands.report(_lines(given, "results"), settings, context)
        return commands.run(settings, context, command="action")
    finally:
        try:
            written = (directory, *(context.cwd / path for _, path in settings.report))
            give_to_owner([path for path in written if context.checkout.accepts(path)], context.root)
        except OSError as error:  # no verdict depends on that
            note = log_line(f"note: what this run wrote belongs to root, and others cannot remove it: {error}")
            print(note, file=sys.stderr)  # noqa: T201


def _mode(given: Mapping[str, str]) -> str:
    mode = given.get("mode", "all")
    if mode not in MODES:
        raise UsageError(f"input mode: unknown word {mode!r}", remedy=did_you_mean(mode, MODES))
    if (mode == "report") != ("results" in given):
        word = "needs" if mode == "report" else "has no use for"
        raise UsageError(f"mode {mode} {word} the input results", remedy="results are what mode report reads")
    return mode


def _job(given: Mapping[str, str], environment: Mapping[str, str], mode: str) -> Job:
    """The job around us. Raises UsageError where agents would follow a stranger's text with our secrets at hand."""
    from skillgym_action.github.event import github_event
    from skillgym_action.settings.context import Job

    event = github_event(environment)
    return Job(
        event=event,
        untrusted_repository=_stranger(event, given) if event and mode != "report" else None,
        token=None if mode == "run" else given.get("github-token"),
        programs=mode != "report",
        annotations=_boolean(given, "annotations"),
        summary=_file(environment, "GITHUB_STEP_SUMMARY") if _boolean(given, "summary") else None,
        outputs=_file(environment, "GITHUB_OUTPUT"),
    )


def _stranger(event: GitHubEvent, given: Mapping[str, str]) -> str | None:
    """Whose commit it is, where agents may run on it and its agent configuration is not to count. Raises UsageError."""
    allowed = given.get("allow-untrusted", "false").lower()
    if allowed not in ALLOWED:
        raise UsageError(f"input allow-untrusted: unknown word {allowed!r}", remedy=did_you_mean(allowed, ALLOWED))
    if not event.untrusted or allowed == "with-configuration":
        return None
    whose = event.head.repository if event.head and event.head.repository else "a pull request"
    if allowed == "true":
        return whose
    raise UsageError(
        f"{event.name} on a commit of {whose}: agents would run what a stranger wrote, with this repository's secrets",
        remedy="run on pull_request (mode: run) and only report here (mode: report), or set allow-untrusted: true",
    )


def _lines(given: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in given.get(name, "").splitlines() if line.strip())


def _boolean(given: Mapping[str, str], name: str, default: str = "true") -> bool:
    value = given.get(name, default).lower()
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
