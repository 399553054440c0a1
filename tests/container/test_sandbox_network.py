"""What containers can connect to, in a real engine: each network mode, and the proxy."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from container.boxes import SPEC, box, inspected, opened, run
from skillgym_action.model.containers import NetworkMode, NetworkPolicy, RefusedConnection
from skillgym_action.model.errors import SandboxError
from skillgym_action.model.session import Ending

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.system.containers import Sandbox, SandboxContainer

pytestmark = pytest.mark.container

CONNECT = """
import socket, sys
for place in sys.argv[1:]:
    host, _, port = place.rpartition(":")
    try:
        socket.create_connection((host, int(port)), 2).close()
        print("connected")
    except OSError:
        print("failed")
"""
LOOK_UP = """
import socket, struct, sys
name = b"".join(bytes([len(part)]) + part.encode() for part in sys.argv[2].split("."))
question = b"\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + name + b"\\0\\0\\1\\0\\1"
asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asked.settimeout(3)
try:
    asked.sendto(question, (sys.argv[1], 53))
    print("answers", struct.unpack(">H", asked.recv(512)[6:8])[0])
except OSError:
    print("failed")
"""
SERVE = """
python3 -m http.server 8000 >/dev/null 2>&1 &
while ! python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8000))' 2>/dev/null; do sleep 0.1; done
"""
FETCH = """
import sys, urllib.request
for address in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(address, timeout=20).status)
    except Exception as error:
        print(str(error)[:60])
"""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served() -> Iterator[int]:
    """A server on all addresses of this machine: its port."""
    with ThreadingHTTPServer(("0.0.0.0", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def addresses() -> list[str]:
    """The addresses of this machine, where the engine runs in the tests."""
    import psutil

    found = [
        address.address
        for each in psutil.net_if_addrs().values()
        for address in each
        if address.family == socket.AF_INET
    ]
    return sorted(set(found) - {"127.0.0.1"})


def fetched(container: SandboxContainer, tmp_path: Path, *urls: str) -> list[str]:
    ran = run(container, tmp_path, "python3", "-c", FETCH, *urls)
    assert ran.capture.ending is Ending.EXITED, ran
    return ran.out.splitlines()


def connected(container: SandboxContainer, tmp_path: Path, *places: str) -> list[str]:
    ran = run(container, tmp_path, "python3", "-c", CONNECT, *places, timeout=100.0)
    assert ran.capture.ending is Ending.EXITED, ran
    return ran.out.splitlines()


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with opened() as sandbox:
        yield sandbox


def test_a_container_without_a_network_reaches_nothing(sandbox: Sandbox, tmp_path: Path):
    with served() as port, box(sandbox) as container:
        places = [f"{address}:{port}" for address in addresses()]
        assert set(connected(container, tmp_path, *places, "169.254.169.254:80")) == {"failed"}
        assert container.refused() == ()


def test_an_open_network_reaches_all_but_other_containers(sandbox: Sandbox, tmp_path: Path):
    spec = replace(SPEC, network=NetworkPolicy(mode=NetworkMode.OPEN))
    with served() as port, box(sandbox, spec) as container, box(sandbox, spec) as other:
        (network,) = inspected(other)["NetworkSettings"]["Networks"].values()  # type: ignore[attr-defined]
        gateway, address = network["Gateway"], network["IPAddress"]
        assert run(other, tmp_path, "sh", "-c", SERVE, keep_processes=True).capture.exit_code == 0
        assert connected(container, tmp_path, f"{gateway}:{port}", f"{address}:8000") == ["connected", "failed"]


@pytest.mark.parametrize("mode", [NetworkMode.ALLOW_LIST, NetworkMode.MODEL_ONLY])
def test_a_container_with_a_list_of_hosts_reaches_these_alone(mode: NetworkMode, sandbox: Sandbox, tmp_path: Path):
    """By way of the proxy; neither the engine's machine, nor another container, nor names, nor the metadata address."""
    with served() as port, served() as unlisted:
        spec = replace(SPEC, network=NetworkPolicy(mode=mode, hosts=(f"host.docker.internal:{port}",)))
        with box(sandbox, spec) as container, box(sandbox, spec) as other:
            host = "http://host.docker.internal"
            answers = fetched(
                container,
                tmp_path,
                f"{host}:{port}/",
                f"{host}:{unlisted}/",
                "https://example.com/",
                "http://169.254.169.254/latest/meta-data/",
            )
            assert answers[0] == "200"
            assert answers[1] == answers[3] == "HTTP Error 403: Forbidden"
            assert "Tunnel connection failed: 403 Forbidden" in answers[2]
            assert set(container.refused()) == {
                RefusedConnection(target=f"{host}:{unlisted}/"),
                RefusedConnection(target="example.com:443"),
                RefusedConnection(target="http://169.254.169.254/latest/meta-data/"),
            }
            assert other.refused() == ()

            (network,) = inspected(container)["NetworkSettings"]["Networks"].values()  # type: ignore[attr-defined]
            (beside,) = inspected(other)["NetworkSettings"]["Networks"].values()  # type: ignore[attr-defined]
            run(other, tmp_path, "sh", "-c", SERVE, keep_processes=True)
            places = [f"{address}:{port}" for address in addresses()]
            places += [
                f"{network['Gateway'] or '198.18.0.1'}:{port}",
                f"{beside['IPAddress']}:8000",
                "169.254.169.254:80",
            ]
            assert set(connected(container, tmp_path, *places)) == {"failed"}
            for resolver in ("127.0.0.11", *addresses()):
                asked = run(container, tmp_path, "python3", "-c", LOOK_UP, resolver, "deb.debian.org").out
                assert asked in {"failed\n", "answers 0\n"}


