"""The npm package skillgym, which the TypeScript format comes from: installed once, and a Node that runs it."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from npm_packages import CACHE, node_modules
from skillgym_action.suites.programs.hosts.node import Node
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.processes.launcher import ProcessLauncher

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CACHE", "new_node", "skillgym_package"]

VERSION = "0.8.1"


def skillgym_package() -> Path:
    """Its folder; what it needs is beside it. Raises CalledProcessError when npm cannot install it."""
    return node_modules(f"skillgym-{VERSION}", f"skillgym@{VERSION}") / "skillgym"


@cache
def new_node() -> str:
    """A Node that runs TypeScript, as suite hosts find it."""
    cancelled = Cancellation()
    with ProcessLauncher(environment=dict(os.environ), cancelled=cancelled) as processes:
        program = Node(processes).program[0]
    cancelled.close()
    return program
