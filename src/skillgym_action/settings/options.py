"""What a user may set: one validated ``Settings`` for command line, inputs and environment; a slice for each stage.

Precedence: option or input, then environment, then configuration file, then the default written here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    ValidationError,
)

from skillgym_action.documents.option_values import Limits, Lines, Rate, Shard, Words, all_known, known
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
    from skillgym_action.model.session_report import Price
    from skillgym_action.model.token_snapshots import SnapshotConfig
    from skillgym_action.reporters.markdown import Templates
    from skillgym_action.storage.changed_suites import SuiteComparison
    from skillgym_action.user_templates.template_folder import TemplateSources

Schedule = Literal["serial", "parallel", "isolated-by-runner"]
Keep = Literal["changed", "all", "none"]
FAIL_ON = ("failed", "unexpected-passed", "errored", "skipped", "no-cases", "regression", "budget", "leaks", "warnings")
DEFAULT_FAIL_ON = frozenset({"failed", "unexpected-passed", "errored", "no-cases"})
DEFAULT_TIMEOUT = 120.0
_ERROR, _SHOULD = "Value error, ", "Input should"  # pydantic's words


def _report(value: object) -> object:
    """``KIND=PATH`` items."""
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
        raise ValueError("'none' turns everything off, hence stands alone")
    return words


FailOn = Annotated[Words, all_known((*FAIL_ON, "none")), AfterValidator(_alone)]


class Settings(BaseModel):
    """Everything that can be given; None or empty means: not given. Times in seconds, money in US dollars."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    paths: Lines = ()
    suites_from: str | None = None
    config: str | None = None
    runner: Words = ()
    runners: str | None = None
    format: Annotated[Words, all_known(tuple(FORMATS))] = ()
    case: Words = ()
    tag: Words = ()
    model: str | None = None
    jobs: PositiveInt | None = None
    schedule: Annotated[Schedule | None, known(get_args(Schedule))] = None
    repeat: PositiveInt | None = None
    retry: Annotated[int, Field(ge=0)] | None = None
    timeout: PositiveFloat | None = None
    max_steps: PositiveInt | None = None
    max_cost: PositiveFloat | None = None
    limits: Limits = ()
    keep: Annotated[Keep | None, known(get_args(Keep))] = None
    output: str | None = None
    resume: str | None = None
    report: Annotated[tuple[tuple[str, str], ...], BeforeValidator(_report)] = ()
    fail_on: FailOn | None = None
    min_pass_rate: Rate | None = None
    max_error_rate: Rate | None = None
    agentv_compat: bool = False
    shard: Shard | None = None
    record: str | None = None
    baseline: str | None = None
    compare_suites: bool = False
    allow_changed_suites: bool = False
    agent_user: str | None = None
    install_agents: bool = False
    update_snapshots: bool = False
    template_dir: str | None = None
    comment: Annotated[CommentMode | None, known(get_args(CommentMode))] = None
    comment_when: Annotated[CommentWhen | None, known(get_args(CommentWhen))] = None
    comment_id: str | None = None
    review_comments: bool | None = None
    status: Annotated[StatusMode | None, known(get_args(StatusMode))] = None
    dry_run: bool = False
    verbose: bool = False
    quiet: bool = False
    no_color: bool = False


def settings(given: Mapping[str, Any], named: Callable[[str], str]) -> Settings:
    """Validated settings; ``named`` turns a field into what the user wrote (``--max-cost``, ``input max-cost``).

    Raises UsageError with every problem.
    """
    try:
        return Settings(**{name: value for name, value in given.items() if value not in (None, (), "")})
    except ValidationError as error:
        problems = (
            Problem(
                message=f"{named(str(item['loc'][0]))}: {item['msg'].removeprefix(_ERROR).replace(_SHOULD, 'must')}"
            )
            for item in error.errors(include_url=False)
        )
        raise UsageError.of(*problems) from None


# --- one slice per stage ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class DiscoverOptions:
    """``paths`` relative to the working directory; ``!PATH`` excludes. ``without``: a folder that is not searched.

    ``where``: the folder that is searched, for messages, with a space before it.
    """

    paths: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    without: Path | None = None
    where: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadOptions:
    """``workspace`` is for suites that do not say where their agents work, ``cwd`` for those that only say ``none``.

    ``environment`` is what suites may name variables of; ``agentv_compat``: AgentV's own numbers are wanted.
    """

    workspace: WorkspaceSpec = field(default_factory=WorkspaceSpec)
    cwd: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    agentv_compat: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanOptions:
    """Filters. ``timeout``, in seconds, wins over the cases' own; ``default_timeout`` is for cases without one.

    ``runners``: ids or globs that were asked for; ``configured``: the ids there are in the configuration.
    ``only``: nothing but these cases, as (suite path, case id), on the run's own runners.
    ``limits``: of each session; suites can only lower them.
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
    limits: ResourceLimits = field(default_factory=ResourceLimits)


@dataclass(frozen=True, kw_only=True, slots=True)
class InstallAgentsOptions:
    """``install_agents``: CLIs that are not there are put there through npm."""

    install_agents: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecuteOptions:
    """How executions run. ``jobs`` at once; ``retry`` extra sessions for a repetition that failed.

    ``agent_user``: the name of the user that agents, and all else that suites ask for, run as; None: the caller.
    ``prices``: the user's own, by model. ``resume``: what the run directory's journal knows is not held again.
    ``keep``: what of the workspace of a session that is not green goes to the run directory.
    """

    jobs: int = 1
    schedule: Schedule = "serial"
    repeat: int = 1
    retry: int = 0
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
    """``baseline`` is the absolute path of a run directory or results file, ``named`` what the user calls it.

    ``configuration_differs``: the checkout has another one than the folder that suites are read from.
    ``suites``: how the suites of stored results are compared with those of the checkout; None: they are not.
    """

    baseline: Path | None = None
    named: str = ""
    suites: SuiteComparison | None = None
    configuration_differs: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class GateOptions:
    """What turns a run red. ``allow_changed_suites``: results of suites that are not the base commit's count."""

    fail_on: frozenset[str] = DEFAULT_FAIL_ON
    min_pass_rate: float | None = None
    max_error_rate: float | None = None
    allow_changed_suites: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishOptions:
    """Where texts go besides the run directory: (kind, absolute path) pairs, and GitHub's files.

    Paths in step outputs are relative to ``cwd``; ``templates`` renders report templates of the user's.
    """

    reports: tuple[tuple[str, Path], ...] = ()
    annotations: bool = False
    step_summary: Path | None = None
    step_outputs: Path | None = None
    cwd: Path | None = None
    comment_id: str = "default"
    templates: Templates | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """All slices of one run."""

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
