"""Repetitions and retries: which session of an execution is next, the result of all of them, and their progress.

Repetitions are samples: all of them run, whatever became of the ones before.
"""

from __future__ import annotations

from dataclasses import field, fields, replace
from typing import TYPE_CHECKING

from skillgym_action.model.judgement import Failure, Judgement
from skillgym_action.model.limits import MAX_RETRY_WAIT_SECONDS
from skillgym_action.model.records import record
from skillgym_action.model.report import AttemptShare, sum_of_costs
from skillgym_action.model.result import (
    TriggerCounts,
    format_score,
    format_scores,
    interval_start,
    reaches_threshold,
    unique_findings,
)
from skillgym_action.model.session_report import Cost, Usage
from skillgym_action.model.verdicts import ASSERTION_FAILURE, ASSERTIONS_PASSED, GREEN, JUDGED, TROUBLES, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import Result, SessionResult
    from skillgym_action.model.suite import BenchmarkCase, TriggerRule
    from skillgym_action.results.journal import Journal
    from skillgym_action.settings.settings import ExecuteOptions

REPRESENTATIVE = (Status.FAILED, Status.UNEXPECTED_PASSED)
MIN_TRIGGER_RUNS = 2


def next_session(
    execution: Execution, sessions: Sequence[SessionResult], options: ExecuteOptions
) -> tuple[int, int] | None:
    """(Repetition, session) that comes next, both counted from 1; None: the execution is complete.

    A repetition that failed is retried, as often as allowed; then the next one follows.
    """
    if not sessions:
        return 1, 1
    last = sessions[-1]
    if last.judgement.status is Status.SKIPPED:
        return None
    if may_retry(execution, sessions, options):
        return last.attempt.repetition, last.attempt.session + 1
    is_stopped = last.trouble is not None and TROUBLES[last.trouble.kind].stops_runner
    is_stopped = is_stopped or _cost_enough(execution, sessions)
    is_decided = execution.case.trigger is not None and decided(execution, sessions, options) is not None
    if is_stopped or is_decided or last.attempt.repetition >= planned_repetitions(execution, options):
        return None
    return last.attempt.repetition + 1, 1


def planned_repetitions(execution: Execution, options: ExecuteOptions) -> int:
    """How many repetitions the execution has."""
    if execution.repetitions is None and execution.case.trigger:
        return execution.case.trigger.runs
    return options.repetitions if execution.repetitions is None else execution.repetitions


def may_retry(execution: Execution, sessions: Sequence[SessionResult], options: ExecuteOptions) -> bool:
    """Whether the last session is retried: ``--retry`` is for failed assertions, trouble has its own number."""
    last = sessions[-1]
    if last.judgement.status in GREEN:
        return False
    same = [session for session in sessions if session.attempt.repetition == last.attempt.repetition]
    if last.trouble is None and execution.case.trigger:
        return False  # its repetitions are a sample
    if last.trouble is None and _cost_enough(execution, sessions):
        return False
    if last.trouble is None:
        retries = 0 if last.judgement.status is Status.ERRORED else max(options.retry, execution.case.retries)
        tries = sum(session.trouble is None for session in same)
    else:  # replaying the same recording again gives the same trouble
        retries = 0 if execution.runner.agent.type == "replay" else TROUBLES[last.trouble.kind].retries
        tries = count_troubled(sessions)
    return tries <= retries


def _cost_enough(execution: Execution, sessions: Iterable[SessionResult]) -> bool:
    """Whether the trials of the case have cost as much as they may."""
    limit = execution.case.trials.cost_limit if execution.case.trials else None
    return limit is not None and sum(session.agent_cost.usd or 0.0 for session in sessions) >= limit


def count_troubled(sessions: Sequence[SessionResult]) -> int:
    """The number of sessions of the last repetition that had trouble."""
    return sum(
        session.trouble is not None
        for session in sessions
        if session.attempt.repetition == sessions[-1].attempt.repetition
    )


def retry_wait(sessions: Sequence[SessionResult]) -> float:
    """Seconds until the retry of the last session: what the service asks for, else growing exponentially.

    0 if it had no trouble; the clock adds jitter.
    """
    if not (trouble := sessions[-1].trouble):
        return 0.0
    asked = trouble.retry_after
    return min(2.0 ** count_troubled(sessions) if asked is None else asked, MAX_RETRY_WAIT_SECONDS)


