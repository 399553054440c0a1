"""What Dask runs for a coordinator on the scheduler and on workers. Pickled by name: all have the same version."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin
from distributed.metrics import time as scheduler_time
from distributed.worker import get_worker

from skillgym_action.engines.announcement import own_versions
from skillgym_action.remote_limits import CLUSTER_SECONDS, SURVEY_SECONDS

if TYPE_CHECKING:
    from skillgym_action.engines import Announcement
    from skillgym_action.engines.slots import SlotPool

VERSIONS = "skillgym-action"  # what workers tell the scheduler about themselves
HOST = "skillgym_host"  # attribute of a worker that ``skillgym-action worker`` started


def plugin_name(run: str) -> str:
    """The name of the plug-ins, and of the topic of events, of a run."""
    return f"skillgym-action-{run}"


def survey(dask_scheduler: Any = None) -> dict[str, dict[str, Any]]:
    """The workers: versions (None: not one of this tool), slots, id, and seconds since their last sign of life."""
    now = scheduler_time()
    return {
        worker.address: {
            "versions": worker.extra.get(VERSIONS),
            "slots": worker.nthreads,
            "id": worker.server_id,
            "silent": now - worker.last_seen,
            "running": worker.status.name == "running",
        }
        for worker in dask_scheduler.workers.values()
    }


async def drop_worker(address: str, dask_scheduler: Any = None) -> None:
    """Make the scheduler forget a worker that is silent."""
    await dask_scheduler.remove_worker(address, stimulus_id=f"skillgym-action-{scheduler_time()}", safe=True)


class RunLease(SchedulerPlugin):
    """Tells the coordinator about workers, and removes what its run has on the scheduler when it is gone."""

    def __init__(self, run: str, client: str) -> None:
        self.name = plugin_name(run)
        self.client = client
        self.reporting: asyncio.Task[None] | None = None

    async def start(self, scheduler: Any) -> None:
        """Report the workers at intervals: with their silence, a frozen one is known."""
        self.reporting = asyncio.create_task(self._report(scheduler))

    async def _report(self, scheduler: Any) -> None:
        while self.name in scheduler.plugins:
            scheduler.log_event(self.name, {"workers": survey(scheduler)})
            await asyncio.sleep(SURVEY_SECONDS)

    def remove_worker(self, scheduler: Any, worker: str, **_: Any) -> None:
        """Tell the coordinator at once: it would notice with its next look."""
        scheduler.log_event(self.name, {"lost": worker})

    def remove_client(self, scheduler: Any, client: str) -> None:
        """The coordinator has closed its connection, or its process is gone."""
        if client != self.client:
            return
        if self.name in scheduler.worker_plugins:
            tasks = scheduler._ongoing_background_tasks  # noqa: SLF001 -- as the scheduler itself does after a client
            tasks.call_soon(scheduler.unregister_worker_plugin, None, self.name)
        scheduler.remove_plugin(name=self.name)


class AnnouncementPlugin(WorkerPlugin):
    """Brings the announcement of a run to a worker, and its slots for as long as the run lasts."""

    def __init__(self, announcement: Announcement) -> None:
        self.announcement = announcement
        self.name = plugin_name(announcement.run)
        self.pool: SlotPool | None = None
        self.problem = ""

    async def setup(self, worker: Any) -> None:
        """Unpack the files. A worker of another version or another program does nothing: it gets no tickets."""
        host = getattr(worker, HOST, None)
        if host is None or self.announcement.versions != own_versions():
            self.problem = f"it has {own_versions()}"
            return
        try:
            self.pool = await asyncio.to_thread(host.open_run, self.announcement)
        except Exception as error:  # noqa: BLE001 -- such as a full disk: the coordinator gets the reason, the worker goes on
            self.problem = f"{type(error).__name__}: {error}"

    async def teardown(self, worker: Any) -> None:  # noqa: ARG002
        """End the slots: the run has ended, or its coordinator is gone."""
        if self.pool is not None:
            await asyncio.to_thread(self.pool.close)

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:  # noqa: ARG002
        """Called for each task that changes its state: one whose result is not needed any more is ended."""
        if self.pool is not None and finish in {"cancelled", "released", "forgotten"}:
            self.pool.cancel(str(key))


def run_ticket(run: str, key: str, ticket: str) -> tuple[str, bytes, bytes]:
    """The answer to a ticket: its kind, then a line or a reason, then an archive. Runs in a thread of the worker."""
    worker = get_worker()
    name = plugin_name(run)
    plugin = _plugin(worker, name)
    if plugin is None or plugin.pool is None:
        return "unusable", (plugin.problem if plugin else "it did not get the files of the run").encode(), b""
    return plugin.pool.run(key, ticket, lambda: worker.log_event(name, {"judging": key}))


def _plugin(worker: Any, name: str) -> AnnouncementPlugin | None:
    """The plug-in, once it is set up: a worker that has just come may get a ticket before."""
    deadline = time.monotonic() + CLUSTER_SECONDS
    while time.monotonic() < deadline:
        found = worker.plugins.get(name)
        if isinstance(found, AnnouncementPlugin) and (found.pool or found.problem):
            return found
        time.sleep(0.02)
    return None
