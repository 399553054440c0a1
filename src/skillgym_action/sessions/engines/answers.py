"""Answers of workers, which are untrusted: a line of the journal, and the artifacts of one session.

Nothing of an answer is written before all of it was checked, and nothing outside of the session's two folders.
"""

from __future__ import annotations

import io
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.errors import OutputError
from skillgym_action.model.result import Attempt, SessionResult
from skillgym_action.model.session_report import Cost, Trouble
from skillgym_action.model.verdicts import WORKER_LOST, Status
from skillgym_action.results.journal_lines import ended_session
from skillgym_action.results.stored_sessions import misfit, session_folder, session_result
from skillgym_action.sessions.judge import trouble_judgement
from skillgym_action.sessions.run_session import execution_result
from skillgym_action.system.files.artifact_links import with_safe_links
from skillgym_action.system.files.bundle import BundleEntry, BundleError, BundleLimits, read_bundle, write_bundle
from skillgym_action.system.files.folder import Folder
from skillgym_action.system.files.open_below import FOLDER_FLAGS
from skillgym_action.system.files.packing import folder_entries
from skillgym_action.system.files.removal import remove_path
from skillgym_action.workspaces.workspace import extract_bundle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from skillgym_action.model.execution import Execution
    from skillgym_action.results.journal_lines import EndedSession
    from skillgym_action.results.run_directory import RunDirectory
    from skillgym_action.sessions.engines import SessionLine, Ticket

MAX_ANSWER_BYTES = 64 * 1024**2  # of the artifacts of a session that a worker ran
MAX_ANSWER_LINE_BYTES = 48 * 1024**2  # of the line of the journal; more than the longest text in it
SESSION, WORKSPACE = "session", "workspace"
NOTHING_SPENT = Cost(usd=0.0, source="computed")
RETRIES = "session-"  # the artifacts of a retry are in a folder of those of the first session
_OF_RETRY = re.compile(rf"{RETRIES}[0-9]+")


class InvalidAnswerError(Exception):
    """An answer is refused; the message says why, and may quote it."""


def session_folders(execution: Execution, position: tuple[int, int]) -> dict[str, str]:
    """Folder of an answer -> folder of the run directory, for the session at ``position``."""
    repetition, number = position
    archive = f"workspaces/{execution.directory}/repeat-{repetition}"
    return {
        SESSION: session_folder(execution, position),
        WORKSPACE: f"{archive}-{RETRIES}{number}" if number > 1 else archive,
    }


def packed(directory: Path, execution: Execution, position: tuple[int, int]) -> bytes:
    """The artifacts of a session in a run directory as a bundle. Raises OSError, BundleError if they are too large."""
    limits = BundleLimits(total_bytes=MAX_ANSWER_BYTES)
    content = io.BytesIO()
    entries: list[Iterator[BundleEntry]] = []
    for name, folder in session_folders(execution, position).items():
        if (directory / folder).is_dir():
            entries.append(_below(name, directory / folder, limits))
    write_bundle(content, (entry for one in entries for entry in one))
    if content.tell() > MAX_ANSWER_BYTES:
        raise BundleError(f"the artifacts of the session have more than {MAX_ANSWER_BYTES // 1024**2} MiB")
    return content.getvalue()


def _below(name: str, folder: Path, limits: BundleLimits) -> Iterator[BundleEntry]:
    yield BundleEntry("folder", name, 0o755)
    descriptor = os.open(folder, FOLDER_FLAGS)
    try:
        for entry in folder_entries(Folder(descriptor), limits=limits):
            entry.path = f"{name}/{entry.path}"
            yield entry
    finally:
        os.close(descriptor)


def troubled_session(
    execution: Execution, position: tuple[int, int], trouble: Trouble, cost: Cost, seconds: float = 0.0
) -> SessionResult:
    """The session of an execution that has trouble and no report. ``cost``: what is charged for it."""
    judgement, folder = trouble_judgement(trouble), session_folders(execution, position)[SESSION]
    attempt = Attempt(
        repetition=position[0],
        session=position[1],
        status=judgement.status,
        duration_ms=round(seconds * 1000),
        directory=folder,
        failure_class=judgement.failure_class,
        message=judgement.failure.message if judgement.failure else None,
    )
    result = replace(
        execution_result(execution, judgement),
        duration_ms=attempt.duration_ms,
        cost=Cost() if trouble.kind == WORKER_LOST else cost,
        attempts=(attempt,),
        directory=folder,
    )
    return SessionResult(result=result, agent_cost=cost, trouble=trouble)


def without_artifacts(
    execution: Execution, position: tuple[int, int], session: SessionResult, reason: str
) -> SessionResult:
    """The session errored, with the costs of ``session``, whose artifacts the coordinator cannot have."""
    trouble = Trouble(kind="worker-answer", message=reason)
    errored = troubled_session(execution, position, trouble, session.agent_cost, session.attempt.duration_ms / 1000)
    judgement = replace(errored.judgement, cost_usd=session.judgement.cost_usd)
    return replace(errored, result=replace(errored.result, judgement=judgement, cost=session.result.cost))


