"""How a run with ``repeat: auto`` decided, as ``results.json`` has it."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from skillgym_action.model.adaptive import (
    Adaptive,
    CheckedPair,
    Control,
    LookOutcome,
    LookPhase,
    Mode,
    RegressionCheck,
    RegressionLook,
    SessionCounts,
    SideCounts,
)
from skillgym_action.results.mapping import COMMIT, Count, Id, MappedModel, Several, Text


class SideCountsEntry(MappedModel):
    """Sessions of the base commit (the control) and of this run that took turns."""

    noun: ClassVar = SideCounts

    control_passed: Count
    control_judged: Count
    head_passed: Count
    head_judged: Count


class CheckedPairEntry(MappedModel):
    """A case on a runner that was checked; ``beside``: its sessions beside those of the base commit."""

    noun: ClassVar = CheckedPair

    suite: Id
    case_id: Id
    runner_id: Id
    beside: SideCountsEntry | None = None


class LookEntry(MappedModel):
    """One look at complete rounds. ``level``: what ``p`` has to reach for a regression; null: none is called here."""

    noun: ClassVar = RegressionLook

    phase: LookPhase
    round: Annotated[int, Field(ge=1, le=10**3)]
    pairs: Count
    p: Annotated[float, Field(ge=0, le=1)]
    level: Annotated[float, Field(ge=0, le=1)] | None
    outcome: LookOutcome


class SessionCountsEntry(MappedModel):
    """Sessions of the pairs: of the screen, of the control and of the head beside it; ``most``: possible ones."""

    noun: ClassVar = SessionCounts

    screen: Count
    control: Count
    head: Count
    most: Count


class ControlEntry(MappedModel):
    """The base commit that the run was held beside."""

    noun: ClassVar = Control

    commit: Annotated[str, Field(pattern=COMMIT)]


class AdaptiveEntry(MappedModel):
    """How a run with ``repeat: auto`` decided. ``suspects``: pairs that were checked alone; ``suite``: all were."""

    noun: ClassVar = Adaptive

    mode: Mode
    why: Text
    check: RegressionCheck
    control: ControlEntry | None
    suspects: Several[CheckedPairEntry]
    suite: bool
    sessions: SessionCountsEntry
    looks: Several[LookEntry]
    named: Several[CheckedPairEntry] = ()
    beside: SideCountsEntry | None = None
