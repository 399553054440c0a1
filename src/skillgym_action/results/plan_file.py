"""The file of a stored plan. It may come from a job that others control: it only selects, by names of executions.

A plan cannot make a run smaller: a shard takes part in it only if the whole plan fits its checkout.
"""

from __future__ import annotations

import json
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationError
from pydantic_core import from_json

from skillgym_action.model.errors import UsageError
from skillgym_action.model.limits import MAX_RESULTS_ERRORS, MAX_SHARDS
from skillgym_action.model.shard_plan import PlannedExecution, PlannedShard, ShardPlan
from skillgym_action.results.mapping import (
    COMMIT,
    DIGEST,
    SHARD,
    Count,
    FieldSource,
    Id,
    MappedModel,
    Rate,
    Seconds,
    Several,
    read,
    write,
)
from skillgym_action.results.results_reader import plain_message, refuse
from skillgym_action.results.run_files import read_file
from skillgym_action.text.documents.json_text import Extent, refuse_doubled, refuse_large
from skillgym_action.text.documents.located_values import NotationError
from skillgym_action.text.documents.option_values import NOT_TRUE, WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PLAN_BYTES = 64 * 1024**2
MAX_PLANNED_EXECUTIONS = 100_000  # of a stored plan
REMEDY = "write it with `skillgym-action list --matrix auto --plan FILE`"
_EXTENT = Extent(
    containers=MAX_PLANNED_EXECUTIONS + 4 * MAX_SHARDS,
    values=8 * MAX_PLANNED_EXECUTIONS,
    members=MAX_PLANNED_EXECUTIONS,
)
_ROUNDING = 1e-6  # of shares


class PlannedExecutionEntry(MappedModel):
    """An execution, by its names. ``digest``: of what its sessions depend on. ``seconds``: expected, of all of them."""

    noun: ClassVar = PlannedExecution

    suite: Id
    """Path of the suite."""
    case: Id
    """Id of the case."""
    runner: Id
    """Id of the runner."""
    arm: Id | None = None
    """Name of the arm. This key is absent if there are no arms."""
    digest: Annotated[str, Field(pattern=DIGEST)]
    """SHA-256 of what the sessions depend on, in hexadecimal digits."""
    seconds: Annotated[float, Field(ge=0, le=10**9)]
    """Expected time of all sessions of the execution, in seconds."""


class PlannedShardEntry(MappedModel):
    """A shard. ``seconds``: expected time of its sessions; ``costShare``: its part of ``max-cost``, 0 to 1."""

    noun: ClassVar = PlannedShard

    shard: Annotated[str, Field(pattern=SHARD)]
    """Number of the shard and number of shards."""
    seconds: Annotated[float, Field(ge=0, le=10**12)]
    """Expected time of all sessions of the shard, in seconds."""
    cost_share: Rate
    """Share of the shard in the budget of the run, from 0 to 1."""
    executions: Several[PlannedExecutionEntry] = ()
    """Executions that the shard runs."""


class PlanFile(MappedModel):
    """The stored plan of a run in shards."""

    noun: ClassVar = ShardPlan

    schema_: Annotated[Literal[1], NOT_TRUE, FieldSource(read=False, compute=lambda _: 1), Field(alias="schema")]
    """Version of the schema of this file."""
    version: Annotated[str, Field(max_length=100)]
    """Version of the tool that wrote the file."""
    commit: Annotated[str, Field(pattern=COMMIT)] | None = None
    """Commit of the checkout that was planned, in hexadecimal digits."""
    jobs: Annotated[int, Field(ge=1, le=100_000), WHOLE]
    """Number of sessions that run in parallel in each shard."""
    target: Seconds | None = None
    """Target for the maximum time of a shard, in seconds."""
    source: Annotated[str, Field(max_length=4_096)] | None = None
    """Source of the recorded times of executions."""
    known: Annotated[Count, WHOLE]
    """Number of executions with a recorded time."""
    shards: Annotated[Several[PlannedShardEntry], Field(min_length=1, max_length=MAX_SHARDS)]
    """The shards, in the order of their numbers."""


def plan_schema() -> dict[str, object]:
    """The JSON Schema of the file."""
    return PlanFile.model_json_schema(by_alias=True)


def render_plan(plan: ShardPlan) -> str:
    """The text of the file: a line for each execution."""
    document = write(PlanFile, plan)
    rows: list[dict[str, Any]] = list(document.pop("shards"))  # type: ignore[call-overload]
    head, shards = json.dumps(document, ensure_ascii=False)[:-1], ",\n".join(map(_shard_text, rows))
    return f'{head}, "shards": [\n{shards}\n]}}\n'


def _shard_text(row: dict[str, Any]) -> str:
    executions = ",\n  ".join(json.dumps(one, ensure_ascii=False) for one in row.pop("executions", ()))
    return f'{json.dumps(row)[:-1]}, "executions": [\n  {executions}\n ]}}'


def read_plan(file: Path, shown: str) -> ShardPlan:
    """The plan in a file; ``shown``: how messages name it. Raises UsageError for one that no run writes."""
    try:
        content = read_file(file.parent, (file.name,), MAX_PLAN_BYTES).data
    except OSError as error:
        raise UsageError(f"{shown}: {error.strerror}", remedy=REMEDY) from error
    try:
        refuse_large(content, _EXTENT)
        text = content.decode()
        refuse_doubled(text)
        found = PlanFile.model_validate(from_json(text))
    except NotationError as error:
        raise UsageError(f"{shown}: {error.message}", remedy=error.remedy or REMEDY) from error
    except ValidationError as error:
        if (count := error.error_count()) > MAX_RESULTS_ERRORS:
            raise UsageError(f"{shown}: {count:,} problems: not a stored plan", remedy=REMEDY) from error
        refuse(Path(shown), ((detail["loc"], plain_message(detail)) for detail in error.errors(include_url=False)))
        raise
    except ValueError as error:
        raise UsageError(f"{shown}: not JSON: {error}", remedy=REMEDY) from error
    plan: ShardPlan = read(PlanFile, found)
    if problem := next(_contradictions(plan), None):
        raise UsageError(f"{shown}: {problem}", remedy=REMEDY)
    return plan


def _contradictions(plan: ShardPlan) -> Iterator[str]:
    """What no plan has: shards that are not numbered, an execution that is in two of them, shares above the whole."""
    total = len(plan.shards)
    for number, shard in enumerate(plan.shards, start=1):
        if shard.shard != f"{number}/{total}":
            yield f"shards[{number - 1}].shard is {shard.shard}, and not {number}/{total}"
    seen = set()
    for one in (one for shard in plan.shards for one in shard.executions):
        if one.key in seen:
            yield f"{one} is in it twice"
        seen.add(one.key)
    if fsum(shard.cost_share for shard in plan.shards) > 1 + _ROUNDING:
        yield "the shares of the cost are more than the whole"
