"""The nouns, in the order they come into being: suite, case, runner, execution, result, run report, decision.

Frozen and keyword-only; sequences are tuples. Totals are methods, never stored twice.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from skillgym_action.session_report import Cost, Usage
from skillgym_action.verdicts import GREEN, JUDGED, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from skillgym_action.assertions import Assertion
    from skillgym_action.comparison import Comparison
    from skillgym_action.errors import Location, Problem
    from skillgym_action.links import Links
    from skillgym_action.session import AgentConfig
    from skillgym_action.verdicts import FailureClass


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
    ``source`` ``repository`` copies the checkout, ``template`` copies ``template``, ``empty`` starts empty.
    """

    mode: Literal["none", "shared", "isolated"] = "isolated"
    source: Literal["empty", "template", "repository"] = "repository"
    template: Path | None = None
    cwd: Path | None = None
    bootstrap: Bootstrap | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A prompt, its assertions, its own settings. ``timeout`` in seconds, ``budget`` in US dollars; None: not given."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Invalid:
    """A case, or a whole suite where ``case_id`` is None, that cannot be used: reported as errored, never dropped."""

    problem: Problem
    case_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """Cases plus what they share. ``path`` is relative to the repository root; ``file`` absolute."""

    path: str
    file: Path
    name: str
    format: str
    cases: tuple[Case, ...] = ()
    invalid: tuple[Invalid, ...] = ()
    workspace: WorkspaceSpec = field(default_factory=WorkspaceSpec)
    warnings: tuple[Problem, ...] = ()
    default_timeout: float | None = None
    digest: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Runner:
    """A configured agent. ``path_key`` is its id as one path segment."""

    id: str
    path_key: str
    agent: AgentConfig


@dataclass(frozen=True, kw_only=True, slots=True)
class Execution:
    """One case on one runner. ``directory`` is its artifact folder, relative to the run directory."""

    index: int
    suite: Suite
    case: Case
    runner: Runner
    directory: str
    timeout: float
    budget: float | None
    model: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Unrunnable:
    """An entry of the plan that becomes a result without an agent: an invalid case or suite."""

    index: int
    suite: Suite
    invalid: Invalid


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """One assertion's answer on one session. ``passed`` None: it could not tell (then ``trouble`` says which class)."""

    assertion: str
    type: str
    passed: bool | None
    explanation: str
    evidence: str | None = None
    score: float | None = None
    location: Location | None = None
    failure_class: FailureClass | None = None
    trouble: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Why an execution did not simply pass. ``name`` is the error's type, ``message`` one paragraph for people."""

    name: str
    message: str
    location: Location | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """Status and reasons of one session."""

    status: Status
    outcomes: tuple[Outcome, ...] = ()
    origin: str | None = None
    failure_class: FailureClass | None = None
    failure: Failure | None = None
    reason: str | None = None


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
    """An execution's status, reasons, cost. Tokens and time are averages over repetitions.

    ``runner`` is None for invalid cases.
    """

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

    @property
    def status(self) -> Status:
        """The judgement's status."""
        return self.judgement.status


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """Sums over results. ``cost_usd`` is the known part; ``cost_complete`` tells whether that is all of it."""

    executions: int
    counts: Counter[Status]
    cost_usd: float | None
    cost_complete: bool
    tokens: Usage
    retries: int
    duration_ms: int

    @property
    def judged(self) -> int:
        """Executions with a verdict: infrastructure failures and skipped ones never enter a rate."""
        return sum(self.counts[status] for status in JUDGED)

    @property
    def green(self) -> int:
        """Passed and expected-failed ones."""
        return sum(self.counts[status] for status in GREEN)

    @property
    def pass_rate(self) -> float | None:
        """Green share of the judged; None when nothing was judged."""
        return self.green / self.judged if self.judged else None


def totals(results: Iterable[Result]) -> Totals:
    """Sums over ``results``."""
    counts: Counter[Status] = Counter()
    sums: Counter[str] = Counter()
    known: list[float] = []
    complete, retries, duration = True, 0, 0
    for result in results:
        counts[result.status] += 1
        duration += result.duration_ms
        retries += sum(attempt.session > 1 for attempt in result.attempts)
        if result.cost.usd is not None:
            known.append(result.cost.usd)
        elif result.attempts:
            complete = False
        for name in ("input_tokens", "output_tokens", "reasoning_tokens", "cache_tokens", "total_tokens"):
            if (value := getattr(result.usage, name)) is not None:
                sums[name] += value
    return Totals(
        executions=counts.total(),
        counts=counts,
        cost_usd=sum(known) if known else None,
        cost_complete=complete,
        tokens=Usage(**sums),
        retries=retries,
        duration_ms=duration,
    )


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
