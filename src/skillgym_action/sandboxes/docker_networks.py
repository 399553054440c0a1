"""The networks of a run in a Docker engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from skillgym_action.model.containers import NetworkMode
from skillgym_action.model.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skillgym_action.model.containers import NetworkPolicy, RefusedConnection
    from skillgym_action.sandboxes import SandboxSettings
    from skillgym_action.sandboxes.docker_engine import Engine
    from skillgym_action.sandboxes.docker_images import DockerImages


@dataclass(frozen=True, kw_only=True, slots=True)
class Connection:
    """The place of one container in a network. ``networking``: the engine's configuration of the address, if any."""

    network: str
    networking: dict[str, Any] | None = None
    dns: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    release: Callable[[], None] = lambda: None
    refusals: Callable[[], tuple[RefusedConnection, ...]] = tuple


class DockerNetworks:
    """The networks of one run."""

    def __init__(self, engine: Engine, settings: SandboxSettings, images: DockerImages) -> None:
        self._engine, self._settings, self._images = engine, settings, images

    def connect(self, policy: NetworkPolicy) -> Connection:
        """A place for a new container. Raises SandboxError, docker.errors.APIError."""
        if policy.mode is NetworkMode.NONE:
            return Connection(network="none")
        if policy.mode is NetworkMode.OPEN:
            return Connection(network="bridge")
        raise SandboxError(f"network mode {policy.mode} is not there yet")

    def close(self) -> None:
        pass
