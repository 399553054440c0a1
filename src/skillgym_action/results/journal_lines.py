"""The lines of a journal, validated. A wrong line costs only its own session."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from dataclasses import field
from sys import intern
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, ValidationError

from skillgym_action.model.errors import Location, Problem, UsageError
from skillgym_action.model.records import record
from skillgym_action.model.report import JobAttempt
from skillgym_action.model.session_report import Trouble
from skillgym_action.model.verdicts import TROUBLES, Status
from skillgym_action.results.journal_file import JOURNAL
from skillgym_action.results.mapping import COMMIT, DIGEST, AttemptNumber, Id, MappedModel, Path, Text, Time, Usd
from skillgym_action.results.mapping import read as stored_noun
from skillgym_action.results.results_reader import ANY_SUITE, plain_message, restored_result
from skillgym_action.results.schema import ResultEntry, ToolEntry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.result import Result

MAX_SHOWN_JOURNAL_PROBLEMS = 5  # lines that are not valid
RUN_AGAIN = "its session is run again"
Key = tuple[str, str, str | None, str | None]
"""Path of the suite, id of the case, id of the runner, name of the arm."""
SessionKey = tuple[str, tuple[int, int]]
"""A session: the digest of its execution, repetition and number."""
EVENT = b'{"event":'
LOST = b'{"event":"lost"'
STORED = b'{"event":"stored"'
Count = Annotated[int, Field(ge=1)]


class JobEntry(MappedModel):
    """The attempt of a job on GitHub that a run began in."""

    noun: ClassVar = JobAttempt

    repository: Id
    run_id: AttemptNumber
    attempt: AttemptNumber
    job: Id
    part: Id = ""


class JournalHeadEntry(MappedModel):
    """The first line: how the run began."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    tool: ToolEntry
    started_at: Time
    command: Id
    commit: Annotated[str, Field(pattern=COMMIT)] | None
    settings: dict[Id, float | Id | None]
    job: JobEntry | None = None

    def job_attempt(self) -> JobAttempt | None:
        """The attempt that the run began in."""
        return stored_noun(JobEntry, self.job) if self.job else None


class EventEntry(MappedModel):
    """A session began, or its judging began to run commands, graders or checks."""

    event: Literal["started", "judging"]
    digest: Annotated[str, Field(pattern=DIGEST)]
    repetition: Count
    session: Count


class StoredEvent(MappedModel):
    """The results up to this attempt of the job were added to the store."""

    event: Literal["stored"]
    attempt: AttemptNumber


class LostEvent(MappedModel):
    """A session was lost with its worker; ``charged_usd``: what budgets count for it, None: an unknown amount."""

    event: Literal["lost"]
    digest: Annotated[str, Field(pattern=DIGEST)]
    repetition: Count
    session: Count
    seconds: Annotated[float, Field(ge=0, le=10**9)]
    charged_usd: Usd | None


class TroubleEntry(MappedModel):
    """Why a session could not be judged."""

    kind: Id
    message: Text
    retry_after: Annotated[float, Field(ge=0)] | None = None


class SessionEntry(MappedModel):
    """A session that has ended."""

    digest: Annotated[str, Field(pattern=DIGEST)]
    suite: Path
    agent_usd: Usd | None
    judge_usd: Usd | None
    trouble: TroubleEntry | None = None
    result: ResultEntry

    def ended(self) -> EndedSession:
        """The session without what only validation needs."""
        found = self.trouble
        return EndedSession(
            digest=intern(self.digest),
            suite=intern(self.suite),
            runner=self.result.runner_id and intern(self.result.runner_id),
            agent_usd=self.agent_usd,
            judge_usd=self.judge_usd,
            trouble=Trouble(kind=found.kind, message=found.message, retry_after=found.retry_after) if found else None,
            result=restored_result(self.result, 0, ANY_SUITE, None),
        )


@record(eq=False)
class EndedSession:
    """A session that has ended, as a line of the journal has it: a third of the memory of its validated entries.

    ``runner``: its id. ``result`` is not that of an execution yet: it has no runner, and ``ANY_SUITE`` as its suite.
    """

    digest: str
    suite: str
    runner: str | None
    agent_usd: float | None
    judge_usd: float | None
    trouble: Trouble | None
    result: Result

    @property
    def position(self) -> tuple[int, int]:
        """Repetition and session, both counted from 1."""
        return self.result.attempts[0].repetition, self.result.attempts[0].session

    @property
    def key(self) -> Key:
        """Whose session it is."""
        return self.suite, self.result.case_id, self.runner, self.result.arm

    @property
    def is_finished(self) -> bool:
        """Not so what was cancelled, and what showed that its runner cannot work at all."""
        cannot_work = self.trouble is not None and TROUBLES[self.trouble.kind].stops_runner
        return self.result.status is not Status.SKIPPED and not cannot_work


