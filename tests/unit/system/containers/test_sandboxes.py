"""What sandboxes do without an engine: archives, the rules of what comes out, the keeper, the proxy's configuration."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from skillgym_action.model.containers import (
    ContainerBuild,
    ContainerLimits,
    ContainerSpec,
    NetworkMode,
    NetworkPolicy,
    Owner,
    SandboxCapabilities,
)
from skillgym_action.model.errors import SandboxError
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.containers import SANDBOXES, SandboxSettings, open_sandbox, squid
from skillgym_action.system.containers.keeper import MACHINES, keeper
from skillgym_action.system.containers.tar_entries import END, read_tar, write_tar
from skillgym_action.system.files.bundle import BundleEntry, BundleError, BundleLimits, checked_entries

if TYPE_CHECKING:
    from pathlib import Path


def test_an_archive_has_the_entries_with_their_owner():
    entries = [
        BundleEntry("folder", "a", 0o750),
        BundleEntry("file", "a/\udcff", 0o640, 5 * 10**9).with_content(3, b"one"),
        BundleEntry("link", "a/to", 0o777, 0, "/etc/passwd"),
    ]
    written = b"".join((*write_tar(entries, Owner(uid=7, gid=8), "top/"), END))
    with tarfile.open(fileobj=io.BytesIO(written), errors="surrogateescape") as archive:
        members = archive.getmembers()
    assert [(member.name, member.uid, member.gid) for member in members] == [
        ("top/a", 7, 8),
        ("top/a/\udcff", 7, 8),
        ("top/a/to", 7, 8),
    ]
    found = list(read_tar(io.BytesIO(written)))
    assert [(entry.kind, entry.path, entry.mode, entry.target) for entry in found] == [
        ("folder", "a", 0o750, ""),
        ("file", "a/\udcff", 0o640, ""),
        ("link", "a/to", 0o777, "/etc/passwd"),
    ]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("..", "not the name of an entry"),
        ("/etc", "its folder did not come before it"),
        ("a/../../x", "its folder did not come before it"),
        ("missing/x", "its folder did not come before it"),
        ("link/x", "its folder did not come before it"),
        ("twice", "a path that came before"),
    ],
)
def test_a_forged_archive_is_refused(path: str, reason: str):
    entries = [BundleEntry("link", "link", 0o777, 0, "/etc"), BundleEntry("file", "twice", 0o644)]
    with pytest.raises(BundleError, match=reason):
        list(checked_entries([*entries, BundleEntry("file", path, 0o644)]))


def test_what_is_too_large_is_refused_before_it_is_read():
    file = BundleEntry("file", "large", 0o4755).with_content(10**9, lambda: iter(()))
    with pytest.raises(BundleError, match="a file of 1000000000 bytes"):
        list(checked_entries([file], BundleLimits(total_bytes=10**10)))
    assert [entry.mode for entry in checked_entries([BundleEntry("file", "small", 0o6755)])] == [0o755]


@pytest.mark.parametrize("architecture", sorted(MACHINES))
def test_the_keeper_is_a_small_program_of_linux(architecture: str):
    program = keeper(architecture)
    assert (program[:4], program[18], len(program) < 300) == (b"\x7fELF", MACHINES[architecture], True)
    assert program[96:104] == len(program).to_bytes(8, "little")


def test_a_policy_becomes_rules_that_refuse_all_else():
    hosts = ("API.example.com", "model.test:8080")
    text = squid.configuration(NetworkPolicy(mode=NetworkMode.ALLOW_LIST, hosts=hosts))
    rules = [line for line in text.splitlines() if line.startswith("http_access")]
    assert rules == [
        "http_access allow containers name0 port0 tunnel !linklocal !private",
        "http_access allow containers name1 port1 !linklocal",
        "http_access deny all",
    ]
    assert "acl name0 dstdomain -n api.example.com\nacl port0 port 443\n" in text
    assert "acl name1 dstdomain -n model.test\nacl port1 port 8080\n" in text


@pytest.mark.parametrize(
    "hosts", [(), ("*.a",), ("a b",), ("a:0",), ("a:99999",), ("a\nhttp_access allow all",), ("https://a",), ("a..b",)]
)
def test_what_is_no_host_is_refused(hosts: tuple[str, ...]):
    with pytest.raises(SandboxError):
        squid.configuration(NetworkPolicy(mode=NetworkMode.ALLOW_LIST, hosts=hosts))


def test_only_refused_connections_of_the_log_count():
    assert squid.refused(b"198.18.0.3 TCP_DENIED a.test:443\n") == ("198.18.0.3", "a.test:443")
    assert squid.refused(b"198.18.0.3 TCP_TUNNEL a.test:443\n") is None
    assert squid.refused(b"999.18.0.3 TCP_DENIED a.test:443\n") is None
    assert squid.refused(b"198.18.0.3 TCP_DENIED\n") is None


def test_a_sandbox_names_what_it_cannot_do(tmp_path: Path):
    able = SandboxCapabilities(
        networks=frozenset({NetworkMode.NONE}), limits=frozenset({"memory"}), architecture="amd64", builds=False
    )
    spec = ContainerSpec(
        build=ContainerBuild(context=tmp_path),
        limits=ContainerLimits(memory=1, disk=1),
        network=NetworkPolicy(mode=NetworkMode.OPEN),
    )
    assert able.missing(spec) == ("network mode open", "limit disk", "building images")
    assert able.missing(ContainerSpec(image="a", limits=ContainerLimits(memory=1))) == ()


def test_nothing_of_an_engine_is_imported_before_it_is_needed():
    code = "import sys, skillgym_action.system.containers; print({'docker', 'requests'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"


@pytest.mark.slow  # it needs the package docker
def test_no_engine_is_one_message_with_what_to_do(tmp_path: Path):
    assert set(SANDBOXES) == {"none", "docker"}
    settings = SandboxSettings(run="test", environment={}, cancelled=Cancellation())
    with pytest.raises(SandboxError) as caught:
        open_sandbox("docker", replace(settings, environment={"DOCKER_HOST": f"unix://{tmp_path}/no.sock"}))
    assert str(caught.value) == (
        f"no Docker engine answers at unix://{tmp_path}/no.sock: No such file or directory; "
        "start Docker, or set DOCKER_HOST to the address of an engine"
    )
    with pytest.raises(SandboxError, match="sandboxes connect by unix:// and by tcp:// without TLS; forward"):
        open_sandbox("docker", replace(settings, environment={"DOCKER_HOST": "ssh://machine"}))


def test_the_keeper_ends_with_its_input(tmp_path: Path):
    """It would signal all processes of this machine for a byte, so here it gets none."""
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    program = tmp_path / "keeper"
    program.write_bytes(keeper(architecture))
    program.chmod(0o755)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin
        assert running.poll() is None
        running.stdin.close()
        assert running.wait(30) == 0
