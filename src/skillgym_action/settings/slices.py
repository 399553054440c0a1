"""What stages and adapters need of the settings, each its own slice; ``Options``: the slices of all as one value."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from skillgym_action.model.limits import (
    DEFAULT_LOST_AFTER_SECONDS,
    DEFAULT_LOST_RETRIES,
    DEFAULT_WORKER_WAIT_SECONDS,
    MAX_ENGINE_SESSIONS,
)
from skillgym_action.model.records import record
from skillgym_action.model.resource_limits import ResourceLimits
from skillgym_action.model.result import QuarantineFile
from skillgym_action.reports import OUTPUT_FILE
from skillgym_action.settings.attempt_options import AttemptOptions
from skillgym_action.settings.sandbox_options import SandboxOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from skillgym_action.github.options import PublisherOptions
    from skillgym_action.model.judge_question import JudgeConfig
    from skillgym_action.model.keyword_expression import KeywordExpression
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.runner import Runner
    from skillgym_action.model.session import ArtifactSource
    from skillgym_action.model.shard_plan import ShardPlan
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.reports.markdown.report import Templates
    from skillgym_action.reports.markdown.rows import SessionExcerpts
    from skillgym_action.reports.user_templates.renderer import TemplateSources
    from skillgym_action.settings.arm_options import ArmOptions
    from skillgym_action.settings.baseline_options import ReportOptions, ReuseOptions, StoreOptions
    from skillgym_action.settings.changed_options import ChangedOptions
    from skillgym_action.settings.settings import ExecuteOptions
    from skillgym_action.settings.suite_options import DiscoverOptions, LoadOptions

DEFAULT_TIMEOUT = 120.0


@record
class ShardOptions:
    """``stored``: the plan that says what each shard has. ``max_cost``: of all shards together, in US dollars."""

    stored: ShardPlan | None = None
    max_cost: float | None = None


@record
class PlanOptions:
    """Filters and limits. ``timeout`` (seconds) wins over that of cases; ``default_timeout`` is for cases without one.

    ``runners``: the selected ids or globs; ``configured``: the ids in the configuration.
    ``only``: run nothing but these cases, as (suite path, case id), on the runners of the run. ``repetitions``: of each
    execution, by suite path, case id and runner id, where they are not those of the run.
    ``last_failed``: run only these executions, by the same three.
    ``limits``: of each session; suites can only lower them. ``adapt``: changes the suites before they are planned.
    ``repeated``: the user said how many repetitions there are, whatever cases say. ``quarantine``: which executions
    decide nothing. ``of_shards``: what ``shard`` is a part of.
    """

    cases: tuple[str, ...] = ()
    match: KeywordExpression | None = None
    tags: tuple[str, ...] = ()
    runners: tuple[str, ...] = ()
    configured: tuple[str, ...] = ()
    model: str | None = None
    timeout: float | None = None
    default_timeout: float = DEFAULT_TIMEOUT
    shard: tuple[int, int] = (1, 1)
    only: frozenset[tuple[str, str]] | None = None
    last_failed: frozenset[tuple[str, str, str]] | None = None
    repetitions: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    limits: ResourceLimits = field(default_factory=ResourceLimits)
    repeated: bool = False
    quarantine: QuarantineFile = field(default_factory=QuarantineFile)
    of_shards: ShardOptions = field(default_factory=ShardOptions)
    adapt: Callable[[tuple[BenchmarkSuite, ...]], tuple[BenchmarkSuite, ...]] | None = None


@record
class InstallAgentsOptions:
    """``install_agents``: install missing CLIs through npm. ``login``: the caller is at this machine."""

    install_agents: bool = False
    login: bool = True


@record
class Tls:
    """Files in PEM format: the authority that signed all certificates of the cluster, and the own one with its key."""

    ca: Path
    cert: Path
    key: Path


@record
class EngineOptions:
    """A cluster of Dask. ``address``: of the scheduler, ``tls://…``, or ``tcp://…`` on loopback, then without ``tls``.

    ``slots``: sessions at once, over all workers. Seconds: ``lost_after``, the silence after which a worker is lost,
    and ``wait``, how long a run waits for a worker. ``lost_retries``: how often a lost worker's session runs again.
    """

    address: str
    tls: Tls | None = None
    slots: int = MAX_ENGINE_SESSIONS
    lost_after: float = DEFAULT_LOST_AFTER_SECONDS
    lost_retries: int = DEFAULT_LOST_RETRIES
    wait: float = DEFAULT_WORKER_WAIT_SECONDS


DEFAULT_FAIL_ON = frozenset({"failed", "unexpected-passed", "errored", "no-cases"})


@record
class GateOptions:
    """What fails a run: ``Settings`` says what its fields mean.

    ``baseline_optional``: without a comparison the word ``regression`` is ignored, and the decision says so.
    ``is_default``: ``fail_on`` was not set. ``left_to_check``: indexes of results whose failures count only as far as
    the comparison with the base says so.
    ``complete``: a run of which results are missing is inconclusive, regardless of ``fail_on``. ``unverified``: what an
    untrusted contributor's results are said to be of, such as a commit: they are shown and decide nothing; empty: the
    results are trusted.
    """

    fail_on: frozenset[str] = DEFAULT_FAIL_ON
    is_default: bool = False
    left_to_check: frozenset[int] = frozenset()
    min_pass_rate: float | None = None
    max_error_rate: float | None = None
    min_uplift: float | None = None
    allow_changed_suites: bool = False
    baseline_optional: bool = False
    complete: bool = False
    unverified: str = ""

    @property
    def decides(self) -> bool:
        """Whether anything can keep a run from being green."""
        rates = (self.min_pass_rate, self.max_error_rate, self.min_uplift)
        return bool(self.fail_on) or any(rate is not None for rate in rates)


OF_RESULTS = (OUTPUT_FILE, "results", "x-bench")
"""The kinds of reports that ``workspaces/repository/repository.py`` recognizes."""


def is_results_file(output: str) -> bool:
    """Whether ``--output`` names a file for the results; with a slash at its end it is a run directory."""
    return output.lower().endswith(".json")


def output_directory(output: str | None) -> str | None:
    """The run directory that ``--output`` names; None if there is none."""
    return None if output is None or is_results_file(output) else output


def kind_for(report: RunReport, kind: str) -> str:
    """The name of the reporter for a report of that kind; for ``OUTPUT_FILE``, it depends on the suites."""
    if kind != OUTPUT_FILE:
        return kind
    return "x-bench" if {suite.format for suite in report.suites} == {"x-bench"} else "results"


@record
class PublishOptions:
    """What is written outside of the run directory: ``reports`` as (kind, absolute path), and GitHub's step files.

    The kind of a report may be ``OUTPUT_FILE``. ``printed``: the kind of report that goes to standard output. Paths in
    step outputs are relative to ``workspace``; ``templates``: the user's; ``artifacts``: what reports about sessions
    show; ``excerpts``: what summary and comment quote of them.
    """

    reports: tuple[tuple[str, Path], ...] = ()
    printed: str | None = None
    annotations: bool = False
    step_summary: Path | None = None
    step_outputs: Path | None = None
    workspace: Path | None = None
    comment_id: str = "default"
    templates: Templates | None = None
    html: bool = True
    artifacts: ArtifactSource | None = None
    excerpts: SessionExcerpts | None = None
    otlp_content: bool = False


@record
class Options:
    """The options of all stages of a run, and of the adapters that they need.

    ``runners_at``: the runners by id as a folder with another commit configures them, or why
    they are unknown; None: as this one does.
    """

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
    runners_at: Callable[[Path], Mapping[str, Runner] | str] | None = None
