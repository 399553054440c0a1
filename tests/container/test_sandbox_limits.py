"""Limits of containers in a real engine, and many containers at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from container.boxes import MIB, SPEC, box, file, opened, run
from skillgym_action.model.containers import ContainerLimits
from skillgym_action.model.session import Ending

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.system.containers import Sandbox

pytestmark = pytest.mark.container

FORK_BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        print("refused", flush=True)
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with opened() as sandbox:
        yield sandbox


def test_a_program_that_takes_too_much_memory_is_out_of_memory(sandbox: Sandbox, tmp_path: Path):
    with box(sandbox) as container:
        capture = run(container, tmp_path, "python3", "-c", "kept = b'1' * 10**9").capture
        assert (capture.ending, capture.exit_code) == (Ending.STOPPED, 137)
        assert capture.stopped_for
        assert capture.stopped_for.kind == "out-of-memory"
        assert capture.stopped_for.message == "the container ran out of memory; the limit is 256 MiB (limits.memory)"
        assert run(container, tmp_path, "echo", "alive").out == "alive\n"


def test_a_program_that_kills_itself_is_not_out_of_memory(sandbox: Sandbox, tmp_path: Path):
    with box(sandbox) as container:
        capture = run(container, tmp_path, "sh", "-c", "kill -9 $$").capture
        assert (capture.ending, capture.exit_code) == (Ending.SIGNALLED, -9)


def test_a_fork_bomb_is_stopped_and_the_container_stays_usable(sandbox: Sandbox, tmp_path: Path):
    """While it runs no further program can be started; the keeper needs no process to end it."""
    with box(sandbox) as container:
        ran = run(container, tmp_path, "python3", "-c", FORK_BOMB, timeout=15.0)
        assert ran.capture.ending is Ending.TIMED_OUT
        assert "refused" in ran.out
        container.put([file("after", "x")], "/app")
        assert run(container, tmp_path, "cat", "/app/after").out == "x"


def test_a_container_with_as_many_processes_as_it_may_stays_usable(sandbox: Sandbox, tmp_path: Path):
    sleepers = "import os, time\ntry:\n  while os.fork(): pass\nexcept OSError: os._exit(0)\ntime.sleep(600)"
    with box(sandbox, replace(SPEC, limits=ContainerLimits(pids=12))) as container:
        run(container, tmp_path, "python3", "-c", sleepers, keep_processes=True, timeout=30.0)
        assert "fork" in run(container, tmp_path, "sh", "-c", "/bin/true; /bin/true", keep_processes=True).err
        run(container, tmp_path, "true")
        assert run(container, tmp_path, "echo", "alive").out == "alive\n"


def test_a_program_that_writes_too_much_is_stopped(sandbox: Sandbox, tmp_path: Path):
    with box(sandbox, replace(SPEC, limits=ContainerLimits(disk=20 * MIB))) as container:
        capture = run(container, tmp_path, "sh", "-c", "head -c 50M /dev/zero > /big; sleep 60").capture
        assert capture.ending is Ending.STOPPED
        assert capture.stopped_for
        assert capture.stopped_for.kind == "resource-limit"
        assert "the limit is 20 MiB (limits.disk)" in capture.stopped_for.message


def test_a_program_gets_no_more_processors_than_it_may(sandbox: Sandbox, tmp_path: Path):
    busy = "import time\nend = time.time() + 2\nwhile time.time() < end: pass\nprint(time.process_time())"
    with box(sandbox, replace(SPEC, limits=ContainerLimits(cpus=0.25))) as container:
        assert float(run(container, tmp_path, "python3", "-c", busy).out) < 1.0


def test_fifty_containers_at_once(sandbox: Sandbox, tmp_path: Path):
    """Each has its own files and its own output; all of them run a program before the first one ends."""
    spec = replace(SPEC, limits=ContainerLimits(memory=32 * MIB, pids=10))
    image = sandbox.image(spec)

    def life(number: int) -> tuple[str, list[str]]:
        folder = tmp_path / str(number)
        folder.mkdir()
        with sandbox.create(image, spec) as container:
            container.put([file("number", str(number))], "/app")
            ran = run(container, folder, "sh", "-c", "cat number; echo $((1 + $(cat number))) > next; sleep 5")
            assert ran.capture.ending is Ending.EXITED, ran
            return ran.out, [b"".join(entry.chunks()).decode() for entry in container.get("/app")]

    with ThreadPoolExecutor(50) as threads:
        found = list(threads.map(life, range(50)))
    assert [out for out, _ in found] == [str(number) for number in range(50)]
    assert [sorted(files) for _, files in found] == [sorted([str(n), f"{n + 1}\n"]) for n in range(50)]
