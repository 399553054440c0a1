"""Agent configuration that a stranger committed. Agents would follow it, hence their workspaces are without it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.model.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.workspaces.workspace import Workspace

NAMES = tuple(sorted({name for listing in AGENTS.values() for name in listing.configuration}))
_NAMED = 5  # files that a warning names


def is_configuration(path: str) -> bool:
    """Whether some agent looks there for how to work, or in a folder above; ``path`` is relative, with ``/``."""
    return any(f"/{name}/" in f"/{path}/" for name in NAMES)


def _above(path: str) -> Iterator[str]:
    """The folders that ``path`` is in."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


class StrangersConfiguration:
    """Takes it out, and remembers what that was. May be used by several threads."""

    def __init__(self, whose: str) -> None:
        """``whose``: the repository that the commit is of."""
        self._whose = whose
        self._found: set[str] = set()

    def among(self, paths: Iterable[str]) -> Iterator[str]:
        """Those of the repository's paths that copies of it have to be without."""
        for path in paths:
            if is_configuration(path):
                self._found.add(path)
                yield path

    def take_out(self, workspace: Workspace) -> None:
        """Remove what is in a workspace, wherever it came from. Raises OSError."""
        found = sorted(filter(is_configuration, workspace.inside.snapshot()))
        workspace.inside.remove(found)
        for path in found:  # of a folder only its own name
            if not any(is_configuration(above) for above in _above(path)):
                self._found.add(path)

    def refuse(self, cwd: Path, root: Path) -> None:
        """Raises OSError where agents would work in the checkout itself: nothing can be taken out of that."""
        if Path(os.path.realpath(cwd)).is_relative_to(root):
            raise OSError(
                f"agents would work in the checkout of {self._whose} itself, and follow the agent configuration there; "
                "let the suite use a copy, or set allow-untrusted: with-configuration"
            )

    def warnings(self) -> tuple[Problem, ...]:
        """What people should know, once everything has been executed."""
        if not self._found:
            return ()
        first = sorted(self._found)[:_NAMED]
        more = f" and {len(self._found) - _NAMED} more" if len(self._found) > _NAMED else ""
        message = f"agents did not see the agent configuration of {self._whose}: {', '.join(first)}{more}"
        return (Problem(message=message, remedy="if it is what is tested, set allow-untrusted: with-configuration"),)
