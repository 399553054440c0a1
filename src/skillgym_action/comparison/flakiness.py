"""Whether the sessions of one execution in several runs are flaky, or show that something changed at some time.

A sample of one run is of one commit. Between runs the repository may have changed, also where everything that is known
of the execution is equal, so that sessions of several runs may differ because it broke or was repaired.
"""

from __future__ import annotations

from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

from skillgym_action.comparison.exact_tests import SampledPair, case_p
from skillgym_action.model.samples import MIN_FLAKY_SESSIONS, Samples

if TYPE_CHECKING:
    from collections.abc import Sequence

MIN_FLAKY_RUNS = 3
MIN_FLAKY_CHANGES = 3  # between runs, of which none has both: what broke and was repaired has changed twice
CHANGED_P = 0.05


class Flakiness(Enum):
    """What the sessions of an execution show. STEADY: all passed, or all failed; FEW: too few sessions or runs."""

    STEADY = "steady"
    FEW = "few"
    CHANGED = "changed"
    FLAKY = "flaky"


def flakiness(runs: Sequence[Sequence[bool]]) -> Flakiness:
    """What the sessions of runs show: for each run, the oldest first, whether each of its sessions passed.

    FLAKY, if there are at least 5 sessions in at least 3 runs, and nothing speaks for a change at some time: passed and
    failed follow each other more than once, and in one and the same run or at least three times from run to run; both
    are among the newer half of the sessions; and Fisher's exact test does not tell the halves apart.
    """
    runs = [run for run in runs if run]
    sessions = [passed for run in runs for passed in run]
    if len(set(sessions)) < 2:  # noqa: PLR2004 - passed and failed
        return Flakiness.STEADY
    if len(sessions) < MIN_FLAKY_SESSIONS or len(runs) < MIN_FLAKY_RUNS:
        return Flakiness.FEW
    older, newer = sessions[: len(sessions) // 2], sessions[len(sessions) // 2 :]
    halves = SampledPair(_samples(older), _samples(newer))
    if len(set(newer)) < 2 or min(case_p(halves), case_p(halves.exchanged)) <= CHANGED_P:  # noqa: PLR2004
        return Flakiness.CHANGED
    changes = _changes(sessions)
    mixed = any(len(set(run)) > 1 for run in runs)
    return Flakiness.FLAKY if changes > 1 and (mixed or changes >= MIN_FLAKY_CHANGES) else Flakiness.CHANGED


def _samples(sessions: Sequence[bool]) -> Samples:
    return Samples(passed=sum(sessions), judged=len(sessions))


def _changes(sessions: Sequence[bool]) -> int:
    return sum(before != after for before, after in pairwise(sessions))
