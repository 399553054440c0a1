"""Containers of the sandbox for tests, in the engine that DOCKER_HOST names."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import uuid4

from container.image import docker
from skillgym_action.model.containers import ContainerCommand, ContainerLimits, ContainerSpec
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.containers import SandboxSettings, open_sandbox
from skillgym_action.system.files.bundle import BundleEntry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.model.session import Capture, Watcher
    from skillgym_action.system.containers import Sandbox, SandboxContainer

MIB = 1024**2
BASE = "python:3.12-slim"
SPEC = ContainerSpec(image=BASE, workdir="/app", limits=ContainerLimits(memory=256 * MIB, pids=100))


def settings(**changes: object) -> SandboxSettings:
    """The settings of a new run."""
    return replace(
        SandboxSettings(run=f"test-{uuid4().hex[:12]}", environment=dict(os.environ), cancelled=Cancellation()),
        **changes,  # type: ignore[arg-type]
    )


@contextmanager
def opened(**changes: object) -> Iterator[Sandbox]:
    """A sandbox; afterwards nothing of its run is left in the engine."""
    of_run = settings(**changes)
    with open_sandbox("docker", of_run) as sandbox:
        yield sandbox
    assert left_of(of_run.run) == []


@contextmanager
def box(sandbox: Sandbox, spec: ContainerSpec = SPEC) -> Iterator[SandboxContainer]:
    """A container that runs nothing yet."""
    with sandbox.create(sandbox.image(spec), spec) as container:
        yield container


def left_of(run: str) -> list[str]:
    """Containers and networks of a run that the engine has."""
    label = f"label=skillgym-action.run={run}"
    containers = docker("ps", "--all", "--quiet", "--filter", label).split()
    return containers + docker("network", "ls", "--quiet", "--filter", label).split()


@dataclass(frozen=True)
class Ran:
    """A program that has ended, and what it printed."""

    capture: Capture
    out: str
    err: str


def run(
    container: SandboxContainer, tmp_path: Path, *argv: str, watch: Watcher | None = None, **settings: object
) -> Ran:
    """Run a program in a container."""
    out, err = tmp_path / "stdout.log", tmp_path / "stderr.log"
    command = ContainerCommand(argv=argv, **settings)  # type: ignore[arg-type]
    capture = container.run(command, stdout=out, stderr=err, watch=watch)
    return Ran(capture, *(path.read_text(errors="replace") if path.exists() else "" for path in (out, err)))


def file(path: str, content: str = "", mode: int = 0o644) -> BundleEntry:
    """A file with this content."""
    return BundleEntry("file", path, mode).with_content(len(content.encode()), content.encode())


def inspected(container: SandboxContainer) -> dict[str, dict[str, object]]:
    """What the engine says about a container."""
    (found,) = json.loads(docker("inspect", container.id))
    return found  # type: ignore[no-any-return]
