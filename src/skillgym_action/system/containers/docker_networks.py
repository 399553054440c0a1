"""The networks of a run in a Docker engine.

A container with a list of hosts has a network of its own, without a way out and without an address of the engine's
machine; the only other member is a proxy (Squid), which all containers with the same list share. A network is used
again once its container is removed, since making one takes as long as starting a container.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import field
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from docker.errors import APIError
from docker.types import IPAMConfig, IPAMPool

from skillgym_action.model.containers import NetworkMode, NetworkPolicy, RefusedConnection
from skillgym_action.model.errors import SandboxError
from skillgym_action.model.records import record
from skillgym_action.system.containers import squid
from skillgym_action.system.containers.docker_engine import ENGINE_ERRORS
from skillgym_action.system.containers.docker_sweep import labels
from skillgym_action.system.containers.tar_entries import END, write_tar
from skillgym_action.system.files.bundle import BundleEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skillgym_action.system.containers import SandboxSettings
    from skillgym_action.system.containers.docker_container import DockerStarter, Processes
    from skillgym_action.system.containers.docker_engine import DockerEngine, Stream
    from skillgym_action.system.containers.docker_images import DockerImages

MAX_REFUSED_CONNECTIONS = 100  # targets that are reported of one container
MAX_REFUSED_LINE_BYTES = 4096  # of a line of the proxy's log
PROXY_MEMORY_BYTES = 512 * 1024**2
PROXY_PROCESSES = 64
PROXY_START_SECONDS = 60.0
RANGE, OPEN_RANGE = IPv4Network("198.18.0.0/16"), IPv4Network("198.19.0.0/16")
PREFIX, OPEN_PREFIX = 29, 22  # of a network: a container and the proxy; the containers of a run
SUBNET_TRIES = 50
NO_DNS = ("127.0.0.1",)  # in the container: the engine's own resolver would ask others for it
CLOSED_OPTIONS = {
    "com.docker.network.bridge.inhibit_ipv4": "true",  # else the engine's machine has an address there
    "com.docker.network.bridge.gateway_mode_ipv4": "isolated",  # the same, for newer engines
}
APART_OPTIONS = {"com.docker.network.bridge.enable_icc": "false"}


def refusals(counts: Counter[str], shown: Callable[[str], str]) -> tuple[RefusedConnection, ...]:
    """The connections that a proxy refused, most frequent first."""
    most = counts.copy().most_common(MAX_REFUSED_CONNECTIONS)
    return tuple(RefusedConnection(target=shown(target), count=count) for target, count in most)


@record
class Connection:
    """The place of one container in a network. ``address``: its own; None: the engine chooses, or there is none."""

    network: str
    address: str | None = None
    dns: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    release: Callable[[], None] = lambda: None
    refusals: Callable[[], tuple[RefusedConnection, ...]] = tuple


@record
class ClosedNetwork:
    """A network of a container and the proxy."""

    name: str
    container: str
    proxy: str


class DockerNetworks:
    """The networks of one run."""

    def __init__(self, engine: DockerEngine, run: str, proxies: Proxies) -> None:
        self.engine, self._run, self._proxies = engine, run, proxies
        self._lock = threading.Lock()
        self._lists: dict[NetworkPolicy, AllowedHosts] = {}
        self._open: str | None = None

    def connect(self, policy: NetworkPolicy) -> Connection:
        """A place for a new container. Raises SandboxError, ENGINE_ERRORS."""
        if policy.mode is NetworkMode.NONE:
            return Connection(network="none")
        if policy.mode is NetworkMode.OPEN:
            return Connection(network=self.open_network())
        squid.configuration(policy)
        with self._lock:
            hosts = self._lists.setdefault(policy, AllowedHosts(policy, self))
        return hosts.connect()

    def open_network(self) -> str:
        """The network from which everything but other containers can be reached."""
        with self._lock:
            if self._open is None:
                self._open = self.make(OPEN_RANGE, OPEN_PREFIX, internal=False, options=APART_OPTIONS)[0]
            return self._open

    def make(
        self, below: IPv4Network, prefix: int, *, internal: bool, options: dict[str, str]
    ) -> tuple[str, IPv4Network]:
        """A new network somewhere in an address range: its name, and its addresses. Raises SandboxError, APIError."""
        count = 2 ** (prefix - below.prefixlen)
        error: APIError | None = None
        for _ in range(SUBNET_TRIES):
            number = random.randrange(count)  # noqa: S311 -- other runs choose, too
            subnet = IPv4Network((int(below.network_address) + number * 2 ** (32 - prefix), prefix))
            name = f"{self._run}-{subnet.network_address}"
            pool = IPAMPool(subnet=str(subnet))
            try:
                self.engine.api.create_network(
                    name,
                    driver="bridge",
                    options=options,
                    ipam=IPAMConfig(pool_configs=[pool]),
                    internal=internal,
                    labels=labels(self._run, "network"),
                )
            except APIError as caught:
                if "overlap" not in str(caught.explanation).lower() and "already exists" not in str(caught.explanation):
                    raise
                error = caught
                continue
            return name, subnet
        raise SandboxError(f"no part of {below} is free for a network: {self.engine.shown(error)}")

    def closed(self) -> ClosedNetwork:
        """A new network for a container and the proxy."""
        name, subnet = self.make(RANGE, PREFIX, internal=True, options=CLOSED_OPTIONS)
        hosts = list(subnet.hosts())  # the first is the gateway's, which has none
        return ClosedNetwork(name=name, proxy=str(hosts[1]), container=str(hosts[2]))

    def proxy(self, policy: NetworkPolicy) -> DockerProxy:
        """A proxy that runs. Raises SandboxError, ENGINE_ERRORS."""
        return self._proxies.start(policy, self.open_network())

    def join(self, proxy: DockerProxy, network: ClosedNetwork) -> None:
        """Raises ENGINE_ERRORS."""
        self.engine.api.connect_container_to_network(proxy.container, network.name, ipv4_address=network.proxy)

    def remove(self, name: str) -> None:
        with suppress(*ENGINE_ERRORS):
            self.engine.api.remove_network(name)

    def close(self) -> None:
        """Remove the networks; the containers are gone."""
        for hosts in self._lists.values():
            hosts.close()
        if self._open:
            self.remove(self._open)


class AllowedHosts:
    """A list of hosts, its proxy, and the networks of its containers."""

    def __init__(self, policy: NetworkPolicy, networks: DockerNetworks) -> None:
        self._policy, self._networks = policy, networks
        self._lock = threading.Lock()
        self._proxy: DockerProxy | None = None
        self._free: list[ClosedNetwork] = []
        self._all: list[ClosedNetwork] = []

    def connect(self) -> Connection:
        """A place for one container. Raises SandboxError, ENGINE_ERRORS."""
        with self._lock:
            if self._proxy is None or not self._proxy.alive():
                self._renew()
            proxy = self._proxy
            network = self._free.pop() if self._free else None
        if proxy is None:
            raise SandboxError("the proxy of a network cannot be started")
        if network is None:
            network = self._networks.closed()
            with self._lock:
                self._all.append(network)
            self._networks.join(proxy, network)
        counts = proxy.count(network.container)
        address = f"http://{network.proxy}:{squid.PORT}"

        def release() -> None:
            with self._lock:
                if proxy is self._proxy:
                    self._free.append(network)

        return Connection(
            network=network.name,
            address=network.container,
            dns=NO_DNS,
            environment=dict.fromkeys(PROXY_VARIABLES, address) | dict.fromkeys(("NO_PROXY", "no_proxy"), LOOPBACK),
            release=release,
            refusals=lambda: refusals(counts, self._networks.engine.shown),
        )

    def _renew(self) -> None:
        """A new proxy, whose containers get new networks."""
        if self._proxy:
            self._proxy.close()
        self._free.clear()
        self._proxy = self._networks.proxy(self._policy)

    def close(self) -> None:
        if self._proxy:
            self._proxy.close()
        for network in self._all:
            self._networks.remove(network.name)


PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy")
LOOPBACK = "localhost,127.0.0.1,::1"
HOST_NAMES = {"host.docker.internal": "host-gateway"}
REMEDY = "name an image that has squid (proxy_image of the sandbox), or use network mode none or open"


class ProxyImage:
    """The image with Squid: the one that a setting names, or one that is built."""

    def __init__(self, images: DockerImages, settings: SandboxSettings) -> None:
        self._images, self._settings = images, settings

    def digest(self) -> str:
        """Raises SandboxError."""
        if self._settings.proxy_image:
            return self._images.named(self._settings.proxy_image).digest
        files = {"Dockerfile": squid.DOCKERFILE.encode()}
        try:
            return self._images.of_files("the network's proxy", files, (("BASE", self._settings.proxy_base),)).digest
        except SandboxError as error:
            raise SandboxError(error.problems[0].message, remedy=REMEDY) from error


class Proxies:
    """Starts proxies."""

    def __init__(self, engine: DockerEngine, starter: DockerStarter, image: ProxyImage, run: str) -> None:
        self._engine, self._starter, self._image, self._run = engine, starter, image, run

    def start(self, policy: NetworkPolicy, network: str) -> DockerProxy:
        """A proxy that listens. ``network`` leads outside. Raises SandboxError, ENGINE_ERRORS."""
        host = {
            "network_mode": network,
            "extra_hosts": HOST_NAMES,
            "cap_add": ["KILL", "SETGID", "SETUID"],
            "mem_limit": PROXY_MEMORY_BYTES,
            "memswap_limit": PROXY_MEMORY_BYTES,
            "pids_limit": PROXY_PROCESSES,
            "sysctls": {"net.ipv4.ip_forward": "0"},  # else it would also be a router
        }
        engine = self._engine
        container, processes = self._starter.start(self._image.digest(), "/", labels(self._run, "proxy"), host)
        try:
            text = squid.configuration(policy).encode()
            entry = BundleEntry("file", squid.CONFIGURATION[1:], 0o444).with_content(len(text), text)
            engine.api.put_archive(container, "/", b"".join((*write_tar([entry]), END)))
            program = engine.api.exec_create(container, list(squid.COMMAND), user=squid.USER)["Id"]
            log = engine.stream(f"/exec/{program}/start", {"Detach": False, "Tty": False})
            return DockerProxy(container, processes, log)
        except BaseException:
            processes.close()
            raise


class DockerProxy:
    """One proxy, which runs until it is closed, and counts what it refused."""

    def __init__(self, container: str, processes: Processes, log: Stream) -> None:
        """Raises SandboxError unless it listens soon."""
        self.container = container
        self._processes, self._log = processes, log
        self._counts: dict[str, Counter[str]] = {}
        self._started = threading.Event()
        self._said = b""
        threading.Thread(target=self._read, daemon=True).start()
        if not self._started.wait(PROXY_START_SECONDS) or not self.alive():
            self.close()
            raise SandboxError(f"the network's proxy does not start: {self._said.decode('utf-8', 'replace')!r}")

    def _read(self) -> None:
        line = b""
        while not self._log.ended:
            for channel, piece in self._log.frames():
                if channel != 1:
                    self._said = (self._said + piece)[-MAX_REFUSED_LINE_BYTES:]
                    if squid.STARTED in self._said:
                        self._started.set()
                    continue
                *lines, line = (line + piece).split(b"\n")
                for each in lines:
                    self._note(each)
                line = line[-MAX_REFUSED_LINE_BYTES:]
        self._started.set()

    def _note(self, line: bytes) -> None:
        client, target = squid.refused(line) or ("", "")
        counts = self._counts.get(client)
        if counts is not None and (target in counts or len(counts) < MAX_REFUSED_CONNECTIONS):
            counts[target] += 1

    def count(self, client: str) -> Counter[str]:
        """Counts what is refused to the container with this address from now on, by target."""
        counts = self._counts[client] = Counter()
        return counts

    def alive(self) -> bool:
        return not self._log.ended

    def close(self) -> None:
        """End it; the engine removes its container."""
        self._processes.end()
        self._log.close()
        self._processes.close()
