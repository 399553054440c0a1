"""Results of sessions that a line of a journal has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.result import SessionResult
from skillgym_action.model.session_report import Cost

if TYPE_CHECKING:
    from skillgym_action.model.execution import Execution
    from skillgym_action.storage.journal_lines import EndedSession


def session_result(execution: Execution, stored: EndedSession) -> SessionResult:
    """The result of a stored session. What the suite defines is taken from the suite, not from the journal."""
    case, result = execution.case, stored.result
    return SessionResult(
        result=replace(
            result,
            index=execution.index,
            suite=execution.suite,
            runner=execution.runner,
            case_id=case.id,
            title=case.title,
            judgement=replace(result.judgement, cost_usd=stored.judge_usd),
            location=case.location,
            tags=case.tags,
            expected_fail=case.expected_fail,
            prompt=case.prompt,
        ),
        agent_cost=Cost(usd=stored.agent_usd, source=result.cost.source),
        trouble=stored.trouble,
    )
