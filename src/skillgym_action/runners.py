"""Which runners a run has: those of the configuration, selected by id; or agents named ad hoc."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from hashlib import blake2b
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.config import resolved_env
from skillgym_action.domain import Runner
from skillgym_action.errors import UsageError, did_you_mean
from skillgym_action.session import AgentConfig

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skillgym_action.config import AgentSection, Config


def path_key(text: str) -> str:
    """``text`` as one path segment: unchanged where that is possible, else with a hash so that no two collide."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:80].strip(".-") or "x"
    return safe if safe == text else f"{safe}-{blake2b(text.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"


def selected_runners(config: Config, selectors: Iterable[str], environment: Mapping[str, str]) -> tuple[Runner, ...]:
    """The runners a run has, in the order they are named. Raises UsageError, ConfigError."""
    configured = config.file.runners or {}
    wanted = tuple(selectors) or tuple(configured)
    if not wanted:
        found = [name for name, listing in AGENTS.items() if listing.executable and which(listing.executable)]
        here = f"found on this machine: {', '.join(found)}" if found else "no agent's CLI is on PATH"
        raise UsageError(
            f"no runner is configured and none is named; {here}",
            remedy=f"--runner {found[0] if found else 'claude-code'}, or runners in skillgym.config.yaml",
        )
    runners: dict[str, Runner] = {}
    for selector in wanted:
        ids = [name for name in configured if fnmatchcase(name, selector)]
        for name in ids:
            runners.setdefault(name, _configured(name, configured[name].agent, config.folder, environment))
        if not ids:
            runners.setdefault(selector, _ad_hoc(selector, configured, environment))
    return tuple(runners.values())


def _ad_hoc(selector: str, configured: Iterable[str], environment: Mapping[str, str]) -> Runner:
    agent, _, model = selector.partition(":")
    if agent not in AGENTS or not AGENTS[agent].executable:
        known = (*configured, *(name for name, listing in AGENTS.items() if listing.executable))
        raise UsageError(f"unknown runner {selector!r}", remedy=did_you_mean(selector, known))
    keys = {name: environment[name] for name in AGENTS[agent].keys if environment.get(name)}
    return Runner(
        id=selector, path_key=path_key(selector), agent=AgentConfig(type=agent, model=model or None, env=keys)
    )


def _configured(name: str, agent: AgentSection, folder: Path | None, environment: Mapping[str, str]) -> Runner:
    keys = {key: environment[key] for key in AGENTS[agent.type].keys if environment.get(key)}
    if agent.type in {"command", "replay"} and not (agent.command if agent.type == "command" else agent.sessions):
        missing = "command" if agent.type == "command" else "sessions"
        raise UsageError(
            f"runners.{name}.agent: an agent of type {agent.type} needs {missing}", remedy=f"add {missing}: …"
        )
    shell = agent.type == "command" and isinstance(agent.command, str)
    argv = (agent.command,) if isinstance(agent.command, str) else agent.command or ()
    return Runner(
        id=name,
        path_key=path_key(name),
        agent=AgentConfig(
            type=agent.type,
            model=agent.model,
            command=argv if shell else tuple(_from(folder, part) for part in argv),
            shell=shell,
            command_args=tuple(_from(folder, part) for part in agent.command_args),
            env={**keys, **resolved_env(agent.env, environment, name)},
            output=agent.output,
            budget=agent.budget,
            sessions=str((folder or Path.cwd()) / agent.sessions) if agent.sessions else None,
        ),
    )


def _from(folder: Path | None, part: str) -> str:
    """Path-like parts resolve from the configuration file."""
    return str(folder / part) if folder and part.startswith(("./", "../")) else part
