"""What Dask runs for a coordinator on the scheduler and on workers. Pickled by name: all have the same version."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin
from distributed.metrics import time as scheduler_time
from distributed.worker import get_worker

from skillgym_action.engines.announcement import own_versions
from skillgym_action.remote_limits import SURVEY_SECONDS

if TYPE_CHECKING:
    from skillgym_action.engines import Announcement
    from skillgym_action.engines.slots import SlotPool

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
    """Brings the announcement of a run to a worker, and its slots for as long as the run lasts."""

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