def decided(execution: Execution, sessions: Sequence[SessionResult], options: ExecuteOptions) -> Judgement | None:
    """The judgement on an execution, once no further repetition can change its status; else None.

    As many repetitions have to be green as ``options.require`` says. The status of a repetition is that of its last
    session. Green: the judgement of the last green one. Else it is failed: that of the first one that failed.
    """
    ends = _ends(sessions, execution.case)
    planned = max(planned_repetitions(execution, options), len(ends))
    if rule := execution.case.trigger:
        return _decided_trigger(rule, ends, planned)
    planned = len(ends) if _cost_enough(execution, sessions) else planned
    if execution.case.averaged and execution.case.threshold is not None:
        judgements = [end.judgement for end in ends]
        if execution.case.trials and execution.case.trials.strategy == "confidence_interval":
            return _decided_by_interval(execution.case, judgements, planned, execution.case.threshold)
        return _decided_by_mean(judgements, planned, execution.case.threshold)
    needed = {"all": planned, "any": 1}.get(str(options.require)) or min(int(options.require), planned)
    green = [end.judgement for end in ends if end.judgement.status in GREEN]
    if len(green) >= needed:
        return green[-1]
    red = [end.judgement for end in ends if end.judgement.status in REPRESENTATIVE]
    if planned - len(red) < needed:
        return min(red, key=lambda judgement: REPRESENTATIVE.index(judgement.status))
    return None


def _decided_by_mean(ends: list[Judgement], planned: int, threshold: float) -> Judgement | None:
    """The judgement once the mean score over all repetitions is on one side of the threshold, whatever follows.

    A session that failed without a score, such as one that exceeded a limit, scores 0. Those that could not be judged
    may have any score.
    """
    judged = [end for end in ends if end.status in JUDGED]
    reached = sum(end.score or 0.0 for end in judged)
    least, most = reached / planned, (reached + planned - len(judged)) / planned
    if reaches_threshold(least, threshold):
        side = [end for end in judged if end.status in ASSERTIONS_PASSED]
    elif not reaches_threshold(most, threshold):
        side = [end for end in judged if end.status not in ASSERTIONS_PASSED]
    else:
        return None
    if len(judged) < 2 or not side:  # noqa: PLR2004 - the score of one session is the mean
        return next(iter(side or judged), None)
    shown = side[-1] if side[-1].status in ASSERTIONS_PASSED else side[0]
    mean = reached / len(judged)
    if shown.failure is None:
        return replace(shown, score=mean)
    shown_mean, least_mean = format_scores(mean, threshold)
    says = f"the mean score of {len(judged)} runs is {shown_mean}, below {least_mean}"
    failure = replace(shown.failure, message=f"{says}; {shown.failure.message}")
    return replace(shown, score=mean, failure=failure)


def _decided_by_interval(
    case: BenchmarkCase, ends: list[Judgement], planned: int, threshold: float
) -> Judgement | None:
    """The judgement once all repetitions were judged: its score is where the 95% interval of their mean begins.

    All of them may have passed, and the interval may still begin below the threshold.
    """
    if len(ends) < planned or any(end.status not in JUDGED for end in ends):
        return None
    if len(ends) == 1:
        return ends[0]
    scores = [end.score or 0.0 for end in ends]
    score = interval_start(scores)
    if reaches_threshold(score, threshold):
        return replace(next((end for end in reversed(ends) if end.status in ASSERTIONS_PASSED), ends[-1]), score=score)
    mean, (begins, least) = format_score(sum(scores) / len(scores)), format_scores(score, threshold)
    says = f"the 95% interval of the mean score {mean} of {len(ends)} runs begins at {begins}, below {least}"
    shown = next((end for end in ends if end.status not in ASSERTIONS_PASSED), None)
    if shown is not None and shown.failure:
        failure = replace(shown.failure, message=f"{says}; {shown.failure.message}")
        return replace(shown, score=score, failure=failure)
    return Judgement(
        status=Status.EXPECTED_FAILED if case.expected_fail else Status.FAILED,
        outcomes=ends[0].outcomes,
        origin="assertion",
        failure_class=ASSERTION_FAILURE,
        failure=Failure(name="AssertionError", message=says, location=case.location),
        score=score,
        threshold=threshold,
    )


