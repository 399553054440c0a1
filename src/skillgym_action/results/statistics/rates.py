"""Rates over cases with their 95% intervals, pass@k and pass^k, also of trigger queries. The case is the unit.

Two intervals answer two questions: what the rate would be for other cases like these, and what it would be if the same
cases were run again. Formulas: Wilson (1927), with Kish's effective sample size (1965).
"""

from __future__ import annotations

from math import comb, fsum, sqrt
from typing import TYPE_CHECKING

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from skillgym_action.model.comparison import Samples
    from skillgym_action.model.result import Result

Interval = tuple[float, float]
TWO_SIDED = 1.959963984540054  # standard normal deviate, 95% between it and its negative
ONE_SIDED = 1.6448536269514722  # 95% below it
MIN_CASES = 5  # for an interval about other cases
MIN_CASES_OF_K = 10  # for an interval of pass@k and pass^k
MIN_CASE_SESSIONS = 5  # for the interval of one case
_TOLERANCE = 1e-12  # of sums of squares that are zero but for rounding


@record
class RateEstimate:
    """A mean over cases with an interval, both from 0 to 1. ``n``: the effective number of samples.

    The case is the unit, its sessions are samples.
    """

    rate: float
    n: float
    interval: Interval


def mean(values: Sequence[float]) -> float:
    """The mean of at least one value."""
    return fsum(values) / len(values)


def wilson(rate: float, n: float, z: float = TWO_SIDED) -> Interval:
    """The Wilson interval of a rate over n > 0 samples, which need not be a whole number."""
    spread = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    centre, scale = rate + z * z / (2 * n), 1 + z * z / n
    low = max(0.0, (centre - spread) / scale) if rate > 0 else 0.0  # not a rounding error more
    high = min(1.0, (centre + spread) / scale) if rate < 1 else 1.0
    return low, high


def case_interval(samples: Samples) -> Interval | None:
    """The interval of one case's rate; None below 5 sessions, where it says nothing."""
    return wilson(samples.rate, samples.judged) if samples.judged >= MIN_CASE_SESSIONS else None


def population_rate(cases: Sequence[Samples]) -> RateEstimate:
    """The rate for cases like these: the interval covers the choice of cases, too. At least one case, each sampled."""
    return _over_cases([case.rate for case in cases], sum(case.judged for case in cases))


def same_cases_rate(cases: Sequence[Samples], z: float = TWO_SIDED) -> RateEstimate:
    """The rate of these cases if they were run again. At least one case, each sampled."""
    rate, whole = mean([case.rate for case in cases]), sum(case.judged for case in cases)
    spread = rate * (1 - rate)
    weights = (spread if case.judged == 1 else case.rate * (1 - case.rate) / (case.judged - 1) for case in cases)
    variance = sum(weights) / len(cases) ** 2
    n = max(spread / variance, whole) if variance > 0 else float(whole)
    return RateEstimate(rate=rate, n=n, interval=wilson(rate, n, z))


def _over_cases(values: Sequence[float], most: float) -> RateEstimate:
    """The mean of cases' values, each from 0 to 1; ``most``: the number of samples if cases did not differ."""
    cases, rate = len(values), mean(values)
    spread = rate * (1 - rate)
    if cases == 1:
        n = 1.0
    elif spread <= _TOLERANCE:
        n = float(cases)
    else:
        n = cases * cases * spread / (sum((value - rate) ** 2 for value in values) + spread)
        n = min(max(n, cases), max(most, cases))
    return RateEstimate(rate=rate, n=n, interval=wilson(rate, n))


# --- pass@k and pass^k --------------------------------------------------------------------------------


def pass_at_k(passed: int, n: int, k: int) -> float | None:
    """The probability that at least one of k samples passes (Chen et al., arXiv 2107.03374); None for n < k."""
    return None if n < k else 1 - comb(n - passed, k) / comb(n, k)


def pass_hat_k(passed: int, n: int, k: int) -> float | None:
    """The probability that all of k samples pass (Yao et al., arXiv 2406.12045); None for n < k."""
    return None if n < k else comb(passed, k) / comb(n, k)


def mean_pass_at_k(cases: Sequence[Samples], k: int) -> RateEstimate | None:
    """The mean of pass@k over cases; None if a case has fewer than k sessions, or there is none."""
    return _mean_of_k(cases, k, pass_at_k)


def mean_pass_hat_k(cases: Sequence[Samples], k: int) -> RateEstimate | None:
    """The mean of pass^k over cases; None if a case has fewer than k sessions, or there is none."""
    return _mean_of_k(cases, k, pass_hat_k)


def _mean_of_k(
    cases: Sequence[Samples], k: int, of_case: Callable[[int, int, int], float | None]
) -> RateEstimate | None:
    values = [of_case(case.passed, case.judged, k) for case in cases]
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return _over_cases(known, sum(case.judged // k for case in cases))


@record
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


def format_probability(p: float) -> str:
    """``p = 0.031``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"  # noqa: PLR2004
