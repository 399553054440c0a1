"""What becomes of a session and of an execution: outcomes, judgement, attempts, result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillgym_action.model.session_report import Cost, Usage

if TYPE_CHECKING:
    from skillgym_action.model.errors import Location
    from skillgym_action.model.execution import Runner
    from skillgym_action.model.findings import Finding
    from skillgym_action.model.session_report import Trouble
    from skillgym_action.model.suite import Suite
    from skillgym_action.model.verdicts import FailureClass, Status


@dataclass(frozen=True, kw_only=True, slots=True)
class FollowUp:
    """What the agent can be asked about a failure. ``source`` is where the suite asks it."""

    question: str
    source: Location | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """One assertion's answer on one session. ``passed`` None: it could not tell (then ``trouble`` says which class).

    ``score`` is from 0 to 1, and counts ``weight`` in its case's. ``required``: below that score, or with True below
    the case's threshold, the case scores 0.
    """

    assertion: str
    type: str
    passed: bool | None
    explanation: str
    evidence: str | None = None
    score: float | None = None
    weight: float = 1.0
    required: float | bool = False
    location: Location | None = None
    failure_class: FailureClass | None = None
    trouble: str | None = None
    follow_ups: tuple[FollowUp, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Why an execution did not simply pass. ``name`` is the error's type, ``message`` one paragraph for people."""

    name: str
    message: str
    location: Location | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """Status and reasons of one session. ``score`` and ``threshold``: where its case has one, and it was judged.

    ``cost_usd``: of the judge's answers, in US dollars; None: not known.
    """

    status: Status
    outcomes: tuple[Outcome, ...] = ()
    score: float | None = None
    threshold: float | None = None
    origin: str | None = None
    failure_class: FailureClass | None = None
    failure: Failure | None = None
    reason: str | None = None
    cost_usd: float | None = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One session of an execution."""

    repetition: int
    session: int
    status: Status
    duration_ms: int
    directory: str
    failure_class: FailureClass | None = None
    message: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """An execution's status, reasons, cost. Tokens and time are repetitions' averages; invalid cases have no runner."""

    index: int
    suite: Suite
    case_id: str
    judgement: Judgement
    runner: Runner | None = None
    location: Location | None = None
    tags: tuple[str, ...] = ()
    expected_fail: bool = False
    duration_ms: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: Cost = field(default_factory=Cost)
    model: str | None = None
    version: str | None = None
    attempts: tuple[Attempt, ...] = ()
    directory: str | None = None
    prompt: str | None = None
    final_output: str | None = None
    session_id: str | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def status(self) -> Status:
        """The judgement's status."""
        return self.judgement.status

    @property
    def score(self) -> float | None:
        """The judgement's score."""
        return self.judgement.score


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionResult:
    """What one session came to. ``result`` is that of its execution, if no other session follows.

    ``agent_cost`` is the agent's part of its cost. ``trouble`` stands beside it, since retries depend on it.
    """

    result: Result
    agent_cost: Cost
    trouble: Trouble | None = None

    @property
    def attempt(self) -> Attempt:
        """The session, as results list it."""
        return self.result.attempts[-1]

    @property
    def judgement(self) -> Judgement:
        """On this session."""
        return self.result.judgement
