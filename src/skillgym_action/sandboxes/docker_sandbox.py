"""The sandbox of a Docker engine, also where it is another machine, or the engine that runs the tool's own container.

Nothing of this machine's file system is mounted: files go in and out as archives. All that a run makes is labelled. A
container ends when the connection to its keeper does, hence with the tool, and the engine then removes it.
"""

from __future__ import annotations

import hashlib
import threading
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Self, cast
from uuid import uuid4

from docker.errors import APIError
from docker.types import LogConfig, Mount, Ulimit

from skillgym_action.filesystem.bundle import BundleEntry
from skillgym_action.model.containers import NetworkMode, SandboxCapabilities
from skillgym_action.model.errors import SandboxError
from skillgym_action.sandboxes.docker_commands import DiskWatch
from skillgym_action.sandboxes.docker_container import KEEPER_PATH, DockerContainer
from skillgym_action.sandboxes.docker_engine import ENGINE_ERRORS, Engine
from skillgym_action.sandboxes.docker_images import DockerImages
from skillgym_action.sandboxes.docker_networks import DockerNetworks
from skillgym_action.sandboxes.docker_processes import Processes
from skillgym_action.sandboxes.docker_sweep import labels, remove_run, sweep
from skillgym_action.sandboxes.keeper import MACHINES, NO_PROCESS, keeper
from skillgym_action.sandboxes.tar_entries import END, write_tar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from skillgym_action.model.containers import BuiltImage, ContainerSpec, VolumeMount
    from skillgym_action.sandboxes import SandboxSettings
    from skillgym_action.sandboxes.docker_networks import Connection

# What programs of images need to install packages and to change users. Those of the network and of the kernel are not.
CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETGID", "SETUID")
LIMITS = {"cpus": "CpuCfsQuota", "memory": "MemoryLimit", "pids": "PidsLimit"}  # field -> key of the engine's info
QUOTA_DRIVERS = frozenset({"btrfs", "zfs", "devicemapper", "windowsfilter"})
EMPTY_IMAGE = "skillgym-action/empty:1"
VOLUME_PATH = "/content"


def sandbox(settings: SandboxSettings) -> DockerSandbox:
    """The sandbox of the engine at ``DOCKER_HOST``. Raises SandboxError."""
    return DockerSandbox(settings)


