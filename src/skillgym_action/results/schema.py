"""The results file, schema 1: its fields, their bounds, and where the nouns of ``model/`` have them.

Validated whenever a file is read, and the source of its JSON Schema. A file may come from an untrusted run: numbers and
texts have bounds that no run reaches, and no path leads upwards.
"""

from __future__ import annotations

import math
from dataclasses import replace
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from skillgym_action.model.adaptive import Phase
from skillgym_action.model.comparison import is_flaky
from skillgym_action.model.errors import Location, Problem
from skillgym_action.model.json_codec import as_json
from skillgym_action.model.judgement import Failure, Judgement, Outcome
from skillgym_action.model.limits import (
    MAX_FINAL_OUTPUT_CHARACTERS,
    MAX_QUARANTINE_TEXT_CHARACTERS,
    MAX_STORED_SESSIONS,
)
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
from skillgym_action.model.session import NO_ACCOUNT, Account, AgentConfig
from skillgym_action.model.session_report import Cost, Usage
from skillgym_action.model.suite import BenchmarkSuite, SuiteChange
from skillgym_action.model.verdicts import GREEN, FailureClass, Status
from skillgym_action.results.mapping import (
    COMMIT,
    DIGEST,
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
    Several,
    State,
    Text,
    Time,
    Usd,
    read,
)
from skillgym_action.results.run_schema import (
    JudgeEntry,
    RateEntry,
    RunEntry,
    SamplesEntry,
    TokensEntry,
    rate_of,
    several_samples,
)
from skillgym_action.text.escaping import tail

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


# --- the file ---------------------------------------------------------------------------------------


class ToolEntry(MappedModel):
    """The program that ran the suites."""

    name: Literal["skillgym-action"]
    """Name of the program."""
    version: Id
    """Version of the program."""


class TotalsEntry(MappedModel):
    """Sums. Cost, tokens and retries are those of all executions; the rest leaves out other arms and quarantine."""

    executions: Count
    """Number of executions, excluding those in quarantine and those in non-deciding arms."""
    judged: Count
    """Number of executions that were judged: those that are neither `errored` nor `skipped`."""
    passed: Annotated[Count, count_of(Status.PASSED)]
    """Number of executions with the status `passed`."""
    failed: Annotated[Count, count_of(Status.FAILED)]
    """Number of executions with the status `failed`."""
    expected_failed: Annotated[Count, count_of(Status.EXPECTED_FAILED)]
    """Number of executions with the status `expected-failed`."""
    unexpected_passed: Annotated[Count, count_of(Status.UNEXPECTED_PASSED)]
    """Number of executions with the status `unexpected-passed`."""
    errored: Annotated[Count, count_of(Status.ERRORED)]
    """Number of executions with the status `errored`."""
    skipped: Annotated[Count, count_of(Status.SKIPPED)]
    """Number of executions with the status `skipped`."""
    pass_rate: Rate | None
    """The [pass rate](../explanation/statistics.md#pass-rates); null if it includes no judged case."""
    rate: Annotated[RateEntry | None, FieldSource(compute=rate_of, read=False)] = None
    """Data about the pass rate: the numbers of cases and sessions, and the 95% intervals. Cases that are expected to
    fail are not included."""
    flaky: Count = 0
    """Number of [flaky](../how-to/flaky-cases.md) executions."""
    cost_usd: Usd | None
    """Known part of the cost in US dollars; null if no cost is known."""
    cost_complete: bool
    """Whether the whole cost is known."""
    tokens: TokensEntry
    """Tokens of all executions: the sums of the values in their `usage`."""
    retries: Count
    """Number of sessions that were retries."""


def _used(account: Account) -> Account | None:
    return account if account.way else None


class AccountEntry(MappedModel):
    """How an agent got its account: the ``family`` of variables, and what pays for its sessions."""

    noun: ClassVar = Account

    way: Literal["key", "cloud", "login"]
    """`key`: keys and tokens in variables; `cloud`: variables of a cloud; `login`: the login of the caller."""
    family: Id | None = None
    """The variables, by the name in the table of families; several are joined by `+`."""
    billing: Literal["key", "cloud", "plan"]
    """What pays for the sessions: `key`, `cloud`, or `plan`, a subscription. Costs are at list prices."""


