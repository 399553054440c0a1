"""Addresses on GitHub that reports link to: source lines, commits, the workflow run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from skillgym_action.model.errors import Location


def is_in_repository(location: Location) -> bool:
    """Whether the path is relative to the repository root, without ``..``."""
    return not {"", ".", ".."} & set(location.path.split("/"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Links:
    """``repository`` is an address such as ``https://github.com/octo/skills``, ``run`` that of the workflow run.

    ``commit``: the commit that line addresses refer to.
    """

    repository: str
    commit: str | None = None
    run: str | None = None

    def line_address(self, location: Location) -> str | None:
        """The address of a file, or of a line of it, in the commit; None for a path outside of the repository."""
        if self.commit is None or not is_in_repository(location):
            return None
        line = f"#L{location.line}" if location.line else ""
        path = quote(location.path, errors="replace")
        return f"{self.repository}/blob/{quote(self.commit, safe='', errors='replace')}/{path}{line}"

    def commit_address(self, commit: str) -> str:
        """The address of a commit."""
        return f"{self.repository}/commit/{quote(commit, safe='', errors='replace')}"
