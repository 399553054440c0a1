"""Recall, precision and accuracy of trigger queries: shares of their judged runs, with 95 % intervals (Wilson)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.comparison.rates import RateEstimate, wilson

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.result import Result


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerRates:
    """Runs of the trigger queries of one suite on one runner.

    A positive query has to load a skill under test: ``loaded`` of its ``positive`` runs did. A negative one must not:
    ``loaded_wrongly`` of its ``negative`` runs did.
    """

    suite: str
    runner: str
    queries: int
    positive: int
    loaded: int
    negative: int
    loaded_wrongly: int

    @property
    def runs(self) -> int:
        """The number of judged runs."""
        return self.positive + self.negative

    @property
    def recall(self) -> RateEstimate | None:
        """The share of runs of positive queries that loaded a skill; None without such runs."""
        return _share(self.loaded, self.positive)

    @property
    def precision(self) -> RateEstimate | None:
        """The share of loads that were in runs of positive queries; None without loads."""
        return _share(self.loaded, self.loaded + self.loaded_wrongly)

    @property
    def accuracy(self) -> RateEstimate | None:
        """The share of runs that did what was expected; None without runs."""
        return _share(self.loaded + self.negative - self.loaded_wrongly, self.runs)


def _share(part: int, whole: int) -> RateEstimate | None:
    if not whole:
        return None
    return RateEstimate(rate=part / whole, n=float(whole), interval=wilson(part / whole, whole))


def trigger_rates(results: Iterable[Result]) -> tuple[TriggerRates, ...]:
    """The rates of each suite on each runner, in the order of the results."""
    found: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if result.trigger and result.runner:
            found.setdefault((result.suite.path, result.runner.id), []).append(result)
    return tuple(_rates(suite, runner, own) for (suite, runner), own in found.items())


def _rates(suite: str, runner: str, results: Iterable[Result]) -> TriggerRates:
    counts = [result.trigger for result in results if result.trigger]
    positive = [one for one in counts if one.should_trigger]
    negative = [one for one in counts if not one.should_trigger]
    return TriggerRates(
        suite=suite,
        runner=runner,
        queries=len(counts),
        positive=sum(one.judged for one in positive),
        loaded=sum(one.loaded for one in positive),
        negative=sum(one.judged for one in negative),
        loaded_wrongly=sum(one.loaded for one in negative),
    )
