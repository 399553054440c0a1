"""Stage: executions -> results. Repeats, retries, stops; each result is noted in the journal as soon as it is there."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from skillgym_action.attempt import Attempted, attempt
from skillgym_action.domain import Failure, Judgement, Result
from skillgym_action.judge import CANCELLED, errored
from skillgym_action.session_report import Cost, Trouble, Usage
from skillgym_action.verdicts import GREEN, TROUBLES, FailureClass, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.domain import Execution, Unrunnable
    from skillgym_action.options import ExecuteOptions
    from skillgym_action.plan import Plan
    from skillgym_action.world import World

FINAL_OUTPUT = 4000
LONGEST_WAIT = 60.0


def execute(world: World, plan: Plan, options: ExecuteOptions) -> tuple[Result, ...]:
    """All results of the plan, in its order, whatever finishes first."""
    world.observer.planned(len(plan.executions) + len(plan.unrunnable))
    results = {entry.index: _noted(world, _invalid(entry)) for entry in plan.unrunnable}
    line = _Line(world, options)
    lanes = _lanes(plan.executions, options)
    with ThreadPoolExecutor(max_workers=options.jobs, thread_name_prefix="execution") as pool:
        try:
            for finished in [pool.submit(line.run, lane) for lane in lanes]:
                results |= {result.index: result for result in finished.result()}
        except BaseException:  # whatever it was, a bug of ours too; it goes on its way
            world.cancelled.set()  # nothing more is started, and what runs ends soon
            raise
    return tuple(results[index] for index in sorted(results))


def _lanes(executions: tuple[Execution, ...], options: ExecuteOptions) -> list[tuple[Execution, ...]]:
    """What runs one after the other: each execution alone, or everything of one runner."""
    if options.schedule != "isolated-by-runner":
        return [(execution,) for execution in executions]
    ids = dict.fromkeys(execution.runner.id for execution in executions)
    return [tuple(execution for execution in executions if execution.runner.id == name) for name in ids]


class _Line:
    """What the executions of one run share: runners that were stopped, money that was spent."""

    def __init__(self, world: World, options: ExecuteOptions) -> None:
        self.world, self.options = world, options
        self._lock = threading.Lock()
        self._stopped: dict[str, Trouble] = {}
        self._spent = 0.0

    def run(self, lane: tuple[Execution, ...]) -> list[Result]:
        """The results of a lane."""
        results = []
        for execution in lane:
            result = self._unstarted(execution)
            if result is None:
                self.world.observer.started(execution)
                with self.world.processes.turns.working():
                    result = self._executed(execution)
            results.append(_noted(self.world, result))
        return results

    def _unstarted(self, execution: Execution) -> Result | None:
        """The result of an execution that must not start: cancelled, runner stopped, money spent."""
        with self._lock:
            trouble, spent = self._stopped.get(execution.runner.id), self._spent
        if self.world.cancelled:
            return _result(execution, CANCELLED)
        if trouble:
            message = f"not started, since the runner failed before: {trouble.message}"
            return _result(execution, errored(replace(trouble, message=message)))
        if self.options.max_cost is not None and spent >= self.options.max_cost:
            reason = f"the run's budget is spent: ${spent:.2f} of ${self.options.max_cost:.2f}"
            return _result(execution, Judgement(status=Status.SKIPPED, origin="budget", reason=reason))
        return None

    def _executed(self, execution: Execution) -> Result:
        """All repetitions, until one does not succeed."""
        attempts: list[Attempted] = []
        successful: list[Attempted] = []
        for repetition in range(1, self.options.repeat + 1):
            attempts += self._repetition(execution, repetition)
            last = attempts[-1]
            if self.options.record:
                target = self.options.record / execution.directory / f"repeat-{repetition}"
                self.world.directory.record(last.attempt.directory, target)
            if last.judgement.status not in GREEN:
                break
            successful.append(last)
        return _result(execution, attempts[-1].judgement, attempts, successful or attempts[-1:])

    def _repetition(self, execution: Execution, repetition: int) -> Iterator[Attempted]:
        """One planned sample: its session, and the sessions that try again after trouble or a failure."""
        troubled = failed = number = 0
        while True:
            number += 1
            attempted = attempt(self.world, execution, repetition, number, self.options.max_steps)
            self._account(execution, attempted)
            yield attempted
            trouble = attempted.trouble
            if self.world.cancelled or attempted.judgement.status in GREEN:
                return
            if trouble is None:
                failed += 1
                if failed > self.options.retry or attempted.judgement.status is Status.ERRORED:
                    return
            else:
                troubled += 1
                if execution.runner.agent.type == "replay" or troubled > TROUBLES[trouble.kind].retries:
                    return  # a recording ends as it did
                with self.world.processes.turns.waiting():
                    self.world.clock.pause(_wait(trouble, troubled), self.world.cancelled)

    def _account(self, execution: Execution, attempted: Attempted) -> None:
        cost = attempted.report.cost.usd if attempted.report else None
        with self._lock:
            self._spent += cost or 0.0
            if attempted.trouble and TROUBLES[attempted.trouble.kind].stops_runner:
                self._stopped.setdefault(execution.runner.id, attempted.trouble)


def _wait(trouble: Trouble, tried: int) -> float:
    """Seconds until the next try: what the service asks for, else growing with jitter by the clock door."""
    return min(trouble.retry_after if trouble.retry_after is not None else 2.0**tried, LONGEST_WAIT)


def _result(
    execution: Execution,
    judgement: Judgement,
    attempts: list[Attempted] | None = None,
    counted: list[Attempted] | None = None,
) -> Result:
    """``counted``: the sessions that durations, tokens and cost are averages over."""
    last = attempts[-1] if attempts else None
    reports = [one.report for one in counted or () if one.report]
    report = last.report if last else None
    return Result(
        index=execution.index,
        suite=execution.suite,
        case_id=execution.case.id,
        judgement=judgement,
        runner=execution.runner,
        location=execution.case.location,
        tags=execution.case.tags,
        expected_fail=execution.case.expected_fail,
        duration_ms=_mean([one.attempt.duration_ms for one in counted or ()]) or 0,
        usage=_mean_usage([one.usage for one in reports]),
        cost=_spent(attempts or []),
        model=(report.model if report else None) or execution.model,
        version=report.version if report else None,
        attempts=tuple(one.attempt for one in attempts or ()),
        directory=last.attempt.directory if last else None,
        prompt=execution.case.prompt,
        final_output=report.final_output[-FINAL_OUTPUT:] if report else None,
        session_id=report.session_id if report else None,
    )


def _mean(values: list[int]) -> int | None:
    return round(sum(values) / len(values)) if values else None


def _mean_usage(usages: list[Usage]) -> Usage:
    """Unknown wherever one of them is."""
    columns = {field.name: [getattr(usage, field.name) for usage in usages] for field in fields(Usage)}
    known = {name: _mean(column) for name, column in columns.items() if column and None not in column}
    return Usage(**{name: value for name, value in known.items() if value is not None})


def _spent(attempts: list[Attempted]) -> Cost:
    """All sessions together, the unsuccessful ones too; unknown as soon as one of them is."""
    costs = [one.report.cost if one.report else Cost() for one in attempts]
    known = [cost.usd for cost in costs if cost.usd is not None]
    return replace(costs[0], usd=sum(known)) if costs and len(known) == len(costs) else Cost()


def _invalid(entry: Unrunnable) -> Result:
    problem = entry.invalid.problem
    judgement = Judgement(
        status=Status.ERRORED,
        origin=TROUBLES["suite-invalid"].origin,
        failure_class=FailureClass(id="suite-invalid", label=TROUBLES["suite-invalid"].label),
        failure=Failure(name="SuiteError", message=str(problem), location=problem.location),
    )
    return Result(
        index=entry.index,
        suite=entry.suite,
        case_id=entry.invalid.case_id or "(suite)",
        judgement=judgement,
        location=problem.location,
    )


def _noted(world: World, told: Result) -> Result:
    """The result as everybody may know it: secrets go before a report escapes them beyond recognition."""
    within = world.directory.redactor.within
    result = replace(
        told,
        judgement=within(told.judgement),
        attempts=within(told.attempts),
        prompt=within(told.prompt),
        final_output=within(told.final_output),
    )
    world.directory.note(
        {
            "index": result.index,
            "suite": result.suite.path,
            "case": result.case_id,
            "runner": result.runner.id if result.runner else None,
            "status": str(result.status),
            "failureClass": result.judgement.failure_class.id if result.judgement.failure_class else None,
            "costUsd": result.cost.usd,
            "directory": result.directory,
        }
    )
    world.observer.finished(result)
    return result
