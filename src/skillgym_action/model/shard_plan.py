"""A stored plan: which executions each shard of a run has, and what they are expected to take."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.execution import Execution, Key
    from skillgym_action.model.result import Result


def key_of(execution: Execution) -> Key:
    """What identifies an execution in all runs of a plan."""
    return execution.suite.path, execution.case.id, execution.runner.id, execution.arm_name


def key_of_result(result: Result) -> Key | None:
    """What identifies the execution of a result; None for an invalid case or suite, which has no runner."""
    return (result.suite.path, result.case_id, result.runner.id, result.arm) if result.runner else None


@record
class WholePlan:
    """What the shards of one run have in common: ``executions`` and ``digest`` of all of them as in ``PlanContents``.

    ``repeat``, ``require``, ``retry``: as in the options of the run.
    """

    executions: int
    digest: str
    repeat: int
    require: int | Literal["all", "any"]
    retry: int


@record
class PlannedExecution:
    """An execution of a shard. ``digest``: of what its sessions depend on; ``seconds``: expected for all of them.

    ``arm``: None if its suite has no arms.
    """

    suite: str
    case: str
    runner: str
    digest: str
    seconds: float
    arm: str | None = None

    @property
    def key(self) -> Key:
        return self.suite, self.case, self.runner, self.arm

    def __str__(self) -> str:
        return f"{self.suite} {self.case} [{self.runner}]{f' {self.arm}' if self.arm else ''}"


@record
class PlannedShard:
    """``shard``: such as ``3/64``. ``seconds``: how long its job is expected to run sessions.

    ``cost_share``: its part of the expected cost of the run, 0 to 1.
    """

    shard: str
    seconds: float
    cost_share: float
    executions: tuple[PlannedExecution, ...] = ()


@record
class ShardPlan:
    """All shards in their order. ``jobs``: sessions that run at once in each; ``target``: the seconds asked for.

    ``source``: where recorded times are from; None: there are none. ``known``: how many executions have one.
    """

    version: str
    jobs: int
    known: int
    shards: tuple[PlannedShard, ...]
    commit: str | None = None
    target: float | None = None
    source: str | None = None

    @property
    def digest(self) -> str:
        """The SHA-256 of which executions each shard has, in hexadecimal."""
        parts = [
            sorted([*one.key[:3], one.key[3] or "", one.digest] for one in part.executions) for part in self.shards
        ]
        return sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def executions(self) -> int:
        return sum(len(shard.executions) for shard in self.shards)

    def matrix(self) -> dict[str, list[dict[str, str]]]:
        """The matrix of a workflow's job with an entry for each shard."""
        return matrix_of(shard.shard for shard in self.shards)


def matrix_of(shards: Iterable[str]) -> dict[str, list[dict[str, str]]]:
    """The matrix of a workflow's job with an entry for each of the ``shards``, such as ``3/64``."""
    return {"include": [{"shard": shard} for shard in shards]}
