"""The run directory: artifacts and the journal, redacted as they are written, and files replaced at once.

A file that must be complete is written under a temporary name and renamed. Any failure to write raises OutputError: a
full disk or a read-only folder is a problem of the environment, not an internal error.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from skillgym_action.model.errors import OutputError, UsageError, path_remedy
from skillgym_action.model.limits import MAX_SESSION_REPORT_BYTES
from skillgym_action.model.session import PARTIAL_REPORT, REPORT
from skillgym_action.results.journal_file import JOURNAL, JournalFile
from skillgym_action.system.files.checked_paths import FOLDER
from skillgym_action.system.files.checkout import IGNORE_ALL, folder_to_write_in
from skillgym_action.system.files.folder import Folder
from skillgym_action.system.files.open_below import FOLDER_FLAGS
from skillgym_action.text.escaping import folder_names, with_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillgym_action.system.files.bundle import BundleEntry
    from skillgym_action.system.files.checkout import Checkout
    from skillgym_action.text.redaction import Leak, Redactor

    Found = Mapping[str, frozenset[Leak]]

REPORT_FILES = (
    ("results", "results.json"),
    ("junit", "junit.xml"),
    ("summary", "summary.md"),
    ("comment", "comment.md"),
    ("html", "report.html"),
)
"""The reports of each run, as (kind, name)."""
REPORTS = tuple(name for _, name in REPORT_FILES)
WORKSPACES = "workspaces"
STORE = "store"  # lines that the workflow uploads as an artifact
CHANGES = "changes"
_OF_FILES = (".log", *{os.path.splitext(name)[1] for name in (JOURNAL, *REPORTS)})
"""Endings of the files beside the folders of suites; logs are those of suite programs."""
HALF_WRITTEN = re.compile(r"\.[0-9a-f]{16}")  # temporary names of files that are being written


def suite_folders(names: Iterable[str]) -> dict[str, str]:
    """The folders of suites' sessions in the run directory, and in folders of recordings, by the names of the suites.

    No file of the run directory and no other folder of it has these names, also without regard to case.
    """
    return {name: with_hash(key, name) if _is_taken(key.lower()) else key for name, key in folder_names(names).items()}


def _is_taken(name: str) -> bool:
    return name in {WORKSPACES, STORE} or name.endswith(_OF_FILES)


class RunDirectory:
    """The folder of one run."""

    def __init__(
        self, path: Path, redactor: Redactor, checkout: Checkout | None = None, *, by_descriptor: bool = False
    ) -> None:
        """``path`` is absolute; it is made on first use. No link is followed to what is in ``checkout``.

        ``by_descriptor``: sessions may have rights to the folder above it, hence to put something else at ``path``.
        """
        self.path = path
        self._by_descriptor = by_descriptor
        self.open_path = path
        """A path that leads to the opened folder even if ``path`` is replaced."""
        self._checkout = checkout
        self.redactor = redactor
        self._files = RedactedFiles(redactor)
        self._is_new = False
        self._is_a_runs = True
        self.store: Path | None = None
        """The folder of ``add_to_store``; None as long as this run has added nothing."""

    def __enter__(self) -> Self:

        with self._writing(self.path), ExitStack() as stack:
            self._folder = stack.enter_context(folder_to_write_in(self.path / JOURNAL, self._checkout))
            if self._by_descriptor and os.path.isdir(opened := f"/proc/self/fd/{self._folder}"):
                self.open_path = Path(opened)
            there = set(os.listdir(self._folder))
            self._is_new = not there
            self._is_a_runs = not there or JOURNAL in there
            if self._is_new:  # git and `discover` ignore a folder that the tool made
                replace(self.path / ".gitignore", [IGNORE_ALL.decode()], self._folder)
            self.journal = JournalFile(self.path / JOURNAL, self._folder)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.journal.close()
        self._stack.close()

    def folder(self, relative: str) -> Path:
        """A new, empty folder for artifacts. What has its name is removed; no link is followed. Raises OutputError."""
        *above, last = relative.split("/")
        with self._writing(f"{self.path}/{relative}"), ExitStack() as stack:
            folder = self._folder
            for part in above:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=folder)
                folder = os.open(part, os.O_RDONLY | FOLDER, dir_fd=folder)
                stack.callback(os.close, folder)
            try:
                os.mkdir(last, dir_fd=folder)
            except FileExistsError:
                self._refuse_foreign(relative)
                if stat.S_ISDIR(_mode(last, folder)):
                    shutil.rmtree(last, dir_fd=folder)
                else:
                    os.unlink(last, dir_fd=folder)
                os.mkdir(last, dir_fd=folder)
        return Path(f"{self.open_path}/{relative}")

    def begin(self, line: str) -> None:
        """Write the first line of a new journal. Journal and reports of an earlier run are removed.

        Raises UsageError if it has entries with names that runs use, but no journal of a run.
        """
        for name in (*REPORTS, WORKSPACES):
            if os.path.exists(f"{self.open_path}/{name}") and not os.path.islink(f"{self.open_path}/{name}"):
                self._refuse_foreign(name)
        with self._writing(self.path / JOURNAL):
            self.journal.empty()
        for name in REPORTS:
            with self._writing(self.path / name), suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._folder)
        self.write_journal_line(line)

    def _refuse_foreign(self, name: str) -> None:
        """Raise UsageError unless a run before this one made what is there."""
        if not self._is_a_runs:
            with suppress(OSError):
                self.journal.empty()  # else the next run would take the folder for a run's
            raise UsageError(
                f"{self.path} contains {name}, which is not from an earlier run",
                remedy="choose another folder with --output",
            )

    def prepare_resume(self) -> None:
        """Prepare to resume: remove the journal's incomplete last line, and files that were half written."""
        with self._writing(self.path / JOURNAL):
            self.journal.remove_incomplete_line()
        for level in ("", "workspaces/*/*/*/"):
            for half in self.open_path.glob(f"{level}.*"):
                inside = half.parent.resolve().is_relative_to(self.open_path.resolve())
                if inside and HALF_WRITTEN.fullmatch(half.name):
                    self.clear(half.relative_to(self.open_path).as_posix())

    def write_journal_line(self, line: str) -> None:
        """Write a line to the journal at once, so that a killed run loses no finished session."""
        with self._writing(self.path / JOURNAL):
            self.journal.add(self.redactor.text(line))

    def clear(self, folder: str) -> None:
        """Remove what an earlier run left at ``folder``, or a link. May raise UsageError."""
        if self._is_new:
            return
        from skillgym_action.system.files.removal import remove_path

        path = self.open_path
        with self._writing(self.path / folder):
            for part in folder.split("/"):
                path /= part
                if path.is_symlink():
                    self._refuse_foreign(folder)
                    path.unlink()
                if not path.exists():
                    return
            self._refuse_foreign(folder)
            if path.is_dir():
                remove_path(path)
            else:
                path.unlink()

    def write(self, path: Path, text: str) -> None:
        """A small artifact."""
        with self._writing(path):
            try:
                _write(path, self.redactor.text(text).encode(errors="backslashreplace"))
            except OSError:
                with suppress(OSError):
                    path.unlink()
                raise

    def add_to_store(self, name: str, text: str) -> None:
        """The only file of the folder that the workflow's next step uploads. Raises OutputError."""
        self.write(self.folder(STORE) / name, text)
        self.store = self.path / STORE

    def redact(self, *paths: Path) -> Found:
        """Take secrets out of what programs wrote there themselves; what they were, by name. No link is followed."""
        found = {}
        for path in paths:
            with self._writing(path):
                if leaks := self._files.rewrite(path):
                    found[path.name] = leaks
        return found

    def look(self, entries: Iterable[BundleEntry]) -> Found:
        """The secrets in a bundle, which is not stored, by path."""
        return self._files.look(entries)

    def clean(self, root: Path, paths: Iterable[str]) -> Found:
        """The same for all that agents leave at ``paths`` below ``root``: files, links, folders, and their names."""
        with self._writing(root):
            return self._files.clean(root, paths)

    def take(self, files: Iterable[Path], target: Path) -> None:
        """Keep the agent's own record of a session, which is redacted already; of several the last one."""
        for file in files:
            with self._writing(target):
                _copy(file, target)

    def keep(self, files: Iterable[Path], home: Path, target: Path) -> None:
        """Copy redacted files below ``home`` to the same paths below ``target``, but none with a secret in its path."""
        for file in files:
            relative = file.relative_to(home)
            if self.redactor.text(str(relative)) != str(relative):
                continue
            with self._writing(target / relative):
                (target / relative).parent.mkdir(parents=True, exist_ok=True)
                _copy(file, target / relative)

    def has_session(self, session: str) -> bool:
        """Whether there is a folder of a session's artifacts, and no link leads to it."""
        with ExitStack() as stack, suppress(OSError):
            return self._session(session, stack) is not None
        return False

    def record(self, session: str, target: Path) -> None:
        """Copy what is needed to replay a session. The path of its workspace becomes ``/workspace`` everywhere.

        No link is followed: the run directory may be a committed one.
        """
        with self._writing(target), ExitStack() as stack:
            source = self._session(session, stack)
            if source is None:
                return
            reports = {name: source.read(name, MAX_SESSION_REPORT_BYTES) for name in (REPORT, PARTIAL_REPORT)}
            name, report = next(((name, found) for name, found in reports.items() if found), (REPORT, None))
            summary = source.read("workspace.json", MAX_SESSION_REPORT_BYTES)
            if report is None or summary is None:
                return
            text = report.decode()
            played = text.replace(json.loads(text)["cwd"], "/workspace")
            files = {name: f"{json.dumps(json.loads(played), indent=1)}\n".encode(), "workspace.json": summary}
            above = stack.enter_context(folder_to_write_in(target, self._checkout))
            temporary = f".{os.urandom(8).hex()}"
            os.mkdir(temporary, dir_fd=above)
            try:
                _fill(above, temporary, files, source)
                Folder(above).remove([target.name])
                os.rename(temporary, target.name, src_dir_fd=above, dst_dir_fd=above)
            finally:
                Folder(above).remove([temporary])

    def copy_changes(self, session: str, target: Path) -> None:
        """Copy the files that a session changed to ``target``, replacing what is there, if only by nothing.

        No link is followed: both may be in a committed folder.
        """
        from skillgym_action.system.files.packing import copy_into

        with self._writing(target), ExitStack() as stack:
            source = self._session(f"{session}/{CHANGES}", stack)
            above = stack.enter_context(folder_to_write_in(target, self._checkout))
            Folder(above).remove([target.name])
            if source is None:
                return
            os.mkdir(target.name, dir_fd=above)
            copy = os.open(target.name, os.O_RDONLY | FOLDER, dir_fd=above)
            stack.callback(os.close, copy)
            copy_into(source, Folder(copy))

    def remove_file(self, path: Path) -> None:
        """Remove a file of an earlier report; nothing if there is none. Raises OutputError."""
        with self._writing(path), folder_to_write_in(path, self._checkout) as above:
            Folder(above).remove([path.name])

    def _session(self, session: str, stack: ExitStack) -> Folder | None:
        """A session's folder, which ``stack`` closes; None if there is none, or if it is a link."""
        folder = self._folder
        for part in session.split("/"):
            if not stat.S_ISDIR(_mode(part, folder)):
                return None
            folder = os.open(part, os.O_RDONLY | FOLDER, dir_fd=folder)
            stack.callback(os.close, folder)
        return Folder(folder)

    def write_whole(self, path: Path, pieces: Iterable[str]) -> None:
        """Write a report completely or not at all; to a device or a FIFO, such as ``/dev/stdout``, piece by piece."""
        clean = map(self.redactor.text, pieces)
        with self._writing(path):
            if not (self._checkout and self._checkout.contains(path) and path.is_symlink()) and _is_device(path):
                with open(path, "w", encoding="utf-8", errors="surrogateescape", opener=_append_at_once) as device:
                    device.writelines(clean)
                return
            with folder_to_write_in(path, self._checkout) as folder:
                replace(path, clean, folder)

    @contextmanager
    def _writing(self, path: Path | str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            shown = os.fspath(path)
            if shown.startswith(f"{self.open_path}/"):
                shown = f"{self.path}{shown.removeprefix(os.fspath(self.open_path))}"
            raise OutputError(
                f"cannot write {shown}: {error.strerror or error}",
                remedy=path_remedy(error),
            ) from error


def _fill(above: int, name: str, files: Mapping[str, bytes], source: Folder) -> None:
    """Put files into a new folder, and a copy of the changes in ``source``. Raises OSError."""
    from skillgym_action.system.files.packing import copy_into

    with ExitStack() as stack:
        folder = os.open(name, os.O_RDONLY | FOLDER, dir_fd=above)
        stack.callback(os.close, folder)
        for file, content in files.items():
            Folder(folder).write(file, content, 0o644)
        if not stat.S_ISDIR(_mode(CHANGES, source.fd)):
            return
        changes = os.open(CHANGES, os.O_RDONLY | FOLDER, dir_fd=source.fd)
        stack.callback(os.close, changes)
        os.mkdir(CHANGES, dir_fd=folder)
        copy = os.open(CHANGES, os.O_RDONLY | FOLDER, dir_fd=folder)
        stack.callback(os.close, copy)
        copy_into(Folder(changes), Folder(copy))


def _mode(name: str, folder: int) -> int:
    """Of what has that name in an open folder, and be it a link; 0 where nothing has."""
    with suppress(FileNotFoundError):
        return os.lstat(name, dir_fd=folder).st_mode
    return 0


def _is_device(path: Path) -> bool:
    """Whether it is a device, a FIFO or a file of the kernel, which must not be replaced."""
    with suppress(OSError):
        mode = path.stat().st_mode
        return path.is_relative_to("/dev") or path.is_relative_to("/proc") or stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)
    return False


