"""Engines: where sessions run. The contract, and the values that coordinator and workers exchange.

Without an engine, which users call ``local``, ``execute`` calls ``run_session`` in its own process and nothing of this
package is imported. With one, the coordinator plans, counts, keeps the journal and reports; workers run the sessions.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Protocol

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PROTOCOL = 1
"""The number of what coordinator and workers exchange; it changes with the meaning of a ticket or an answer."""


@record
class Ticket:
    """Which session a worker is to run: its execution, repetition and number, both from 1.

    ``digest``: what the coordinator planned; a worker whose own plan has another one refuses the ticket.
    ``shared_workspace``: the name of the workspace that sessions share, which one process of one worker therefore runs;
    None: any process.
    """

    suite: str
    case: str
    runner: str
    digest: str
    repetition: int
    session: int
    arm: str | None = None
    shared_workspace: str | None = None

    def text(self) -> str:
        """The ticket as JSON, about 300 bytes, in one line."""
        return json.dumps({name: value for name, value in asdict(self).items() if value is not None})


@record
class Announcement:
    """What workers are sent once per run, before its tickets.

    ``run``: an id of this run. ``settings``: what the plan and its sessions depend on, as JSON, without the value of
    any environment variable. ``cwd``: the working directory, relative to the root of the files. ``files``: a bundle of
    the checkout's files as the plan sees them. ``digest``: of the bundle, SHA-256 in hexadecimal digits. ``has_git``:
    whether the checkout is a git repository.
    ``versions``: of the tool, of Python (minor), and the number of the protocol; workers with others are refused.
    """

    run: str
    settings: str
    cwd: str
    files: bytes
    digest: str
    has_git: bool
    versions: Versions


@record
class Versions:
    """What coordinator and worker must have in common."""

    tool: str
    python: str
    protocol: int = PROTOCOL

    def __str__(self) -> str:
        """Such as ``skillgym-action 1.2.0, Python 3.12, protocol 1``."""
        return f"skillgym-action {self.tool}, Python {self.python}, protocol {self.protocol}"


@record
class SessionLine:
    """What a worker answers: not validated yet. ``line``: of the journal. ``archive``: a bundle of the artifacts.

    The bundle has the folder ``session`` and, if the workspace was archived, the folder ``workspace``.
    """

    line: bytes
    archive: bytes


class WorkerLostError(Exception):
    """The worker of a ticket does not answer any more. ``began``: when its session was sent, in seconds of the clock.

    What the session did, and what it cost, is unknown. Unless ``sent``, the session did not begin: it did nothing, and
    cost nothing.
    """

    def __init__(self, worker: str, began: float, *, sent: bool = True) -> None:
        super().__init__(f"the worker {worker} was lost")
        self.worker, self.began, self.sent = worker, began, sent


class RefusedTicketError(Exception):
    """The worker does not run the session. ``reason``: a sentence, untrusted text.

    ``of_worker``: it can run none of this run, such as without a key; another worker may. ``began``: an error ended the
    session after it had begun, and its cost is unknown.
    """

    def __init__(self, reason: str, *, of_worker: bool = False, began: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.of_worker, self.began = reason, of_worker, began


class EngineCancelledError(Exception):
    """The session was given up, since the run is cancelled."""


class Engine(Protocol):
    """Runs sessions on workers. Methods may be called by several threads; ``open`` and ``close`` by one.

    Nothing is repeated: whether a lost session runs again, and where, is decided by the caller.
    """

    def open(self, announcement: Announcement) -> None:
        """Connect, and send the announcement to all workers, also to those that come later.

        Raises EngineError if the cluster cannot be reached, UsageError if it must not be used.
        """
        ...

    def slots(self) -> Sequence[tuple[str, int]]:
        """The workers that can take tickets of this run, and how many sessions each runs at once; 0: not ready yet.

        Sessions that the caller is running count. Raises EngineError once the cluster is lost.
        """
        ...

    def run(self, ticket: Ticket, worker: str, judging: Callable[[], None]) -> SessionLine:
        """Run a session on a worker and wait for its end. ``judging`` is called when its judgement starts commands.

        Raises WorkerLostError, RefusedTicketError, EngineCancelledError; EngineError if the cluster is lost.
        """
        ...

    def cancel(self) -> None:
        """End all sessions; ``run`` raises EngineCancelledError from now on. Safe in any thread."""
        ...

    def close(self) -> None:
        """End what is left of the run on the workers, and the connection."""
        ...
