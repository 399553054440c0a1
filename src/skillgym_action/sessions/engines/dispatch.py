"""Gives sessions to workers: waits for a free slot, runs the sessions of lost workers again, checks answers."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING

from skillgym_action.model.errors import EngineError
from skillgym_action.model.limits import MAX_REFUSAL_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.model.session_report import Cost, Trouble
from skillgym_action.model.verdicts import WORKER_LOST
from skillgym_action.sessions.engines import EngineCancelledError, RefusedTicketError, Ticket, WorkerLostError
from skillgym_action.sessions.engines.answers import (
    NOTHING_SPENT,
    InvalidAnswerError,
    accepted,
    session_folders,
    troubled_session,
)
from skillgym_action.sessions.hooks import shared_workspace_name
from skillgym_action.sessions.judge import CANCELLED_JUDGEMENT
from skillgym_action.text.escaping import terminal_line
from skillgym_action.text.words import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.judgement import Judgement
    from skillgym_action.model.result import SessionResult
    from skillgym_action.results.run_directory import RunDirectory
    from skillgym_action.services import Services
    from skillgym_action.sessions.engines import Engine, SessionLine
    from skillgym_action.sessions.run_limits import ProviderSlot
    from skillgym_action.settings.slices import EngineOptions

    Accept = Callable[[SessionLine, Ticket, Execution, RunDirectory], SessionResult]

OF_WORKER = ("agent-missing", "auth")  # classes of trouble that sessions on another worker may not have
RunnerKey = tuple[str, str, str | None]
POLL_SECONDS = 0.2
PATIENCE_SECONDS = 5.0  # after which a line says that the run waits for workers
LOSSES_IN_A_ROW = 3  # after which a worker gets sessions only if there is no other one
LOST = ""  # in place of the worker of a shared workspace
WORKSPACE_LOST = "the shared workspace of the sessions before was lost with its worker"


@record
class Notices:
    """What the caller does meanwhile.

    ``slot``: that of the session at its provider, which is taken together with a slot; after a session it is still
    taken. ``refusal``: asked once both are taken; a judgement: do not start the session. ``started``: the session is
    sent. ``judging``: commands of its judgement begin. ``lost``: with its worker, after so many seconds.
    """

    slot: ProviderSlot
    refusal: Callable[[], Judgement | None]
    started: Callable[[], None]
    judging: Callable[[], None]
    lost: Callable[[float], None]


@record(kw_only=False)
class _Request:
    """A session that is to run."""

    execution: Execution
    ticket: Ticket
    notices: Notices
    lost_on: set[str] = field(default_factory=set)

    @property
    def position(self) -> tuple[int, int]:
        return self.ticket.repetition, self.ticket.session

    @property
    def runner(self) -> RunnerKey:
        """Other suites and arms may have another CLI or key for a runner of the same name."""
        return self.ticket.suite, self.ticket.runner, self.ticket.arm


class Dispatcher:
    """The sessions of one run on the workers of an engine. Thread-safe."""

    def __init__(self, engine: Engine, services: Services, options: EngineOptions, accept: Accept = accepted) -> None:
        """``accept`` checks answers and keeps their artifacts."""
        self._engine, self._services, self._options, self._accept = engine, services, options, accept
        self._turns: dict[tuple[str, frozenset[str], frozenset[str]], threading.Lock] = {}
        self._changed = threading.Condition()
        self._taken: Counter[str] = Counter()
        self.most_slots = 0  # that all workers together had
        self._unusable: dict[str, str] = {}
        self._losses_in_a_row: Counter[str] = Counter()
        self._troubled: dict[RunnerKey, set[str]] = {}
        self._workspace_workers: dict[str, str] = {}  # by shared workspace that has finished sessions
        self._without_workers: float | None = None
        self._noted = False
        self._thread = threading.local()

    def run(
        self, execution: Execution, position: tuple[int, int], digest: str, notices: Notices
    ) -> SessionResult | Judgement:
        """Run one session, on another worker if its worker is lost. A judgement: it was not started, and why.

        Raises EngineError if the cluster is lost, or has no worker.
        """
        self.settle()
        request = _Request(execution, ticket_of(execution, position, digest), notices)
        losses, is_started = 0, False
        while True:
            notices.slot.give_back()  # of a session that was lost, or of a worker that cannot run it
            worker = self._acquire(request)
            try:
                if worker is None:
                    return CANCELLED_JUDGEMENT
                if refusal := notices.refusal():
                    return refusal
                if not is_started:
                    notices.started()
                    is_started = True
                began = self._services.clock.seconds()
                try:
                    session = self._run_on(worker, request)
                except WorkerLostError as error:
                    losses += error.sent
                    session = self._lost(request, losses, error)
                except RefusedTicketError as error:
                    session = self._refused(request, worker, error, began)
                if session:
                    self._thread.worker, worker = worker, None  # released by ``settle``
                    return session
            except EngineCancelledError:
                return CANCELLED_JUDGEMENT
            finally:
                self._release(worker)

    def _run_on(self, worker: str, request: _Request) -> SessionResult | None:
        """Run a session on a worker. ``LOST``: do not run it, since the workspace of the sessions before is lost.

        None: this worker cannot run it, and another one may be able to. Raises as ``Engine.run``.
        """
        ticket = request.ticket
        if worker == LOST:
            return self._troubled_session(request, WORKER_LOST, WORKSPACE_LOST)
        began = self._services.clock.seconds()
        session = self._accepted(self._engine.run(ticket, worker, request.notices.judging), request, began)
        with self._changed:
            self._losses_in_a_row.pop(worker, None)
        if ticket.shared_workspace not in self._workspace_workers and self._is_left_to_others(session, request, worker):
            return None
        if ticket.shared_workspace:
            self._workspace_workers[ticket.shared_workspace] = worker
        return session

    def settle(self) -> None:
        """Release the slot of this thread's last session, once its result is counted.

        Before that another session could start in the slot, though a budget is spent or too many have failed.
        """
        worker = getattr(self._thread, "worker", None)
        self._thread.worker = None
        self._release(worker)

    # --- slots --------------------------------------------------------------------------------------

    def _acquire(self, request: _Request) -> str | None:
        """Wait until a slot and the place are free, which are then taken; the slot's worker. None: cancelled.

        ``LOST``, without a wait: the session's workspace is lost, and nothing is taken. Nothing is taken either while
        the thread waits: two threads with one of both each would wait for each other.

        Raises EngineError.
        """
        if request.ticket.shared_workspace is not None:
            return self._wait(request)
        # Of the threads that wait for the same places and workers, one looks at them, the others wait for that.
        with self._changed:
            troubled = frozenset(self._troubled.get(request.runner, ()))
        awaited = request.notices.slot.provider, troubled, frozenset(request.lost_on)
        with self._turns.setdefault(awaited, threading.Lock()):
            return self._wait(request)

    def _wait(self, request: _Request) -> str | None:
        with self._changed:
            while not self._services.cancelled:
                worker = self._free_worker(request)
                if worker == LOST:
                    return worker
                if worker and request.notices.slot.take():
                    self._taken[worker] += 1
                    return worker
                self._changed.wait(POLL_SECONDS)
        return None

    def _free_worker(self, request: _Request) -> str | None:
        """A worker with a free slot; None: there is none now. ``LOST``: the session's workspace is lost.

        Raises EngineError.
        """
        # Its slot for the workspace is there, even if it can start no other one.
        bound = self._workspace_workers.get(request.ticket.shared_workspace or "")
        connected = dict(self._engine.slots())
        if bound is not None and bound not in connected:
            return LOST
        self._unusable = {name: reason for name, reason in self._unusable.items() if name in connected}
        workers = {name: slots for name, slots in connected.items() if name not in self._unusable or name == bound}
        self.most_slots = max(self.most_slots, sum(workers.values()))
        if bound is not None:
            workers = {bound: workers[bound]}
        else:
            troubled = self._troubled.get(request.runner, set())
            losing = {name for name, losses in self._losses_in_a_row.items() if losses >= LOSSES_IN_A_ROW}
            workers = _without(losing, _without(request.lost_on, _without(troubled, workers)))
        self._check_patience(workers)
        free = {name: slots - self._taken[name] for name, slots in workers.items()}
        best = max(free, key=lambda name: free[name], default=None)
        return best if best is not None and free[best] > 0 else None

    def _check_patience(self, workers: Mapping[str, int]) -> None:
        """Raises EngineError if there is no worker for too long, or if none of the connected ones can run this plan."""
        if any(workers.values()):
            self._without_workers = None
            return
        now = self._services.clock.seconds()
        self._without_workers = began = now if self._without_workers is None else self._without_workers
        if self._unusable and not workers:
            worker, reason = next(iter(self._unusable.items()))
            raise EngineError(
                f"no worker can run this plan; {worker}: {reason}",
                remedy="fix the cause, then continue the run with --resume",
            )
        if now - began > self._options.wait:
            raise EngineError(
                f"no worker of {self._options.address} has accepted sessions for "
                f"{duration(round(self._options.wait * 1000))}",
                remedy="start workers of the same version with `skillgym-action worker`, then continue with --resume",
            )
        if now - began > PATIENCE_SECONDS and not self._noted:
            self._noted = True
            self._log(f"waiting for workers of {self._options.address}")

    def _release(self, worker: str | None) -> None:
        if worker:  # not ``LOST``, which has no slots
            with self._changed:
                self._taken[worker] -= 1
                self._changed.notify_all()

    def _leave_out(self, worker: str, reason: str) -> None:
        with self._changed:
            is_new = worker not in self._unusable
            self._unusable[worker] = reason[:MAX_REFUSAL_CHARACTERS]
        if is_new:
            self._log(f"the worker {worker} gets no sessions: {reason[:MAX_REFUSAL_CHARACTERS]}")

    def _is_left_to_others(self, session: SessionResult, request: _Request, worker: str) -> bool:
        """Whether a session did nothing, since its worker has no CLI or no valid key, and another one may have them.

        The worker then gets no more sessions of the runner. Raises EngineError.
        """
        trouble = session.trouble
        if trouble is None or trouble.kind not in OF_WORKER or not _did_nothing(session):
            return False
        with self._changed:
            troubled = self._troubled.setdefault(request.runner, set())
            is_new = worker not in troubled
            troubled.add(worker)
            is_left = any(name not in troubled and name not in self._unusable for name, _ in self._engine.slots())
        if is_new:
            reason = trouble.message[:MAX_REFUSAL_CHARACTERS]
            self._log(f"the worker {worker} gets no sessions of {request.ticket.runner}: {reason}")
        return is_left

    def _log(self, line: str) -> None:
        self._services.observer.progress(terminal_line(self._services.directory.redactor.text(line)))

    # --- results ------------------------------------------------------------------------------------

    def _accepted(self, answer: SessionLine, request: _Request, began: float) -> SessionResult:
        try:
            return self._accept(answer, request.ticket, request.execution, self._services.directory)
        except InvalidAnswerError as error:
            reason = f"the worker's answer was refused: {str(error)[:MAX_REFUSAL_CHARACTERS]}"
            seconds = self._services.clock.seconds() - began
            return self._troubled_session(request, "worker-answer", reason, Cost(), seconds)

    def _lost(self, request: _Request, losses: int, error: WorkerLostError) -> SessionResult | None:
        """The result of a session whose worker was lost; None: it runs again. If it was sent, its cost is charged."""
        workspace = request.ticket.shared_workspace
        has_workspace = workspace in self._workspace_workers
        if workspace and has_workspace:
            self._workspace_workers[workspace] = LOST
        if not error.sent:
            return None
        seconds = self._services.clock.seconds() - error.began
        request.notices.lost(seconds)
        request.lost_on.add(error.worker)
        with self._changed:
            self._losses_in_a_row[error.worker] += 1
            has_many = self._losses_in_a_row[error.worker] == LOSSES_IN_A_ROW
        if has_many:
            self._log(f"the worker {error.worker} lost {LOSSES_IN_A_ROW} sessions in a row; others are preferred")
        message = f"the worker was lost {losses} times" if losses > 1 else "the worker was lost"
        if has_workspace:
            message = WORKSPACE_LOST
        elif losses <= self._options.lost_retries:
            title = request.execution.title
            self._log(f"{title}: the worker {error.worker} was lost after {seconds:.1f} s; the session runs again")
            return None
        if workspace:
            self._workspace_workers[workspace] = LOST
        return self._troubled_session(request, WORKER_LOST, message, seconds=seconds)

    def _refused(self, request: _Request, worker: str, error: RefusedTicketError, began: float) -> SessionResult | None:
        """The result of a session that a worker refused or did not finish; None: another worker may run it."""
        if error.of_worker:
            self._leave_out(worker, error.reason)
            return None
        if not error.began:
            return self._troubled_session(
                request, "worker-answer", f"the worker did not run the session: {error.reason}"
            )
        if request.ticket.shared_workspace:  # its process has ended, with the workspace
            self._workspace_workers[request.ticket.shared_workspace] = LOST
        seconds = self._services.clock.seconds() - began
        return self._troubled_session(request, "worker-answer", f"the worker failed: {error.reason}", Cost(), seconds)

    def _troubled_session(
        self, request: _Request, kind: str, message: str, cost: Cost = NOTHING_SPENT, seconds: float = 0.0
    ) -> SessionResult:
        directory = self._services.directory
        directory.folder(session_folders(request.execution, request.position)["session"])
        trouble = directory.redactor.redacted(Trouble(kind=kind, message=message))
        return troubled_session(request.execution, request.position, trouble, cost, seconds)


def _without(avoided: Iterable[str], workers: dict[str, int]) -> dict[str, int]:
    """The workers without the avoided ones; all, if no other one is left."""
    return {name: slots for name, slots in workers.items() if name not in avoided} or workers


def _did_nothing(session: SessionResult) -> bool:
    """Whether no model answered: the session cost nothing, or its agent does not report costs and said nothing."""
    if session.agent_cost.usd is not None:
        return session.agent_cost.usd == 0
    return not (session.result.usage.output_tokens or session.result.usage.output_chars)


def ticket_of(execution: Execution, position: tuple[int, int], digest: str) -> Ticket:
    """The ticket of a session."""
    return Ticket(
        suite=execution.suite.path,
        case=execution.case.id,
        runner=execution.runner.id,
        arm=execution.arm_name,
        digest=digest,
        repetition=position[0],
        session=position[1],
        shared_workspace=shared_workspace_name(execution, one_user=False),
    )
