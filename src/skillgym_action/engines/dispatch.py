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
    from collections.abc import Callable

    from skillgym_action.engines import Engine, SessionLine
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import Judgement, SessionResult
    from skillgym_action.services import Services
    from skillgym_action.settings.engine_options import EngineOptions

POLL_SECONDS = 0.2
PATIENCE_SECONDS = 5.0  # after which a line says that the run waits for workers


@dataclass(frozen=True, kw_only=True, slots=True)
class Notices:
    """What the caller does meanwhile. ``refusal``: asked once a slot is free; a judgement: do not start the session.

    ``started``: the session is sent. ``judging``: commands of its judgement begin. ``lost``: with its worker, after so
    many seconds.
    """

    refusal: Callable[[], Judgement | None]
    started: Callable[[], None]
    judging: Callable[[], None]
    lost: Callable[[float], None]


class Dispatcher:
    """The sessions of one run on the workers of an engine. Thread-safe."""

    def __init__(self, engine: Engine, services: Services, options: EngineOptions) -> None:
        self._engine, self._services, self._options = engine, services, options
        self._turn = threading.Lock()
        self._changed = threading.Condition()
        self._taken: Counter[str] = Counter()
        self._unusable: dict[str, str] = {}
        self._lanes: dict[str, str] = {}
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
            worker = self._acquire(ticket.lane)
            try:
                if refusal := CANCELLED_JUDGEMENT if worker is None else notices.refusal():
                    return refusal
                if not is_started:
                    notices.started()
                    is_started = True
                began = self._services.clock.seconds()
                answer = self._engine.run(ticket, worker or "", notices.judging)
                session = self._accepted(answer, ticket, execution, began)
                self._thread.worker, worker = worker, None  # released by ``settle``
            except EngineCancelledError:
                return CANCELLED_JUDGEMENT
            except WorkerLostError as error:
                losses += 1
                seconds = self._services.clock.seconds() - error.began
                notices.lost(seconds)
                if losses > self._options.lost_retries:
                    return self._lost(execution, position, losses, seconds)
                self._log(
                    f"{execution.title}: the worker {worker} was lost after {seconds:.1f} s; the session runs again"
                )
            except RefusedTicketError as error:
                if error.of_worker:
                    self._leave_out(worker or "", error.reason)
                    continue
                reason = f"the worker did not run the session: {error.reason}"
                return self._errored(execution, position, reason, NOTHING_SPENT)
            else:
                return session
            finally:
                self._release(worker)

    def settle(self) -> None:
        """Release the slot of this thread's last session, once its result is counted.

        Before that another session could start in the slot, though a budget is spent or too many have failed.
        """
        worker = getattr(self._thread, "worker", None)
        self._thread.worker = None
        self._release(worker)

    # --- slots --------------------------------------------------------------------------------------

    def _acquire(self, lane: str | None) -> str | None:
        """Wait for a free slot, which is then taken; its worker. None: the run is cancelled. Raises EngineError."""
        if lane is not None:
            return self._wait(lane)
        with self._turn:  # one thread looks at the workers, the others wait for that
            return self._wait(None)

    def _wait(self, lane: str | None) -> str | None:
        with self._changed:
            while not self._services.cancelled:
                if worker := self._free_worker(lane):
                    self._taken[worker] += 1
                    return worker
                self._changed.wait(POLL_SECONDS)
        return None

    def _free_worker(self, lane: str | None) -> str | None:
        workers = {name: slots for name, slots in self._engine.slots() if name not in self._unusable}
        self._check_patience(is_empty=not workers)
        if lane is not None and self._lanes.get(lane) in workers:
            workers = {name: slots for name, slots in workers.items() if name == self._lanes[lane]}
        free = {name: slots - self._taken[name] for name, slots in workers.items()}
        best = max(free, key=lambda name: free[name], default=None)
        if best is None or free[best] <= 0:
            return None
        if lane is not None:
            if self._lanes.get(lane, best) != best:
                self._log(f"{lane}: the shared workspace of the finished sessions was lost with its worker")
            self._lanes[lane] = best
        return best

    def _check_patience(self, *, is_empty: bool) -> None:
        """Raises EngineError if there is no worker for too long, or if none that there are can run this plan."""
        if not is_empty:
            self._without_workers = None
            return
        now = self._services.clock.seconds()
        self._without_workers = began = now if self._without_workers is None else self._without_workers
        if self._unusable:
            worker, reason = next(iter(self._unusable.items()))
            raise EngineError(f"no worker can run this plan; {worker}: {reason}", remedy="correct it, and --resume")
        if now - began > self._options.wait:
            raise EngineError(
                f"no worker of {self._options.address} takes sessions for {duration(round(self._options.wait * 1000))}",
                remedy="start workers with `skillgym-action worker`, of the same version, and --resume",
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

    def _log(self, line: str) -> None:
        self._services.observer.progress(terminal_line(self._services.directory.redactor.text(line)))

    # --- results ------------------------------------------------------------------------------------

    def _accepted(self, answer: SessionLine, ticket: Ticket, execution: Execution, began: float) -> SessionResult:
        try:
            return accepted(answer, ticket, execution, self._services.directory)
        except InvalidAnswerError as error:
            reason = f"the worker's answer was refused: {str(error)[:MAX_REFUSAL_CHARACTERS]}"
            seconds = self._services.clock.seconds() - began
            return self._errored(execution, (ticket.repetition, ticket.session), reason, Cost(), seconds)

    def _lost(self, execution: Execution, position: tuple[int, int], losses: int, seconds: float) -> SessionResult:
        """The result of a session that was lost too often: its cost is unknown, and was charged when it was lost."""
        message = f"the worker was lost {losses} times" if losses > 1 else "the worker was lost"
        return self._with_trouble(
            execution, position, Trouble(kind="worker-lost", message=message), NOTHING_SPENT, seconds
        )

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
