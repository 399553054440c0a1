"""Containers of the sandbox in a real engine: files, programs, images, and what a hostile image can do."""

from __future__ import annotations

import json
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

import psutil
import pytest

from container.boxes import MIB, SPEC, box, file, inspected, opened, run
from container.image import docker
from skillgym_action.model.containers import (
    ContainerBuild,
    ContainerChange,
    ContainerLimits,
    ContainerSpec,
    Owner,
    VolumeMount,
)
from skillgym_action.model.errors import SandboxError
from skillgym_action.model.session import Ending
from skillgym_action.model.session_report import Trouble
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.containers.keeper import keeper
from skillgym_action.system.files.bundle import BundleEntry, BundleError, BundleLimits
from waiting import until, until_written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from skillgym_action.system.containers import Sandbox

pytestmark = pytest.mark.container


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with opened() as sandbox:
        yield sandbox


class StopAt:
    """A watcher that stops a program at a line."""

    finished, has_result, may_stop = 0, False, True

    def __init__(self, line: str) -> None:
        self.line = line

    def __call__(self, line: str) -> Trouble | None:
        return Trouble(kind="max-steps", message="seen") if line == self.line else None


class Finished(StopAt):
    """A watcher that takes a line for the result of the program."""

    def __call__(self, line: str) -> Trouble | None:
        self.finished += line == self.line
        self.has_result = bool(self.finished)


# --- files --------------------------------------------------------------------------------------------------


def test_files_go_in_with_their_owner_and_come_out_with_their_content(sandbox: Sandbox, tmp_path: Path):
    with box(sandbox) as container:
        entries = [BundleEntry("folder", "a", 0o750), file("a/x", "one"), BundleEntry("link", "a/to", 0o777, 0, "x")]
        container.put(entries, "/app/new/folder", Owner(uid=1234, gid=4321))
        assert run(container, tmp_path, "stat", "-c", "%u:%g %a", "/app/new/folder/a/x").out == "1234:4321 644\n"
        found = list(container.get("/app/new"))
        assert [(entry.kind, entry.path) for entry in found] == [
            ("folder", "folder"),
            ("folder", "folder/a"),
            ("link", "folder/a/to"),
            ("file", "folder/a/x"),
        ]
        assert {entry.path: b"".join(entry.chunks()) for entry in container.get("/app/new")}["folder/a/x"] == b"one"
        assert container.read("/app/new/folder/a/x", 10) == b"one"
        assert container.read("/app/new", 10) is None
        assert container.read("/nothing", 10) is None
        with pytest.raises(BundleError, match="3 bytes, which is more than 2"):
            container.read("/app/new/folder/a/x", 2)
        with pytest.raises(FileNotFoundError):
            list(container.get("/nothing"))
        assert container.owner("www-data") == Owner(uid=33, gid=33)
        assert container.owner("www-data:daemon") == Owner(uid=33, gid=1)
        assert container.owner() == Owner()
        with pytest.raises(SandboxError, match="no user 'agent'"):
            container.owner("agent")
        assert ContainerChange(path="/app/new/folder/a/x", kind="added") in container.changes()
        assert not any(change.path.startswith("/.skillgym-action") for change in container.changes())


def test_what_comes_out_has_no_devices_and_no_setuid_bits_and_obeys_the_limits(sandbox: Sandbox, tmp_path: Path):
    script = "cd /app; cp /bin/true su; chmod 6755 su; mkfifo pipe; ln su hard; ln -s /etc/passwd link; mkdir -m 1777 d"
    with box(sandbox) as container:
        assert run(container, tmp_path, "sh", "-ec", script).capture.exit_code == 0
        found = {entry.path: (entry.kind, entry.mode, entry.target) for entry in container.get("/app")}
        assert found == {
            "su": ("file", 0o755, ""),
            "hard": ("file", 0o755, ""),
            "d": ("folder", 0o777, ""),
            "link": ("link", 0o777, "/etc/passwd"),
        }
        sizes = {entry.path: sum(map(len, entry.chunks())) for entry in container.get("/app") if entry.kind == "file"}
        assert sizes["su"] == sizes["hard"] > 1000
        run(container, tmp_path, "truncate", "-s", "100M", "/app/sparse")
        with pytest.raises(BundleError, match="a file of 104857600 bytes"):
            list(container.get("/app"))
        with pytest.raises(BundleError, match="more than 2 entries"):
            list(container.get("/app", BundleLimits(entries=2)))


