"""What a results file holds, schema 1: validated whenever one is read, and the source of its JSON Schema.

A file may come from anywhere: numbers and texts have bounds that no run meets, and no path leads upwards.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, FailFast, Field
from pydantic.alias_generators import to_camel

from skillgym_action.model.suite import SuiteChange
from skillgym_action.model.verdicts import Status

_PART = r"(?:[^/\x00.][^/\x00]*|\.[^/\x00.][^/\x00]*|\.\.[^/\x00]+)"  # of a path: neither . nor ..
_KEY = r"[A-Za-z0-9_*-][A-Za-z0-9_.*-]*"  # an asterisk stands where a secret was
PATH = rf"^/?(?:{_PART}/)*{_PART}$"
ARTIFACTS = rf"^(?:{_KEY}/)*{_KEY}$"
NAME = r"^[^/\x00]*$"
COMMIT = r"^[0-9a-f]{1,64}$"
DIGEST = r"^[0-9a-f]{64}$"
SHARD = r"^[1-9][0-9]{0,5}/[1-9][0-9]{0,5}$"
TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z$"
MEANINGS = {
    PATH: "a path without steps upwards",
    ARTIFACTS: "a path below the run directory, without steps upwards",
    NAME: "a name without slashes",
    COMMIT: "a commit in hexadecimal digits",
    DIGEST: "64 hexadecimal digits",
    SHARD: "I/N, such as 2/4",
    TIME: "a time in UTC, such as 2025-01-02T03:04:05Z",
}
"""What a text that matches the pattern is."""


def _moment(text: str) -> str:
    datetime.fromisoformat(text)
    return text


Count = Annotated[int, Field(ge=0, le=10**15)]
Place = Annotated[int, Field(ge=1, le=10**9)]
Usd = Annotated[float, Field(ge=0, le=10**9)]
Rate = Annotated[float, Field(ge=0, le=1)]
Id = Annotated[str, Field(max_length=65_536)]
Text = Annotated[str, Field(max_length=32 * 1024 * 1024)]  # longer than a suite file may be
Path = Annotated[str, Field(max_length=4_096, pattern=PATH)]
ArtifactDir = Annotated[str, Field(max_length=1_024, pattern=ARTIFACTS)]
Time = Annotated[str, Field(pattern=TIME), AfterValidator(_moment)]
T = TypeVar("T")
# A million wrong ones are told as one, since each takes memory to be told. JSON has lists and texts, hence not strict.
Several = Annotated[tuple[T, ...], Field(strict=False), FailFast()]
State = Annotated[Status, Field(strict=False)]


class Strict(BaseModel):
    """camelCase on disk, snake_case here; no key that is not known."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Tool(Strict):
    """The program that held the run."""

    name: Literal["skillgym-action"]
    version: Id


class Decision(Strict):
    """Green or red, and why in words."""

    passed: bool
    exit_code: Annotated[int, Field(ge=0, le=255)]
    reasons: Several[Text]


class SuitesFrom(Strict):
    """The folder that suites and the configuration were read from, such as a checkout of the base commit.

    Suites of the checkout that agents worked on: ``added`` are not in the folder and were not run; of ``changed`` and
    ``removed`` the folder's were run.
    """

    folder: Id
    commit: Annotated[str, Field(pattern=COMMIT)] | None = None
    added: Several[Path] = ()
    changed: Several[Path] = ()
    removed: Several[Path] = ()
    configuration_differs: bool = False


class Run(Strict):
    """One invocation, or several that were merged. Times are ISO 8601 in UTC; ``decision`` is null before the gate.

    ``incomplete`` says what belongs to the run and is not in it.
    """

    id: Annotated[str, Field(max_length=255, pattern=NAME)]
    status: Literal["finished", "cancelled"]
    started_at: Time
    ended_at: Time
    duration_ms: Count
    command: Id
    commit: Annotated[str, Field(pattern=COMMIT)] | None = None
    shard: Annotated[str, Field(pattern=SHARD)] | None = None
    incomplete: Several[Text] = ()
    suites_from: SuitesFrom | None = None
    decision: Decision | None


class Tokens(Strict):
    """Tokens on one scale for all agents; null is unknown."""

    input: Count | None
    output: Count | None
    reasoning: Count | None
    cache: Count | None
    total: Count | None


