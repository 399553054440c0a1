"""Gives sessions to workers: waits for a free slot, runs the sessions of lost workers again, checks answers."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.engines import EngineCancelledError, RefusedTicketError, Ticket, WorkerLostError
from skillgym_action.engines.answers import (
    NOTHING_SPENT,
    InvalidAnswerError,
    accepted,
    session_folders,
    troubled_session,
)
from skillgym_action.model.errors import EngineError
from skillgym_action.model.session_report import Cost, Trouble
from skillgym_action.remote_limits import MAX_REFUSAL_CHARACTERS
from skillgym_action.reporters.wording import duration
from skillgym_action.sessions.hooks import shared_workspace_name
from skillgym_action.sessions.judge import CANCELLED_JUDGEMENT
from skillgym_action.text.escaping import terminal_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skillgym_action.engines import Engine, SessionLine
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import Judgement, SessionResult
    from skillgym_action.services import Services
    from skillgym_action.sessions.provider_limits import Place
    from skillgym_action.settings.engine_options import EngineOptions
    from skillgym_action.storage.run_directory import RunDirectory

    Accept = Callable[[SessionLine, Ticket, Execution, RunDirectory], SessionResult]

OF_WORKER = ("agent-missing", "auth")  # classes of trouble that sessions on another worker may not have
RunnerKey = tuple[str, str, str | None]
POLL_SECONDS = 0.2
PATIENCE_SECONDS = 5.0  # after which a line says that the run waits for workers
NO_WORKER = ""
WORKSPACE_LOST = "the shared workspace of the sessions before was lost with its worker"


@dataclass(frozen=True, kw_only=True, slots=True)
class Notices:
    """What the caller does meanwhile.

    ``place``: that of the session at its provider, which is taken together with a slot; after a session it is still
    taken. ``refusal``: asked once both are taken; a judgement: do not start the session. ``started``: the session is
    sent. ``judging``: commands of its judgement begin. ``lost``: with its worker, after so many seconds.
    """

    place: Place
    refusal: Callable[[], Judgement | None]
    started: Callable[[], None]
    judging: Callable[[], None]
    lost: Callable[[float], None]


class Dispatcher:
    """The sessions of one run on the workers of an engine. Thread-safe."""

    def __init__(self, engine: Engine, services: Services, options: EngineOptions, accept: Accept = accepted) -> None:
        """``accept`` checks answers and keeps their artifacts."""
        self._engine, self._services, self._options, self._accept = engine, services, options, accept
        self._turns: dict[tuple[str, frozenset[str]], threading.Lock] = {}
        self._changed = threading.Condition()
        self._taken: Counter[str] = Counter()
        self.most_slots = 0  # that all workers together had
        self._unusable: dict[str, str] = {}
        self._troubled: dict[RunnerKey, set[str]] = {}
        self._lanes: dict[str, str] = {}  # lane -> the worker with the workspace of its finished sessions
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
        ticket = ticket_of(execution, position, digest)
        losses, is_started = 0, False
        while True:
            notices.place.give_back()  # of a session that was lost, or of a worker that cannot run it
            worker = self._acquire(ticket.lane, _runner_of(ticket), notices.place)
            try:
                if refusal := _begun(notices, worker, is_started=is_started):
                    return refusal
                is_started = True
                began = self._services.clock.seconds()
                session = self._run_on(worker or "", ticket, execution, notices)
                if session is None:
                    continue
                self._thread.worker, worker = worker, None  # released by ``settle``
            except EngineCancelledError:
                return CANCELLED_JUDGEMENT
            except WorkerLostError as error:
                losses += error.sent
                if lost := self._lost(ticket, execution, losses, error, notices):
                    return lost
            except RefusedTicketError as error:
                if error.of_worker:
                    self._leave_out(worker or "", error.reason)
                    continue
                return self._refused(ticket, execution, error, began)
            else:
                return session
            finally:
                self._release(worker)

    def _run_on(self, worker: str, ticket: Ticket, execution: Execution, notices: Notices) -> SessionResult | None:
        """Run a session on a worker, unless the workspace that it shares with finished ones was on another one.

        None: this worker cannot run it, and another one may be able to.
        """
        if self._lanes.get(ticket.lane or "", worker) != worker:
            return self._worker_lost(execution, (ticket.repetition, ticket.session), WORKSPACE_LOST)
        began = self._services.clock.seconds()
        session = self._accepted(self._engine.run(ticket, worker, notices.judging), ticket, execution, began)
        if ticket.lane not in self._lanes and self._is_of_worker(session, ticket, worker):
            return None
        if ticket.lane:
            self._lanes[ticket.lane] = worker
        return session

    def settle(self) -> None:
        """Release the slot of this thread's last session, once its result is counted.

        Before that another session could start in the slot, though a budget is spent or too many have failed.
        """
        worker = getattr(self._thread, "worker", None)
        self._thread.worker = None
        self._release(worker)

    # --- slots --------------------------------------------------------------------------------------

    def _acquire(self, lane: str | None, runner: RunnerKey, place: Place) -> str | None:
        """Wait until a slot and the place are free, which are then taken; the slot's worker. None: cancelled.

        Nothing is taken while the thread waits: two threads with one of both each would wait for each other.

        Raises EngineError.
        """
        if lane is not None:
            return self._wait(lane, runner, place)
        # Of the threads that wait for the same places and workers, one looks at them, the others wait for that.
        with self._changed:
            awaited = place.provider, frozenset(self._troubled.get(runner, ()))
        with self._turns.setdefault(awaited, threading.Lock()):
            return self._wait(None, runner, place)

    def _wait(self, lane: str | None, runner: RunnerKey, place: Place) -> str | None:
        with self._changed:
            while not self._services.cancelled:
                worker = self._free_worker(lane, runner)
                if worker and place.take():
                    self._taken[worker] += 1
                    return worker
                self._changed.wait(POLL_SECONDS)
        return None

    def _free_worker(self, lane: str | None, runner: RunnerKey) -> str | None:
        bound = self._lanes.get(lane) if lane else None  # its slot is there, even if the worker can start no other one
        workers = {name: slots for name, slots in self._engine.slots() if name not in self._unusable or name == bound}
        self.most_slots = max(self.most_slots, sum(workers.values()))
        if bound is not None and bound in workers:
            workers = {bound: workers[bound]}
        else:
            troubled = self._troubled.get(runner, set())
            workers = {name: slots for name, slots in workers.items() if name not in troubled} or workers
        self._check_patience(workers)
        free = {name: slots - self._taken[name] for name, slots in workers.items()}
        best = max(free, key=lambda name: free[name], default=None)
        return best if best is not None and free[best] > 0 else None

    def _check_patience(self, workers: Mapping[str, int]) -> None:
        """Raises EngineError if there is no worker for too long, or if none that there are can run this plan."""
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
        if worker is not None:
            with self._changed:
                self._taken[worker] -= 1
                self._changed.notify_all()

    def _leave_out(self, worker: str, reason: str) -> None:
        with self._changed:
            is_new = worker not in self._unusable
            self._unusable[worker] = reason[:MAX_REFUSAL_CHARACTERS]
        if is_new:
            self._log(f"the worker {worker} gets no sessions: {reason[:MAX_REFUSAL_CHARACTERS]}")

    def _is_of_worker(self, session: SessionResult, ticket: Ticket, worker: str) -> bool:
        """Whether a session cost nothing, since its worker has no CLI or no valid key, and another one may have them.

        The worker then gets no more sessions of the runner. Raises EngineError.
        """
        trouble = session.trouble
        if trouble is None or trouble.kind not in OF_WORKER or session.agent_cost.usd != 0:
            return False
        with self._changed:
            troubled = self._troubled.setdefault(_runner_of(ticket), set())
            is_new = worker not in troubled
            troubled.add(worker)
            is_left = any(name not in troubled and name not in self._unusable for name, _ in self._engine.slots())
        if is_new:
            reason = trouble.message[:MAX_REFUSAL_CHARACTERS]
            self._log(f"the worker {worker} gets no sessions of {ticket.runner}: {reason}")
        return is_left

    def _log(self, line: str) -> None:
        self._services.observer.progress(terminal_line(self._services.directory.redactor.text(line)))

    # --- results ------------------------------------------------------------------------------------

    def _accepted(self, answer: SessionLine, ticket: Ticket, execution: Execution, began: float) -> SessionResult:
        try:
            return self._accept(answer, ticket, execution, self._services.directory)
        except InvalidAnswerError as error:
            reason = f"the worker's answer was refused: {str(error)[:MAX_REFUSAL_CHARACTERS]}"
            seconds = self._services.clock.seconds() - began
            return self._errored(execution, (ticket.repetition, ticket.session), reason, Cost(), seconds)

    def _lost(
        self, ticket: Ticket, execution: Execution, losses: int, error: WorkerLostError, notices: Notices
    ) -> SessionResult | None:
        """The result of a session whose worker was lost; None: it runs again. If it was sent, its cost is charged."""
        has_workspace = ticket.lane in self._lanes
        if ticket.lane and has_workspace:
            self._lanes[ticket.lane] = NO_WORKER
        if not error.sent:
            return None
        seconds = self._services.clock.seconds() - error.began
        notices.lost(seconds)
        message = f"the worker was lost {losses} times" if losses > 1 else "the worker was lost"
        if has_workspace:
            message = WORKSPACE_LOST
        elif losses <= self._options.lost_retries:
            self._log(
                f"{execution.title}: the worker {error.worker} was lost after {seconds:.1f} s; the session runs again"
            )
            return None
        if ticket.lane:
            self._lanes[ticket.lane] = NO_WORKER
        return self._worker_lost(execution, (ticket.repetition, ticket.session), message, seconds)

    def _worker_lost(
        self, execution: Execution, position: tuple[int, int], message: str, seconds: float = 0.0
    ) -> SessionResult:
        trouble = Trouble(kind="worker-lost", message=message)
        return self._with_trouble(execution, position, trouble, NOTHING_SPENT, seconds)

    def _refused(self, ticket: Ticket, execution: Execution, error: RefusedTicketError, began: float) -> SessionResult:
        position = ticket.repetition, ticket.session
        if error.began:
            if ticket.lane:  # its process has ended, with the workspace
                self._lanes[ticket.lane] = NO_WORKER
            seconds = self._services.clock.seconds() - began
            return self._errored(execution, position, f"the worker failed: {error.reason}", Cost(), seconds)
        reason = f"the worker did not run the session: {error.reason}"
        return self._errored(execution, position, reason, NOTHING_SPENT)

    def _errored(
        self, execution: Execution, position: tuple[int, int], reason: str, cost: Cost, seconds: float = 0.0
    ) -> SessionResult:
        return self._with_trouble(execution, position, Trouble(kind="worker-answer", message=reason), cost, seconds)

    def _with_trouble(
        self, execution: Execution, position: tuple[int, int], trouble: Trouble, cost: Cost, seconds: float
    ) -> SessionResult:
        directory = self._services.directory
        directory.folder(session_folders(execution, position)["session"])
        return troubled_session(execution, position, directory.redactor.redacted(trouble), cost, seconds)


def _begun(notices: Notices, worker: str | None, *, is_started: bool) -> Judgement | None:
    """Why the session must not start; None: it is to be sent, which was noted now or before."""
    refusal = notices.refusal() if worker else CANCELLED_JUDGEMENT
    if refusal is None and not is_started:
        notices.started()
    return refusal


def _runner_of(ticket: Ticket) -> RunnerKey:
    """Other suites and arms may have another CLI or key for a runner of the same name."""
    return ticket.suite, ticket.runner, ticket.arm


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
        lane=shared_workspace_name(execution, one_user=False),
    )
