"""Token snapshots: compares the token usage of an execution with its snapshot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.token_snapshots import Snapshot, snapshot_trouble, unknown_usage_trouble, used_tokens
from skillgym_action.model.verdicts import GREEN
from skillgym_action.sessions.assertion_context import SuiteClassifier
from skillgym_action.sessions.judge import trouble_judgement, with_suite_failure_class
from skillgym_action.system.clock import iso_timestamp

if TYPE_CHECKING:
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import Result
    from skillgym_action.model.session_report import Trouble
    from skillgym_action.model.token_snapshots import SnapshotConfig
    from skillgym_action.services import Services


def check_snapshot(services: Services, execution: Execution, result: Result, config: SnapshotConfig | None) -> Result:
    """The result; errored if it is green and uses more tokens than its snapshot allows.

    A missing snapshot is created or, if the configuration does not allow that, noted for a warning.
    """
    file, runner = services.snapshots, result.runner
    if config is None or file is None or runner is None or result.status not in GREEN:
        return result
    actual = used_tokens(result.usage, config.metric)
    if actual is None:
        return _errored(services, execution, result, unknown_usage_trouble(config.metric))
    taken = Snapshot(
        case_id=result.case_id,
        runner_id=runner.id,
        metric=config.metric,
        value=actual,
        agent_type=runner.agent.type,
        updated_at=iso_timestamp(services.clock.now()),
        model=result.model,
    )
    known = file.snapshot(taken.key, result.suite.path)
    if config.update or (known is None and config.create):
        file.take(taken)
    elif known is None:
        file.miss(taken.key)
    elif trouble := snapshot_trouble(known, actual, config.metric, config.tolerance):
        return _errored(services, execution, result, trouble)
    return result


def _errored(services: Services, execution: Execution, result: Result, trouble: Trouble) -> Result:
    """The result with the trouble; its attempts keep their statuses."""
    before = result.judgement
    after = with_suite_failure_class(
        execution.case, SuiteClassifier(services, execution), trouble_judgement(trouble, before.outcomes)
    )
    return replace(result, judgement=replace(after, score=before.score, cost_usd=before.cost_usd))
