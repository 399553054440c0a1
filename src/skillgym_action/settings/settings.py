"""``Settings``: everything that options, inputs and the environment can set, each declared once.

Precedence: option or input, then environment, then configuration file, then the default in the slice.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from skillgym_action.github.options import CommentMode, CommentWhen, StatusMode
from skillgym_action.model.errors import Problem, UsageError
from skillgym_action.model.json_codec import camel_case
from skillgym_action.model.keyword_expression import KeywordExpression, parse_keywords
from skillgym_action.model.records import record
from skillgym_action.reports import FOLDER_REPORTS, REPORTERS
from skillgym_action.settings.declarations import (
    CONFIGURED,
    DECIDE,
    GATE,
    PLAN,
    PLANNED,
    REPORT,
    RESULTS,
    RESUME,
    RUN,
    SELECT,
    SESSIONS,
    STORED,
    TREND,
    WORKERS,
    HelpGroup,
    Option,
    Setting,
)
from skillgym_action.settings.option_types import (
    FAIL_ON,
    Auth,
    Confirm,
    FailOn,
    Keep,
    OnLimit,
    ReportPaths,
    Reuse,
    SandboxType,
    Schedule,
    StoreName,
    error_in_words,
    reporter_of_skillgym,
)
from skillgym_action.settings.provider_limits import ProviderLimitPairs
from skillgym_action.settings.trend_options import Since
from skillgym_action.suites import FORMAT_ALIASES, FORMATS
from skillgym_action.text.documents.option_values import (
    Duration,
    Limits,
    Lines,
    Points,
    Rate,
    Repeat,
    Require,
    Shard,
    Words,
    all_known,
    known_word,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from skillgym_action.model.adaptive import Adaptive
    from skillgym_action.model.report import LimitSettings
    from skillgym_action.model.session_report import Price
    from skillgym_action.model.token_snapshots import SnapshotConfig


class Settings(BaseModel):
    """What users can set, with the option and the input for each field; None or empty: not set.

    Fields are in the order of ``--help``. Times are in seconds, money in US dollars.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    # --- which suites and cases, on which runners
    paths: Annotated[Lines, Setting((), None, PLAN, input="suites")] = ()
    config: Annotated[
        str | None,
        Setting(CONFIGURED, HelpGroup.SELECTION, PLAN, input=True),
        Option(
            "Configuration file (default: the closest skillgym.config.*, searching upward from the first PATH).", "FILE"
        ),
    ] = None
    format: Annotated[
        Words,
        all_known(FORMATS, FORMAT_ALIASES),
        Setting(SELECT, HelpGroup.SELECTION, PLAN, input="formats"),
        Option("Select only suites of this format.", "FORMAT", repeatable=True),
    ] = ()
    case: Annotated[
        Words,
        Setting((*SELECT, "trend"), HelpGroup.SELECTION, (), input="cases"),
        Option("Select only cases whose id matches GLOB.", "GLOB", repeatable=True),
    ] = ()
    match: Annotated[
        KeywordExpression | None,
        BeforeValidator(parse_keywords),
        Setting(SELECT, HelpGroup.SELECTION, (), "plan"),
        Option("Select only cases whose id matches EXPR: words combined with and, or, not.", "EXPR", short="k"),
    ] = None
    tag: Annotated[
        Words,
        Setting(SELECT, HelpGroup.SELECTION, (), input="tags"),
        Option("Select only cases with one of these tags.", "TAG[,TAG]", repeatable=True),
    ] = ()
    last_failed: Annotated[
        bool,
        Setting(RUN, HelpGroup.SELECTION, ()),
        Option("Run only executions that were not green in the last run; if there are none, run all."),
    ] = False
    runner: Annotated[
        Words,
        Setting((*SELECT, "doctor"), HelpGroup.AGENTS, PLAN),
        Option("Select a configured runner by id, or an agent by name.", "ID|AGENT[:MODEL]", repeatable=True),
    ] = ()
    runners: Annotated[str | None, Setting((), None, PLAN, input=True)] = None
    model: Annotated[
        str | None,
        Setting(SELECT, HelpGroup.AGENTS, PLAN, "plan", input=True),
        Option("Model to use in every execution.", "MODEL"),
    ] = None
    auth: Annotated[
        Auth | None,
        Setting((*RUN, "doctor"), HelpGroup.AGENTS, PLAN, "load", input=True),
        Option("How agents log in: auto, key (variables), cloud (variables) or login (your own).", "WAY"),
    ] = None
    arms: Annotated[
        Words,
        Setting(SELECT, HelpGroup.AGENTS, PLAN, input=True),
        Option("Arms to run: auto, with, without or old for skills; or names of configured arms.", "LIST"),
    ] = ()
    skill: Annotated[
        str | None,
        Setting(SELECT, HelpGroup.AGENTS, PLAN, input=True),
        Option("Folder of the skill under test (default: the skill found near each suite).", "DIR"),
    ] = None
    threshold: Annotated[
        Rate | None,
        Setting((*RUN, "rejudge"), HelpGroup.AGENTS, (WORKERS, RESUME), "load", input=True),
        Option("Minimum mean score of plugin evals and Harbor tasks, 0 to 1 (default: 1).", "SCORE"),
    ] = None
    agentv_compat: Annotated[
        bool,
        Setting((*SELECT, "rejudge"), HelpGroup.AGENTS, (WORKERS, RESUME), "load", input=True),
        Option("Use AgentV's rules for shared workspaces, hook order and grader output."),
    ] = False
    changed_only: Annotated[
        bool,
        Setting(SELECT, HelpGroup.SELECTION, (), input=True),
        Option("Select only cases whose inputs differ from the merge base."),
    ] = False
    base: Annotated[
        str | None,
        Setting(SELECT, HelpGroup.SELECTION, ()),
        Option("Branch or commit to use as the base of --changed-only.", "REF"),
    ] = None
    changed_skills: Annotated[
        bool,
        Setting(SELECT, HelpGroup.SELECTION, (), input=True),
        Option("Select only suites of skills whose files or evals differ from those in the merge base."),
    ] = False
    suites_from: Annotated[
        str | None,
        Setting(SELECT, HelpGroup.SELECTION, (), input=True),
        Option("Read suites and configuration from DIR, such as a checkout of the base commit.", "DIR"),
    ] = None
    resume: Annotated[
        str | None,
        Setting(RUN, HelpGroup.SELECTION, (), input=True),
        Option(
            "Resume the run in DIR (auto: the run of an earlier attempt of the job); run only missing sessions.", "DIR"
        ),
    ] = None
    dry_run: Annotated[
        bool,
        Setting(RUN, HelpGroup.SELECTION, ()),
        Option("Show what would run and its expected cost, without starting a session."),
    ] = False
    cwd: Annotated[
        str | None,
        Setting(RUN, HelpGroup.SELECTION, ()),
        Option("Working directory of agents for suites without a workspace; same as run.cwd.", "DIR", variable=False),
    ] = None

    # --- where sessions run
    jobs: Annotated[
        PositiveInt | None,
        Setting((*RUN, "list"), HelpGroup.MACHINES, (), input=True),
        Option(
            "Number of parallel sessions; more than 1 implies --schedule parallel.",
            "N",
            short="j",
            aliases=("concurrent",),
        ),
    ] = None
    schedule: Annotated[
        Schedule | None,
        Setting((*RUN, "list"), HelpGroup.MACHINES, (), key="run", example="parallel", input=True),
        Option("Order of executions: serial, parallel or isolated-by-runner.", "ORDER"),
    ] = None
    """Order of executions: one after another (`serial`), in parallel (`parallel`), or in parallel with one session at a
    time for each runner (`isolated-by-runner`); same as [`--schedule`](command-line.md#schedules)."""
    limit: Annotated[
        ProviderLimitPairs,
        Setting(RUN, HelpGroup.MACHINES, ()),
        Option(
            "Maximum number of sessions that use a provider at the same time (example: anthropic=40).",
            "PROVIDER=N",
            repeatable=True,
        ),
    ] = ()
    engine: Annotated[
        str | None,
        Setting(RUN, HelpGroup.MACHINES, (), input=True),
        Option(
            "Where to run sessions: on this machine (local), or on a Dask cluster (dask://HOST:PORT).", "ADDRESS|local"
        ),
    ] = None
    lost_retries: Annotated[
        NonNegativeInt | None,
        Setting(RUN, HelpGroup.MACHINES, ()),
        Option("With --engine: rerun a session up to N times if its worker is lost (default: 2).", "N"),
    ] = None
    sandbox: Annotated[
        SandboxType | None,
        BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value),
        Setting((*RUN, "rejudge"), HelpGroup.MACHINES, PLAN, input=True),
        Option("Sandbox for suites that require containers (default: docker).", "none|docker"),
    ] = None
    agent_user: Annotated[
        str | None,
        Setting((*RUN, "check", "doctor", "promote", "worker"), HelpGroup.MACHINES, (), "execute", input=True),
        Option("User that runs agents and commands of suites (requires root).", "NAME"),
    ] = None
    install_agents: Annotated[
        bool,
        Setting((*RUN, "worker"), HelpGroup.AGENTS, (), "install_agents", input=True),
        Option("Install missing agent CLIs through npm."),
    ] = False
    max_parallel: Annotated[
        PositiveInt | None,
        Setting(RUN, HelpGroup.MACHINES, (), key="run", example=4),
        Option(
            "Maximum number of parallel sessions, same as run.maxParallel; no effect with --schedule serial.",
            "N",
            variable=False,
        ),
    ] = None
    """With the schedule `parallel`, the maximum number of parallel sessions; with `isolated-by-runner`, the maximum
    number of parallel runners. `--jobs` takes precedence. On a [cluster](engines.md) with the schedule `parallel`,
    `engine.slots` applies instead."""

    # --- how sessions run, and how often
    repeat: Annotated[
        Repeat | None,
        Setting((*RUN, "list"), HelpGroup.REPETITIONS, (RESUME,), "execute", key="run", example=3, input=True),
        Option("Run each case N times on each runner; auto: until a regression is decided.", "N|auto"),
    ] = None
    """Number of times that each case runs on each runner; `auto`: [until a regression is
    decided](../explanation/statistics.md#repeat-auto). The number that a suite sets takes precedence over this key,
    but [`--repeat`](command-line.md#repetitions-and-retries) takes precedence over both. Trigger queries have their own
    number."""
    confirm: Annotated[
        Confirm | None,
        Setting(RUN, HelpGroup.REPETITIONS, (RESUME,), "execute", key="run", example="always", input=True),
        Option("With --repeat auto: check a regression beside the base commit.", "auto|always|never"),
    ] = None
    """With `repeat: auto`: whether a regression is checked beside the base commit (`auto`: if that is possible;
    `always`: the run is refused if it is not; `never`: stored results alone decide); same as
    [`--confirm`](command-line.md#repetitions-and-retries)."""
    require: Annotated[
        Require | None,
        Setting((*RUN, "rejudge"), HelpGroup.REPETITIONS, RESULTS, "execute", key="run", input=True),
        Option("How many repetitions of a case must pass (default: all).", "all|any|M"),
    ] = None
    """How many repetitions of a case must pass: all of them (`all`), at least one (`any`), or at least the given
    number; same as [`--require`](command-line.md#repetitions-and-retries)."""
    retry: Annotated[
        NonNegativeInt | None,
        Setting(RUN, HelpGroup.REPETITIONS, RESULTS, "execute", input=True),
        Option("Retry each failed (not errored) repetition up to N times.", "N", aliases=("repeat-failure",)),
    ] = None
    reuse: Annotated[
        Reuse | None,
        Setting(RUN, HelpGroup.REPETITIONS, (), input=True),
        Option(
            "Reuse stored results of unchanged executions (unchanged,max-age=7d: at most 7 days old).",
            "unchanged|never",
        ),
    ] = None
    retry_failed: Annotated[
        NonNegativeInt | None,
        Setting(RUN, HelpGroup.REPETITIONS, ()),
        Option("Older name of --retry; ignored if --retry is also set.", "N", variable=False),
    ] = None
    timeout: Annotated[
        Duration | None,
        Setting(RUN, HelpGroup.LIMITS, (WORKERS, RESUME), "plan", input=True),
        Option("Time limit of each session: seconds, or a duration such as 90s, 5m, 1h30m.", "TIME"),
    ] = None
    max_steps: Annotated[
        PositiveInt | None,
        Setting(RUN, HelpGroup.LIMITS, SESSIONS, "execute", key="run", example=50, default="no limit", input=True),
        Option("Maximum number of model rounds in a session.", "N"),
    ] = None
    on_limit: Annotated[
        OnLimit | None,
        Setting((*RUN, "rejudge"), HelpGroup.LIMITS, SESSIONS, "execute", key="run", example="errored", input=True),
        Option("Status of a session that exceeds its time, steps or budget: failed (default) or errored.", "STATUS"),
    ] = None
    """Status of a session that exceeds its time limit, its maximum number of model rounds or its budget; same as
    [`--on-limit`](command-line.md#limits)."""
    limits: Annotated[
        Limits,
        Setting(RUN, HelpGroup.LIMITS, PLAN, input=True),
        Option(
            "Resource limits of each session (memory, disk, processes, fileSize), such as memory=4GiB,disk=2GiB.",
            "KEY=SIZE,...",
        ),
    ] = ()
    max_cost: Annotated[
        PositiveFloat | None,
        Setting(RUN, HelpGroup.LIMITS, (), "execute", key="run", example=2.5, default="no limit", input=True),
        Option(
            "Maximum cost; once it is spent, no more sessions start. "
            "With a store, a run with a higher forecast does not start.",
            "USD",
        ),
    ] = None
    """Maximum cost of the run. Once this amount is spent, no more sessions start. Same as `--max-cost`."""
    allow_partial: Annotated[
        bool,
        Setting(RUN, HelpGroup.LIMITS, (), "execute", key="run", input=True),
        Option("Start even if the forecast is above --max-cost; the run ends once this amount is spent."),
    ] = False
    """Whether the run starts even if the forecast of its cost is higher than `run.maxCost`; same as
    `--allow-partial`."""
    maxfail: Annotated[
        PositiveInt | None,
        Setting(RUN, HelpGroup.LIMITS, (), input=True),
        Option("Start no more sessions once N executions failed, passed unexpectedly or were errored.", "N"),
    ] = None
    exitfirst: Annotated[bool, Setting(RUN, HelpGroup.LIMITS, ()), Option("Same as --maxfail 1.", short="x")] = False

    # --- stored plans of shards
    shard: Annotated[
        Shard | None,
        Setting(SELECT, HelpGroup.SHARDS, (), "plan", input=True),
        Option("Select only shard I of N.", "I/N"),
    ] = None
    plan: Annotated[
        str | None,
        Setting((*PLANNED, "report"), HelpGroup.SHARDS, (), input=True),
        Option("File with the stored plan of all shards, which `list --matrix` writes.", "FILE"),
    ] = None
    target: Annotated[
        Duration | None,
        Setting(("list",), HelpGroup.SHARDS, (), input=True),
        Option("With --matrix auto: maximum expected time of a shard (default: 20m).", "TIME"),
    ] = None
    durations: Annotated[
        Lines,
        Setting(("list",), HelpGroup.SHARDS, (), input=True),
        Option("With --matrix: balance shards by the durations in RUN or in the store.", "RUN|store", repeatable=True),
    ] = ()

    # --- what decides about the exit code, and what results are compared with
    fail_on: Annotated[
        FailOn | None,
        AfterValidator(lambda words: words or None),  # without a word: not set
        Setting(GATE, HelpGroup.VERDICT, (), key="run", example=["failed", "errored", "regression"], input=True),
        Option(f"Conditions that fail the run: {', '.join(FAIL_ON)}; or none.", "LIST"),
    ] = None
    """Conditions that make a run fail; same as [`--fail-on`](command-line.md#conditions-that-fail-a-run). With `none`,
    none of these conditions applies. Even then, `run.minPassRate`, `run.maxErrorRate` and `run.minUplift` apply, and a
    run in which no execution could be judged is inconclusive."""
    min_pass_rate: Annotated[
        Rate | None,
        Setting(GATE, HelpGroup.VERDICT, (), "gate", key="run", example=0.8, input=True),
        Option(
            "Minimum pass rate (mean over cases of the share of passed sessions), 0 to 1; below it the run fails.",
            "RATE",
        ),
    ] = None
    """Minimum pass rate, such as 0.8 for 80%. If the pass rate is lower, the run fails. Same as `--min-pass-rate`."""
    max_error_rate: Annotated[
        Rate | None,
        Setting(GATE, HelpGroup.VERDICT, (), "gate", key="run", example=0.1, input=True),
        Option("Maximum share of errored executions, 0 to 1; above it the run is inconclusive.", "RATE"),
    ] = None
    """Maximum share of errored executions, such as 0.1 for 10%. If the share is higher, the run is inconclusive. Same
    as `--max-error-rate`."""
    min_uplift: Annotated[
        Points | None,
        Setting(GATE, HelpGroup.VERDICT, (), "gate", key="run", example=5, input=True),
        Option(
            "Minimum uplift of the deciding arm over each other arm, -100 to 100 points; below it the run fails.",
            "POINTS",
        ),
    ] = None
    """Minimum uplift, which is the difference between two arms in the share of passed assertions. If the uplift is
    lower, the run fails. Same as [`--min-uplift`](../how-to/arms.md#a-gate)."""
    baseline: Annotated[
        str | None,
        Setting((*DECIDE, "view"), HelpGroup.VERDICT, (), input=True),
        Option(
            "Run directory or results file to compare with; auto: the results of the base branch in the store; "
            "base: sessions with the files of the base commit, in this run.",
            "PATH|auto|base",
        ),
    ] = None
    baseline_optional: Annotated[
        bool,
        Setting(DECIDE, HelpGroup.VERDICT, (), "gate", key="run", input=True),
        Option("Run without a comparison if there is no baseline yet."),
    ] = False
    """Whether the run continues without a comparison if there is no baseline yet; same as `--baseline-optional`."""
    compare_suites: Annotated[
        bool,
        Setting(REPORT, HelpGroup.VERDICT, ()),
        Option("Compare the suites of the runs with those of the checkout, by digest."),
    ] = False
    allow_changed_suites: Annotated[
        bool,
        Setting(REPORT, HelpGroup.VERDICT, (), "gate", input=True),
        Option("In the verdict, include the results of suites that differ from the checkout."),
    ] = False
    snapshots: Annotated[
        str | None,
        Setting(RUN, HelpGroup.VERDICT, ()),
        Option("File with token snapshots; same as snapshots.path.", "FILE", variable=False),
    ] = None
    update_snapshots: Annotated[
        bool,
        Setting(RUN, HelpGroup.VERDICT, ()),
        Option("Replace the stored token snapshots instead of comparing with them."),
    ] = False

    # --- what is written and shown
    output: Annotated[
        str | None,
        Setting((*GATE, "check"), HelpGroup.REPORTS, (), input="report-dir"),
        Option(
            "Run directory (default: .skillgym-results/<UTC time>-<random>), or a .json file to write the results to.",
            "DIR|FILE.json",
        ),
    ] = None
    output_dir: Annotated[
        str | None,
        Setting(RUN, HelpGroup.REPORTS, ()),
        Option("Folder in which to create the run directory; same as run.outputDir.", "DIR", variable=False),
    ] = None
    report: Annotated[
        ReportPaths,
        Setting(GATE, HelpGroup.REPORTS, ()),
        Option(
            f"Write an additional report. KIND: {', '.join((*REPORTERS.own, *FOLDER_REPORTS))}. The path - is stdout.",
            "KIND=PATH",
            repeatable=True,
        ),
    ] = ()
    no_html: Annotated[bool, Setting(GATE, HelpGroup.REPORTS, ()), Option("Do not write report.html.")] = False
    template_dir: Annotated[
        str | None,
        Setting((*GATE, "view"), HelpGroup.REPORTS, (), input=True),
        Option("Folder with report templates that override the built-in ones.", "DIR"),
    ] = None
    otlp_content: Annotated[
        bool,
        Setting(GATE, HelpGroup.REPORTS, ()),
        Option("Include prompts, answers, tool arguments and tool results in otlp reports."),
    ] = False
    keep: Annotated[
        Keep | None,
        Setting(RUN, HelpGroup.REPORTS, PLAN, "execute", key="run", example="changed", input=True),
        Option(
            "Workspace files to archive: all (also whole workspaces of sessions that are not green), changed, or none.",
            "WHAT",
        ),
    ] = None
    """Which files of workspaces the tool stores. `changed`: the changed files of each session. `all`: also the whole
    workspaces of sessions that are not green, up to a [size](limits.md#agents-and-artifacts). `none`: no files. Same as
    [`--keep`](command-line.md#output)."""
    record: Annotated[
        str | None,
        Setting(RUN, HelpGroup.REPORTS, (), input=True),
        Option("Store the sessions in DIR, for use with the replay agent.", "DIR"),
    ] = None
    store: Annotated[
        StoreName | None,
        Setting(STORED, HelpGroup.REPORTS, (), input=True),
        Option(
            "Store with results of earlier runs; runs that are permitted to write add their results.",
            "branch|artifact|path=PATH|none",
        ),
    ] = None
    store_write: Annotated[
        bool,
        Setting(DECIDE, HelpGroup.REPORTS, ()),
        Option("Outside GitHub: add the results of this run to the store."),
    ] = False
    since: Annotated[
        Since | None,
        Setting(TREND, HelpGroup.REPORTS, (), input=True),
        Option("Show only runs since TIME: days (90d), weeks (12w), or a date such as 2026-01-31.", "TIME"),
    ] = None
    branch: Annotated[
        str | None,
        Setting(TREND, HelpGroup.REPORTS, ()),
        Option(
            "Show only runs of the branch NAME (default: in a job, the base branch; "
            "otherwise, the branch of the newest run).",
            "NAME",
        ),
    ] = None
    reporter: Annotated[
        str | None,
        AfterValidator(reporter_of_skillgym),
        Setting(RUN, HelpGroup.REPORTS, ()),
        Option(
            "Reporter of skillgym; only json and json-summary have an effect, the same as --json.",
            "NAME",
            variable=False,
        ),
    ] = None
    verbose: Annotated[
        bool,
        Setting(GATE, HelpGroup.GENERAL, (), input=True),
        Option("Show the final outputs of all executions.", short="v"),
    ] = False
    quiet: Annotated[
        bool, Setting(GATE, HelpGroup.GENERAL, ()), Option("Show only errors and the verdict.", short="q")
    ] = False
    no_color: Annotated[bool, Setting((*GATE, "doctor"), HelpGroup.GENERAL, ()), Option("Disable colored output.")] = (
        False
    )

    # --- what a job publishes: inputs, and no options
    comment: Annotated[
        CommentMode | None, Setting((), None, (), "publisher", key="report", example="update", input=True)
    ] = None
    """What the tool does with the comment of an earlier run. `update`: it updates this comment. `new`: it keeps this
    comment and writes a new one. `recreate`: it deletes this comment and writes a new one. `off`: the tool writes no
    comments."""
    comment_when: Annotated[
        CommentWhen | None, Setting((), None, (), "publisher", key="report", example="changes", input=True)
    ] = None
    """When the tool creates a comment. `always`: in every run. `changes`: if results differ from the baseline or,
    without a baseline, under the same conditions as with `failures`. `failures`: if an execution is `failed`,
    `unexpected-passed` or `errored`, or the run does not pass. If the condition is not met, `comment: update` and
    `comment: recreate` still update an existing comment."""
    comment_id: Annotated[
        str | None, Setting((), None, (), "publisher", key="report", example="nightly", input=True)
    ] = None
    """Id that distinguishes the comments of several jobs on the same pull request."""
    review_comments: Annotated[
        bool | None, Setting((), None, (), "publisher", key="report", example=True, input=True)
    ] = None
    """Whether the tool writes review comments on the definitions of cases that are not green, in addition to the
    comment on the pull request."""
    status: Annotated[StatusMode | None, Setting((), None, (), "publisher", key="report", example="on", input=True)] = (
        None
    )
    """Whether the tool writes a commit status with the verdict. With `auto`, the tool writes the status only in
    workflows that are triggered by `workflow_run`, because the check of their jobs does not belong to the commit of the
    pull request."""

    @field_validator("*", mode="before")
    @classmethod
    def _word(cls, value: object, info: ValidationInfo) -> object:
        """One of the words of a field that has no other values, in upper or lower case."""
        words = words_of(str(info.field_name))
        return known_word(value, words) if words and value is not None else value


