"""``Settings``: everything that options, inputs and the environment can set; and the slice of it for each stage.

Precedence: option or input, then environment, then configuration file, then the default in the slice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
)

from skillgym_action.documents.option_values import Limits, Lines, Rate, Require, Shard, Words, all_known, known
from skillgym_action.formats import FORMATS
from skillgym_action.github.publish_options import CommentMode, CommentWhen, StatusMode
from skillgym_action.model.errors import Problem, UsageError, did_you_mean
from skillgym_action.model.resource_limits import ResourceLimits
from skillgym_action.model.suite import WorkspaceSpec
from skillgym_action.reporters import REPORTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from skillgym_action.github.publish_options import PublisherOptions
    from skillgym_action.model.judge_question import JudgeConfig
    from skillgym_action.model.run_report import StoppedForFutility
    from skillgym_action.model.session_artifacts import ArtifactSource
    from skillgym_action.model.session_report import Price
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.model.token_snapshots import SnapshotConfig
    from skillgym_action.reporters.markdown import Templates
    from skillgym_action.storage.changed_suites import SuiteComparison
    from skillgym_action.user_templates.template_folder import TemplateSources

Schedule = Literal["serial", "parallel", "isolated-by-runner"]
Keep = Literal["changed", "all", "none"]
OnLimit = Literal["failed", "errored"]
Stop = Literal["futility"]
FAIL_ON = (
    "failed",
    "unexpected-passed",
    "errored",
    "skipped",
    "no-cases",
    "regression",
    "budget",
    "leaks",
    "addresses-judge",
    "warnings",
)
DEFAULT_FAIL_ON = frozenset({"failed", "unexpected-passed", "errored", "no-cases"})
DEFAULT_TIMEOUT = 120.0
_ERROR, _SHOULD = "Value error, ", "Input should"  # how messages of pydantic begin


def _report(value: object) -> object:
    """``KIND=PATH`` items as (kind, path) pairs."""
    pairs = []
    for item in value if isinstance(value, list | tuple) else str(value).splitlines():
        kind, separator, path = str(item).partition("=")
        if kind not in REPORTERS:
            raise ValueError(f"unknown report kind {kind!r}; {did_you_mean(kind, REPORTERS)}")
        if not separator or not path:
            raise ValueError(f"{item!r} is not KIND=PATH")
        pairs.append((kind, path))
    return tuple(pairs)


def _alone(words: tuple[str, ...]) -> tuple[str, ...]:
    if "none" in words and len(words) > 1:
        raise ValueError("'none' cannot be combined with other values")
    return words


FailOn = Annotated[Words, all_known((*FAIL_ON, "none")), AfterValidator(_alone)]


@dataclass(frozen=True, slots=True)
class Option:
    """The command-line option ``--field-name`` of a field of ``Settings``, and its environment variable.

    ``commands``: those that take it. Without a ``metavar`` it is a flag. ``--help`` shows options in field order.
    """

    commands: tuple[str, ...]
    metavar: str | None
    help: str
    repeatable: bool = False


@dataclass(frozen=True, slots=True)
class Input:
    """The input of the action that sets a field of ``Settings``; action.yml describes it."""

    name: str


RUN = ("run",)
SELECT = ("run", "list", "check")
REPORT = ("report",)
DECIDE = ("run", "rejudge", "report")
SHOW = (*DECIDE, "view")


class Settings(BaseModel):
    """What users can set, with the option and the input for each field; None or empty: not set.

    Times are in seconds, money in US dollars.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    # --- which suites and cases, on which runners
    paths: Annotated[Lines, Input("suites")] = ()
    suites_from: Annotated[
        str | None,
        Option(SELECT, "DIR", "Read suites and configuration from DIR, a checkout of the base commit."),
        Input("suites-from"),
    ] = None
    config: Annotated[
        str | None,
        Option(
            (*SELECT, *REPORT, "doctor", "explain", "view"),
            "FILE",
            "Configuration file (default: the closest skillgym.config.*, searched upward).",
        ),
        Input("config"),
    ] = None
    format: Annotated[
        Words, all_known(tuple(FORMATS)), Option(SELECT, "F", "Select only suites of this format.", repeatable=True)
    ] = ()
    case: Annotated[
        Words, Option(SELECT, "GLOB", "Select only cases whose id matches.", repeatable=True), Input("cases")
    ] = ()
    tag: Annotated[
        Words, Option(SELECT, "T[,T]", "Select only cases with one of these tags.", repeatable=True), Input("tags")
    ] = ()
    runner: Annotated[
        Words,
        Option(
            (*SELECT, "doctor"), "ID|AGENT[:MODEL]", "Use a configured runner, or an agent by name.", repeatable=True
        ),
    ] = ()
    runners: Annotated[str | None, Input("runners")] = None
    model: Annotated[str | None, Option(SELECT, "M", "Model to use in every execution."), Input("model")] = None
    shard: Annotated[Shard | None, Option(SELECT, "I/N", "Select only part I of N."), Input("shard")] = None
    agentv_compat: Annotated[
        bool,
        Option(
            (*SELECT, "rejudge"), None, "Score AgentV suites as AgentV does, also where this tool differs on purpose."
        ),
    ] = False

    # --- how sessions run
    jobs: Annotated[
        PositiveInt | None,
        Option(RUN, "N", "Number of sessions to run in parallel; more than 1 implies --schedule parallel."),
        Input("jobs"),
    ] = None
    schedule: Annotated[
        Schedule | None,
        known(get_args(Schedule)),
        Option(RUN, "S", "Order of executions: serial, parallel or isolated-by-runner."),
        Input("schedule"),
    ] = None
    repeat: Annotated[
        PositiveInt | None, Option(RUN, "N", "Run each case N times on each runner."), Input("repeat")
    ] = None
    require: Annotated[
        Require | None,
        Option((*RUN, "rejudge"), "all|any|M", "Repetitions of a case that must pass (default: all)."),
        Input("require"),
    ] = None
    stop_early: Annotated[
        bool,
        Option(RUN, None, "End a case as soon as its repetitions decide it; then no rates are reported."),
        Input("stop-early"),
    ] = False
    stop: Annotated[
        Stop | None,
        known(get_args(Stop)),
        Option(RUN, "futility", "With a baseline: end the run early if a regression has become unlikely."),
        Input("stop"),
    ] = None
    retry: Annotated[
        NonNegativeInt | None, Option(RUN, "N", "Retry a failed repetition up to N times."), Input("retry")
    ] = None
    on_limit: Annotated[
        OnLimit | None,
        known(get_args(OnLimit)),
        Option(
            (*RUN, "rejudge"),
            "STATUS",
            "Status of a session that exceeds its time, steps or budget: failed (default) or errored.",
        ),
        Input("on-limit"),
    ] = None
    timeout: Annotated[
        PositiveFloat | None, Option(RUN, "SECONDS", "Time limit of each session."), Input("timeout")
    ] = None
    max_steps: Annotated[
        PositiveInt | None, Option(RUN, "N", "Maximum number of model rounds in a session."), Input("max-steps")
    ] = None
    max_cost: Annotated[
        PositiveFloat | None,
        Option(RUN, "USD", "Maximum cost of the run; once it is spent, no session is started."),
        Input("max-cost"),
    ] = None
    limits: Annotated[
        Limits,
        Option(
            RUN,
            "KEY=SIZE,...",
            "Resource limits of each session: memory, disk, processes, fileSize; memory=4GiB,disk=2GiB.",
        ),
        Input("limits"),
    ] = ()
    keep: Annotated[
        Keep | None,
        known(get_args(Keep)),
        Option(RUN, "WHAT", "Files to archive from a workspace that is not green: changed, all or none."),
        Input("keep"),
    ] = None
    agent_user: Annotated[
        str | None,
        Option((*RUN, "check", "doctor"), "NAME", "User to run agents and suite commands as (requires root)."),
    ] = None
    install_agents: Annotated[
        bool, Option(RUN, None, "Install missing agent CLIs through npm."), Input("install-agents")
    ] = False
    update_snapshots: Annotated[
        bool, Option(RUN, None, "Store new token snapshots instead of comparing with the stored ones.")
    ] = False
    record: Annotated[str | None, Option(RUN, "DIR", "Store the sessions in DIR, for the replay agent.")] = None

    # --- what `report` compares stored results with
    compare_suites: Annotated[
        bool, Option(REPORT, None, "Compare the suites of the runs with those of the checkout, by digest.")
    ] = False
    allow_changed_suites: Annotated[
        bool,
        Option(REPORT, None, "Count results of suites that differ from those of the checkout."),
        Input("allow-changed-suites"),
    ] = False

    # --- what decides about the exit code
    fail_on: Annotated[
        FailOn | None,
        Option(DECIDE, "LIST", f"Conditions that fail the run: {', '.join(FAIL_ON)}; or none."),
        Input("fail-on"),
    ] = None
    min_pass_rate: Annotated[
        Rate | None,
        Option(DECIDE, "R", "Fail if the pass rate, the mean share of passed sessions of each case, is less, 0 to 1."),
        Input("min-pass-rate"),
    ] = None
    max_error_rate: Annotated[
        Rate | None,
        Option(DECIDE, "R", "Share of errored executions up to which a run can pass, 0 to 1."),
        Input("max-error-rate"),
    ] = None
    baseline: Annotated[
        str | None, Option(SHOW, "PATH", "Run directory or results file to compare with."), Input("baseline")
    ] = None
    baseline_optional: Annotated[
        bool,
        Option(DECIDE, None, "Run without a comparison if there is no baseline yet."),
        Input("baseline-optional"),
    ] = False

    # --- what is written and shown
    output: Annotated[
        str | None,
        Option((*DECIDE, "check"), "DIR", "Run directory (default: .skillgym-results/<UTC time>-<random>)."),
        Input("report-dir"),
    ] = None
    report: Annotated[
        tuple[tuple[str, str], ...],
        BeforeValidator(_report),
        Option(DECIDE, "KIND=PATH", f"Write one more report: {', '.join(REPORTERS)}.", repeatable=True),
    ] = ()
    template_dir: Annotated[
        str | None,
        Option(SHOW, "DIR", "Folder with report templates that override the built-in ones."),
        Input("template-dir"),
    ] = None
    no_html: Annotated[bool, Option(DECIDE, None, "Write no report.html.")] = False
    comment: Annotated[CommentMode | None, known(get_args(CommentMode)), Input("comment")] = None
    comment_when: Annotated[CommentWhen | None, known(get_args(CommentWhen)), Input("comment-when")] = None
    comment_id: Annotated[str | None, Input("comment-id")] = None
    review_comments: Annotated[bool | None, Input("review-comments")] = None
    status: Annotated[StatusMode | None, known(get_args(StatusMode)), Input("status")] = None
    verbose: Annotated[bool, Option(DECIDE, None, "Show the final outputs of executions that are not green.")] = False
    quiet: Annotated[bool, Option(DECIDE, None, "Show only errors and the verdict.")] = False
    no_color: Annotated[bool, Option((*DECIDE, "doctor"), None, "Disable colored output.")] = False
    resume: Annotated[str | None, Option(RUN, "DIR", "Resume the run in DIR; run only the missing sessions.")] = None
    dry_run: Annotated[bool, Option(RUN, None, "Show what would run; start nothing.")] = False


