"""Sandboxes, in which sessions run in a container each; one file, or folder, each.

A sandbox makes containers of images, with limits and a network policy, and never gives less isolation than was asked
for. To add one: a module with a function ``sandbox(settings)``, a row in ``SANDBOXES``, tests.
``docs/reference/sandboxes.md`` has what each operation must do.
"""

from __future__ import annotations

import math
from dataclasses import field
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, Self, cast

from skillgym_action.model.errors import SandboxError, UsageError
from skillgym_action.model.plugin_table import PluginTable
from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from skillgym_action.model.containers import (
        BuiltImage,
        ContainerChange,
        ContainerCommand,
        ContainerSpec,
        Owner,
        RefusedConnection,
        SandboxCapabilities,
        VolumeMount,
    )
    from skillgym_action.model.session import Capture, Watcher
    from skillgym_action.system.cancellation import Cancellation
    from skillgym_action.system.files.bundle import BundleEntry, BundleLimits

_OWN = {
    "none": None,  # sessions run as processes of this machine
    "docker": "skillgym_action.system.containers.docker_sandbox",
}
SANDBOXES = PluginTable[str | None]("sandboxes", _OWN, ("sandbox",), lambda module: module.__name__)


@record
class SandboxSettings:
    """What a sandbox is opened with. ``run``: id of the run, which labels all it makes: letters, digits, ``-``, ``.``.

    ``environment``: of the tool, for the engine's address (``DOCKER_HOST``, …); it has secrets, and nothing of it gets
    into a container. ``redact`` takes secrets out of a text. ``proxy_image``: a ready image with squid, where none can
    be built; None: one is built. ``proxy_base``: the image that it is built on.
    """

    run: str
    environment: Mapping[str, str] = field(repr=False)
    cancelled: Cancellation
    redact: Callable[[str], str] = str
    proxy_image: str | None = None
    proxy_base: str = "python:3.12-slim"


class Sandbox(Protocol):
    """Makes containers. Safe to use from several threads at once. A context manager: its exit is ``close``.

    All operations raise SandboxError: the engine does not answer, or refuses. Its message is escaped and redacted.
    """

    @property
    def capabilities(self) -> SandboxCapabilities:
        """What it can do; the same for the whole run."""
        ...

    def image(self, spec: ContainerSpec) -> BuiltImage:
        """The image of a container: pulled if it is not there, or built with a cache; once per spec and run.

        Raises SandboxError also for a failed build, with its last lines, and for an image of another architecture.
        """
        ...

    def volume(self, key: str, entries: Callable[[], Iterable[BundleEntry]]) -> str:
        """The name of a volume with this content, to be mounted read-only.

        ``key`` identifies the content: the first call of all runs fills it, for later ones it is there. Volumes stay
        between runs.
        """
        ...

    def create(self, image: BuiltImage, spec: ContainerSpec, mounts: tuple[VolumeMount, ...] = ()) -> SandboxContainer:
        """A new container with the limits and the network of ``spec``, in which nothing runs yet.

        Neither its entry point nor its health check is run. Raises SandboxError also for what the sandbox cannot do.
        """
        ...

    def sweep(self, lease_seconds: float = math.inf) -> tuple[str, ...]:
        """Remove what runs that have ended without cleanup left: its names, escaped.

        Also containers that have run for ``lease_seconds``, of any run.
        """
        ...

    def close(self) -> None:
        """Remove all that this run has made, except images and volumes that stay."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...


class SandboxContainer(Protocol):
    """A container. One operation at a time; ``remove`` may be called from other threads. A context manager.

    It ends with the tool, even if the tool is killed. The operations but ``run`` raise SandboxError.
    """

    @property
    def id(self) -> str:
        """Its id in the engine, for messages."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that ``run`` adds for the network's proxy."""
        ...

    def put(self, entries: Iterable[BundleEntry], path: str, owner: Owner | None = None) -> None:
        """Create or replace files and folders below ``path``, an absolute folder; it is made if it is missing.

        All get ``owner`` (None: root). Links in the container are resolved inside of it.
        """
        ...

    def get(self, path: str, limits: BundleLimits | None = None) -> Iterator[BundleEntry]:
        """The content of the folder at ``path``, relative to it; for a file, an entry with its name.

        Checked as a bundle: no path leaves the folder, each comes once and after its folder; devices, sockets and FIFOs
        are left out; setuid, setgid and sticky bits are dropped; hard links are copies. Symbolic links stay links.
        Raises FileNotFoundError; BundleError for what is larger than ``limits`` or forged.
        """
        ...

    def read(self, path: str, size: int) -> bytes | None:
        """A regular file of at most ``size`` bytes; None: there is none. Raises BundleError if it is larger."""
        ...

    def run(self, command: ContainerCommand, *, stdout: Path, stderr: Path, watch: Watcher | None = None) -> Capture:
        """Run a program to its end; never raises for what the program, the container or the engine does.

        The endings are those of ``ProcessLauncher.run``: a limit of the container that is reached is STOPPED with a
        trouble (``out-of-memory``; ``resource-limit`` for the disk), a container or engine that is gone is LOST.
        """
        ...

    def changes(self) -> tuple[ContainerChange, ...]:
        """The paths that differ from the image, sorted; what is in volumes is not known."""
        ...

    def refused(self) -> tuple[RefusedConnection, ...]:
        """The connections that the proxy of its network refused, most frequent first; () for other network modes."""
        ...

    def remove(self) -> None:
        """End all its processes and remove it with its volumes and network. Again: nothing. Never raises."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...


def open_sandbox(kind: str, settings: SandboxSettings, *, sweep: bool = True) -> Sandbox:
    """The sandbox of this type, connected. ``kind``: a key of ``SANDBOXES`` but ``none``.

    ``sweep``: remove what killed runs left. Raises SandboxError if the engine does not answer; UsageError if the extra
    is not installed.
    """
    module = SANDBOXES[kind]
    if module is None:
        raise ValueError(f"{kind!r} is not a sandbox")
    try:
        make = cast("Callable[[SandboxSettings], Sandbox]", import_module(module).sandbox)
    except ModuleNotFoundError as error:
        if error.name != kind:
            raise
        remedy = f"pip install 'skillgym-action[{kind}]'"
        raise UsageError(f"the sandbox {kind} needs the Python package {kind}", remedy=remedy) from error
    with SANDBOXES.blamed(kind, SandboxError):
        sandbox = make(settings)
        if sweep:
            sandbox.sweep()
    return sandbox