def _decided_trigger(rule: TriggerRule, ends: Sequence[SessionResult], planned: int) -> Judgement | None:
    """The judgement on a trigger query, once no further run can change it; else None.

    The share of judged runs in which a skill was loaded decides. Runs that could not be judged do not count, and fewer
    than two judged ones decide nothing.
    """
    judged = [end.judgement for end in ends if end.judgement.status in JUDGED]
    if len(judged) < min(MIN_TRIGGER_RUNS, planned):
        return None
    right = [judgement for judgement in judged if judgement.status in ASSERTIONS_PASSED]
    wrong = [judgement for judgement in judged if judgement.status not in ASSERTIONS_PASSED]
    loaded = len(right if rule.should_trigger else wrong)
    remaining = planned - len(ends)
    least = loaded / (len(judged) + remaining)
    most = (loaded + remaining) / (len(judged) + remaining)
    if (least >= rule.threshold) != (most >= rule.threshold):
        return None
    passed = (least >= rule.threshold) == rule.should_trigger
    return (right or judged)[-1] if passed else (wrong or judged)[0]


def with_trigger_runs(execution: Execution, sessions: Sequence[SessionResult], result: Result) -> Result:
    """The result of a trigger query with the number of its runs that loaded the skill; others unchanged."""
    rule = execution.case.trigger
    if rule is None or not sessions:
        return result
    judged = [end.judgement.status for end in _ends(sessions, execution.case) if end.judgement.status in JUDGED]
    right = sum(status in ASSERTIONS_PASSED for status in judged)
    loaded = right if rule.should_trigger else len(judged) - right
    counts = TriggerCounts(should_trigger=rule.should_trigger, loaded=loaded, judged=len(judged))
    judgement, failure = result.judgement, result.judgement.failure
    if failure and judgement.status in JUDGED:
        bound = "at least" if rule.should_trigger else "less than"
        runs = "1 run" if len(judged) == 1 else f"{len(judged)} runs"
        message = f"loaded in {loaded} of {runs}; expected in {bound} {rule.threshold * 100:g}%"
        judgement = replace(judgement, failure=replace(failure, message=f"{message}; {failure.message}"))
    return replace(result, trigger=counts, judgement=judgement)


def final_judgement(
    execution: Execution, sessions: Sequence[SessionResult], options: ExecuteOptions, stopped: Judgement | None
) -> Judgement:
    """The judgement on an execution that has ended. ``stopped``: why it has fewer sessions than planned.

    A cancelled one is skipped. If the repetitions do not decide, it is that of the last one that could not be judged.
    """
    last = stopped if stopped and stopped.origin is None else sessions[-1].judgement
    if last.status is Status.SKIPPED:
        return last
    if judgement := decided(execution, sessions, options):
        return judgement
    others = (end.judgement for end in reversed(_ends(sessions, execution.case)) if end.judgement.status not in JUDGED)
    return next(others, stopped or sessions[-1].judgement)


def _ends(sessions: Iterable[SessionResult], case: BenchmarkCase | None = None) -> list[SessionResult]:
    """The last session of each repetition; of the trials of ``case``, if all failed, the one with the best score."""
    ends = {session.attempt.repetition: session for session in sessions}
    if case and case.trials and case.trials.strategy == "pass_at_k":
        for session in sessions:
            end = ends[session.attempt.repetition]
            if session.judgement.status is end.judgement.status is Status.FAILED and _score(session) > _score(end):
                ends[session.attempt.repetition] = session
    return list(ends.values())


def _score(session: SessionResult) -> float:
    return session.judgement.score or 0.0


def combined_result(sessions: Sequence[SessionResult], judgement: Judgement) -> Result:
    """The result of an execution: averages over the sessions that succeeded, the cost of all sessions.

    If none succeeded, averages over the last sessions of the repetitions. Output and artifacts are those of the session
    that ``judgement`` is about, else of the last one.
    """
    if len(sessions) == 1 and sessions[0].judgement is judgement:
        return sessions[0].result
    about = next((session for session in sessions if _is_of(judgement, session.judgement)), sessions[-1])
    succeeded = [session.result for session in sessions if session.judgement.status in GREEN]
    counted = succeeded or [session.result for session in _ends(sessions)]
    return replace(
        about.result,
        judgement=judgement,
        duration_ms=_mean([result.duration_ms for result in counted]) or 0,
        usage=_mean_usage([result.usage for result in counted]),
        cost=_sum([session.result.cost for session in sessions]),
        attempts=tuple(session.attempt for session in sessions),
        findings=unique_findings(finding for session in sessions for finding in session.result.findings),
    )


