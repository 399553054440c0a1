"""Options of the stages `plan` and `install_agents`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillgym_action.model.quarantine import QuarantineFile
from skillgym_action.model.resource_limits import ResourceLimits
from skillgym_action.settings.shard_options import ShardOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skillgym_action.model.keyword_expression import KeywordExpression
    from skillgym_action.model.suite import BenchmarkSuite

DEFAULT_TIMEOUT = 120.0


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanOptions:
    """Filters and limits. ``timeout`` (seconds) wins over that of cases; ``default_timeout`` is for cases without one.

    ``runners``: the selected ids or globs; ``configured``: the ids in the configuration.
    ``only``: run nothing but these cases, as (suite path, case id), on the runners of the run. ``repetitions``: of each
    execution, by suite path, case id and runner id, where they are not those of the run.
    ``match``: what ids of cases have to contain. ``last_failed``: run only these executions, by the same three.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class InstallAgentsOptions:
    """``install_agents``: install missing CLIs through npm."""

    install_agents: bool = False
