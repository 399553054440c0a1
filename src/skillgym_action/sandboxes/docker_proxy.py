"""The proxy of a run's containers: Squid in a container of its own, and what it logs."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

from skillgym_action.filesystem.bundle import BundleEntry
from skillgym_action.model.errors import SandboxError
from skillgym_action.remote_limits import (
    MAX_REFUSED_CONNECTIONS,
    MAX_REFUSED_LINE_BYTES,
    PROXY_MEMORY_BYTES,
    PROXY_PROCESSES,
    PROXY_START_SECONDS,
)
from skillgym_action.sandboxes import squid
from skillgym_action.sandboxes.docker_sweep import labels
from skillgym_action.sandboxes.tar_entries import END, write_tar

if TYPE_CHECKING:
    from skillgym_action.model.containers import NetworkPolicy
    from skillgym_action.sandboxes import SandboxSettings
    from skillgym_action.sandboxes.docker_engine import DockerEngine, Stream
    from skillgym_action.sandboxes.docker_images import DockerImages
    from skillgym_action.sandboxes.docker_processes import Processes
    from skillgym_action.sandboxes.docker_start import DockerStarter

HOST_NAMES = {"host.docker.internal": "host-gateway"}
REMEDY = "name an image that has squid (proxy_image of the sandbox), or use network mode none or open"


class ProxyImage:
    """The image with Squid: the one that a setting names, or one that is built."""

    def __init__(self, images: DockerImages, settings: SandboxSettings) -> None:
        self._images, self._settings = images, settings

    def digest(self) -> str:
        """Raises SandboxError."""
        if self._settings.proxy_image:
            return self._images.named(self._settings.proxy_image).digest
        files = {"Dockerfile": squid.DOCKERFILE.encode()}
        try:
            return self._images.of_files("the network's proxy", files, (("BASE", self._settings.proxy_base),)).digest
        except SandboxError as error:
            raise SandboxError(error.problems[0].message, remedy=REMEDY) from error


class Proxies:
    """Starts proxies."""

    def __init__(self, engine: DockerEngine, starter: DockerStarter, image: ProxyImage, run: str) -> None:
        self._engine, self._starter, self._image, self._run = engine, starter, image, run

    def start(self, policy: NetworkPolicy, network: str) -> DockerProxy:
        """A proxy that listens. ``network`` leads outside. Raises SandboxError, ENGINE_ERRORS."""
        host = {
            "network_mode": network,
            "extra_hosts": HOST_NAMES,
            "cap_add": ["KILL", "SETGID", "SETUID"],
            "mem_limit": PROXY_MEMORY_BYTES,
            "memswap_limit": PROXY_MEMORY_BYTES,
            "pids_limit": PROXY_PROCESSES,
            "sysctls": {"net.ipv4.ip_forward": "0"},  # else it would also be a router
        }
        engine = self._engine
        container, processes = self._starter.start(self._image.digest(), "/", labels(self._run, "proxy"), host)
        try:
            text = squid.configuration(policy).encode()
            entry = BundleEntry("file", squid.CONFIGURATION[1:], 0o444).with_content(len(text), text)
            engine.api.put_archive(container, "/", b"".join((*write_tar([entry]), END)))
            program = engine.api.exec_create(container, list(squid.COMMAND), user=squid.USER)["Id"]
            log = engine.stream(f"/exec/{program}/start", {"Detach": False, "Tty": False})
            return DockerProxy(container, processes, log)
        except BaseException:
            processes.close()
            raise


class DockerProxy:
    """One proxy, which runs until it is closed, and counts what it refused."""

    def __init__(self, container: str, processes: Processes, log: Stream) -> None:
        """Raises SandboxError unless it listens soon."""
        self.container = container
        self._processes, self._log = processes, log
        self._counts: dict[str, Counter[str]] = {}
        self._started = threading.Event()
        self._said = b""
        threading.Thread(target=self._read, daemon=True).start()
        if not self._started.wait(PROXY_START_SECONDS) or not self.alive():
            self.close()
            raise SandboxError(f"the network's proxy does not start: {self._said.decode('utf-8', 'replace')!r}")

    def _read(self) -> None:
        line = b""
        while not self._log.ended:
            for channel, piece in self._log.frames():
                if channel != 1:
                    self._said = (self._said + piece)[-MAX_REFUSED_LINE_BYTES:]
                    if squid.STARTED in self._said:
                        self._started.set()
                    continue
                *lines, line = (line + piece).split(b"\n")
                for each in lines:
                    self._note(each)
                line = line[-MAX_REFUSED_LINE_BYTES:]
        self._started.set()

    def _note(self, line: bytes) -> None:
        client, target = squid.refused(line) or ("", "")
        counts = self._counts.get(client)
        if counts is not None and (target in counts or len(counts) < MAX_REFUSED_CONNECTIONS):
            counts[target] += 1

    def count(self, client: str) -> Counter[str]:
        """Counts what is refused to the container with this address from now on, by target."""
        counts = self._counts[client] = Counter()
        return counts

    def alive(self) -> bool:
        return not self._log.ended

    def close(self) -> None:
        """End it; the engine removes its container."""
        self._processes.end()
        self._log.close()
        self._processes.close()
