"""Makes and removes the folders of sessions, below one temporary folder that goes with the run."""

from __future__ import annotations

import os
import stat
import tempfile
import threading
from collections import deque
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Self

from skillgym_action.filesystem.descriptor_walk import FOLDER_FLAGS, with_path
from skillgym_action.model.errors import OutputError
from skillgym_action.processes.disk_usage import DiskReserve
from skillgym_action.repository.walk import PathRefusedError
from skillgym_action.workspaces.session_folder import HOME, SCRATCH, WORKSPACE, SessionFolder
from skillgym_action.workspaces.template import Template
from skillgym_action.workspaces.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from skillgym_action.model.session import Identity
    from skillgym_action.model.suite import WorkspaceSpec
    from skillgym_action.processes.launcher import ProcessLauncher
    from skillgym_action.repository.repository import Repository

APART = "/var/lib"


class Workspaces:
    """A context manager; the temporary folder is removed by the supervisor, which outlives the tool."""

    def __init__(self, repository: Repository, processes: ProcessLauncher) -> None:
        """``repository`` is what suites without a template work in a copy of; ``processes`` say who works there.

        Raises OutputError.
        """
        self.repository, self._processes, self._user = repository, processes, processes.user
        self.cancelled = processes.cancelled
        self._hidden: list[str] = []
        self.root = _temporary_folder(apart=self._user is not None)
        self._fd = os.open(self.root, FOLDER_FLAGS)
        parent = os.open(self.root.parent, FOLDER_FLAGS)
        processes.supervisor.remove_at_exit(self._fd, parent, self.root.name)
        os.close(parent)
        processes.reserve = self._reserve = DiskReserve(self.root)
        self._numbers = count(1)
        self._unused: deque[SessionFolder] = deque()
        self._trash = self.root / "trash"
        self._sharing = threading.Lock()
        self._copying = threading.Lock()
        self._templates: dict[Path | tuple[str, Path | None], Template] = {}
        self._shared: dict[str, Workspace] = {}
        self._readers: dict[Path, object] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def hide(self, paths: Iterable[str]) -> None:
        """Leave paths of the repository out of its copies: an agent must not read its own checks."""
        self._hidden += paths

    def fresh(self, spec: WorkspaceSpec) -> Workspace:
        """A directory for one session, as the suite wants it, before bootstrap. Raises OSError."""
        if spec.mode == "none":
            return self._elsewhere(spec.cwd or self.repository.root, self._user.in_place if self._user else None)
        template = self._template_of(spec)
        folder = self._folder()
        try:
            folder.make(WORKSPACE)
            workspace = Workspace(folder, folder.path / WORKSPACE, template, user=self._user)
            workspace.inside.fill(template, self.cancelled)
        # Also a cancellation: half a workspace is given to no session, hence removed by none.
        except BaseException:
            self._retire(folder)
            raise
        return workspace

    def _elsewhere(self, path: Path, identity: Identity | None, *, own: bool = False) -> Workspace:
        """A session that takes place in a directory that is not its own; ``own``: but other sessions' own.

        In the checkout no link leads there: what links led to was found when suites were loaded.
        """
        folder = self._folder(identity) if identity else self._folder()
        try:
            folder.adopt(WORKSPACE, self._opened(path), path, own=own)
        except OSError:
            self._retire(folder)
            raise
        inside = [os.path.relpath(hidden, path) for hidden in self._not_of_sessions]
        without = [name for name in inside if not name.startswith("..")]
        return Workspace(folder, path, None, user=self._user, without=without)

    def _opened(self, path: Path) -> int:
        checkout = self.repository.checkout
        try:
            if checkout.contains(path):
                return checkout.open_folder(path)
            return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except PathRefusedError:
            raise
        except OSError as error:
            raise with_path(error, os.fspath(path)) from None

    @property
    def _not_of_sessions(self) -> Iterable[Path]:
        """What changes while sessions run, and not by them."""
        return (self.root, *(self.repository.root / path for path in self._hidden))

    def shared(self, name: str, spec: WorkspaceSpec, prepare: Callable[[Workspace], None]) -> Workspace:
        """The one directory of that name, made and prepared by whoever comes first; homes are each session's own."""
        with self._sharing:
            if name not in self._shared:
                first = self.fresh(spec)
                prepare(first)
                self._shared[name] = first
        first = self._shared[name]
        return self._elsewhere(first.path, first.identity, own=first.is_own)

    def is_shared(self, name: str) -> bool:
        """Whether a directory of that name was made ready."""
        return name in self._shared

    def is_new_reader(self, path: Path) -> bool:
        """Whether it was not yet asked about a directory that agents cannot change."""
        mine = object()
        return self._readers.setdefault(path, mine) is mine

    def discard(self, workspace: Workspace) -> None:
        """Remove a session's folders; what was never used stands ready for another session.

        Small workspaces go with the run: a file system that has just freed inodes is slow to give new ones. With a
        user of its own the session's files are removed by that user, whose id is used again only with an untouched
        home, and when the user has left nothing elsewhere.
        """
        folder = workspace.folder
        if not workspace.is_own:
            folder.forget(WORKSPACE)
        elif folder.identity is None and workspace.is_small:
            with suppress(OSError):
                folder.move(WORKSPACE, f"{self._trash}/{next(self._numbers)}")
        untouched = not folder.is_shared and folder.is_untouched(HOME, SCRATCH)
        clean = folder.discard(*(name for name in folder.names if not untouched or name not in {HOME, SCRATCH}))
        if untouched and clean and folder.is_untouched(HOME, SCRATCH):  # again: now nothing of the user's runs
            self._reserve.remove([folder.path])
            self._unused.append(folder)
        else:
            self._retire(folder, clean=clean)

    def _retire(self, folder: SessionFolder, *, clean: bool = True) -> None:
        """A folder that cannot be emptied stays where no session is, and goes with the run as far as it can."""
        self._reserve.remove([folder.path])
        if not (folder.discard(*folder.names) and clean):
            with suppress(OSError):
                os.rename(folder.path, f"{self._trash}/{next(self._numbers)}")
        folder.close()

    def empty_trash(self) -> None:
        """After the last session: another process removes what was discarded, while we report."""
        trash = os.open(self._trash, FOLDER_FLAGS)
        self._processes.supervisor.empty_folder(trash)
        os.close(trash)

    def records(self) -> Path:
        """A new folder of ours for what is taken out of sessions; it does not exist yet."""
        return self.root / "records" / str(next(self._numbers))

    def _folder(self, identity: Identity | None = None) -> SessionFolder:
        """An unused one, or a new one. ``identity``: of a user that has sessions elsewhere, too."""
        folder = self._taken(identity)
        self._reserve.add([folder.path])
        return folder

    def _taken(self, identity: Identity | None) -> SessionFolder:
        if identity is None:
            with suppress(IndexError):
                return self._unused.pop()
        own = identity or (self._user.session_identity() if self._user else None)
        folder = SessionFolder(self.root / os.urandom(8).hex(), self._processes.supervisor, self._user, own)
        folder.is_shared = identity is not None
        folder.make(HOME)
        folder.make(SCRATCH)
        return folder

    def _template_of(self, spec: WorkspaceSpec) -> Template:
        key = spec.template or (spec.source, spec.cwd)
        with self._copying:
            if key not in self._templates:
                self._templates[key] = self._template(self._copied(spec))
            return self._templates[key]

    def _copied(self, spec: WorkspaceSpec) -> Path | None:
        """The folder that workspaces are copies of; None where they start empty."""
        if spec.source not in {"repository", "directory"}:
            return spec.template
        root = self.root / "templates" / str(next(self._numbers))
        root.parent.mkdir(mode=0o700, exist_ok=True)
        if spec.source == "repository":
            self.repository.copy_to(root, self._hidden)
        else:
            place = spec.cwd or self.repository.root
            folder = self._opened(place)
            try:
                self.repository.copy_folder(folder, place, root, self._not_of_sessions)
            finally:
                os.close(folder)
        return root

    def _template(self, root: Path | None) -> Template:
        """Sessions before this one may have had rights to the folders that lead there. Raises OSError."""
        checkout = self.repository.checkout
        if root is None or not checkout.contains(root):
            return Template(root)
        return Template(root, checkout.open_folder(root))


def _temporary_folder(*, apart: bool) -> Path:
    """Where sessions take place; no link leads there. Raises OutputError.

    ``apart``: only root may write to the folders above it, in which agents look for instructions.
    """
    try:
        here = Path(tempfile.gettempdir()).resolve()
        place = APART if apart and not _is_roots(here) else here
        folder = Path(tempfile.mkdtemp(prefix="skillgym-", dir=place)).resolve()
        for name in ("trash", "records"):
            (folder / name).mkdir(mode=0o700)
        if apart:
            folder.chmod(0o711)  # one's own folder can be reached, and no other one found
    except OSError as error:
        what = f"no workspaces can be made: {error}"
        raise OutputError(what, remedy="free space there, or name another temporary folder in TMPDIR") from error
    return folder


def _is_roots(folder: Path) -> bool:
    """Whether root alone writes to a folder, and nobody else can put another one in its place. Raises OSError."""
    for number, place in enumerate((folder, *folder.parents)):
        found = os.stat(place)
        open_to_others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if found.st_uid or (open_to_others and (not number or not found.st_mode & stat.S_ISVTX)):
            return False
    return True
