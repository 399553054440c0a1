"""One warm life of a container, by the sandbox and by nine starts of Docker's command line.

``python -m bench.containers [LIVES]``, with an engine and the image python:3.12-slim. A life: create and start, put a
file, run a program, put tests, run a program, get a folder, list the changes, remove. Times are medians in
milliseconds.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import time
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from skillgym_action.model.containers import ContainerCommand, ContainerLimits, ContainerSpec
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.containers import SandboxSettings, open_sandbox
from skillgym_action.system.files.bundle import BundleEntry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.system.containers import Sandbox

IMAGE = "python:3.12-slim"
SPEC = ContainerSpec(image=IMAGE, workdir="/app", limits=ContainerLimits(cpus=1, memory=256 * 1024**2, pids=100))
MOST_MS = 800.0
AGENT, TESTS = ("sh", "-c", "echo done > result"), ("sh", "-c", "cat /tests/expected result")
Times = dict[str, list[float]]


@contextmanager
def timed(times: Times, name: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    times[name].append(1000 * (time.perf_counter() - began))


def life(sandbox: Sandbox, times: Times, folder: Path) -> None:
    image = sandbox.image(SPEC)
    out, err = folder / "out", folder / "err"

    def entry(name: str) -> list[BundleEntry]:
        return [BundleEntry("file", name, 0o644).with_content(4, b"text")]

    with timed(times, "whole life"):
        with timed(times, "create, start"):
            container = sandbox.create(image, SPEC)
        with timed(times, "put"):
            container.put(entry("task"), "/app")
        with timed(times, "run agent"):
            container.run(ContainerCommand(argv=AGENT), stdout=out, stderr=err)
        with timed(times, "put tests"):
            container.put(entry("expected"), "/tests")
        with timed(times, "run tests"):
            assert container.run(ContainerCommand(argv=TESTS), stdout=out, stderr=err).exit_code == 0
        with timed(times, "get"):
            assert {found.path for found in container.get("/app")} == {"task", "result"}
        with timed(times, "changes"):
            container.changes()
        with timed(times, "remove"):
            container.remove()


def command_line(times: Times) -> None:
    """The same by Docker's command line: the floor without the engine's interface."""

    def docker(*arguments: str, given: bytes = b"") -> str:
        return (
            subprocess.run(["docker", *arguments], input=given, check=True, capture_output=True).stdout.decode().strip()
        )

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("expected")
        member.size = 4
        archive.addfile(member, io.BytesIO(b"text"))
    with timed(times, "whole life"):
        limits = ("--memory", "256m", "--pids-limit", "100", "--cpus", "1", "--network", "none")
        container = docker("create", "--workdir", "/app", *limits, IMAGE, "sleep", "100")
        docker("start", container)
        docker("cp", "-", f"{container}:/app", given=buffer.getvalue())
        docker("exec", container, *AGENT)
        docker("cp", "-", f"{container}:/tmp", given=buffer.getvalue())
        docker("exec", container, "cat", "/tmp/expected", "result")
        docker("cp", f"{container}:/app", "-")
        docker("diff", container)
        docker("rm", "--force", container)


def show(name: str, times: Times) -> float:
    """Print medians; that of the whole life without the list of changes."""
    print(name)
    for step, found in times.items():
        print(f"  {step:14} {median(found):8.0f}   (least {min(found):.0f}, most {max(found):.0f})")
    changes = times.get("changes", [0.0] * len(times["whole life"]))
    without = [whole - listed for whole, listed in zip(times["whole life"], changes, strict=True)]
    print(f"  {'… no changes':14} {median(without):8.0f}   (least {min(without):.0f})")
    return median(without)


def main(lives: int) -> int:
    """1 if a life takes longer than it may."""
    by_sandbox, by_command_line = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    settings = SandboxSettings(run=f"bench-{os.getpid()}", environment=os.environ, cancelled=Cancellation())
    with TemporaryDirectory() as folder, open_sandbox("docker", settings) as sandbox:
        life(sandbox, defaultdict(list), Path(folder))  # what the first one has to make
        for _ in range(lives):
            life(sandbox, by_sandbox, Path(folder))
            command_line(by_command_line)
    taken = show("sandbox", by_sandbox)
    show("docker's command line", by_command_line)
    return int(taken > MOST_MS)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
