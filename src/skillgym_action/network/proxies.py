"""How services are reached: what the environment says about proxies and certificates, as curl and requests read it.

The tool's own ``os.environ`` has none of it: see ``bare_start``.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

CERTIFICATES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
SUFFIX = "_proxy"


@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    """``proxies`` by scheme, "all" or, for hosts that are reached without one, "no"; the path of ``certificates``."""

    proxies: Mapping[str, str] = field(default_factory=dict, repr=False)
    certificates: str | None = None

    def proxies_to(self, url: str) -> dict[str, str]:
        """The proxies for that address, by scheme; those of macOS's settings where the environment has none."""
        if not self.proxies:
            return _proxies_of_macos(url)
        return {} if self._is_direct(url) else dict(self.proxies)

    def _is_direct(self, url: str) -> bool:
        """Whether the host is named by ``no``: itself, by a suffix, with its port, or by a range of addresses."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        hosts = (host, f"{host}:{parts.port}")
        named = [one.strip().lstrip(".").lower() for one in self.proxies.get("no", "").split(",")]
        return any(
            one == "*" or any(f".{this}".endswith(f".{one}") for this in hosts) or _is_in(host, one)
            for one in named
            if one
        )


DIRECT = Network()


def network(environment: Mapping[str, str]) -> Network:
    """What the variables say; a name in lower case comes first, and as an empty one it takes the other away."""
    proxies: dict[str, str] = {}
    for name in sorted(environment):  # upper case comes first
        if name.lower().endswith(SUFFIX):
            proxies[name[: -len(SUFFIX)].lower()] = environment[name]
    proxies = {scheme: proxy for scheme, proxy in proxies.items() if proxy}
    named = next((environment[name] for name in CERTIFICATES if environment.get(name)), None)
    file = environment.get("SSL_CERT_FILE")
    return Network(proxies=proxies, certificates=named or (file if file and os.path.isfile(file) else None))


def _proxies_of_macos(url: str) -> dict[str, str]:
    if sys.platform == "darwin":
        from urllib.request import getproxies, proxy_bypass

        return {} if proxy_bypass(urlsplit(url).hostname or "") else getproxies()
    return {}


def _is_in(host: str, addresses: str) -> bool:
    from ipaddress import ip_address, ip_network

    try:
        return "/" in addresses and ip_address(host) in ip_network(addresses, strict=False)
    except ValueError:
        return False
