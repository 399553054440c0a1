"""Stage: executions -> results. Repeats, retries, stops; each result is noted in the journal as soon as it is there."""

from __future__ import annotations

import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from skillgym_action.around import all_finished
from skillgym_action.attempt import Attempted, attempt
from skillgym_action.dependencies import chains, in_order, unmet
from skillgym_action.domain import Failure, Judgement, Result
from skillgym_action.judge import CANCELLED, classified, errored
from skillgym_action.session_report import Cost, Trouble, Usage
from skillgym_action.snapshot_check import compared
from skillgym_action.subject import SuiteClassifier
from skillgym_action.verdicts import GREEN, TROUBLES, FailureClass, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    lanes = _lanes(plan, options)
    with ThreadPoolExecutor(max_workers=options.jobs, thread_name_prefix="execution") as pool:
        try:
            for finished in [pool.submit(line.run, lane) for lane in lanes]:
                results |= {result.index: result for result in finished.result()}
        except BaseException:  # whatever it was, a bug of ours too; it goes on its way
            world.cancelled.set()  # nothing more is started, and what runs ends soon
            raise
    for execution in {(one.suite.path, one.runner.id): one for one in plan.executions}.values():
        all_finished(world, execution)
    if world.snapshots:
        world.snapshots.save()
    return tuple(results[index] for index in sorted(results))


def _lanes(plan: Plan, options: ExecuteOptions) -> list[tuple[Execution, ...]]:
    """What runs one after the other: each execution with those it depends on, or everything of one runner."""
    leaders = {suite.path: chains(suite.cases) for suite in plan.suites}
    together: dict[tuple[str, ...], list[Execution]] = {}
    for one in plan.executions:
        own = (one.suite.path, leaders[one.suite.path][one.case.id], one.runner.id)
        together.setdefault(own, []).append(one)
    chained = [in_order(executions) for executions in together.values()]
    if options.schedule != "isolated-by-runner":
        return chained
    lanes: dict[str, tuple[Execution, ...]] = {}
    for chain in chained:
        lanes[chain[0].runner.id] = lanes.get(chain[0].runner.id, ()) + chain
    return list(lanes.values())


class _Line:
    """What the executions of one run share: runners that were stopped, money that was spent."""

    def __init__(self, world: World, options: ExecuteOptions) -> None:
        self.world, self.options = world, options
        self._lock = threading.Lock()
        self._stopped: dict[tuple[str, str], Trouble] = {}
        self._spent = 0.0
        self._spent_on: defaultdict[tuple[str, str], float] = defaultdict(float)

    def run(self, lane: tuple[Execution, ...]) -> list[Result]:
        """The results of a lane."""
        results: list[Result] = []
        done: dict[tuple[str, str], dict[str, Result]] = {}
        for execution in lane:
            before = done.setdefault((execution.suite.path, execution.runner.id), {})
            result = self._unstarted(execution, before)
            if result is None:
                self.world.observer.started(execution)
                with self.world.processes.turns.working():
                    result = self._executed(execution)
            before[execution.case.id] = result
            results.append(_noted(self.world, result))
        return results

    def _unstarted(self, execution: Execution, done: Mapping[str, Result]) -> Result | None:
        """The result of an execution that must not start: cancelled, runner stopped, money spent, no sense in it."""
        with self._lock:
            trouble, spent = execution.runner.trouble or self._stopped.get(_runner(execution)), self._spent
            spent_here = self._spent_on[execution.suite.path, execution.runner.id]
        if self.world.cancelled:
            return _result(execution, CANCELLED)
        if pointless := unmet(execution, done):
            return _result(execution, pointless)
        if trouble:
            told = classified(execution.case, SuiteClassifier(self.world, execution), errored(trouble))
            return _result(execution, told)
        if self.options.max_cost is not None and spent >= self.options.max_cost:
            reason = f"the run's budget is spent: ${spent:.2f} of ${self.options.max_cost:.2f}"
            return _result(execution, Judgement(status=Status.SKIPPED, origin="budget", reason=reason))
        if execution.suite.budget is not None and spent_here >= execution.suite.budget:
            reason = f"the suite's budget is spent: ${spent_here:.2f} of ${execution.suite.budget:.2f}"
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
        result = _result(execution, attempts[-1].judgement, attempts, successful or attempts[-1:])
        return compared(self.world, execution, result, self.options.snapshots)

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
                allowed = max(self.options.retry, execution.case.retries)
                if failed > allowed or attempted.judgement.status is Status.ERRORED:
                    return
            else:
                troubled += 1
                if execution.runner.agent.type == "replay" or troubled > TROUBLES[trouble.kind].retries:
                    return  # a recording ends as it did
                with self.world.processes.turns.waiting():
                    self.world.clock.pause(_wait(trouble, troubled), self.world.cancelled)

    def _account(self, execution: Execution, attempted: Attempted) -> None:
        known = (attempted.report.cost.usd if attempted.report else None, attempted.judgement.cost_usd)
        cost = sum(usd or 0.0 for usd in known)
        with self._lock:
            self._spent += cost
            self._spent_on[execution.suite.path, execution.runner.id] += cost
            if attempted.trouble and TROUBLES[attempted.trouble.kind].stops_runner:
                why = f"not started, since the runner failed before: {attempted.trouble.message}"
                self._stopped.setdefault(_runner(execution), replace(attempted.trouble, message=why))


def _runner(execution: Execution) -> tuple[str, str]:
    """Runners of different suites may have one name."""
    return execution.suite.path if execution.suite.runners else "", execution.runner.id


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
    costs = [one.cost for one in attempts]
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
