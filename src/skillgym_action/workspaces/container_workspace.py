"""The workspace of a session whose programs run in a container.

It is prepared in a folder like any other, then copied into the container, over what the image has there. The folder
stays a copy: after a program has run it is out of date, and renewed before a file is looked at. So assertions, checks
and reports see files as they do without a container, and no program of the session can change the copy.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.model.containers import ContainerCommand, Owner
from skillgym_action.model.errors import SandboxError
from skillgym_action.model.records import record
from skillgym_action.model.session import Capture, Ending, SessionPlaces
from skillgym_action.model.session_report import FileRead, FileWrite
from skillgym_action.system.files.bundle import BundleEntry, BundleError, BundleLimits
from skillgym_action.system.files.folder import Folder
from skillgym_action.system.files.open_below import FOLDER_FLAGS
from skillgym_action.system.files.packing import folder_entries
from skillgym_action.system.files.removal import remove_path
from skillgym_action.system.processes.outputs import OutputFile
from skillgym_action.workspaces.template import Template
from skillgym_action.workspaces.workspace import SessionWorkspace, changes_between, extract_bundle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from skillgym_action.model.containers import RefusedConnection
    from skillgym_action.model.session import Invocation, Watcher
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.system.containers import SandboxContainer
    from skillgym_action.system.processes.work_slots import WorkSlots
    from skillgym_action.workspaces.session_folder import SessionFiles
    from skillgym_action.workspaces.workspace import Changes

MAX_COPIED_BYTES = 2 * 1024**3  # of a workspace or a home that is copied out of a container
MAX_SUITE_PROGRAM_BYTES = 16 * 1024**2  # of a file of a suite that is put into a container
SESSION_FOLDER = "/skillgym"
"""In the container: home and scratch folder of the agent, homes of graders. It belongs to root."""
REMOVED_PATHS_AT_ONCE = 500  # of one command in the container
PRIVATE_MODE, READABLE_MODE, PROGRAM_MODE = 0o700, 0o755, 0o755
COPY_LIMITS = BundleLimits(file_bytes=MAX_COPIED_BYTES, total_bytes=MAX_COPIED_BYTES)
_WILDCARDS = frozenset("*?[")


@record
class EnteredContainer:
    """A container that a session is about to use.

    ``workdir``: the folder of the workspace in it, absolute. ``owner``: of the files of the session. ``has_files``:
    whether the image has files in that folder; ``exists``: whether it has the folder.
    """

    container: SandboxContainer
    workdir: str
    owner: Owner
    has_files: bool
    exists: bool


class ContainerPrograms:
    """Runs the programs of a session in its container; fulfils ``session.Programs``."""

    def __init__(self, container: SandboxContainer, slots: WorkSlots, ran: Callable[[], None]) -> None:
        """``ran`` is called after each program. While one runs, the session occupies none of the ``slots``."""
        self._container, self._slots, self._ran = container, slots, ran

    def run(self, invocation: Invocation, *, stdout: Path, stderr: Path, watch: Watcher | None = None) -> Capture:
        """Run a program in the container. User, limits and folders of the invocation do not count: it has its own."""
        if not invocation.argv:
            out, err = OutputFile(stdout), OutputFile(stderr)
            return Capture(ending=Ending.EXITED, exit_code=0, stdout=out, stderr=err, seconds=0.0)
        command = ContainerCommand(
            argv=invocation.argv,
            env=invocation.env,
            cwd=os.fspath(invocation.cwd),
            timeout=invocation.timeout,
            stdin=invocation.stdin,
        )
        try:
            with self._slots.released():
                return self._container.run(command, stdout=stdout, stderr=stderr, watch=watch)
        finally:
            self._ran()


class ContainerWorkspace(SessionWorkspace):
    """``path`` is a copy of the folder in the container; until ``enter`` there is no container."""

    def __init__(self, *arguments: object, records: Path, **settings: object) -> None:
        """``records``: a path for a folder of files that are taken out of the container; it does not exist yet."""
        super().__init__(*arguments, **settings)  # type: ignore[arg-type]
        self._records = records
        self._container: SandboxContainer | None = None
        self._owner = Owner()
        self._is_stale = False
        self._exported: Template | None = None
        self._logs = 0

    # --- the container ----------------------------------------------------------------------------------

    def enter(self, entered: EnteredContainer, slots: WorkSlots) -> None:
        """Copy the workspace into the container, whose files count as part of it from now on. Raises OSError."""
        container, owner = entered.container, entered.owner
        if not self.installed.paths:
            self._inside.begin()  # links the folders of skills
        self._container, self._owner = container, owner
        base = PurePosixPath(SESSION_FOLDER)
        self.places = SessionPlaces(
            workspace=Path(entered.workdir), home=Path(base / "home"), scratch=Path(base / "tmp")
        )
        self.programs = ContainerPrograms(container, slots, self.mark_stale)
        with _as_oserror():
            entries = self._inside.whole()
            first = next(entries, None)
            if first or not entered.exists:
                above, name = os.path.split(entered.workdir.rstrip("/"))
                if name:
                    container.put([BundleEntry("folder", name, READABLE_MODE)], above, owner)
            if first:
                container.put(_chained(first, entries), entered.workdir, owner)
            container.put([_folder("home"), _folder("tmp")], SESSION_FOLDER, owner)
        self._is_stale = entered.has_files

    def close(self) -> None:
        """Remove the container; the copy stays as it is."""
        container, self._container, self._is_stale = self._container, None, False
        self.programs = None
        if container:
            container.remove()
        exported, self._exported = self._exported, None
        if exported and exported.folder and exported.root:
            os.close(exported.folder.fd)
            with suppress(OSError):
                remove_path(exported.root)

    @property
    def in_container(self) -> bool:
        return self._container is not None

    @property
    def container(self) -> SandboxContainer:
        """The container. Raises OSError if there is none, or no longer."""
        if self._container is None:
            raise OSError("the container of the session is gone")
        return self._container

    def refused_connections(self) -> tuple[RefusedConnection, ...]:
        """The connections that the network of the container refused; () also where it cannot be asked."""
        with suppress(SandboxError, OSError):
            return self.container.refused()
        return ()

    def mark_stale(self) -> None:
        """The copy is out of date, since a program has run in the container or files were put there."""
        self._is_stale = True

    # --- files ------------------------------------------------------------------------------------------

    @property
    def inside(self) -> SessionFiles:
        """Access to the copy, which is renewed first if a program has run. Raises OSError."""
        files = super().inside
        if self._is_stale:
            self._renew()
        return files

    def _renew(self) -> None:
        files = self._inside
        with _as_oserror():
            entries = self.container.get(str(self.places.workspace), COPY_LIMITS)
            files.empty()
            with suppress(FileNotFoundError):  # a program of the session removed the folder
                files.unpack(self.folder.look.checked(entries))
        files.open_up()
        self._is_stale = False

    def put_folder(self, folder: Path, path: str) -> None:
        """Copy a folder of this machine to an absolute path; root owns the copies, and all may read. Raises OSError."""
        fd = os.open(folder, FOLDER_FLAGS)
        try:
            with _as_oserror():
                self.container.put(_readable(folder_entries(Folder(fd))), path)
        finally:
            os.close(fd)
        self.mark_stale()

    def write_file(self, path: str, content: bytes, mode: int) -> None:
        super().write_file(path, content, mode)
        with _as_oserror():
            self.container.put(_with_folders(path, content, mode), str(self.places.workspace), self._owner)

    def remove_paths(self, paths: Iterable[str]) -> None:
        found = tuple(paths)
        super().remove_paths(found)
        for start in range(0, len(found), REMOVED_PATHS_AT_ONCE):
            some = tuple(f"./{path}" for path in found[start : start + REMOVED_PATHS_AT_ONCE])
            self._run_as_root(("rm", "-rf", "--", *some))
        if found:
            self._check_removed(found)

    def _check_removed(self, paths: Iterable[str]) -> None:
        """Raise OSError if one of them is still in the container, whose programs are those of its image."""
        self.mark_stale()
        if left := sorted(self.inside.snapshot().keys() & set(paths)):
            raise OSError(f"rm in the container did not remove {left[0]}")

    def _run_as_root(self, argv: tuple[str, ...]) -> None:
        """Run a program of the tool in the container. Raises OSError."""
        self._records.mkdir(parents=True, exist_ok=True)
        self._logs += 1
        stdout, stderr = (self._records / f"{self._logs}.{name}" for name in ("stdout", "stderr"))
        command = ContainerCommand(argv=argv, user="0:0", cwd=str(self.places.workspace))
        capture = self.container.run(command, stdout=stdout, stderr=stderr)
        if capture.ending is not Ending.EXITED or capture.exit_code:
            raise OSError(f"{argv[0]} in the container: {capture.error or stderr.read_text(errors='replace')}")

    @contextmanager
    def changed_by_tool(self) -> Iterator[None]:
        """Surround a program of the tool that changes the copy: the container is changed in the same way afterwards."""
        before = self.inside.snapshot()
        yield
        after = self._inside.snapshot()
        self._apply(changes_between(before, after, lambda path, entry: before.get(path) != entry))

    def _apply(self, changes: Changes) -> None:
        written = (*changes.created, *changes.modified)
        if written:
            with _as_oserror():
                self.container.put(self._inside.pack(written), str(self.places.workspace), self._owner)
        if changes.deleted:
            self.remove_paths(changes.deleted)

    def reachable(self, argv: tuple[str, ...], root: Path) -> tuple[str, ...]:
        """Files below ``root`` that are words of the command are put into the container, and named there."""
        found: list[str] = []
        for number, word in enumerate(argv):
            file = Path(word)
            if not (file.is_absolute() and file.is_relative_to(root) and file.is_file() and not file.is_symlink()):
                found.append(word)
                continue
            if file.stat().st_size > MAX_SUITE_PROGRAM_BYTES:
                raise OSError(None, "is too large to be put into the container", word)
            folder, content = f"{SESSION_FOLDER}/programs/{number}", file.read_bytes()
            entry = BundleEntry("file", file.name, PROGRAM_MODE).with_content(len(content), content)
            with _as_oserror():
                self.container.put([entry], folder)
            found.append(f"{folder}/{file.name}")
        return tuple(found)

    # --- homes ------------------------------------------------------------------------------------------

    def renew_copy(self) -> None:
        if self._is_stale:
            self._renew()

    def report_of_copy(self, report: SessionReport) -> SessionReport:
        self.renew_copy()
        here, there = str(self.path), str(self.places.workspace)
        if report.cwd != there:
            return report

        def moved(path: str) -> str:
            return here + path[len(there) :] if path == there or path.startswith(f"{there}/") else path

        events = tuple(
            replace(event, path=moved(event.path)) if isinstance(event, FileRead | FileWrite) else event
            for event in report.events
        )
        files = replace(
            report.files,
            observed_reads=tuple(map(moved, report.files.observed_reads)),
            observed_skill_reads=tuple(map(moved, report.files.observed_skill_reads)),
        )
        return replace(report, cwd=here, events=events, files=files)

    def agent_env(self) -> dict[str, str]:
        return {"HOME": str(self.places.home), "TMPDIR": str(self.places.scratch)}

    def grader_env(self, *, here: bool = False) -> dict[str, str]:
        if here or self._container is None:
            return super().grader_env()
        name = f"grader-{os.urandom(4).hex()}"
        with _as_oserror():
            self.container.put([_folder(name)], SESSION_FOLDER, self._owner)
        return {"HOME": f"{SESSION_FOLDER}/{name}", "TMPDIR": str(self.places.scratch)}

    def write(self, files: Mapping[Path, str]) -> None:
        for path, text in files.items():
            if not path.is_relative_to(SESSION_FOLDER):
                raise OSError(None, "not in the session's folders", os.fspath(path))
            content = text.encode("utf-8", "backslashreplace")
            self._put_into_session(path.relative_to(SESSION_FOLDER).as_posix(), content, 0o600)

    def write_home(self, path: str, content: bytes, mode: int) -> None:
        self._put_into_session(f"home/{path}", content, mode)

    def _put_into_session(self, path: str, content: bytes, mode: int) -> None:
        top, _, below = path.partition("/")
        with _as_oserror():
            self.container.put(_with_folders(below, content, mode), f"{SESSION_FOLDER}/{top}", self._owner)

    def collect(self, patterns: tuple[str, ...], target: Path) -> tuple[Path, ...]:
        if not patterns:
            return ()
        folder = _fixed_folder(patterns)
        copy = self._records.with_name(f"{self._records.name}-{os.urandom(4).hex()}")
        try:
            with _as_oserror():
                extract_bundle(self.container.get(str(self.places.home / folder), COPY_LIMITS), copy)
        except FileNotFoundError:
            return ()
        try:
            return tuple(_matching_copies(copy, folder, patterns, target))
        finally:
            remove_path(copy)

    def remove_from_home(self, name: str) -> None:
        self._run_as_root(("rm", "-f", "--", str(self.places.home / name)))

    def restore_folders(self) -> None:
        """Make the folder of the workspace again if the agent removed it: no program could be started otherwise."""
        with suppress(SandboxError):  # there is something else in its place
            self.container.put((), str(self.places.workspace), self._owner)

    # --- the state before the agent ---------------------------------------------------------------------

    def record_state(self) -> None:
        """Take a snapshot; of a workspace that the image or a program has added to, all that is in the container."""
        if self._is_stale:
            self._export()
            return
        self._left = None
        self._before = self._snapshot()

    def count_from_now(self) -> None:
        if self._is_stale:
            self._export()
        else:
            super().count_from_now()

    def _export(self) -> None:
        """Keep a copy of the workspace as it is in the container, for diffs. Raises OSError."""
        root = self._records.with_name(f"{self._records.name}-before")
        with _as_oserror(), suppress(FileNotFoundError):
            extract_bundle(self.container.get(str(self.places.workspace), COPY_LIMITS), root)
        root.mkdir(exist_ok=True, parents=True)
        self._exported = self._template = Template(root, os.open(root, FOLDER_FLAGS))
        self._digests, self._left = {}, None
        if self._exported.folder:
            self._before = self._without_made(self._exported.folder.snapshot("", self._without))


@contextmanager
def _as_oserror() -> Iterator[None]:
    """A failure of the sandbox is one of the workspace for those who use files."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (SandboxError, BundleError) as error:
        raise OSError(str(error)) from error


