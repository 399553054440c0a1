"""Squid as the only way out of a container: its image, its configuration, and what it logs."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING

from skillgym_action.model.errors import SandboxError
from skillgym_action.model.limits import MAX_POLICY_HOSTS

if TYPE_CHECKING:
    from skillgym_action.model.containers import NetworkPolicy

MAX_MODEL_HOSTS = 50  # of the services of an agent's model, in addition
PORT = 3128
USER = "proxy"  # Debian's user of squid
CONFIGURATION = "/etc/squid/skillgym-action.conf"
COMMAND = ("squid", "-N", "-d", "1", "-f", CONFIGURATION)
STARTED = b"Accepting HTTP Socket connections"  # on standard error
DOCKERFILE = """\
ARG BASE
FROM ${BASE}
RUN apt-get update \\
 && apt-get install --yes --no-install-recommends squid \\
 && rm -rf /var/lib/apt/lists/*
"""
HTTPS_PORT = 443
CONTAINERS = "198.18.0.0/15"  # for measurements between networks (RFC 2544): in use on no network that matters
LINK_LOCAL = ("169.254.0.0/16", "fe80::/10")
PRIVATE = (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.0.0.0/24 192.168.0.0/16 198.18.0.0/15 224.0.0.0/3"
    " ::/128 ::1/128 fc00::/7 ff00::/8"
)
START = f"""\
http_port {PORT}
acl containers src {CONTAINERS}
acl tunnel method CONNECT
acl linklocal dst {" ".join(LINK_LOCAL)}
acl private dst {PRIVATE}
"""
# Names are looked up for listed hosts only, after the name has been compared: a lookup carries data, too.
END = """\
http_access deny all
cache deny all
cache_log /dev/null
cache_store_log none
logformat refused %>a %Ss %ru
access_log stdio:/dev/stdout logformat=refused
pid_filename none
pinger_enable off
via off
forwarded_for delete
shutdown_lifetime 0 seconds
connect_timeout 20 seconds
max_filedescriptors 8192
coredump_dir /
visible_hostname proxy
"""
_HOST = re.compile(r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)(?::(?P<port>[0-9]{1,5}))?")
_REFUSED = re.compile(rb"(?P<client>[0-9.]{7,15}) TCP_DENIED\S* (?P<target>\S+)")


def configuration(policy: NetworkPolicy) -> str:
    """The configuration that lets containers connect to the hosts of a policy. Raises SandboxError for a bad one."""
    most = MAX_POLICY_HOSTS + MAX_MODEL_HOSTS
    if not policy.hosts or len(policy.hosts) > most:
        raise SandboxError(f"network mode {policy.mode} needs 1 to {most} hosts")
    lines = []
    for number, host in enumerate(dict.fromkeys(policy.hosts)):
        name, port = _host_and_port(host)
        lines.append(f"acl name{number} dstdomain -n {name}")
        lines.append(f"acl port{number} port {port or HTTPS_PORT}")
        rest = "!linklocal" if port else "tunnel !linklocal !private"
        lines.append(f"http_access allow containers name{number} port{number} {rest}")
    return START + "".join(f"{line}\n" for line in lines) + END


def _host_and_port(host: str) -> tuple[str, int | None]:
    found = _HOST.fullmatch(host)
    port = int(found["port"]) if found and found["port"] else None
    if not found or ".." in host or (port is not None and not 0 < port < 2**16):
        raise SandboxError(f"{host!r} is not a host of a network policy", remedy="write NAME or NAME:PORT, no patterns")
    return found["name"].lower(), port


def refused(line: bytes) -> tuple[str, str] | None:
    """The address of the container and the target, of a line of the log about a refused connection; else None."""
    found = _REFUSED.fullmatch(line.strip())
    if not found:
        return None
    client = found["client"].decode()
    try:
        ip_address(client)
    except ValueError:
        return None
    return client, found["target"].decode("utf-8", "replace")
