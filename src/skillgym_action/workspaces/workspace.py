"""The workspace of a session: its state before the agent, and what the agent changed, also as a diff.

An agent sees ``<temporary>/<random>/workspace``: a neutral path, since agents have read answers in folder names.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from skillgym_action.model.limits import MAX_LISTED_CHANGES
from skillgym_action.model.records import record
from skillgym_action.model.session import SessionPlaces
from skillgym_action.system.files.globs import matches
from skillgym_action.workspaces.session_folder import HOME, PRIVATE, SCRATCH, WORKSPACE
from skillgym_action.workspaces.skill_installation import NOTHING_INSTALLED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from skillgym_action.model.containers import RefusedConnection
    from skillgym_action.model.session import Identity, Programs
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.system.files.bundle import BundleEntry
    from skillgym_action.system.files.folder import Folder, SnapshotEntry
    from skillgym_action.system.processes.users import AgentUser
    from skillgym_action.workspaces.session_folder import SessionFiles, SessionFolder
    from skillgym_action.workspaces.skill_installation import InstalledSkills
    from skillgym_action.workspaces.template import Template

MAX_DIFF_FILE_BYTES = 512 * 1024  # bytes of a file whose changes are shown; a larger one is named only
MAX_DIFF_CHARACTERS = 4 * 1024 * 1024  # characters of a diff, after which further files are only counted
MAX_DIFF_COMPARISONS = 4_000_000  # lines before times lines after, of a file; difflib takes seconds for more
SMALL_WORKSPACE_BYTES = 64 * 1024  # of a workspace that may stay until the end of the run
SMALL_WORKSPACE_ENTRIES = 32


class SessionWorkspace:
    """The directories of one session: the agent works in ``path``; ``home`` and ``scratch`` are private to it.

    ``places``: the same as programs of the session find them. ``programs`` runs these; None: the tool's launcher does.
    """

    def __init__(
        self,
        folder: SessionFolder,
        path: Path,
        template: Template | None,
        *,
        user: AgentUser | None = None,
        without: Collection[str] = (),
        installed: InstalledSkills = NOTHING_INSTALLED,
    ) -> None:
        """``template`` None: the directory was not made for the session, so it is neither emptied nor removed.

        ``without``: relative paths in it that others change, such as the run directory. ``installed``: the skills under
        test in it, of which assertions see nothing. ``baseline``, in a directory that sessions share: the workspace
        from whose recorded state the diffs of all of them count; None: no diffs.
        """
        self.folder, self.path, self._user = folder, path, user
        self.home, self.scratch = folder.path / HOME, folder.path / SCRATCH
        self._inside: SessionFiles = folder.files(WORKSPACE)
        self.places = SessionPlaces(workspace=path, home=self.home, scratch=self.scratch)
        self.programs: Programs | None = None
        self.command: tuple[str, ...] = ()  # the agent's program, if it is not the one that its adapter starts
        self.files = WorkspaceFiles(self)
        self._template, self._without = template, (*without, *installed.paths)
        self.installed = installed
        self._before: dict[str, SnapshotEntry] = {}
        self._after: dict[str, SnapshotEntry] = {}
        self._left: tuple[Changes, tuple[str, ...]] | None = None
        self._copied: dict[str, SnapshotEntry] = {}
        self._digests: dict[str, str | None] = {}
        self._grader_home = ""
        self.baseline: SessionWorkspace | None = None

    @property
    def inside(self) -> SessionFiles:
        """Access to the files in ``path``. Raises OSError once the run is cancelled or a ``looking`` block is over."""
        self.folder.look.check()
        return self._inside

    def looking(self) -> AbstractContextManager[None]:
        """Surround work of the tool on the files, which is limited in time. Raises OSError."""
        return self.folder.look.limited()

    @property
    def in_container(self) -> bool:
        """Whether the programs of the session run in a container; ``path`` is then a copy of the folder in it."""
        return False

    def write_file(self, path: str, content: bytes, mode: int) -> None:
        """Write a file into the workspace before the agent starts; ``path`` is relative to it. Raises OSError."""
        self.inside.write(path, content, mode)

    def remove_paths(self, paths: Iterable[str]) -> None:
        """Remove files and folders from the workspace before the agent starts. Raises OSError."""
        self.inside.remove(paths)

    def reachable(self, argv: tuple[str, ...], root: Path) -> tuple[str, ...]:  # noqa: ARG002 - of containers
        """A command whose words may be files below ``root``, such that programs of the session find them."""
        return argv

    def renew_copy(self) -> None:
        """Make ``path`` what it is for programs of the session, for programs that run elsewhere. Raises OSError."""

    def report_of_copy(self, report: SessionReport) -> SessionReport:
        """The report with the paths of ``path``, whose files are up to date, for programs that run elsewhere."""
        return report

    @contextmanager
    def changed_by_tool(self) -> Iterator[None]:
        """Surround a program of the tool that changes ``path``, such as one that plays a recording. Raises OSError."""
        yield

    def refused_connections(self) -> tuple[RefusedConnection, ...]:
        """The connections that the network of the session's container refused."""
        return ()

    def close(self) -> None:
        """End the programs of the session, where they are not processes of this machine."""

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders whose disk usage counts as the session's."""
        return (self.folder.path,)

    @property
    def is_own(self) -> bool:
        """Whether the directory was made for the session."""
        return self._template is not None

    @property
    def identity(self) -> Identity | None:
        """The user that the agent runs as; None if it runs as the caller."""
        return self.folder.identity

    @property
    def suite_identity(self) -> Identity | None:
        """The same user with the groups that programs of the suite have; None if they run as the caller."""
        return self._user.suite_identity(self.identity) if self._user and self.identity else None

    def access(self) -> tuple[bool, bool]:
        """Whether the agent's user can work in the directory, and whether it can change it. Raises OSError."""
        return (True, True) if self.is_own else self.folder.access(WORKSPACE)

    @property
    def user(self) -> str | None:
        """The name of the user that agents run as; None if it is the caller."""
        return self._user.name if self._user else None

    def agent_env(self) -> dict[str, str]:
        """Variables for the agent: a home with nothing of the operator's in it."""
        return {**self._user_names(), "HOME": os.fspath(self.home), "TMPDIR": os.fspath(self.scratch)}

    def grader_env(self, *, here: bool = False) -> dict[str, str]:  # noqa: ARG002 - of containers
        """Variables for a grader: a new home without anything of the agent's. The previous grader home is removed.

        ``here``: it runs on this machine, also if programs of the session run in a container.
        """
        if self._grader_home:
            self.folder.remove(self._grader_home)
        self._grader_home = name = f"grader-{os.urandom(4).hex()}"
        self.folder.make(name)
        return {**self._user_names(), "HOME": os.fspath(self.folder.path / name), "TMPDIR": os.fspath(self.scratch)}

    def _user_names(self) -> dict[str, str]:
        # Sessions' user ids have no account, so programs that need a name find it in the environment only.
        return {"USER": self._user.name, "LOGNAME": self._user.name} if self._user else {}

    def write(self, files: Mapping[Path, str]) -> None:
        """Write an invocation's files, which must be in the home or the scratch folder. No link is followed.

        Raises OSError.
        """
        for path, text in files.items():
            for name, folder in ((HOME, self.home), (SCRATCH, self.scratch)):
                if path.is_relative_to(folder):
                    relative = path.relative_to(folder).as_posix()
                    content = text.encode("utf-8", "backslashreplace")
                    self.folder.files(name).write(relative, content)
                    break
            else:
                raise OSError(None, "not in the session's folders", os.fspath(path))

    def write_home(self, path: str, content: bytes, mode: int) -> None:
        """Write a file into the home; ``path`` is relative to it. Raises OSError."""
        self.folder.files(HOME).write(path, content, mode)

    def collect(self, patterns: tuple[str, ...], target: Path) -> tuple[Path, ...]:
        """Copy the files in the home that match to the new folder ``target``; return the copies. Raises OSError."""
        home = self.folder.files(HOME)
        names = home.files(patterns) if patterns else ()
        if not names:
            return ()
        extract_bundle(home.pack(names), target)
        return tuple(target / name for name in names)

    def remove_from_home(self, name: str) -> None:
        """Remove a file in the home, if it is there. Raises OSError."""
        self.folder.files(HOME).remove((name,))

    def restore_folders(self) -> None:
        """After the agent: make the session's folders again if the agent removed them, and make them accessible.

        Raises OSError.
        """
        self.folder.restore(*([WORKSPACE] if self.is_own else []), HOME, SCRATCH)
        if self.is_own:
            self._inside = self.folder.files(WORKSPACE)

    # --- the state before the agent -------------------------------------------------------------

    def record_state(self) -> None:
        """Take a snapshot of the state that the agent starts from. Raises OSError."""
        self._left = None
        begins = self.is_own and not self.installed.paths  # else the folders of skills are linked already
        self._before = self.inside.begin(self._without) if begins else self._snapshot()

    def _snapshot(self) -> dict[str, SnapshotEntry]:
        return self._without_made(self.inside.snapshot("", self._without))

    def _without_made(self, found: dict[str, SnapshotEntry]) -> dict[str, SnapshotEntry]:
        """A snapshot without the folders that only the installed skills are in."""
        for path in self.installed.made:
            if found.get(path) == ("directory",):
                del found[path]
        return found

    def is_of_installed_skill(self, path: str) -> bool:
        """Whether a relative path is that of an installed skill, or of a file in it."""
        return any(f"{path}/".startswith(f"{skill}/") for skill in self.installed.paths)

    @contextmanager
    def bootstrapping(self) -> Iterator[None]:
        """Surround the bootstrap: files that it writes are hashed right after it, since the template lacks them."""
        self._copied = self._snapshot() if self.is_own else {}
        yield
        self.count_from_now()

    def count_from_now(self) -> None:
        """Take a snapshot: changes since the copy was made are not counted from now on. Raises OSError."""
        self.record_state()
        if self.is_own:
            changed = (path for path, entry in self._before.items() if self._copied.get(path) != entry)
            self._digests = {path: self.inside.digest(path) for path in changed}

    def existed(self, path: str) -> bool:
        """Whether ``path`` existed before the agent."""
        return path.rstrip("/") in self._before

    def matched_before(self, pattern: str) -> bool:
        """Whether a file or link existed before the agent that matches a glob pattern."""
        return any(entry[0] != "directory" and matches(path, pattern) for path, entry in self._before.items())

    def changed(self, path: str) -> bool:
        """Whether a file, or any file below a directory, was created or has other content. Deletions do not count."""
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

    def template_of(self, path: str) -> Template | None:
        """The template, if it has what was at ``path`` before the agent; None for what the bootstrap wrote."""
        return None if path in self._digests else self._template

    def diff(self, changes: Changes | None = None, clean: Callable[[str], str] = str) -> str | None:
        """All changes as a unified diff; None in a directory that was not made for the session, and so not copied.

        ``changes``: the paths that changed, if they are known; ``clean`` takes secrets out of the content of a file.
        Raises OSError.
        """
        if self.baseline:
            with self.baseline.looking():
                return self.baseline.diff(clean=clean)
        return changes_as_diff(self, changes or self.changes(), clean) if self.is_own else None

    # --- the state after the agent --------------------------------------------------------------

    def changes(self) -> Changes:
        """The differences to the state before the agent. Raises OSError."""
        self._after = after = self._snapshot()
        changes = changes_between(self._before, after, self._differs)
        if self._left is None:
            files = (path for path, entry in after.items() if entry[0] != "directory")
            self._left = (changes, tuple(sorted(files)))
        return changes

    def forget_changes(self) -> None:
        """The agent has worked again, or is about to: what it left is looked at anew."""
        self._left = None

    def left_by_agent(self) -> tuple[Changes, tuple[str, ...]]:
        """The differences and all files, sorted, when the agent had ended, as ``changes`` said then. Raises OSError."""
        if self._left is None:
            self.changes()
        return self._left or (Changes(), ())

    def text_before(self, path: str, limit: int) -> str | None:
        """A file's text before the agent; None if it is too large, or was written by the bootstrap."""
        template = self.template_of(path)
        return template.folder.text(path, limit) if template and template.folder else None

    def sizes(self, changes: Changes) -> dict[str, int]:
        """Bytes of the files and links that changed, by path, at the time of the last call of ``changes``."""
        found = {path: self._after[path] for path in (*changes.created, *changes.modified)}
        return {path: entry[1] for path, entry in found.items() if entry[0] in {"file", "symlink"} and len(entry) > 1}

    def extent(self) -> tuple[int, int]:
        """How many files and folders the workspace had when ``changes`` was called, and their bytes."""
        return len(self._after), sum(entry[1] for entry in self._after.values() if len(entry) > 1)

    def is_small(self) -> bool:
        """Whether hardly anything was in the workspace when ``changes`` was called; False if it was not."""
        entries, size = self.extent()
        return (
            0 < entries <= SMALL_WORKSPACE_ENTRIES
            and size <= SMALL_WORKSPACE_BYTES
            and self._inside.entry(".git") is None  # which snapshots leave out
        )

    def history_template(self) -> Template | None:
        """The template that the workspace's ``.git`` was copied from."""
        return self._template


