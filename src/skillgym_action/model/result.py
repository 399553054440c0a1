"""Results of sessions and executions: findings, scores, results that are reused, quarantine."""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal

from skillgym_action.model.figures import distinct_texts
from skillgym_action.model.limits import MAX_FINDINGS
from skillgym_action.model.records import record
from skillgym_action.model.session_report import Cost, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date

    from skillgym_action.model.adaptive import Phase
    from skillgym_action.model.errors import Location, Problem
    from skillgym_action.model.judgement import Judgement, Outcome
    from skillgym_action.model.runner import Runner
    from skillgym_action.model.session_report import Trouble
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.model.verdicts import FailureClass, Status


FindingId = Literal["leak-detected", "addresses-judge", "other-model", "mcp-server", "background", "exit"]
LEAK_DETECTED: Final = "leak-detected"
ADDRESSES_JUDGE: Final = "addresses-judge"
OTHER_MODEL: Final = "other-model"
MCP_SERVER: Final = "mcp-server"
BACKGROUND: Final = "background"
EXIT: Final = "exit"


@record
class FindingKind:
    """What a finding says, and what follows from it.

    ``sentence``: in place of ``{}`` is what was found. ``doubtful``: the result may be another one without what was
    found, or the finding would not be reported again; it is not used in place of new sessions. ``fail_on``: the word of
    ``--fail-on``, and ``counted`` what follows a number of executions; without a word of its own, a finding is about
    the environment of the session, and a warning of the run.
    """

    sentence: str
    remedy: str
    doubtful: bool = True
    fail_on: str = ""
    counted: str = ""

    @property
    def of_environment(self) -> bool:
        """Whether the session had another environment than it was to have."""
        return not self.fail_on


FINDINGS: Mapping[FindingId, FindingKind] = {
    LEAK_DETECTED: FindingKind(
        sentence="a key was leaked: {}",
        remedy="revoke it and create a new one: any service that the session reached may have seen it",
        fail_on="leaks",
        counted="leaked a key",
    ),
    ADDRESSES_JUDGE: FindingKind(
        sentence="the agent addresses the judge: {}",
        remedy="read the question and the answer before you trust the verdict",
        fail_on="addresses-judge",
        counted="with text that addresses the judge",
    ),
    OTHER_MODEL: FindingKind(
        sentence="another model answered: {}",
        remedy="name a model that the key can use, and that the agent does not replace",
    ),
    MCP_SERVER: FindingKind(
        sentence="the MCP server {} could not be used",
        remedy="read the agent's output; a server that the suite or the configuration names makes the session errored",
    ),
    BACKGROUND: FindingKind(
        sentence="work in the background was not waited for, and ended with the session at the latest: {}",
        remedy="let the prompt say that the agent has to wait for it",
        doubtful=False,  # the agent does the same with the same prompt
    ),
    EXIT: FindingKind(
        sentence="after the agent's result, {}; the result was judged",
        remedy="read stderr.log of the session",
    ),
}


@record
class Finding:
    """An API key in what the agent wrote, text that addresses the judge, or something of the session's environment.

    ``kind``: of a key the service that it
    belongs to, or the variable that it is the value of; of such a text what it attempts; of the environment which model
    answered instead of which, the name of the MCP server that failed, the work in the background that was not waited
    for, or how the agent's process ended after its result. ``where``: path of the artifact, in which ``***`` replaces a
    key; for a text followed by its name in the judge's question.
    """

    kind: str
    where: str
    id: FindingId = LEAK_DETECTED

    @property
    def sentence(self) -> str:
        """What reports say of it."""
        return FINDINGS[self.id].sentence.format(self.kind)