class RunnerHead(MappedModel):
    """A configured agent."""

    noun: ClassVar = Runner
    parts: ClassVar = {"agent": AgentConfig}

    id: Id
    """Id of the runner, as configured."""
    agent: Annotated[Id, FieldSource(attribute="agent.type")]
    """Type of the agent."""
    model: Annotated[Id | None, FieldSource(attribute="agent.model")]
    """Model as configured or, if the agent's CLI selects the model, the first model that an execution reports; null if
    unknown."""
    version: Annotated[Id | None, FieldSource(read=False)]
    """Version of the agent's CLI: the first version that an execution reports; null if unknown."""
    auth: Annotated[AccountEntry | None, FieldSource(attribute="agent.account", convert=_used, read=False)] = None
    """How the agent [logs in](../how-to/log-in.md); not present if that is not known."""

    def attributes(self) -> dict[str, object]:
        return {"agent.account": read(AccountEntry, self.auth) if self.auth else NO_ACCOUNT}


class RunnerEntry(TotalsEntry, RunnerHead):
    """A configured agent, and the sums of its executions."""


class LocationEntry(MappedModel):
    """A place in a file."""

    noun: ClassVar = Location

    path: Path
    """Path of the file, relative to the root of the repository."""
    line: LineOrColumn | None = None
    """Line number in the file, counted from 1."""
    column: LineOrColumn | None = None
    """Column number in the line, counted from 1."""


class FailureClassEntry(MappedModel):
    """A stable id that groups failures with one cause."""

    noun: ClassVar = FailureClass

    id: Id
    """Id of the failure class."""
    label: Id
    """Name of the failure class in reports."""


class ErrorEntry(MappedModel):
    """Why an execution did not simply pass."""

    noun: ClassVar = Failure

    name: Id
    """Kind of the failure."""
    message: Text
    """Description of the failure."""
    location: Annotated[LocationEntry | None, FieldSource(convert=in_repository)] = None
    """Location of the failure, if it is known and inside the repository."""


class OutcomeEntry(MappedModel):
    """One assertion's answer."""

    noun: ClassVar = Outcome

    assertion: Text
    """Name of the assertion."""
    type: Id
    """Type of the assertion."""
    passed: bool | None
    """Whether the assertion passed; null if it could not be evaluated."""
    score: Annotated[float | None, FieldSource(convert=rounded)] = None
    """Score of the assertion, 0 to 1, if the case has a threshold."""
    weight: Annotated[float, Field(ge=0)] = 1.0
    """Weight of the assertion's score in the score of the case."""
    explanation: Text
    """Why the assertion passed or failed, or could not be evaluated."""
    evidence: Text | None = None
    """Evidence for the explanation, such as lines of a file."""
    location: Annotated[LocationEntry | None, FieldSource(convert=in_repository)] = None
    """Location at which the assertion is defined."""
    failure_class: FailureClassEntry | None = None
    """The failure class that the suite sets for the assertion."""
    vacuous: bool = False
    """True if the assertion passed but [measures nothing](x-bench.md#verdict)."""
    advisory: bool = False
    """True if the outcome is only shown in reports and [does not affect](skill-evals.md#assertions) the status."""
    judge: JudgeEntry | None = None
    """The judge that was asked about the assertion, if it answered."""
    votes: Several[bool | None] = ()
    """If the judge was asked for several votes: for each vote, whether the assertion passed, or null if there was no
    usable answer."""


class UsageEntry(MappedModel):
    """Tokens and characters of an execution, averages over repetitions."""

    noun: ClassVar = Usage

    input_tokens: Count | None
    """Input tokens, including cached tokens; null if unknown."""
    output_tokens: Count | None
    """Output tokens without reasoning tokens; null if unknown."""
    reasoning_tokens: Count | None
    """Reasoning tokens; null if unknown."""
    cache_tokens: Count | None
    """Input tokens that were read from a cache; null if unknown."""
    total_tokens: Count | None
    """Input, output and reasoning tokens, without cached tokens; null if unknown."""
    input_chars: Count
    """Number of characters of the agent's input."""
    output_chars: Count
    """Number of characters of the agent's output."""
    reasoning_chars: Count
    """Number of characters of the agent's reasoning."""