@record(frozen=False, kw_only=False)
class JournalContents:
    """The content of a journal. ``sessions``: those that count, ``all``: also those that only count as costs.

    ``started`` and ``judging``: how often sessions began, and how often their commands, graders or checks did.
    ``lost``: sessions that were lost with their workers.
    ``stored_attempt``: the last attempt of the job whose results were added to the store, 0: none.
    """

    began: JournalHeadEntry | None = None
    sessions: dict[Key, list[EndedSession]] = field(default_factory=dict)
    all: list[EndedSession] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    unshown: int = 0
    started: Counter[SessionKey] = field(default_factory=Counter)
    judging: Counter[SessionKey] = field(default_factory=Counter)
    lost: list[LostEvent] = field(default_factory=list)
    stored_attempt: int = 0

    @property
    def interrupted(self) -> int:
        """How many sessions began and have no line, since the tool was killed meanwhile."""
        return (self.started - Counter((session.digest, session.position) for session in self.all)).total()

    def take(self, session: EndedSession) -> None:
        """Add a session. It replaces later ones of its repetition, and all if the execution has changed."""
        self.all.append(session)
        before = self.sessions.setdefault(session.key, [])
        if before and before[-1].digest != session.digest:
            before.clear()
        if before and before[-1].position >= session.position:
            repetition = session.position[0]
            before[:] = [old for old in before if old.position[0] != repetition or old.position < session.position]
        insort(before, session, key=lambda each: each.position)

    def warn(self, number: int, message: str) -> None:
        """Add a warning about a line; after the first few they are only counted."""
        if len(self.warnings) < MAX_SHOWN_JOURNAL_PROBLEMS:
            self.warnings.append(Problem(message=message, location=Location(path=JOURNAL, line=number)))
        else:
            self.unshown += 1


def read(lines: Iterable[bytes]) -> JournalContents:
    """Return the content of a journal, with a warning for each line that is not valid.

    Raises UsageError for a journal that another version or another program wrote.
    """
    found = JournalContents()
    for number, line in enumerate(lines, start=1):
        if not line.endswith(b"\n"):
            found.warn(number, f"is torn off; {RUN_AGAIN if found.began else 'a new run starts'}")
        elif found.began is None:
            found.began = _head(line[:-1])
        elif line.startswith(EVENT):
            _count(found, number, line[:-1])
        elif isinstance(entry := ended_session(line[:-1]), str):
            found.warn(number, f"{entry}; {RUN_AGAIN}")
        else:
            found.take(entry)
    if found.unshown:
        found.warnings.append(Problem(message=f"{JOURNAL}: {found.unshown:,} more lines like that"))
    return found


def _count(found: JournalContents, number: int, line: bytes) -> None:
    """Count a line that is no session."""
    try:
        if line.startswith(STORED):
            found.stored_attempt = StoredEvent.model_validate_json(line, strict=True).attempt
        elif line.startswith(LOST):
            found.lost.append(LostEvent.model_validate_json(line, strict=True))
        else:
            entry = EventEntry.model_validate_json(line, strict=True)
            counted = found.started if entry.event == "started" else found.judging
            counted[intern(entry.digest), (entry.repetition, entry.session)] += 1
    except ValidationError as error:
        found.warn(number, f"{_mistake(error)}; the line is ignored")


def ended_session(line: bytes) -> EndedSession | str:
    """Return the session of a line, or what is wrong with the line."""
    try:
        entry = SessionEntry.model_validate_json(line, strict=True)
    except ValidationError as error:
        return _mistake(error)
    return _unusable(entry) or entry.ended()


def _head(line: bytes) -> JournalHeadEntry:
    try:
        return JournalHeadEntry.model_validate_json(line, strict=True)
    except ValidationError as error:
        raise UsageError(
            f"{JOURNAL}:1: {_mistake(error)}",
            remedy="only a run of this version of skillgym-action can be resumed; --output begins a new one",
        ) from error


def _mistake(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    key_path = ".".join(map(str, first["loc"]))
    message = plain_message(first).replace(" at line 1 column", " at column")
    return f"{key_path}: {message}" if key_path else message


def _unusable(entry: SessionEntry) -> str | None:
    """Why nothing can be made of a line whose schema is valid, with the key; None: it can be used.

    The line may come from an untrusted run or worker, who may as well write a line that is right: a line is not
    searched for contradictions between what it says.
    """
    result, trouble = entry.result, entry.trouble
    if len(result.attempts) != 1:
        return "result.attempts: must be one"
    if min(result.attempts[0].repetition, result.attempts[0].session) < 1:
        return "result.attempts[0]: repetitions and sessions count from 1"
    if trouble and trouble.kind not in TROUBLES:
        return f"trouble.kind: is not a kind of trouble: {trouble.kind[:60]!r}"
    for score in (result.score, *(outcome.score for outcome in result.outcomes)):
        if score is not None and not 0 <= score <= 1:
            return f"result.score: must be from 0 to 1, not {score:g}"
    return None
