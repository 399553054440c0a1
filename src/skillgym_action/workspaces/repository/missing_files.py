"""What git tracks and the checkout lacks: submodules that were not fetched, pointers of Git LFS, sparse checkouts."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.model.records import record
from skillgym_action.system.files.checked_paths import GIT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from skillgym_action.workspaces.repository.repository import Repository, TrackedPath

_ATTRIBUTES = ".gitattributes"
_ATTRIBUTES_BYTES = 64 * 1024  # that are searched
_LFS = b"lfs"
_POINTER_BYTES = 1024  # at most, by the specification of Git LFS
_POINTER = b"version https://git-lfs.github.com/spec/"


@record
class MissingFiles:
    """Paths relative to the root: of submodules without files, of pointers, and of files that are not checked out."""

    submodules: tuple[str, ...] = ()
    pointers: tuple[str, ...] = ()
    sparse: tuple[str, ...] = ()


def missing_files(repository: Repository, folders: Collection[str]) -> MissingFiles:
    """What is missing below some folders, or at these paths, relative to the root; "": everywhere. Raises OSError."""
    if not repository.has_git or not folders:
        return MissingFiles()
    tracked = list(repository.tracked_paths())
    wanted = [one for one in tracked if is_at_or_below(one.path, folders)]
    pointers: tuple[str, ...] = ()
    if any(_names_lfs(repository, one.path) for one in tracked):
        named = repository.paths_with_attribute("filter=lfs")
        pointers = tuple(path for path in named if is_at_or_below(path, folders) and _is_pointer(repository, path))
    return MissingFiles(
        submodules=tuple(_without_files(repository, wanted)),
        pointers=pointers,
        sparse=tuple(one.path for one in wanted if not one.checked_out),
    )


def is_at_or_below(path: str, folders: Collection[str]) -> bool:
    """Whether a path is one of some paths, or below one of them; "" is above all."""
    return any(not folder or path == folder or path.startswith(f"{folder}/") for folder in folders)


def _without_files(repository: Repository, tracked: list[TrackedPath]) -> Iterator[str]:
    """The submodules among tracked paths that are empty, and those in the others."""
    for one in tracked:
        if not one.is_submodule or not one.checked_out:
            continue
        names = _names_in(repository, one.path)
        if not names - {GIT}:
            yield one.path
        elif GIT in names:  # else git would list the repository around it
            with suppress(OSError):
                yield from _without_files(repository, list(repository.tracked_paths(one.path)))


def _names_in(repository: Repository, path: str) -> frozenset[str]:
    try:
        folder = repository.checkout.open_folder(path)
    except OSError:
        return frozenset()
    try:
        return frozenset(os.listdir(folder))
    finally:
        os.close(folder)


def _names_lfs(repository: Repository, path: str) -> bool:
    return path.rpartition("/")[2] == _ATTRIBUTES and _LFS in _beginning(repository, path, _ATTRIBUTES_BYTES)


def _is_pointer(repository: Repository, path: str) -> bool:
    content = _beginning(repository, path, _POINTER_BYTES + 1)
    return len(content) <= _POINTER_BYTES and content.startswith(_POINTER)


def _beginning(repository: Repository, path: str, size: int) -> bytes:
    """The first bytes of a file; none if it cannot be read."""
    try:
        with open(repository.checkout.open_file(path, follow=False), "rb", buffering=0) as file:
            return file.read(size)
    except OSError:
        return b""
