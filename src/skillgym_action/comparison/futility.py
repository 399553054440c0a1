"""The futility stop: after a first stage, only executions that may be worse are continued."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.comparison.comparison import judged_pairs
from skillgym_action.comparison.exact_tests import SampledPair
from skillgym_action.comparison.planning import first_stage, must_complete, pairs_to_continue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport


@dataclass(frozen=True, kw_only=True, slots=True)
class FutilityRule:
    """When a run against ``base``, planned with so many ``repetitions``, may be stopped.

    Stages: the first repetitions of all executions; all repetitions of those ``to_continue``; all repetitions of all,
    if it ``must_complete``. Of a resumed run, results may have more repetitions than a stage has; those do not count.
    """

    base: RunReport
    repetitions: int

    @property
    def first_repetitions(self) -> int:
        """How many repetitions of each execution the first stage has."""
        return first_stage(self.repetitions)

    def to_continue(self, results: Iterable[Result]) -> frozenset[int]:
        """After the first stage: indexes of the results whose executions need all repetitions."""
        pairs = judged_pairs(self.base, results, self.first_repetitions)
        sampled = [SampledPair(pair.samples_before, pair.samples_after) for pair in pairs]
        return frozenset(pairs[index].after.index for index in pairs_to_continue(sampled, self.repetitions))

    def must_complete(self, results: Iterable[Result], continued: frozenset[int]) -> bool:
        """Once those ``continued`` have all repetitions: whether all others need them, too."""
        pairs = judged_pairs(self.base, results)
        own = [pair for pair in pairs if pair.after.index in continued]
        if len(own) == len(pairs):
            return bool(pairs)
        return must_complete([SampledPair(pair.samples_before, pair.samples_after) for pair in own])
