"""Creates and removes the folders of sessions, in one temporary folder of the run; and fetches repositories once."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import threading
from collections import deque
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Self

from skillgym_action.model.errors import OutputError, path_remedy
from skillgym_action.system.files.checked_paths import PathRefusedError
from skillgym_action.system.files.open_below import FOLDER_FLAGS, with_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from skillgym_action.model.session import Identity
    from skillgym_action.model.suite import WorkspaceSpec
    from skillgym_action.system.processes.launcher import ProcessLauncher
    from skillgym_action.system.processes.work_slots import WorkSlots
    from skillgym_action.workspaces.input_digests import InputDigests
    from skillgym_action.workspaces.repository.repository import Repository
    from skillgym_action.workspaces.session_folder import SessionFolder
    from skillgym_action.workspaces.skill_installation import InstalledSkills
    from skillgym_action.workspaces.template import Template
    from skillgym_action.workspaces.workspace import SessionWorkspace

LOOK_SECONDS = 120.0  # for the tool to find out and store what a session changed in its workspace; and for its archive
MAX_RETIRED_WORKSPACES = 10_000  # small ones that stay
ROOTS_FOLDER = "/var/lib"


class Workspaces:
    """A context manager. The temporary folder is removed by the supervisor, also if the tool is killed."""

    def __init__(self, repository: Repository, processes: ProcessLauncher) -> None:
        """``repository`` is copied for suites without a template; ``processes`` know the user that agents run as.

        Raises OutputError.
        """
        from skillgym_action.system.processes.disk_usage import DiskReserve

        self.repository, self._processes, self._user = repository, processes, processes.user
        self.cancelled = processes.cancelled
        self.look_seconds = LOOK_SECONDS
        self._hidden: list[str] = []
        self.root = _temporary_folder(other_users=self._user is not None)
        self._fd = os.open(self.root, FOLDER_FLAGS)
        parent = os.open(self.root.parent, FOLDER_FLAGS)
        processes.supervisor.remove_at_exit(self._fd, parent, self.root.name)
        os.close(parent)
        processes.reserve = self._reserve = DiskReserve(self.root)
        self._numbers = count(1)
        self._unused: deque[SessionFolder] = deque()
        self._retired = self.root / "retired"
        self._sharing = threading.Lock()
        self._copying = threading.Lock()
        self._templates: dict[object, Template] = {}
        self._installed: dict[object, InstalledSkills] = {}
        self._others: dict[Path, Repository] = {}
        self._shared: dict[str, SessionWorkspace] = {}
        self._read_only: dict[Path, object] = {}
        self.fetched = FetchedRepositories(self.root / "repositories")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    @property
    def work_slots(self) -> WorkSlots:
        """What sessions occupy while the tool works for them."""
        return self._processes.work_slots

    def hide(self, paths: Iterable[str]) -> None:
        """Leave paths of the repository out of its copies: an agent must not read the checks that judge it."""
        self._hidden += paths

    @property
    def hidden(self) -> tuple[str, ...]:
        """The paths that are hidden so far."""
        return tuple(self._hidden)

    def input_digests(self, root: Path | None = None) -> InputDigests:
        """Digests of what sessions start from, without what is hidden so far. ``root``: see ``repository_in``."""
        from skillgym_action.workspaces.input_digests import InputDigests

        return InputDigests(self.repository_in(root), self._hidden)

    def repository_in(self, root: Path | None) -> Repository:
        """The repository that stands for the checkout in ``root``, such as one with another commit; None: itself."""
        if root is None:
            return self.repository
        from skillgym_action.workspaces.repository.repository import Repository

        return self._others.get(root) or self._others.setdefault(root, Repository(root, self._processes))

    def create(
        self, spec: WorkspaceSpec, skills_folders: tuple[str, ...] = (), *, plugins: bool = False
    ) -> SessionWorkspace:
        """A new workspace for one session according to ``spec``, before its bootstrap. Raises OSError.

        ``skills_folders``: where the session's agent looks for skills; those of ``spec`` are installed there.
        ``plugins``: whether it loads plugins; else it gets the skills in them.
        """
        from skillgym_action.workspaces.skill_installation import packaged_for

        spec = replace(spec, skills=packaged_for(spec.skills, plugins=plugins))
        if spec.skills and spec.mode != "isolated":
            raise OSError("skills can only be installed into a workspace that is made for one session")
        if spec.mode == "none":
            return self._in_directory(spec.cwd or self.repository.root, self._user.in_place if self._user else None)
        from skillgym_action.workspaces.session_folder import WORKSPACE

        template, installed = self._template_of(spec, skills_folders if spec.skills else ())
        folder = self._folder()
        try:
            folder.make(WORKSPACE)
            path = folder.path / WORKSPACE
            workspace = self._new_workspace(spec, folder, path, template, installed)
            workspace.inside.fill(template, self.cancelled)
        # Also on cancellation: no session will use, or remove, half a workspace.
        except BaseException:
            self._retire(folder)
            raise
        return workspace

    def _new_workspace(
        self, spec: WorkspaceSpec, folder: SessionFolder, path: Path, template: Template, installed: InstalledSkills
    ) -> SessionWorkspace:
        if spec.container is None:
            from skillgym_action.workspaces.workspace import SessionWorkspace

            return SessionWorkspace(folder, path, template, user=self._user, installed=installed)
        from skillgym_action.workspaces.container_workspace import ContainerWorkspace  # few runs need it

        records = self.new_records_folder()
        return ContainerWorkspace(folder, path, template, user=self._user, installed=installed, records=records)

    def _in_directory(self, path: Path, identity: Identity | None, *, own: bool = False) -> SessionWorkspace:
        """A workspace in an existing directory. ``own``: it was made for sessions, which share it.

        In the checkout, no component of ``path`` may be a link: links were resolved when suites were loaded.
        """
        from skillgym_action.workspaces.session_folder import WORKSPACE
        from skillgym_action.workspaces.workspace import SessionWorkspace

        folder = self._folder(identity) if identity else self._folder()
        try:
            folder.adopt(WORKSPACE, self._open(path), path, own=own)
        except OSError:
            self._retire(folder)
            raise
        relative = [os.path.relpath(changing, path) for changing in self._changed_by_others]
        without = [name for name in relative if not name.startswith("..")]
        return SessionWorkspace(folder, path, None, user=self._user, without=without)

    def _open(self, path: Path) -> int:
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
    def _changed_by_others(self) -> Iterable[Path]:
        """Paths that change while sessions run, but not by the session that is looked at."""
        return (self.root, *(self.repository.root / path for path in self._hidden))

    def shared(self, name: str, spec: WorkspaceSpec, prepare: Callable[[SessionWorkspace], None]) -> SessionWorkspace:
        """A workspace in the directory of that name, with a home of its own.

        The first session to ask creates the directory and calls ``prepare`` for it. Raises OSError.
        """
        with self._processes.work_slots.released():
            self._sharing.acquire()
        try:
            if name not in self._shared:
                first = self.create(spec)
                with first.bootstrapping() if spec.judge_after_hooks else nullcontext():
                    prepare(first)
                self._shared[name] = first
        finally:
            self._sharing.release()
        first = self._shared[name]
        workspace = self._in_directory(first.path, first.identity, own=first.is_own)
        workspace.baseline = first if spec.judge_after_hooks and first.is_own else None
        return workspace

    def has_shared(self, name: str) -> bool:
        """Whether ``shared`` has prepared a directory of that name."""
        return name in self._shared

    def is_first_read_only_use(self, path: Path) -> bool:
        """Whether this is the first call for a directory that agents cannot change. Thread-safe."""
        mine = object()
        return self._read_only.setdefault(path, mine) is mine

    def discard(self, workspace: SessionWorkspace) -> None:
        """Remove a session's folders; an untouched home and scratch folder are kept for another session.

        Small workspaces are only moved away and removed after the run: a file system that has just freed inodes takes
        twice as long to create new ones, which costs a tenth of the time of trivial sessions.

        If the session has a user of its own, that user removes its files. The user id is used again only with an
        untouched home, and if the user has left nothing elsewhere.
        """
        from skillgym_action.workspaces.session_folder import HOME, SCRATCH, WORKSPACE

        workspace.close()
        folder = workspace.folder
        if not workspace.is_own:
            folder.release(WORKSPACE)
        elif folder.identity is None and workspace.is_small():
            self._keep_until_end(folder)
        untouched = not folder.shares_user and folder.is_untouched(HOME, SCRATCH)
        clean = folder.discard(*(name for name in folder.names if not untouched or name not in {HOME, SCRATCH}))
        # Checked again: only now has everything that the user ran been ended.
        if untouched and clean and folder.is_untouched(HOME, SCRATCH):
            self._reserve.remove([folder.path])
            self._unused.append(folder)
        else:
            self._retire(folder, clean=clean)

    def _keep_until_end(self, folder: SessionFolder) -> None:
        """Move a session's workspace to where no session is, if there are not too many yet."""
        from skillgym_action.workspaces.session_folder import WORKSPACE

        number = next(self._numbers)
        if number <= MAX_RETIRED_WORKSPACES:
            with suppress(OSError):
                folder.move(WORKSPACE, f"{self._retired}/{number}")

    def _retire(self, folder: SessionFolder, *, clean: bool = True) -> None:
        """Remove a folder; one that cannot be emptied is moved to where no session is, until the end of the run."""
        self._reserve.remove([folder.path])
        if not (folder.discard(*folder.names) and clean):
            with suppress(OSError):
                os.rename(folder.path, f"{self._retired}/{next(self._numbers)}")
        folder.close()

    def new_records_folder(self) -> Path:
        """A path for a folder, which does not exist yet, for files that are taken out of a session."""
        return self.root / "records" / str(next(self._numbers))

    def _folder(self, identity: Identity | None = None) -> SessionFolder:
        """A session's folder, unused or new. ``identity``: a user that has sessions in other folders, too."""
        folder = self._unused_or_new(identity)
        self._reserve.add([folder.path])
        return folder

    def _unused_or_new(self, identity: Identity | None) -> SessionFolder:

        if identity is None:
            with suppress(IndexError):
                return self._unused.pop()
        from skillgym_action.workspaces.look import Look
        from skillgym_action.workspaces.session_folder import HOME, SCRATCH, SessionFolder

        own = identity or (self._user.session_identity() if self._user else None)
        look = Look(self.cancelled, self.look_seconds)
        folder = SessionFolder(self.root / os.urandom(8).hex(), self._processes.supervisor, self._user, own, look)
        folder.shares_user = identity is not None
        folder.make(HOME)
        folder.make(SCRATCH)
        return folder

    def _template_of(self, spec: WorkspaceSpec, skills_folders: tuple[str, ...]) -> tuple[Template, InstalledSkills]:
        """The template of a workspace, and the skills in it, made if need be."""
        from skillgym_action.workspaces.skill_installation import NOTHING_INSTALLED

        is_made = bool(skills_folders or spec.files or spec.committed or spec.removed_skills)
        base = spec.template or (spec.source, spec.cwd, spec.root)
        skills = spec.skills if skills_folders else ()
        key = (base, skills, skills_folders, spec.files, spec.committed, spec.removed_skills) if is_made else base
        with self._copying:
            if key not in self._templates:
                if is_made:
                    completed, self._installed[key] = self._completed(spec, skills_folders)
                    self._templates[key] = self._template(completed)
                else:
                    self._templates[key] = self._template(self._copied(spec))
            return self._templates[key], self._installed.get(key, NOTHING_INSTALLED)

    def _completed(self, spec: WorkspaceSpec, skills_folders: tuple[str, ...]) -> tuple[Path, InstalledSkills]:
        """A folder that workspaces with input files, skills or a commit are copies of. Raises OSError."""
        from skillgym_action.system.files.removal import remove_path
        from skillgym_action.workspaces.skill_installation import (
            NOTHING_INSTALLED,
            copy_inputs,
            install_skills,
            paths_of_skills,
        )

        root, repository = self._new_template(), self.repository_in(spec.root)
        try:
            if spec.source == "repository":
                removed = paths_of_skills(spec.removed_skills, repository)
                repository.copy_files_to(root, [*self._hidden, *removed])
            else:
                self._fill(root, self._copied(spec))
            copy_inputs(spec.files, repository, root)
            if spec.committed or (spec.source == "repository" and repository.has_git):
                repository.commit_all(root)
            if not skills_folders:
                return root, NOTHING_INSTALLED
            return root, install_skills(root, spec.skills, skills_folders, repository, self._hidden)
        # Also on cancellation: half a template must not become that of a later session.
        except BaseException:
            remove_path(root)
            raise

    def _fill(self, root: Path, source: Path | None) -> None:
        """Make a folder, with a copy of everything in ``source``. Raises OSError."""
        if source is None:
            root.mkdir()
            return
        folder = self._open(source)
        try:
            self.repository.copy_folder(folder, source, root, ())
        finally:
            os.close(folder)

    def _new_template(self) -> Path:
        root = self.root / "templates" / str(next(self._numbers))
        root.parent.mkdir(mode=0o700, exist_ok=True)
        return root

    def _copied(self, spec: WorkspaceSpec) -> Path | None:
        """The folder that workspaces are copies of, made if need be; None if they start empty."""
        if spec.source not in {"repository", "directory"}:
            return spec.template
        root, repository = self._new_template(), self.repository_in(spec.root)
        if spec.source == "repository":
            repository.copy_to(root, self._hidden)
        else:
            source = spec.cwd or repository.root
            folder = self._open(source)
            try:
                self.repository.copy_folder(folder, source, root, self._changed_by_others)
            finally:
                os.close(folder)
        return root

    def _template(self, root: Path | None) -> Template:
        """Open the template. In the checkout it is walked to again: sessions may change folders. Raises OSError."""
        from skillgym_action.workspaces.template import Template

        checkout = self.repository.checkout
        if root is None or not checkout.contains(root):
            return Template(root)
        return Template(root, checkout.open_folder(root))


