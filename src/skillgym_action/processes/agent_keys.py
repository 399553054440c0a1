"""Whether a runner's agent can have a key at all: found out before its CLI is installed and started.

A session has an empty home directory and no variables but those of its runner, so the CLI has nothing to log in with if
the runner sets none of them. Wherever another way is possible, nothing is reported: see ``missing_key``.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.limits import MAX_AGENT_SETTINGS_BYTES
from skillgym_action.processes.github_job import is_github_job
from skillgym_action.text.redaction import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from skillgym_action.model.session import AgentConfig

# What a CLI's settings file in a workspace says if it has a key, a program that prints one, or another service.
LOGS_IN = re.compile(rb"(?i)key|token|auth|login|url|provider|bedrock|vertex|\benv\b")


class AgentKeys:
    """Knows how the keys of agents are passed where the tool was started."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """``environment``: the tool's; of it only the kind of job matters."""
        self._in_job = is_github_job(environment)
        # On macOS CLIs keep logins in the system's keychain, whatever HOME is; GitHub's own machines have none.
        self._has_keychain = sys.platform == "darwin" and environment.get("RUNNER_ENVIRONMENT") != "github-hosted"

    def missing_key(self, agent: AgentConfig, folders: Iterable[Path]) -> str | None:
        """Which variables the agent needs, and how to set them; None if it may have a key, or needs none.

        It may have one if the runner sets any variable (of the agent's own only those that are set are passed on), a
        program or arguments; if a settings file of its CLI in one of ``folders`` may name one; or if the system has a
        keychain. It needs none for a model that its own service offers to everybody.
        """
        info = AGENTS[agent.type]
        names = key_names(agent.type)
        if not names or agent.env or agent.command or agent.command_args or self._has_keychain:
            return None
        if not (agent.model or "").startswith(info.keyed_models):
            return None
        if any(_may_log_in(folder / name) for folder in folders for name in info.settings_files):
            return None
        remedy = self.remedy(agent.type) if self._in_job else "set one in the environment"
        return f"{agent.type} needs {' or '.join(names)}, and none is set: {remedy}"

    def remedy(self, agent: str) -> str:
        """How to set the agent's key."""
        names = key_names(agent)
        if not self._in_job:
            return f"set {' or '.join(names)}"
        line = f"env: {{{names[0]}: ${{{{ secrets.{names[0]} }}}}}}"
        return f"create the secret and pass it to this step, `{line}`; workflows of forks and Dependabot get no secrets"


def key_names(agent: str) -> tuple[str, ...]:
    """The names of the variables that have a key of the agent."""
    return tuple(name for name in AGENTS[agent].keys if is_secret_name(name))


def _may_log_in(file: Path) -> bool:
    """Whether it is a regular file that may name a key; also if it cannot be read."""
    try:
        if not file.is_file():
            return False
        with file.open("rb") as opened:
            return LOGS_IN.search(opened.read(MAX_AGENT_SETTINGS_BYTES)) is not None
    except OSError:
        return True