@record
class ExecuteOptions:
    """What the stage ``execute`` gets: ``Settings`` says what its fields mean. Defaults stand here.

    ``limits``, ``decided``: of what is judged again, how it was limited, and how it decided. ``prices``: configured
    ones by model. ``agent_user``: None: the caller. ``provider_limits``: sessions at once. ``resume``: skip sessions
    that are in the journal.
    """

    jobs: int = 1
    schedule: Schedule = "serial"
    repeat: Repeat = 1
    confirm: Confirm = "auto"
    require: Require = "all"
    limits: LimitSettings | None = None
    decided: tuple[Adaptive, frozenset[tuple[object, ...]]] | None = None
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
    keep: Keep = "all"
    provider_limits: Mapping[str, int] = field(default_factory=dict)

    @property
    def repetitions(self) -> int:
        """How many repetitions an execution has that has no number of its own; with ``auto`` at first."""
        return 1 if self.repeat == "auto" else self.repeat


def words_of(name: str) -> tuple[str, ...]:
    """The words that a field of ``Settings`` may have, if it may have nothing else."""
    literals = (kind for kind in get_args(Settings.model_fields[name].annotation) if get_origin(kind) is Literal)
    return tuple(word for literal in literals for word in get_args(literal))


def declared(name: str) -> tuple[Setting, Option | None]:
    """What the field ``name`` of ``Settings`` declares, and its option."""
    found = Settings.model_fields[name].metadata
    setting = next(one for one in found if isinstance(one, Setting))
    return setting, next((one for one in found if isinstance(one, Option)), None)


