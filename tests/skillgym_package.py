"""The npm package skillgym, which the TypeScript format comes from: installed once, and a Node that runs it."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from skillgym_action.effects.cancellation import Cancellation
from skillgym_action.effects.node import Node
from skillgym_action.effects.processes import Processes

VERSION = "0.8.1"
CACHE = Path(__file__).parent.parent / ".cache"


@cache
def skillgym_package() -> Path:
    """Its folder; what it needs is beside it. Raises CalledProcessError when npm cannot install it."""
    folder = CACHE / f"skillgym-{VERSION}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=CACHE) as half_made:
            prefix = Path(half_made, "whole")
            options = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts", f"--prefix={prefix}")
            subprocess.run(("npm", "install", *options, f"skillgym@{VERSION}"), check=True)
            with suppress(OSError):  # another process was faster
                prefix.rename(folder)
    return folder / "node_modules" / "skillgym"


@cache
def new_node() -> str:
    """A Node that runs TypeScript, as suite hosts find it."""
    cancelled = Cancellation()
    with Processes(environment=dict(os.environ), cancelled=cancelled) as processes:
        program = Node(processes).host[4]
    cancelled.close()
    return program
