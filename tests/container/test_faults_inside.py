"""Faults that need a machine of one's own: disks that are full or read-only, devices, a container that is stopped."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import tarfile
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from container.image import built, docker
from container.runner import run_step
from container.test_container import IDLES, WRITES, check_out
from faults import REPORTS, reported, whole
from scratch import suite, written
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.container

SOON = 5.0
CONFIG = "runners: {script: {agent: {type: command, command: [sh, ./agent.sh, '{prompt}']}}}\n"
RESULTS = "/github/workspace/results"


@pytest.fixture(scope="session")
def image() -> str:
    return built()


def checkout(folder: Path, script: str, *cases: dict[str, object]) -> Path:
    """A repository whose agent is that script, as actions/checkout leaves it."""
    files = {"skillgym.config.yaml": CONFIG, "agent.sh": script, "bench/.keep": ""}
    written(folder, files)
    check_out(folder, *cases)
    return folder


@contextmanager
def disk(image: str, size: int) -> Iterator[str]:
    """A volume of that many KiB, held by a container so that it stays when a step ends."""
    name = f"faults-{uuid4().hex}"
    docker("volume", "create", "--opt", "type=tmpfs", "--opt", "device=tmpfs", "--opt", f"o=size={size}k", name)
    docker(
        "run", "--detach", "--rm", "--name", name, "--volume", f"{name}:/disk", "--entrypoint", "sleep", image, "600"
    )
    try:
        yield name
    finally:
        docker("rm", "--force", name)
        docker("volume", "rm", name)


def contents(name: str, folder: Path) -> Path:
    """What is on such a disk."""
    packed = subprocess.run(["docker", "exec", name, "tar", "-C", "/disk", "-c", "."], capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as tar:
        tar.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize("size", [4, 8, 12, 16, 24, 32, 48, 64, 96, 128])
def test_a_full_disk_is_told_and_never_green(image, tmp_path, size, proved):
    fills = "echo hello >hello.txt; head -c 20000 /dev/zero | tr '\\0' x >big.txt; echo said\n"
    root = checkout(
        tmp_path / "r", fills, WRITES, {**IDLES, "expect": ["file:nothing exists"]}, {**WRITES, "id": "third"}
    )
    with disk(image, size) as name:
        step = run_step(image, root, inputs={"report-dir": "results"}, options=("--volume", f"{name}:{RESULTS}"))
        left = contents(name, tmp_path / "left")
    assert step.exit_code == 3, step.log
    assert "No space left on device; free space there, or name another path" in step.log
    assert "Traceback" not in step.log
    assert step.outputs.get("verdict", "inconclusive") != "passed"
    assert whole(left) < REPORTS
    proved("faults", "points at which the disk was full: told, exit code 3, nothing half-written")


@pytest.mark.parametrize("size", [4, 16, 40])
def test_a_full_temporary_folder_costs_sessions_and_is_never_green(image, tmp_path, size, proved):
    root = checkout(tmp_path / "r", "head -c 50000 /dev/zero >big.txt && echo hello >hello.txt\n", WRITES)
    step = run_step(
        image, root, inputs={"report-dir": "results"}, options=("--tmpfs", f"/var/lib:size={size}k,mode=755")
    )
    assert step.exit_code in {1, 3}, step.log
    assert "Traceback" not in step.log
    assert "internal error" not in step.log
    proved("faults", "temporary folders without room, and no green")


def test_a_read_only_results_folder_is_told_before_anything_is_started(image, tmp_path, proved):
    root = checkout(tmp_path / "r", "echo hello >hello.txt; echo >/github/workspace/started\n", WRITES)
    with disk(image, 1000) as name:
        step = run_step(image, root, inputs={"report-dir": "results"}, options=("--volume", f"{name}:{RESULTS}:ro"))
    assert step.exit_code == 3
    assert f"error: cannot write {RESULTS}" in step.log
    assert "Read-only file system" in step.log
    assert not (root / "started").exists()
    proved("faults", "outputs that could not be written, told with exit code 3")


def test_devices_in_a_template_are_left_out_and_agents_make_none(image, tmp_path, proved):
    script = "mknod zero c 1 5; mkfifo pipe; ln -s /proc/1/environ env; ls >hello.txt; echo hello >>hello.txt\n"
    root = checkout(tmp_path / "r", script)
    template = written(root / "template", {"a.txt": "a"})
    if os.geteuid() == 0:
        os.mknod(template / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        os.mknod(template / "disk", 0o666 | stat.S_IFBLK, os.makedev(7, 0))
    os.mkfifo(template / "fifo")
    expect = ["file:hello.txt contains 'a.txt'", "no-file:zero", "no-file:disk", "no-file:fifo", "file:nothing exists"]
    cases = suite({"id": "one", "prompt": "p", "expect": expect}, workspace={"templateDir": "../template"})
    written(root, {"bench/files.json": cases})
    step = run_step(image, root, inputs={"report-dir": "results", "keep": "all"})
    told = reported(root / "results")
    (result,) = [one for part in told["suites"] for one in part["results"]]
    assert (step.exit_code, [outcome["passed"] for outcome in result["outcomes"]]) == (1, [True] * 4 + [False])
    (kept,) = (root / "results/workspaces").glob("*/*/*/*")
    assert {path.name for path in kept.iterdir()} == {"a.txt", "hello.txt", "env"}
    assert not (kept / "env").is_symlink()
    proved("faults", "things a template may hold, copied or left out", 3)


def test_what_agents_dig_is_handed_over_as_far_as_it_is_kept(image, tmp_path, proved):
    dig = "import os\nfor _ in range(2000): os.mkdir('d'); os.chdir('d')"
    root = checkout(tmp_path / "r", f'python3 -c "{dig}"; chmod 000 d\n', IDLES)
    step = run_step(image, root, inputs={"report-dir": "results"})
    assert step.exit_code == 1, step.log
    owner = root.stat().st_uid
    assert [path for path in (root / "results").rglob("*") if path.lstat().st_uid != owner] == []
    proved("faults", "things agents may make of their place, survived, and nothing kept that harms others")


@pytest.mark.timed
def test_a_step_that_is_stopped_leaves_its_reports_and_its_outputs(image, tmp_path, proved):
    """As the runner stops it: SIGTERM to the first process of the container, which has no other init."""
    script = "trap '' TERM; (setsid sh -c \"trap '' TERM; sleep 300\" &); while :; do sleep 300; done\n"
    root = checkout(tmp_path / "r", script, IDLES)
    name = f"faults-{uuid4().hex}"
    stopped: list[float] = []

    def stop() -> None:
        results = ("sh", "-c", "ls /github/workspace/results/*/*/*; true")
        until(lambda: docker("ps", "--quiet", "--filter", f"name={name}"), "the container of the step")
        until(lambda: "repeat-1" in docker("exec", name, *results), "a session that has begun")
        stopped.append(time.monotonic())
        docker("kill", "--signal", "TERM", name)

    waiting = threading.Thread(target=stop)
    waiting.start()
    step = run_step(image, root, inputs={"report-dir": "results"}, options=("--name", name))
    took = time.monotonic() - stopped[0]
    waiting.join()
    assert (step.exit_code, step.outputs["verdict"], step.outputs["exit-code"]) == (130, "inconclusive", "130")
    assert took < SOON, f"{took:.1f} s"
    assert reported(root / "results")["run"]["status"] == "cancelled"
    assert "cancelled" in step.summary.lower()
    proved("faults", "stages in which SIGTERM or SIGINT left all reports within 5 s, and nothing else")
