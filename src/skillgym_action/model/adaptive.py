"""How a run with ``repeat: auto`` decided: its mode, every look at its sessions, and what the check found."""

from __future__ import annotations

from typing import Literal

from skillgym_action.model.records import record

Mode = Literal["screen", "side-by-side", "stored"]
RegressionCheck = Literal["cleared", "not-confirmed", "confirmed", "side-by-side", "not-checked", "undecided"]
Phase = Literal["screen", "side-by-side"]
LookPhase = Literal["screen", "cases", "suite", "stored"]
LookOutcome = Literal["clear", "suspect", "go-on", "red", "not-confirmed"]

CONTROL_ARM = "base"  # the arm of the sessions with the files of the base commit
OF_BASE_COMMIT = "the base commit"  # begins the id of a baseline that consists of these sessions
NOTHING_DIFFERS = "nothing that agents see differs from the base commit"
RED: tuple[RegressionCheck, ...] = ("confirmed", "side-by-side", "not-checked")
WORST_FIRST: tuple[RegressionCheck, ...] = (*RED, "undecided", "not-confirmed", "cleared")


@record
class RegressionLook:
    """One look at the sessions of a phase, after so many complete rounds of ``pairs`` pairs.

    ``level``: what ``p`` has to reach for a regression; None: no regression is called at this look.
    """

    phase: LookPhase
    round: int
    pairs: int
    p: float
    level: float | None
    outcome: LookOutcome


@record
class SessionCounts:
    """Sessions that were held: those of the screen, those of both sides; ``most``: how many there could have been."""

    screen: int = 0
    control: int = 0
    head: int = 0
    most: int = 0

    @property
    def all(self) -> int:
        """The number of all sessions of pairs."""
        return self.screen + self.control + self.head

    def __add__(self, other: SessionCounts) -> SessionCounts:
        return SessionCounts(
            screen=self.screen + other.screen,
            control=self.control + other.control,
            head=self.head + other.head,
            most=self.most + other.most,
        )


@record
class SideCounts:
    """Passed and judged sessions of the control and of the head, of one pair or of several."""

    control_passed: int
    control_judged: int
    head_passed: int
    head_judged: int

    @property
    def shares(self) -> tuple[float, float]:
        """The shares that passed, of the control and of the head; 0 where nothing was judged."""
        return (
            self.control_passed / self.control_judged if self.control_judged else 0.0,
            self.head_passed / self.head_judged if self.head_judged else 0.0,
        )


@record
class CheckedPair:
    """One case on one runner. ``beside``: its sessions side by side; None: there were none."""

    suite: str
    case_id: str
    runner_id: str
    beside: SideCounts | None = None


@record
class Control:
    """What the head was run beside: the id of the base commit."""

    commit: str


@record
class Adaptive:
    """The decision of a run with ``repeat: auto``. ``why``: the reason of the mode or of an undecided check.

    ``control``: None: there was none. ``suspects``: pairs that were checked alone; ``suite``: whether all pairs were in
    question; ``named``: those that are worse. ``beside``: all sessions of the last phase side by side.
    ``against``: the ``identity_of`` the baseline that the user named; empty: the base was the store or a commit.
    """

    mode: Mode
    why: str
    check: RegressionCheck
    control: Control | None
    suspects: tuple[CheckedPair, ...]
    suite: bool
    sessions: SessionCounts
    looks: tuple[RegressionLook, ...]
    named: tuple[CheckedPair, ...] = ()
    beside: SideCounts | None = None
    against: str = ""

    @property
    def nothing_differs(self) -> bool:
        """Whether no session of the base commit ran, since agents see nothing there that differs."""
        return self.why == NOTHING_DIFFERS
