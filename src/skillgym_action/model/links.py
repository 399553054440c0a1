"""Where a run can be seen on GitHub: the addresses that reports link to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from skillgym_action.model.errors import Location


def is_in_repository(location: Location) -> bool:
    """Whether the path leads to a file of the repository."""
    return not {"", ".", ".."} & set(location.path.split("/"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Links:
    """``repository`` is an address such as ``https://github.com/octo/skills``, ``run`` that of the workflow run."""

    repository: str
    commit: str | None = None
    run: str | None = None

    def of(self, location: Location) -> str | None:
        """The address of a line as it is in the commit; None for what is not in the repository."""
        if self.commit is None or not is_in_repository(location):
            return None
        line = f"#L{location.line}" if location.line else ""
        path = quote(location.path, errors="replace")
        return f"{self.repository}/blob/{quote(self.commit, safe='', errors='replace')}/{path}{line}"

    def of_commit(self, commit: str) -> str:
        """The address of a commit."""
        return f"{self.repository}/commit/{quote(commit, safe='', errors='replace')}"
