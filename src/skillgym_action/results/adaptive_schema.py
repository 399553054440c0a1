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
    """Sessions of the base commit that passed."""
    control_judged: Count
    """Sessions of the base commit that were judged."""
    head_passed: Count
    """Sessions of this run that passed."""
    head_judged: Count
    """Sessions of this run that were judged."""


class CheckedPairEntry(MappedModel):
    """A case on a runner that was checked."""

    noun: ClassVar = CheckedPair

    suite: Id
    """Path of the suite."""
    case_id: Id
    """ID of the case."""
    runner_id: Id
    """ID of the runner."""
    beside: SideCountsEntry | None = None
    """Its sessions beside those of the base commit."""


class LookEntry(MappedModel):
    """One look at complete rounds."""

    noun: ClassVar = RegressionLook

    phase: LookPhase
    """`screen`: all executions against the store. `cases`: suspicious executions alone. `suite`: all executions beside
    the base commit. `stored`: all executions against the store, without a check side by side."""
    round: Annotated[int, Field(ge=1, le=10**3)]
    """Number of complete rounds of the phase."""
    pairs: Count
    """Number of executions that the look includes."""
    p: Annotated[float, Field(ge=0, le=1)]
    """Probability of results as bad as these, or worse, if nothing has changed."""
    level: Annotated[float, Field(ge=0, le=1)] | None
    """The value that `p` must not exceed for a regression; `null`: this look cannot find a regression."""
    outcome: LookOutcome
    """Result of the look."""


class SessionCountsEntry(MappedModel):
    """Numbers of sessions."""

    noun: ClassVar = SessionCounts

    screen: Count
    """Sessions that were compared with the store."""
    control: Count
    """Sessions of the base commit."""
    head: Count
    """Sessions of this run beside those of the base commit."""
    most: Count
    """Maximum number of all these sessions."""


class ControlEntry(MappedModel):
    """The base commit that the run was held beside."""

    noun: ClassVar = Control

    commit: Annotated[str, Field(pattern=COMMIT)]
    """SHA of the base commit."""


class AdaptiveEntry(MappedModel):
    """How a run with ``repeat: auto`` decided."""

    noun: ClassVar = Adaptive

    mode: Mode
    """`screen`: comparison with the store first, and a check side by side before a regression. `side-by-side`: the base
    commit beside the head from the start. `stored`: comparison with the store alone."""
    why: Text
    """Reason for the mode or for an undecided check; may be empty."""
    check: RegressionCheck
    """`cleared`: nothing is suspicious. `not-confirmed`: the base commit does no better. `confirmed` and
    `side-by-side`: a regression beside the base commit. `not-checked`: a regression against the store alone.
    `undecided`: the check was not finished."""
    control: ControlEntry | None
    """The base commit whose files were used for the sessions of the arm `base`."""
    suspects: Several[CheckedPairEntry]
    """Executions that were checked alone."""
    suite: bool
    """Whether all executions together were in question."""
    sessions: SessionCountsEntry
    """Numbers of sessions of the compared executions."""
    looks: Several[LookEntry]
    """All looks, in their order."""
    named: Several[CheckedPairEntry] = ()
    """Executions that are worse."""
    beside: SideCountsEntry | None = None
    """Sessions of the last phase in which base commit and head took turns."""
    against: Text = ""
    """ID and start of the run that `--baseline` named; empty: the store or a commit. Against any other baseline, the
    decision does not count."""
