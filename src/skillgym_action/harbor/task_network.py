"""What a task may connect to: ``network_mode`` and ``allowed_hosts`` of its environment, its agent and its tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillgym_action.model.containers import NetworkMode, NetworkPolicy
from skillgym_action.remote_limits import MAX_POLICY_HOSTS

if TYPE_CHECKING:
    from skillgym_action.documents.suite_values import SuiteValue

MODES = {"public": NetworkMode.OPEN, "no-network": NetworkMode.MODEL_ONLY, "allowlist": NetworkMode.MODEL_ONLY}
"""As in Harbor, the services of the agent's model are among the allowed hosts; agents without a model have none."""
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_HARBOR = "run this task with Harbor"


def network_of(environment: SuiteValue, agent: SuiteValue, verifier: SuiteValue) -> NetworkPolicy:
    """The policy of the container. Raises SuiteError, also if agent and tests are to have different ones."""
    common = _policy(environment) or _legacy(environment) or NetworkPolicy(mode=NetworkMode.OPEN)
    of_agent, of_tests = _policy(agent), _policy(verifier)
    if (of_agent or common) != (of_tests or common):
        section = agent if of_agent else verifier
        raise section.member("network_mode").error(
            "another network for the agent than for the tests is not supported", _HARBOR
        )
    return of_agent or common


def _policy(section: SuiteValue) -> NetworkPolicy | None:
    """What a section asks for; None: nothing. Raises SuiteError."""
    mode = section.choice("network_mode", MODES)
    listed = section.get("allowed_hosts")
    hosts = tuple(dict.fromkeys(_host(host) for host in listed.items())) if listed else ()
    if mode != "allowlist" and listed:
        raise listed.error("only has an effect with an allow-list", 'write network_mode = "allowlist"')
    if listed and len(hosts) > MAX_POLICY_HOSTS:
        raise listed.error(f"has more than {MAX_POLICY_HOSTS} hosts", _HARBOR)
    if mode is None:
        return None
    return NetworkPolicy(mode=MODES[mode], hosts=hosts)


def _legacy(environment: SuiteValue) -> NetworkPolicy | None:
    if not environment.has("allow_internet"):
        return None
    return NetworkPolicy(mode=MODES["public" if environment.flag("allow_internet") else "no-network"])


def _host(value: SuiteValue) -> str:
    """The name of a host. Raises SuiteError for addresses, networks and wildcards."""
    name = value.as_text().strip().lower().rstrip(".")
    if name.startswith("*."):
        raise value.error("wildcards are not supported", "name each host")
    if not _HOST.fullmatch(name) or name.replace(".", "").isdigit():
        raise value.error("is not a host name", "write a name such as pypi.org, without a port or a path")
    return name
