"""A cluster of Dask on loopback: a scheduler and workers of the tool, all of them real processes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil
import trustme

from scratch import PROGRAM, environment
from waiting import until

DASK = Path(sys.executable).with_name("dask")
HOSTILE = Path(__file__).with_name("hostile_worker.py")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Certificates:
    """An authority, and certificates of it, in files."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        authority = trustme.CA()
        issued = authority.issue_cert("127.0.0.1")
        self.ca, self.cert, self.key = (folder / name for name in ("ca.pem", "cert.pem", "key.pem"))
        authority.cert_pem.write_to_path(self.ca)
        issued.private_key_pem.write_to_path(self.key)
        for number, blob in enumerate(issued.cert_chain_pems):
            blob.write_to_path(self.cert, append=number > 0)

    def of_scheduler(self) -> list[str]:
        return ["--tls-ca-file", str(self.ca), "--tls-cert", str(self.cert), "--tls-key", str(self.key)]

    def of_worker(self) -> list[str]:
        return ["--tls-ca", str(self.ca), "--tls-cert", str(self.cert), "--tls-key", str(self.key)]

    def of_run(self) -> dict[str, str]:
        """``engine.tls`` of a configuration."""
        return {"ca": str(self.ca), "cert": str(self.cert), "key": str(self.key)}


class Cluster:
    """A context manager. ``env``: what workers have in their environment beside the usual."""

    def __init__(self, folder: Path, certificates: Certificates | None = None, **env: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.certificates, self.env = folder, certificates, env
        self.port = free_port()
        self.address = f"{'tls' if certificates else 'tcp'}://127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.start_scheduler()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self.processes:
            with suppress(ProcessLookupError):
                one.send_signal(signal.SIGCONT)
                one.terminate()
        for one in self.processes:
            with suppress(subprocess.TimeoutExpired):
                one.wait(15)
            one.kill()
            one.wait()

    def start_scheduler(self) -> None:
        options = ["--host", self.address.rpartition(":")[0], "--port", str(self.port)]
        options += ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
        tls = self.certificates.of_scheduler() if self.certificates else []
        self.scheduler = self._start([str(DASK), "scheduler", *options, *tls], "scheduler", {})
        until(lambda: "Scheduler at" in self.log("scheduler"), "the scheduler starts")

    def start_worker(self, *options: str, slots: int = 2, program: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        """A worker that is connected."""
        name = f"worker-{len(self.workers)}"
        tls = self.certificates.of_worker() if self.certificates else []
        command = program or (os.fspath(PROGRAM), "worker")
        words = [*command, self.address, "--slots", str(slots), *tls, *options]
        worker = self._start(words, name, self.env | {"TMPDIR": str(self.temporary)})
        self.workers.append(worker)
        until(lambda: "worker of" in self.log(name), f"{name} connects: {self.log(name)}")
        return worker

    def start_foreign_worker(self) -> None:
        """A connected worker of Dask without the tool, for a cluster without certificates."""
        package = self.folder / "foreign" / "skillgym_action"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise ModuleNotFoundError(__name__)\n")
        words = [str(DASK), "worker", self.address, "--no-dashboard", "--no-nanny", "--nthreads", "1"]
        self._start(words, "foreign", {"PYTHONPATH": str(package.parent)})
        until(lambda: "Registered to" in self.log("foreign"), "the foreign worker connects")

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def _start(self, words: list[str], name: str, env: dict[str, str]) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("wb") as log:
            started = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(**env), cwd=self.folder
            )
        self.processes.append(started)
        return started

    def worker_folders(self) -> set[str]:
        """The folders of workers, with or without a process that uses them."""
        return {path.name for path in self.temporary.glob("skillgym-workers-*/worker-*") if path.is_dir()}

    def leftovers(self) -> list[str]:
        """What runs have left in the folders of workers."""
        return [str(path) for path in self.temporary.glob("skillgym-workers-*/worker-*/*/files")]


def running(mark: str) -> list[psutil.Process]:
    """Processes with this text in their command line."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if any(mark in word for word in process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def engine_settings(cluster: Cluster, **more: object) -> dict[str, object]:
    """The section ``engine`` of a configuration."""
    tls = {"tls": cluster.certificates.of_run()} if cluster.certificates else {}
    return {"type": "dask", "address": cluster.address, **tls, **more}
