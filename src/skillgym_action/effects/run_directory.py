"""The run directory door: artifacts and the journal, redacted as they are written.

A file that must be whole is written beside its place and renamed. Any failure to write raises OutputError, once and
in words, since a full disk or a read-only folder is nobody's bug.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from skillgym_action.effects.repository import IGNORE_ALL
from skillgym_action.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillgym_action.redaction import Redactor

JOURNAL = "journal.jsonl"
CHUNK = 4 * 1024 * 1024


class RunDirectory:
    """One run's folder."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        """``path`` is absolute; it is made on first use."""
        self.path = path
        self.redactor = redactor
        self._journal: IO[bytes] | None = None
        self._made: set[str] = set()

    def __enter__(self) -> Self:
        with _writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            if not any(self.path.iterdir()):  # our own, hence nothing to commit or to search for suites
                (self.path / ".gitignore").write_bytes(IGNORE_ALL)
            self._journal = (self.path / JOURNAL).open("ab", buffering=0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._journal:
            self._journal.close()

    def folder(self, relative: str) -> Path:
        """A folder for artifacts, without those of an earlier run into the same directory."""
        path = os.fspath(self.path)
        *above, last = relative.split("/")
        with _writing(self.path / relative):
            for part in above:
                path = f"{path}/{part}"
                if path not in self._made:
                    os.makedirs(path, exist_ok=True)
                    self._made.add(path)
            path = f"{path}/{last}"
            try:
                os.mkdir(path)
            except FileExistsError:
                shutil.rmtree(path)
                os.mkdir(path)
        return Path(path)

    def note(self, entry: Mapping[str, object]) -> None:
        """One line in the journal, written at once, so that a run that is killed loses nothing that was finished."""
        line = self.redactor.text(json.dumps(entry, ensure_ascii=True)) + "\n"
        with _writing(self.path / JOURNAL):
            if self._journal:
                self._journal.write(line.encode())

    def write(self, path: Path, text: str) -> None:
        """A small artifact."""
        with _writing(path), open(path, "wb", buffering=0) as file:
            file.write(self.redactor.text(text).encode(errors="backslashreplace"))

    def redact(self, *paths: Path) -> None:
        """Rewrite what programs wrote there themselves, where it holds a secret. Symlinks are not followed."""
        for path in paths:
            size = _size(path)
            if not size:
                continue
            with _writing(path), path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
                if size > CHUNK:
                    self._replace(path, self.redactor.stream(iter(lambda: file.read(CHUNK), "")))
                elif (clean := self.redactor.text(text := file.read())) != text:
                    self._replace(path, [clean])

    def take(self, files: Iterable[Path], folder: Path) -> None:
        """Keep the agent's own record of a session as ``session.jsonl``."""
        for file in files:
            with _writing(folder):
                shutil.copyfile(file, folder / "session.jsonl")
            self.redact(folder / "session.jsonl")

    def keep(self, files: Iterable[Path], home: Path, target: Path) -> None:
        """Copy files to ``target``, as they lie below ``home``."""
        for file in files:
            copy = target / file.relative_to(home)
            with _writing(copy):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
            self.redact(copy)

    def record(self, session: str, target: Path) -> None:
        """Copy what is needed to play a session again; its workspace becomes ``/workspace`` wherever it is named."""
        source = self.path / session
        if not (source / "report.json").is_file():
            return
        with _writing(target):
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir(parents=True)
            text = (source / "report.json").read_text(encoding="utf-8")
            report = text.replace(json.loads(text)["cwd"], "/workspace")
            (target / "report.json").write_text(json.dumps(json.loads(report), indent=1) + "\n", encoding="utf-8")
            shutil.copyfile(source / "workspace.json", target / "workspace.json")
            if (source / "changes").is_dir():
                shutil.copytree(source / "changes", target / "changes", symlinks=True)

    def write_whole(self, path: Path, pieces: Iterable[str]) -> None:
        """A report: complete or not there at all."""
        with _writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._replace(path, map(self.redactor.text, pieces))

    def _replace(self, path: Path, pieces: Iterable[str]) -> None:
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with beside.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                file.writelines(pieces)
            if path.exists():
                shutil.copymode(path, beside)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


def _size(path: Path) -> int:
    """Of a regular file; 0 where there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot write {path}: {error.strerror or error}",
            remedy="free space there, or choose another folder with --output",
        ) from error
