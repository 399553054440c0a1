"""``Settings``: everything that options, inputs and the environment can set; and the slice of it for each stage.

Precedence: option or input, then environment, then configuration file, then the default in the slice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, get_args

from pydantic import (
    BeforeValidator,
    ConfigDict,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
)

from skillgym_action.documents.option_values import (
    Duration,
    Limits,
    Lines,
    Points,
    Rate,
    Require,
    Words,
    all_known,
    known,
)
from skillgym_action.formats import FORMAT_ALIASES, FORMATS
from skillgym_action.model.errors import Problem, UsageError
from skillgym_action.model.keyword_expression import KeywordExpression, parse_keywords
from skillgym_action.reporters import FOLDER_REPORTS, REPORTERS
from skillgym_action.settings.attempt_options import AttemptOptions
from skillgym_action.settings.declarations import DECIDE, GATE, REPORT, RUN, SELECT, STORED, SUGGEST, Input, Option
from skillgym_action.settings.engine_options import EngineSettings
from skillgym_action.settings.foreign_options import ForeignSettings
from skillgym_action.settings.option_errors import error_in_words
from skillgym_action.settings.option_types import (
    FAIL_ON,
    FailOn,
    Keep,
    OnLimit,
    ReportPaths,
    Reuse,
    Schedule,
    Stop,
    StoreName,
)
from skillgym_action.settings.publisher_settings import PublisherSettings
from skillgym_action.settings.sandbox_options import SandboxFields, SandboxOptions
from skillgym_action.settings.shard_options import ShardSettings
from skillgym_action.settings.trend_options import TrendSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from skillgym_action.github.publish_options import PublisherOptions
    from skillgym_action.model.judge_question import JudgeConfig
    from skillgym_action.model.run_report import LimitSettings, StoppedForFutility
    from skillgym_action.model.session_report import Price
    from skillgym_action.model.token_snapshots import SnapshotConfig
    from skillgym_action.settings.arm_options import ArmOptions
    from skillgym_action.settings.baseline_options import ReportOptions, StoreOptions
    from skillgym_action.settings.changed_options import ChangedOptions
    from skillgym_action.settings.engine_options import EngineOptions
    from skillgym_action.settings.gate_options import GateOptions
    from skillgym_action.settings.plan_options import InstallAgentsOptions, PlanOptions
    from skillgym_action.settings.reuse_options import ReuseOptions
    from skillgym_action.settings.suite_options import DiscoverOptions, LoadOptions
    from skillgym_action.settings.written_reports import PublishOptions
    from skillgym_action.user_templates.template_folder import TemplateSources


class Settings(ForeignSettings, TrendSettings, ShardSettings, SandboxFields, EngineSettings, PublisherSettings):
    """What users can set, with the option and the input for each field; None or empty: not set.

    Times are in seconds, money in US dollars.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    # --- which suites and cases, on which runners
    paths: Annotated[Lines, Input("suites")] = ()
    suites_from: Annotated[
        str | None,
        Option(SELECT, "DIR", "Read suites and configuration from DIR, such as a checkout of the base commit."),
        Input("suites-from"),
    ] = None
    config: Annotated[
        str | None,
        Option(
            (*SELECT, *REPORT, "compare", "doctor", "explain", "promote", "view", "trend", SUGGEST),
            "FILE",
            "Configuration file (default: the closest skillgym.config.*, searching upward from the first PATH).",
        ),
        Input("config"),
    ] = None
    format: Annotated[
        Words,
        all_known(tuple(FORMATS), FORMAT_ALIASES),
        Option(SELECT, "FORMAT", "Select only suites of this format.", repeatable=True),
        Input("formats"),
    ] = ()
    case: Annotated[
        Words,
        Option((*SELECT, "trend"), "GLOB", "Select only cases whose id matches GLOB.", repeatable=True),
        Input("cases"),
    ] = ()
    match: Annotated[
        KeywordExpression | None,
        BeforeValidator(parse_keywords),
        Option(SELECT, "EXPR", "Select only cases whose id matches EXPR: words combined with and, or, not.", short="k"),
    ] = None
    tag: Annotated[
        Words, Option(SELECT, "TAG[,TAG]", "Select only cases with one of these tags.", repeatable=True), Input("tags")
    ] = ()
    runner: Annotated[
        Words,
        Option(
            (*SELECT, "doctor"),
            "ID|AGENT[:MODEL]",
            "Select a configured runner by id, or an agent by name.",
            repeatable=True,
        ),
    ] = ()
    runners: Annotated[str | None, Input("runners")] = None
    model: Annotated[str | None, Option(SELECT, "MODEL", "Model to use in every execution."), Input("model")] = None
    arms: Annotated[
        Words,
        Option(SELECT, "LIST", "Arms to run: auto, with, without or old for skills; or names of configured arms."),
        Input("arms"),
    ] = ()
    changed_skills: Annotated[
        bool,
        Option(SELECT, None, "Select only suites of skills whose files or evals differ from those in the merge base."),
        Input("changed-skills"),
    ] = False
    changed_only: Annotated[
        bool, Option(SELECT, None, "Select only cases whose inputs differ from the merge base."), Input("changed-only")
    ] = False
    base: Annotated[str | None, Option(SELECT, "REF", "Branch or commit to use as the base of --changed-only.")] = None
    agentv_compat: Annotated[
        bool,
        Option((*SELECT, "rejudge"), None, "Use AgentV's rules for shared workspaces, hook order and grader output."),
        Input("agentv-compat"),
    ] = False
    skill: Annotated[
        str | None,
        Option(SELECT, "DIR", "Folder of the skill under test (default: the skill found near each suite)."),
        Input("skill"),
    ] = None

    # --- how sessions run
    jobs: Annotated[
        PositiveInt | None,
        Option(
            (*RUN, "list"),
            "N",
            "Number of parallel sessions; more than 1 implies --schedule parallel.",
            short="j",
            aliases=("concurrent",),
        ),
        Input("jobs"),
    ] = None
    schedule: Annotated[
        Schedule | None,
        known(get_args(Schedule)),
        Option((*RUN, "list"), "ORDER", "Order of executions: serial, parallel or isolated-by-runner."),
        Input("schedule"),
    ] = None
    repeat: Annotated[
        PositiveInt | None, Option((*RUN, "list"), "N", "Run each case N times on each runner."), Input("repeat")
    ] = None
    require: Annotated[
        Require | None,
        Option((*RUN, "rejudge"), "all|any|M", "How many repetitions of a case must pass (default: all)."),
        Input("require"),
    ] = None
    stop_early: Annotated[
        bool,
        Option(RUN, None, "End an execution once its result is decided; rates then include only its first session."),
        Input("stop-early"),
    ] = False
    stop: Annotated[
        Stop | None,
        known(get_args(Stop)),
        Option(RUN, "futility", "With a baseline: end the run early if a regression has become unlikely."),
        Input("stop"),
    ] = None
    retry: Annotated[
        NonNegativeInt | None,
        Option(RUN, "N", "Retry each failed (not errored) repetition up to N times.", aliases=("repeat-failure",)),
        Input("retry"),
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
        Duration | None,
        Option(RUN, "TIME", "Time limit of each session: seconds, or a duration such as 90s, 5m, 1h30m."),
        Input("timeout"),
    ] = None
    max_steps: Annotated[
        PositiveInt | None, Option(RUN, "N", "Maximum number of model rounds in a session."), Input("max-steps")
    ] = None
    max_cost: Annotated[
        PositiveFloat | None,
        Option(
            RUN,
            "USD",
            "Maximum cost; once it is spent, no more sessions start. "
            "With a store, a run with a higher forecast does not start.",
        ),
        Input("max-cost"),
    ] = None
    allow_partial: Annotated[
        bool,
        Option(RUN, None, "Start even if the forecast is above --max-cost; the run ends once this amount is spent."),
        Input("allow-partial"),
    ] = False
    maxfail: Annotated[
        PositiveInt | None,
        Option(RUN, "N", "Start no more sessions once N executions failed, passed unexpectedly or were errored."),
        Input("maxfail"),
    ] = None
    exitfirst: Annotated[bool, Option(RUN, None, "Same as --maxfail 1.", short="x")] = False
    last_failed: Annotated[
        bool, Option(RUN, None, "Run only executions that were not green in the last run; if there are none, run all.")
    ] = False
    limits: Annotated[
        Limits,
        Option(
            RUN,
            "KEY=SIZE,...",
            "Resource limits of each session (memory, disk, processes, fileSize), such as memory=4GiB,disk=2GiB.",
        ),
        Input("limits"),
    ] = ()
    keep: Annotated[
        Keep | None,
        known(get_args(Keep)),
        Option(
            RUN,
            "WHAT",
            "Workspace files to archive: changed, none, or all (also whole workspaces of sessions that are not green).",
        ),
        Input("keep"),
    ] = None
    agent_user: Annotated[
        str | None,
        Option(
            (*RUN, "check", "doctor", "promote", "worker"),
            "NAME",
            "User that runs agents and commands of suites (requires root).",
        ),
        Input("agent-user"),
    ] = None
    install_agents: Annotated[
        bool, Option((*RUN, "worker"), None, "Install missing agent CLIs through npm."), Input("install-agents")
    ] = False
    update_snapshots: Annotated[
        bool, Option(RUN, None, "Replace the stored token snapshots instead of comparing with them.")
    ] = False
    record: Annotated[
        str | None, Option(RUN, "DIR", "Store the sessions in DIR, for use with the replay agent."), Input("record")
    ] = None

    # --- what `report` compares stored results with
    compare_suites: Annotated[
        bool, Option(REPORT, None, "Compare the suites of the runs with those of the checkout, by digest.")
    ] = False
    allow_changed_suites: Annotated[
        bool,
        Option(REPORT, None, "In the verdict, include the results of suites that differ from the checkout."),
        Input("allow-changed-suites"),
    ] = False

    # --- what decides about the exit code
    fail_on: Annotated[
        FailOn | None,
        Option(GATE, "LIST", f"Conditions that fail the run: {', '.join(FAIL_ON)}; or none."),
        Input("fail-on"),
    ] = None
    min_pass_rate: Annotated[
        Rate | None,
        Option(
            GATE,
            "RATE",
            "Minimum pass rate (mean over cases of the share of passed sessions), 0 to 1; below it the run fails.",
        ),
        Input("min-pass-rate"),
    ] = None
    max_error_rate: Annotated[
        Rate | None,
        Option(GATE, "RATE", "Maximum share of errored executions, 0 to 1; above it the run is inconclusive."),
        Input("max-error-rate"),
    ] = None
    min_uplift: Annotated[
        Points | None,
        Option(
            GATE,
            "POINTS",
            "Minimum uplift of the deciding arm over each other arm, -100 to 100 points; below it the run fails.",
        ),
        Input("min-uplift"),
    ] = None
    baseline: Annotated[
        str | None,
        Option(
            (*DECIDE, "view"),
            "PATH|auto",
            "Run directory or results file to compare with; auto: the results of the base branch in the store.",
        ),
        Input("baseline"),
    ] = None
    baseline_optional: Annotated[
        bool,
        Option(DECIDE, None, "Run without a comparison if there is no baseline yet."),
        Input("baseline-optional"),
    ] = False

    store: Annotated[
        StoreName | None,
        Option(
            STORED,
            "branch|artifact|path=PATH|none",
            "Store with results of earlier runs; runs that are permitted to write add their results.",
        ),
        Input("store"),
    ] = None
    store_write: Annotated[bool, Option(DECIDE, None, "Outside GitHub: add the results of this run to the store.")] = (
        False
    )

    reuse: Annotated[
        Reuse | None,
        Option(
            RUN,
            "unchanged|never",
            "Reuse stored results of unchanged executions (unchanged,max-age=7d: at most 7 days old).",
        ),
        Input("reuse"),
    ] = None

    # --- what is written and shown
    output: Annotated[
        str | None,
        Option(
            (*GATE, "check"),
            "DIR|FILE.json",
            "Run directory (default: .skillgym-results/<UTC time>-<random>), or a .json file to write the results to.",
        ),
        Input("report-dir"),
    ] = None
    report: Annotated[
        ReportPaths,
        Option(
            GATE,
            "KIND=PATH",
            f"Write an additional report. KIND: {', '.join((*REPORTERS, *FOLDER_REPORTS))}. The path - is stdout.",
            repeatable=True,
        ),
    ] = ()
    otlp_content: Annotated[
        bool, Option(GATE, None, "Include prompts, answers, tool arguments and tool results in otlp reports.")
    ] = False
    template_dir: Annotated[
        str | None,
        Option((*GATE, "view"), "DIR", "Folder with report templates that override the built-in ones."),
        Input("template-dir"),
    ] = None
    no_html: Annotated[bool, Option(GATE, None, "Do not write report.html.")] = False
    verbose: Annotated[
        bool, Option(GATE, None, "Show the final outputs of all executions.", short="v"), Input("verbose")
    ] = False
    quiet: Annotated[bool, Option(GATE, None, "Show only errors and the verdict.", short="q")] = False
    no_color: Annotated[bool, Option((*GATE, "doctor"), None, "Disable colored output.")] = False
    resume: Annotated[
        str | None,
        Option(
            RUN,
            "DIR",
            "Resume the run in DIR (auto: the run of an earlier attempt of the job); run only missing sessions.",
        ),
        Input("resume"),
    ] = None
    dry_run: Annotated[
        bool, Option(RUN, None, "Show what would run and its expected cost, without starting a session.")
    ] = False