@record
class Attempt:
    """One session of an execution, as results list it.

    ``repetition`` counts from 1; ``session`` counts the sessions of the repetition from 1: 2 is its first retry.
    ``directory``: folder of its artifacts, relative to the run directory. ``held``: of a judged session in an arm,
    whether each assertion that is compared counts as passed, in the order of the outcomes; none after a limit.
    ``score``: of a case with a threshold, 0 to 1. ``run_attempt``: the attempt of the job on GitHub that ran it.
    ``phase``: of a run with ``repeat: auto``.
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
    phase: Phase | None = None


@record
class TriggerCounts:
    """The runs of a trigger query: a skill under test was ``loaded`` in so many of those ``judged``."""

    should_trigger: bool
    loaded: int
    judged: int


@record
class Reused:
    """Where a reused result is from: the run of ``commit`` that began ``at`` (ISO 8601, in UTC).

    ``samples``: whether each of its judged repetitions passed, in their order. ``link``: of that run; None: it has
    none. ``cost_usd``: what its sessions cost then, in US dollars; None: unknown.
    """

    commit: str
    at: str
    samples: tuple[bool, ...]
    link: str | None = None
    cost_usd: float | None = None


@record
class CaseInputs:
    """Digests, the first 16 hexadecimal digits of a SHA-256 each.

    ``prompt``: the prompt and the further turns of a conversation. ``assertions``: the assertions with all of their
    settings, and what decides over them, such as the threshold. ``program``: the suite's file where it is a program,
    whose checks no other digest covers; else None. ``workspace``: what workspaces are made of, input files included,
    but neither the template, which has a digest of its own, nor the files of the repository. ``whole``: everything that
    the sessions and their judgement depend on, as far as it is known before they start; None: not all of it is known.
    ``plug_ins``: in words, the plug-ins of the agent, the format and the sandbox, with versions; None: there are none.
    """

    prompt: str
    assertions: str
    workspace: str
    program: str | None = None
    whole: str | None = None
    plug_ins: str | None = None

    def is_same_case(self, other: CaseInputs) -> bool:
        """Whether both are the same question: what was said to the agent, and what it is judged by."""
        return (self.prompt, self.assertions) == (other.prompt, other.assertions)


@record
class Quarantine:
    """Why an execution decides nothing. ``expires``: the last day, ``YYYY-MM-DD`` in UTC; ``issue``: an address.

    The execution runs and is reported.
    """

    reason: str
    owner: str
    expires: str
    issue: str | None = None


@record
class Result:
    """The result of an execution.

    ``usage`` and ``duration_ms`` are averages over the repetitions that succeeded, ``cost`` is the sum over all
    sessions. ``runner`` is None for an invalid case or suite. ``session_id``: the agent's id of the last session.
    ``arm``: the name of its arm, if its suite has arms. ``title``: of the case, for people, beside its id. ``trigger``:
    of a trigger query; None for other cases. ``quarantine``: why it decides nothing. ``metadata``: what the author says
    about the case, as JSON. ``inputs``: digests of what it was given, if they are known. ``reused``: the run that it
    is from, if it was not run now; such a result has no ``attempts``, and its cost is that of this run: none.
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
    metadata: object = None
    inputs: CaseInputs | None = None
    reused: Reused | None = None

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


@record
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


def findings_of_kind(findings: Iterable[Finding], id_: str) -> tuple[Finding, ...]:
    """The findings with this id."""
    return tuple([finding for finding in findings if finding.id == id_])


@record
class QuarantineEntry:
    """An entry of the quarantine file. ``suite``, ``case`` and ``runner`` are glob patterns; None fits all."""

    case: str
    reason: str
    owner: str
    expires: date
    location: Location
    key_path: str
    suite: str | None = None
    runner: str | None = None
    issue: str | None = None

    @property
    def quarantine(self) -> Quarantine:
        """What results say of it."""
        return Quarantine(reason=self.reason, owner=self.owner, expires=self.expires.isoformat(), issue=self.issue)


@record
class QuarantineFile:
    """The entries of a quarantine file that can be used, and a warning for each of the others."""

    entries: tuple[QuarantineEntry, ...] = ()
    problems: tuple[Problem, ...] = ()


