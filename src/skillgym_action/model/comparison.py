"""A run compared with a baseline: which results changed, and by how much the pass rate changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillgym_action.model.result import Result


MIN_RELEVANT_DROP = 0.02  # share; a smaller drop of the rate is no regression, even if it is significant
SIGNIFICANCE_LEVEL = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultPair:
    """The results of one execution in the baseline and in this run."""

    before: Result
    after: Result


@dataclass(frozen=True, kw_only=True, slots=True)
class RateChange:
    """The change of the pass rate, over the ``cases`` that were judged both times.

    ``before`` and ``after`` are means over cases, from 0 to 1. ``p`` is the probability of such a drop, or of a larger
    one, if nothing has changed; ``drop_at_most`` is the upper bound of the drop with 95 % confidence.
    """

    cases: int
    before: float
    after: float
    p: float
    drop_at_most: float

    @property
    def drop(self) -> float:
        """How much lower the rate is than in the baseline; negative when it has risen."""
        return self.before - self.after

    @property
    def significant(self) -> bool:
        """Whether the drop is statistically significant and large enough to be relevant."""
        return self.p < SIGNIFICANCE_LEVEL and self.drop > MIN_RELEVANT_DROP


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What changed since the baseline.

    ``newly_failing`` failed in this run only, ``fixed`` in the baseline only; an unexpected pass is not a failure.
    ``no_longer_judged`` were judged in the baseline and errored in this run. ``redefined`` have another prompt or other
    assertions, so their results are not compared; nor are those of ``added`` and ``removed`` executions.
    ``collapsed``: those of ``newly_failing`` in which every session passed in the baseline and every session fails
    now. ``paired`` is the number of compared executions. ``rate`` is None when no case was judged both times.
    """

    base_id: str
    base_commit: str | None
    paired: int
    newly_failing: tuple[ResultPair, ...] = ()
    fixed: tuple[ResultPair, ...] = ()
    no_longer_judged: tuple[ResultPair, ...] = ()
    redefined: tuple[ResultPair, ...] = ()
    added: tuple[Result, ...] = ()
    removed: tuple[Result, ...] = ()
    collapsed: tuple[ResultPair, ...] = ()
    rate: RateChange | None = None

    @property
    def changed(self) -> bool:
        """Whether any execution was added, removed or redefined, or has another result."""
        return any((self.newly_failing, self.fixed, self.no_longer_judged, self.redefined, self.added, self.removed))

    @property
    def regressed(self) -> bool:
        """Whether this run is worse than the baseline, beyond what chance explains."""
        return bool(self.collapsed) or (self.rate is not None and self.rate.significant)
