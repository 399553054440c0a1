"""The workspace door: fresh directories for agents, what they were before, and what became of them.

An agent sees ``<temporary>/<number>/workspace``: a neutral path, since agents have read answers out of directory names.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections import deque
from contextlib import contextmanager, suppress
from itertools import count, cycle
from pathlib import Path
from typing import TYPE_CHECKING, Self

from skillgym_action.effects.agent_user import Caller, SessionUser
from skillgym_action.effects.file_changes import changes_as_diff
from skillgym_action.effects.files import WorkspaceFiles
from skillgym_action.effects.kept import copy_changes, move
from skillgym_action.effects.leftovers import remove, removed_meanwhile, temporary_folder
from skillgym_action.effects.outputs import files_below
from skillgym_action.effects.snapshot import Changes, Entry, Snapshot, digest, entry_at, snapshot
from skillgym_action.effects.template import Template, linked_skills
from skillgym_action.effects.trees import made_usable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from skillgym_action.domain import WorkspaceSpec
    from skillgym_action.effects.cancellation import Cancellation
    from skillgym_action.effects.processes import Processes
    from skillgym_action.effects.repository import Repository

SAVED_BYTES = 16 * 1024 * 1024
SAVED_FILES = 2000
SMALL_BYTES = 64 * 1024
SMALL_FILES = 32


class Workspace:
    """One session's directory: ``path`` is where the agent works; around it lies its private home."""

    def __init__(self, folder: Path, path: Path, template: Template | None, user: Caller | None = None) -> None:
        """``template`` None: the directory is not the session's own, hence neither watched nor removed.

        ``user``: whom all of it is to belong to.
        """
        self.folder, self.path, self.user = folder, path, user or Caller()
        self.home, self.scratch = folder, folder / "tmp"
        self.files = WorkspaceFiles(self)
        self._template = template
        self._before: Snapshot = {}
        self._after: Snapshot = {}
        self._digests: dict[str, str | None] = {}
        self.leading_out: Mapping[str, str] = {}
        if not os.path.isdir(self.scratch):
            self.scratch.mkdir(parents=True)
        self.user.enclose(self.folder)

    def agent_env(self) -> dict[str, str]:
        """A home that holds nothing of the operator's."""
        return {"HOME": os.fspath(self.home), "TMPDIR": os.fspath(self.scratch)}

    def grader_env(self) -> dict[str, str]:
        """A new home, hence one that holds nothing the agent put there."""
        home = tempfile.mkdtemp(dir=self.folder, prefix="grader-home-")
        self.user.own(home)
        return {"HOME": home, "TMPDIR": os.fspath(self.scratch)}

    def write(self, files: Mapping[Path, str]) -> None:
        """Put an invocation's files where it wants them."""
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
        if files:
            self.user.enclose(self.folder)

    def collected(self, patterns: tuple[str, ...]) -> tuple[Path, ...]:
        """Files below the private home that match; none that a symlink leads to."""
        return files_below(self.home, patterns)

    def settle(self) -> None:
        """After the agent: where it removed or replaced the session's own directories, there are empty ones again.

        Those that it closed are open. Raises OSError.
        """
        for place in (self.folder, self.scratch, *([self.path] if self._template is not None else [])):
            if made_usable(place):
                self.user.enclose(self.folder)

    # --- what it was before ---------------------------------------------------------------------

    def remember(self) -> None:
        """Take the state the agent starts from."""
        if self._template is not None:
            self.user.own(*linked_skills(self.path))
            self._before = snapshot(self.path)

    @contextmanager
    def bootstrapping(self) -> Iterator[None]:
        """Around the bootstrap: what it writes is hashed now, since no template has it."""
        copied = snapshot(self.path) if self._template is not None else {}
        yield
        self.remember()
        changed = (path for path, entry in self._before.items() if copied.get(path) != entry)
        self._digests = {path: digest(self.path / path) for path in changed}

    def existed(self, path: str) -> bool:
        """Whether ``path`` was there before the agent."""
        return path.rstrip("/") in self._before

    def changed(self, path: str) -> bool:
        """Whether the content is not what it was; created counts, deleted does not; a directory: any file below it."""
        now = entry_at(self.path / path)
        prefix = "" if path == "." else f"{path}/"
        if now is None:
            return False
        if now.kind == "directory":
            below = snapshot(self.path / path)
            return any(self._differs(prefix + name, entry) for name, entry in below.items())
        return self._differs(path, now)

    def _differs(self, path: str, now: Entry) -> bool:
        if now.kind == "directory":
            return False
        before = self._before.get(path)
        if before is None or before.kind != now.kind or (now.kind == "file" and before.stamp[0] != now.stamp[0]):
            return True  # nobody reads what is larger than it was
        return before.stamp != now.stamp and self._digest_before(path) != digest(self.path / path)

    def _digest_before(self, path: str) -> str | None:
        if path in self._digests:
            return self._digests[path]
        return self._template.digest(path) if self._template else None

    def original(self, path: str) -> Path | None:
        """The template's file, if it is what the agent found at ``path``."""
        if self._template is None or self._template.root is None or path in self._digests:
            return None
        return self._template.root / path

    def diff(self) -> str | None:
        """All of it as a unified diff; None where it is not known what the agent started from."""
        return changes_as_diff(self) if self._template is not None else None

    # --- what became of it ----------------------------------------------------------------------

    def changes(self) -> Changes:
        """Everything that differs from the state before the agent."""
        if self._template is None:
            return Changes()
        self._after = after = snapshot(self.path)
        changed = [path for path, entry in after.items() if self._differs(path, entry)]
        return Changes(
            created=tuple(sorted(path for path in changed if path not in self._before)),
            modified=tuple(sorted(path for path in changed if path in self._before)),
            deleted=tuple(sorted(path for path in self._before if path not in after)),
        )

    def save(self, changes: Changes, target: Path) -> bool:
        """Copy what changed below ``target``, so that it can be played again; False when that is not all of it.

        Links that lead out are not made; they are in ``leading_out``.
        """
        known = {path: self._after[path] for path in (*changes.created, *changes.modified)}
        paths = [path for path, entry in known.items() if entry.kind != "other"]
        if len(paths) > SAVED_FILES or sum(known[path].stamp[0] for path in paths) > SAVED_BYTES:
            return False
        try:
            self.leading_out = copy_changes(self.path, paths, target)
        except OSError:  # not readable, deeper than a path may be, or no room
            return False
        return True

    @property
    def home_is_unused(self) -> bool:
        """Whether nothing is left of the session but an empty home."""
        with suppress(OSError):
            only = os.listdir(self.home) == [self.scratch.name] and not self.scratch.is_symlink()
            return only and not os.listdir(self.scratch)
        return False

    @property
    def is_small(self) -> bool:
        """Whether the workspace is the session's own and takes hardly any space."""
        sizes = [entry.stamp[0] for entry in self._after.values() if entry.stamp]
        return self._template is not None and len(self._after) <= SMALL_FILES and sum(sizes) <= SMALL_BYTES

    def keep(self, target: Path, cancelled: Cancellation) -> None:
        """Move the workspace to ``target``, for people to look at. Raises OSError, and then nothing of it is there."""
        if self._template is not None:
            move(self.path, target, cancelled)


