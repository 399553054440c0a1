"""Results: outcomes of assertions, the judgement on a session, the result of an execution."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_FINDINGS
from skillgym_action.model.session_report import Cost, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.carried import Carried
    from skillgym_action.model.case_inputs import CaseInputs
    from skillgym_action.model.errors import Location
    from skillgym_action.model.execution import Runner
    from skillgym_action.model.judge_question import JudgeInfo
    from skillgym_action.model.quarantine import Quarantine
    from skillgym_action.model.session_report import Trouble
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.model.verdicts import FailureClass, Status


LEAK_DETECTED = "leak-detected"
ADDRESSES_JUDGE = "addresses-judge"


@dataclass(frozen=True, kw_only=True, slots=True)
class FollowUp:
    """A question that `explain` asks the agent after a failure. ``source``: where the suite defines it."""

    question: str
    source: Location | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """One assertion's answer on one session.

    ``passed`` None: it could not be evaluated; ``trouble`` is then a key of ``verdicts.TROUBLES``. ``explanation``:
    one sentence for people; ``evidence``: quoted output, or None. ``score``: from 0 to 1; ``weight``: its weight in the
    mean of the case. ``required``: the score below which the whole case scores 0; True: the case's threshold.
    ``vacuous``: it passed, and would have passed whatever the agent did, as far as anybody could expect.
    ``advisory``: it is shown, and never decides.
    ``judge``: the judge, if it answered. ``votes``: if several answers were asked for, whether each of them passes the
    assertion; None: there is no such answer.
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
    vacuous: bool = False
    advisory: bool = False
    follow_ups: tuple[FollowUp, ...] = ()
    judge: JudgeInfo | None = None
    votes: tuple[bool | None, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionReply:
    """What a grading function of a suite program returned: a ``score`` and a ``name``.

    Otherwise ``failed`` is the message of an assertion in it that does not hold, or ``trouble`` why it gave no score.
    """

    score: float | None = None
    name: str = ""
    failed: str | None = None
    trouble: str | None = None
    evidence: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Why an execution is not ``passed``. ``name``: type of the error; ``message``: one paragraph for people."""

    name: str
    message: str
    location: Location | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """Status of one session or execution, with the reasons.

    ``score`` and ``threshold`` (0 to 1) are set for judged sessions of cases with a threshold. ``origin``: where a
    failure came from. ``reason``: why the execution was skipped. ``cost_usd``: of the judge's answers, in US dollars;
    None: unknown.
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
class Finding:
    """An API key in what the agent wrote, or text that addresses the judge.

    ``id``: ``LEAK_DETECTED`` or ``ADDRESSES_JUDGE``. ``kind``: of a key the service that it belongs to, or the variable
    that it is the value of; of such a text what it attempts. ``where``: path of the artifact, in which ``***`` replaces
    a key; for a text followed by its name in the judge's question.
    """

    kind: str
    where: str
    id: str = LEAK_DETECTED


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One session of an execution, as results list it.

    ``repetition`` counts from 1; ``session`` counts the sessions of the repetition from 1: 2 is its first retry.
    ``directory``: folder of its artifacts, relative to the run directory. ``held``: of a judged session in an arm,
    whether each assertion that is compared counts as held, in the order of the outcomes; none after a limit.
    ``score``: of a case with a threshold, 0 to 1. ``run_attempt``: the attempt of the job on GitHub that ran it.
    """

    repetition: int
    session: int
    status: Status
    duration_ms: int
    directory: str
    failure_class: FailureClass | None = None
    message: str | None = None
    held: tuple[bool | None, ...] = ()
    score: float | None = None
    run_attempt: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerCounts:
    """The runs of a trigger query: a skill under test was ``loaded`` in so many of those ``judged``."""

    should_trigger: bool
    loaded: int
    judged: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """The result of an execution.

    ``usage`` and ``duration_ms`` are averages over the repetitions that succeeded, ``cost`` is the sum over all
    sessions. ``runner`` is None for an invalid case or suite. ``session_id``: the agent's id of the last session.
    ``arm``: the name of its arm, if its suite has arms. ``title``: of the case, for people, beside its id.
    ``trigger``: of a trigger query; None for other cases. ``quarantine``: why it decides nothing.
    ``inputs``: digests of what it was given, if they are known. ``carried``: the run that it is from, if it was not run
    now; such a result has no ``attempts``, and its cost is that of this run: none.
    """

    index: int
    suite: BenchmarkSuite
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
    arm: str | None = None
    trigger: TriggerCounts | None = None
    quarantine: Quarantine | None = None
    title: str | None = None
    inputs: CaseInputs | None = None
    carried: Carried | None = None

    @property
    def status(self) -> Status:
        return self.judgement.status

    @property
    def score(self) -> float | None:
        return self.judgement.score

    @property
    def is_only_compared(self) -> bool:
        """Whether it is in an arm that does not decide, as far as the arms of the suite are known."""
        return any(arm.name == self.arm and not arm.decides for arm in self.suite.arms)


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionResult:
    """The result of one session.

    ``result``: the result of the execution if no other session follows. ``agent_cost``: the cost without the judge's.
    ``trouble``: kept beside the judgement, since retries depend on it.
    """

    result: Result
    agent_cost: Cost
    trouble: Trouble | None = None

    @property
    def attempt(self) -> Attempt:
        return self.result.attempts[-1]

    @property
    def judgement(self) -> Judgement:
        return self.result.judgement


def unique_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings without duplicates, at most ``MAX_FINDINGS``."""
    return tuple(dict.fromkeys(findings))[:MAX_FINDINGS]


def of_kind(findings: Iterable[Finding], id_: str) -> tuple[Finding, ...]:
    """The findings with the id ``LEAK_DETECTED`` or ``ADDRESSES_JUDGE``."""
    return tuple([finding for finding in findings if finding.id == id_])
