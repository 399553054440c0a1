"""The engine ``dask`` with a client of the test, which has no cluster."""

from __future__ import annotations

import threading
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import distributed
import pytest

from fakes_clock import FakeClock
from skillgym_action.model.errors import EngineError
from skillgym_action.model.limits import CLUSTER_SECONDS
from skillgym_action.sessions.engines import (
    Announcement,
    EngineCancelledError,
    RefusedTicketError,
    Ticket,
    WorkerLostError,
)
from skillgym_action.sessions.engines.announcement import own_versions
from skillgym_action.sessions.engines.dask_engine import MAX_LOOK_SECONDS, DaskEngine, announce, survey
from skillgym_action.settings.slices import EngineOptions
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.clock import Clock
from waiting import LIMIT, until, until_blocked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TICKET = Ticket(suite="s", case="c", runner="r", digest="d", repetition=1, session=1)
ANNOUNCEMENT = Announcement(
    run="run", settings="{}", cwd=".", files=b"", digest="d", has_git=False, versions=own_versions()
)
HANGS_AFTER = 30.0  # seconds


def worker(silent: float = 0.0) -> dict[str, Any]:
    return {"versions": str(own_versions()), "slots": 2, "id": "id", "silent": silent, "running": True, "ready": True}


class Leaving(dict[str, Any]):
    """Workers of which one leaves, in another thread, while the engine's thread looks at them."""

    leaving: threading.Thread | None = None
    leave: Callable[[], None]

    def items(self) -> Any:
        for pair in super().items():
            if threading.current_thread().name == "workers" and not self.leaving:
                self.leaving = threading.Thread(target=self.leave, daemon=True)
                self.leaving.start()
                until_blocked(self.leaving)
            yield pair


class Unending:
    """In place of a future of Dask."""

    status = "pending"

    def add_done_callback(self, _: object) -> None:
        pass

    def done(self) -> bool:
        return True

    def release(self) -> None:
        pass


class Failed(Unending):
    """A task that has raised ``error``."""

    status = "error"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def add_done_callback(self, ended: Callable[[object], None]) -> None:
        ended(self)

    def result(self) -> None:
        raise self.error


class Arriving(Unending):
    """A task that has ended, whose answer arrives after ``meanwhile``."""

    status = "finished"

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self.meanwhile = meanwhile

    def add_done_callback(self, ended: Callable[[object], None]) -> None:
        ended(self)

    def result(self) -> tuple[str, bytes, bytes]:
        self.meanwhile()
        return "line", b"{}", b""


class FakeClient:
    """A scheduler with workers that does not answer when one of them is to be dropped."""

    id = "client"

    def __init__(self, workers: dict[str, Any]) -> None:
        self.workers = workers
        self.is_broken = False
        self.future = Unending()
        self.sent, self.closed = threading.Event(), threading.Event()
        self.looks = self.dropping = 0
        self.tell: Callable[[Any], None] = print
        self.scheduler_comm = object()

    @property
    def status(self) -> str:
        self.looks += 1
        if self.is_broken:
            raise RuntimeError("broken")
        return "running"

    def register_plugin(self, *_: object, **__: object) -> None:
        pass

    def subscribe_topic(self, _: str, handler: Callable[[Any], None]) -> None:
        self.tell = lambda message: handler((0.0, message))

    def run_on_scheduler(self, function: Callable[..., Any], *_: object) -> Any:
        if function is announce:
            return None
        if function is survey:
            return self.workers
        self.dropping += 1
        return self.closed.wait()

    def submit(self, *_: object, **__: object) -> Unending:
        self.sent.set()
        return self.future

    def close(self, _: float) -> None:
        self.closed.set()

    def looked_at(self, times: int = 4) -> None:
        """Wait until the engine has checked the connection that number of times."""
        seen = self.looks
        until(lambda: self.looks >= seen + times, "looks at the connection", limit=HANGS_AFTER)


class Fast(Clock):
    """A clock that a test can set forward, and that is ``step`` seconds further each time that it is read."""

    def __init__(self, step: float = 0.0) -> None:
        super().__init__()
        self.step, self.ahead = step, 0.0

    def seconds(self) -> float:
        self.ahead += self.step
        return super().seconds() + self.ahead


class Opened:
    """An engine, and the error of its only ticket."""

    def __init__(self, cancelled: Cancellation, clock: Clock | FakeClock, **workers: dict[str, Any]) -> None:
        self.cancelled = cancelled
        self.client = FakeClient(workers)
        options = EngineOptions(address="tcp://127.0.0.1:1", lost_after=0.5)
        self.engine = DaskEngine(options, clock, cancelled, lambda _: None, lambda *_, **__: self.client)
        self.engine.open(ANNOUNCEMENT)
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        assert self.client.sent.wait(LIMIT)

    def run(self) -> None:
        try:
            self.engine.run(TICKET, "good", lambda: None)
        except (EngineError, EngineCancelledError, WorkerLostError) as error:
            self.error = error

    def close(self) -> None:
        """End the ticket and the engine."""
        self.engine.cancel()
        self.thread.join(HANGS_AFTER)
        self.engine.close()

    def ended(self) -> BaseException | None:
        """The error, as soon as the ticket has ended; None if it does not."""
        self.thread.join(HANGS_AFTER)
        return self.error