class Workspaces:
    """Makes workspaces below one temporary folder; a context manager, since that folder goes with the run."""

    def __init__(self, repository: Repository, processes: Processes) -> None:
        """``repository`` is what suites without a template work in a copy of; ``processes`` say who works there.

        Raises OutputError.
        """
        self.repository, self._processes, self._user = repository, processes, processes.user
        self.cancelled = processes.cancelled
        self._hidden: list[str] = []
        self.root = temporary_folder(apart=self._user is not None)
        self._groups = cycle(self._user.sessions if self._user else ())
        if self._user:
            self.root.chmod(0o711)  # one's own folder can be reached, and no other one found
        self._numbers = count(1)
        self._unused: deque[Path] = deque()
        self._trash = self.root / "trash"
        self._sharing = threading.Lock()
        self._copying = threading.Lock()
        self._templates: dict[Path | str, Template] = {}
        self._shared: dict[str, Workspace] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        remove(self.root)

    def hide(self, paths: Iterable[str]) -> None:
        """Leave paths of the repository out of its copies: an agent must not read its own checks."""
        self._hidden += paths

    def fresh(self, spec: WorkspaceSpec) -> Workspace:
        """A directory for one session, as the suite wants it, before bootstrap. Raises OSError."""
        folder = self._folder()
        if spec.mode == "none":
            return Workspace(folder, spec.cwd or self.repository.root, None, self._session_user())
        template = self._template_of(spec)
        if not os.path.isdir(folder):
            folder.mkdir(mode=0o700)
        template.copy_to(folder / "workspace", self.cancelled)
        return Workspace(folder, folder / "workspace", template, self._session_user())

    def shared(self, name: str, spec: WorkspaceSpec, prepare: Callable[[Workspace], None]) -> Workspace:
        """The one directory of that name, made and prepared by whoever comes first; homes are each session's own."""
        with self._processes.turns.waiting():
            self._sharing.acquire()
        try:
            if name not in self._shared:
                first = self.fresh(spec)
                prepare(first)
                self._shared[name] = first
        finally:
            self._sharing.release()
        shared = self._shared[name]
        return Workspace(self._folder(), shared.path, None, self._session_user(shared.user.groups))

    def is_shared(self, name: str) -> bool:
        """Whether a directory of that name was made ready."""
        return name in self._shared

    def discard(self, workspace: Workspace) -> None:
        """Remove a session's directories; a home that was never used stands ready for another session.

        Small workspaces go with the run: a file system that has just freed inodes is slow to give new ones.
        """
        if workspace.is_small:
            with suppress(OSError):
                os.rename(workspace.path, f"{self._trash}/{next(self._numbers)}")
        if workspace.home_is_unused:
            self._unused.append(workspace.folder)
        else:
            remove(workspace.folder)
        workspace.user.clear()

    def discarded(self) -> AbstractContextManager[None]:
        """After the last session: while the context lasts, what was discarded is removed."""
        return removed_meanwhile(self._processes, self._trash)

    def _session_user(self, shared: tuple[int, ...] = ()) -> Caller:
        return SessionUser(self._user, next(self._groups), shared) if self._user else Caller()

    def _folder(self) -> Path:
        try:
            return self._unused.pop()
        except IndexError:
            return self.root / (os.urandom(8).hex() if self._user else str(next(self._numbers)))

    def _template_of(self, spec: WorkspaceSpec) -> Template:
        key = spec.template or spec.source
        with self._copying:
            if key not in self._templates:
                root = spec.template
                if spec.source == "repository":
                    root = self._trash.with_name("templates") / "repository"
                    root.parent.mkdir(mode=0o700)
                    self.repository.copy_to(root, self._hidden)
                self._templates[key] = Template(root)
            return self._templates[key]
