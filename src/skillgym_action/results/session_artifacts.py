"""Artifacts of sessions for reports. They may come from untrusted runs: sizes are limited, and no link is followed."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any

from skillgym_action.model.limits import MAX_ARTIFACT_CONTAINERS, MAX_ARTIFACT_MEMBERS, MAX_ARTIFACT_VALUES
from skillgym_action.model.records import record
from skillgym_action.model.session import NOT_STORED, PARTIAL_REPORT, REPORT, SessionArtifacts, StoredText
from skillgym_action.results.run_files import entries_of, is_folder, read_ends, read_file
from skillgym_action.text.documents.json_text import Extent, refuse_large
from skillgym_action.text.documents.located_values import NotationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

MAX_ARTIFACT_JSON_BYTES = 32 * 1024 * 1024  # of a session report or a question to the judge; larger ones are not shown
MAX_SHOWN_CHANGED_FILES = 50  # of a session without a stored diff
MAX_SHOWN_LOGS = 40  # of a session
MAX_SHOWN_QUESTIONS = 40  # of a session to the judge
DIFF = "changes.diff"
CHANGES = "changes"
_EXTENT = Extent(containers=MAX_ARTIFACT_CONTAINERS, values=MAX_ARTIFACT_VALUES, members=MAX_ARTIFACT_MEMBERS)
_AMBIGUOUS = ": it is not known which is of this session; give the suites different names"
_SHOWN = {"changed file": MAX_SHOWN_CHANGED_FILES, "question": MAX_SHOWN_QUESTIONS, "log": MAX_SHOWN_LOGS}
_LOG = re.compile(
    r"session\.jsonl|"
    r"(?:(?:bootstrap|(?:before|after)_(?:all|each)|fetch|(?:command|prepare|turn)-\d{1,6})\.)?(?:stdout|stderr)\.log"
)
_QUESTION = re.compile(r"judge-(\d{1,6})\.json")


@record(kw_only=False)
class ArtifactRoot:
    """A run directory: ``parts`` below ``folder``, which is trusted. No link is followed from there on."""

    folder: Path
    parts: tuple[str, ...] = ()
    path: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", os.path.join(self.folder, *self.parts))


@record
class RunArtifacts:
    """Fulfils ``model.session.ArtifactSource``.

    ``roots``: the run directories in which sessions are searched; a session that several have is not shown. ``redact``:
    takes out secrets.
    """

    roots: Sequence[ArtifactRoot]
    redact: Callable[[str], str]
    baseline: ArtifactRoot | None = None

    def session(self, directory: str, most: int) -> SessionArtifacts:
        """The artifacts of a session of the run."""
        return self._read(self.roots, directory, most)

    def baseline_session(self, directory: str, most: int) -> SessionArtifacts:
        """The artifacts of a session of the baseline."""
        return self._read([self.baseline] if self.baseline else [], directory, most)

    def _read(self, roots: Iterable[ArtifactRoot], directory: str, most: int) -> SessionArtifacts:
        found = []
        below = directory.split("/")
        if any(part in ("", ".", "..") for part in below):
            return NOT_STORED
        # Of many merged runs one has the session. This finds the others with one call each; it may pass links, and so
        # only decides where to look.
        with_it = dict.fromkeys(root for root in roots if os.path.lexists(f"{root.path}/{directory}"))
        for root in with_it:
            parts = (*root.parts, *below)
            with suppress(OSError):
                if is_folder(root.folder, parts):
                    found.append(_SessionFolder(root.folder, parts, most, self.redact))
        if len(found) > 1:  # jobs whose suites have the same name: another session's evidence would be a lie
            return SessionArtifacts(
                problems=(f"{len(found)} of the merged runs have a folder {directory}{_AMBIGUOUS}",)
            )
        with suppress(OSError):
            return found[0].artifacts() if found else NOT_STORED
        return NOT_STORED


@record(kw_only=False)
class _SessionFolder:
    folder: Path
    parts: tuple[str, ...]
    most: int
    redact: Callable[[str], str]
    problems: list[str] = field(default_factory=list)

    def artifacts(self) -> SessionArtifacts:
        """Read all that is there. Raises OSError if the folder cannot be listed."""
        names = entries_of(self.folder, self.parts)
        workspace = self._object("workspace.json", names)
        if PARTIAL_REPORT in names:
            self.problems.append(f"the session was ended in the middle: {PARTIAL_REPORT} has what is known of it")
        diff = next(self._texts([DIFF] if DIFF in names else []), None)
        changed = () if diff or CHANGES not in names else tuple(self._texts(self._changed(workspace)))
        questions = sorted((name for name in names if _QUESTION.fullmatch(name)), key=_number)
        logs = sorted(filter(_LOG.fullmatch, names), key=_log_order)
        return SessionArtifacts(
            report=self._object(REPORT, names) or self._object(PARTIAL_REPORT, names),
            workspace=workspace,
            questions=tuple(filter(None, (self._object(name, names) for name in self._first(questions, "question")))),
            diff=diff,
            changed=changed,
            logs=tuple(self._texts(self._first(logs, "log"))),
            problems=tuple(self.problems),
        )

    def _object(self, name: str, names: Sequence[str]) -> Mapping[str, Any] | None:
        """The JSON object in a file; None if there is no such file, or it cannot be used."""
        if name not in names:
            return None
        try:
            content = read_file(self.folder, (*self.parts, name), MAX_ARTIFACT_JSON_BYTES).data
            refuse_large(content, _EXTENT)
            text = content.decode()
            value = json.loads(text)
        except (OSError, NotationError, ValueError, RecursionError) as error:
            self.problems.append(f"{name} cannot be read: {_reason(error)}")
            return None
        if self.redact(text) != text:
            value = _redacted(value, self.redact)
        if not isinstance(value, dict):
            self.problems.append(f"{name} is not a JSON object")
            return None
        return value

    def _texts(self, names: Iterable[str]) -> Iterator[StoredText]:
        for name in names:
            try:
                head, tail, size = read_ends(self.folder, (*self.parts, *name.split("/")), self.most)
            except OSError as error:
                self.problems.append(f"{name} cannot be read: {_reason(error)}")
                continue
            texts = [self.redact(part.decode("utf-8", "replace")) for part in (head, tail)]
            left_out = size - len(head) - len(tail)
            yield StoredText(name=name, head=texts[0], tail=texts[1], left_out=left_out or None)

    def _changed(self, workspace: Mapping[str, Any] | None) -> list[str]:
        """Paths of changed files that are stored."""
        listed = [*_strings(workspace, "created"), *_strings(workspace, "modified")]
        paths = (path for path in listed if not {"", ".", ".."} & set(path.split("/")))
        return self._first([f"{CHANGES}/{path}" for path in paths], "changed file")

    def _first(self, names: list[str], noun: str) -> list[str]:
        """As many names as are shown; how many there are besides is a problem."""
        if more := max(0, len(names) - _SHOWN[noun]):
            self.problems.append(f"{more:,} more {noun}{'' if more == 1 else 's'} in the run directory, not shown here")
        return names[: _SHOWN[noun]]


def run_directory_of(path: Path) -> Path:
    """The run directory that is named by itself, or by its results file."""
    return path if path.is_dir() else path.parent


def artifact_root(results: Path, cwd: Path, *, confined: bool) -> ArtifactRoot:
    """The run directory of a results file. ``confined``: below ``cwd`` no component may be a link."""
    folder = (cwd / results).parent
    if confined and folder.is_relative_to(cwd) and ".." not in folder.parts:
        return ArtifactRoot(cwd, folder.relative_to(cwd).parts)
    return ArtifactRoot(folder)


def _strings(value: Mapping[str, Any] | None, key: str) -> list[str]:
    found = value.get(key) if value else None
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def _redacted(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_redacted(item, redact) for item in value]
    if isinstance(value, dict):
        return {redact(key): _redacted(item, redact) for key, item in value.items()}
    return value


def _number(name: str) -> int:
    return int(re.sub(r"\D", "", name))


def _log_order(name: str) -> tuple[int, int, str]:
    """The agent's own output first, in a conversation of all turns, then its record, then commands by number."""
    own = ("stdout.log", "stderr.log", "turn", "session.jsonl")
    what = "turn" if name.startswith("turn-") else name
    number = int(re.sub(r"\D", "", name) or 0)
    return own.index(what) if what in own else len(own), number, name


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, RecursionError):
        return "its values are nested too deep"
    return error.message if isinstance(error, NotationError) else "it is not JSON"