class DockerSandbox:
    """See ``Sandbox``."""

    def __init__(self, settings: SandboxSettings) -> None:
        """Raises SandboxError if the engine does not answer, or runs no Linux containers of a known architecture."""
        self.settings = settings
        self.engine = Engine(settings.environment, settings.redact)
        if self.engine.architecture not in MACHINES or self.engine.info.get("OSType") != "linux":
            kind = self.engine.shown(f"{self.engine.info.get('OSType')}/{self.engine.architecture}")
            raise SandboxError(
                f"the Docker engine runs {kind} containers; known: {', '.join(map('linux/'.__add__, MACHINES))}"
            )
        self.capabilities = capabilities(self.engine)
        self._images = DockerImages(self.engine, settings.cancelled)
        self._networks = DockerNetworks(self.engine, settings, self._images)
        self._keeper = keeper(self.engine.architecture)
        self._containers: set[DockerContainer] = set()
        self._lock = threading.Lock()
        self.sweep()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def image(self, spec: ContainerSpec) -> BuiltImage:
        return self._images.image(spec)

    # --- containers ---------------------------------------------------------------------------------------------

    def create(self, image: BuiltImage, spec: ContainerSpec, mounts: tuple[VolumeMount, ...] = ()) -> DockerContainer:
        if missing := self.capabilities.missing(spec):
            raise SandboxError(f"the Docker engine cannot do {', '.join(missing)}", remedy="use another engine")
        with self.engine.errors("a container cannot be made"):
            connection = self._networks.connect(spec.network)
            try:
                container = self._made(image, spec, mounts, connection)
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

    def _made(
        self, image: BuiltImage, spec: ContainerSpec, mounts: tuple[VolumeMount, ...], connection: Connection
    ) -> DockerContainer:
        api = self.engine.api
        made = api.create_container(
            image.digest,
            command=[],
            entrypoint=[KEEPER_PATH],
            user="0:0",
            working_dir=spec.workdir or image.workdir or "/",
            stdin_open=True,
            labels=self._labels("container"),
            healthcheck={"test": ["NONE"]},
            networking_config=connection.networking,
            host_config=self._host_config(spec, mounts, connection),
        )
        container = made["Id"]
        stream = None
        try:
            program = BundleEntry("file", KEEPER_PATH[1:], 0o555).with_content(len(self._keeper), self._keeper)
            api.put_archive(container, "/", b"".join(chain(write_tar([program]), (END,))))
            stream = self.engine.stream(f"/containers/{container}/attach?stream=1&stdin=1&stdout=1")
            api.start(container)
            processes = Processes(self.engine, container, stream, spec.limits.memory)
            _require_keeper(processes)
        except BaseException:
            if stream:
                stream.close()
            with suppress(*ENGINE_ERRORS):
                api.remove_container(container, force=True, v=True)
            raise
        return DockerContainer(self.engine, container, self._with_user(spec, image), processes, self.settings.cancelled)

    @staticmethod
    def _with_user(spec: ContainerSpec, image: BuiltImage) -> ContainerSpec:
        return replace(spec, user=spec.user or image.user or "0:0", workdir=spec.workdir or image.workdir or "/")

    def _host_config(
        self, spec: ContainerSpec, mounts: tuple[VolumeMount, ...], connection: Connection
    ) -> dict[str, Any]:
        limits = spec.limits
        quota = {"size": str(limits.disk)} if limits.disk and self.capabilities.disk == "quota" else None
        found: dict[str, Any] = self.engine.api.create_host_config(
            auto_remove=True,
            network_mode=connection.network,
            dns=list(connection.dns) or None,
            cap_drop=["ALL"],
            cap_add=list(CAPABILITIES),
            security_opt=["no-new-privileges"],
            privileged=False,
            ipc_mode="private",
            nano_cpus=round(limits.cpus * 1e9) if limits.cpus else None,
            mem_limit=limits.memory,
            memswap_limit=limits.memory,
            pids_limit=limits.pids,
            storage_opt=quota,
            log_config=LogConfig(type="none"),
            ulimits=[Ulimit(name="core", soft=0, hard=0)],
            mounts=[Mount(mount.path, mount.name, read_only=True) for mount in mounts],
        )
        return found

    def _labels(self, kind: str) -> dict[str, str]:
        return labels(self.settings.run, kind)

    # --- volumes ------------------------------------------------------------------------------------------------

    def volume(self, key: str, entries: Callable[[], Iterable[BundleEntry]]) -> str:
        name = f"skillgym-action-{hashlib.sha256(key.encode()).hexdigest()[:32]}"
        with self.engine.errors("a volume cannot be made"):
            with suppress(APIError):
                return cast("str", self.engine.api.inspect_volume(name)["Labels"]["skillgym-action.content"])
            content = f"{name}-{uuid4().hex[:8]}"
            self.engine.api.create_volume(content, labels=self._labels("content"))
            try:
                self._fill(content, entries())
                # the name of the first that is complete stays: creating a volume that exists returns it
                made = self.engine.api.create_volume(
                    name, labels={**self._labels("volume"), "skillgym-action.content": content}
                )
                found: str = made["Labels"]["skillgym-action.content"]
            except BaseException:
                found = ""
                raise
            finally:
                if found != content:
                    with suppress(*ENGINE_ERRORS):
                        self.engine.api.remove_volume(content)
            return found

    def _fill(self, volume: str, entries: Iterable[BundleEntry]) -> None:
        """Write into a volume, by way of a container that never runs."""
        api = self.engine.api
        try:
            api.inspect_image(EMPTY_IMAGE)  # type: ignore[no-untyped-call]
        except APIError:
            repository, _, tag = EMPTY_IMAGE.partition(":")
            api.import_image_from_data(
                b"".join((*write_tar([BundleEntry("folder", VOLUME_PATH[1:], 0o755)]), END)),
                repository=repository,
                tag=tag,
            )
        mount = Mount(VOLUME_PATH, volume)
        config = api.create_host_config(mounts=[mount], network_mode="none")
        made = api.create_container(EMPTY_IMAGE, command=["/"], labels=self._labels("filler"), host_config=config)
        try:
            api.put_archive(made["Id"], VOLUME_PATH, chain(write_tar(entries), (END,)))
        finally:
            api.remove_container(made["Id"], force=True)

    # --- the end ------------------------------------------------------------------------------------------------

    def sweep(self) -> tuple[str, ...]:
        with self.engine.errors("what earlier runs left cannot be removed"):
            return sweep(self.engine)

    def close(self) -> None:
        with self._lock:
            left = list(self._containers)
        for container in left:
            container.remove()
        self._networks.close()
        with suppress(*ENGINE_ERRORS):
            remove_run(self.engine, self.settings.run)
        self.engine.close()


def _require_keeper(processes: Processes) -> None:
    if processes.signal(0) != NO_PROCESS:
        raise SandboxError("a container cannot be made: its first process does not run")


def capabilities(engine: Engine) -> SandboxCapabilities:
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