def _chained(first: BundleEntry, others: Iterable[BundleEntry]) -> Iterator[BundleEntry]:
    yield first
    yield from others


def _folder(name: str) -> BundleEntry:
    return BundleEntry("folder", name, PRIVATE_MODE)


def _with_folders(path: str, content: bytes, mode: int) -> Iterator[BundleEntry]:
    """A file, after the folders that it is in."""
    parents = PurePosixPath(path).parents
    for folder in reversed(parents[:-1]):
        yield BundleEntry("folder", folder.as_posix(), READABLE_MODE)
    yield BundleEntry("file", path, mode).with_content(len(content), content)


def _fixed_folder(patterns: tuple[str, ...]) -> str:
    """The folder that all files of the patterns are in, as far as they name it without wildcards."""
    parents = [list(takewhile(lambda name: not _WILDCARDS & set(name), each.split("/")[:-1])) for each in patterns]
    same = takewhile(lambda names: len(set(names)) == 1, zip(*parents, strict=False))
    return "/".join(names[0] for names in same)


def _matching_copies(copy: Path, folder: str, patterns: tuple[str, ...], target: Path) -> Iterator[Path]:
    """Copy the files of ``copy`` that match to ``target``, below which they have the paths that they had in the home.

    ``copy`` is one of ``folder``. Raises OSError.
    """
    prefix = f"{folder}/" if folder else ""
    opened = os.open(copy, FOLDER_FLAGS)
    try:
        files = Folder(opened)
        names = files.files(pattern.removeprefix(prefix) for pattern in patterns)
        if names:
            extract_bundle(folder_entries(files, names), target / folder)
    finally:
        os.close(opened)
    for name in names:
        yield target / folder / name


def _readable(entries: Iterator[BundleEntry]) -> Iterator[BundleEntry]:
    """The entries, which everybody may read, and start if their owner may."""
    for entry in entries:
        if entry.kind == "folder":
            entry.mode |= READABLE_MODE
        elif entry.kind == "file":
            entry.mode |= 0o555 if entry.mode & 0o100 else 0o444
        yield entry
