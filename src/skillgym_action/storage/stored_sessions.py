"""Results of sessions that a line of a journal has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.result import SessionResult
from skillgym_action.model.session_report import Cost, Trouble
from skillgym_action.storage.results_reader import restored_result

if TYPE_CHECKING:
    from skillgym_action.model.execution import Execution
    from skillgym_action.storage.journal_lines import SessionEntry


def session_result(execution: Execution, stored: SessionEntry) -> SessionResult:
    """The result of a stored session. What the suite defines is taken from the suite, not from the journal."""
    case, found = execution.case, stored.trouble
    trouble = Trouble(kind=found.kind, message=found.message, retry_after=found.retry_after) if found else None
    result = restored_result(stored.result, execution.index, execution.suite, execution.runner)
    return SessionResult(
        result=replace(
            result,
            case_id=case.id,
            title=case.title,
            judgement=replace(result.judgement, cost_usd=stored.judge_usd),
            location=case.location,
            tags=case.tags,
            expected_fail=case.expected_fail,
            prompt=case.prompt,
        ),
        agent_cost=Cost(usd=stored.agent_usd, source=stored.result.cost_source),
        trouble=trouble,
    )
