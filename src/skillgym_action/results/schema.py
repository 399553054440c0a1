"""The results file, schema 1: its fields, their bounds, and where the nouns of ``model/`` have them.

Validated whenever a file is read, and the source of its JSON Schema. A file may come from an untrusted run: numbers and
texts have bounds that no run reaches, and no path leads upwards.
"""

from __future__ import annotations

import math
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from skillgym_action.model.adaptive import Phase
from skillgym_action.model.comparison import is_flaky
from skillgym_action.model.errors import Location, Problem
from skillgym_action.model.execution import SelectionSummary
from skillgym_action.model.json_codec import as_json
from skillgym_action.model.judge_question import JudgeInfo
from skillgym_action.model.judgement import Failure, Judgement, Outcome
from skillgym_action.model.limits import (
    MAX_FINAL_OUTPUT_CHARACTERS,
    MAX_QUARANTINE_TEXT_CHARACTERS,
    MAX_STORED_SESSIONS,
)
from skillgym_action.model.plugin_table import PlugIn
from skillgym_action.model.report import AttemptShare, LimitSettings, RunReport, SuitesFrom, Verdict
from skillgym_action.model.result import (
    SCORE_DIGITS,
    Attempt,
    CaseInputs,
    Finding,
    FindingId,
    Quarantine,
    Result,
    Reused,
    TriggerCounts,
)
from skillgym_action.model.runner import Runner
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.session_report import Cost, Usage
from skillgym_action.model.shard_plan import WholePlan
from skillgym_action.model.suite import BenchmarkSuite, SuiteChange
from skillgym_action.model.verdicts import GREEN, FailureClass, Status
from skillgym_action.results.adaptive_schema import AdaptiveEntry
from skillgym_action.results.mapping import (
    COMMIT,
    DIGEST,
    NAME,
    SHARD,
    SHARED,
    SHORT_DIGEST,
    WEB_ADDRESS,
    ArtifactDir,
    AttemptNumber,
    Count,
    FieldSource,
    Id,
    LineOrColumn,
    MappedModel,
    Path,
    Rate,
    Seconds,
    Several,
    State,
    Text,
    Time,
    Usd,
    read,
)
from skillgym_action.results.rates_schema import (
    RateEntry,
    RegressionEntry,
    SamplesEntry,
    UpliftEntry,
    rate_of,
    regression_of,
    several_samples,
)
from skillgym_action.results.statistics.rates import trigger_rates
from skillgym_action.text.escaping import tail

if TYPE_CHECKING:
    from skillgym_action.results.statistics.rates import RateEstimate, TriggerRates

_OneOrMore = Annotated[int, Field(ge=1, le=10**9)]
_Sentence = Annotated[str, Field(max_length=MAX_QUARANTINE_TEXT_CHARACTERS)]

# --- values that are computed when a file is written ------------------------------------------------


def in_repository(location: Location) -> Location | None:
    """Return the location as a file has it; None for one outside of the repository, which suites may report."""
    return _counting_from_one(location) if _is_inside(location.path) else None


def _is_inside(path: str) -> bool:
    return "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def _counting_from_one(location: Location) -> Location:
    """Lines and columns that do not count from 1 are dropped; agents and suites may report any number."""
    line, column = location.line, location.column
    if (line is None or line > 0) and (column is None or column > 0):
        return location
    line, column = (number if number and number > 0 else None for number in (line, column))
    return Location(path=location.path, line=line, column=column)


def json_object(value: object) -> dict[str, Any] | None:
    """Return a mapping of a suite as JSON has it; None for anything else."""
    return as_json(value) if isinstance(value, dict) else None


def case_location(result: Result) -> Location:
    """The suite's own path counts, wherever it is."""
    location, suite = result.location, result.suite.path
    if location and location.path == suite:
        return _counting_from_one(location)
    return (location and in_repository(location)) or Location(path=suite)


def rounded(score: float) -> float | None:
    """The score with ``SCORE_DIGITS`` digits; None for one that is no finite number."""
    return round(score, SCORE_DIGITS) if math.isfinite(score) else None


def error_of(result: Result) -> Failure | None:
    """The failure; a reason without one is written as an error that is named like the status."""
    judgement = result.judgement
    if judgement.failure or not judgement.reason:
        return judgement.failure
    return Failure(name=str(judgement.status), message=judgement.reason)


