"""Results that are reused: the newest stored result of an execution, or those of an earlier job attempt."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from skillgym_action.history.stored_lines import PASSED, StoredExecution
from skillgym_action.model.dependencies import dependency_groups
from skillgym_action.model.judgement import Failure, Judgement
from skillgym_action.model.records import record
from skillgym_action.model.result import Result, Reused, TriggerCounts
from skillgym_action.model.verdicts import JUDGED, FailureClass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import timedelta

    from skillgym_action.history.pooling import BaselineKey
    from skillgym_action.history.reading import BaseHistory
    from skillgym_action.model.execution import Execution


@record
class UnchangedRule:
    """Which stored results ``reuse: unchanged`` takes: of the same digest of everything, and not too old.

    ``max_age``: since the stored run began. ``repetitions``: how many samples each execution has to have, by index.
    """

    max_age: timedelta
    repetitions: Mapping[int, int]

    def fits(self, execution: Execution, wanted: BaselineKey, stored: StoredExecution, now: datetime) -> bool:
        """Whether a stored result is that of the execution as it would run now."""
        whole = wanted.inputs.whole
        return (
            whole is not None
            and stored.entry.inputs.whole == whole
            and now - datetime.fromisoformat(stored.line.run.at) <= self.max_age
            and len(stored.entry.sessions) >= self.repetitions[execution.index]
        )


@record
class UntouchedRule:
    """Which stored results ``changed-only`` takes: of the same case, if nothing of it has changed since.

    ``touched_since``: the executions, by index, that the base has changed since a commit.
    """

    touched_since: Callable[[str], frozenset[int]]

    def fits(self, execution: Execution, wanted: BaselineKey, stored: StoredExecution, _now: datetime) -> bool:
        """Whether a stored result is that of the execution as it would run now."""
        then, now = stored.key, wanted.key
        return (
            (then.prompt, then.assertions, then.program, then.workspace, then.agent, then.tool, then.plug_ins)
            == (now.prompt, now.assertions, now.program, now.workspace, now.agent, now.tool, now.plug_ins)
            and execution.index not in self.touched_since(stored.line.run.commit)
        )  # fmt: skip


def reused_results(
    executions: Iterable[Execution],
    wanted: Mapping[int, BaselineKey],
    history: BaseHistory,
    indexes: frozenset[int],
    rule: UnchangedRule | UntouchedRule,
) -> dict[int, Result]:
    """The stored results in place of which these executions need not run, by index.

    ``executions``: of the whole plan. ``wanted``: their digests, by index. ``indexes``: the executions that may be
    reused. ``rule``: which of the stored results may be.

    Cases that depend on each other are reused together or not at all. Executions in arms are not, since an uplift
    needs the sessions of both; nor are those in quarantine, which run in order to be watched.
    """
    executions = tuple(executions)
    of_name = history.executions_by_name()
    found: dict[int, Result] = {}
    for execution in executions:
        if execution.index not in indexes or not may_be_reused(execution):
            continue
        one = wanted[execution.index]
        fitting = (stored for stored in of_name.get(one.name, ()) if rule.fits(execution, one, stored, history.now))
        stored = next(fitting, None)
        if stored and stored.entry.whole_status in JUDGED and not stored.entry.found:
            found[execution.index] = _result(execution, one, stored)
    return _with_whole_groups(executions, found)


def may_be_reused(execution: Execution) -> bool:
    """Whether an execution can have a stored result: those in arms and those in quarantine have none."""
    return execution.arm is None and execution.quarantine is None


def _with_whole_groups(executions: tuple[Execution, ...], found: dict[int, Result]) -> dict[int, Result]:
    """Without those of which another case, on which they depend or which depends on them, is not reused."""
    groups: dict[str, dict[str, str]] = {}
    incomplete = set()
    keys = {}
    for execution in executions:
        suite = execution.suite
        of_suite = groups.get(suite.path) or groups.setdefault(suite.path, dependency_groups(suite.cases))
        key = suite.path, of_suite[execution.case.id], execution.runner.id
        keys[execution.index] = key
        if execution.index not in found:
            incomplete.add(key)
    return {index: result for index, result in found.items() if keys[index] not in incomplete}


def _result(execution: Execution, wanted: BaselineKey, stored: StoredExecution) -> Result:
    """The stored result of an execution. What the suite defines is taken from the suite, not from the store."""
    case, entry, run = execution.case, stored.entry, stored.line.run
    samples = tuple(sample == PASSED for sample in entry.sessions)
    return Result(
        index=execution.index,
        suite=execution.suite,
        case_id=case.id,
        title=case.title,
        metadata=case.metadata,
        runner=execution.runner,
        judgement=_judgement(execution, stored),
        location=case.location,
        tags=case.tags,
        expected_fail=case.expected_fail,
        model=entry.model,
        version=entry.version,
        prompt=case.prompt,
        trigger=_trigger(execution, samples),
        inputs=wanted.inputs,
        reused=Reused(
            commit=run.commit,
            at=run.at,
            samples=samples,
            link=run.link,
            cost_usd=entry.usd * len(samples) if entry.usd is not None else None,
        ),
    )


def _judgement(execution: Execution, stored: StoredExecution) -> Judgement:
    entry, failure = stored.entry, stored.entry.failure
    if failure is None:
        return Judgement(status=entry.whole_status, score=entry.score, threshold=execution.case.threshold)
    class_ = FailureClass(id=failure.id, label=failure.label or failure.id) if failure.id else None
    return Judgement(
        status=entry.whole_status,
        score=entry.score,
        threshold=execution.case.threshold,
        origin=failure.origin,
        failure_class=class_,
        failure=Failure(name=failure.name, message=failure.message, location=execution.case.location),
    )


def _trigger(execution: Execution, samples: tuple[bool, ...]) -> TriggerCounts | None:
    """The runs of a trigger query, of which those are right that loaded the skill or not, as they should."""
    rule = execution.case.trigger
    if rule is None:
        return None
    loaded = sum(sample == rule.should_trigger for sample in samples)
    return TriggerCounts(should_trigger=rule.should_trigger, loaded=loaded, judged=len(samples))
