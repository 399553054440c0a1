"""Statuses, kinds of trouble, and failure classes, with what follows from each."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from skillgym_action.model.records import record


class Status(StrEnum):
    """Status of a session or an execution. FAILED: the agent did it wrong. ERRORED: it could not be judged."""

    PASSED = "passed"
    FAILED = "failed"
    EXPECTED_FAILED = "expected-failed"
    UNEXPECTED_PASSED = "unexpected-passed"
    ERRORED = "errored"
    SKIPPED = "skipped"


JUDGED = frozenset({Status.PASSED, Status.FAILED, Status.EXPECTED_FAILED, Status.UNEXPECTED_PASSED})
GREEN = frozenset({Status.PASSED, Status.EXPECTED_FAILED})
ASSERTIONS_PASSED = frozenset({Status.PASSED, Status.UNEXPECTED_PASSED})
"""Statuses of what was judged and whose assertions passed, whether that was expected or not."""
LIMIT = "limit"
"""Origin of sessions that failed because the agent exceeded a limit."""
MODEL = "model"
"""Origin of sessions that failed because of how the model ended its answer."""
WORKER_LOST = "worker-lost"
"""Kind of trouble of sessions whose worker was lost: their cost is unknown, their agent's counts as none."""
NOT_BY_ASSERTIONS = frozenset({LIMIT, MODEL})
"""Origins of sessions that failed whatever their assertions say."""


@record
class TroubleKind:
    """What follows from one kind of trouble.

    ``label``: its name in reports. ``origin``: the failure origin in results. ``remedy``: what to do about it.
    ``status``: of the session; FAILED where it is the agent's own failure, else ERRORED: an infrastructure failure.
    ``errored_origin``: the failure origin with ``--on-limit errored``, for limits on time, steps and money; without
    that option all assertions are evaluated after such a limit, for the record. ``is_partial``: what is known of the
    session is a part of it that no assertion reads. ``retries``: how often the session is retried. ``stops_after``:
    after so many executions with it, and no session that worked between them, the other executions of the runner are
    errored without a session; 0: never.
    """

    label: str
    origin: str
    remedy: str
    status: Literal[Status.FAILED, Status.ERRORED] = Status.ERRORED
    errored_origin: str | None = None
    is_partial: bool = False
    retries: int = 0
    stops_after: int = 0

    @property
    def stops_runner(self) -> bool:
        """Whether the first session with it shows that no other session of the runner can work."""
        return self.stops_after == 1


