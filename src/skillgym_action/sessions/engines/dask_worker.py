"""A worker of Dask that runs sessions: what ``skillgym-action worker`` starts."""

from __future__ import annotations

import asyncio
import fcntl
import os
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
from distributed import Worker

from skillgym_action.model.errors import EngineError
from skillgym_action.model.limits import CLUSTER_SECONDS, DEFAULT_WORKER_WAIT_SECONDS
from skillgym_action.sessions.engines.announcement import own_versions
from skillgym_action.sessions.engines.dask_engine import HOST, VERSIONS, security
from skillgym_action.sessions.engines.slots import SlotPool
from skillgym_action.system.files.bundle import BundleError
from skillgym_action.system.files.removal import remove_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from skillgym_action.sessions.engines import Announcement
    from skillgym_action.settings.slices import Tls
    from skillgym_action.system.cancellation import Cancellation

# What a worker records about itself for Dask's dashboard, of which it has none: it grows with each second.
UNUSED = {"distributed.worker.profile.enabled": False, "distributed.admin.system-monitor.log-length": 10}
PAUSE_SECONDS = 1.0  # before another attempt to reach the scheduler


class WorkerHost:
    """What runs have on this worker: folders, and the environment that their slots get."""

    def __init__(self, environment: Mapping[str, str], own: Mapping[str, object]) -> None:
        """``own``: settings that workers decide about, such as the user of agents.

        ``shutdown`` is to be set once the worker shuts down. ``versions``: what the coordinator is told.
        """
        self._environment, self._own = environment, own
        self.versions = str(own_versions())
        self.shutdown = threading.Event()
        base = Path(environment.get("TMPDIR") or tempfile.gettempdir()) / f"skillgym-workers-{os.getuid()}"
        base.mkdir(mode=0o711, exist_ok=True)
        if base.is_symlink() or base.stat().st_uid != os.getuid():
            raise EngineError(f"{base} belongs to another user", remedy="remove it, or set TMPDIR")
        base.chmod(0o711)
        with _locked(base):  # no other worker that starts may remove the new folder before its lock is taken
            _remove_folders_of_killed_workers(base)
            self.folder = Path(tempfile.mkdtemp(dir=base, prefix="worker-"))
            self.folder.chmod(0o711)
            self._lock = os.open(f"{self.folder}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def open_run(self, announcement: Announcement) -> SlotPool:
        """The slots of a run. Raises OSError, BundleError."""
        folder = Path(tempfile.mkdtemp(dir=self.folder, prefix=f"{announcement.digest[:12]}-"))
        try:
            return SlotPool(announcement, folder, self._environment, self._own, self.shutdown)
        except (OSError, BundleError):
            remove_path(folder)
            raise

    def close(self) -> None:
        """Remove the folder."""
        remove_path(self.folder)
        Path(f"{self.folder}.lock").unlink(missing_ok=True)
        os.close(self._lock)


def _remove_folders_of_killed_workers(base: Path) -> None:
    """Remove folders in ``base`` whose lock no process has."""
    for lock in base.glob("*.lock"):
        with suppress(OSError):
            descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_path(lock.with_suffix(""))
                lock.unlink()
            finally:
                os.close(descriptor)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def serve(
    address: str, tls: Tls | None, slots: int, host: WorkerHost, cancelled: Cancellation, log: Callable[[str], None]
) -> None:
    """Take tickets until ``cancelled``; a scheduler that is gone is waited for. Raises EngineError."""
    dask.config.set(UNUSED)
    patience = _Patience()
    settings: Any = {"nthreads": slots, "security": security(tls), **({} if tls else {"host": "127.0.0.1"})}
    while not cancelled:
        error = asyncio.run(_connected(address, settings, host, cancelled, log, patience))
        if cancelled:
            return
        patience.check(address, error)
        time.sleep(PAUSE_SECONDS)


class _Worker(Worker):
    """A worker of Dask that can get the announcement of a run twice."""

    async def plugin_add(self, plugin: Any, name: str | None = None, catch_errors: bool = True) -> Any:  # noqa: FBT001, FBT002 -- as Dask's
        """Add a plug-in, unless one of the same name is there.

        The scheduler sends an announcement to all workers, and to each worker that connects: a worker that connects at
        the same time gets both. Dask would replace the first plug-in, which ends the sessions of its slots.
        """
        if name in self.plugins:
            return {"status": "OK"}
        return await super().plugin_add(plugin, name, catch_errors)


class _Patience:
    """How long the scheduler has not been reached."""

    def __init__(self) -> None:
        self.since = time.monotonic()

    def check(self, address: str, error: Exception | None) -> None:
        if error is None:
            self.since = time.monotonic()
        elif time.monotonic() - self.since > DEFAULT_WORKER_WAIT_SECONDS:
            raise EngineError(f"the scheduler {address} cannot be reached: {error}", remedy="check address and network")


async def _connected(
    address: str,
    settings: Any,
    host: WorkerHost,
    cancelled: Cancellation,
    log: Callable[[str], None],
    patience: _Patience,
) -> Exception | None:
    """One connection, until it is lost or ``cancelled``. The error if there was none."""
    extra: Any = {VERSIONS: lambda _: host.versions}
    worker: Any = None
    try:
        worker = _Worker(
            address,
            memory_limit=0,  # agents are not its children, and its own results are small
            local_directory=str(host.folder),
            dashboard_address="127.0.0.1:0",
            startup_information=extra,
            **settings,
        )
        setattr(worker, HOST, host)
        await asyncio.wait_for(worker, CLUSTER_SECONDS)
        patience.since = time.monotonic()
        log(f"worker of {address}: {settings['nthreads']} slots, {host.versions}")
        stopping = asyncio.create_task(_until(cancelled))
        closed = asyncio.create_task(worker.finished())
        await asyncio.wait({stopping, closed}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if cancelled:
            host.shutdown.set()
        else:
            log(f"the connection to {address} was lost")
    # With any error the scheduler was not reached; the caller tries again, and reports it after a while.
    except Exception as error:  # noqa: BLE001
        return error
    finally:
        if worker is not None:
            await _closed(worker)
    return None


async def _closed(worker: Any) -> None:
    """Close the worker with its plug-ins, which end the slots."""
    try:
        await asyncio.wait_for(worker.close(timeout=5, nanny=False), 20)
    # The process ends, or connects again with a new worker: a connection that does not close changes neither.
    except Exception:  # noqa: BLE001
        return


async def _until(cancelled: Cancellation) -> None:
    loop = asyncio.get_running_loop()
    reached = asyncio.Event()
    loop.add_reader(cancelled.fileno(), reached.set)
    try:
        await reached.wait()
    finally:
        loop.remove_reader(cancelled.fileno())
