"""Stage: a plan -> what the journal of an earlier start of its run tells. Nothing is taken over that does not fit."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_JUDGED_AGAIN_WARNINGS, MAX_LISTED_EXECUTIONS, MAX_QUOTED_VERSION_CHARS
from skillgym_action.model.errors import Problem
from skillgym_action.model.result import SessionResult
from skillgym_action.model.session_report import Cost, Trouble
from skillgym_action.model.verdicts import GREEN, Status
from skillgym_action.sessions.hooks import workspace_spec
from skillgym_action.storage.journal import Journal, SessionCosts
from skillgym_action.storage.journal_lines import read
from skillgym_action.storage.results_file import restored_result

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.services import Services
    from skillgym_action.storage.journal import JournalHead
    from skillgym_action.storage.journal_lines import JournalContents, JournalHeadEntry, Key, SessionEntry


def resume(services: Services, plan: Plan, journal: Journal, now: JournalHead) -> Journal:
    """``journal`` with what was done before; where nothing was, the run begins ``now``.

    Raises UsageError for a file that is no journal of ours.
    """
    found = read(services.directory.journal.lines())
    services.directory.go_on()
    if found.began is None:
        services.directory.begin(now.line())
        return replace(journal, warnings=tuple(found.warnings))
    held = {sessions[-1].digest: sessions for sessions in found.sessions.values()}
    sessions = {
        one.index: tuple(_attempted(one, told) for told in _finished(held.get(journal.digests[one.index], ())))
        for one in plan.executions
    }
    services.observer.progress(f"resumed: {sum(map(len, sessions.values()))} sessions were finished before")
    warnings = (
        *found.warnings,
        *_differences(found.began, now),
        *_left_out(found, plan, set(journal.digests.values())),
        *_gone(plan, sessions),
        *_again(found, plan, journal.digests, sessions),
        *_interrupted(found.interrupted),
    )
    return replace(
        journal,
        began=datetime.fromisoformat(found.began.started_at),
        sessions=sessions,
        spent=tuple(map(_spent, found.all)),
        warnings=warnings,
    )


def _finished(sessions: Iterable[SessionEntry]) -> Iterator[SessionEntry]:
    """Those of an execution that need not be held again, each of which follows the one before."""
    follower = 1, 1
    for one in sessions:
        if not one.is_finished or one.place != follower:
            return
        yield one
        repetition, number = one.place
        follower = (repetition + 1, 1) if one.result.status in GREEN else (repetition, number + 1)


def _attempted(execution: Execution, told: SessionEntry) -> SessionResult:
    """What the suite says of the case is told by the suite, as it is today."""
    case = execution.case
    result = restored_result(told.result, execution.index, execution.suite, execution.runner)
    return SessionResult(
        result=replace(
            result,
            case_id=case.id,
            judgement=replace(result.judgement, cost_usd=told.judge_usd),
            location=case.location,
            tags=case.tags,
            expected_fail=case.expected_fail,
            prompt=case.prompt,
        ),
        agent_cost=Cost(usd=told.agent_usd, source=told.result.cost_source),
        trouble=Trouble(kind=told.trouble.kind, message=told.trouble.message) if told.trouble else None,
    )


def _spent(one: SessionEntry) -> SessionCosts:
    """Nobody knows what sessions cost that were interrupted; most of those have no line at all, hence no say."""
    costs = one.agent_usd, one.judge_usd
    if one.result.status is Status.SKIPPED:
        costs = one.agent_usd or 0.0, one.judge_usd or 0.0
    return SessionCosts(suite=one.suite, runner=one.result.runner_id or "", costs=costs)


# --- what people should know ------------------------------------------------------------------------


def _differences(before: JournalHeadEntry, now: JournalHead) -> Iterator[Problem]:
    if before.tool.version != now.version:
        version = before.tool.version[:MAX_QUOTED_VERSION_CHARS]
        yield Problem(message=f"the run began with skillgym-action {version}, and goes on with {now.version}")
    if before.commit != now.commit:
        yield Problem(message=f"the run began on commit {before.commit}, and goes on with {now.commit}")
    changed = [
        f"--{name} was {_given(before.settings.get(name))} and is {_given(value)}"
        for name, value in now.settings.items()
        if before.settings.get(name) != value
    ]
    if changed:
        yield Problem(
            message=f"the run goes on with other options: {', '.join(changed)}",
            remedy="sessions that were finished stay as they are",
        )


def _given(value: float | None) -> str:
    return "not given" if value is None else f"{value:g}"


def _left_out(found: JournalContents, plan: Plan, digests: set[str]) -> Iterator[Problem]:
    """Sessions of executions that are others now, or are not asked for."""
    today = {(one.suite.path, one.case.id, one.runner.id) for one in plan.executions}
    gone = [key for key, sessions in found.sessions.items() if sessions[-1].digest not in digests]
    if changed := [key for key in gone if key in today]:
        yield Problem(message=f"begun anew, since suite, prompt, agent or model changed: {_listed(changed)}")
    if unasked := [key for key in gone if key not in today]:
        yield Problem(
            message=f"in the journal and not in the report, since they are not asked for: {_listed(unasked)}",
            remedy="resume with the arguments that the run began with",
        )


def _gone(plan: Plan, sessions: Mapping[int, tuple[SessionResult, ...]]) -> Iterator[Problem]:
    """Suites that work in one directory, where some of it was done: the directory went with the earlier start."""
    shared = [one for one in plan.executions if workspace_spec(one).mode == "shared"]
    done = {one.suite.path for one in shared if sessions[one.index]}
    for path in sorted(done & {one.suite.path for one in shared if not sessions[one.index]}):
        yield Problem(message=f"{path}: what earlier sessions left in the shared workspace is gone")


def _again(
    found: JournalContents, plan: Plan, digests: Mapping[int, str], sessions: Mapping[int, tuple[SessionResult, ...]]
) -> Iterator[Problem]:
    """Sessions whose commands, graders or checks ran more than once, or will: the run was interrupted meanwhile."""
    notes = []
    executions = {digests[one.index]: one for one in plan.executions}
    for (digest, (repetition, number)), begun in found.judging.items():
        if (one := executions.get(digest)) is None:
            continue
        done = any(
            (held.attempt.repetition, held.attempt.session) == (repetition, number) for held in sessions[one.index]
        )
        if not (interrupted := begun - done):
            continue
        which = f"repetition {repetition}" + (f", session {number}" if number > 1 else "")
        times = f" ({interrupted} times)" if interrupted > 1 else ""
        notes.append(
            f"{one.suite.path} {one.case.id} [{one.runner.id}] {which}: its commands, graders or checks had begun when "
            f"the run was interrupted{times}, and {'were run again' if done else 'run again with the session'}"
        )
    if len(notes) > MAX_JUDGED_AGAIN_WARNINGS:
        notes[MAX_JUDGED_AGAIN_WARNINGS:] = [f"{len(notes) - MAX_JUDGED_AGAIN_WARNINGS:,} more sessions like that"]
    yield from (Problem(message=note) for note in notes)


def _interrupted(number: int) -> Iterator[Problem]:
    if number:
        were = "1 session was" if number == 1 else f"{number:,} sessions were"
        yield Problem(message=f"{were} under way when the run was interrupted; what they cost is unknown")


def _listed(keys: Sequence[Key]) -> str:
    more = f" and {len(keys) - MAX_LISTED_EXECUTIONS:,} more" if len(keys) > MAX_LISTED_EXECUTIONS else ""
    return ", ".join(f"{suite} {case} [{runner}]" for suite, case, runner in keys[:MAX_LISTED_EXECUTIONS]) + more
