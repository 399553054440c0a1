"""The checkout: a folder whose content a commit chooses, opened once at the start.

Paths below it are walked from that descriptor, one component at a time (see ``checked_paths``). So what was checked is
what is read, even if another process replaces a file or folder in between.
"""

from __future__ import annotations

import os
import weakref
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError, did_you_mean
from skillgym_action.model.limits import MAX_CORRECTION_CANDIDATES
from skillgym_action.system.files.checked_paths import (
    GIT,
    PathRefusedError,
    Walk,
    is_link,
    open_checked_file,
    open_folder_reached,
    open_regular,
)
from skillgym_action.text.documents.user_files import PLAIN_PATH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Checkout:
    """A folder whose content a commit chooses."""

    def __init__(self, root: Path) -> None:
        """``root`` is absolute; it and the folders above it are trusted. Raises OSError."""
        self.root = root
        self._path = os.fspath(root).rstrip("/")
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.close = weakref.finalize(self, os.close, self._root)
        self._identity = _identity(os.fstat(self._root))

    def contains(self, path: str | Path) -> bool:
        """Whether a path is in the checkout, ``..`` resolved as text; links below the checkout are not resolved.

        An absolute path may name the checkout differently, such as ``/private/tmp/x`` for ``/tmp/x``.
        """
        return self._below(self._normalized(path)) is not None

    def under_root(self, path: str | Path) -> Path:
        """The path below ``root``, also if it names the checkout differently; one from elsewhere is normalized."""
        normalized = self._normalized(path)
        below = self._below(normalized)
        return Path(normalized) if below is None else self.root / below.lstrip("/")

    def opener(self, named: Path) -> Callable[[str | Path, int], int]:
        """An ``opener`` for ``open``, for the files that the suite or configuration ``named`` refers to.

        If ``named`` is in the checkout, its files must be, too. One from elsewhere was named by the user or the
        workflow, and may refer to any regular file.
        """
        return self._open_followed if self.contains(named) else open_regular

    def open_file(self, path: str | Path, *, follow: bool) -> int:
        """A descriptor for reading the regular file at ``path``, which is absolute or relative to the checkout.

        ``follow``: relative links that stay inside the checkout are followed. Raises PathRefusedError, OSError.
        """
        with self._walked(path, follow=follow) as walk:
            return open_checked_file(walk.name, walk.display_path(), walk.mode, walk.folder)

    def open_folder(self, path: str | Path, *, follow: bool = False) -> int:
        """A descriptor for listing the folder at ``path``. Raises PathRefusedError, OSError."""
        with self._walked(path, follow=follow) as walk:
            return open_folder_reached(walk)

    def make_folder(self, path: str | Path) -> int:
        """Like ``open_folder`` without links; missing folders are made."""
        with self._walked(path, follow=False, make=True) as walk:
            if walk.name:
                with suppress(FileExistsError):
                    os.mkdir(walk.name, dir_fd=walk.folder)
            return open_folder_reached(walk)

    def refusal(self, path: str | Path, *, follow: bool = False) -> str | None:
        """Why a path below the checkout is refused, with the component; None if it is accepted or does not exist.

        The path is only walked: nothing is read or written.
        """
        try:
            with self._walked(path, follow=follow):
                return None
        except PathRefusedError as error:
            return str(error)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return f"cannot be looked at: {error.strerror}"

    def accepts(self, path: Path) -> bool:
        """Whether a path that the user or the workflow named is outside, or in the checkout without any link."""
        return self._refusal_if_inside(path) is None

    def refuse(self, path: Path, named: str) -> None:
        """Raise UsageError if ``accepts`` is False for the path; ``named`` begins the message."""
        if refused := self._refusal_if_inside(path):
            raise UsageError(f"{named}: {refused}", remedy=PLAIN_PATH)

    def _refusal_if_inside(self, path: Path) -> str | None:
        normalized = self._normalized(path)
        return self.refusal(normalized) if self.contains(normalized) else None

    def template_refusal(self, path: Path) -> str | None:
        """Like ``refusal`` for a template folder: the checkout itself is refused, too, if it has a ``.git``."""
        if refused := self.refusal(path):
            return refused
        with suppress(OSError):
            found = os.stat(self._normalized(path))
            if _identity(found) == self._identity and os.path.lexists(self.root / GIT):
                return f"is the checkout itself, and its {GIT} would be copied"
        return None

    def _open_followed(self, path: str | Path, _flags: int) -> int:
        return self.open_file(path, follow=True)

    def _normalized(self, path: str | Path) -> str:
        return os.path.normpath(os.path.join(self._path or "/", path))

    def _below(self, path: str) -> str | None:
        """The part of an absolute path that is below the checkout; None for a path outside."""
        if path == self._path or path.startswith(f"{self._path}/"):
            return path[len(self._path) :]
        parent = path
        while True:
            with suppress(OSError, ValueError):
                if _identity(os.stat(parent)) == self._identity:
                    return path[len(parent) :]
            if (next_parent := os.path.dirname(parent)) == parent:
                return None
            parent = next_parent

    @contextmanager
    def _walked(self, path: str | Path, *, follow: bool, make: bool = False) -> Iterator[Walk]:
        """A walk that has reached the end of ``path``; its folders are closed afterwards."""
        text = os.fspath(path)
        below = self._below(text) if text.startswith("/") else text
        if below is None:
            raise PathRefusedError(f"{text} leads out of the checkout")
        walk = Walk(self._root, follow=follow, make=make)
        try:
            walk.to(below.split("/"))
            yield walk
        except ValueError as error:  # NUL, or what the file system cannot encode
            raise PathRefusedError(f"{text!r} is not a valid path") from error
        finally:
            walk.close()


