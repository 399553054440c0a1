"""Which attempt of a job on GitHub ran which sessions, and what each attempt cost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.job_attempt import AttemptShare, sum_of_costs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.result import SessionResult
    from skillgym_action.storage.journal import Journal


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
