"""Results of sessions that a line of a journal has, or the answer of a worker: which parts the line may decide."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.assertions.graders import AssertionGroup, ScoredAssertion
from skillgym_action.model.arm import held_assertions
from skillgym_action.model.result import Attempt, Result, SessionResult
from skillgym_action.model.session_report import Cost
from skillgym_action.model.verdicts import ASSERTIONS_PASSED, JUDGED, MODEL, TROUBLES
from skillgym_action.reporters.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.assertion import Assertion
    from skillgym_action.model.execution import Execution
    from skillgym_action.storage.journal_lines import EndedSession

NO_WEIGHT = 1.0  # of outcomes whose assertion has none


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
    case, line, judgement = execution.case, stored.result, replace(stored.result.judgement, cost_usd=stored.judge_usd)
    folder = session_folder(execution, stored.position)
    attempt = Attempt(
        repetition=stored.position[0],
        session=stored.position[1],
        status=judgement.status,
        duration_ms=line.duration_ms,
        directory=folder,
        failure_class=judgement.failure_class,
        message=judgement.failure.message if judgement.failure else None,
        held=held_assertions(judgement) if execution.arm else (),
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
    return next(_misfits(execution, stored), None)


def _misfits(execution: Execution, stored: EndedSession) -> Iterator[str]:
    case, status, outcomes = execution.case, stored.result.status, stored.result.judgement.outcomes
    if case.expected_fail != stored.result.expected_fail:
        yield f"its case is {'' if case.expected_fail else 'not '}expected to fail, and it says otherwise"
    if stored.trouble and status in JUDGED:
        of_model = TROUBLES[stored.trouble.kind].origin == MODEL
        if case.trigger is None and status in ASSERTIONS_PASSED:
            yield f"with the trouble {stored.trouble.kind} its status cannot be {status}"
        if case.trigger is not None and not of_model:
            yield f"it is of a trigger query, and with the trouble {stored.trouble.kind} its status cannot be {status}"
    assertions = tuple(_single(case.assertions))
    if not {outcome.weight for outcome in outcomes} <= {NO_WEIGHT, *map(_weight, assertions)}:
        yield "no assertion of its case has the weight of one of its outcomes"
    has_all = len(outcomes) >= len(assertions) or any(outcome.passed is not True for outcome in outcomes)
    if status in ASSERTIONS_PASSED and not has_all:
        found, wanted = counted(len(outcomes), "outcome"), counted(len(assertions), "assertion")
        yield f"it has the status {status} with {found}, and its case has {wanted}"


def _single(assertions: Iterable[Assertion]) -> Iterator[Assertion]:
    """The assertions, also of groups."""
    for assertion in assertions:
        if isinstance(assertion, AssertionGroup):
            yield from _single(assertion.assertions)
        else:
            yield assertion


def _weight(assertion: Assertion) -> float:
    return assertion.weight if isinstance(assertion, ScoredAssertion) else NO_WEIGHT
