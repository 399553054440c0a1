"""The GitHub action: inputs (``INPUT_*``) -> settings, the paths in them, shards, and the run in the job around it."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.agents.installation import CACHE_VARIABLE, FOLDER_VARIABLE
from skillgym_action.cli.commands.report import missing_shards, report_runs
from skillgym_action.cli.commands.run import relative_path, run_suites
from skillgym_action.cli.commands.shard_matrix import AUTO, print_json, write_plan
from skillgym_action.cli.commands.trend import show_trend
from skillgym_action.cli.terminal import terminal_for
from skillgym_action.github.event import github_event
from skillgym_action.github.step_files import append_outputs, give_to_owner
from skillgym_action.model.errors import UsageError, did_you_mean
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.limits import MAX_SHARDS
from skillgym_action.model.shard_plan import matrix_of
from skillgym_action.pipeline import wiring
from skillgym_action.settings.context import Job, current_context
from skillgym_action.settings.option_types import PRINTED, REMOVED
from skillgym_action.settings.resolve import run_directory
from skillgym_action.settings.settings import declared, inputs_of_settings, validated_settings
from skillgym_action.settings.slices import is_results_file
from skillgym_action.settings.trend_options import TREND_PAGE
from skillgym_action.system.files.checkout import working_directory
from skillgym_action.system.processes.users import job_user
from skillgym_action.text.escaping import terminal_line, terminal_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from skillgym_action.github.event import GitHubEvent
    from skillgym_action.settings.configuration import ReportSection
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings

PREFIX = "INPUT_"
INPUTS = "SKILLGYM_INPUTS"  # all inputs as JSON: set by the composite action, which gets no ``INPUT_*`` from the runner
COMPOSITE = "SKILLGYM_ACTION_ROOT"  # set by the composite action alone
# Inputs that are no field of ``Settings``; the others are declared there.
ACTION_ONLY = (
    "exclude",
    "agents-cache",
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
    "commit",
    "github-token",
    "working-directory",
    "matrix",
    "shards",
)
MODES = ("all", "run", "report", "trend", "plan", "missing")
UNPUBLISHED = ("run", "plan", "missing")  # the modes that write nothing to GitHub
OF_RESULTS = ("report", "missing")  # the modes that start nothing and read the input `results`
PLAN_INPUTS = ("shards", "durations", "target")  # of mode plan alone
# What mode trend uses; another input that is set would have no effect, which is an error.
TREND_INPUTS = frozenset(
    {
        *("mode", "store", "since", "suites", "exclude", "cases", "config", "html-path"),
        *("github-token", "working-directory", "allow-untrusted", "verbose", "agent-user"),
    }
)
BOOLEANS = {"true": True, "false": False}
YAML_MAPPING = re.compile(r"\A\s*\{|:\s|:$", re.MULTILINE)  # `agent:model` does not match
MOUNTED_TEMP = Path("/github/runner_temp")  # the runner's temporary folder, in the action's container
ALLOW_UNTRUSTED = ("false", "true", "with-configuration")


def known_inputs() -> tuple[str, ...]:
    """All inputs, by their names in action.yml."""
    return (*inputs_of_settings(), *ACTION_ONLY)


def inputs_set(environment: Mapping[str, str]) -> dict[str, str]:
    """The inputs that are set, by their names in action.yml, known or not."""
    return {
        name.removeprefix(PREFIX).lower(): value.strip()
        for name, value in environment.items()
        if name.startswith(PREFIX) and value.strip()
    }


def inputs_in(environment: Mapping[str, str]) -> dict[str, str]:
    """The inputs that are set, with paths as the container has them. Raises UsageError for an unknown input."""
    found, known = inputs_set(environment), known_inputs()
    for name in found:
        if name not in known:
            raise UsageError(f"unknown input {name!r}", remedy=REMOVED.get(name) or did_you_mean(name, known))
    return paths_in_workspace(found, environment)


def with_inputs(environment: Mapping[str, str]) -> dict[str, str]:
    """``environment`` with ``INPUT_*`` in place of the composite action's inputs. Raises UsageError."""
    found = {name: value for name, value in environment.items() if name != INPUTS}
    if INPUTS not in environment:
        return found
    try:
        inputs = dict(json.loads(environment[INPUTS]))
    except ValueError as error:
        raise UsageError(f"{INPUTS} is not an object in JSON", remedy="leave it to composite/action.yml") from error
    return {**found, **{PREFIX + name.upper(): str(value) for name, value in inputs.items()}}