def all_declared() -> Iterator[tuple[str, Setting, Option | None]]:
    """All fields in the order of ``--help``, with what they declare."""
    for name in Settings.model_fields:
        yield name, *declared(name)


def options_of(command: str) -> dict[str, Option]:
    """The options of a command, by the names of their fields, in the order of ``--help``."""
    return {name: option for name, setting, option in all_declared() if option and command in setting.commands}


def settings_for(use: str) -> dict[str, Setting]:
    """The fields of ``Settings`` whose ``uses`` have ``use``."""
    return {name: setting for name, setting, _ in all_declared() if use in setting.uses}


def keys_of(section: str) -> dict[str, str]:
    """Key of a section of the configuration, such as ``RunSection`` -> the field of ``Settings`` that it sets."""
    return {camel_case(name): name for name, setting, _ in all_declared() if f"{setting.key}section" == section.lower()}


def is_set(settings: Settings, name: str) -> bool:
    """Whether the field ``name`` has another value than the one that means "not set"."""
    return bool(getattr(settings, name) != Settings.model_fields[name].default)


def inputs_of_settings() -> dict[str, str]:
    """Input of the action -> the field of ``Settings`` that it sets."""
    found = ((name, setting.input) for name, setting, _ in all_declared() if setting.input)
    return {name.replace("_", "-") if named is True else str(named): name for name, named in found}


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


INPUTS_OF_SEVERAL = {"runner": "runners", "report": "reports"}
"""Field of ``Settings`` -> the input that the action reads itself, since it sets more than this field."""


def other_names() -> dict[str, str]:
    """Field of ``Settings`` -> the name of its input, if it differs; ``--help`` leaves it out."""
    named = {field: name for name, field in inputs_of_settings().items() if name != field.replace("_", "-")}
    return {field: name for field, name in named.items() if field != "paths"} | INPUTS_OF_SEVERAL