def _temporary_folder(*, other_users: bool) -> Path:
    """Make the run's folder, with no link on its path. Raises OutputError.

    ``other_users``: sessions have users of their own, and only root may write to the folders above: agents look there
    for instructions.
    """
    try:
        temporary = Path(tempfile.gettempdir()).resolve()
        parent = ROOTS_FOLDER if other_users and not _only_root_writes(temporary) else temporary
        folder = Path(tempfile.mkdtemp(prefix="skillgym-", dir=parent)).resolve()
        for name in ("retired", "records"):
            (folder / name).mkdir(mode=0o700)
        if other_users:
            folder.chmod(0o711)  # a user reaches its own folder, but cannot list the others
    except OSError as error:
        what = f"cannot create workspaces: {error}"
        raise OutputError(what, remedy=path_remedy(error, "name another temporary folder in TMPDIR")) from error
    return folder


def _only_root_writes(folder: Path) -> bool:
    """Whether only root can write to a folder, and only root can replace it or a folder above. Raises OSError."""
    for level, path in enumerate((folder, *folder.parents)):
        found = os.stat(path)
        writable_by_others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        # In a sticky folder such as /tmp others can create entries, but cannot replace root's.
        if found.st_uid or (writable_by_others and (not level or not found.st_mode & stat.S_ISVTX)):
            return False
    return True


