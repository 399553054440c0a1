"""Agent configuration in commits of untrusted contributors. Agents would follow it, so workspaces do not contain it."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.model.errors import PlugInError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.agents import AgentInfo
    from skillgym_action.workspaces.workspace import SessionWorkspace

MAX_LISTED_CONFIGURATION_FILES = 5  # in the warning about hidden agent configuration


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted({name for listing in _listings() for name in listing.configuration}))


def _listings() -> Iterator[AgentInfo]:
    yield from AGENTS.own.values()
    for name in (name for name in AGENTS if name not in AGENTS.own):
        with suppress(PlugInError):  # a plug-in that cannot be loaded runs no session either
            yield AGENTS[name]


def is_configuration(path: str) -> bool:
    """Whether some agent reads ``path``, or a folder above it, as its configuration; relative, with ``/``."""
    return any(f"/{name}/" in f"/{path}/" for name in _names())


def _parents(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


class UntrustedConfiguration:
    """Removes agent configuration from workspaces and collects the paths for a warning. May be used by several threads.

    ``repository``: the one that the commit comes from, as messages name it.
    """

    def __init__(self, repository: str) -> None:
        self._repository = repository
        self._found: set[str] = set()

    def among(self, paths: Iterable[str]) -> Iterator[str]:
        """The paths of the repository that must be left out of copies of it."""
        for path in paths:
            if is_configuration(path):
                self._found.add(path)
                yield path

    def remove_from(self, workspace: SessionWorkspace) -> None:
        """Remove agent configuration from a workspace, wherever it came from. Raises OSError."""
        found = sorted(filter(is_configuration, workspace.inside.snapshot()))
        workspace.remove_paths(found)
        for path in found:  # the warning names a folder once, not each file in it
            if not any(is_configuration(parent) for parent in _parents(path)):
                self._found.add(path)

    def refuse(self, cwd: Path, root: Path) -> None:
        """Raise OSError if agents would work in the checkout itself: from that nothing can be removed."""
        if Path(os.path.realpath(cwd)).is_relative_to(root):
            raise OSError(
                f"agents would work in the checkout of {self._repository} itself, and follow the agent configuration "
                "there; use a copy as the suite's workspace, or set allow-untrusted: with-configuration"
            )

    def warnings(self) -> tuple[Problem, ...]:
        """One warning that names what was removed or left out, if anything was. Complete after the last session."""
        if not self._found:
            return ()
        first = sorted(self._found)[:MAX_LISTED_CONFIGURATION_FILES]
        more = f" and {len(self._found) - len(first)} more" if len(self._found) > len(first) else ""
        message = f"agents did not see the agent configuration of {self._repository}: {', '.join(first)}{more}"
        return (Problem(message=message, remedy="if you test it, set allow-untrusted: with-configuration"),)