class WorkspaceFiles:
    """The workspace after the agent, for assertions: implements ``model.assertion.Files``.

    Links are followed inside the workspace, never out of it: an agent can make any link.
    """

    def __init__(self, workspace: SessionWorkspace) -> None:
        self._workspace = workspace

    def kind(self, path: str) -> str | None:
        """What ``path`` leads to: file, directory, symlink (to nothing), other, outside, or None for nothing."""
        return self._workspace.inside.kind(path)

    def text(self, path: str, limit: int) -> str | None:
        """The content of a regular file of at most ``limit`` bytes; else None."""
        return self._workspace.inside.text(path, limit)

    def size(self, path: str) -> int | None:
        """Bytes of a file; None if it is none, or cannot be looked at."""
        with suppress(OSError):
            entry = self._workspace.inside.entry(path)
            return entry[1] if entry and entry[0] == "file" and len(entry) > 1 else None
        return None

    def text_before(self, path: str, limit: int) -> str | None:
        """The text before the agent; None if it is not known."""
        resolved = self._workspace.inside.snapshot_path(path)
        return None if resolved is None else self._workspace.text_before(resolved, limit)

    def names(self) -> tuple[str, ...]:
        """The files that the agent left; empty if they cannot be listed."""
        with suppress(OSError):
            return self._workspace.left_by_agent()[1]
        return ()

    def created(self) -> tuple[str, ...]:
        """The files that the agent created; empty if they cannot be listed."""
        with suppress(OSError):
            return self._workspace.left_by_agent()[0].created
        return ()

    def changed_names(self) -> tuple[str, ...]:
        """The files that the agent created, modified or deleted; empty if they cannot be listed."""
        with suppress(OSError):
            changes = self._workspace.left_by_agent()[0]
            return tuple(sorted({*changes.created, *changes.modified, *changes.deleted}))
        return ()

    def existed(self, path: str) -> bool:
        """Whether the path existed before the agent."""
        resolved = self._workspace.inside.snapshot_path(path)
        return resolved is not None and self._workspace.existed(resolved)

    def matched_before(self, pattern: str) -> bool:
        """Whether a file existed before the agent that matches."""
        return self._workspace.matched_before(pattern)

    def changed(self, path: str) -> bool:
        """Whether the content changed; for a link, whether the link or what it points to changed."""
        resolved = self._workspace.inside.snapshot_path(path)
        if resolved is None:
            return False
        if self._workspace.changed(resolved):
            return True
        target = self._workspace.inside.target(path)
        return target is not None and target != resolved and self._workspace.changed(target)

    def glob(self, pattern: str) -> tuple[str, ...]:
        """The files in the workspace that match; empty if they cannot be listed."""
        found: tuple[str, ...] = ()
        with suppress(OSError):
            found = self._workspace.inside.glob(pattern)
        return tuple(path for path in found if not self._workspace.is_of_installed_skill(path))