def test_hard_links_in_a_large_folder_are_read(sandbox: Sandbox, tmp_path: Path):
    """The engine sends one archive of a container at a time, and no other reply about it meanwhile."""
    script = "cd /app; echo text > a; ln a b; mkdir d; ln a d/c; head -c 20000000 /dev/zero > z"
    with box(sandbox) as container:
        assert run(container, tmp_path, "sh", "-ec", script).capture.exit_code == 0
        read = {entry.path: b"".join(entry.chunks()) for entry in container.get("/app") if entry.kind == "file"}
        assert {path: content for path, content in read.items() if path != "z"} == dict.fromkeys("ab", b"text\n") | {
            "d/c": b"text\n"
        }
        assert len(read["z"]) == 20_000_000
        with pytest.raises(BundleError, match="more than 2"):
            list(container.get("/app", BundleLimits(entries=2)))


def test_a_file_that_is_too_large_does_not_keep_the_container_locked(sandbox: Sandbox, tmp_path: Path):
    with box(sandbox) as container:
        assert run(container, tmp_path, "sh", "-ec", "head -c 20000000 /dev/zero > /app/z").capture.exit_code == 0
        with pytest.raises(BundleError, match="20000000 bytes") as refused:
            container.read("/app/z", 10)
        assert container.read("/etc/hostname", 100)
        with pytest.raises(BundleError, match="20000000 bytes") as listed:
            list(container.get("/app/z", BundleLimits(file_bytes=10)))
        assert container.read("/etc/hostname", 100)
    assert (refused.tb, listed.tb) != (None, None)  # their frames still refer to what was being read


def test_a_folder_that_is_not_read_to_its_end_does_not_keep_the_container_locked(sandbox: Sandbox, tmp_path: Path):
    """The engine sends more than fits into the connection's buffers, and answers nothing else meanwhile."""
    with box(sandbox) as container, ThreadPoolExecutor(1) as pool:
        for operation in (
            lambda: container.read("/etc/hostname", 100),
            lambda: container.put([file("new", "x")], "/app/new"),
            container.changes,
            lambda: run(container, tmp_path, "true"),
        ):
            entries = container.get("/usr")
            assert next(entries).path
            answer = pool.submit(operation)
            try:
                answer.result(20)
            finally:
                del entries  # lets the engine answer


def test_links_in_the_container_do_not_lead_out_of_it(sandbox: Sandbox, tmp_path: Path):
    """The engine resolves them inside of the container, both ways."""
    outside = tmp_path / "outside"
    outside.mkdir()
    with box(sandbox) as container:
        run(container, tmp_path, "sh", "-ec", f"mkdir -p {outside.parent}; ln -s {outside} /app/out; ln -s / {outside}")
        container.put([file("planted", "x")], "/app/out/deep")
        assert list(outside.iterdir()) == []
        assert container.read("/deep/planted", 10) == b"x"


# --- programs -----------------------------------------------------------------------------------------------


def test_programs_end_as_those_of_the_launcher_do(sandbox: Sandbox, tmp_path: Path):
    with box(sandbox) as container:
        ran = run(
            container, tmp_path, "sh", "-c", "pwd; cat; echo $A; echo b >&2; exit 3", stdin="in\n", env={"A": "1"}
        )
        assert (ran.capture.ending, ran.capture.exit_code, ran.out, ran.err) == (
            Ending.EXITED,
            3,
            "/app\nin\n1\n",
            "b\n",
        )
        ran = run(container, tmp_path, "sh", "-c", "kill -TERM $$")
        assert (ran.capture.ending, ran.capture.exit_code) == (Ending.SIGNALLED, -15)
        ran = run(container, tmp_path, "no-such-program")
        assert ran.capture.ending is Ending.NOT_STARTED
        assert "cannot start 'no-such-program'" in str(ran.capture.error)
        ran = run(container, tmp_path, "sh", "-c", "echo OCI runtime exec failed: no such file; exit 127")
        assert (ran.capture.ending, ran.capture.exit_code) == (Ending.EXITED, 127)
        assert run(container, tmp_path, "true", user="no-such-user").capture.ending is Ending.REFUSED
        ran = run(container, tmp_path, "sh", "-c", "echo early; sleep 600", timeout=10.0)
        assert (ran.capture.ending, ran.out) == (Ending.TIMED_OUT, "early\n")
        ran = run(container, tmp_path, "sh", "-c", "echo go; echo stop; sleep 600", watch=StopAt("stop"))
        assert (ran.capture.ending, ran.capture.stopped_for) == (
            Ending.STOPPED,
            Trouble(kind="max-steps", message="seen"),
        )
        assert run(container, tmp_path, "id", "-un", user="daemon", cwd="/tmp").out == "daemon\n"


