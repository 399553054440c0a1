"""The results file: runs of trigger queries, and their rates, which are computed when a file is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from pydantic import Field

from skillgym_action.comparison.trigger_rates import trigger_rates
from skillgym_action.model.result import TriggerCounts
from skillgym_action.storage.field_types import Count, Id, Path, Rate
from skillgym_action.storage.mapping import MappedModel

if TYPE_CHECKING:
    from skillgym_action.comparison.rates import RateEstimate
    from skillgym_action.comparison.trigger_rates import TriggerRates
    from skillgym_action.model.run_report import RunReport


class TriggerEntry(MappedModel):
    """The runs of a trigger query: a skill under test was loaded in so many of those judged."""

    noun: ClassVar = TriggerCounts

    should_trigger: bool
    loaded: Count
    judged: Count


class ShareEntry(MappedModel):
    """A share of runs, with the interval that has the true one with 95 % confidence (Wilson)."""

    rate: Rate
    low: Rate
    high: Rate


class TriggerRatesEntry(MappedModel):
    """The trigger queries of a suite on a runner; null where no run tells.

    ``recall``: of the runs of queries that have to load the skill, the share that did; ``precision``: of the runs that
    loaded it, the share that had to; ``accuracy``: of all judged runs, the share that did what was expected.
    """

    suite: Path
    runner_id: Id
    queries: Count
    runs: Annotated[int, Field(ge=0)]
    recall: ShareEntry | None
    precision: ShareEntry | None
    accuracy: ShareEntry | None


class _Share(NamedTuple):
    rate: float
    low: float
    high: float


class _Rates(NamedTuple):
    suite: str
    runner_id: str
    queries: int
    runs: int
    recall: _Share | None
    precision: _Share | None
    accuracy: _Share | None


def trigger_rates_of(report: RunReport) -> tuple[_Rates, ...]:
    """The rates as the file has them; () without trigger queries."""
    return tuple(map(_rates, trigger_rates(report.results)))


def _rates(found: TriggerRates) -> _Rates:
    shares = map(_share, (found.recall, found.precision, found.accuracy))
    return _Rates(found.suite, found.runner, found.queries, found.runs, *shares)


def _share(found: RateEstimate | None) -> _Share | None:
    return _Share(found.rate, *found.interval) if found else None