FOLDER_MODE, FILE_MODE = 0o711, 0o644


class FetchedRepositories:
    """The bundles of a run. Thread-safe.

    Git repositories of other machines, each fetched once in a run, as a git bundle. The first workspace that needs one
    fetches it, with the rights of its session and before its agent starts. The bundle is copied to where sessions can
    read it, but not change it.
    """

    def __init__(self, folder: Path) -> None:
        """``folder``: for the bundles; it is made with the first one."""
        self._folder = folder
        self._lock = threading.Lock()
        self._of_url: dict[str, threading.Lock] = {}
        self._bundles: dict[str, Path | None] = {}

    def bundle(self, url: str, fetch: Callable[[Path], Path | None]) -> Path | None:
        """The bundle of the repository, by ``fetch`` where it is the first one; None if it could not be fetched.

        ``fetch`` gets a path in the folder that does not exist, and returns the file that it made below it. It is
        called once for each URL; others wait for it. Raises OSError.
        """
        with self._lock:
            lock = self._of_url.setdefault(url, threading.Lock())
        with lock:
            if url not in self._bundles:
                self._bundles[url] = self._fetched(hashlib.sha256(url.encode()).hexdigest(), fetch)
            return self._bundles[url]

    def _fetched(self, name: str, fetch: Callable[[Path], Path | None]) -> Path | None:
        self._folder.mkdir(exist_ok=True)
        self._folder.chmod(FOLDER_MODE)
        target = self._folder / name
        found = fetch(target)
        if found is not None:
            target.chmod(FOLDER_MODE)
            found.chmod(FILE_MODE)
        return found
