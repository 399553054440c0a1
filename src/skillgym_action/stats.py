"""Statistics of repeated runs, in the standard library alone. What is not defined is None."""

from __future__ import annotations

from math import comb, sqrt

_Z = 1.959963984540054  # two-sided 95 %


def wilson(passes: int, n: int) -> tuple[float, float] | None:
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
