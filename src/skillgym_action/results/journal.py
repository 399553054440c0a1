"""The journal: a file that a run appends to, so that it can be resumed after it was killed.

The first line has the settings of the run. Then each session has up to three lines: it was started, its judging began
to run commands, and its result, as ``results.json`` has it.
"""

from __future__ import annotations

import hashlib
from dataclasses import field, replace
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.json_codec import to_json
from skillgym_action.model.records import record
from skillgym_action.model.version import __version__
from skillgym_action.results.results_file import json_line, result_row
from skillgym_action.system.clock import iso_timestamp
from skillgym_action.text.secret_forms import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

    from skillgym_action.model.arm import Arm
    from skillgym_action.model.errors import Problem
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.report import JobAttempt
    from skillgym_action.model.result import SessionResult


BASE_COMMIT = "base-commit"  # of the settings in a journal: the commit beside which the run is held


@record
class JournalHead:
    """How a run began. ``settings``: what finished sessions and missing ones should have in common.

    ``job``: the attempt of a job on GitHub that it began in, if it did.
    """

    began: datetime
    command: str
    commit: str | None
    settings: Mapping[str, float | str | None]
    job: JobAttempt | None = None
    version: str = __version__

    def line(self) -> str:
        """The journal's first."""
        return json_line(
            {
                "schema": 1,
                "tool": {"name": "skillgym-action", "version": self.version},
                "startedAt": iso_timestamp(self.began),
                "command": self.command,
                "commit": self.commit,
                "settings": dict(self.settings),
                **({"job": to_json(self.job)} if self.job else {}),
            }
        )


@record
class SessionCosts:
    """What sessions on a runner of a suite cost, agent and judge each; None: unknown."""

    suite: str
    runner: str
    costs: tuple[float | None, float | None]


@record
class Journal:
    """The journal of this run: when it began and, if it was resumed, its earlier sessions.

    ``digests``: of all executions, by index. ``sessions``: those that need not run again, by index.
    ``spent``: costs of all sessions, including those that no longer count. ``attempt``: of the job on GitHub that this
    run is in. ``repeated``: the attempts and costs of sessions that no longer count. ``stored_attempt``: the last one
    whose results were added to the store, 0: none.
    """

    began: datetime
    digests: Mapping[int, str]
    sessions: Mapping[int, tuple[SessionResult, ...]] = field(default_factory=dict)
    spent: tuple[SessionCosts, ...] = ()
    warnings: tuple[Problem, ...] = ()
    attempt: int | None = None
    repeated: tuple[tuple[int | None, float | None], ...] = ()
    stored_attempt: int = 0


def digest(execution: Execution, root: Path, inputs: tuple[str, ...] = ()) -> str:
    """Return the identity of an execution: its sessions count only while what they depend on stays the same.

    That is suite, prompt, inputs, arm, agent and model. It does not depend on limits, keys, and the path of the
    repository, ``root``. ``inputs``: digests of the skills under test, input files and templates of its sessions.
    """
    agent = replace(execution.runner.agent, budget=None, timeout=None)  # its repr has no keys
    identity = (
        (execution.suite.path, execution.suite.digest, execution.case.id, execution.case.prompt),
        (execution.runner.id, agent, execution.model, execution.directory),
        *([(*execution.arm.identity(), _values(execution.arm))] if execution.arm else []),
        *([inputs] if inputs else []),
    )
    text = repr(identity).replace(repr(f"{root}/")[1:-1], "")
    return hashlib.sha256(text.encode()).hexdigest()


def _values(arm: Arm) -> tuple[str, ...]:
    """The values of the variables of an arm, without those of secrets."""
    return tuple(value for name, value in arm.env if not is_secret_name(name))


def event_line(event: Literal["started", "judging"], digest: str, position: tuple[int, int]) -> str:
    """The line of a session that begins, or whose commands, graders or checks are about to run.

    ``position``: the repetition, and the number of the session in it.
    """
    repetition, session = position
    return f'{{"event":"{event}","digest":"{digest}","repetition":{repetition},"session":{session}}}'


def lost_line(digest: str, position: tuple[int, int], seconds: float, charged: float | None) -> str:
    """The line of a session whose worker was lost after ``seconds``; what it cost is unknown.

    ``charged``: US dollars that budgets count for it; None: nothing is known to be enough.
    """
    repetition, session = position
    where = f'"digest":"{digest}","repetition":{repetition},"session":{session}'
    usd = "null" if charged is None else repr(float(charged))
    return f'{{"event":"lost",{where},"seconds":{max(seconds, 0.0):.3f},"chargedUsd":{usd}}}'


def stored_line(attempt: int) -> str:
    """The line that the results up to this attempt of the job were added to the store."""
    return f'{{"event":"stored","attempt":{attempt}}}'


def session_line(digest: str, attempted: SessionResult) -> str:
    """The line of a session that has ended. Without the prompt, which the suite has."""
    row = result_row(replace(attempted.result, prompt=None))
    trouble = {"trouble": to_json(attempted.trouble)} if attempted.trouble else {}
    costs = {"agentUsd": attempted.agent_cost.usd, "judgeUsd": attempted.judgement.cost_usd}
    return json_line({"digest": digest, "suite": attempted.result.suite.path, **costs, **trouble, "result": row})
