"""The start of a container in a Docker engine, whose first process is the keeper."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from docker.types import LogConfig, Ulimit

from skillgym_action.model.errors import SandboxError
from skillgym_action.sandboxes.docker_engine import ENGINE_ERRORS
from skillgym_action.sandboxes.docker_processes import Processes
from skillgym_action.sandboxes.docker_volumes import KEEPER_PATH
from skillgym_action.sandboxes.keeper import NO_PROCESS

if TYPE_CHECKING:
    from skillgym_action.sandboxes.docker_engine import DockerEngine
    from skillgym_action.sandboxes.docker_volumes import DockerVolumes


class DockerStarter:
    """Starts containers that end with the tool, and are then removed by the engine."""

    def __init__(self, engine: DockerEngine, volumes: DockerVolumes) -> None:
        self._engine, self._volumes = engine, volumes

    def start(
        self, image: str, workdir: str, labels: dict[str, str], host: dict[str, Any], address: str | None = None
    ) -> tuple[str, Processes]:
        """A container in which only its keeper runs: its id and its processes. ``image``: a digest.

        ``host``: arguments of ``create_host_config`` for limits, network and mounts, which get what all containers
        have. ``address``: of the container in its network. Raises SandboxError, ENGINE_ERRORS.
        """
        api = self._engine.api
        networking = None
        if address:
            endpoint = api.create_endpoint_config(ipv4_address=address)
            networking = {"EndpointsConfig": {host["network_mode"]: endpoint}}
        made = api.create_container(
            image,
            command=[],
            entrypoint=[KEEPER_PATH],
            user="0:0",
            working_dir=workdir,
            stdin_open=True,
            labels=labels,
            healthcheck={"test": ["NONE"]},
            networking_config=networking,
            host_config=api.create_host_config(
                auto_remove=True,
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                privileged=False,
                ipc_mode="private",
                log_config=LogConfig(type="none"),
                ulimits=[Ulimit(name="core", soft=0, hard=0)],
                **{**host, "mounts": [self._volumes.keeper(), *host.get("mounts", ())]},
            ),
        )
        container, stream = str(made["Id"]), None
        try:
            stream = self._engine.stream(f"/containers/{container}/attach?stream=1&stdin=1&stdout=1")
            api.start(container)
            processes = Processes(self._engine, container, stream, host.get("mem_limit"))
            _require_keeper(processes)
        except BaseException:
            if stream:
                stream.close()
            with suppress(*ENGINE_ERRORS):
                api.remove_container(container, force=True, v=True)
            raise
        return container, processes


def _require_keeper(processes: Processes) -> None:
    if processes.signal(0) != NO_PROCESS:
        raise SandboxError("a container cannot be made: its first process does not run")
