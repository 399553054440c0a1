"""The nouns, in the order they come into being; sequences are tuples, totals are methods, never stored twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from skillgym_action.hooks import NO_HOOKS, Hooks
from skillgym_action.session_report import Cost, Usage
from skillgym_action.totals import totals

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skillgym_action.assertions import Assertion
    from skillgym_action.comparison import Comparison
    from skillgym_action.errors import Location, Problem
    from skillgym_action.findings import Finding
    from skillgym_action.links import Links
    from skillgym_action.resource_limits import ResourceLimits
    from skillgym_action.session import AgentConfig
    from skillgym_action.session_report import Trouble
    from skillgym_action.totals import Totals
    from skillgym_action.verdicts import FailureClass, Status


@dataclass(frozen=True, kw_only=True, slots=True)
class Bootstrap:
    """A command run in a workspace before the agent starts. ``timeout`` is in seconds."""

    argv: tuple[str, ...]
    timeout: float = 300.0
    env: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceSpec:
    """Where the agents of a suite work.

    mode ``none``: in ``cwd``; ``shared``: one directory per suite; ``isolated``: a fresh one per session.
    ``source`` ``repository`` copies the checkout, ``template`` copies ``template``, ``directory`` copies ``cwd`` or
    else the checkout's folder with all that is in it, ``empty`` starts empty.
    ``judged_last``: assertions see what ``after_each`` left, not what the agent did. ``limits`` lower the run's.
    """

    mode: Literal["none", "shared", "isolated"] = "isolated"
    source: Literal["empty", "template", "repository", "directory"] = "repository"
    template: Path | None = None
    cwd: Path | None = None
    bootstrap: Bootstrap | None = None
    hooks: Hooks = NO_HOOKS
    judged_last: bool = False
    limits: ResourceLimits | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A prompt, its assertions, its own settings. ``timeout`` in seconds, ``budget`` in US dollars; None: not given.

    ``files`` go with the prompt; ``workspace`` replaces the suite's; ``retries`` are sessions after a failure.
    ``depends_on``: ids of cases that have to be green before, else it is done as ``unmet`` says.
    ``threshold``: the score it needs, from 0 to 1; None: every assertion has to hold.
    """

    id: str
    prompt: str
    location: Location
    assertions: tuple[Assertion, ...]
    tags: tuple[str, ...] = ()
    timeout: float | None = None
    budget: float | None = None
    model: str | None = None
    expected_fail: bool = False
    classify: bool = False
    runners: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    metadata: object = None
    workspace: WorkspaceSpec | None = None
    retries: int = 0
    depends_on: tuple[str, ...] = ()
    unmet: Literal["skip", "fail", "run"] = "skip"
    threshold: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Invalid:
    """A case, or a whole suite where ``case_id`` is None, that cannot be used: reported as errored, never dropped."""

    problem: Problem
    case_id: str | None = None


SuiteChange = Literal["differs", "added", "unidentified", "not-compared"]
"""Why a suite of stored results is not one of the base commit: another digest, no such suite there, no digest in the
results, or no base commit to compare with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """Cases plus what they share. ``path`` is relative to the repository root; ``file`` absolute.

    ``runners`` are its own, in place of the run's; ``budget``: US dollars its sessions on one runner may spend.
    ``hidden``: what else is left out of copies of the repository. ``digest``: of ``file`` and what is hidden.
    ``changed``: set where stored results were compared with the suites of a base commit.
    """

    path: str
    file: Path
    name: str
    format: str
    cases: tuple[Case, ...] = ()
    invalid: tuple[Invalid, ...] = ()
    workspace: WorkspaceSpec = field(default_factory=WorkspaceSpec)
    warnings: tuple[Problem, ...] = ()
    default_timeout: float | None = None
    runners: tuple[Runner, ...] = ()
    budget: float | None = None
    hidden: tuple[str, ...] = ()
    digest: str | None = None
    changed: SuiteChange | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Runner:
    """A configured agent. ``path_key``: its id as one path segment; ``problem``: why it cannot be used.

    ``trouble``: what its executions end in because its program is not there.
    """

    id: str
    path_key: str
    agent: AgentConfig
    hooks: Hooks = NO_HOOKS
    problem: Problem | None = None
    trouble: Trouble | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Execution:
    """One case on one runner. ``directory``: its folder in the run directory; ``limits``: those of its sessions."""

    index: int
    suite: Suite
    case: Case
    runner: Runner
    directory: str
    timeout: float
    budget: float | None
    model: str | None
    limits: ResourceLimits | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Unrunnable:
    """An entry of the plan that becomes a result without an agent: an invalid case or suite."""

    index: int
    suite: Suite
    invalid: Invalid


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
class SuitesFrom:
    """The folder that suites and the configuration of a run were read from, where that is not the checkout itself.

    ``folder`` as the user calls it; ``commit``: where it is known. Suites of the checkout by path: ``added`` are not in
    the folder and were not run; of ``changed`` and ``removed`` the folder's were run.
    """

    folder: str
    commit: str | None = None
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    configuration_differs: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RunReport:
    """A whole run, in plan order. Times are ISO 8601 in UTC; ``incomplete`` says what should be in it and is not."""

    id: str
    version: str
    command: str
    started_at: str
    ended_at: str
    duration_ms: int
    results: tuple[Result, ...]
    suites: tuple[Suite, ...]
    runners: tuple[Runner, ...]
    warnings: tuple[Problem, ...] = ()
    cancelled: bool = False
    commit: str | None = None
    shard: str | None = None
    incomplete: tuple[str, ...] = ()
    suites_from: SuitesFrom | None = None
    links: Links | None = None
    comparison: Comparison | None = None
    decision: Decision | None = None

    def totals(self, where: Callable[[Result], bool] = lambda _: True) -> Totals:
        """Sums over the results that ``where`` accepts."""
        return totals(result for result in self.results if where(result))


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """Green or red, and why in words. One decision feeds console, reports, step outputs and exit code."""

    verdict: Literal["passed", "failed", "inconclusive"]
    exit_code: int
    reasons: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the job is green."""
        return self.exit_code == 0