def options_of(command: str) -> dict[str, Option]:
    """The options of a command, by the names of their fields, in the order of ``--help``.

    Those of shards and those of other tools come last.
    """
    groups = (ShardSettings.model_fields, ForeignSettings.model_fields)
    fields = sorted(Settings.model_fields.items(), key=lambda item: [item[0] in group for group in reversed(groups)])
    return {
        name: declared
        for name, field in fields
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
        found = error.errors(include_url=False)
        messages = (f"{named(str(item['loc'][0]))}: {error_in_words(item)}" for item in found)
        raise UsageError.of(*(Problem(message=message) for message in messages)) from None


# --- one slice per stage ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecuteOptions:
    """How executions run: ``jobs`` in parallel, with up to ``retry`` more sessions for a failed repetition.

    ``require``: how many of ``repeat`` repetitions must pass. ``stop_early``: end an execution once that is decided.
    ``stop``: end the run if a regression is unlikely. ``stopped``, ``limits``: of what is judged again.
    ``on_limit``: the status of a session that exceeded its time, steps or budget. ``prices``: configured ones by model.
    ``agent_user``: the user that agents and suite commands run as; None: the caller.
    ``allow_partial``: run also what ``max_cost`` will not pay to its end. ``provider_limits``: sessions at once.
    ``maxfail``: the number of executions that are not green after which no session is started.
    ``resume``: skip sessions that are in the journal. ``keep``: what to archive of a workspace that is not green.
    """

    jobs: int = 1
    schedule: Schedule = "serial"
    repeat: int = 1
    require: Require = "all"
    stop_early: bool = False
    stop: Stop | None = None
    stopped: StoppedForFutility | None = None
    limits: LimitSettings | None = None
    retry: int = 0
    on_limit: OnLimit = "failed"
    max_steps: int | None = None
    max_cost: float | None = None
    allow_partial: bool = False
    maxfail: int | None = None
    record: Path | None = None
    agent_user: str | None = None
    snapshots: SnapshotConfig | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    resume: bool = False
    keep: Keep = "changed"
    provider_limits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """The options of all stages of a run, and of the adapters that they need."""

    discover: DiscoverOptions
    load: LoadOptions
    arms: ArmOptions
    plan: PlanOptions
    install_agents: InstallAgentsOptions
    execute: ExecuteOptions
    report: ReportOptions
    gate: GateOptions
    publish: PublishOptions
    publisher: PublisherOptions
    store: StoreOptions | None = None
    reuse: ReuseOptions | None = None
    changed: ChangedOptions | None = None
    attempt: AttemptOptions = field(default_factory=AttemptOptions)
    templates: TemplateSources | None = None
    judge: JudgeConfig | None = None
    engine: EngineOptions | None = None
    sandbox: SandboxOptions = field(default_factory=SandboxOptions)
