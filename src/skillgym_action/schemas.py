"""What a results file holds, schema 1: validated whenever one is read, and the source of its JSON Schema."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from skillgym_action.verdicts import Status

Count = Annotated[int, Field(ge=0)]
Usd = Annotated[float, Field(ge=0)]
Rate = Annotated[float, Field(ge=0, le=1)]


class _Model(BaseModel):
    """camelCase on disk, snake_case here; no key that is not known."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True, allow_inf_nan=False)


class Tool(_Model):
    """The program that wrote the file."""

    name: Literal["skillgym-action"]
    version: str


class Decision(_Model):
    """Green or red, and why in words."""

    passed: bool
    exit_code: int
    reasons: tuple[str, ...]


class Run(_Model):
    """One invocation. Times are ISO 8601 in UTC; ``decision`` is null before the gate."""

    id: str
    status: Literal["finished", "cancelled"]
    started_at: str
    ended_at: str
    duration_ms: Count
    command: str
    commit: str | None = None
    shard: str | None = None
    decision: Decision | None


class Tokens(_Model):
    """Tokens on one scale for all agents; null is unknown."""

    input: Count | None
    output: Count | None
    reasoning: Count | None
    cache: Count | None
    total: Count | None


class Totals(_Model):
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

    id: str
    agent: str
    model: str | None
    version: str | None


class Location(_Model):
    """A place in a file, relative to the repository root; lines count from 1."""

    path: str
    line: int | None = None


class FailureClass(_Model):
    """A stable id that groups failures with one cause."""

    id: str
    label: str


class Error(_Model):
    """Why an execution did not simply pass."""

    name: str
    message: str
    location: Location | None = None


class Outcome(_Model):
    """One assertion's answer; ``passed`` null: it could not tell."""

    assertion: str
    type: str
    passed: bool | None
    score: float | None = None
    explanation: str
    evidence: str | None = None


class Usage(_Model):
    """Tokens and characters of an execution, averages over repetitions; null is unknown."""

    input_tokens: Count | None
    output_tokens: Count | None
    reasoning_tokens: Count | None
    cache_tokens: Count | None
    total_tokens: Count | None
    input_chars: Count
    output_chars: Count
    reasoning_chars: Count


class Attempt(_Model):
    """One session of an execution."""

    repetition: Count
    session: Count
    status: Status
    failure_class: FailureClass | None = None
    duration_ms: Count
    artifact_dir: str


class Result(_Model):
    """One execution. ``runnerId`` is null for a case that could not be used; ``finalOutput`` is the end of it."""

    case_id: str
    runner_id: str | None
    tags: tuple[str, ...]
    location: Location
    status: Status
    passed: bool
    score: float | None = None
    failure_origin: str | None = None
    failure_class: FailureClass | None = None
    error: Error | None = None
    outcomes: tuple[Outcome, ...]
    duration_ms: Count
    usage: Usage
    cost_usd: Usd | None
    model: str | None
    attempts: tuple[Attempt, ...]
    artifact_dir: str | None
    prompt: str | None = None
    final_output: str | None = None


class Suite(_Model):
    """A suite and the results of its cases, in the order of the plan."""

    path: str
    name: str
    format: str
    results: tuple[Result, ...]


class Warning(_Model):  # noqa: A001 - the word of the file
    """Something a user should mend."""

    path: str | None = None
    line: int | None = None
    message: str


class Results(_Model):
    """A results file."""

    model_config = ConfigDict(title="skillgym-action results")

    schema_: Annotated[Literal[1], Field(alias="schema")]
    tool: Tool
    run: Run
    totals: Totals
    runners: tuple[Runner, ...]
    suites: tuple[Suite, ...]
    warnings: tuple[Warning, ...]


def results_schema() -> dict[str, object]:
    """The JSON Schema of a results file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Results.model_json_schema(by_alias=True)}
