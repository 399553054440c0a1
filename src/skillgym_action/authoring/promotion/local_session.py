"""A session that an agent's own file on this machine describes: prompts, events, and edits of files."""

from __future__ import annotations

import json
from dataclasses import field
from typing import IO, TYPE_CHECKING

from skillgym_action.agents.output.lenient_json import LenientJson
from skillgym_action.model.errors import Location, Problem, UsageError
from skillgym_action.model.limits import MAX_PROMOTED_TRANSCRIPT_BYTES
from skillgym_action.model.records import record
from skillgym_action.text.documents.json_text import Extent, refuse_large
from skillgym_action.text.documents.located_values import NotationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.session_report import Event

MAX_PROMOTED_LINE_BYTES = 16 * 1024**2  # of one line of it; longer ones are skipped
MAX_PROMOTED_LINE_CONTAINERS = 100_000  # lists and objects in one line, and values, and members of one object
_EXTENT = Extent(
    containers=MAX_PROMOTED_LINE_CONTAINERS,
    values=MAX_PROMOTED_LINE_CONTAINERS,
    members=MAX_PROMOTED_LINE_CONTAINERS,
)


@record
class Hunk:
    """A changed place of a file: the line where it begins, from 1, and lines with a sign: ``-``, ``+`` or a space."""

    line: int
    lines: tuple[str, ...]


@record
class FileEdit:
    """An edit of one file. ``path`` as in the transcript, absolute or relative to the session's folder.

    ``before``: the whole content before it, where the transcript has it. Either ``content`` (all of the file after it)
    or ``hunks`` say what changed; ``deleted``: the file is gone; ``moved_to``: its new path.
    """

    path: str
    before: str | None = None
    content: str | None = None
    hunks: tuple[Hunk, ...] = ()
    deleted: bool = False
    moved_to: str | None = None


@record
class LocalSession:
    """``cwd``: absolute path of the folder it worked in; ``began``: ISO 8601. ``skipped``: lines that were not read.

    ``commit``: the id of the commit that was checked out; Claude Code's files have the ``branch`` only.
    """

    agent: str
    cwd: str
    prompts: tuple[str, ...]
    events: tuple[Event, ...]
    edits: tuple[FileEdit, ...]
    session_id: str | None = None
    commit: str | None = None
    branch: str | None = None
    began: str | None = None
    model: str | None = None
    version: str | None = None
    skipped: tuple[str, ...] = ()


@record(frozen=False, kw_only=False)
class TranscriptLines:
    """The objects in the lines of a file; ``skipped`` says which lines could not be read, and why."""

    file: IO[bytes]
    path: str
    skipped: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[LenientJson]:
        """Yield the object of each line. Raises UsageError for a file that is too large."""
        total = number = 0
        while line := self.file.readline(MAX_PROMOTED_LINE_BYTES + 1):
            number += 1
            total += len(line)
            while len(line) > MAX_PROMOTED_LINE_BYTES and not line.endswith(b"\n"):
                rest = self.file.readline(MAX_PROMOTED_LINE_BYTES)
                total += len(rest)
                self._refuse_large(total)
                if not rest or rest.endswith(b"\n"):
                    break
            self._refuse_large(total)
            if (value := self._object(line, number)) is not None:
                yield value

    def _refuse_large(self, total: int) -> None:
        if total > MAX_PROMOTED_TRANSCRIPT_BYTES:
            message = f"is larger than {MAX_PROMOTED_TRANSCRIPT_BYTES // 1024**2} MiB"
            raise UsageError.of(Problem(message=message, location=Location(path=self.path)))

    def _object(self, line: bytes, number: int) -> LenientJson | None:
        if not line.strip():
            return None
        reason = ""
        if len(line) > MAX_PROMOTED_LINE_BYTES:
            reason = f"is longer than {MAX_PROMOTED_LINE_BYTES // 1024**2} MiB"
        else:
            try:
                refuse_large(line, _EXTENT)
                value = json.loads(line.decode("utf-8", "replace"))
            except NotationError as error:
                reason = f"has {error.message}"
            except RecursionError:
                reason = "is nested too deeply"
            except ValueError:
                reason = "is not JSON"
            else:
                if isinstance(value, dict):
                    return LenientJson(value)
                reason = "is not an object"
        self.skipped.append(f"{self.path}:{number}: the line was skipped: it {reason}")
        return None
