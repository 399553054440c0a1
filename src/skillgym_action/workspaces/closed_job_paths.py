"""Paths of a job on GitHub that are closed to agents: what the runner keeps for this step and for others.

The job's variables name them. So they are found wherever the step runs: on the runner's machine, in the container of
the job, and in that of the action.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.agents.installation import FOLDER_VARIABLE
from skillgym_action.system.processes.started_programs import PACKAGE_PARENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# Files of the step: the payload of the event, and the files in which the step leaves commands for the runner.
OF_STEP = (
    "GITHUB_EVENT_PATH",
    *("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"),
)
TEMPORARY = "RUNNER_TEMP"  # where steps keep files for each other: actions/checkout keeps the job's token there
OPEN_TO_OTHERS = 0o066  # bits of a mode


def job_paths(environment: Mapping[str, str], checkouts: Iterable[Path]) -> Iterator[Path]:
    """The folders of the step's files, the runner's temporary folder, and the home that the runner made for the job.

    If a folder has something that sessions need, such as the Python of this tool or one of ``checkouts``, the rest of
    the folder is yielded in its place. Raises OSError.
    """
    needed = _needed(environment, checkouts)
    for name in OF_STEP:
        if file := environment.get(name):
            folder = Path(os.path.realpath(file)).parent
            yield Path(file) if _has_any(folder, needed) else folder
    for place in filter(None, (environment.get(TEMPORARY), _made_home(environment))):
        folder = Path(os.path.realpath(place))
        if _has_any(folder, needed):
            yield from (path for path in _open_entries(folder) if not _has_any(path, needed))
        else:
            yield folder


def _made_home(environment: Mapping[str, str]) -> str | None:
    """HOME, if the runner made it for a container: then it is beside the folder of the payload."""
    home, payload = environment.get("HOME"), environment.get(OF_STEP[0])
    return home if home and payload and Path(home).parent == Path(payload).parent.parent else None


def _needed(environment: Mapping[str, str], checkouts: Iterable[Path]) -> frozenset[Path]:
    """What sessions and suite hosts open, with all links followed."""
    places = (
        *checkouts,
        *(tempfile.gettempdir(), sys.prefix, sys.base_prefix, os.path.join(PACKAGE_PARENT, "skillgym_action")),
        *(environment.get("SKILLGYM_NODE"), environment.get(FOLDER_VARIABLE)),
        *environment.get("PATH", "").split(os.pathsep),
    )
    return frozenset(Path(os.path.realpath(place)) for place in places if place and os.path.isabs(place))


def _has_any(folder: Path, needed: frozenset[Path]) -> bool:
    return any(path.is_relative_to(folder) for path in needed)


def _open_entries(folder: Path) -> Iterator[Path]:
    """What others can read or write of a folder, without links, whose targets are elsewhere.

    What belongs to neither root nor the folder's owner is left out: its owner could put a link in its place.
    """
    if not folder.is_dir():
        return
    owners = {os.geteuid(), folder.stat().st_uid}
    for path in sorted(folder.iterdir()):
        with suppress(FileNotFoundError):  # removed meanwhile
            found = path.lstat()
            if not stat.S_ISLNK(found.st_mode) and found.st_mode & OPEN_TO_OTHERS and found.st_uid in owners:
                yield path
