"""The sandbox of a Docker engine, also where it is another machine, or the engine that runs the tool's own container.

Nothing of this machine's file system is mounted: files go in and out as archives. All that a run makes is labelled. A
container ends when the connection to its keeper does, hence with the tool, and the engine then removes it.
"""

from __future__ import annotations

import math
import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from docker.types import Mount

from skillgym_action.model.containers import NetworkMode, SandboxCapabilities
from skillgym_action.model.errors import SandboxError
from skillgym_action.system.containers.docker_container import DiskWatch, DockerContainer, DockerStarter
from skillgym_action.system.containers.docker_engine import ENGINE_ERRORS, DockerEngine
from skillgym_action.system.containers.docker_images import DockerImages, DockerVolumes
from skillgym_action.system.containers.docker_networks import DockerNetworks, Proxies, ProxyImage
from skillgym_action.system.containers.docker_sweep import labels, remove_run, sweep
from skillgym_action.system.containers.keeper import MACHINES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from skillgym_action.model.containers import BuiltImage, ContainerSpec, VolumeMount
    from skillgym_action.system.containers import SandboxSettings
    from skillgym_action.system.containers.docker_networks import Connection
    from skillgym_action.system.files.bundle import BundleEntry

# What programs of images need to install packages and to change users. Those of the network and of the kernel are not.
CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETGID", "SETUID")
LIMITS = {"cpus": "CpuCfsQuota", "memory": "MemoryLimit", "pids": "PidsLimit"}  # field -> key of the engine's info
QUOTA_DRIVERS = frozenset({"btrfs", "zfs"})
NANO = 1_000_000_000


def sandbox(settings: SandboxSettings) -> DockerSandbox:
    """The sandbox of the engine at ``DOCKER_HOST``. Raises SandboxError."""
    return DockerSandbox(settings)


class DockerSandbox:
    """See ``Sandbox``."""

    def __init__(self, settings: SandboxSettings) -> None:
        """Raises SandboxError if the engine does not answer, or runs no Linux containers of a known architecture."""
        self.settings = settings
        self.engine = DockerEngine(settings.environment, settings.redact)
        system, architecture = self.engine.info.get("OSType"), self.engine.architecture
        if architecture not in MACHINES or system != "linux":
            known = ", ".join(f"linux/{name}" for name in MACHINES)
            kind = self.engine.shown(f"{system}/{architecture}")
            raise SandboxError(f"the Docker engine runs containers for {kind}; known: {known}")
        self.capabilities = capabilities(self.engine)
        self._images = DockerImages(self.engine, settings.cancelled)
        self._volumes = DockerVolumes(self.engine, settings.run)
        self._starter = DockerStarter(self.engine, self._volumes)
        proxies = Proxies(self.engine, self._starter, ProxyImage(self._images, settings), settings.run)
        self._networks = DockerNetworks(self.engine, settings.run, proxies)
        self._containers: set[DockerContainer] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def image(self, spec: ContainerSpec) -> BuiltImage:
        return self._images.image(spec)

    def volume(self, key: str, entries: Callable[[], Iterable[BundleEntry]]) -> str:
        with self.engine.errors("a volume cannot be made"):
            return self._volumes.volume(key, entries)

    def create(self, image: BuiltImage, spec: ContainerSpec, mounts: tuple[VolumeMount, ...] = ()) -> DockerContainer:
        if missing := self.capabilities.missing(spec):
            raise SandboxError(f"the Docker engine cannot do {', '.join(missing)}", remedy="use another engine")
        spec = replace(spec, user=spec.user or image.user or "0:0", workdir=spec.workdir or image.workdir or "/")
        with self.engine.errors("a container cannot be made"):
            connection = self._networks.connect(spec.network)
            try:
                container = self._started(image, spec, mounts, connection)
            except BaseException:
                connection.release()
                raise
        container.environment, container.refusals = connection.environment, connection.refusals
        if spec.limits.disk and self.capabilities.disk == "measured":
            container.disk = DiskWatch(self.engine, container.id, spec.limits.disk)

        def release() -> None:
            connection.release()
            with self._lock:
                self._containers.discard(container)

        container.release = release
        with self._lock:
            self._containers.add(container)
        return container

    def _started(
        self, image: BuiltImage, spec: ContainerSpec, mounts: tuple[VolumeMount, ...], connection: Connection
    ) -> DockerContainer:
        limits = spec.limits
        host: dict[str, Any] = {
            "network_mode": connection.network,
            "dns": list(connection.dns) or None,
            "cap_add": list(CAPABILITIES),
            "nano_cpus": round(limits.cpus * NANO) if limits.cpus else None,
            "mem_limit": limits.memory,
            "memswap_limit": limits.memory,
            "pids_limit": limits.pids,
            "storage_opt": {"size": str(limits.disk)} if limits.disk and self.capabilities.disk == "quota" else None,
            "mounts": [Mount(mount.path, mount.name, read_only=True) for mount in mounts],
        }
        made = labels(self.settings.run, "container")
        container, processes = self._starter.start(image.digest, spec.workdir or "/", made, host, connection.address)
        return DockerContainer(self.engine, container, spec, processes, self.settings.cancelled)

    def sweep(self, lease_seconds: float = math.inf) -> tuple[str, ...]:
        with self.engine.errors("what earlier runs left cannot be removed"):
            return sweep(self.engine, lease_seconds=lease_seconds)

    def close(self) -> None:
        with self._lock:
            left = list(self._containers)
        for container in left:
            container.remove()
        self._networks.close()
        with suppress(*ENGINE_ERRORS):
            remove_run(self.engine, self.settings.run)
        self.engine.close()


def capabilities(engine: DockerEngine) -> SandboxCapabilities:
    """What the engine says it can do."""
    info = engine.info
    limits = {name for name, key in LIMITS.items() if info.get(key)}
    backing = dict(info.get("DriverStatus") or ()).get("Backing Filesystem", "")
    driver = str(info.get("Driver"))
    details = {
        "address": engine.address,
        "version": info.get("ServerVersion"),
        "kernel": info.get("KernelVersion"),
        "storage": f"{driver} on {backing}" if backing else driver,
        "control groups": f"version {info.get('CgroupVersion') or '1'}",
        "processors": info.get("NCPU"),
    }
    return SandboxCapabilities(
        networks=frozenset(NetworkMode),
        limits=frozenset(limits | {"disk"}),
        architecture=engine.architecture,
        disk="quota" if driver in QUOTA_DRIVERS else "measured",
        details=tuple((name, engine.shown(value)) for name, value in details.items()),
    )