def options_of(command: str) -> dict[str, Option]:
    """The options of a command, by the names of their fields, in the order of ``--help``."""
    return {
        name: declared
        for name, field in Settings.model_fields.items()
        for declared in field.metadata
        if isinstance(declared, Option) and command in declared.commands
    }


def inputs_of_settings() -> dict[str, str]:
    """Input of the action -> the field of ``Settings`` that it sets."""
    return {
        declared.name: name
        for name, field in Settings.model_fields.items()
        for declared in field.metadata
        if isinstance(declared, Input)
    }


def validated_settings(fields: Mapping[str, Any], named: Callable[[str], str]) -> Settings:
    """Validated settings; ``named`` maps a field to what the user wrote (``--max-cost``, ``input max-cost``).

    Raises UsageError with every problem.
    """
    try:
        return Settings(**{name: value for name, value in fields.items() if value not in (None, (), "")})
    except ValidationError as error:
        found = ((named(str(item["loc"][0])), item["msg"]) for item in error.errors(include_url=False))
        said = (f"{name}: {message.removeprefix(_ERROR).replace(_SHOULD, 'must')}" for name, message in found)
        raise UsageError.of(*(Problem(message=message) for message in said)) from None


# --- one slice per stage ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class DiscoverOptions:
    """``paths`` are relative to the working directory; ``!PATH`` excludes. ``without``: a folder not to search.

    ``where``: the folder that is searched, for messages, with a leading space.
    """

    paths: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    without: Path | None = None
    where: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadOptions:
    """``workspace``: for suites without one of their own; ``cwd``: for those whose workspace is just ``none``.

    ``environment``: the variables that suites may refer to. ``agentv_compat``: score as AgentV does.
    """

    workspace: WorkspaceSpec = field(default_factory=WorkspaceSpec)
    cwd: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    agentv_compat: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanOptions:
    """Filters and limits. ``timeout`` (seconds) wins over that of cases; ``default_timeout`` is for cases without one.

    ``runners``: the selected ids or globs; ``configured``: the ids in the configuration.
    ``only``: run nothing but these cases, as (suite path, case id), on the runners of the run. ``repetitions``: of each
    execution, by suite path, case id and runner id, where they are not those of the run.
    ``limits``: of each session; suites can only lower them. ``adapt``: changes the suites before they are planned.
    """

    cases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    runners: tuple[str, ...] = ()
    configured: tuple[str, ...] = ()
    model: str | None = None
    timeout: float | None = None
    default_timeout: float = DEFAULT_TIMEOUT
    shard: tuple[int, int] = (1, 1)
    only: frozenset[tuple[str, str]] | None = None
    repetitions: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    limits: ResourceLimits = field(default_factory=ResourceLimits)
    adapt: Callable[[tuple[BenchmarkSuite, ...]], tuple[BenchmarkSuite, ...]] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class InstallAgentsOptions:
    """``install_agents``: install missing CLIs through npm."""

    install_agents: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecuteOptions:
    """How executions run: ``jobs`` in parallel, with up to ``retry`` more sessions for a failed repetition.

    ``require``: how many of ``repeat`` repetitions must pass. ``stop_early``: end an execution once that is decided.
    ``stop``: end the run if a regression is unlikely. ``stopped``: what is judged again was.
    ``on_limit``: the status of a session that exceeded its time, steps or budget. ``prices``: configured ones by model.
    ``agent_user``: the user that agents and suite commands run as; None: the caller.
    ``resume``: skip sessions that are in the journal. ``keep``: what to archive of a workspace that is not green.
    """

    jobs: int = 1
    schedule: Schedule = "serial"
    repeat: int = 1
    require: Require = "all"
    stop_early: bool = False
    stop: Stop | None = None
    stopped: StoppedForFutility | None = None
    retry: int = 0
    on_limit: OnLimit = "failed"
    max_steps: int | None = None
    max_cost: float | None = None
    record: Path | None = None
    agent_user: str | None = None
    snapshots: SnapshotConfig | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    resume: bool = False
    keep: Keep = "changed"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportOptions:
    """``baseline``: absolute path of a run directory or results file; ``named``: the path as the user wrote it.

    ``baseline_optional``: without a baseline the run goes on, and nothing is compared.
    ``configuration_differs``: whether the configuration file of ``--suites-from`` differs from that of the checkout.
    ``suites``: how suites of stored results are compared with those of the checkout; None: not at all.
    """

    baseline: Path | None = None
    named: str = ""
    baseline_optional: bool = False
    suites: SuiteComparison | None = None
    configuration_differs: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class GateOptions:
    """What fails a run. ``allow_changed_suites``: count results of suites that differ from the base commit.

    ``baseline_optional``: without a comparison the word ``regression`` is ignored, and the decision says so.
    """

    fail_on: frozenset[str] = DEFAULT_FAIL_ON
    min_pass_rate: float | None = None
    max_error_rate: float | None = None
    allow_changed_suites: bool = False
    baseline_optional: bool = False

    @property
    def decides(self) -> bool:
        """Whether anything can keep a run from being green."""
        return bool(self.fail_on) or self.min_pass_rate is not None or self.max_error_rate is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishOptions:
    """What is written outside of the run directory: ``reports`` as (kind, absolute path), and GitHub's step files.

    Paths in step outputs are relative to ``cwd``. ``templates``: the user's; ``artifacts``: what ``html`` reports show.
    """

    reports: tuple[tuple[str, Path], ...] = ()
    annotations: bool = False
    step_summary: Path | None = None
    step_outputs: Path | None = None
    cwd: Path | None = None
    comment_id: str = "default"
    templates: Templates | None = None
    html: bool = True
    artifacts: ArtifactSource | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """The options of all stages of a run, and of the adapters that they need."""

    discover: DiscoverOptions
    load: LoadOptions
    plan: PlanOptions
    install_agents: InstallAgentsOptions
    execute: ExecuteOptions
    report: ReportOptions
    gate: GateOptions
    publish: PublishOptions
    publisher: PublisherOptions
    templates: TemplateSources | None = None
    judge: JudgeConfig | None = None