TROUBLES: dict[str, TroubleKind] = {
    "auth": TroubleKind(
        label="Authentication failed",
        origin="runner",
        stops_after=1,
        remedy="check the runner's API key and that the job may read the secret",
    ),
    "rate-limit": TroubleKind(
        label="Rate limit",
        origin="runner",
        retries=2,
        remedy="run fewer sessions in parallel (--jobs) or raise the quota",
    ),
    "quota": TroubleKind(
        label="Quota exhausted",
        origin="runner",
        stops_after=1,
        remedy="check the plan, credit and spending limit of the account that the key belongs to",
    ),
    "content-policy": TroubleKind(
        label="Content policy",
        origin="runner",
        remedy="the service refused the request or its answer; change the prompt, or use another model",
    ),
    "provider": TroubleKind(
        label="Provider error", origin="runner", retries=2, remedy="the model's service failed; run again later"
    ),
    "network": TroubleKind(
        label="Network error",
        origin="runner",
        retries=2,
        stops_after=2,
        remedy="check the address of the service, name resolution, proxy and firewall of the machine",
    ),
    "model-rejected": TroubleKind(
        label="Rejected model",
        origin="model-rejected",
        stops_after=1,
        remedy="use a model that this agent and this key can access",
    ),
    "agent-missing": TroubleKind(
        label="Agent missing",
        origin="runner",
        stops_after=1,
        remedy="install the agent's CLI, or set agent.command to its path",
    ),
    "mcp-server": TroubleKind(
        label="MCP server failed",
        origin="runner",
        remedy="start the server as the agent does, and read the agent's output: what names the server needs it",
    ),
    "timeout": TroubleKind(
        label="Timeout",
        origin=LIMIT,
        status=Status.FAILED,
        errored_origin="timeout",
        remedy="raise the case's timeout, or make the task smaller",
    ),
    "max-steps": TroubleKind(
        label="Max steps exceeded",
        origin=LIMIT,
        status=Status.FAILED,
        errored_origin="max-steps",
        is_partial=True,
        remedy="raise --max-steps, or make the task smaller",
    ),
    "budget-exceeded": TroubleKind(
        label="Budget exceeded",
        origin=LIMIT,
        status=Status.FAILED,
        errored_origin="runner",
        remedy="raise the case's budget, or make the task smaller",
    ),
    "resource-limit": TroubleKind(
        label="Resource limit exceeded",
        origin=LIMIT,
        status=Status.FAILED,
        remedy="raise the limit (--limits, limits of the suite's workspace), or make the task smaller",
    ),
    "out-of-memory": TroubleKind(
        label="Out of memory",
        origin=LIMIT,
        status=Status.FAILED,
        remedy="raise the container's memory limit (limits.memory of the suite's workspace), or make the task smaller",
    ),
    "context-exceeded": TroubleKind(
        label="Context window exceeded",
        origin=MODEL,
        status=Status.FAILED,
        remedy="make the task smaller, attach fewer files, or use a model with a larger context window",
    ),
    "output-limit": TroubleKind(
        label="Output limit reached",
        origin=MODEL,
        status=Status.FAILED,
        remedy="ask for shorter answers, or raise the agent's limit of output tokens",
    ),
    "refused": TroubleKind(
        label="Refused by the model",
        origin=MODEL,
        status=Status.FAILED,
        remedy="read the answer in the session report; change the prompt, or use another model",
    ),
    "runner-crash": TroubleKind(
        label="Runner crash", origin="runner", retries=1, remedy="read stdout.log and stderr.log of the session"
    ),
    "no-model-call": TroubleKind(
        label="No model call",
        origin="runner",
        remedy="change the prompt: one that begins with a slash is a command of the CLI itself to some agents",
    ),
    "workspace": TroubleKind(label="Workspace", origin="workspace", remedy="check the suite's workspace settings"),
    "container": TroubleKind(
        label="Container",
        origin="workspace",
        retries=1,
        remedy="check the container engine with `skillgym-action doctor`, and the image of the suite's workspace",
    ),
    "workspace-bootstrap": TroubleKind(
        label="Workspace bootstrap",
        origin="workspace-bootstrap",
        remedy="read the bootstrap's logs in the execution's artifacts",
    ),
    "collection": TroubleKind(label="Artifact collection", origin="collection", remedy="read the session's artifacts"),
    "normalization": TroubleKind(
        label="Report normalization",
        origin="normalization",
        remedy="the agent's output could not be parsed; compare the agent's version with the verified one",
    ),
    "snapshot": TroubleKind(
        label="Snapshot verification", origin="snapshot", remedy="update the snapshots, or reduce the number of tokens"
    ),
    "assert-hook": TroubleKind(
        label="Assert hook crash",
        origin="assert-hook",
        remedy="read the message; `check --nop` and `check --oracle` find broken checks",
    ),
    "grader": TroubleKind(
        label="Grader error",
        origin="grader",
        remedy="set up what the message names, or fix the assertion: it neither passed nor failed",
    ),
    WORKER_LOST: TroubleKind(
        label="Worker lost",
        origin="worker",
        remedy="check memory, evictions and network of the workers; raise --lost-retries if workers are often replaced",
    ),
    "worker-answer": TroubleKind(
        label="Answer of a worker refused",
        origin="worker",
        remedy="read the message; compare the worker's checkout, version and disk with the coordinator's",
    ),
    "suite-invalid": TroubleKind(label="Invalid suite", origin="suite", remedy="run `skillgym-action check`"),
}


@record
class FailureClass:
    """A group of failures with one cause. ``id`` is stable, ``label`` is for people."""

    id: str
    label: str


ASSERTION_FAILURE = FailureClass(id="assertion", label="Assertion failure")
UNKNOWN_COST = FailureClass(id="unknown-cost", label="Unknown cost")  # of skipped executions
UNEXPECTED_PASS = FailureClass(id="unexpected-passed", label="Unexpected pass")
RED = (Status.FAILED, Status.UNEXPECTED_PASSED, Status.ERRORED)