SCORE_DIGITS = 4

_T_97_5 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086),
    *(2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045),
)
"""The 97.5% quantiles of Student's t for 1, 2, ... degrees of freedom, with the digits that AgentV has."""

_NORMAL_97_5 = 1.96
_NOISE = 1e-9  # rounding errors of sums are smaller; they must not decide


def deciding(outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
    """The outcomes without those that are advisory."""
    return tuple([outcome for outcome in outcomes if not outcome.advisory])


def case_score(outcomes: tuple[Outcome, ...], threshold: float, *, undecided: float = 0.0) -> float:
    """The weighted mean of the outcomes' scores; 0 when a required assertion misses its requirement.

    ``undecided``: the score of outcomes whose ``passed`` is None.
    """
    scored = [(_score(outcome, undecided), outcome) for outcome in outcomes]
    if any(misses_requirement(score, outcome, threshold) for score, outcome in scored):
        return 0.0
    return weighted_mean((score, outcome.weight) for score, outcome in scored)


def reaches_threshold(score: float, threshold: float) -> bool:
    """Whether a score is at least the threshold."""
    return score >= threshold - _NOISE


def misses_requirement(score: float, outcome: Outcome, threshold: float) -> bool:
    """Whether a required assertion scores less than it must: its own limit, or else the threshold of the case."""
    if outcome.required is False:
        return False
    return not reaches_threshold(score, threshold if outcome.required is True else outcome.required)


def reason_for_low_score(outcomes: tuple[Outcome, ...], threshold: float) -> tuple[str, Outcome | None]:
    """Why a case is below its threshold, and the outcome to blame.

    That is a required one that misses its requirement, else the first that failed, else the one with the lowest score.
    """
    for outcome in outcomes:
        if outcome.passed is not None and misses_requirement(score := _score(outcome, 0.0), outcome, threshold):
            needed = threshold if outcome.required is True else outcome.required
            scored, least = format_scores(score, needed)
            needs = f"is required to score {least} and scored {scored}"
            return f"{outcome.assertion} {needs}: {outcome.explanation}", outcome
    judged = [outcome for outcome in outcomes if outcome.passed is not None]
    blamed = next((outcome for outcome in judged if outcome.passed is False), None)
    blamed = blamed or min(judged, key=lambda outcome: _score(outcome, 0.0), default=None)
    return (f"{blamed.assertion}: {blamed.explanation}" if blamed else "no assertion was evaluated"), blamed


def interval_start(scores: Sequence[float]) -> float:
    """Where the 95% interval of the mean of two scores or more begins, by Student's t distribution; at least 0."""
    count = len(scores)
    mean = sum(scores) / count
    variance = sum((score - mean) ** 2 for score in scores) / (count - 1)
    quantile = _T_97_5[count - 2] if count - 2 < len(_T_97_5) else _NORMAL_97_5
    return max(0.0, mean - quantile * math.sqrt(variance) / math.sqrt(count))


def format_score(score: float) -> str:
    """A score in messages: at most four digits."""
    return f"{round(score, SCORE_DIGITS):g}"


def format_scores(score: float, threshold: float) -> tuple[str, str]:
    """A score and its threshold; with more digits where a lower score would look like the threshold."""
    if reaches_threshold(score, threshold):
        return format_score(score), format_score(threshold)
    return distinct_texts(score, threshold, SCORE_DIGITS, lambda number, digits: f"{round(number, digits):.15g}")


def _score(outcome: Outcome, undecided: float) -> float:
    if outcome.passed is None:
        return undecided
    return float(outcome.passed) if outcome.score is None else outcome.score


def weighted_mean(scored: Iterable[tuple[float, float]]) -> float:
    """The mean of (score, weight); 0 without any weight.

    Added up in order, not with ``fsum``: every digit has to equal AgentV's.
    """
    total = whole = 0.0
    for score, weight in scored:
        whole += weight
        total += score * weight
    return total / whole if whole > 0 else 0.0