def end_of_output(output: str) -> str:
    """At most ``MAX_FINAL_OUTPUT_CHARACTERS`` characters, the last ones."""
    return tail(output, MAX_FINAL_OUTPUT_CHARACTERS)


def part_of_location(name: str) -> FieldSource:
    """The source of a part of a problem's location; null outside of the repository."""

    def part(problem: Problem) -> object:
        return getattr(problem.location and in_repository(problem.location), name, None)

    return FieldSource(read=False, compute=part)


def count_of(status: Status) -> FieldSource:
    """The source of the number of executions with a status."""
    return FieldSource(compute=lambda totals: totals.counts[status])


class _TriggerShare(NamedTuple):
    rate: float
    low: float
    high: float


class _TriggerRates(NamedTuple):
    suite: str
    runner_id: str
    queries: int
    runs: int
    recall: _TriggerShare | None
    precision: _TriggerShare | None
    accuracy: _TriggerShare | None


def trigger_rates_of(report: RunReport) -> tuple[_TriggerRates, ...]:
    """The rates as the file has them; () without trigger queries."""
    return tuple(map(_trigger_rates, trigger_rates(report.results)))


def _trigger_rates(found: TriggerRates) -> _TriggerRates:
    shares = map(_trigger_share, (found.recall, found.precision, found.accuracy))
    return _TriggerRates(found.suite, found.runner, found.queries, found.runs, *shares)


def _trigger_share(found: RateEstimate | None) -> _TriggerShare | None:
    return _TriggerShare(found.rate, *found.interval) if found else None


# --- the file ---------------------------------------------------------------------------------------


class ToolEntry(MappedModel):
    """The program that ran the suites."""

    name: Literal["skillgym-action"]
    version: Id


class DecisionEntry(MappedModel):
    """Green or red, and why in words. ``passed``: whether the exit code is 0, also of a run that was ``not-gated``.

    Results that are ``unverified`` have not passed, although the exit code is 0.
    """

    verdict: Verdict | None = None
    passed: bool
    exit_code: Annotated[int, Field(ge=0, le=255)]
    reasons: Several[Text]


class SuitesFromEntry(MappedModel):
    """The folder that suites and the configuration were read from, such as a checkout of the base commit.

    Suites of the checkout that agents worked on: ``added`` are not in the folder and were not run; of ``changed`` and
    ``removed`` the folder's were run.
    """

    noun: ClassVar = SuitesFrom

    folder: Id
    commit: Annotated[str, Field(pattern=COMMIT)] | None = None
    added: Several[Path] = ()
    changed: Several[Path] = ()
    removed: Several[Path] = ()
    configuration_differs: Annotated[bool, FieldSource(always=True)] = False


class LimitsEntry(MappedModel):
    """Limits of all sessions: ``timeout`` in seconds, ``maxSteps`` in model rounds, and what exceeding them means.

    ``defaultTimeout``, in seconds, holds where no suite, case or runner has a time limit.
    """

    noun: ClassVar = LimitSettings

    default_timeout: Seconds
    timeout: Seconds | None = None
    max_steps: Annotated[int, Field(ge=1, le=10**9)] | None = None
    on_limit: Annotated[Literal["failed", "errored"], FieldSource(always=True)] = "failed"


class TokensEntry(MappedModel):
    """Tokens on one scale for all agents; null is unknown."""

    input: Annotated[Count | None, FieldSource(attribute="input_tokens")]
    output: Annotated[Count | None, FieldSource(attribute="output_tokens")]
    reasoning: Annotated[Count | None, FieldSource(attribute="reasoning_tokens")]
    cache: Annotated[Count | None, FieldSource(attribute="cache_tokens")]
    total: Annotated[Count | None, FieldSource(attribute="total_tokens")]


class ArmSpendingEntry(MappedModel):
    """What all executions of an arm took; ``durationMs`` of all sessions, ``tokens`` as in totals."""

    arm: Id
    executions: Count
    sessions: Count
    cost_usd: Usd | None
    cost_complete: bool
    tokens: TokensEntry
    duration_ms: Count


