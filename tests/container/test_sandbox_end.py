"""What is left of containers in a real engine when the tool is killed, and the tool in a container itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import skillgym_action
from container.boxes import BASE, box, left_of, opened, settings
from container.image import docker
from scratch import HUNG
from skillgym_action.system.containers import open_sandbox
from skillgym_action.system.containers.docker_engine import DockerEngine
from skillgym_action.system.containers.docker_sweep import sweep
from waiting import until

pytestmark = pytest.mark.container

SLEEPERS = """
import os, sys, threading
from pathlib import Path
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.model.containers import ContainerCommand, ContainerSpec, NetworkMode, NetworkPolicy
from skillgym_action.system.containers import SandboxSettings, open_sandbox

sandbox = open_sandbox("docker", SandboxSettings(run=sys.argv[1], environment=os.environ, cancelled=Cancellation()))
spec = ContainerSpec(image="python:3.12-slim", network=NetworkPolicy(mode=NetworkMode(sys.argv[3]), hosts=("a.test",)))
image = sandbox.image(spec)
command = ContainerCommand(argv=("sh", "-c", "trap '' TERM HUP; echo started; sleep 600"))
for number in range(int(sys.argv[4])):
    container = sandbox.create(image, spec)
    files = [Path(sys.argv[2]) / f"{number}.{name}" for name in ("out", "err")]
    threading.Thread(target=container.run, args=(command,), kwargs=dict(stdout=files[0], stderr=files[1])).start()
"""
WITHIN = """
import os
from pathlib import Path
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.files.bundle import BundleEntry
from skillgym_action.model.containers import ContainerCommand, ContainerSpec
from skillgym_action.system.containers import SandboxSettings, open_sandbox

settings = SandboxSettings(run=os.environ["RUN"], environment=os.environ, cancelled=Cancellation())
Path("/out").mkdir()
with open_sandbox("docker", settings) as sandbox:
    spec = ContainerSpec(image="python:3.12-slim")
    with sandbox.create(sandbox.image(spec), spec) as container:
        container.put([BundleEntry("file", "given", 0o644).with_content(5, b"given")], "/work")
        command = ContainerCommand(argv=("sh", "-c", "cat given; echo made > made; ! ls /out"), cwd="/work")
        capture = container.run(command, stdout=Path("/out/stdout"), stderr=Path("/out/stderr"))
        files = {entry.path: b"".join(entry.chunks()) for entry in container.get("/work")}
        print(capture.exit_code, Path("/out/stdout").read_text(), files)
"""


@pytest.mark.parametrize(("mode", "count"), [("none", 5), ("allow-list", 1)])
def test_nothing_is_left_when_the_tool_is_killed(mode: str, count: int, tmp_path: Path):
    """Containers end at once, the networks are removed at the next start, or later: see ``CONTAINER_STRAY_SECONDS``."""
    run = settings().run
    arguments = [sys.executable, "-c", SLEEPERS, run, str(tmp_path), mode, str(count)]
    environment = {**os.environ, "PYTHONPATH": str(Path(skillgym_action.__file__).parents[1])}
    tool = subprocess.Popen(arguments, env=environment)
    outputs = [tmp_path / f"{number}.out" for number in range(count)]
    until(lambda: all(path.exists() and path.stat().st_size for path in outputs), "containers that run", limit=HUNG)
    boxes = docker("ps", "--quiet", "--filter", f"label=skillgym-action.run={run}").split()
    assert len(boxes) == count + (mode != "none")
    tool.send_signal(signal.SIGKILL)
    tool.wait()
    of_run = ("--filter", f"label=skillgym-action.run={run}")
    until(lambda: not docker("ps", "--all", "--quiet", *of_run), "no container")
    networks = docker("network", "ls", "--format", "{{.Name}}", "--filter", f"label=skillgym-action.run={run}").split()
    assert len(networks) == (2 if mode == "allow-list" else 0)
    if not networks:
        return
    assert len(sweep(DockerEngine(os.environ), 0.0, run)) == len(networks)
    assert left_of(run) == []


def test_a_container_that_was_never_started_is_swept(tmp_path: Path):
    """As it is left if the tool is killed between two requests."""
    run = settings().run
    labels = ("--label", "skillgym-action=container", "--label", f"skillgym-action.run={run}")
    volume = f"skillgym-action-{run}"  # all of its containers have one, such as that of the keeper
    made = docker("create", *labels, "--volume", f"{volume}:/kept:ro", BASE, "true").strip()
    other = docker("create", "--label", "other=container", BASE, "true").strip()
    try:
        engine = DockerEngine(os.environ)
        assert sweep(engine, run=run) == ()
        assert left_of(run) == [made[:12]]
        assert sweep(engine, 0.0, run) == (f"container {made[:12]}",)
        assert left_of(run) == []
        assert docker("ps", "--all", "--quiet", "--no-trunc", "--filter", f"id={other}").strip() == other
    finally:
        docker("rm", other)
        docker("volume", "rm", volume)


def test_a_run_of_days_keeps_its_containers_until_they_are_removed_by_hand(tmp_path: Path):
    """``lease_seconds`` stands for the day after which `doctor --sweep` removes a container."""
    with opened() as sandbox, box(sandbox):
        name = sandbox.settings.run
        before = left_of(name)
        assert sweep(DockerEngine(os.environ), 0.0, name) == ()
        assert left_of(name) == before
        assert sweep(DockerEngine(os.environ), 0.0, name, lease_seconds=0.0)
        assert left_of(name) == []


def test_a_container_whose_image_has_the_labels_is_somebody_elses_and_stays():
    run, image = settings().run, f"labelled:{os.getpid()}"
    dockerfile = f"FROM {BASE}\nVOLUME /data\nLABEL skillgym-action=container skillgym-action.run={run}\n"
    docker("build", "--quiet", "--tag", image, "-", given=dockerfile)
    made = docker("create", image, "true").strip()
    try:
        with open_sandbox("docker", settings(run=run)):
            assert sweep(DockerEngine(os.environ), 0.0, run) == ()
        assert docker("inspect", "--format", "{{.State.Status}}", made).strip() == "created"
    finally:
        docker("rm", "--force", "--volumes", made)
        docker("rmi", image)


def test_the_tool_works_from_a_container_with_the_engines_socket(tmp_path: Path):
    """Its containers are siblings: a path of its own would be one of the engine's machine, so none is mounted."""
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    packages = tmp_path / "packages"
    needed = ["docker", "requests", "urllib3", "idna", "certifi", "charset-normalizer", "psutil"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(packages), "--only-binary", ":all:"]
    subprocess.run([*pip, "--python-version", "3.12", *needed], check=True)
    run = settings().run
    mounts = [
        *("--volume", f"{address}:/var/run/docker.sock", "--volume", f"{packages}:/packages:ro"),
        *("--volume", f"{Path(skillgym_action.__file__).parents[1]}:/sources:ro"),
    ]
    environment = ("--env", f"RUN={run}", "--env", "PYTHONPATH=/sources:/packages")
    said = docker("run", "--rm", "--network", "none", *mounts, *environment, BASE, "python3", "-c", WITHIN)
    assert said == "0 given {'given': b'given', 'made': b'made\\n'}\n"
    assert left_of(run) == []