@pytest.fixture
def opened() -> Iterator[Callable[..., Opened]]:
    """Opens an engine, and closes it at the end of the test."""
    with ExitStack() as stack:

        def opened(clock: Clock | FakeClock | None = None, **workers: dict[str, Any]) -> Opened:
            one = Opened(stack.enter_context(closing(Cancellation())), clock or Clock(), **workers)
            stack.callback(one.close)
            return one

        yield opened


def test_a_worker_that_still_unpacks_has_no_slots_yet(opened: Callable[..., Opened]) -> None:
    one = opened(good=worker(), new=worker() | {"ready": False})
    assert dict(one.engine.slots()) == {"good": 2, "new": 0}


def test_a_worker_that_leaves_meanwhile_does_not_end_the_watch(opened: Callable[..., Opened]) -> None:
    one = opened(good=worker())
    found = Leaving(good=worker(), leaves=worker())
    found.leave = lambda: one.client.tell({"lost": "leaves"})
    one.client.tell({"workers": found})
    until(lambda: found.leaving and not found.leaving.is_alive(), "the worker has left")
    one.client.looked_at()
    assert [name for name, _ in one.engine.slots()] == ["good"]
    one.cancelled.set()
    assert isinstance(one.ended(), EngineCancelledError)


def test_an_error_of_the_watch_ends_the_run(opened: Callable[..., Opened]) -> None:
    one = opened(good=worker())
    one.client.is_broken = True
    assert isinstance(one.ended(), EngineError)


def test_frozen_workers_do_not_delay_a_cancellation(opened: Callable[..., Opened]) -> None:
    frozen = {f"frozen-{number}": worker(silent=100) for number in range(3)}
    one = opened(good=worker(), **frozen)
    until(lambda: one.client.dropping == 3, "the scheduler is to forget the frozen workers")
    one.cancelled.set()
    assert isinstance(one.ended(), EngineCancelledError)


def test_a_ticket_for_a_worker_that_has_left_is_not_sent(opened: Callable[..., Opened]) -> None:
    one = opened(good=worker())
    with pytest.raises(WorkerLostError) as caught:
        one.engine.run(TICKET, "gone", lambda: None)
    assert not caught.value.sent


def test_a_ticket_whose_worker_leaves_was_sent(opened: Callable[..., Opened]) -> None:
    one = opened(good=worker())
    one.client.tell({"lost": "good"})
    error = one.ended()
    assert isinstance(error, WorkerLostError)
    assert error.sent


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        pytest.param(TypeError("of the tool"), RefusedTicketError, id="an error of the task would come again"),
        pytest.param(distributed.KilledWorker("key", None, 1), WorkerLostError, id="its worker was killed"),
    ],
)
def test_only_tasks_of_workers_that_are_gone_are_lost(opened: Callable[..., Opened], error, raised) -> None:
    one = opened(good=worker())
    one.client.future = Failed(error)
    with pytest.raises(raised):
        one.engine.run(TICKET, "good", lambda: None)


def test_an_answer_that_arrives_slowly_is_not_lost(opened: Callable[..., Opened]) -> None:
    one = opened(good=worker())
    one.client.future = Arriving(lambda: one.client.looked_at(12))
    assert one.engine.run(TICKET, "good", lambda: None).line == b"{}"


def test_a_worker_that_leaves_while_its_answer_arrives_is_lost(opened: Callable[..., Opened]) -> None:
    one = opened(good=worker())
    never = threading.Event()
    one.client.future = Arriving(lambda: (one.client.tell({"lost": "good"}), never.wait(LIMIT)))
    with pytest.raises(WorkerLostError):
        one.engine.run(TICKET, "good", lambda: None)
    never.set()


def test_a_connection_that_was_made_again_ends_the_run(opened: Callable[..., Opened]) -> None:
    """The scheduler has removed what belongs to the run, and workers have ended their slots."""
    one = opened(FakeClock(), good=worker())  # else it ends since the scheduler does not report anything
    one.client.scheduler_comm = object()
    assert isinstance(one.ended(), EngineError)
    with pytest.raises(EngineError, match="was lost"):
        one.engine.slots()


def test_a_task_of_a_lost_connection_is_no_lost_session(opened: Callable[..., Opened]) -> None:
    one = opened(good=worker())
    error = distributed.client.FutureCancelledError("key", "scheduler-connection-lost")
    one.client.future = Failed(error)
    with pytest.raises(EngineError, match="was lost"):
        one.engine.run(TICKET, "good", lambda: None)


def test_a_coordinator_that_was_stopped_reads_the_reports_of_the_meantime(opened: Callable[..., Opened]) -> None:
    """As after SIGSTOP and SIGCONT: the first look can be before they are read."""
    clock = Fast()
    one = opened(clock, good=worker())
    clock.ahead = 3600
    one.client.looked_at()
    one.client.tell({"workers": {"good": worker()}})
    assert dict(one.engine.slots()) == {"good": 2}
    assert one.thread.is_alive()


def test_a_scheduler_that_reports_no_more_ends_the_run(opened: Callable[..., Opened]) -> None:
    one = opened(Fast(step=1.0), good=worker())
    assert isinstance(one.ended(), EngineError)
    assert one.client.looks >= CLUSTER_SECONDS / MAX_LOOK_SECONDS
