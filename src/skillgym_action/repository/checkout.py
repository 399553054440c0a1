"""The checkout, known by a descriptor that is opened at the start: paths that a commit can choose are walked by it.

A commit can put a symbolic link at any name. Hence a path below the checkout is never given to the system as a whole:
each component is opened relative to the folder before it, without following links, and ``..`` goes back to a folder
that is still open. What was checked is what is read, whatever somebody puts in its place meanwhile.
"""

from __future__ import annotations

import os
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.documents.user_files import PLAIN_PATH
from skillgym_action.model.errors import UsageError
from skillgym_action.repository.walk import GIT, PathRefusedError, Way, is_link, open_regular, opened, regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Checkout:
    """A folder whose content a commit can choose."""

    def __init__(self, root: Path) -> None:
        """``root`` is absolute and trusted, as are the folders above it. Raises OSError."""
        self.root = root
        self._path = os.fspath(root).rstrip("/")
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.close = weakref.finalize(self, os.close, self._root)
        self._identity = _identity(os.fstat(self._root))

    def contains(self, path: str | Path) -> bool:
        """Whether a path is below the checkout, ``..`` taken out as text. Nothing below the checkout is resolved.

        An absolute path may call the checkout by another name, as ``/tmp/x`` and ``/private/tmp/x`` do.
        """
        return self._below(self._plain(path)) is not None

    def by_its_own_name(self, path: str | Path) -> Path:
        """The same path below ``root``, where it calls the checkout by another name; else ``path``, plain."""
        plain = self._plain(path)
        below = self._below(plain)
        return Path(plain) if below is None else self.root / below.lstrip("/")

    def opener(self, named: Path) -> Callable[[str | Path, int], int]:
        """What opens the files of a suite or configuration: one below the checkout may only have files from there.

        One from elsewhere was named by the user or the workflow, and may have any. To be given to ``open``.
        """
        return self._open_followed if self.contains(named) else open_regular

    def open_file(self, path: str | Path, *, follow: bool) -> int:
        """A descriptor of the regular file at ``path``, to be read. Absolute, or relative to the checkout.

        ``follow``: relative links that stay inside the checkout are followed. Raises PathRefusedError, OSError.
        """
        with self._walked(path, follow=follow) as way:
            return regular(way.name, way.shown(), way.mode, way.folder)

    def open_folder(self, path: str | Path, *, follow: bool = False) -> int:
        """A descriptor of the folder at ``path``, to be listed. Raises PathRefusedError, OSError."""
        with self._walked(path, follow=follow) as way:
            return opened(way)

    def make_folder(self, path: str | Path) -> int:
        """As ``open_folder`` without links, but folders that are missing are made."""
        with self._walked(path, follow=False, make=True) as way:
            if way.name:
                with suppress(FileExistsError):
                    os.mkdir(way.name, dir_fd=way.folder)
            return opened(way)

    def refusal(self, path: str | Path, *, follow: bool = False) -> str | None:
        """Why a path below the checkout is refused, naming the component; None for one that is not, or is not there.

        Nothing is read or written.
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

    def takes(self, path: Path) -> bool:
        """Whether a path that the user or the workflow named is elsewhere, or in the checkout without any link."""
        return self._refused(path) is None

    def refuse(self, path: Path, named: str) -> None:
        """Raise UsageError for one that is not; ``named`` is how the message calls it."""
        if refused := self._refused(path):
            raise UsageError(f"{named}: {refused}", remedy=PLAIN_PATH)

    def _refused(self, path: Path) -> str | None:
        plain = self._plain(path)
        return self.refusal(plain) if self.contains(plain) else None

    def template_refusal(self, path: Path) -> str | None:
        """The same for a folder that workspaces are copies of: not the checkout itself either, for its ``.git``."""
        if refused := self.refusal(path):
            return refused
        with suppress(OSError):
            found = os.stat(self._plain(path))
            if _identity(found) == self._identity and os.path.lexists(self.root / GIT):
                return f"is the checkout itself, and its {GIT} would be copied"
        return None

    def _open_followed(self, path: str | Path, _flags: int) -> int:
        return self.open_file(path, follow=True)

    def _plain(self, path: str | Path) -> str:
        return os.path.normpath(os.path.join(self._path or "/", path))

    def _below(self, path: str) -> str | None:
        """An absolute path from the checkout on; None for one that is elsewhere."""
        if path == self._path or path.startswith(f"{self._path}/"):
            return path[len(self._path) :]
        above = path
        while True:
            with suppress(OSError, ValueError):
                if _identity(os.stat(above)) == self._identity:
                    return path[len(above) :]
            if (next_one := os.path.dirname(above)) == above:
                return None
            above = next_one

    @contextmanager
    def _walked(self, path: str | Path, *, follow: bool, make: bool = False) -> Iterator[Way]:
        """The walk to the end of ``path``."""
        text = os.fspath(path)
        below = self._below(text) if text.startswith("/") else text
        if below is None:
            raise PathRefusedError(f"{text} leads out of the checkout")
        way = Way(self._root, follow=follow, make=make)
        try:
            way.end(below.split("/"))
            yield way
        except ValueError as error:  # NUL, or what the file system cannot encode
            raise PathRefusedError(f"{text!r} is no path that a file can have") from error
        finally:
            way.close()


@contextmanager
def folder_to_write_in(file: Path, checkout: Checkout | None) -> Iterator[int]:
    """A descriptor of the folder of a file that is to be written there, made where it is missing.

    In ``checkout`` no link leads to the folder, and the file is none; elsewhere links are followed, as users put them.
    Raises PathRefusedError, OSError.
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
    """The folder in the workspace, which is the current one, that the action is to work in. Raises UsageError.

    A commit must not choose it: no link may lead to it, nor ``..`` out of the workspace.
    """
    workspace = Checkout(Path.cwd())
    if named.is_absolute() and not workspace.contains(named):
        return named
    if refused := workspace.refusal(named):
        raise UsageError(f"input working-directory: {refused}", remedy=PLAIN_PATH)
    return workspace.root / named
