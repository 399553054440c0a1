"""Paths in the inputs of the action: the runner's machine has other ones than the container."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PATH_INPUTS = (
    "suites",
    "exclude",
    "config",
    "results",
    "suites-from",
    "baseline",
    "store",
    "plan",
    "durations",
    "template-dir",
    "report-dir",
    "resume",
    "record",
    "reports",
    "junit-path",
    "results-path",
    "html-path",
    "working-directory",
)


def paths_in_workspace(inputs: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """``inputs`` in which paths of the runner's machine below the workspace are those of the container.

    GitHub's runner replaces the workspace only where a whole input begins with it, so not in the second line of one.
    """
    outside = runner_workspace(environment)
    if outside is None or Path(outside).is_dir():
        return dict(inputs)
    inside = str(Path.cwd())
    pattern = re.compile(rf"^(\s*(?:!|[\w-]+=)?){re.escape(outside)}(?=/|\s*$)", re.MULTILINE)
    return {
        name: pattern.sub(lambda found: found[1] + inside, value) if name in PATH_INPUTS else value
        for name, value in inputs.items()
    }


def runner_workspace(environment: Mapping[str, str]) -> str | None:
    """The workspace's path on the runner's machine; None if the runner does not name it."""
    folder, repository = environment.get("RUNNER_WORKSPACE"), environment.get("GITHUB_REPOSITORY", "")
    name = repository.rpartition("/")[2]
    return f"{folder.rstrip('/')}/{name}" if folder and name else None