class AttemptShareEntry(MappedModel):
    """What an attempt of the job contributed: sessions in this file, and their cost; null is unknown.

    ``repeated``: its sessions that are not in this file, since a later attempt runs them again.
    """

    noun: ClassVar = AttemptShare

    number: AttemptNumber
    sessions: Count
    cost_usd: Usd | None
    repeated: Count = 0
    repeated_cost_usd: Usd | None = 0.0


class JudgeEntry(MappedModel):
    """The model that graders asked: as configured, and in ``versions`` what its service called it in replies.

    ``votes`` is the number of answers that were asked for per question.
    """

    noun: ClassVar = JudgeInfo

    api: Id
    model: Id
    versions: Several[Id] = ()
    votes: Annotated[int, Field(ge=1, le=10**6), FieldSource(always=True)] = 1


class SelectionEntry(MappedModel):
    """``selected`` of ``total`` executions. ``leftOut``: those that are not in the run.

    ``unstored``: executions that were not selected and ran, since the store had no result of them.
    """

    noun: ClassVar = SelectionSummary

    selected: Count
    total: Count
    reason: Text
    base: Annotated[str, Field(pattern=COMMIT)] | None = None
    left_out: Count = 0
    unstored: Count = 0


class ShareEntry(MappedModel):
    """A share of runs, with the interval that has the true one with 95 % confidence (Wilson)."""

    rate: Rate
    low: Rate
    high: Rate


class TriggerRatesEntry(MappedModel):
    """The trigger queries of a suite on a runner; null where no run tells.

    ``recall``: of the runs of queries that have to load the skill, the share that did; ``precision``: of the runs that
    loaded it, the share that had to; ``accuracy``: of all judged runs, the share that did what was expected.
    """

    suite: Path
    runner_id: Id
    queries: Count
    runs: Annotated[int, Field(ge=0)]
    recall: ShareEntry | None
    precision: ShareEntry | None
    accuracy: ShareEntry | None


class WholePlanEntry(MappedModel):
    """What shards of one run have in common. ``digest``: of the names and repetitions of all ``executions``."""

    noun: ClassVar = WholePlan

    executions: Count
    digest: Annotated[str, Field(pattern=DIGEST)]
    repeat: _OneOrMore
    require: _OneOrMore | Literal["all", "any"]
    retry: Count


class PlugInEntry(MappedModel):
    """A plug-in that the run used: what it is in the tool, and the package that it is from."""

    noun: ClassVar = PlugIn

    kind: Literal["agents", "formats", "reporters", "sandboxes"]
    name: Id
    package: Id
    version: Id


class RunEntry(MappedModel):
    """One invocation, or several that were merged. Times are ISO 8601 in UTC; ``decision`` is null before the gate.

    ``incomplete``: parts of the run that are missing in the file. ``adaptive``: how a run with
    ``repeat: auto`` decided, so that rates are those of first sessions. ``triggers``: of suites with trigger
    queries. ``attempts``: of a job on GitHub. ``uplifts``: comparisons of arms; ``arms``: what each of them took.
    ``unchanged``: that nothing ran, since no skill or case has changed. ``selection``: which executions
    ``--changed-only`` has selected. ``slowed``: providers that reported rate limits. ``plugIns``: those it used.
    """

    noun: ClassVar = RunReport

    id: Annotated[str, Field(max_length=255, pattern=NAME)]
    status: Annotated[
        Literal["finished", "cancelled"],
        FieldSource(read=False, compute=lambda report: "cancelled" if report.cancelled else "finished"),
    ]
    started_at: Time
    ended_at: Time
    duration_ms: Count
    command: Id
    commit: Annotated[str, Field(pattern=COMMIT)] | None = None
    merge_parents: Several[Annotated[str, Field(pattern=COMMIT)]] = ()
    shard: Annotated[str, Field(pattern=SHARD)] | None = None
    plan_digest: Annotated[str, Field(pattern=DIGEST)] | None = None
    whole_plan: WholePlanEntry | None = None
    incomplete: Several[Text] = ()
    missing_shards: Several[Annotated[str, Field(pattern=SHARD)]] = ()
    adaptive: AdaptiveEntry | None = None
    suites_from: SuitesFromEntry | None = None
    comparison: Annotated[RegressionEntry | None, FieldSource(read=False, convert=regression_of)] = None
    judge: JudgeEntry | None = None
    limits: LimitsEntry | None = None
    uplifts: Annotated[Several[UpliftEntry], FieldSource(read=False)] = ()
    arms: Annotated[Several[ArmSpendingEntry], FieldSource(compute=RunReport.arm_spending, read=False)] = ()
    attempts: Several[AttemptShareEntry] = ()
    unchanged: Text | None = None
    selection: SelectionEntry | None = None
    slowed: Several[Text] = ()
    plug_ins: Several[PlugInEntry] = ()
    triggers: Annotated[Several[TriggerRatesEntry], FieldSource(read=False, compute=trigger_rates_of)] = ()
    decision: Annotated[DecisionEntry | None, FieldSource(read=False)]

    def attributes(self) -> dict[str, object]:
        return {"cancelled": self.status == "cancelled"}


