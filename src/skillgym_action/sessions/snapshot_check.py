"""Stage, part of execute: whether an execution keeps to its snapshot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.clock import iso
from skillgym_action.model.token_snapshots import Snapshot, check, unknown, used
from skillgym_action.model.verdicts import GREEN
from skillgym_action.sessions.assertion_context import SuiteClassifier
from skillgym_action.sessions.judge import classified, errored

if TYPE_CHECKING:
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import Result
    from skillgym_action.model.session_report import Trouble
    from skillgym_action.model.token_snapshots import SnapshotConfig
    from skillgym_action.services import Services


def compared(services: Services, execution: Execution, result: Result, config: SnapshotConfig | None) -> Result:
    """A green result, held to its snapshot; where there is none, it becomes one, or that is remembered."""
    file, runner = services.snapshots, result.runner
    if config is None or file is None or runner is None or result.status not in GREEN:
        return result
    actual = used(result.usage, config.metric)
    if actual is None:
        return _errored(services, execution, result, unknown(config.metric))
    taken = Snapshot(
        case_id=result.case_id,
        runner_id=runner.id,
        metric=config.metric,
        value=actual,
        agent_type=runner.agent.type,
        updated_at=iso(services.clock.now()),
        model=result.model,
    )
    known = file.snapshot(taken.key, result.suite.path)
    if config.update or (known is None and config.create):
        file.take(taken)
    elif known is None:
        file.miss(taken.key)
    elif trouble := check(known, actual, config.metric, config.tolerance):
        return _errored(services, execution, result, trouble)
    return result


def _errored(services: Services, execution: Execution, result: Result, trouble: Trouble) -> Result:
    """Green no more; its sessions stay as they were judged."""
    before = result.judgement
    after = classified(execution.case, SuiteClassifier(services, execution), errored(trouble, before.outcomes))
    return replace(result, judgement=replace(after, score=before.score, cost_usd=before.cost_usd))
