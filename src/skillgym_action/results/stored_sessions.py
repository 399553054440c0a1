"""Sessions that a journal, a worker or an earlier job attempt has: which parts of them may decide."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.arm_cases import assertion_results
from skillgym_action.model.errors import Problem, UsageError
from skillgym_action.model.records import record
from skillgym_action.model.result import Attempt, Result, SessionResult
from skillgym_action.model.session_report import Cost
from skillgym_action.model.verdicts import TROUBLES, Status
from skillgym_action.results.results_reader import status_contradiction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from skillgym_action.model.execution import Execution
    from skillgym_action.results.journal import JournalHead
    from skillgym_action.results.journal_lines import EndedSession, JournalContents, JournalHeadEntry
    from skillgym_action.results.run_directory import RunDirectory

MAX_JUDGED_AGAIN_WARNINGS = 100  # one per session that is judged again after a resume


def session_folder(execution: Execution, position: tuple[int, int]) -> str:
    """The folder of a session's artifacts, relative to the run directory; ``position``: repetition and session."""
    repetition, number = position
    name = f"{execution.directory}/repeat-{repetition}"
    return f"{name}/session-{number}" if number > 1 else name


def session_result(execution: Execution, stored: EndedSession) -> SessionResult:
    """The result of a stored session.

    What the plan and the suite define is taken from these, whatever the line says. What the results of an execution
    have only once all of its sessions have ended is left out.
    """
    case, line = execution.case, stored.result
    known = line.judgement.threshold is not None
    judgement = replace(line.judgement, cost_usd=stored.judge_usd, threshold=case.threshold if known else None)
    folder = session_folder(execution, stored.position)
    attempt = Attempt(
        repetition=stored.position[0],
        session=stored.position[1],
        status=judgement.status,
        duration_ms=line.duration_ms,
        directory=folder,
        failure_class=judgement.failure_class,
        message=judgement.failure.message if judgement.failure else None,
        held=assertion_results(judgement) if execution.arm else (),
        score=judgement.score,
        run_attempt=line.attempts[0].run_attempt,
    )
    result = Result(
        index=execution.index,
        suite=execution.suite,
        runner=execution.runner,
        arm=execution.arm_name,
        case_id=case.id,
        title=case.title,
        metadata=case.metadata,
        location=case.location,
        tags=case.tags,
        expected_fail=case.expected_fail,
        prompt=case.prompt,
        directory=folder,
        attempts=(attempt,),
        judgement=judgement,
        duration_ms=line.duration_ms,
        usage=line.usage,
        cost=line.cost,
        model=line.model,
        version=line.version,
        session_id=line.session_id,
        final_output=line.final_output,
        findings=line.findings,
    )
    agent_cost = Cost(usd=stored.agent_usd, source=line.cost.source)
    return SessionResult(result=result, agent_cost=agent_cost, trouble=stored.trouble)


def misfit(execution: Execution, stored: EndedSession) -> str | None:
    """Why a line cannot be that of a session of the execution, as a clause about the session; None: it can."""
    message = status_contradiction(replace(stored.result, expected_fail=execution.case.expected_fail))
    return message and f"its status {message}"


def refusal(before: JournalHeadEntry, now: JournalHead, directory: Path) -> str | None:
    """Why the run that began with ``before`` is not continued by ``now``; None: it is of an earlier attempt.

    Raises UsageError if it is of this attempt.

    Whoever may write to the cache or the artifacts of a workflow run may have written the journal.
    """
    earlier, job = before.job_attempt(), now.job
    if earlier is None or job is None:
        return "it does not say which job it is of"
    if (earlier.repository, earlier.run_id) != (job.repository, job.run_id):
        return f"it is of the workflow run {earlier.run_id} of {earlier.repository}"
    if not job.is_same_job(earlier):
        other = "the same job with another matrix or shard" if earlier.job == job.job else f"the job {earlier.job}"
        return f"it is of {other}"
    if earlier.attempt == job.attempt:
        raise UsageError(
            f"{directory} has a run of this attempt of the job",
            remedy="give each step of the job a separate run directory (report-dir)",
        )
    if earlier.attempt > job.attempt:
        return f"it is of attempt {earlier.attempt}, and this is attempt {job.attempt}"
    if before.commit != now.commit:
        return f"it is of commit {before.commit or 'unknown'}, and this is {now.commit or 'no commit'}"
    changed = [name for name, value in now.settings.items() if before.settings.get(name) != value]
    return f"it has other settings: {', '.join(changed)}" if changed else None


