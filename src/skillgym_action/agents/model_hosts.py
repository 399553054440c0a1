"""The hosts of the model services that an agent talks to: all that a container may connect to by default."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from skillgym_action.agents import AGENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.session import AgentConfig

# Variables with a key or a token, and those with the address of another service instead; for each its service.
KEY_SERVICES = {
    "ANTHROPIC_API_KEY": "anthropic",
    "CLAUDE_CODE_OAUTH_TOKEN": "anthropic",
    "OPENAI_API_KEY": "openai",
    "CODEX_API_KEY": "openai",
    "GEMINI_API_KEY": "gemini",
    "OPENROUTER_API_KEY": "openrouter",
    "OPENCODE_API_KEY": "opencode",
    "COPILOT_GITHUB_TOKEN": "copilot",
    "COPILOT_PROVIDER_API_KEY": "copilot-provider",
    "COPILOT_PROVIDER_BEARER_TOKEN": "copilot-provider",
    "CURSOR_API_KEY": "cursor",
}
ADDRESS_SERVICES = {
    "ANTHROPIC_BASE_URL": "anthropic",
    "OPENAI_BASE_URL": "openai",
    "GOOGLE_GEMINI_BASE_URL": "gemini",
    "COPILOT_PROVIDER_BASE_URL": "copilot-provider",
}
SERVICE_HOSTS = {
    "anthropic": ("api.anthropic.com",),
    "openai": ("api.openai.com",),
    "gemini": ("generativelanguage.googleapis.com",),
    "openrouter": ("openrouter.ai",),
    "opencode": ("opencode.ai",),
    "copilot": ("api.github.com", "api.githubcopilot.com", "api.individual.githubcopilot.com"),
    "copilot-provider": (),
    "cursor": ("api2.cursor.sh", "api5.cursor.sh"),
}


def model_hosts(agent: AgentConfig) -> tuple[str, ...]:
    """The hosts of the services whose keys the agent has, else of all that it knows; ``NAME`` or ``NAME:PORT``.

    An address in a variable such as ``ANTHROPIC_BASE_URL`` replaces the hosts of its service. () for an agent of which
    no service is known.
    """
    known = [*AGENTS[agent.type].keys, *agent.env]
    set_keys = [KEY_SERVICES[name] for name in agent.env if name in KEY_SERVICES]
    named = {ADDRESS_SERVICES[name]: address for name, address in agent.env.items() if name in ADDRESS_SERVICES}
    services = set_keys or ([] if named else [KEY_SERVICES[name] for name in known if name in KEY_SERVICES])
    hosts: list[str] = []
    for service in dict.fromkeys((*services, *named)):
        hosts += _host(named[service]) if service in named else SERVICE_HOSTS[service]
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
