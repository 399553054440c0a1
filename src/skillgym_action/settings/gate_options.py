"""What decides about a run."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_FAIL_ON = frozenset({"failed", "unexpected-passed", "errored", "no-cases"})


@dataclass(frozen=True, kw_only=True, slots=True)
class GateOptions:
    """What fails a run. ``allow_changed_suites``: count results of suites that differ from the base commit.

    ``min_uplift``: points by which the deciding arm has to be better than each other one.

    ``baseline_optional``: without a comparison the word ``regression`` is ignored, and the decision says so.
    """

    fail_on: frozenset[str] = DEFAULT_FAIL_ON
    min_pass_rate: float | None = None
    max_error_rate: float | None = None
    min_uplift: float | None = None
    allow_changed_suites: bool = False
    baseline_optional: bool = False

    @property
    def decides(self) -> bool:
        """Whether anything can keep a run from being green."""
        rates = (self.min_pass_rate, self.max_error_rate, self.min_uplift)
        return bool(self.fail_on) or any(rate is not None for rate in rates)
