"""The engine ``dask``: sessions on the workers of a cluster of Dask."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import field
from itertools import count
from typing import TYPE_CHECKING, Any

import distributed
import distributed.protocol.pickle
from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin
from distributed.metrics import time as scheduler_time
from distributed.worker import get_worker

from skillgym_action.model.errors import EngineError, UsageError
from skillgym_action.model.limits import CLUSTER_SECONDS, MAX_REFUSAL_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.sessions.engines import EngineCancelledError, RefusedTicketError, SessionLine, WorkerLostError
from skillgym_action.sessions.engines.announcement import own_versions
from skillgym_action.text.escaping import terminal_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from skillgym_action.sessions.engines import Announcement, Ticket
    from skillgym_action.sessions.engines.slots import SlotPool
    from skillgym_action.settings.slices import EngineOptions, Tls
    from skillgym_action.system.cancellation import Cancellation
    from skillgym_action.system.clock import Clock

SURVEY_SECONDS = 0.5  # between two looks at the workers of a cluster
CLOSING_SECONDS = 3.0
SLOW_BYTES_PER_SECOND = 1024**2  # of a connection to the scheduler that is not given up yet
CONNECTION_LOST = "scheduler-connection-lost"  # the reason of Dask's error for tasks of a lost connection
LOOK_SECONDS = 0.1  # until a cancellation, or a lost connection, is noticed
MAX_LOOK_SECONDS = 1.0  # that one look adds to the silence of the scheduler
untyped: Any = distributed  # most of its functions have no types


@record(frozen=False, kw_only=False, eq=False)
class _Waiting:
    """A ticket of a worker, which has it if it was ``sent``. ``judging``: called when judging starts commands."""

    worker: str
    worker_id: str
    began: float
    judging: Callable[[], None]
    done: threading.Event = field(default_factory=threading.Event)
    sent: bool = False
    lost: bool = False


def security(tls: Tls | None) -> Any:
    """Certificates as Dask takes them; None: no encryption."""
    if tls is None:
        return None
    files = {"tls_ca_file": str(tls.ca)}
    for role in ("client", "worker", "scheduler"):
        files |= {f"tls_{role}_cert": str(tls.cert), f"tls_{role}_key": str(tls.key)}
    return untyped.Security(require_encryption=True, **files)


class DaskEngine:
    """Implements ``Engine``. A thread watches the connection; the scheduler reports the workers twice a second."""

    def __init__(
        self,
        options: EngineOptions,
        clock: Clock,
        cancelled: Cancellation,
        log: Callable[[str], None],
        connect: Callable[..., Any] = untyped.Client,
    ) -> None:
        self._connect = connect
        self._options, self._clock, self._flag, self._log = options, clock, cancelled, log
        self._lock = threading.Lock()
        self._waiting: dict[str, _Waiting] = {}
        self._workers: dict[str, dict[str, Any]] = {}
        self._refused: set[str] = set()
        self._dropped: set[str] = set()
        self._silent_seconds = 0.0  # since the last report of the scheduler
        self._numbers = count(1)
        self._cancelled = False
        self._closed = threading.Event()
        self._failure: EngineError | None = None
        self._watch = threading.Thread(target=self._look, name="workers", daemon=True)

    # --- the contract -------------------------------------------------------------------------------

    def open(self, announcement: Announcement) -> None:
        """Connect and announce; without effect once the run is cancelled. Raises EngineError, UsageError."""
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is reported by this module
        self._run, self._versions = announcement.run, announcement.versions
        address = self._options.address
        try:
            self._client = self._opening(
                self._connect,
                address,
                seconds=CLUSTER_SECONDS + CLOSING_SECONDS,  # once connected, it waits for an answer for ever
                security=security(self._options.tls),
                timeout=CLUSTER_SECONDS,
                set_as_default=False,
                name="skillgym-action",
            )
        except InterruptedError:
            return
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(
                f"the scheduler {address} cannot be reached: {_short(error)}",
                remedy="check address, certificates and network; it accepts only clients with a certificate",
            ) from error
        name = plugin_name(announcement.run)
        self._connection = self._client.scheduler_comm
        try:
            self._opening(self._client.register_plugin, RunLease(announcement.run, self._client.id), name=name)
            self._client.subscribe_topic(name, self._heard)
            plugin: bytes = untyped.protocol.pickle.dumps(AnnouncementPlugin(announcement))
            on_scheduler = self._client.run_on_scheduler
            seconds = CLUSTER_SECONDS + len(plugin) / SLOW_BYTES_PER_SECOND
            self._opening(on_scheduler, announce, announcement.run, plugin, seconds=seconds)
            self._take(self._opening(on_scheduler, survey, announcement.run))
        except InterruptedError:
            return  # what is there is removed by ``close``
        except TimeoutError as error:
            self.close()
            raise EngineError(
                f"the scheduler {address} does not answer: {error}", remedy="check its log and the network"
            ) from error
        except Exception as error:
            self.close()
            raise UsageError(
                f"the scheduler {address} cannot be used: {_short(error)}",
                remedy=f"scheduler and workers need {announcement.versions}, and the same version of distributed",
            ) from error
        self._watch.start()

    def slots(self) -> Sequence[tuple[str, int]]:
        """The workers of the same versions; one that still unpacks the files has 0 slots. Raises EngineError."""
        with self._lock:
            if self._failure:
                raise self._failure
            usable = ((name, info) for name, info in self._workers.items() if self._is_usable(name, info))
            return [(name, int(info["slots"]) if info["ready"] else 0) for name, info in usable]

    def run(self, ticket: Ticket, worker: str, judging: Callable[[], None]) -> SessionLine:
        """Run a session. Raises WorkerLostError, RefusedTicketError, EngineCancelledError, EngineError."""
        key = f"{plugin_name(self._run)}-{next(self._numbers)}"
        with self._lock:
            info = self._workers.get(worker)
            began = self._clock.seconds()
            if info is None:
                raise WorkerLostError(worker, began, sent=False)
            waiting = _Waiting(worker, info["id"], began, judging)
            self._waiting[key] = waiting
        future = None
        try:
            self._raise_if_over(waiting)
            waiting.sent = True
            # Pinned: the scheduler would put two sessions on one worker while another one is idle, and would run a
            # session again by itself when its worker is lost.
            future = self._client.submit(
                run_ticket,
                self._run,
                key,
                ticket.text(),
                key=key,
                workers=[worker],
                allow_other_workers=False,
                pure=False,
                retries=0,
            )
            future.add_done_callback(lambda _: waiting.done.set())
            waiting.done.wait()
            self._raise_if_over(waiting)
            return self._answer(future, waiting)
        finally:
            with self._lock:
                self._waiting.pop(key, None)
            if future is not None:
                self._give_up(future)

    def cancel(self) -> None:
        """End all sessions: workers end those that no client waits for."""
        with self._lock:
            self._cancelled = True
            waiting = list(self._waiting.values())
        for one in waiting:
            one.done.set()

    def close(self) -> None:
        """Close the connection; then the scheduler removes what was announced, and workers end their slots."""
        self._closed.set()
        if self._watch.is_alive():
            self._watch.join(CLOSING_SECONDS)
        with suppress(Exception):  # the scheduler may be gone
            self._in_time(self._client.close, CLOSING_SECONDS, seconds=2 * CLOSING_SECONDS)

    # --- one session --------------------------------------------------------------------------------

    def _raise_if_over(self, waiting: _Waiting) -> None:
        """Raises an error if the session was given up, its worker or the cluster was lost."""
        if self._cancelled:
            raise EngineCancelledError
        if self._failure:
            raise self._failure
        if waiting.lost:
            raise WorkerLostError(waiting.worker, waiting.began, sent=waiting.sent)

    def _answer(self, future: Any, waiting: _Waiting) -> SessionLine:
        """The answer of a task that has ended. Raises as ``run``."""
        arriving = _called(future.result)  # without a time limit: artifacts of many sessions may be on the way
        while not wait((arriving,), LOOK_SECONDS).done:
            self._raise_if_over(waiting)
        try:
            answer = arriving.result()
        except Exception as error:
            self._raise_if_over(waiting)
            if self._is_disconnected() or getattr(error, "reason", None) == CONNECTION_LOST:
                self._fail(self._lost_cluster())
                raise self._lost_cluster() from error
            if future.status == "error" and not isinstance(error, untyped.KilledWorker):
                raise RefusedTicketError(_short(error), began=True) from error
            # The worker died: Dask does not run a pinned task again. Its own errors are not those of the session.
            raise WorkerLostError(waiting.worker, waiting.began) from error
        kind, text, archive = _checked(answer)
        if kind == "line":
            return SessionLine(line=text, archive=archive)
        reason = text[:MAX_REFUSAL_CHARACTERS].decode(errors="replace")
        if kind in ("refused", "unusable", "failed"):
            raise RefusedTicketError(reason, of_worker=kind == "unusable", began=kind == "failed")
        raise WorkerLostError(waiting.worker, waiting.began, sent=kind != "gone")

    def _give_up(self, future: Any) -> None:
        """Make scheduler and worker forget a task; one that still runs is ended by the worker."""
        with suppress(Exception):
            if not future.done():
                self._client.loop.add_callback(self._client._cancel, [future], force=True)  # noqa: SLF001 -- no wait
            future.release()

    # --- the cluster --------------------------------------------------------------------------------

    def _is_usable(self, name: str, info: dict[str, Any]) -> bool:
        if not info["running"] or info["silent"] > self._options.lost_after:
            return False
        if info["versions"] == str(self._versions):
            return True
        if name not in self._refused:
            self._refused.add(name)
            has = str(info["versions"] or "another program")[:MAX_REFUSAL_CHARACTERS]
            self._log(terminal_line(f"the worker {name} is refused: it has {has}, and this run {self._versions}"))
        return False

    def _look(self) -> None:
        """Look at the workers until the engine is closed."""
        try:
            looked = self._clock.seconds()
            while not self._closed.wait(LOOK_SECONDS):
                if self._flag and not self._cancelled:
                    self.cancel()
                now = self._clock.seconds()
                with self._lock:
                    # A long time between two looks means that this process was stopped, such as by SIGSTOP: reports
                    # have arrived meanwhile, and are not read yet.
                    self._silent_seconds += min(now - looked, MAX_LOOK_SECONDS)
                looked = now
                is_silent = self._silent_seconds > max(self._options.lost_after, CLUSTER_SECONDS)
                if (self._is_disconnected() or is_silent) and not self._closed.is_set():
                    self._fail(self._lost_cluster())
                    return
                self._drop_frozen()
        # Without this thread nothing would notice a cancellation or lost workers, and ``run`` would wait for ever.
        except Exception as error:  # noqa: BLE001
            self._fail(EngineError(f"the workers cannot be watched: {_short(error)}", remedy="run with --resume"))

    def _is_disconnected(self) -> bool:
        """Whether the connection was lost; the client connects again, but its run is over on scheduler and workers."""
        return self._client.status != "running" or self._client.scheduler_comm is not self._connection

    def _drop_frozen(self) -> None:
        """Make the scheduler forget workers that are silent for too long. Does not wait."""
        with self._lock:
            frozen = {name for name, info in self._workers.items() if info["silent"] > self._options.lost_after}
            new = frozen - self._dropped
            self._dropped |= new
        for name in new:
            _called(self._client.run_on_scheduler, drop_worker, name)

    def _take(self, found: dict[str, dict[str, Any]]) -> None:
        silent = [name for name, info in found.items() if info["silent"] > self._options.lost_after]
        with self._lock:
            self._workers, self._silent_seconds = found, 0.0
            self._dropped &= set(silent)
            for one in self._waiting.values():
                info = found.get(one.worker)
                if info is None or info["id"] != one.worker_id or one.worker in silent:
                    one.lost = True
                    one.done.set()

    def _heard(self, event: tuple[float, Any]) -> None:
        """An event of the run: a worker left, or the judgement of a session starts commands."""
        message = event[1]
        if not isinstance(message, dict):
            return
        if isinstance(found := message.get("workers"), dict):
            self._take(found)
        elif isinstance(name := message.get("lost"), str):
            with self._lock:
                self._workers.pop(name, None)
                for one in self._waiting.values():
                    if one.worker == name:
                        one.lost = True
                        one.done.set()
        elif isinstance(key := message.get("judging"), str):
            with self._lock:
                waiting = self._waiting.get(key)
            if waiting:
                waiting.judging()

    def _fail(self, error: EngineError) -> None:
        with self._lock:
            self._failure = error
            waiting = list(self._waiting.values())
        for one in waiting:
            one.done.set()

    def _lost_cluster(self) -> EngineError:
        return EngineError(
            f"the connection to the scheduler {self._options.address} was lost; its workers end the sessions",
            remedy="make sure that it runs, then run with --resume and the run directory",
        )

    def _in_time(
        self, function: Callable[..., Any], *arguments: Any, seconds: float = CLUSTER_SECONDS, **more: Any
    ) -> Any:
        """The result of a call that may wait for a worker that does not answer. Raises TimeoutError."""
        answer = _called(function, *arguments, **more)
        if not wait((answer,), seconds).done:
            raise TimeoutError(f"no answer within {seconds:g} s")
        return answer.result()

    def _opening(
        self, function: Callable[..., Any], *arguments: Any, seconds: float = CLUSTER_SECONDS, **more: Any
    ) -> Any:
        """As ``_in_time``, before sessions start. Raises InterruptedError once the run is cancelled."""
        end = self._clock.seconds() + seconds
        answer = _called(function, *arguments, **more)
        while not wait((answer,), LOOK_SECONDS).done:
            self._flag.raise_if_cancelled()
            if self._clock.seconds() > end:
                raise TimeoutError(f"no answer within {seconds:g} s")
        return answer.result()


def _called(function: Callable[..., Any], *arguments: Any, **more: Any) -> Future[Any]:
    """The answer of a call, in a thread for whose end nothing waits, not even that of the process."""
    answer = Future[Any]()

    def call() -> None:
        try:
            answer.set_result(function(*arguments, **more))
        # Any exception is raised again in the thread that waits for the answer.
        except BaseException as error:  # noqa: BLE001
            answer.set_exception(error)

    threading.Thread(target=call, name="engine", daemon=True).start()
    return answer


def _checked(answer: object) -> tuple[str, bytes, bytes]:
    """An answer, if it has the types of one: workers are untrusted."""
    match answer:
        case (str() as kind, bytes() as text, bytes() as archive):
            return kind, text, archive
        case _:
            return "refused", b"its answer is none", b""


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:MAX_REFUSAL_CHARACTERS]


VERSIONS = "skillgym-action"  # what workers tell the scheduler about themselves
STOPPED_SECONDS = 5.0  # between two surveys, after which the scheduler has not run meanwhile
HOST = "skillgym_host"  # attribute of a worker that ``skillgym-action worker`` started


def plugin_name(run: str) -> str:
    """The name of the plug-ins, and of the topic of events, of a run."""
    return f"skillgym-action-{run}"


def survey(run: str, dask_scheduler: Any = None) -> dict[str, dict[str, Any]]:
    """The workers: versions (None: not one of this tool), slots, id, and seconds since their last sign of life.

    ``ready``: it has unpacked the files of the run, or found that it cannot.
    """
    now, lease = scheduler_time(), dask_scheduler.plugins.get(plugin_name(run))
    continued = lease.continued(now) if lease else 0.0
    return {
        worker.address: {
            "versions": worker.extra.get(VERSIONS),
            "slots": worker.nthreads,
            "id": worker.server_id,
            "silent": max(0.0, now - max(worker.last_seen, continued)),
            "running": worker.status.name == "running",
            "ready": lease is not None and worker.address in lease.ready,
        }
        for worker in dask_scheduler.workers.values()
    }


async def announce(run: str, plugin: bytes, dask_scheduler: Any = None) -> None:
    """Send a pickled ``AnnouncementPlugin`` to all workers, also to those that come later. Does not wait for any."""
    name = plugin_name(run)
    if lease := dask_scheduler.plugins.get(name):
        dask_scheduler.worker_plugins[name] = plugin
        message = {"op": "plugin-add", "plugin": plugin, "name": name}
        lease.announcing = asyncio.create_task(dask_scheduler.broadcast(msg=message, on_error="ignore"))


async def drop_worker(address: str, dask_scheduler: Any = None) -> None:
    """Make the scheduler forget a worker that is silent."""
    await dask_scheduler.remove_worker(address, stimulus_id=f"skillgym-action-{scheduler_time()}", safe=True)


class RunLease(SchedulerPlugin):
    """Tells the coordinator about workers, and removes what its run has on the scheduler when it is gone."""

    def __init__(self, run: str, client: str) -> None:
        self.run = run
        self.name = plugin_name(run)
        self.client = client
        self.ready: set[str] = set()
        self.surveyed: float | None = None
        self.continued_at = 0.0
        self.reporting: asyncio.Task[None] | None = None
        self.announcing: asyncio.Task[Any] | None = None

    async def start(self, scheduler: Any) -> None:
        """Report the workers at intervals: with their silence, a frozen one is known."""
        self.scheduler = scheduler
        self.reporting = asyncio.create_task(self._report(scheduler))

    def continued(self, now: float) -> float:
        """When the scheduler last continued after it was stopped, such as with its machine. Called by each survey.

        Signs of life that workers sent meanwhile are not read yet, and workers that were stopped, too, sent none.
        """
        if self.surveyed is not None and now - self.surveyed > STOPPED_SECONDS:
            self.continued_at = now
        self.surveyed = now
        return self.continued_at

    async def _report(self, scheduler: Any) -> None:
        while self.name in scheduler.plugins:
            if self.client not in scheduler.clients:  # it has gone before this plug-in came
                self.remove_client(scheduler, self.client)
                return
            scheduler.log_event(self.name, {"workers": survey(self.run, scheduler)})
            await asyncio.sleep(SURVEY_SECONDS)

    def log_event(self, topic: str, msg: Any) -> None:
        """Note that a worker is ready, and tell the coordinator at once."""
        if topic == self.name and isinstance(msg, dict) and "ready" in msg:
            self.ready.add(msg["worker"])  # set by the scheduler
            self.scheduler.log_event(self.name, {"workers": survey(self.run, self.scheduler)})

    def remove_worker(self, scheduler: Any, worker: str, **_: Any) -> None:
        """Tell the coordinator at once: it would notice with its next look."""
        self.ready.discard(worker)
        scheduler.log_event(self.name, {"lost": worker})

    def remove_client(self, scheduler: Any, client: str) -> None:
        """The coordinator has closed its connection, or its process is gone."""
        if client != self.client:
            return
        if self.announcing is not None:
            self.announcing.cancel()  # a frozen worker may never answer
        if self.name in scheduler.worker_plugins:
            tasks = scheduler._ongoing_background_tasks  # noqa: SLF001 -- as the scheduler itself does after a client
            tasks.call_soon(scheduler.unregister_worker_plugin, None, self.name)
        scheduler.remove_plugin(name=self.name)
        scheduler._broker.truncate(self.name)  # noqa: SLF001 -- as the scheduler itself does with a client's events


class AnnouncementPlugin(WorkerPlugin):
    """Brings the announcement of a run to a worker, and its slots for as long as the run lasts.

    Dask pickles it by name: scheduler, workers and coordinator have the same version.
    """

    def __init__(self, announcement: Announcement) -> None:
        self.announcement = announcement
        self.name = plugin_name(announcement.run)
        self.pool: SlotPool | None = None
        self.problem = ""
        self.is_over = False
        self.opening: asyncio.Task[None] | None = None

    async def setup(self, worker: Any) -> None:
        """Begin to unpack the files. A worker of another version or another program gets no tickets."""
        host = getattr(worker, HOST, None)
        if host is None or self.announcement.versions != own_versions():
            self.problem = f"it has {own_versions()}"
            return
        self.opening = asyncio.create_task(self._open(worker, host))

    async def _open(self, worker: Any, host: Any) -> None:
        try:
            pool = await asyncio.to_thread(host.open_run, self.announcement)
        except Exception as error:  # noqa: BLE001 -- such as a full disk: the coordinator gets the reason, the worker goes on
            self.problem = f"{type(error).__name__}: {error}"
        else:
            if self.is_over:
                await asyncio.to_thread(pool.close)
                return
            self.pool = pool
        worker.log_event(self.name, {"ready": True})

    async def teardown(self, worker: Any) -> None:
        """End the slots: the run has ended, its coordinator is gone, or the worker shuts down."""
        self.is_over = True
        if self.opening is not None:
            await self.opening
        if self.pool is not None:
            waits = worker.status.name == "running"
            await asyncio.to_thread(self.pool.close, waits_for_hooks=waits)

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:  # noqa: ARG002
        """Called for each task that changes its state: one whose result is not needed any more is ended."""
        if self.pool is not None and finish in {"cancelled", "released", "forgotten"}:
            self.pool.cancel(str(key))


def run_ticket(run: str, key: str, ticket: str) -> tuple[str, bytes, bytes]:
    """The answer to a ticket: its kind, then a line or a reason, then an archive. Runs in a thread of the worker."""
    worker = get_worker()
    name = plugin_name(run)
    plugin: Any = worker.plugins.get(name)
    if plugin is None or plugin.pool is None:
        return "unusable", (plugin.problem if plugin else "it did not get the files of the run").encode(), b""
    pool: SlotPool = plugin.pool
    return pool.run(key, ticket, lambda: worker.log_event(name, {"judging": key}))
