"""Statistics of repeated and of paired runs, in the standard library alone. What is not defined is None."""

from __future__ import annotations

from collections import Counter
from math import comb, exp, fsum, lgamma, log, sqrt
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_Z = 1.959963984540054  # two-sided 95 %
_Z_ONE_SIDED = 1.6448536269514722  # one-sided 95 %
_DRAWS = 9_999
_SEED = 20_250_102  # any, but always the same: the same runs give the same report
_TOLERANCE = 1e-9


def wilson_interval(passes: int, n: int) -> tuple[float, float] | None:
    """The 95 % interval of a rate (Wilson 1927); None for n = 0."""
    if n <= 0:
        return None
    rate = passes / n
    spread = _Z * sqrt(rate * (1 - rate) / n + _Z * _Z / (4 * n * n))
    centre, scale = rate + _Z * _Z / (2 * n), 1 + _Z * _Z / n
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def pass_at_k(passes: int, n: int, k: int) -> float | None:
    """The chance that at least one of k samples passes (Chen et al., arXiv 2107.03374); None for n < k."""
    return None if n < k else 1 - comb(n - passes, k) / comb(n, k)


def pass_hat_k(passes: int, n: int, k: int) -> float | None:
    """The chance that all of k samples pass (Yao et al., arXiv 2406.12045); None for n < k."""
    return None if n < k else comb(passes, k) / comb(n, k)


# --- pairs ------------------------------------------------------------------------------------------


def mcnemar_p(newly_failing: int, fixed: int) -> float:
    """The chance that so many, or more, of the changed pairs broke if a pair breaks as easily as it mends.

    McNemar's test (1947), exact and one-sided.
    """
    n = newly_failing + fixed
    logs = (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * log(2) for k in range(newly_failing, n + 1))
    return min(1.0, fsum(map(exp, logs)))


def sign_flip_p(drops: Sequence[float]) -> float:
    """The chance of so large a sum, or a larger one, if each of ``drops`` were as likely a rise.

    A permutation test, one-sided, of random draws from a fixed seed. Equal sizes are drawn together: how many of them
    are drops is the number of ones among as many random bits.
    """
    rounded = [round(drop, 9) for drop in drops]
    observed, sizes = fsum(rounded), Counter(abs(drop) for drop in rounded if drop)
    random = Random(_SEED)  # noqa: S311 - nothing is kept secret by it
    reached = 0
    for _ in range(_DRAWS):
        total = sum(size * (2 * random.getrandbits(count).bit_count() - count) for size, count in sizes.items())
        reached += total >= observed - _TOLERANCE
    return (reached + 1) / (_DRAWS + 1)


def largest_drop(newly_failing: float, fixed: float, n: int) -> float:
    """The upper end of the one-sided 95 % interval of the drop of a rate over n > 0 pairs (Tango 1998).

    ``newly_failing`` and ``fixed`` are sums of the pairs' changes. Where these are fractions the interval is too wide,
    never too narrow.
    """
    low, high = (newly_failing - fixed) / n, 1.0
    while high - low > _TOLERANCE:
        middle = (low + high) / 2
        if _deviation(newly_failing, fixed, n, middle) < _Z_ONE_SIDED:
            low = middle
        else:
            high = middle
    return max(0.0, high)


def _deviation(newly_failing: float, fixed: float, n: int, drop: float) -> float:
    """By how many standard errors the observed drop is below ``drop``, were that the true one."""
    b = (2 * n - newly_failing + fixed) * drop - newly_failing - fixed
    share_fixed = (sqrt(b * b + 8 * n * fixed * drop * (1 - drop)) - b) / (4 * n)
    variance = n * (2 * share_fixed + drop * (1 - drop))
    return (n * drop - newly_failing + fixed) / sqrt(variance) if variance > 0 else float("inf")