def test_a_network_is_used_again_and_does_not_show_what_was_refused_before(sandbox: Sandbox, tmp_path: Path):
    spec = replace(SPEC, network=NetworkPolicy(mode=NetworkMode.ALLOW_LIST, hosts=("a.test",)))
    with box(sandbox, spec) as first:
        fetched(first, tmp_path, "https://b.test/")
        assert first.refused() == (RefusedConnection(target="b.test:443"),)
        environment = dict(first.environment)
    with box(sandbox, spec) as second:
        assert dict(second.environment) == environment
        assert second.refused() == ()


def test_only_https_is_let_through_to_a_host_without_a_port_and_no_private_address(sandbox: Sandbox, tmp_path: Path):
    spec = replace(SPEC, network=NetworkPolicy(mode=NetworkMode.ALLOW_LIST, hosts=("host.docker.internal",)))
    with box(sandbox, spec) as container:
        host = "host.docker.internal"
        answers = fetched(container, tmp_path, f"http://{host}/", f"https://{host}/", f"https://{host}:22/")
        assert ["403 Forbidden" in one or "403: Forbidden" in one for one in answers] == [True] * 3, answers


def test_a_list_that_the_proxy_would_not_understand_is_refused(sandbox: Sandbox):
    for hosts in ((), ("*.example.com",), ("a b",), ("a:99999",), ("a\nhttp_access allow all",), ("https://a",)):
        spec = replace(SPEC, network=NetworkPolicy(mode=NetworkMode.ALLOW_LIST, hosts=hosts))
        with pytest.raises(SandboxError):
            sandbox.create(sandbox.image(spec), spec)


def test_where_no_image_can_be_built_a_setting_names_one_with_squid(tmp_path: Path):
    policy = NetworkPolicy(mode=NetworkMode.ALLOW_LIST, hosts=("a.test",))
    spec = replace(SPEC, network=policy)
    unbuilt = r"the image of the network's proxy cannot be built: .*; name an image"
    with opened(proxy_base="localhost:1/nothing") as sandbox, pytest.raises(SandboxError, match=unbuilt):
        sandbox.create(sandbox.image(spec), spec)
    with opened(proxy_image=SPEC.image) as other, pytest.raises(SandboxError, match="proxy does not start"):
        other.create(other.image(spec), spec)