class AttemptEntry(MappedModel):
    """One session of an execution."""

    noun: ClassVar = Attempt

    repetition: Count
    """Number of the repetition, counted from 1."""
    session: Count
    """Number of the session in its repetition, counted from 1; number 2 is the first retry."""
    status: State
    """Status of the session."""
    failure_class: FailureClassEntry | None = None
    """Failure class of the session, if it has one."""
    message: Text | None = None
    """The reason for the status, if the status is not `passed`."""
    duration_ms: Count
    """Duration of the session in milliseconds."""
    artifact_dir: Annotated[ArtifactDir, FieldSource(attribute="directory")]
    """Folder of the session's artifacts, relative to the run directory."""
    held: Several[bool | None] = ()
    """With arms: for each [compared](../how-to/arms.md#what-is-reported) assertion, whether the comparison counts it as
    passed, or null if it could not be evaluated."""
    score: Annotated[float | None, FieldSource(convert=rounded)] = None
    """Score of the session, 0 to 1, if the case has a threshold."""
    run_attempt: AttemptNumber | None = None
    """In a job on GitHub, the number of the [job attempt](../../GLOSSARY.md) in which the session ran."""
    phase: Phase | None = None
    """With `repeat: auto`: whether the session was part of the screen, or ran beside the base commit."""


class FindingEntry(MappedModel):
    """Something in a file of a session's artifacts that people should know of."""

    noun: ClassVar = Finding

    id: FindingId
    """What was found: a leaked key, text that addresses the judge, another model than the one asked for, an MCP server
    that could not be used, work in the background that was not waited for, or a process that did not end with exit code
    0 after its result. In the artifact, a leaked key is replaced with `***`."""
    kind: Id
    """Kind of the leaked key, or of the text that addresses the judge; otherwise which model answered instead of which,
    the name of the server, the work, or how the process ended."""
    where: Text
    """Path of the artifact in the session's folder. For `addresses-judge`, the path is followed by the name of the text
    in the question."""


class InputsEntry(MappedModel):
    """Digests of what an execution was given."""

    noun: ClassVar = CaseInputs

    prompt: Annotated[str, Field(pattern=SHORT_DIGEST)]
    """Digest of the prompt."""
    assertions: Annotated[str, Field(pattern=SHORT_DIGEST)]
    """Digest of the assertions."""
    workspace: Annotated[str, Field(pattern=SHORT_DIGEST)]
    """Digest of the settings and files from which the workspace is created."""
    program: Annotated[str, Field(pattern=SHORT_DIGEST)] | None = None
    """Digest of the suite, if the suite is a program."""
    whole: Annotated[str, Field(pattern=SHORT_DIGEST)] | None = None
    """Digest of all inputs on which the sessions and their judgement depend. An execution can
    [reuse](command-line.md#reusing-results) an earlier result with the same digest. Absent if a part of the inputs is
    unknown."""
    plug_ins: Annotated[str, Field(max_length=4_096)] | None = None
    """The plug-ins of the agent, the format and the sandbox, with their packages and versions."""


class ReusedEntry(MappedModel):
    """The run that a result was taken from."""

    noun: ClassVar = Reused

    commit: Annotated[str, Field(pattern=COMMIT)]
    """SHA of the commit of the earlier run."""
    at: Time
    """Start time of the earlier run, in ISO 8601, UTC."""
    samples: Annotated[Several[bool], Field(min_length=1, max_length=MAX_STORED_SESSIONS)]
    """For each judged repetition of the execution in the earlier run, whether it passed."""
    link: Annotated[str, Field(max_length=2_048, pattern=WEB_ADDRESS)] | None = None
    """URL of the earlier run."""
    cost_usd: Usd | None = None
    """Cost of the sessions in the earlier run, in US dollars."""


class QuarantineItem(MappedModel):
    """Why the execution decides nothing."""

    noun: ClassVar = Quarantine

    reason: _Sentence
    """Reason for the quarantine."""
    owner: _Sentence
    """Person or team that has to fix the case."""
    expires: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    """Last day of the quarantine, in UTC."""
    issue: Annotated[str, Field(max_length=MAX_QUARANTINE_TEXT_CHARACTERS, pattern=r"^https?://[!-~]+$")] | None = None
    """URL of the issue about the case."""


class TriggerEntry(MappedModel):
    """The runs of a trigger query."""

    noun: ClassVar = TriggerCounts

    should_trigger: bool
    """Whether the skill should be loaded."""
    loaded: Count
    """Number of judged repetitions in which the agent loaded the skill."""
    judged: Count
    """Number of judged repetitions."""


