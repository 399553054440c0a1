"""The workspaces of sessions: what they were before the agent, and what became of them.

An agent sees ``<temporary>/<random>/workspace``: a neutral path, since agents have read answers out of directory names.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from skillgym_action.workspaces.changes import Changes, changes_between, differs
from skillgym_action.workspaces.diff import changes_as_diff
from skillgym_action.workspaces.session_folder import HOME, PRIVATE, SCRATCH, WORKSPACE
from skillgym_action.workspaces.workspace_files import WorkspaceFiles

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from skillgym_action.filesystem.bundle import BundleEntry
    from skillgym_action.filesystem.folder import SnapshotEntry
    from skillgym_action.model.session import Identity
    from skillgym_action.processes.users import AgentUser
    from skillgym_action.workspaces.session_files import SessionFiles
    from skillgym_action.workspaces.session_folder import SessionFolder
    from skillgym_action.workspaces.template import Template

SMALL_BYTES = 64 * 1024
SMALL_FILES = 32


class Workspace:
    """Where one session takes place: ``path`` is where the agent works, ``home`` and ``scratch`` are its own."""

    def __init__(
        self,
        folder: SessionFolder,
        path: Path,
        template: Template | None,
        *,
        user: AgentUser | None = None,
        without: Collection[str] = (),
    ) -> None:
        """``template`` None: the directory is not the session's own, hence neither emptied nor removed.

        ``without``: relative paths in it that are not the session's, such as the results of the run.
        """
        self.folder, self.path, self._user = folder, path, user
        self.home, self.scratch = folder.path / HOME, folder.path / SCRATCH
        self.inside: SessionFiles = folder.files(WORKSPACE)
        self.files = WorkspaceFiles(self)
        self._template, self._without = template, without
        self._before: dict[str, SnapshotEntry] = {}
        self._after: dict[str, SnapshotEntry] = {}
        self._digests: dict[str, str | None] = {}
        self._grader_home = ""

    @property
    def folders(self) -> tuple[Path, ...]:
        """What the session can fill, with all below it."""
        return (self.folder.path,)

    @property
    def is_own(self) -> bool:
        """Whether the directory is the session's own."""
        return self._template is not None

    @property
    def identity(self) -> Identity | None:
        """The user that the agent runs as; None: the caller."""
        return self.folder.identity

    @property
    def suite_identity(self) -> Identity | None:
        """The same user, as programs that the suite brings along have it."""
        return self._user.suite_identity(self.identity) if self._user and self.identity else None

    def reach(self) -> tuple[bool, bool]:
        """Whether the agent's user can work in the directory, and whether change it. Raises OSError."""
        return (True, True) if self.is_own else self.folder.reach(WORKSPACE)

    @property
    def user(self) -> str | None:
        """The name of the user that agents run as, where that is not the caller."""
        return self._user.name if self._user else None

    def agent_env(self) -> dict[str, str]:
        """A home that holds nothing of the operator's."""
        return {**self._named(), "HOME": os.fspath(self.home), "TMPDIR": os.fspath(self.scratch)}

    def grader_env(self) -> dict[str, str]:
        """A new home, hence one that holds nothing the agent put there. The one before is no longer needed."""
        if self._grader_home:
            self.folder.remove(self._grader_home)
        self._grader_home = name = f"grader-{os.urandom(4).hex()}"
        self.folder.make(name)
        return {**self._named(), "HOME": os.fspath(self.folder.path / name), "TMPDIR": os.fspath(self.scratch)}

    def _named(self) -> dict[str, str]:
        """A user id that has no account has no name either, which some programs need."""
        return {"USER": self._user.name, "LOGNAME": self._user.name} if self._user else {}

    def write(self, files: Mapping[Path, str]) -> None:
        """Put an invocation's files where it wants them, which is never where agents work; no link is followed.

        Raises OSError.
        """
        for path, text in files.items():
            for name, place in ((HOME, self.home), (SCRATCH, self.scratch)):
                if path.is_relative_to(place):
                    relative = path.relative_to(place).as_posix()
                    content = text.encode("utf-8", "backslashreplace")
                    self.folder.files(name).write(relative, content, 0o644)
                    break
            else:
                raise OSError(None, "not in the session's folders", os.fspath(path))

    def collected(self, patterns: tuple[str, ...], target: Path) -> tuple[Path, ...]:
        """Copies below ``target`` of the files in the private home that match. Raises OSError."""
        home = self.folder.files(HOME)
        names = home.files(patterns) if patterns else ()
        if not names:
            return ()
        extract(home.pack(names), target)
        return tuple(target / name for name in names)

    def settle(self) -> None:
        """After the agent: where it removed or replaced the session's folders, there are empty ones again.

        Those that it closed are open. Raises OSError.
        """
        self.folder.settle(*([WORKSPACE] if self.is_own else []), HOME, SCRATCH)
        if self.is_own:
            self.inside = self.folder.files(WORKSPACE)

    # --- what it was before ---------------------------------------------------------------------

    def remember(self) -> None:
        """Take the state the agent starts from. Raises OSError."""
        self._before = self.inside.begin(self._without) if self.is_own else self._snapshot()

    def _snapshot(self) -> dict[str, SnapshotEntry]:
        return self.inside.snapshot("", self._without)

    @contextmanager
    def bootstrapping(self) -> Iterator[None]:
        """Around the bootstrap: what it writes is hashed now, since no template has it."""
        copied = self._snapshot() if self.is_own else {}
        yield
        self.remember()
        if self.is_own:
            changed = (path for path, entry in self._before.items() if copied.get(path) != entry)
            self._digests = {path: self.inside.digest(path) for path in changed}

    def existed(self, path: str) -> bool:
        """Whether ``path`` was there before the agent."""
        return path.rstrip("/") in self._before

    def changed(self, path: str) -> bool:
        """Whether the content is not what it was; created counts, deleted does not; a directory: any file below it."""
        now = self.inside.entry(path)
        prefix = "" if path == "." else f"{path}/"
        if now is None:
            return False
        if now[0] == "directory":
            below = self.inside.snapshot(path if prefix else "", self._without)
            return any(self._differs(prefix + name, entry) for name, entry in below.items())
        return self._differs(path, now)

    def _differs(self, path: str, now: SnapshotEntry) -> bool:
        return differs(self._before.get(path), now, lambda: self._digest_before(path), lambda: self.inside.digest(path))

    def _digest_before(self, path: str) -> str | None:
        if path in self._digests:
            return self._digests[path]
        return self._template.digest(path) if self._template else None

    def original(self, path: str) -> Template | None:
        """The template that holds what the agent found at ``path``."""
        return None if path in self._digests else self._template

    def diff(self) -> str | None:
        """All of it as a unified diff; None where it is not known what the agent started from."""
        return changes_as_diff(self) if self.is_own else None

    # --- what became of it ----------------------------------------------------------------------

    def changes(self) -> Changes:
        """Everything that differs from the state before the agent. Raises OSError."""
        self._after = after = self._snapshot()
        return changes_between(self._before, after, self._differs)

    def sizes(self, changes: Changes) -> dict[str, int]:
        """Bytes of the files and links that changed, as they were when ``changes`` were looked for."""
        found = {path: self._after[path] for path in (*changes.created, *changes.modified)}
        return {path: entry[1] for path, entry in found.items() if entry[0] in {"file", "symlink"} and len(entry) > 1}

    @property
    def is_small(self) -> bool:
        """Whether the workspace is the session's own and takes hardly any space."""
        sizes = [entry[1] for entry in self._after.values() if len(entry) > 1]
        return self.is_own and len(self._after) <= SMALL_FILES and sum(sizes) <= SMALL_BYTES

    def history(self) -> Template | None:
        """The template whose ``.git`` the agent found."""
        return self._template


def extract(entries: Iterator[BundleEntry], target: Path) -> None:
    """Make a new folder of ours with what a bundle holds; all of it or nothing. Raises OSError."""
    from skillgym_action.filesystem.descriptor_walk import FOLDER_FLAGS
    from skillgym_action.filesystem.folder import Folder
    from skillgym_action.filesystem.removal import remove_path
    from skillgym_action.filesystem.unpacking import unpack

    os.makedirs(target.parent, exist_ok=True)
    os.mkdir(target, PRIVATE)
    folder = os.open(target, FOLDER_FLAGS)
    try:
        unpack(Folder(folder), entries)
    # Also a cancellation: half a bundle must not pass for a whole one.
    except BaseException:
        with suppress(OSError):
            remove_path(target)
        raise
    finally:
        os.close(folder)