def test_a_program_that_has_printed_its_result_does_not_linger(sandbox: Sandbox, tmp_path: Path):
    with box(sandbox) as container:
        container.result_linger = 0.5  # type: ignore[attr-defined]
        ran = run(container, tmp_path, "sh", "-c", "echo done; sleep 600", watch=Finished("done"))
        assert ran.capture.ending is Ending.LINGERED


BEGINS = ("sh", "-c", "echo begun; exec sleep 600")


def when_it_has_begun(folder: Path, do: Callable[[], None]) -> threading.Thread:
    """Do it, in a thread, once a program that ``run`` starts has printed something."""

    def wait() -> None:
        until_written(folder / "stdout.log")
        do()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_cancelled_run_ends_its_programs(tmp_path: Path):
    cancelled = Cancellation()
    with opened(cancelled=cancelled) as sandbox, box(sandbox) as container:
        when_it_has_begun(tmp_path, cancelled.set)
        assert run(container, tmp_path, *BEGINS).capture.ending is Ending.CANCELLED
        assert run(container, tmp_path, "true").capture.ending is Ending.CANCELLED


def test_no_process_outlives_its_program_unless_it_is_kept(sandbox: Sandbox, tmp_path: Path):
    """Also one that has a process session of its own and keeps the output of the program open."""
    others = "set -- /proc/[0-9]*; echo $#"
    with box(sandbox) as container:
        alone = run(container, tmp_path, "sh", "-c", others).out
        assert run(container, tmp_path, "sh", "-c", "setsid sleep 600 & echo left").out == "left\n"
        assert run(container, tmp_path, "sh", "-c", others).out == alone
        run(container, tmp_path, "sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & echo left", keep_processes=True)
        assert int(run(container, tmp_path, "sh", "-c", others).out) == int(alone) + 1
        assert run(container, tmp_path, "sh", "-c", others).out == alone


def test_more_output_than_is_kept_ends_the_program(sandbox: Sandbox, tmp_path: Path):
    with box(sandbox) as container:
        capture = run(container, tmp_path, "sh", "-c", "cat /dev/zero >&2").capture
        assert (capture.ending, capture.stopped_for and capture.stopped_for.kind) == (Ending.STOPPED, "runner-crash")
        assert (tmp_path / "stderr.log").stat().st_size == 64 * MIB


def test_the_first_process_of_a_container_cannot_be_ended_or_changed_from_inside(sandbox: Sandbox, tmp_path: Path):
    script = "kill -9 1; kill -9 -1; echo x > /proc/1/mem; cat /proc/1/environ; echo alive"
    with box(sandbox) as container:
        ran = run(container, tmp_path, "sh", "-c", script)
        assert ran.out == "alive\n"
        assert "/proc/1/mem: Permission denied" in ran.err
        assert run(container, tmp_path, "echo", "again").out == "again\n"


def test_a_container_that_is_gone_is_lost(sandbox: Sandbox, tmp_path: Path):
    with box(sandbox) as container:
        timer = when_it_has_begun(tmp_path, container.remove)
        assert run(container, tmp_path, *BEGINS).capture.ending is Ending.LOST
        timer.join()
        assert run(container, tmp_path, "true").capture.ending is Ending.LOST
        with pytest.raises(SandboxError, match="cannot read /app in the container"):
            list(container.get("/app"))


# --- rights -------------------------------------------------------------------------------------------------


def test_a_container_has_only_the_rights_that_it_needs(sandbox: Sandbox, tmp_path: Path):
    spec = replace(SPEC, limits=ContainerLimits(cpus=0.5, memory=64 * MIB, pids=50))
    with box(sandbox, spec) as container:
        host = inspected(container)["HostConfig"]
        assert host["CapDrop"] == ["ALL"]
        assert set(host["CapAdd"]) == {  # type: ignore[call-overload]
            "CHOWN",
            "DAC_OVERRIDE",
            "FOWNER",
            "FSETID",
            "KILL",
            "NET_BIND_SERVICE",
            "SETGID",
            "SETUID",
        }
        assert (host["Privileged"], host["SecurityOpt"]) == (False, ["no-new-privileges"])
        assert (host["NanoCpus"], host["Memory"], host["MemorySwap"], host["PidsLimit"]) == (
            5e8,
            64 * MIB,
            64 * MIB,
            50,
        )
        assert (host["NetworkMode"], host["Binds"], host["AutoRemove"]) == ("none", None, True)
        status = run(container, tmp_path, "cat", "/proc/self/status", user="daemon").out
        assert "CapEff:\t0000000000000000" in status
        assert "NoNewPrivs:\t1" in status
        assert run(container, tmp_path, "sh", "-c", "test -e /var/run/docker.sock || echo none").out == "none\n"