def extract_bundle(entries: Iterator[BundleEntry], target: Path) -> None:
    """Create the folder ``target`` with the content of a bundle, completely or not at all. Raises OSError."""
    from skillgym_action.system.files.folder import Folder
    from skillgym_action.system.files.open_below import FOLDER_FLAGS
    from skillgym_action.system.files.packing import unpack
    from skillgym_action.system.files.removal import remove_path

    os.makedirs(target.parent, exist_ok=True)
    os.mkdir(target, PRIVATE)
    folder = os.open(target, FOLDER_FLAGS)
    try:
        unpack(Folder(folder), entries)
    # Also on cancellation: an incomplete bundle must not be taken for a complete one.
    except BaseException:
        with suppress(OSError):
            remove_path(target)
        raise
    finally:
        os.close(folder)


# --- changes ------------------------------------------------------------------------------------------

_CONTEXT_LINES = 3
_HUNK_POSITION = re.compile(r"([-+])(\d+)")
_NO_FILE = "/dev/null"
_ESCAPES = dict(zip('"\\\a\b\t\n\v\f\r', '"\\abtnvfr', strict=True))


@record(kw_only=False)
class Changes:
    """What was created, modified and deleted: relative paths, sorted."""

    created: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()

    def listed(self) -> tuple[Changes, dict[str, int]]:
        """The first ``MAX_LISTED_CHANGES`` paths of each kind, and how many more there are of a kind that has more."""
        whole = {"created": self.created, "modified": self.modified, "deleted": self.deleted}
        first = {kind: paths[:MAX_LISTED_CHANGES] for kind, paths in whole.items()}
        more = {kind: len(paths) - len(first[kind]) for kind, paths in whole.items()}
        return Changes(**first), {kind: number for kind, number in more.items() if number}