def settings_of(inputs: Mapping[str, str], *, container: bool = True) -> Settings:
    """The settings of inputs. Raises UsageError.

    ``container``: whether the action runs in one, where absolute paths of the machine do not exist.
    """
    check_path = _inside if container else str
    of_inputs = inputs_of_settings()
    fields: dict[str, object] = {of_inputs[name]: value for name, value in inputs.items() if name in of_inputs}
    fields["paths"] = (*lines_of(inputs, "suites"), *(f"!{line}" for line in lines_of(inputs, "exclude")))
    runners = inputs.get("runners", "")
    if runners and not YAML_MAPPING.search(runners):
        fields["runner"] = tuple(re.sub(r"^\s*-\s+", "", line) for line in runners.splitlines())
        del fields["runners"]
    copies = (("junit", "junit-path"), ("results", "results-path"), ("html", "html-path"))
    reports = (*lines_of(inputs, "reports"), *(f"{kind}={inputs[name]}" for kind, name in copies if name in inputs))
    fields["report"] = tuple(
        f"{kind}{equals}{check_path(path)}" for kind, equals, path in (r.partition("=") for r in reports)
    )
    written = {field: name for name, field in of_inputs.items()} | {"runner": "runners", "report": "reports"}
    if container:
        folders = [name for name in ("output", "record", "resume") if name in fields]  # `auto` passes as one
        fields |= {name: _inside(str(fields[name]), f"input {written[name]}: ") for name in folders}
    if is_results_file(str(fields.get("output", ""))):
        named = f"input report-dir: {fields['output']} is the name of a file, but the run directory is a folder"
        raise UsageError(named, remedy="write a file of results with the input reports, such as results=results.json")
    fields.setdefault("install_agents", True)
    fields["no_html"] = not _boolean(inputs, "html")
    return validated_settings({**fields, "no_color": True}, lambda name: f"input {written.get(name, name)}")


def run_action(environment: Mapping[str, str], learn: Callable[[ReportSection], None] = lambda _: None) -> int:
    """Run as a step of a job: GitHub's runner passes inputs and event in ``environment``. Raises UsageError.

    ``learn`` gets the configuration's section ``report`` as soon as it is read.
    """
    inputs = inputs_in(environment)
    container = COMPOSITE not in environment
    settings = settings_of(inputs, container=container)
    if container:
        environment = _with_mounted_temp(environment)
    environment = _with_agents_cache(environment, inputs, container=container)

    mode = _mode(inputs)
    job = _job(inputs, environment, mode)
    folder = working_directory(Path(inputs.get("working-directory", ".")))
    context = current_context(folder, environment, job)
    if mode == "report" and settings.resume:
        raise UsageError("mode report does not use the input resume", remedy="leave it out: nothing is run")
    user = job_user(settings.agent_user, context.root)
    if not container and user is None:
        _note_isolation()
    verbose = settings.verbose or environment.get("RUNNER_DEBUG") == "1"
    settings = settings.model_copy(update={"agent_user": user, "verbose": verbose})
    _refuse_committed_agents(context)
    if mode == "report" and settings.suites_from:
        remedy = "check out the base branch in this job: results are compared with the suites of the checkout"
        raise UsageError("mode report does not use the input suites-from", remedy=remedy)
    if mode == "trend":
        return _show_trend(context, settings, inputs)
    if mode == "plan":
        return plan_in_job(context, settings, inputs)
    if mode == "missing":
        return missing_in_job(context, settings, lines_of(inputs, "results"))
    with wiring.with_suite_source(settings, context) as context:
        config = wiring.configuration(settings, context)
        learn(config.file.report)
        return _run_in(context, settings, config, inputs)


def _show_trend(context: LaunchContext, settings: Settings, inputs: Mapping[str, str]) -> int:
    """Write the trend page; its path is the output ``html-path``."""
    page = Path(inputs.get("html-path", TREND_PAGE))
    code = show_trend(settings, context, page=str(page), only_on=(), as_json=False)
    file, job = context.cwd / page, context.job
    if context.checkout.accepts(file):
        give_to_owner([file], context.root)
    if job and job.outputs and job.workspace:
        shown = relative_path(Path(os.path.normpath(file)), job.workspace)
        append_outputs(job.outputs, {"html-path": shown, "exit-code": str(code)})
    return code


def _run_in(context: LaunchContext, settings: Settings, config: Config, inputs: Mapping[str, str]) -> int:
    directory = run_directory(settings, config, context)
    settings = settings.model_copy(update={"output": f"{directory}/"})
    try:
        if _mode(inputs) == "report":
            settings = settings.model_copy(update={"compare_suites": True})
            return report_runs(lines_of(inputs, "results"), settings, context)
        return run_suites(settings, context, command="action")
    finally:
        try:
            named = (*(path for _, path in settings.report), *filter(None, [settings.record]))
            written = (directory, *(context.cwd / path for path in named))
            give_to_owner([path for path in written if context.checkout.accepts(path)], context.root)
        except OSError as error:  # the verdict does not depend on the owner of files
            note = terminal_text(f"note: what this run wrote belongs to root, and others cannot remove it: {error}")
            print(note, file=sys.stderr)  # noqa: T201


