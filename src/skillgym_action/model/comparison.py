"""A run compared with a baseline: the verdict, the rates, which results changed, and what else differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from skillgym_action.model.result import Result
    from skillgym_action.model.samples import Samples


RegressionVerdict = Literal["regression", "inconclusive", "no-regression-shown"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultPair:
    """The results of one execution in the baseline and in this run, with the samples that were compared."""

    before: Result
    after: Result
    samples_before: Samples
    samples_after: Samples


@dataclass(frozen=True, kw_only=True, slots=True)
class RateChange:
    """The rates over the ``pairs`` that were judged both times; a pair is one case on one runner.

    ``before`` and ``after`` are means over pairs, from 0 to 1. ``p`` is the probability of such drops, or of larger
    ones, if nothing has changed; ``drop_at_most`` is the upper bound of the drop with 95 % confidence.
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


@dataclass(frozen=True, kw_only=True, slots=True)
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """Something besides the agent's instructions that differs between baseline and run, such as a model.

    ``subject``: what it is of, such as a runner's id or a suite's path; empty for the whole run. None: unknown.
    """

    what: str
    subject: str
    before: str | None
    after: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What changed since the baseline.

    ``verdict``, and in ``reason`` why it is not a regression, where there is more to say than the rates do. Of the
    executions judged both times, ``newly_failing`` and ``fixed`` are those that the tests name; ``changed`` have
    another share of passed sessions, which may be chance. ``no_longer_judged`` were judged in the baseline only.
    ``redefined`` have another prompt, other assertions or another expectation, so their results are not compared; nor
    are those of ``added`` and ``removed`` executions. ``rate`` is None when no execution was judged both times.
    ``repetitions``: if not None, only the first so many of each execution were compared, since later ones took place
    or not depending on their results. ``runners``: the number of runners compared. ``differences``: what else could
    explain a change. ``stopped_for_futility``: whether this run was, so that only a part of its sessions is compared,
    it is never a regression, and nothing is named. ``carried``: the number of results that are those of an earlier run,
    which are not compared: they are no new samples.
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
    rate: RateChange | None = None
    repetitions: int | None = None
    stopped_for_futility: bool = False
    runners: int = 1
    differences: tuple[Difference, ...] = ()
    carried: int = 0

    @property
    def has_news(self) -> bool:
        """Whether there is more than what may be chance: a regression, or other executions than in the baseline."""
        lists = (self.newly_failing, self.fixed, self.no_longer_judged, self.redefined, self.added, self.removed)
        return self.verdict == "regression" or any(lists)
