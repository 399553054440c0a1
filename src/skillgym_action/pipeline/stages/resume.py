"""Stage: plan and journal file -> journal with the sessions of an interrupted run that fit the plan."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Problem, UsageError
from skillgym_action.model.report import sum_of_costs
from skillgym_action.model.verdicts import Status
from skillgym_action.results.journal import BASE_COMMIT, Journal, SessionCosts
from skillgym_action.results.journal_lines import JournalContents, read
from skillgym_action.results.stored_sessions import (
    OfExecution,
    limited,
    misfit,
    not_continued,
    refusal,
    run_again,
    session_result,
)
from skillgym_action.sessions.hooks import workspace_spec
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.model.result import SessionResult
    from skillgym_action.results.journal import JournalHead
    from skillgym_action.results.journal_lines import EndedSession, JournalHeadEntry, Key
    from skillgym_action.services import Services

MAX_LISTED_EXECUTIONS = 5  # in one warning
MAX_QUOTED_VERSION_CHARACTERS = 60  # of the version that a journal names


def resume(services: Services, plan: Plan, journal: Journal, now: JournalHead, *, auto: bool = False) -> Journal:
    """``journal`` with the sessions that finished before. If there is no journal file, it begins with ``now``.

    ``auto``: so does it unless the run is of an earlier attempt of this job, and sessions that could not be judged are
    missing, too.
    Raises UsageError for a file that is not a journal, with ``auto`` for one of this attempt.
    """
    found, not_continued = _read(services, now, auto=auto)
    if found.began and not not_continued:
        _refuse_other_decision(found.began, now)
    services.directory.prepare_resume()
    if found.began is None or not_continued:
        services.directory.begin(now.line())
        return replace(journal, warnings=(*found.warnings, *not_continued))
    by_digest = {sessions[-1].digest: sessions for sessions in found.sessions.values()}
    stored, doubts = {}, list[Problem]()
    for execution in plan.executions:
        fitting, misfits = _fitting(execution, by_digest.get(journal.digests[execution.index], ()))
        doubts += misfits
        finished = tuple(_finished(fitting))
        if auto and journal.attempt:
            own = OfExecution(execution, found, services.directory)
            possible, found_doubts = own.split(finished)
            doubts += found_doubts
            finished = tuple(_finished(possible))
            own.remove_archives(finished)
        stored[execution.index] = finished
    sessions = {
        execution.index: tuple(session_result(execution, session) for session in stored[execution.index])
        for execution in plan.executions
    }
    services.observer.progress(f"resumed: {counted(sum(map(len, sessions.values())), 'session')} finished before")
    kept = {id(session) for finished in stored.values() for session in finished}
    warnings = (
        *found.warnings,
        *limited(doubts, "session"),
        *_differences(found.began, now),
        *_unused(found, plan, set(journal.digests.values())),
        *_lost_workspaces(plan, sessions),
        *_judged_again(found, plan, journal.digests, sessions),
        *_interrupted(found.interrupted),
        *_lost_with_workers(len(found.lost)),
    )
    return replace(
        journal,
        began=datetime.fromisoformat(found.began.started_at),
        sessions=sessions,
        spent=(*map(_spent, found.all), *_spent_on_lost(plan, found, journal.digests)),
        repeated=tuple(_attempt_and_cost(session) for session in found.all if id(session) not in kept),
        warnings=warnings,
        stored_attempt=found.stored_attempt,
    )


def _read(services: Services, now: JournalHead, *, auto: bool) -> tuple[JournalContents, tuple[Problem, ...]]:
    """The content of the journal. With ``auto`` also a warning if its run is not continued."""
    try:
        found = read(services.directory.journal.lines())
    except UsageError as error:
        if not auto:
            raise
        return JournalContents(), tuple(map(not_continued, (problem.message for problem in error.problems)))
    if not auto:
        return found, ()
    if found.began is None:
        if now.job and now.job.attempt > 1:
            services.observer.progress("resume: there is no run of an earlier attempt, so all sessions run")
        return found, ()
    if reason := refusal(found.began, now, services.directory.path):
        return found, (not_continued(reason),)
    return found, ()


def _refuse_other_decision(before: JournalHeadEntry, now: JournalHead) -> None:
    """Raises UsageError if the sessions so far were held to be decided in another way."""
    for name in ("confirm", BASE_COMMIT):
        was, is_ = before.settings.get(name), now.settings.get(name)
        if was != is_:
            raise UsageError(
                f"the run was started with {name} {_setting(was)} and is resumed with {_setting(is_)}",
                remedy="resume it as it was started, or begin a new run",
            )


def _fitting(execution: Execution, sessions: Iterable[EndedSession]) -> tuple[list[EndedSession], list[Problem]]:
    """The sessions that can be those of the execution, and a warning for each of the others."""
    fitting, problems = [], []
    for session in sessions:
        if reason := misfit(execution, session):
            problems.append(run_again(execution, session, reason))
        else:
            fitting.append(session)
    return fitting, problems


def _finished(sessions: Iterable[EndedSession]) -> Iterator[EndedSession]:
    """The sessions of an execution that need not run again: finished ones, of each repetition up to the first gap."""
    following: dict[int, int] = {}
    for session in sessions:
        repetition, number = session.position
        if session.is_finished and number == following.get(repetition, 1):
            following[repetition] = number + 1
            yield session


def _spent(session: EndedSession) -> SessionCosts:
    """What a session cost. A cancelled one counts as far as its cost is known; most have no line in the journal."""
    costs = session.agent_usd, session.judge_usd
    if session.result.status is Status.SKIPPED:
        costs = session.agent_usd or 0.0, session.judge_usd or 0.0
    return SessionCosts(suite=session.suite, runner=session.runner or "", costs=costs)


def _spent_on_lost(plan: Plan, found: JournalContents, digests: Mapping[int, str]) -> Iterator[SessionCosts]:
    """What budgets count for sessions that were lost with their workers."""
    executions = {digests[execution.index]: execution for execution in plan.executions}
    for lost in found.lost:
        if execution := executions.get(lost.digest):
            costs = lost.charged_usd, 0.0
            yield SessionCosts(suite=execution.suite.path, runner=execution.runner.id, costs=costs)


def _attempt_and_cost(session: EndedSession) -> tuple[int | None, float | None]:
    """The attempt that ran a session, and what it cost."""
    return session.result.attempts[0].run_attempt, sum_of_costs(*_spent(session).costs)


# --- warnings ---------------------------------------------------------------------------------------


def _differences(before: JournalHeadEntry, now: JournalHead) -> Iterator[Problem]:
    if before.tool.version != now.version:
        version = before.tool.version[:MAX_QUOTED_VERSION_CHARACTERS]
        yield Problem(message=f"the run was started with skillgym-action {version} and is resumed with {now.version}")
    if before.commit != now.commit:
        yield Problem(message=f"the run was started on commit {before.commit} and is resumed on {now.commit}")
    changed = [
        f"--{name} was {_setting(before.settings.get(name))} and is {_setting(value)}"
        for name, value in now.settings.items()
        if before.settings.get(name) != value
    ]
    if changed:
        yield Problem(
            message=f"the run is resumed with other options: {', '.join(changed)}",
            remedy="finished sessions are not run again",
        )


def _setting(value: float | str | None) -> str:
    if value is None:
        return "not set"
    return value[:MAX_QUOTED_VERSION_CHARACTERS] if isinstance(value, str) else f"{value:g}"


def _unused(found: JournalContents, plan: Plan, digests: set[str]) -> Iterator[Problem]:
    """Sessions of executions that have changed, or are not selected now."""
    today = {
        (execution.suite.path, execution.case.id, execution.runner.id, execution.arm_name)
        for execution in plan.executions
    }
    gone = [key for key, sessions in found.sessions.items() if sessions[-1].digest not in digests]
    if changed := [key for key in gone if key in today]:
        what = "suite, prompt, skill, inputs, arm, agent or model"
        yield Problem(message=f"run again, since {what} changed: {_listed(changed)}")
    if unasked := [key for key in gone if key not in today]:
        yield Problem(
            message=f"in the journal but not in the report, since they are not selected: {_listed(unasked)}",
            remedy="resume with the arguments that the run was started with",
        )


def _lost_workspaces(plan: Plan, sessions: Mapping[int, tuple[SessionResult, ...]]) -> Iterator[Problem]:
    """Suites with a shared workspace and some finished sessions: the workspace was removed with the earlier run."""
    shared = [execution for execution in plan.executions if workspace_spec(execution).mode == "shared"]
    done = {execution.suite.path for execution in shared if sessions[execution.index]}
    for path in sorted(done & {execution.suite.path for execution in shared if not sessions[execution.index]}):
        yield Problem(message=f"{path}: the shared workspace of the finished sessions no longer exists")


def _judged_again(
    found: JournalContents, plan: Plan, digests: Mapping[int, str], sessions: Mapping[int, tuple[SessionResult, ...]]
) -> Iterator[Problem]:
    """Sessions whose commands, graders or checks run more than once, since the run was interrupted meanwhile."""
    notes = []
    executions = {digests[execution.index]: execution for execution in plan.executions}
    for (digest, (repetition, number)), begun in found.judging.items():
        if (execution := executions.get(digest)) is None:
            continue
        done = any(
            (stored.attempt.repetition, stored.attempt.session) == (repetition, number)
            for stored in sessions[execution.index]
        )
        if not (interrupted := begun - done):
            continue
        which = f"repetition {repetition}" + (f", session {number}" if number > 1 else "")
        times = f" ({interrupted} times)" if interrupted > 1 else ""
        notes.append(
            f"{execution.suite.path} {execution.title} {which}: its commands, graders or "
            f"checks had begun when the run was interrupted{times}, "
            f"and {'were run again' if done else 'run again with the session'}"
        )
    yield from limited([Problem(message=note) for note in notes], "session")


def _interrupted(number: int) -> Iterator[Problem]:
    if number:
        were = "1 session was" if number == 1 else f"{number:,} sessions were"
        yield Problem(message=f"{were} running when the run was interrupted; the cost is unknown")


def _lost_with_workers(number: int) -> Iterator[Problem]:
    if number:
        were = "1 session was" if number == 1 else f"{number:,} sessions were"
        yield Problem(message=f"{were} lost with a worker before the run was interrupted; the cost is unknown")


def _listed(keys: Sequence[Key]) -> str:
    more = f" and {len(keys) - MAX_LISTED_EXECUTIONS:,} more" if len(keys) > MAX_LISTED_EXECUTIONS else ""
    names = (
        f"{suite} {case} [{runner}]{f' {arm}' if arm else ''}"
        for suite, case, runner, arm in keys[:MAX_LISTED_EXECUTIONS]
    )
    return ", ".join(names) + more
