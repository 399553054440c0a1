"""Proxies and certificates, read from environment variables as curl and requests read them.

The tool's own ``os.environ`` has none of these variables: ``cli/process_protection`` empties it.
"""

from __future__ import annotations

import os
import sys
from dataclasses import field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping

CERTIFICATES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
SUFFIX = "_proxy"


@record
class Network:
    """``proxies``: URLs by scheme or "all", and hosts without a proxy as "no"; ``certificates``: path of a file."""

    proxies: Mapping[str, str] = field(default_factory=dict, repr=False)
    certificates: str | None = None

    def proxies_to(self, url: str) -> dict[str, str]:
        """Return the proxies for a URL, by scheme; without any in the environment, those of the settings of macOS."""
        if not self.proxies:
            return _proxies_of_macos(url)
        return {} if self._is_direct(url) else dict(self.proxies)

    def _is_direct(self, url: str) -> bool:
        """Whether ``no`` has the host: by its name, a suffix of it, with its port, or as a part of a network."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        hosts = (host, f"{host}:{parts.port}")
        entries = [entry.strip().lstrip(".").lower() for entry in self.proxies.get("no", "").split(",")]
        return any(
            entry == "*" or any(f".{name}".endswith(f".{entry}") for name in hosts) or _is_in(host, entry)
            for entry in entries
            if entry
        )


DIRECT = Network()


def network_from(environment: Mapping[str, str]) -> Network:
    """Return the settings. A variable in lower case wins over the one in upper case, also if it is empty."""
    proxies: dict[str, str] = {}
    for name in sorted(environment):  # upper case is sorted first, so that lower case overwrites it
        if name.lower().endswith(SUFFIX):
            proxies[name[: -len(SUFFIX)].lower()] = environment[name]
    proxies = {scheme: proxy for scheme, proxy in proxies.items() if proxy}
    bundle = next((environment[name] for name in CERTIFICATES if environment.get(name)), None)
    file = environment.get("SSL_CERT_FILE")
    return Network(proxies=proxies, certificates=bundle or (file if file and os.path.isfile(file) else None))


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
