"""Containers that sessions run in: what a suite asks for, what a sandbox can do, and what is run in one."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


# --- what a suite asks for --------------------------------------------------------------------------


class NetworkMode(StrEnum):
    """What a container may connect to.

    NONE: nothing. MODEL_ONLY: the services of the agent's model. ALLOW_LIST: hosts that the suite lists. OPEN: all.
    """

    NONE = "none"
    MODEL_ONLY = "model-only"
    ALLOW_LIST = "allow-list"
    OPEN = "open"


@record
class NetworkPolicy:
    """What a container may connect to. ``hosts``: for MODEL_ONLY and ALLOW_LIST only, and never empty there.

    A host is ``NAME`` (HTTPS at port 443; refused if the name has a private address) or ``NAME:PORT`` (HTTPS and HTTP
    at this port; private addresses are accepted, those of link-local networks are not). The name
    ``host.docker.internal`` is the machine that the engine runs on. For MODEL_ONLY the caller fills in the hosts.
    """

    mode: NetworkMode = NetworkMode.NONE
    hosts: tuple[str, ...] = ()


@record
class ContainerLimits:
    """Upper limits of one container; None: no limit.

    ``cpus``: processors, also parts of one. ``memory``: bytes of all its processes; swap is not used. ``pids``:
    processes and threads at one time. ``disk``: bytes written to its own layer, without volumes.
    """

    cpus: float | None = None
    memory: int | None = None
    pids: int | None = None
    disk: int | None = None


@record
class ContainerBuild:
    """An image to build. ``context``: an absolute folder; ``dockerfile``: relative to it. ``args``: build arguments."""

    context: Path
    dockerfile: str = "Dockerfile"
    args: tuple[tuple[str, str], ...] = ()


@record
class ContainerSpec:
    """The container of a case. Either ``image``, the name of one, or ``build`` is set.

    ``workdir`` (absolute) and ``user`` (name or uid, with ``:group``): None: those of the image.
    """

    image: str | None = None
    build: ContainerBuild | None = None
    workdir: str | None = None
    user: str | None = None
    limits: ContainerLimits = field(default_factory=ContainerLimits)
    network: NetworkPolicy = field(default_factory=NetworkPolicy)


# --- what a sandbox can do, and what it returns -----------------------------------------------------


@record
class SandboxCapabilities:
    """What a sandbox can do.

    ``networks``: modes; ``limits``: field names of ``ContainerLimits`` that are enforced. ``disk``: by the storage
    (``quota``), by measuring while commands run (``measured``), or not at all. ``architecture``: as in images, such as
    ``amd64``. ``builds``: whether images can be built. ``details``: name -> value, for `doctor`; escaped.
    """

    networks: frozenset[NetworkMode]
    limits: frozenset[str]
    architecture: str
    disk: Literal["quota", "measured", "none"] = "none"
    builds: bool = True
    details: tuple[tuple[str, str], ...] = ()

    def missing(self, spec: ContainerSpec) -> tuple[str, ...]:
        """What the container asks for and the sandbox cannot do, one phrase each; (): nothing."""
        found = []
        if spec.network.mode not in self.networks:
            found.append(f"network mode {spec.network.mode}")
        limits = ("cpus", "memory", "pids", "disk")
        found += [f"limit {name}" for name in limits if getattr(spec.limits, name) and name not in self.limits]
        if spec.build and not self.builds:
            found.append("building images")
        return tuple(found)


@record
class BuiltImage:
    """An image that is there. ``digest``: of its content, such as ``sha256:…``; the same content has the same digest.

    ``name``: for people. ``user`` and ``workdir``: as the image sets them; empty user: root. ``environment``: of the
    image. ``volumes``: paths that it declares as volumes.
    """

    digest: str
    name: str
    architecture: str
    user: str = ""
    workdir: str = "/"
    environment: tuple[tuple[str, str], ...] = ()
    volumes: tuple[str, ...] = ()


@record
class VolumeMount:
    """A named volume, mounted read-only at ``path``, which is absolute."""

    name: str
    path: str


@record
class Owner:
    """The owner of files that are put into a container."""

    uid: int = 0
    gid: int = 0


@record
class ContainerCommand:
    """A program to run in a container; data only.

    ``env`` is added to the environment of the image and to the variables of the network's proxy. ``user`` and ``cwd``:
    None: those of the container's spec, else of the image. ``timeout`` is in seconds. ``stdin``: None: nothing to read.
    ``keep_processes``: processes that it leaves running stay until the end of the next command that does not keep
    them; otherwise all processes of the container are ended with it.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    user: str | None = None
    cwd: str | None = None
    timeout: float = inf
    stdin: str | None = None
    keep_processes: bool = False


@record
class ContainerChange:
    """An absolute path, of any text, that differs from the image. Folders that contain a change are changed, too."""

    path: str
    kind: Literal["added", "changed", "deleted"]


@record
class RefusedConnection:
    """A connection that the network policy refused. ``target``: as the container wrote it, escaped."""

    target: str
    count: int = 1