class ResultEntry(MappedModel):
    """One execution."""

    noun: ClassVar = Result
    parts: ClassVar = {"judgement": Judgement, "cost": Cost}

    index: Annotated[Count | None, FieldSource(read=False)] = None
    """Position of the execution in the plan, counted from 0; in merged runs of several plans, the position in the
    file."""
    case_id: Annotated[Id, SHARED]
    """Id of the case, unique in its suite."""
    title: Text | None = None
    """Title of the case, if the suite sets one."""
    metadata: Annotated[dict[str, Any] | None, FieldSource(convert=json_object)] = None
    """Metadata of the case, if the suite sets some: keys and values of the author's choice."""
    arm: Id | None = None
    """Name of the arm, if the suite has arms."""
    runner_id: Annotated[Id | None, FieldSource(attribute="runner", convert=attrgetter("id"), read=False)]
    """Id of the runner; null for an invalid case."""
    tags: Annotated[Several[Id], SHARED]
    """Tags of the case, including those of its suite."""
    location: Annotated[LocationEntry, FieldSource(compute=case_location)]
    """Location at which the case is defined."""
    status: Annotated[State, FieldSource(attribute="judgement.status")]
    """The [status](#statuses) of the execution."""
    passed: Annotated[bool, FieldSource(attribute="judgement.status", convert=GREEN.__contains__, read=False)]
    """Whether the execution is green."""
    expected_fail: bool = False
    """Whether the case expects a failure."""
    score: Annotated[float | None, FieldSource(attribute="judgement.score", convert=rounded)] = None
    """Score of the case, 0 to 1, if the case has a threshold and could be judged."""
    threshold: Annotated[Rate | None, FieldSource(attribute="judgement.threshold")] = None
    """Threshold of the case, if the case has one and could be judged."""
    failure_origin: Annotated[Id | None, FieldSource(attribute="judgement.origin")] = None
    """Origin of the failure, such as `assertion`, `runner` or `limit`."""
    failure_class: Annotated[FailureClassEntry | None, FieldSource(attribute="judgement.failure_class")] = None
    """The [failure class](#failure-classes) of the execution, if it has one."""
    error: Annotated[ErrorEntry | None, FieldSource(read=False, compute=error_of)] = None
    """The reason for the status, if the status is not `passed`."""
    outcomes: Annotated[Several[OutcomeEntry], FieldSource(attribute="judgement.outcomes")]
    """Outcomes of the assertions in the session that decided the status."""
    duration_ms: Count
    """Mean duration of the green sessions in milliseconds or, if no session is green, of the last session of each
    repetition."""
    usage: UsageEntry
    """Mean numbers of tokens and characters of a session, over the same sessions as in `durationMs`."""
    cost_usd: Annotated[Usd | None, FieldSource(attribute="cost.usd")]
    """Total cost of all sessions in US dollars, including questions to the [judge](configuration.md#the-judge); null if
    a part of this cost is unknown."""
    cost_source: Annotated[
        Literal["reported", "computed", "unknown"], FieldSource(attribute="cost.source", always=True)
    ] = "unknown"
    """Source of the cost. `reported`: the agent reported the cost. `computed`: at least a part of it, such as the cost
    of the judge, was computed from prices."""
    model: Id | None
    """Model that the agent reports or, if it reports none, the model with which it was started; null if both are
    unknown."""
    version: Id | None = None
    """Version of the agent's CLI, as the agent reports it."""
    session_id: Id | None = None
    """Id of the session that decided the status, as the agent reports it."""
    attempts: Several[AttemptEntry]
    """All sessions of the execution, in the order in which they ran; empty for a reused result."""
    samples: Annotated[SamplesEntry | None, FieldSource(compute=several_samples, read=False)] = None
    """Counts of passed and judged sessions without retries; present only if there are several of them."""
    flaky: Annotated[bool, FieldSource(compute=is_flaky, read=False)] = False
    """Whether the execution is [flaky](../how-to/flaky-cases.md)."""
    findings: Several[FindingEntry] = ()
    """Findings: [leaked keys](#leaked-keys), [text that addresses the judge](#text-that-addresses-the-judge), and
    differences of the [environment](#environment-of-a-session)."""
    trigger: TriggerEntry | None = None
    """For a [trigger query](skills-under-test.md#trigger-queries): in how many repetitions the agent loaded the
    skill."""
    quarantine: QuarantineItem | None = None
    """For a result in [quarantine](../how-to/flaky-cases.md): the entry in the quarantine file."""
    inputs: InputsEntry | None = None
    """With a [store](command-line.md#baselines): digests that show whether the inputs of two runs are equal. Each
    digest has 16 hexadecimal digits."""
    reused: ReusedEntry | None = None
    """For a result that was [reused from the store](command-line.md#reusing-results): the earlier run. Such a result
    has empty `attempts` and `outcomes`, and its own `costUsd` is null."""
    artifact_dir: Annotated[ArtifactDir | None, FieldSource(attribute="directory")]
    """Folder with the artifacts of the session that decided the status, relative to the run directory; null if there
    are no artifacts."""
    prompt: Annotated[Text, SHARED] | None = None
    """The prompt of the case."""
    final_output: Annotated[Text | None, FieldSource(convert=end_of_output)] = None
    """The last {MAX_FINAL_OUTPUT_CHARACTERS:,} characters of the agent's final output."""

    def attributes(self) -> dict[str, object]:
        """Return failure and reason; see ``error_of``."""
        if not self.error:
            return {}
        if self.error.name == self.status:
            return {"judgement.reason": self.error.message}
        return {"judgement.failure": read(ErrorEntry, self.error)}