def not_continued(reason: str) -> Problem:
    """The warning that a run begins anew."""
    return Problem(
        message=f"the run in the run directory is not continued, and all sessions run: {reason}",
        remedy="restore only files that an earlier attempt of the same job wrote",
    )


@record(kw_only=False)
class OfExecution:
    """An execution, and the journal of an earlier attempt.

    What cannot be of an earlier attempt does not count, and its session runs again.
    """

    execution: Execution
    journal: JournalContents
    directory: RunDirectory

    def split(self, sessions: Iterable[EndedSession]) -> tuple[list[EndedSession], list[Problem]]:
        """The sessions that count, and a warning for each that cannot be of an earlier attempt.

        Those that could not be judged, at the end of their repetition, do not count.
        """
        possible, problems = [], []
        for session in sessions:
            if reason := self._doubt(session):
                problems.append(run_again(self.execution, session, reason))
            else:
                possible.append(session)
        last = {session.position[0]: session.position[1] for session in possible if not _runs_again(session)}
        return [each for each in possible if each.position[1] <= last.get(each.position[0], 0)], problems

    def remove_archives(self, kept: Iterable[EndedSession]) -> None:
        """Remove the archived workspaces of sessions that do not count: fewer sessions may follow now."""
        ids = {id(session) for session in kept}
        for session in self.journal.sessions.get(self._key(), ()):
            if id(session) not in ids:
                self.directory.clear(f"workspaces/{_folder(self.execution, session.position, '-')}")

    def _key(self) -> tuple[str, str, str | None, str | None]:
        execution = self.execution
        return execution.suite.path, execution.case.id, execution.runner.id, execution.arm_name

    def _doubt(self, session: EndedSession) -> str | None:
        """Why a session cannot be of an earlier attempt; None: it can."""
        attempt = session.result.attempts[0]
        folder = _folder(self.execution, session.position, "/")
        if attempt.directory != folder or not self.directory.has_session(folder):
            return f"its artifacts are not in {folder}"
        return None


def _runs_again(session: EndedSession) -> bool:
    """Whether a session could not be judged, for other reasons than a limit that the agent exceeded."""
    limited_by = session.trouble and TROUBLES[session.trouble.kind].errored_origin
    return session.result.status is Status.ERRORED and not limited_by


def _folder(execution: Execution, position: tuple[int, int], joint: str) -> str:
    """The path of a session's artifacts (``joint``: a slash), or of its archived workspace (a dash)."""
    repetition, number = position
    name = f"{execution.directory}/repeat-{repetition}"
    return f"{name}{joint}session-{number}" if number > 1 else name


def run_again(execution: Execution, session: EndedSession, reason: str) -> Problem:
    """The warning that a session does not count; ``reason``: a clause."""
    repetition, number = session.position
    which = f"repetition {repetition}" + (f", session {number}" if number > 1 else "")
    return Problem(message=f"{execution.suite.path} {execution.title} {which}: run again, since {reason}")


def limited(problems: Sequence[Problem], noun: str) -> Iterator[Problem]:
    """The first of many problems, and how many more there are."""
    yield from problems[:MAX_JUDGED_AGAIN_WARNINGS]
    if (more := len(problems) - MAX_JUDGED_AGAIN_WARNINGS) > 0:
        yield Problem(message=f"{more:,} more {noun}s")
