"""The hosts of the model services that an agent talks to: all that a container may connect to by default."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from skillgym_action.agents import AGENTS
from skillgym_action.agents.families import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.session import AgentConfig


def model_hosts(agent: AgentConfig) -> tuple[str, ...]:
    """The hosts of the services that the agent has variables for, else of all that it knows; ``NAME`` or ``NAME:PORT``.

    An address in a variable such as ``ANTHROPIC_BASE_URL`` replaces the hosts of its service. () for an agent of which
    no service is known.
    """
    own = AGENTS[agent.type].families
    used = [family for family in own or chain(*FAMILIES.values()) if family.is_used(agent.env)]
    hosts: list[str] = []
    for family in used or [family for family in own if not family.switch]:
        address = agent.env.get(family.address or "")
        hosts += _host(address) if address else family.hosts_for(agent.env)
    return tuple(dict.fromkeys(hosts))


def _host(address: str) -> Iterator[str]:
    """The host of an address, with its port unless that is the one of HTTPS; nothing for what is no address."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or (80 if parts.scheme == "http" else 443)
    except ValueError:
        return
    if host:
        shown = f"[{host}]" if ":" in host else host
        yield shown if port == 443 and parts.scheme == "https" else f"{shown}:{port}"  # noqa: PLR2004 - of HTTPS
