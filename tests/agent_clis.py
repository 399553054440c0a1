"""The real agent CLIs, installed once at the versions their adapters were verified with."""

from __future__ import annotations

import fcntl
import subprocess
from functools import cache
from pathlib import Path

from skillgym_action.agents import AGENTS

CACHE = Path(__file__).parent.parent / ".cache" / "agents"


@cache
def agent_cli(name: str) -> Path:
    """The executable of an agent. Raises CalledProcessError when npm cannot install it; no test is skipped for that."""
    listing = AGENTS[name]
    folder = CACHE / f"{name}-{listing.version}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        installed = folder / "installed"
        if not installed.exists():
            package = f"{listing.package}@{listing.version}"
            npm = ["npm", "install", "--prefix", folder, "--no-fund", "--no-audit", "--loglevel=error", package]
            subprocess.run(npm, check=True, stdin=subprocess.DEVNULL)
            installed.touch()
    return folder / "node_modules" / ".bin" / str(listing.executable)


def claude_code() -> Path:
    return agent_cli("claude-code")
