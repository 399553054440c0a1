"""The report of a run, and the decision on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.totals import totals

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.model.comparison import Comparison
    from skillgym_action.model.errors import Problem
    from skillgym_action.model.execution import Runner
    from skillgym_action.model.links import Links
    from skillgym_action.model.result import Result
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.model.totals import Totals


Verdict = Literal["passed", "failed", "inconclusive", "not-gated"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SuitesFrom:
    """The folder of ``--suites-from``, from which the suites and the configuration were read.

    ``folder`` as the user wrote it; ``commit``: its commit, if known. Paths of suites, compared with the checkout:
    ``added`` exist in the checkout only and were not run; of ``changed`` ones the folder's version was run; ``removed``
    exist in the folder only and were run.
    """

    folder: str
    commit: str | None = None
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    configuration_differs: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RunReport:
    """A whole run; ``results`` are in the order of the plan.

    ``command``: `run`, `rejudge` or `report`. ``shard``: such as ``2/4``. Times are ISO 8601 in UTC. ``incomplete``:
    why results are missing, a sentence per reason. ``stopped_early``: executions ended as soon as their status was
    decided, hence their sessions are no sample for rates. ``decision`` is None until the gate has decided.
    """

    id: str
    version: str
    command: str
    started_at: str
    ended_at: str
    duration_ms: int
    results: tuple[Result, ...]
    suites: tuple[BenchmarkSuite, ...]
    runners: tuple[Runner, ...]
    warnings: tuple[Problem, ...] = ()
    cancelled: bool = False
    commit: str | None = None
    shard: str | None = None
    incomplete: tuple[str, ...] = ()
    stopped_early: bool = False
    suites_from: SuitesFrom | None = None
    links: Links | None = None
    comparison: Comparison | None = None
    decision: Decision | None = None

    def totals(self, where: Callable[[Result], bool] = lambda _: True) -> Totals:
        """Sums over the results that ``where`` accepts."""
        return totals(result for result in self.results if where(result))


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """The verdict on a run, with the reasons in words; shared by the terminal, reports, outputs and the exit code.

    ``not-gated``: no rule was applied, because the user asked for none, or because the only one needs a comparison.
    ``uncompared``: the run was to be compared with a baseline that does not exist yet.
    """

    verdict: Verdict
    exit_code: int
    reasons: tuple[str, ...] = ()
    uncompared: bool = False

    @property
    def passed(self) -> bool:
        """Whether the job is green."""
        return self.exit_code == ExitCode.PASSED
