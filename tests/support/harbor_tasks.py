"""Harbor tasks in a scratch repository."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scratch import repository, world_in
from skillgym_action.pipeline.stages.discover import discover
from skillgym_action.pipeline.stages.load import load
from skillgym_action.settings.suite_options import DiscoverOptions, LoadOptions

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.suite import BenchmarkSuite

TOML = 'schema_version = "1.4"\n\n[agent]\ntimeout_sec = 60.0\n\n[verifier]\ntimeout_sec = 30.0\n\n[environment]\n'
TASK: dict[str, str | bytes | None] = {
    "task.toml": TOML,
    "instruction.md": "Write it.\n",
    "environment/Dockerfile": "FROM python:3.12-slim\nWORKDIR /app\n",
    "tests/test.sh": "#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n",
}


def task(name: str = "tasks/one", **changed: str | bytes | None) -> dict[str, str | bytes | None]:
    """The files of a task; ``changed`` by the stem of their names, with ``_`` for ``/``; None leaves one out."""
    stems = {"task": "task.toml", "instruction": "instruction.md", "docker": "environment/Dockerfile"}
    stems |= {"test": "tests/test.sh", "solve": "solution/solve.sh"}
    return {f"{name}/{path}": text for path, text in (TASK | {stems[key]: new for key, new in changed.items()}).items()}


def tasks(folder: Path, files: dict[str, str | bytes | None] | None = None, *, git: bool = False) -> Path:
    """A repository with one task, ``tasks/one``, or those of ``files``."""
    own: dict[str, Any] = {"bench/core.json": None, **(task() if files is None else files)}
    return repository(folder, own, git=git)


def loaded(root: Path, *paths: str, **options: Any) -> BenchmarkSuite:
    """The only suite, as it is loaded; ``paths`` are arguments of the command line."""
    with world_in(root) as services:
        found = discover(services.repository, root, DiscoverOptions(paths=paths)).suites
        (suite,) = load(found, services.hosts, LoadOptions(**options), services.suites.checkout)
    return suite


def problems(root: Path) -> list[str]:
    """What is wrong with tasks, as users read it."""
    return [str(one.problem) for one in loaded(root).invalid]
