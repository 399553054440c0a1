"""Stage: what agents lack since the checkout lacks it, or since it cannot be used. All of it becomes warnings."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Problem
from skillgym_action.text.words import counted, listed
from skillgym_action.workspaces.repository.broken_skills import broken_skills
from skillgym_action.workspaces.repository.missing_files import missing_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from skillgym_action.model.suite import BenchmarkSuite, WorkspaceSpec
    from skillgym_action.services import Services
    from skillgym_action.workspaces.repository.repository import Repository


def checkout_warnings(services: Services, suites: Iterable[BenchmarkSuite]) -> tuple[Problem, ...]:
    """Warnings about what the workspaces of suites lack: files that were not fetched, skills that agents leave out."""
    all_specs = (case.workspace or suite.workspace for suite in suites for case in suite.cases)
    specs = {id(spec): spec for spec in all_specs}
    found: dict[Problem, None] = {}
    for repository in dict.fromkeys((services.repository, services.suites)):
        paths = {path for spec in specs.values() for path in _used(spec, services.repository.root)}
        inside = (path.relative_to(repository.root) for path in paths if path.is_relative_to(repository.root))
        folders = {"/".join(path.parts) for path in inside}
        with suppress(OSError):  # what git cannot list is an error of the session
            found |= dict.fromkeys(_missing(repository, folders))
            found |= dict.fromkeys(broken_skills(repository, folders))
    return tuple(found)


def _used(spec: WorkspaceSpec, root: Path) -> Iterator[Path]:
    """The files and folders that a workspace is made of."""
    if spec.template is not None:
        yield spec.template
    elif spec.source != "empty":
        yield root if spec.source == "repository" and spec.mode != "none" else spec.cwd or root
    yield from (file.source for file in spec.files if file.source is not None)
    yield from (skill.folder for skill in spec.skills)


def _missing(repository: Repository, folders: set[str]) -> Iterator[Problem]:
    missing = missing_files(repository, folders)
    if missing.submodules:
        yield Problem(
            message=f"not checked out, so that agents find empty folders: {_named('submodule', missing.submodules)}",
            remedy="git submodule update --init --recursive; in a workflow actions/checkout with submodules: recursive",
        )
    if missing.pointers:
        yield Problem(
            message=f"agents find pointers of Git LFS instead of {_named('file', missing.pointers)}",
            remedy="git lfs pull; in a workflow actions/checkout with lfs: true",
        )
    if missing.sparse:
        yield Problem(
            message=f"the sparse checkout leaves out {_named('file', missing.sparse)}, which agents lack",
            remedy="git sparse-checkout disable; in a workflow actions/checkout without sparse-checkout",
        )


def _named(noun: str, paths: tuple[str, ...]) -> str:
    return f"{counted(len(paths), noun)} ({listed(paths)})"