def accepted(answer: SessionLine, ticket: Ticket, execution: Execution, directory: RunDirectory) -> SessionResult:
    """The result of the session, whose artifacts are then in the run directory. Raises InvalidAnswerError.

    Secrets that this process knows are taken out of both.
    """
    folders = session_folders(execution, (ticket.repetition, ticket.session))
    entry = _checked_line(answer.line, ticket, execution, folders[SESSION])
    for _ in _checked_entries(answer.archive):
        pass
    targets = {SESSION: directory.folder(folders[SESSION])}
    directory.clear(folders[WORKSPACE])
    targets[WORKSPACE] = directory.open_path / folders[WORKSPACE]
    targets[SESSION].rmdir()  # it is made again, with what is in it
    try:
        for name, target in targets.items():
            if name in _top_folders(answer.archive):
                extract_bundle(with_safe_links(_of(name, answer.archive)), target)
                directory.clean(target, _paths(target))
        targets[SESSION].mkdir(exist_ok=True)
        result = session_result(execution, entry)
    except BundleError as error:
        _remove_all(targets.values())
        raise InvalidAnswerError(f"its artifacts cannot be written: {error}") from error
    except (OSError, OutputError) as error:  # such as a full disk, or a name that is too long here
        _remove_all(targets.values())
        directory.folder(folders[SESSION])
        reason, position = f"its artifacts cannot be written: {error}", (ticket.repetition, ticket.session)
        result = without_artifacts(execution, position, session_result(execution, entry), reason)
    redactor = directory.redactor
    return replace(
        result,
        result=redactor.redacted(result.result, exclude=("suite", "runner")),
        trouble=redactor.redacted(result.trouble),
    )


def _checked_line(line: bytes, ticket: Ticket, execution: Execution, folder: str) -> EndedSession:
    """The line, if it is about the session of the ticket. Raises InvalidAnswerError."""
    if len(line) > MAX_ANSWER_LINE_BYTES:
        raise InvalidAnswerError(f"its line has {len(line):,} bytes")
    entry = ended_session(line)
    if isinstance(entry, str):
        raise InvalidAnswerError(f"its line is not valid: {entry}")
    if entry.digest != ticket.digest or entry.position != (ticket.repetition, ticket.session):
        raise InvalidAnswerError("its line is about another session")
    if entry.key != (ticket.suite, ticket.case, ticket.runner, ticket.arm):
        raise InvalidAnswerError("its line is about another case")
    if {entry.result.directory, entry.result.attempts[0].directory} != {folder}:
        raise InvalidAnswerError("its line names the artifacts of another session")
    if reason := misfit(execution, entry) or _claim(entry):
        raise InvalidAnswerError(f"its line is not that of a session of this run: {reason}")
    return entry


def _claim(entry: EndedSession) -> str | None:
    """What a line says that only the coordinator knows, as a clause about the session; None: nothing."""
    judgement = entry.result.judgement
    if judgement.status is Status.SKIPPED:
        return "it was skipped, but workers do not answer after a cancellation"
    if entry.trouble and entry.trouble.kind == WORKER_LOST:
        return f"it has the trouble {WORKER_LOST}, but its worker has answered"
    if entry.result.attempts[0].run_attempt is not None:
        return "it has the number of an attempt of the job"
    return None


def _checked_entries(archive: bytes) -> Iterator[BundleEntry]:
    """The entries of an archive. Raises InvalidAnswerError."""
    if len(archive) > MAX_ANSWER_BYTES:
        raise InvalidAnswerError(f"its artifacts have {len(archive):,} bytes, more than {MAX_ANSWER_BYTES:,}")
    try:
        for entry in read_bundle(io.BytesIO(archive), BundleLimits(total_bytes=MAX_ANSWER_BYTES)):
            top, _, below = entry.path.partition("/")
            if top not in (SESSION, WORKSPACE) or (not below and entry.kind != "folder"):
                raise InvalidAnswerError(f"its artifacts have a path outside of the session: {entry.path[:200]!r}")
            if top == SESSION and _OF_RETRY.fullmatch(below):
                raise InvalidAnswerError(f"its artifacts have the folder of another session: {entry.path[:200]!r}")
            yield entry
    except BundleError as error:
        raise InvalidAnswerError(str(error)) from error


def _remove_all(paths: Iterable[Path]) -> None:
    for path in paths:
        remove_path(path)


def _top_folders(archive: bytes) -> set[str]:
    return {entry.path for entry in _checked_entries(archive) if "/" not in entry.path}


def _of(name: str, archive: bytes) -> Iterator[BundleEntry]:
    """The entries below a folder of an archive, relative to it."""
    for entry in _checked_entries(archive):
        if entry.path.startswith(f"{name}/"):
            entry.path = entry.path.removeprefix(f"{name}/")
            yield entry


def _paths(folder: Path) -> list[str]:
    descriptor = os.open(folder, FOLDER_FLAGS)
    try:
        return list(Folder(descriptor).snapshot())
    finally:
        os.close(descriptor)
