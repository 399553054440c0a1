"""A whole run, and the decision about it. Totals are methods, never stored twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.totals import totals

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.model.comparison import Comparison
    from skillgym_action.model.errors import Problem
    from skillgym_action.model.execution import Runner
    from skillgym_action.model.links import Links
    from skillgym_action.model.result import Result
    from skillgym_action.model.suite import Suite
    from skillgym_action.model.totals import Totals


@dataclass(frozen=True, kw_only=True, slots=True)
class SuitesFrom:
    """The folder that suites and the configuration of a run were read from, where that is not the checkout itself.

    ``folder`` as the user calls it; ``commit``: where it is known. Suites of the checkout by path: ``added`` are not in
    the folder and were not run; of ``changed`` and ``removed`` the folder's were run.
    """

    folder: str
    commit: str | None = None
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    configuration_differs: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RunReport:
    """A whole run, in plan order. Times are ISO 8601 in UTC; ``incomplete`` says what should be in it and is not."""

    id: str
    version: str
    command: str
    started_at: str
    ended_at: str
    duration_ms: int
    results: tuple[Result, ...]
    suites: tuple[Suite, ...]
    runners: tuple[Runner, ...]
    warnings: tuple[Problem, ...] = ()
    cancelled: bool = False
    commit: str | None = None
    shard: str | None = None
    incomplete: tuple[str, ...] = ()
    suites_from: SuitesFrom | None = None
    links: Links | None = None
    comparison: Comparison | None = None
    decision: Decision | None = None

    def totals(self, where: Callable[[Result], bool] = lambda _: True) -> Totals:
        """Sums over the results that ``where`` accepts."""
        return totals(result for result in self.results if where(result))


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """Green or red, and why in words. One decision feeds console, reports, step outputs and exit code."""

    verdict: Literal["passed", "failed", "inconclusive"]
    exit_code: int
    reasons: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the job is green."""
        return self.exit_code == 0
