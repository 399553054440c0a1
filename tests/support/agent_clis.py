"""The real agent CLIs, installed once, by the tool's own door, at the versions their adapters were verified with."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

import pytest

from paths import REPOSITORY
from skillgym_action.cancellation import Cancellation
from skillgym_action.processes.agent_installs import AgentInstalls
from skillgym_action.processes.launcher import ProcessLauncher

CACHE = REPOSITORY / ".cache" / "agents"
ALWAYS = ("claude-code",)  # the others are slower: make test-agents
QUICK = ("claude-code", "codex", "pi")  # these start within a second
more_agents = pytest.mark.more_agents


@cache
def agent_cli(name: str) -> Path:
    """The executable of an agent. Raises InstallError when npm cannot install it; no test is skipped for that."""
    downloads = {"npm_config_cache": str(Path.home() / ".npm")}
    env = {**downloads, **os.environ, "SKILLGYM_AGENTS_DIR": str(CACHE)}
    cancelled = Cancellation()
    with ProcessLauncher(environment=env, cancelled=cancelled) as processes:
        installed = AgentInstalls(processes, env).install(name)
    cancelled.close()
    return installed.program


def search_path(*folders: Path) -> str:
    """A PATH with what agents need beside their own CLIs: opencode loads skills with ripgrep."""
    return os.pathsep.join([*map(str, folders), str(Path(sys.executable).parent), os.environ["PATH"]])


def claude_code() -> Path:
    return agent_cli("claude-code")
