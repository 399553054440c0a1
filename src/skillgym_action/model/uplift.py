"""What the comparison of two arms says: how much more holds in the arm that decides."""

from __future__ import annotations

from typing import Literal

from skillgym_action.model.records import record

UpliftVerdict = Literal["helps", "hurts", "no-difference-shown", "too-few-cases", "nothing-compared"]


@record
class Spent:
    """A sum over the same cases in both arms, and its ratio; None: unknown for at least one session."""

    deciding: float | None = None
    other: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times as much the deciding arm takes; None: unknown, or the other one takes nothing."""
        if self.deciding is None or not self.other:
            return None
        return self.deciding / self.other


@record
class ArmCase:
    """A case that was judged in both arms, with the mean share of assertions that hold over its sessions, 0 to 1."""

    case_id: str
    deciding: float
    other: float


@record
class ArmAssertion:
    """An assertion of a case, by its name."""

    case_id: str
    assertion: str


@record
class Uplift:
    """The arm that decides, compared with another one, over the cases of a suite on one runner.

    ``cases``: those judged in both arms, of which the following are. ``unjudged``: cases that should have been compared
    and were not judged in both, so that the comparison is incomplete; ``uncompared``: cases that do not run in the
    other arm. ``interval``: of the uplift, in points, with 95% confidence; None below 5 cases. ``fixed``: ids of cases
    that passed in the deciding arm and failed in the other one; ``newly_failing``: the reverse. ``in_both``: assertions
    that hold in all sessions of both arms; ``in_none``: those that hold in none.
    """

    suite: str
    suite_name: str
    runner: str
    arm: str
    other: str
    verdict: UpliftVerdict
    cases: tuple[ArmCase, ...] = ()
    unjudged: tuple[str, ...] = ()
    uncompared: tuple[str, ...] = ()
    interval: tuple[float, float] | None = None
    fixed: tuple[str, ...] = ()
    newly_failing: tuple[str, ...] = ()
    cost_usd: Spent = Spent()
    tokens: Spent = Spent()
    duration_ms: Spent = Spent()
    in_both: tuple[ArmAssertion, ...] = ()
    in_none: tuple[ArmAssertion, ...] = ()

    @property
    def share(self) -> float | None:
        """The mean over cases of the share of assertions that hold in the deciding arm, from 0 to 1."""
        return sum(case.deciding for case in self.cases) / len(self.cases) if self.cases else None

    @property
    def other_share(self) -> float | None:
        """The same of the other arm."""
        return sum(case.other for case in self.cases) / len(self.cases) if self.cases else None

    @property
    def points(self) -> float | None:
        """The uplift in percentage points, from -100 to 100; None if nothing was judged in both arms."""
        if not self.cases:
            return None
        return 100 * sum(case.deciding - case.other for case in self.cases) / len(self.cases)

    @property
    def is_complete(self) -> bool:
        """Whether every case that should have been compared was."""
        return bool(self.cases) and not self.unjudged