def test_a_volume_is_filled_once_and_cannot_be_written_to(sandbox: Sandbox, tmp_path: Path):
    calls = []

    def entries() -> list[BundleEntry]:
        calls.append(1)
        return [file("bin/tool", "#!/bin/sh\necho tool\n", 0o755)]

    key = f"test {sandbox}"
    names = {sandbox.volume(key, entries), sandbox.volume(key, entries)}
    assert (len(names), calls) == (1, [1])
    (name,) = names
    try:
        with sandbox.create(sandbox.image(SPEC), SPEC, (VolumeMount(name=name, path="/opt/tools"),)) as container:
            assert run(container, tmp_path, "/opt/tools/bin/tool").out == "tool\n"
            assert "Read-only file system" in run(container, tmp_path, "touch", "/opt/tools/x").err
    finally:
        docker("volume", "rm", name, name.rpartition("-")[0])


# --- images -------------------------------------------------------------------------------------------------


def built(folder: Path, dockerfile: str, **files: str) -> ContainerSpec:
    folder.mkdir(exist_ok=True)
    (folder / "Dockerfile").write_text(dockerfile)
    for name, content in files.items():
        (folder / name).write_text(content)
    return ContainerSpec(build=ContainerBuild(context=folder))


def test_an_image_is_built_once_for_the_same_content(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("outside")
    spec = built(tmp_path / "context", "FROM python:3.12-slim\nCOPY . /here\nUSER daemon\nWORKDIR /here\n", ignored="x")
    (tmp_path / "context" / ".dockerignore").write_text("# what is not needed\nignored\n")
    (tmp_path / "context" / "link").symlink_to(secret)
    with opened() as sandbox, opened() as later:
        image = sandbox.image(spec)
        assert (image.user, image.workdir, image.architecture) == ("daemon", "/here", sandbox.capabilities.architecture)
        assert later.image(spec).digest == image.digest
        with box(sandbox, spec) as container:
            ran = run(container, tmp_path, "sh", "-c", "id -un; pwd; ls; cat link")
            assert ran.out == "daemon\n/here\nDockerfile\nlink\n"
            assert "No such file" in ran.err
        (tmp_path / "context" / "ignored").write_text("y")
        with opened() as again:
            assert again.image(spec).digest == image.digest
        (tmp_path / "context" / "Dockerfile").write_text("FROM python:3.12-slim\nUSER nobody\n")
        with opened() as changed:
            assert changed.image(spec).digest != image.digest


def test_a_failed_build_shows_its_last_lines_without_secrets_and_control_characters(tmp_path: Path):
    dockerfile = "FROM python:3.12-slim\nRUN printf 'the \\033[31mkey is hunter2\\n'; exit 7\n"
    spec = built(tmp_path / "context", dockerfile)
    hidden = opened(redact=lambda text: text.replace("hunter2", "***"))
    with hidden as sandbox, pytest.raises(SandboxError) as caught:
        sandbox.image(spec)
    message = str(caught.value)
    assert "the image of context/Dockerfile cannot be built" in message
    assert "the key is ***" in message.replace("[31m", "")
    assert "non-zero code: 7" in message
    assert "hunter2" not in message
    assert "\x1b" not in message


def test_a_build_is_tried_twice_in_a_run(tmp_path: Path):
    spec, context = built(tmp_path / "context", "FROM python:3.12-slim\nRUN exit 7\n"), tmp_path / "context"
    with opened() as sandbox:
        for _ in range(2):
            with pytest.raises(SandboxError, match="non-zero code: 7"):
                sandbox.image(spec)
        (context / "Dockerfile").write_text("FROM python:3.12-slim\nUSER nobody\n")
        with pytest.raises(SandboxError, match="non-zero code: 7"):
            sandbox.image(spec)
    (context / "Dockerfile").write_text("FROM python:3.12-slim\nRUN exit 8\n")
    with opened() as sandbox:
        with pytest.raises(SandboxError, match="non-zero code: 8"):
            sandbox.image(spec)
        (context / "Dockerfile").write_text("FROM python:3.12-slim\nUSER nobody\n")
        assert sandbox.image(spec).user == "nobody"


def are_built(line: str) -> bool:
    """Whether a process of this machine, also one in a container, has the text in its command line."""
    return any(line in words for one in psutil.process_iter(["cmdline"]) for words in one.info["cmdline"] or ())


def test_a_build_that_does_not_stop_printing_ends_with_the_run(tmp_path: Path):
    line = f"skillgym-test-{uuid4().hex}"
    spec, cancelled = built(tmp_path / "context", f"FROM python:3.12-slim\nRUN yes {line}\n"), Cancellation()
    with opened(cancelled=cancelled) as sandbox:
        threading.Thread(target=lambda: (until(lambda: are_built(line), "the build"), cancelled.set())).start()
        with pytest.raises(SandboxError, match="the run was cancelled"):
            sandbox.image(spec)
    until(lambda: not are_built(line), "the end of the build")


def test_an_image_that_is_nowhere_is_reported_with_what_to_do(sandbox: Sandbox):
    with pytest.raises(SandboxError, match=r"image localhost:1/nothing:1 cannot be pulled: .*; check its name"):
        sandbox.image(ContainerSpec(image="localhost:1/nothing:1"))
    with pytest.raises(SandboxError, match="cannot be used"):
        sandbox.image(ContainerSpec(image="UPPER CASE"))


def test_an_image_for_another_architecture_is_refused_by_name(sandbox: Sandbox, tmp_path: Path):
    other = {"amd64": "arm64", "arm64": "amd64"}[sandbox.capabilities.architecture]
    name = "skillgym-test/other:1"
    config = {"architecture": other, "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}, "config": {}}
    files = {"config.json": config, "manifest.json": [{"Config": "config.json", "RepoTags": [name], "Layers": []}]}
    archive = tmp_path / "image.tar"
    with tarfile.open(archive, "w") as tar:
        for path, content in files.items():
            (tmp_path / path).write_text(json.dumps(content))
            tar.add(tmp_path / path, path)
    docker("load", "--input", str(archive))
    try:
        with pytest.raises(SandboxError, match=f"{name} is made for linux/{other}, and the engine runs linux/"):
            sandbox.image(ContainerSpec(image=name))
    finally:
        docker("image", "rm", name)


def test_an_image_without_a_shell_runs_programs(tmp_path: Path):
    """All it has is one static program, which is the keeper itself: it ends at the end of its input."""
    with opened() as sandbox:
        (tmp_path / "context").mkdir()
        (tmp_path / "context" / "program").write_bytes(keeper(sandbox.capabilities.architecture))
        (tmp_path / "context" / "program").chmod(0o755)
        spec = built(tmp_path / "context", 'FROM scratch\nCOPY program /program\nENTRYPOINT ["/nothing"]\n')
        with box(sandbox, spec) as container:
            assert run(container, tmp_path, "/program").capture.exit_code == 0
            assert run(container, tmp_path, "sh").capture.ending is Ending.NOT_STARTED
            assert container.read("/program", MIB) == keeper(sandbox.capabilities.architecture)


def test_hostile_programs_of_an_image_cannot_lead_the_tool(tmp_path: Path):
    """Files are not read and written by programs of the image, and neither its entry point nor its check is run."""
    dockerfile = """FROM python:3.12-slim
RUN printf '#!/usr/local/bin/python3\\nprint("forged")\\nwhile True: pass\\n' > /tmp/forged && chmod 755 /tmp/forged \\
 && mkdir /data && echo true > /data/file && cp -p /tmp/forged /bin/tar && mv -f /tmp/forged /bin/sh
ENTRYPOINT ["/bin/sh"]
HEALTHCHECK CMD touch /checked
"""
    spec = built(tmp_path / "context", dockerfile)
    with opened() as sandbox, box(sandbox, spec) as container:
        assert inspected(container)["Config"]["Healthcheck"] == {"Test": ["NONE"]}
        assert container.read("/data/file", 100) == b"true\n"
        container.put([file("more", "x")], "/data")
        assert {entry.path for entry in container.get("/data")} == {"file", "more"}
        ran = run(container, tmp_path, "/bin/sh", timeout=5.0)
        assert ran.capture.ending is Ending.TIMED_OUT
        assert container.read("/checked", 10) is None