def _with_mounted_temp(environment: Mapping[str, str]) -> Mapping[str, str]:
    """``environment`` with the runner's temporary folder as the container has it: the runner may pass its own path."""
    named = environment.get("RUNNER_TEMP")
    if named and Path(named).is_dir():
        return environment
    return {**environment, "RUNNER_TEMP": str(MOUNTED_TEMP)}


def _with_agents_cache(
    environment: Mapping[str, str], inputs: Mapping[str, str], *, container: bool
) -> Mapping[str, str]:
    """``environment`` with the folder of the input ``agents-cache``, which is below the runner's temporary folder."""
    if "agents-cache" not in inputs:
        return environment
    named, temp = inputs["agents-cache"], Path(environment.get("RUNNER_TEMP") or ".")
    return {**environment, CACHE_VARIABLE: str(temp / (_inside(named, "input agents-cache: ") if container else named))}


def _refuse_committed_agents(context: LaunchContext) -> None:
    """Raise UsageError if agents would be started from the checkout, where a commit could put programs."""
    for variable in (CACHE_VARIABLE, FOLDER_VARIABLE):
        named = context.environment.get(variable)
        if named and context.checkout.contains(Path(named).absolute()):
            subject = "input agents-cache" if variable == CACHE_VARIABLE else variable
            raise UsageError(
                f"{subject}: {named} is in the checkout, where a commit could put programs",
                remedy="name a folder below the runner's temporary folder, such as skillgym-agents",
            )


def _note_isolation() -> None:
    """Print what the composite action lacks in comparison with the container, if agents have no user of their own."""
    text = "note: no container: agents run as this user and can read this user's files"
    if sys.platform != "linux":
        text += f"; on {sys.platform} a process that leaves its process group outlives its session"
    print(f"{text}. See docs/how-to/runners-without-docker.md of skillgym-action", file=sys.stderr)  # noqa: T201


SET_BY_GITHUB = {"matrix"}  # by its default in action.yml, in every job


def _mode(inputs: Mapping[str, str]) -> str:
    mode = inputs.get("mode", "all").lower()
    if mode not in MODES:
        raise UsageError(f"input mode: unknown word {mode!r}", remedy=did_you_mean(mode, MODES))
    if mode == "trend" and (unused := sorted(inputs.keys() - TREND_INPUTS - SET_BY_GITHUB)):
        remedy = f"leave it out; the mode uses {', '.join(sorted(TREND_INPUTS))}"
        raise UsageError(f"mode trend does not use the input {unused[0]}", remedy=remedy)
    if mode != "trend" and "since" in inputs:
        raise UsageError(f"mode {mode} does not use the input since", remedy="set mode: trend, or leave since out")
    if mode != "plan" and (own := [name for name in PLAN_INPUTS if name in inputs]):
        raise UsageError(f"mode {mode} does not use the input {own[0]}", remedy="set mode: plan, or leave it out")
    if (mode in OF_RESULTS) != ("results" in inputs):
        if mode in OF_RESULTS:
            raise UsageError(f"mode {mode} needs the input results", remedy="name the run directories to report")
        raise UsageError(f"mode {mode} does not use the input results", remedy="set mode: report, or leave results out")
    return mode


def _job(inputs: Mapping[str, str], environment: Mapping[str, str], mode: str) -> Job:
    """The job that runs the action. Raises UsageError if agents would run untrusted text where secrets are present."""
    event = github_event(environment)
    return Job(
        event=event,
        untrusted_repository=_untrusted_repository(event, inputs) if event and mode not in OF_RESULTS else None,
        token=None if mode in UNPUBLISHED else inputs.get("github-token", ""),
        repository_token=inputs.get("github-token", ""),
        stores=mode not in UNPUBLISHED,
        programs=mode not in OF_RESULTS,
        annotations=_boolean(inputs, "annotations"),
        summary=step_file(environment, "GITHUB_STEP_SUMMARY") if _boolean(inputs, "summary") else None,
        outputs=step_file(environment, "GITHUB_OUTPUT"),
        workspace=Path(os.path.realpath(Path.cwd())),
        confined=COMPOSITE not in environment,
        matrix=inputs.get("matrix", ""),
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
        remedy=(
            "run the agents on pull_request (mode: run), and use this event only for reports (mode: report), "
            "or set allow-untrusted: true"
        ),
    )