@contextmanager
def folder_to_write_in(file: Path, checkout: Checkout | None) -> Iterator[int]:
    """A descriptor of the folder that ``file`` will be written in; it is made if it is missing.

    In ``checkout`` a link to the folder, or in place of the file, is refused: a commit may have put it there. Elsewhere
    links are followed. Raises PathRefusedError, OSError.
    """
    if checkout and checkout.contains(file):
        folder = checkout.make_folder(file.parent)
        refused = f"{file.name} is a symbolic link" if is_link(file.name, folder) else None
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        folder, refused = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), None
    try:
        if refused:
            raise PathRefusedError(refused)
        yield folder
    finally:
        os.close(folder)


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def working_directory(named: Path) -> Path:
    """The folder of the job's workspace, the current directory, that the action works in. Raises UsageError.

    A commit must not choose it: no link may lead to it, nor ``..`` out of the workspace. It is never made.
    """
    workspace = Checkout(Path.cwd())
    inside = not named.is_absolute() or workspace.contains(named)
    if inside and (refused := workspace.refusal(named)):
        raise UsageError(f"input working-directory: {refused}", remedy=PLAIN_PATH)
    folder = workspace.under_root(named) if inside else named
    if folder.is_dir():
        return folder
    if folder.exists():
        raise UsageError(f"input working-directory: {named} is not a folder", remedy="name the folder that it is in")
    if not inside:
        remedy = "name it relative to the workspace: other folders of the runner's machine are not in the container"
        raise UsageError(f"input working-directory: there is no folder {named}", remedy=remedy)
    raise UsageError(f"input working-directory: there is no folder {named}", remedy=_folders_like(folder, workspace))


def _folders_like(missing: Path, workspace: Checkout) -> str:
    """What to name in place of a folder of the workspace that is missing."""
    while not missing.parent.is_dir():
        missing = missing.parent
    folder = missing.parent
    with os.scandir(folder) as entries:
        names = [
            (folder / entry.name).relative_to(workspace.root).as_posix()
            for entry in islice(entries, MAX_CORRECTION_CANDIDATES)
            if entry.name[0] != "." and entry.is_dir(follow_symlinks=False)
        ]
    if not names:
        return "check the repository out before this step"
    return did_you_mean(missing.relative_to(workspace.root).as_posix(), names)


IGNORE_ALL = b"*\n"
