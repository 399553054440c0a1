"""Results that are carried: taken from the store of earlier results in place of sessions of this run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Carried:
    """Where a carried result is from: the run of ``commit`` that began ``at`` (ISO 8601, in UTC).

    ``samples``: whether each of its judged repetitions passed, in their order. ``link``: of that run; None: it has
    none. ``cost_usd``: what its sessions cost then, in US dollars; None: unknown.
    """

    commit: str
    at: str
    samples: tuple[bool, ...]
    link: str | None = None
    cost_usd: float | None = None