def _append_at_once(path: str, _: int) -> int:
    """Open without waiting for the reader of a FIFO."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)


def _write(path: Path, content: bytes) -> None:
    """Like ``Path.write_bytes``, in half the time. It is called several times per session."""
    with open(path, "wb", buffering=0, opener=_no_link) as file:
        rest = memoryview(content)
        while rest:
            rest = rest[file.write(rest) :]


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _copy(source: Path, target: Path) -> None:
    """Copy a file completely or not at all, replacing the present one."""
    from skillgym_action.system.files.contents import copy_file

    target.unlink(missing_ok=True)
    copy_file(os.fspath(source), os.fspath(target))


CHUNK = 4 * 1024 * 1024
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class RedactedFiles:
    """Takes secrets out of files, which no other process may write meanwhile.

    Secrets are taken out of content, names and links. What cannot be looked through does not stay.
    """

    def __init__(self, redactor: Redactor) -> None:
        """``redactor`` knows the secrets."""
        self._redactor = redactor

    def rewrite(self, path: Path) -> frozenset[Leak]:
        """Remove secrets from a file and return them. Does nothing unless it is a regular file.

        A file with a secret that cannot be rewritten is emptied. Raises OSError.
        """
        found: set[Leak] = set()
        if size := _size(path):
            try:
                self._rewrite(path, size, found)
            except OSError:
                if found:
                    with suppress(OSError):
                        os.truncate(path, 0)
                raise
        return frozenset(found)

    def _rewrite(self, path: Path, size: int, found: set[Leak]) -> None:
        if size > CHUNK:
            with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
                replace(path, self._redactor.stream(iter(lambda: file.read(CHUNK), ""), found))
            return
        with path.open("rb", buffering=0) as raw:
            content = raw.readall()
        if (clean := self._redactor.bytes(content, found)) != content:
            replace(path, [clean.decode("utf-8", "surrogateescape")])

    def look(self, entries: Iterable[BundleEntry]) -> Found:
        """The secrets in the content of a bundle, and in its names and links, by path."""
        found: dict[str, frozenset[Leak]] = {}
        for entry in entries:
            leaks: set[Leak] = set()
            shown = self._redactor.text(entry.path, leaks)
            self._redactor.text(entry.target, leaks)
            self._redactor.bytes(b"".join(entry.chunks()), leaks)
            if leaks:
                found[shown] = found.get(shown, frozenset()) | leaks
        return found

    def clean(self, root: Path, paths: Iterable[str]) -> Found:
        """Remove secrets from what is at ``paths`` below ``root``; the secrets that were found, by path.

        What has a secret in its name, or leads to such a name, is removed, and so is what cannot be read or rewritten.
        """
        found: dict[str, frozenset[Leak]] = {}
        for path in paths:
            leaks: set[Leak] = set()
            shown = self._redactor.text(path, leaks)
            if shown == path:
                leaks |= self._cleaned(root, path)
            else:
                remove_below(root, self._path_with_secret(path))
            if leaks:
                found[shown] = found.get(shown, frozenset()) | leaks
        return found

    def _path_with_secret(self, path: str) -> str:
        """The first folder on the way to ``path`` with a secret in its name; the path itself, if that has it."""
        parts = path.split("/")
        ways = ("/".join(parts[: number + 1]) for number in range(len(parts)))
        return next((way for way in ways if self._redactor.text(way) != way), path)

    def _cleaned(self, root: Path, path: str) -> set[Leak]:
        leaks: set[Leak] = set()
        file = root / path
        try:
            mode = os.lstat(file).st_mode
            if stat.S_ISLNK(mode):
                if self._redactor.text(target := os.readlink(file), leaks) != target:
                    file.unlink()
            else:
                leaks |= self.rewrite(file)
        except (FileNotFoundError, NotADirectoryError):
            pass  # removed with its folder
        except OSError:
            remove_below(root, path)
        return leaks


def replace(path: Path, pieces: Iterable[str], folder: int | None = None) -> None:
    """Write a temporary file and rename it, so that ``path`` is never incomplete. Raises OSError.

    ``folder``: a descriptor of its folder, which is then used instead of the path.
    """
    temporary = f".{os.urandom(8).hex()}"
    if folder is None:
        name, temporary = os.fspath(path), os.fspath(path.with_name(temporary))
    else:
        name = path.name
    try:
        with open(
            os.open(temporary, NEW, 0o666, dir_fd=folder), "w", encoding="utf-8", errors="surrogateescape", newline=""
        ) as file:
            file.writelines(pieces)
            with suppress(FileNotFoundError):
                found = os.lstat(name, dir_fd=folder).st_mode
                if stat.S_ISREG(found):
                    os.fchmod(file.fileno(), stat.S_IMODE(found))
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)


def remove_below(root: Path, path: str) -> None:
    """Remove what is at ``path`` below ``root``, which together may be longer than systems take. Raises OSError.

    Links are removed, never their targets; missing paths are no error.
    """
    with suppress(FileNotFoundError):
        folder = os.open(root, FOLDER_FLAGS)
        try:
            Folder(folder).remove([path])
        finally:
            os.close(folder)


def _size(path: Path) -> int:
    """The size of a regular file; 0 if there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