def lines_of(inputs: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The lines of an input, without empty ones."""
    return tuple(line.strip() for line in inputs.get(name, "").splitlines() if line.strip())


def _boolean(inputs: Mapping[str, str], name: str, default: str = "true") -> bool:
    value = inputs.get(name, default).lower()
    if value not in BOOLEANS:
        raise UsageError(f"input {name}: {value!r} is neither true nor false")
    return BOOLEANS[value]


def step_file(environment: Mapping[str, str], name: str) -> Path | None:
    """The file of the step that a variable names, such as GITHUB_OUTPUT; None if there is none."""
    return Path(environment[name]) if environment.get(name) else None


def _inside(path: str, place: str = "") -> str:
    """``path``. Raises UsageError for one on the machine around the container, or for standard output."""
    if path == PRINTED:
        raise UsageError("a report on standard output, -, would only be in the job's log", remedy="name a file")
    if path.startswith("/") and not path.startswith("/github/") and not Path(path).is_relative_to(Path.cwd()):
        raise UsageError(
            f"{place}{path} does not exist inside the action's container, which has only the workspace",
            remedy="give a path relative to the workspace",
        )
    return path


PLAN = "skillgym-plan.json"
"""The file of ``mode: plan`` if the input ``plan`` is not set: not hidden, since artifacts have no hidden files."""


def plan_in_job(context: LaunchContext, settings: Settings, inputs: Mapping[str, str]) -> int:
    """Write the stored plan; its path, the matrix and the number of shards are outputs. Returns the exit code."""
    settings = settings.model_copy(update={"plan": settings.plan or PLAN})
    plan, code = write_plan(settings, context, _shards(inputs.get("shards", "auto")))
    file = Path(os.path.normpath(context.cwd / str(settings.plan)))
    if plan is None:
        _append(context, {"exit-code": str(code)})
        return code
    give_to_owner([file], context.root)
    print_json(plan.matrix())
    workspace = context.job.workspace if context.job else None
    shown = relative_path(file, workspace or context.cwd)
    _append(context, _outputs([shard.shard for shard in plan.shards]) | {"plan-path": shown, "exit-code": str(code)})
    return code


def missing_in_job(context: LaunchContext, settings: Settings, results: Iterable[str]) -> int:
    """The matrix of the shards that have to run again, and their number, are outputs. Returns the exit code."""
    found = missing_shards(results, settings, context)
    terminal = terminal_for(settings, context)
    for shard, reason in found.items():
        terminal.progress(context.redactor.text(terminal_line(f"shard {shard}: {reason}")))
    print_json(matrix_of(found))
    _append(context, _outputs(list(found)) | {"exit-code": str(int(ExitCode.PASSED))})
    return ExitCode.PASSED


def _outputs(shards: list[str]) -> dict[str, str]:
    return {"matrix": json.dumps(matrix_of(shards)), "shard-count": str(len(shards))}


def _append(context: LaunchContext, outputs: dict[str, str]) -> None:
    if context.job and context.job.outputs:
        append_outputs(context.job.outputs, outputs)


def _shards(value: str) -> int:
    """The number of the input ``shards``. Raises UsageError."""
    if value.lower() == "auto":
        return AUTO
    if not (value.isascii() and value.isdigit() and 1 <= int(value[:9]) <= MAX_SHARDS):
        raise UsageError(f"input shards: {value!r} is neither auto nor a number from 1 to {MAX_SHARDS}")
    return int(value)


OWN_PATH_INPUTS = {
    *("suites", "exclude", "results", "reports", "junit-path", "results-path", "html-path", "working-directory")
}
_PATH = re.compile("DIR|FILE|PATH|RUN")  # in the metavar of an option


def path_inputs() -> set[str]:
    """The inputs with paths: those of options that take a path, and some of the action's own."""
    options = {name: declared(field)[1] for name, field in inputs_of_settings().items()}
    return OWN_PATH_INPUTS | {name for name, option in options.items() if option and _PATH.search(option.metavar or "")}


def paths_in_workspace(inputs: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """``inputs`` in which paths of the runner's machine below the workspace are those of the container.

    GitHub's runner replaces the workspace only where a whole input begins with it, so not in the second line of one.
    """
    outside = runner_workspace(environment)
    if outside is None or Path(outside).is_dir():
        return dict(inputs)
    inside, paths = str(Path.cwd()), path_inputs()
    pattern = re.compile(rf"^(\s*(?:!|[\w-]+=)?){re.escape(outside)}(?=/|\s*$)", re.MULTILINE)
    return {
        name: pattern.sub(lambda found: found[1] + inside, value) if name in paths else value
        for name, value in inputs.items()
    }


def runner_workspace(environment: Mapping[str, str]) -> str | None:
    """The workspace's path on the runner's machine; None if the runner does not name it."""
    folder, repository = environment.get("RUNNER_WORKSPACE"), environment.get("GITHUB_REPOSITORY", "")
    name = repository.rpartition("/")[2]
    return f"{folder.rstrip('/')}/{name}" if folder and name else None