def changes_between(
    before: Mapping[str, SnapshotEntry],
    after: Mapping[str, SnapshotEntry],
    differs_at: Callable[[str, SnapshotEntry], bool],
) -> Changes:
    """Compare two snapshots. Only files and links count as created or modified; deleted folders are listed, too.

    ``differs_at(path, entry)`` returns whether the file or link, with its entry in ``after``, changed.

    Entries are compared by ``stat`` first, and by content only where that differs. A change of content cannot be hidden
    from that: setting the modification time back still changes the ctime.
    """
    changed = [path for path, entry in after.items() if differs_at(path, entry)]
    return Changes(
        created=tuple(sorted(path for path in changed if path not in before)),
        modified=tuple(sorted(path for path in changed if path in before)),
        deleted=tuple(sorted(path for path in before if path not in after)),
    )


def differs(
    before: SnapshotEntry | None,
    now: SnapshotEntry,
    digest_before: Callable[[], str | None],
    digest_now: Callable[[], str | None],
) -> bool:
    """Whether a file or link changed. Digests are computed only if kind, size and ``stat`` do not decide it."""
    if now[0] == "directory":
        return False
    if before is None or before[0] != now[0] or (now[0] == "file" and before[1:2] != now[1:2]):
        return True  # new, of another kind, or of another size
    return before != now and (digest_before() or "") != digest_now()


