"""The lines of a journal, validated: it may come from anybody. What is no line of one costs its own session only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, ValidationError

from skillgym_action.model.errors import Location, Problem, UsageError
from skillgym_action.model.verdicts import GREEN, TROUBLES, Status
from skillgym_action.storage.journal_file import JOURNAL
from skillgym_action.storage.mapping import Entry
from skillgym_action.storage.results_schema import COMMIT, DIGEST, Id, Path, ResultEntry, Text, Time, ToolEntry, Usd
from skillgym_action.storage.stored_runs import in_our_words

if TYPE_CHECKING:
    from collections.abc import Iterable

SHOWN = 5  # of the lines that are none
ITS_SESSION = "the session it tells of is held again"
Key = tuple[str, str, str | None]
"""Suite, case and runner, as the journal calls them."""
Place = tuple[str, tuple[int, int]]
"""A session: the digest of its execution, repetition and number."""
EVENT = b'{"event":'
Count = Annotated[int, Field(ge=1)]


class Began(Entry):
    """The first line: how the run began."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    tool: ToolEntry
    started_at: Time
    command: Id
    commit: Annotated[str, Field(pattern=COMMIT)] | None
    settings: dict[Id, float | None]


class Event(Entry):
    """A session began, or its judging began to run commands, graders or checks."""

    event: Literal["started", "judging"]
    digest: Annotated[str, Field(pattern=DIGEST)]
    repetition: Count
    session: Count


class _Trouble(Entry):
    kind: Id
    message: Text
    retry_after: float | None = None


class Held(Entry):
    """A session that has ended."""

    digest: Annotated[str, Field(pattern=DIGEST)]
    suite: Path
    agent_usd: Usd | None
    judge_usd: Usd | None
    trouble: _Trouble | None = None
    result: ResultEntry

    @property
    def place(self) -> tuple[int, int]:
        """Repetition and session, both counted from 1."""
        return self.result.attempts[0].repetition, self.result.attempts[0].session

    @property
    def key(self) -> Key:
        """Whose session it is."""
        return self.suite, self.result.case_id, self.result.runner_id

    @property
    def is_finished(self) -> bool:
        """Not so what was cancelled, and what showed that its runner cannot work at all."""
        cannot_work = self.trouble is not None and TROUBLES[self.trouble.kind].stops_runner
        return self.result.status is not Status.SKIPPED and not cannot_work

    def contradiction(self) -> str | None:
        """What does not fit together, if anything."""
        result = self.result
        if len(result.attempts) != 1:
            return "result.attempts: must be one"
        if min(self.place) < 1:
            return "result.attempts[0]: repetitions and sessions count from 1"
        if result.status is not result.attempts[0].status or result.passed != (result.status in GREEN):
            return "result.status: must be that of its attempt, and agree with passed"
        if self.trouble and self.trouble.kind not in TROUBLES:
            return f"trouble.kind: is no class of trouble: {self.trouble.kind[:60]!r}"
        return None


@dataclass(slots=True)
class Told:
    """What was read of a journal. ``sessions``: those that count, ``all``: those that cost something.

    ``started`` and ``judging``: how often sessions began, and how often their commands, graders or checks did.
    """

    began: Began | None = None
    sessions: dict[Key, list[Held]] = field(default_factory=dict)
    all: list[Held] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    unshown: int = 0
    started: Counter[Place] = field(default_factory=Counter)
    judging: Counter[Place] = field(default_factory=Counter)

    @property
    def interrupted(self) -> int:
        """How many sessions began and have no line, since the tool was killed meanwhile."""
        return (self.started - Counter((one.digest, one.place) for one in self.all)).total()

    def take(self, one: Held) -> None:
        """A session in place of those that were held before and come after it, or were of something else."""
        self.all.append(one)
        before = self.sessions.setdefault(one.key, [])
        if before and before[-1].digest != one.digest:
            before.clear()
        while before and before[-1].place >= one.place:
            before.pop()
        before.append(one)

    def warn(self, number: int, message: str) -> None:
        """Say what is wrong with a line, for the first few."""
        if len(self.warnings) < SHOWN:
            self.warnings.append(Problem(message=message, location=Location(path=JOURNAL, line=number)))
        else:
            self.unshown += 1


def read(lines: Iterable[bytes]) -> Told:
    """What a journal tells; what is no line of a journal is a warning. Raises UsageError for one that is not ours."""
    found = Told()
    for number, line in enumerate(lines, start=1):
        if not line.endswith(b"\n"):
            found.warn(number, f"is torn off; {ITS_SESSION if found.began else 'the run begins anew'}")
        elif found.began is None:
            found.began = _began(line[:-1])
        elif line.startswith(EVENT):
            _count(found, number, line[:-1])
        elif isinstance(one := _held(line[:-1]), str):
            found.warn(number, f"{one}; {ITS_SESSION}")
        else:
            found.take(one)
    if found.unshown:
        found.warnings.append(Problem(message=f"{JOURNAL}: {found.unshown:,} more lines like that"))
    return found


def _count(found: Told, number: int, line: bytes) -> None:
    try:
        one = Event.model_validate_json(line, strict=True)
    except ValidationError as error:
        found.warn(number, f"{_mistake(error)}; the line is ignored")
        return
    counted = found.started if one.event == "started" else found.judging
    counted[one.digest, (one.repetition, one.session)] += 1


def _held(line: bytes) -> Held | str:
    """What the line tells of, or what is wrong with it."""
    try:
        one = Held.model_validate_json(line, strict=True)
    except ValidationError as error:
        return _mistake(error)
    return one.contradiction() or one


def _began(line: bytes) -> Began:
    try:
        return Began.model_validate_json(line, strict=True)
    except ValidationError as error:
        raise UsageError(
            f"{JOURNAL}:1: {_mistake(error)}",
            remedy="only a run of this version of skillgym-action can be resumed; --output begins a new one",
        ) from error


def _mistake(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place, told = ".".join(map(str, first["loc"])), in_our_words(first).replace(" at line 1 column", " at column")
    return f"{place}: {told}" if place else told