class Totals(Strict):
    """Sums. ``costUsd`` is the known part, ``costComplete`` whether that is all; ``passRate`` is of the judged."""

    executions: Count
    judged: Count
    passed: Count
    failed: Count
    expected_failed: Count
    unexpected_passed: Count
    errored: Count
    skipped: Count
    pass_rate: Rate | None
    cost_usd: Usd | None
    cost_complete: bool
    tokens: Tokens
    retries: Count


class Runner(Totals):
    """A configured agent, and the sums of its executions."""

    id: Id
    agent: Id
    model: Id | None
    version: Id | None


class Location(Strict):
    """A place in a file, relative to the repository root; lines and columns count from 1."""

    path: Path
    line: Place | None = None
    column: Place | None = None


class FailureClass(Strict):
    """A stable id that groups failures with one cause."""

    id: Id
    label: Id


class Error(Strict):
    """Why an execution did not simply pass."""

    name: Id
    message: Text
    location: Location | None = None


class Outcome(Strict):
    """One assertion's answer; ``passed`` null: it could not tell."""

    assertion: Text
    type: Id
    passed: bool | None
    score: float | None = None
    weight: Annotated[float, Field(ge=0)] = 1.0
    explanation: Text
    evidence: Text | None = None
    location: Location | None = None
    failure_class: FailureClass | None = None


class Usage(Strict):
    """Tokens and characters of an execution, averages over repetitions; null is unknown."""

    input_tokens: Count | None
    output_tokens: Count | None
    reasoning_tokens: Count | None
    cache_tokens: Count | None
    total_tokens: Count | None
    input_chars: Count
    output_chars: Count
    reasoning_chars: Count


class Attempt(Strict):
    """One session of an execution."""

    repetition: Count
    session: Count
    status: State
    failure_class: FailureClass | None = None
    message: Text | None = None
    duration_ms: Count
    artifact_dir: ArtifactDir


class Finding(Strict):
    """A key was found in a file of a session's artifacts, which has ``***`` in its place."""

    id: Literal["leak-detected"]
    kind: Id
    where: Text


class Result(Strict):
    """One execution. ``runnerId`` is null for a case that could not be used; ``finalOutput`` is the end of it.

    ``index`` is its place in the plan, of which a shard has only some.
    """

    index: Count | None = None
    case_id: Id
    runner_id: Id | None
    tags: Several[Id]
    location: Location
    status: State
    passed: bool
    expected_fail: bool = False
    score: float | None = None
    threshold: Rate | None = None
    failure_origin: Id | None = None
    failure_class: FailureClass | None = None
    error: Error | None = None
    outcomes: Several[Outcome]
    duration_ms: Count
    usage: Usage
    cost_usd: Usd | None
    cost_source: Literal["reported", "computed", "unknown"] = "unknown"
    model: Id | None
    version: Id | None = None
    session_id: Id | None = None
    attempts: Several[Attempt]
    findings: Several[Finding] = ()
    artifact_dir: ArtifactDir | None
    prompt: Text | None = None
    final_output: Text | None = None


class Suite(Strict):
    """A suite and the results of its cases, in the order of the plan.

    ``digest`` is the SHA-256 of its file, or of a list of its files where its cases are in several. ``changed`` says
    why the suite is not one of the commit it was compared with; see ``SuiteChange``.
    """

    path: Path
    name: Id
    format: Id
    digest: Annotated[str, Field(pattern=DIGEST)] | None = None
    changed: SuiteChange | None = None
    results: Several[Result]


class Warning(Strict):  # noqa: A001 - the word of the file
    """Something a user should mend."""

    path: Path | None = None
    line: Place | None = None
    column: Place | None = None
    message: Text


class Results(Strict):
    """A results file."""

    model_config = ConfigDict(title="skillgym-action results")

    schema_: Annotated[Literal[1], Field(alias="schema")]
    tool: Tool
    run: Run
    totals: Totals
    runners: Several[Runner]
    suites: Several[Suite]
    warnings: Several[Warning]


def results_schema() -> dict[str, object]:
    """The JSON Schema of a results file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Results.model_json_schema(by_alias=True)}