def _is_of(judgement: Judgement, session: Judgement) -> bool:
    """Whether a judgement is that of a session, also with the mean score of several."""
    return judgement is session or (bool(judgement.outcomes) and judgement.outcomes is session.outcomes)


def _mean(values: list[int]) -> int | None:
    return round(sum(values) / len(values)) if values else None


def _mean_usage(usages: list[Usage]) -> Usage:
    """Averages; a number is unknown if it is unknown for any of them."""
    columns = {field.name: [getattr(usage, field.name) for usage in usages] for field in fields(Usage)}
    known = {name: _mean(column) for name, column in columns.items() if None not in column}
    return Usage(**{name: value for name, value in known.items() if value is not None})


def _sum(costs: list[Cost]) -> Cost:
    """The sum; unknown if any of them is."""
    known = [cost.usd for cost in costs if cost.usd is not None]
    return replace(costs[0], usd=sum(known)) if len(known) == len(costs) else Cost()


def in_attempt(session: SessionResult, number: int | None) -> SessionResult:
    """The session with the number of the attempt that ran it; None: it ran in no job."""
    if number is None:
        return session
    attempts = (*session.result.attempts[:-1], replace(session.attempt, run_attempt=number))
    return replace(session, result=replace(session.result, attempts=attempts))


def attempt_shares(journal: Journal, sessions: Iterable[SessionResult]) -> tuple[AttemptShare, ...]:
    """What each attempt contributed, in their order, this one at the end; () if the attempt of a session is unknown."""
    if journal.attempt is None:
        return ()
    ran = [
        (session.attempt.run_attempt, sum_of_costs(session.agent_cost.usd, session.judgement.cost_usd), False)
        for session in sessions
    ]
    shares = {journal.attempt: AttemptShare(number=journal.attempt)}
    for number, cost, repeated in (*ran, *((number, cost, True) for number, cost in journal.repeated)):
        if number is None:
            return ()
        share = shares.get(number, AttemptShare(number=number))
        shares[number] = share.with_session(cost, repeated=repeated)
    return tuple(shares[number] for number in sorted(shares))


@record(frozen=False, kw_only=False, eq=False)
class ExecutionProgress:
    """An execution and its sessions so far.

    ``stored``: those of before the run was resumed that follow one which is missing, by repetition and session.
    ``resumed``: whether there were any. ``started``: whether a session ran now; ``waits``: whether the last one did.
    """

    execution: Execution
    sessions: list[SessionResult] = field(default_factory=list)
    stored: dict[tuple[int, int], SessionResult] = field(default_factory=dict)
    resumed: bool = False
    started: bool = False
    waits: bool = False

    @classmethod
    def of(cls, execution: Execution, sessions: Iterable[SessionResult], options: ExecuteOptions) -> ExecutionProgress:
        """The progress with sessions of before."""
        stored = {(session.attempt.repetition, session.attempt.session): session for session in sessions}
        progress = cls(execution, stored=stored, resumed=bool(stored))
        while progress.take(next_session(execution, progress.sessions, options)):
            pass
        return progress

    def take(self, position: tuple[int, int] | None) -> bool:
        """Add the stored session at ``position``; False: there is none."""
        if position is None or position not in self.stored:
            return False
        self.sessions.append(self.stored.pop(position))
        self.waits = False
        return True

    def take_all(self) -> None:
        """Add all stored sessions: they count, whether or not what precedes them is there."""
        if self.stored:
            found = {(each.attempt.repetition, each.attempt.session): each for each in self.sessions} | self.stored
            self.sessions[:] = [found[position] for position in sorted(found)]
            self.stored.clear()

    def next_repetition(self, options: ExecuteOptions) -> int:
        """The repetition of the next session; 0 if there is none."""
        position = next_session(self.execution, self.sessions, options)
        return position[0] if position else 0