def changes_as_diff(workspace: SessionWorkspace, changes: Changes, clean: Callable[[str], str]) -> str:
    """A unified diff, as ``git diff`` prints it, of all files that differ from the state before the agent.

    ``clean`` takes secrets out of a text, here of a whole file: the signs before its lines would hide them. Files over
    ``MAX_DIFF_FILE_BYTES`` are named only; the diff stops after ``MAX_LISTED_CHANGES`` files, or about
    ``MAX_DIFF_CHARACTERS``. Its last line says how many files are left out.
    """
    created, deleted = frozenset(changes.created), frozenset(changes.deleted)
    paths = sorted({*created, *changes.modified, *deleted})
    pieces: list[str] = []
    size = 0
    for path in paths[:MAX_LISTED_CHANGES]:
        if size > MAX_DIFF_CHARACTERS:
            break
        existed, exists = path not in created, path not in deleted
        pieces.append("".join(_diff(path, workspace, clean, existed=existed, exists=exists)))
        size += len(pieces[-1])
    if left_out := len(paths) - len(pieces):
        pieces.append(f"(and more: {left_out} of {len(paths)} changed files are left out)\n")
    return "".join(pieces)


def _diff(
    path: str, workspace: SessionWorkspace, clean: Callable[[str], str], *, existed: bool, exists: bool
) -> Iterator[str]:
    template = workspace.template_of(path)
    # What the bootstrap wrote is in no template: it is known to have changed, but not from what.
    original = template.folder if template else None
    mode_before = original.mode(path) if original and existed else None
    mode_now = workspace.inside.mode(path) if exists else None
    if not exists and mode_before is not None and stat.S_ISDIR(mode_before):
        return
    yield f"diff --git {_name('a', path)} {_name('b', path)}\n"
    if not existed:
        yield f"new file mode {_mode(mode_now)}\n"
    elif not exists:
        yield f"deleted file mode {_mode(mode_before)}\n"
    before = _lines(original, path, mode_before, clean) if existed else []
    after = _lines(workspace.inside, path, mode_now, clean) if exists else []
    old, new = _name("a", path) if existed else _NO_FILE, _name("b", path) if exists else _NO_FILE
    if before is None or after is None:
        yield f"Binary files {old} and {new} differ\n"
        return
    for line in _hunks(before, after, old, new):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _hunks(before: list[str], after: list[str], old: str, new: str) -> Iterator[str]:
    """The header and hunks of a file.

    ``difflib`` takes quadratic time. So common lines at both ends are cut off first; if the rest is still too much, it
    is shown as one hunk that replaces everything.
    """
    from difflib import unified_diff

    same = _common_prefix(before, after)
    rest = (before[same:], after[same:])
    end = min(len(rest[0]), len(rest[1]), _common_prefix(rest[0][::-1], rest[1][::-1]))
    first, last = max(0, same - _CONTEXT_LINES), max(0, end - _CONTEXT_LINES)
    before, after = before[first : len(before) - last], after[first : len(after) - last]
    if len(before) * len(after) > MAX_DIFF_COMPARISONS:
        yield from (f"--- {old}\n", f"+++ {new}\n", f"@@ -{first + 1},{len(before)} +{first + 1},{len(after)} @@\n")
        yield from (f"-{line}" for line in before)
        yield from (f"+{line}" for line in after)
        return
    for line in unified_diff(before, after, old, new):
        is_header = line.startswith("@@")  # its line numbers do not count the lines that were cut off
        yield _HUNK_POSITION.sub(lambda found: f"{found[1]}{int(found[2]) + first}", line) if is_header else line