class TotalsEntry(MappedModel):
    """Sums. ``costUsd`` is the known part, ``costComplete`` whether that is all.

    Cost, tokens and retries are those of all executions; the rest leaves out other arms and quarantine. ``passRate``
    is the mean over cases of the share of their judged sessions that passed, cases that are expected to fail left out;
    see ``rate``. ``flaky``: executions whose sessions differ.
    """

    executions: Count
    judged: Count
    passed: Annotated[Count, count_of(Status.PASSED)]
    failed: Annotated[Count, count_of(Status.FAILED)]
    expected_failed: Annotated[Count, count_of(Status.EXPECTED_FAILED)]
    unexpected_passed: Annotated[Count, count_of(Status.UNEXPECTED_PASSED)]
    errored: Annotated[Count, count_of(Status.ERRORED)]
    skipped: Annotated[Count, count_of(Status.SKIPPED)]
    pass_rate: Rate | None
    rate: Annotated[RateEntry | None, FieldSource(compute=rate_of, read=False)] = None
    flaky: Count = 0
    cost_usd: Usd | None
    cost_complete: bool
    tokens: TokensEntry
    retries: Count


class RunnerHead(MappedModel):
    """A configured agent. ``version`` is that of its executions."""

    noun: ClassVar = Runner
    parts: ClassVar = {"agent": AgentConfig}

    id: Id
    agent: Annotated[Id, FieldSource(attribute="agent.type")]
    model: Annotated[Id | None, FieldSource(attribute="agent.model")]
    version: Annotated[Id | None, FieldSource(read=False)]


class RunnerEntry(TotalsEntry, RunnerHead):
    """A configured agent, and the sums of its executions."""


class LocationEntry(MappedModel):
    """A place in a file, relative to the repository root; lines and columns count from 1."""

    noun: ClassVar = Location

    path: Path
    line: LineOrColumn | None = None
    column: LineOrColumn | None = None


class FailureClassEntry(MappedModel):
    """A stable id that groups failures with one cause."""

    noun: ClassVar = FailureClass

    id: Id
    label: Id


class ErrorEntry(MappedModel):
    """Why an execution did not simply pass."""

    noun: ClassVar = Failure

    name: Id
    message: Text
    location: Annotated[LocationEntry | None, FieldSource(convert=in_repository)] = None


class OutcomeEntry(MappedModel):
    """One assertion's answer; ``passed`` null: it could not be evaluated.

    ``votes``: whether each answer of the judge passes it, where there was to be more than one; null: no answer.
    """

    noun: ClassVar = Outcome

    assertion: Text
    type: Id
    passed: bool | None
    score: Annotated[float | None, FieldSource(convert=rounded)] = None
    weight: Annotated[float, Field(ge=0)] = 1.0
    explanation: Text
    evidence: Text | None = None
    location: Annotated[LocationEntry | None, FieldSource(convert=in_repository)] = None
    failure_class: FailureClassEntry | None = None
    vacuous: bool = False
    advisory: bool = False
    judge: JudgeEntry | None = None
    votes: Several[bool | None] = ()


class UsageEntry(MappedModel):
    """Tokens and characters of an execution, averages over repetitions; null is unknown."""

    noun: ClassVar = Usage

    input_tokens: Count | None
    output_tokens: Count | None
    reasoning_tokens: Count | None
    cache_tokens: Count | None
    total_tokens: Count | None
    input_chars: Count
    output_chars: Count
    reasoning_chars: Count


