"""A run compared with a baseline: samples, the verdict, the rates, which results changed, and what else differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from skillgym_action.model.records import record
from skillgym_action.model.verdicts import ASSERTIONS_PASSED, JUDGED, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.adaptive import Adaptive
    from skillgym_action.model.result import Attempt, Result


RegressionVerdict = Literal["regression", "inconclusive", "no-regression-shown"]


@record
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


@record
class ResultPair:
    """The results of one execution in the baseline and in this run, with the samples that were compared."""

    before: Result
    after: Result
    samples_before: Samples
    samples_after: Samples


@record
class RateChange:
    """The rates over the ``pairs`` that were judged both times; a pair is one case on one runner.

    ``before`` and ``after`` are means over pairs, from 0 to 1. ``p`` is the probability of such drops, or of larger
    ones, if nothing has changed; ``drop_at_most`` is the upper bound of the drop with 95% confidence.
    """

    pairs: int
    before: float
    after: float
    p: float
    drop_at_most: float

    @property
    def drop(self) -> float:
        """How much lower the rate is than in the baseline; negative when it has risen."""
        return self.before - self.after


@record
class Coverage:
    """How much of the baseline was judged again.

    ``judged`` of the ``planned`` sessions, over all executions that the baseline judged: those that are no longer there
    included, redefined ones left out. ``compared`` of the baseline's ``base_pairs`` executions, redefined ones among
    these.
    """

    judged: int
    planned: int
    compared: int
    base_pairs: int

    @property
    def share(self) -> float:
        """The judged share of the planned sessions, from 0 to 1; 0 when nothing was planned."""
        return self.judged / self.planned if self.planned else 0.0


@record
class Difference:
    """Something besides the agent's instructions that differs between baseline and run, such as a model.

    ``subject``: what it is of, such as a runner's id or a suite's path; empty for the whole run. None: unknown.
    """

    what: str
    subject: str
    before: str | None
    after: str | None


@record
class Comparison:
    """What changed since the baseline.

    ``verdict``, and in ``reason`` why it is not a regression, where there is more to say than the rates do. Of the
    executions ``judged`` both times, ``newly_failing`` and ``fixed`` are those that the tests name; ``changed`` have
    another share of passed sessions, which may be chance. ``no_longer_judged`` were judged in the baseline only.
    ``redefined`` have another prompt, other assertions or another expectation, so their results are not compared; nor
    are those of ``added`` and ``removed`` executions. ``rate`` is None when no execution was judged both times.
    ``repetitions``: if not None, only the first so many of each execution were compared, since later ones took place
    or not depending on their results. ``runners``: the number of runners compared. ``differences``: what else could
    explain a change. ``adaptive``: how this run decided with ``repeat: auto``, which is the verdict; None: by all of
    its sessions. ``reused``: the number of results that are those of an earlier run, which are not compared: they are
    no new samples. ``base_name``: what reports call the baseline, such as the name of its branch. ``pairs``: all
    executions judged both times. ``improved``: whether the test for a regression finds one with baseline and run
    exchanged.
    """

    base_id: str
    base_commit: str | None
    verdict: RegressionVerdict
    coverage: Coverage
    reason: str = ""
    newly_failing: tuple[ResultPair, ...] = ()
    fixed: tuple[ResultPair, ...] = ()
    changed: tuple[ResultPair, ...] = ()
    no_longer_judged: tuple[Result, ...] = ()
    redefined: tuple[Result, ...] = ()
    added: tuple[Result, ...] = ()
    removed: tuple[Result, ...] = ()
    judged: tuple[ResultPair, ...] = ()
    rate: RateChange | None = None
    repetitions: int | None = None
    adaptive: Adaptive | None = None
    runners: int = 1
    differences: tuple[Difference, ...] = ()
    reused: int = 0
    base_name: str = "the base"
    pairs: tuple[ResultPair, ...] = ()
    improved: bool = False

    @property
    def has_news(self) -> bool:
        """Whether there is more than what may be chance: a regression, or other executions than in the baseline."""
        lists = (self.newly_failing, self.fixed, self.no_longer_judged, self.redefined, self.added, self.removed)
        return self.verdict == "regression" or any(lists)


MIN_FLAKY_SESSIONS = 5
NO_SAMPLES = Samples(passed=0, judged=0)
ONE_PASSED = Samples(passed=1, judged=1)
ONE_FAILED = Samples(passed=0, judged=1)


def samples_of(result: Result, repetitions: int | None = None) -> Samples:
    """The samples of an execution; of its first ``repetitions`` only, unless that is None.

    Those of a reused result are the ones that it was judged by then.

    A sample is the first judged session of a repetition. A retry after a failure is none: it takes place only because
    the one before failed, so counting it would raise every rate.
    """
    if result.reused:
        reused = result.reused.samples[:repetitions]
        return Samples(passed=sum(reused), judged=len(reused))
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
    if result.expected_fail or (len(result.attempts) <= 1 and result.reused is None):
        return False
    samples = samples_of(result, repetitions)
    return passed_after_failure(result) or (samples.is_mixed and samples.judged >= MIN_FLAKY_SESSIONS)


def _judged(attempts: Iterable[Attempt]) -> Iterator[Attempt]:
    return (attempt for attempt in attempts if attempt.status in JUDGED)
