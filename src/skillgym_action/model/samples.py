"""Sessions of results as samples: how many passed of how many that were judged.

A sample is the first judged session of a repetition. A retry after a failure is no sample: it takes place only because
the one before failed, so counting it would raise every rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.model.verdicts import ASSERTIONS_PASSED, JUDGED, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.result import Attempt, Result

MIN_FLAKY_SESSIONS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Samples:
    """``passed`` of ``judged`` sessions; the assertions of a passed one hold, whether that was expected or not."""

    passed: int
    judged: int

    @property
    def rate(self) -> float:
        """The share that passed, from 0 to 1. Raises ZeroDivisionError when nothing was judged."""
        return self.passed / self.judged

    @property
    def is_mixed(self) -> bool:
        """Whether some passed and some did not."""
        return 0 < self.passed < self.judged

    def __add__(self, other: Samples) -> Samples:
        return Samples(passed=self.passed + other.passed, judged=self.judged + other.judged)

    def __str__(self) -> str:
        return f"{self.passed} of {self.judged}"


NO_SAMPLES = Samples(passed=0, judged=0)
ONE_PASSED = Samples(passed=1, judged=1)
ONE_FAILED = Samples(passed=0, judged=1)


def samples_of(result: Result, repetitions: int | None = None) -> Samples:
    """The samples of an execution; of its first ``repetitions`` only, unless that is None.

    Those of a carried result are the ones that it was judged by then.
    """
    if result.carried:
        carried = result.carried.samples[:repetitions]
        return Samples(passed=sum(carried), judged=len(carried))
    if len(result.attempts) == 1:  # most have one: no counting
        (only,) = result.attempts
        if only.status not in JUDGED or (repetitions is not None and only.repetition > repetitions):
            return NO_SAMPLES
        return ONE_PASSED if only.status in ASSERTIONS_PASSED else ONE_FAILED
    first: dict[int, Status] = {}
    for attempt in _judged(result.attempts):
        if repetitions is None or attempt.repetition <= repetitions:
            first.setdefault(attempt.repetition, attempt.status)
    return Samples(passed=sum(status in ASSERTIONS_PASSED for status in first.values()), judged=len(first))


def samples_by_case(results: Iterable[Result], repetitions: int | None = None) -> dict[tuple[str, str], Samples]:
    """The samples of each case, those of all its runners together, by suite path and case id.

    Cases that are expected to fail are left out.
    """
    found: dict[tuple[str, str], Samples] = {}
    sums: dict[tuple[int, int], Samples] = {}  # few differ, and making one takes longer than finding it
    for result in results:
        if not result.expected_fail and result.runner is not None and result.judgement.status is not Status.SKIPPED:
            key = result.suite.path, result.case_id
            own = samples_of(result, repetitions)
            if (before := found.get(key)) is not None:
                passed, judged = before.passed + own.passed, before.judged + own.judged
                own = sums.get((passed, judged)) or Samples(passed=passed, judged=judged)
                sums[passed, judged] = own
            found[key] = own
    return found


def passed_after_failure(result: Result) -> bool:
    """Whether it passed, and a repetition of it only did after a failed session."""
    failed = {attempt.repetition for attempt in result.attempts if attempt.status is Status.FAILED}
    return result.status is Status.PASSED and any(
        attempt.status is Status.PASSED and attempt.repetition in failed for attempt in result.attempts
    )


def is_flaky(result: Result, repetitions: int | None = None) -> bool:
    """Whether its sessions differ: at least 5 with mixed results, or a pass only after a retry."""
    if result.expected_fail or (len(result.attempts) <= 1 and result.carried is None):
        return False
    samples = samples_of(result, repetitions)
    return passed_after_failure(result) or (samples.is_mixed and samples.judged >= MIN_FLAKY_SESSIONS)


def _judged(attempts: Iterable[Attempt]) -> Iterator[Attempt]:
    return (attempt for attempt in attempts if attempt.status in JUDGED)