class AttemptEntry(MappedModel):
    """One session of an execution. ``held``: in an arm, whether each assertion held, in the order of the outcomes.

    ``score``: of a case with a threshold. ``runAttempt``: the attempt of the job on GitHub that ran it.
    ``phase``: of a run with ``repeat: auto``.
    """

    noun: ClassVar = Attempt

    repetition: Count
    session: Count
    status: State
    failure_class: FailureClassEntry | None = None
    message: Text | None = None
    duration_ms: Count
    artifact_dir: Annotated[ArtifactDir, FieldSource(attribute="directory")]
    held: Several[bool | None] = ()
    score: Annotated[float | None, FieldSource(convert=rounded)] = None
    run_attempt: AttemptNumber | None = None
    phase: Phase | None = None


class FindingEntry(MappedModel):
    """Something in a file of a session's artifacts that people should know of.

    ``leak-detected``: a key, in whose place the file has ``***``. ``addresses-judge``: text that addresses the judge.
    ``other-model``: another model answered than the one asked for. ``mcp-server``: an MCP server could not be used.
    ``background``: the agent did not wait for work in the background. ``exit``: after its result, its
    process did not end with exit code 0.
    """

    noun: ClassVar = Finding

    id: FindingId
    kind: Id
    where: Text


class InputsEntry(MappedModel):
    """Digests of what an execution was given: of its prompt, assertions, workspace, and of a suite program.

    ``whole``: of everything that its sessions and their judgement depend on; it decides about reuse. ``plugIns``: in
    words, with their versions.
    """

    noun: ClassVar = CaseInputs

    prompt: Annotated[str, Field(pattern=SHORT_DIGEST)]
    assertions: Annotated[str, Field(pattern=SHORT_DIGEST)]
    workspace: Annotated[str, Field(pattern=SHORT_DIGEST)]
    program: Annotated[str, Field(pattern=SHORT_DIGEST)] | None = None
    whole: Annotated[str, Field(pattern=SHORT_DIGEST)] | None = None
    plug_ins: Annotated[str, Field(max_length=4_096)] | None = None


class ReusedEntry(MappedModel):
    """The run that a result was taken from; ``samples``: whether each of its judged repetitions passed.

    ``costUsd``: what its sessions cost then.
    """

    noun: ClassVar = Reused

    commit: Annotated[str, Field(pattern=COMMIT)]
    at: Time
    samples: Annotated[Several[bool], Field(min_length=1, max_length=MAX_STORED_SESSIONS)]
    link: Annotated[str, Field(max_length=2_048, pattern=WEB_ADDRESS)] | None = None
    cost_usd: Usd | None = None


class QuarantineItem(MappedModel):
    """Why the execution decides nothing, whose task it is, and the last day of it, in UTC."""

    noun: ClassVar = Quarantine

    reason: _Sentence
    owner: _Sentence
    expires: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    issue: Annotated[str, Field(max_length=MAX_QUARANTINE_TEXT_CHARACTERS, pattern=r"^https?://[!-~]+$")] | None = None


class TriggerEntry(MappedModel):
    """The runs of a trigger query: a skill under test was loaded in so many of those judged."""

    noun: ClassVar = TriggerCounts

    should_trigger: bool
    loaded: Count
    judged: Count