class SuiteHead(MappedModel):
    """A suite."""

    noun: ClassVar = BenchmarkSuite

    path: Path
    """Path of the suite, relative to the root of the repository."""
    name: Id
    """Name of the suite."""
    format: Id
    """Format of the suite."""
    digest: Annotated[str, Field(pattern=DIGEST)] | None = None
    """SHA-256 of the suite file, in hexadecimal digits. For an AgentV suite with tests in other files: SHA-256 of the
    list of these files and their digests."""
    template_digest: Annotated[str, Field(pattern=DIGEST)] | None = None
    """SHA-256 of the list of the files in the workspace templates and their digests, in hexadecimal digits."""
    changed: SuiteChange | None = None
    """After a [comparison](command-line.md#suites-of-stored-runs) with a checkout: how the suite differs from the suite
    in the checkout. `differs`: it has another digest, or none. `added`: it is not in the checkout."""


class SuiteEntry(SuiteHead):
    """A suite and the results of its cases, in the order of the plan."""

    results: Several[ResultEntry]
    """Results of the suite, one entry for each execution."""
    other_arms: Several[ResultEntry] = ()
    """Results in non-deciding [arms](../how-to/arms.md). The totals include only the cost, the tokens and the retries
    of these results."""
    quarantined: Several[ResultEntry] = ()
    """Results in [quarantine](../how-to/flaky-cases.md). The totals include only the cost, the tokens and the retries
    of these results."""


class WarningEntry(MappedModel):
    """Something that a user should fix."""

    noun: ClassVar = Problem

    path: Annotated[Path | None, part_of_location("path")] = None
    """Path of the file that the warning is about, relative to the root of the repository."""
    line: Annotated[LineOrColumn | None, part_of_location("line")] = None
    """Line number in the file, counted from 1."""
    column: Annotated[LineOrColumn | None, part_of_location("column")] = None
    """Column number in the line, counted from 1."""
    message: Annotated[Text, FieldSource(compute=lambda problem: str(replace(problem, location=None)))]
    """Text of the warning."""

    def attributes(self) -> dict[str, object]:
        if self.path is None:
            return {}
        return {"location": Location(path=self.path, line=self.line, column=self.column)}


class Results(MappedModel):
    """A results file."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    """Version of the schema of this file."""
    tool: ToolEntry
    """The program that wrote the file."""
    run: RunEntry
    """The run: when and how it ran, what it was compared with, and its verdict."""
    totals: TotalsEntry
    """Sums and rates over the executions of the run. Cost, tokens and retries include all executions; all other values
    exclude executions in [quarantine](../how-to/flaky-cases.md) and in non-deciding [arms](../how-to/arms.md)."""
    runners: Several[RunnerEntry]
    """The runners of the run, each with the totals of its executions."""
    suites: Several[SuiteEntry]
    """The suites of the run with their results, in the order of the plan."""
    warnings: Several[WarningEntry]
    """Warnings of the run, such as a warning about an unknown key, or about a file that is probably intended as a suite
    but does not run."""


def results_schema() -> dict[str, object]:
    """Return the JSON Schema of a results file."""
    return Results.model_json_schema(by_alias=True)