def _common_prefix(before: list[str], after: list[str]) -> int:
    """The number of equal lines at the beginning."""
    different = (number for number, (old, new) in enumerate(zip(before, after, strict=False)) if old != new)
    return next(different, min(len(before), len(after)))


def _name(side: str, path: str) -> str:
    """A file name as git writes it: quoted if it has control characters, quotes or backslashes."""
    if path.isprintable() and not _ESCAPES.keys() & set(path):
        return f"{side}/{path}"
    return f'"{side}/{"".join(map(_quoted, path))}"'


def _quoted(character: str) -> str:
    if character in _ESCAPES:
        return f"\\{_ESCAPES[character]}"
    return character if character.isprintable() else "".join(f"\\{byte:03o}" for byte in os.fsencode(character))


def _lines(
    folder: SessionFiles | Folder | None, path: str, mode: int | None, clean: Callable[[str], str]
) -> list[str] | None:
    """The lines of a text, or the target of a link; None for binary, too large and unknown content."""
    if folder is None or mode is None:
        return None
    if stat.S_ISLNK(mode):
        target = folder.readlink(path)
        return None if target is None else [target]
    content = folder.read(path, MAX_DIFF_FILE_BYTES)
    if content is None or b"\0" in content:
        return None
    text = clean(content.decode("utf-8", "replace"))
    lines = text.split("\n")  # not splitlines: for git only a line feed ends a line
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _mode(mode: int | None) -> str:
    return "120000" if stat.S_ISLNK(mode or 0) else "100755" if (mode or 0) & stat.S_IXUSR else "100644"