class ResultEntry(MappedModel):
    """One execution. ``runnerId`` is null for a case that could not be used; ``finalOutput`` is the end of it.

    ``index`` is its place in the plan, of which a shard has only some. ``samples`` is there if several count;
    ``flaky``: at least 5 of them with mixed results, or a pass only after a retry. ``arm``: the name of its arm.
    ``title``: what people call the case; ``metadata``: what the suite says about it. ``reused``: it was not run, but
    taken from an earlier run.
    """

    noun: ClassVar = Result
    parts: ClassVar = {"judgement": Judgement, "cost": Cost}

    index: Annotated[Count | None, FieldSource(read=False)] = None
    case_id: Annotated[Id, SHARED]
    title: Text | None = None
    metadata: Annotated[dict[str, Any] | None, FieldSource(convert=json_object)] = None
    arm: Id | None = None
    runner_id: Annotated[Id | None, FieldSource(attribute="runner", convert=attrgetter("id"), read=False)]
    tags: Annotated[Several[Id], SHARED]
    location: Annotated[LocationEntry, FieldSource(compute=case_location)]
    status: Annotated[State, FieldSource(attribute="judgement.status")]
    passed: Annotated[bool, FieldSource(attribute="judgement.status", convert=GREEN.__contains__, read=False)]
    expected_fail: bool = False
    score: Annotated[float | None, FieldSource(attribute="judgement.score", convert=rounded)] = None
    threshold: Annotated[Rate | None, FieldSource(attribute="judgement.threshold")] = None
    failure_origin: Annotated[Id | None, FieldSource(attribute="judgement.origin")] = None
    failure_class: Annotated[FailureClassEntry | None, FieldSource(attribute="judgement.failure_class")] = None
    error: Annotated[ErrorEntry | None, FieldSource(read=False, compute=error_of)] = None
    outcomes: Annotated[Several[OutcomeEntry], FieldSource(attribute="judgement.outcomes")]
    duration_ms: Count
    usage: UsageEntry
    cost_usd: Annotated[Usd | None, FieldSource(attribute="cost.usd")]
    cost_source: Annotated[
        Literal["reported", "computed", "unknown"], FieldSource(attribute="cost.source", always=True)
    ] = "unknown"
    model: Id | None
    version: Id | None = None
    session_id: Id | None = None
    attempts: Several[AttemptEntry]
    samples: Annotated[SamplesEntry | None, FieldSource(compute=several_samples, read=False)] = None
    flaky: Annotated[bool, FieldSource(compute=is_flaky, read=False)] = False
    findings: Several[FindingEntry] = ()
    trigger: TriggerEntry | None = None
    quarantine: QuarantineItem | None = None
    inputs: InputsEntry | None = None
    reused: ReusedEntry | None = None
    artifact_dir: Annotated[ArtifactDir | None, FieldSource(attribute="directory")]
    prompt: Annotated[Text, SHARED] | None = None
    final_output: Annotated[Text | None, FieldSource(convert=end_of_output)] = None

    def attributes(self) -> dict[str, object]:
        """Return failure and reason; see ``error_of``."""
        if not self.error:
            return {}
        if self.error.name == self.status:
            return {"judgement.reason": self.error.message}
        return {"judgement.failure": read(ErrorEntry, self.error)}


class SuiteHead(MappedModel):
    """A suite. ``digest``, ``templateDigest`` and ``changed``: see ``SuiteEntry``."""

    noun: ClassVar = BenchmarkSuite

    path: Path
    name: Id
    format: Id
    digest: Annotated[str, Field(pattern=DIGEST)] | None = None
    template_digest: Annotated[str, Field(pattern=DIGEST)] | None = None
    changed: SuiteChange | None = None


class SuiteEntry(SuiteHead):
    """A suite and the results of its cases, in the order of the plan.

    ``digest`` is the SHA-256 of its file, or of a list of its files where its cases are in several;
    ``templateDigest`` that of a list of the files in its workspace templates. ``changed`` says why the suite is not one
    of the commit it was compared with; see ``SuiteChange``. ``otherArms``: results of arms that do not decide, and
    ``quarantined``: results in quarantine. Of both only cost, tokens and retries are in totals.
    """

    results: Several[ResultEntry]
    other_arms: Several[ResultEntry] = ()
    quarantined: Several[ResultEntry] = ()


class WarningEntry(MappedModel):
    """Something that a user should fix."""

    noun: ClassVar = Problem

    path: Annotated[Path | None, part_of_location("path")] = None
    line: Annotated[LineOrColumn | None, part_of_location("line")] = None
    column: Annotated[LineOrColumn | None, part_of_location("column")] = None
    message: Annotated[Text, FieldSource(compute=lambda problem: str(replace(problem, location=None)))]

    def attributes(self) -> dict[str, object]:
        if self.path is None:
            return {}
        return {"location": Location(path=self.path, line=self.line, column=self.column)}


class Results(MappedModel):
    """A results file."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    tool: ToolEntry
    run: RunEntry
    totals: TotalsEntry
    runners: Several[RunnerEntry]
    suites: Several[SuiteEntry]
    warnings: Several[WarningEntry]


def results_schema() -> dict[str, object]:
    """Return the JSON Schema of a results file."""
    return Results.model_json_schema(by_alias=True)
