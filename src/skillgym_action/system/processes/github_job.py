"""Whether the tool runs in a job on GitHub, by the variables of its process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def is_github_job(environment: Mapping[str, str]) -> bool:
    """Whether a process with this environment is in a job on GitHub."""
    return environment.get("GITHUB_ACTIONS", "").lower() == "true"
