"""Stage: executions -> results. Runs sessions in parallel, with repetitions, retries and budgets.

A session is in the journal as soon as it has ended, so that an interrupted run can be resumed.
"""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from skillgym_action.model.adaptive import RED
from skillgym_action.model.dependencies import unmet_dependency
from skillgym_action.model.judgement import Failure, Judgement
from skillgym_action.model.records import record
from skillgym_action.model.report import sum_of_costs
from skillgym_action.model.result import Result, SessionResult
from skillgym_action.model.verdicts import TROUBLES, FailureClass, Status
from skillgym_action.results.journal import event_line, lost_line, session_line
from skillgym_action.sessions.assertion_context import SuiteClassifier
from skillgym_action.sessions.hooks import run_hooks_after_all, untrusted_skill
from skillgym_action.sessions.judge import CANCELLED_JUDGEMENT, trouble_judgement, with_suite_failure_class
from skillgym_action.sessions.repetitions import (
    ExecutionProgress,
    combined_result,
    final_judgement,
    next_session,
    retry_wait,
    with_trigger_runs,
)
from skillgym_action.sessions.run_limits import Budget, FailureLimit, ProviderLimits, StoppedRunners
from skillgym_action.sessions.run_session import execution_result, run_session
from skillgym_action.sessions.serial_groups import interleaved_serial_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from skillgym_action.model.adaptive import Adaptive
    from skillgym_action.model.execution import Execution, Plan, Unrunnable
    from skillgym_action.model.report import AttemptShare
    from skillgym_action.results.journal import Journal
    from skillgym_action.services import Services
    from skillgym_action.sessions.adaptive_run import AdaptiveRule
    from skillgym_action.sessions.engines.dispatch import Dispatcher
    from skillgym_action.sessions.run_limits import ProviderSlot, SerialGroupQueue
    from skillgym_action.settings.settings import ExecuteOptions


@record
class Executed:
    """All results of a plan, in its order.

    ``adaptive``: how the run decided, if it did so while it ran. ``incomplete``: why results are missing, or sessions
    that would have decided about that, a sentence per reason. ``attempts``: of the job on GitHub, in their order.
    ``slowed``: a sentence per provider that reported rate limits.
    """

    results: tuple[Result, ...]
    attempts: tuple[AttemptShare, ...] = ()
    adaptive: Adaptive | None = None
    incomplete: tuple[str, ...] = ()
    slowed: tuple[str, ...] = ()

    @property
    def of_report(self) -> dict[str, Any]:
        """Fields that the run report has under the same names."""
        return {"attempts": self.attempts, "slowed": self.slowed}


def execute(
    services: Services,
    plan: Plan,
    options: ExecuteOptions,
    journal: Journal,
    rule: AdaptiveRule | None = None,
    workers: Callable[[], AbstractContextManager[Dispatcher | None]] | None = None,
) -> Executed:
    """Run the plan. Sessions that ``journal`` has are not run again.

    ``rule``: which sessions there are; None: all of the plan. ``workers``: opens what gives sessions to workers; None:
    they run in this process.
    """
    from skillgym_action.sessions.hidden_paths import hide_suites

    services.observer.planned(len(plan.executions) + len(plan.unrunnable))
    results = {
        entry.index: _reported(services, _redacted(services, _invalid_result(entry))) for entry in plan.unrunnable
    }
    adaptive: Adaptive | None = None
    missing: tuple[str, ...] = ()
    opened = workers() if workers and plan.executions else nullcontext()
    with opened as dispatcher, hide_suites(services, plan.executions):
        executor = _Executor(services, plan, options, journal, dispatcher)
        if rule is None:
            results |= _run(executor, plan)
        else:
            found, adaptive = _run_in_rounds(executor, plan, rule)
            results |= found
            missing = tuple(executor.missing())
    last = {(execution.suite.path, execution.runner.id, execution.arm_name): execution for execution in plan.executions}
    for execution in last.values():
        run_hooks_after_all(services, execution)
    if services.snapshots:
        services.snapshots.save()
    in_order = tuple(results[index] for index in sorted(results))
    incomplete = (*missing, *executor.unstarted())
    slowed = executor.providers.slowed(dispatcher.most_slots if dispatcher else None)
    return Executed(
        results=in_order, adaptive=adaptive, incomplete=incomplete, attempts=executor.attempts(), slowed=slowed
    )


def _run(executor: _Executor, plan: Plan) -> dict[int, Result]:
    """Run all executions of the plan in parallel; their results by index."""
    services, jobs = executor.services, executor.options.jobs
    serial_groups = interleaved_serial_groups(plan, executor.options, one_user=services.processes.user is not None)
    queue = executor.providers.queue(serial_groups)
    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="execution") as pool:
        try:
            workers = [pool.submit(executor.run_serial_groups, queue) for _ in range(min(jobs, len(serial_groups)))]
            finished, _ = wait(workers, return_when=FIRST_EXCEPTION)
            return {result.index: result for worker in finished for result in worker.result()}
        # An internal error, or Ctrl-C: it is raised again once the running sessions have ended.
        except BaseException:
            services.cancelled.set()
            raise


def _run_in_rounds(executor: _Executor, plan: Plan, rule: AdaptiveRule) -> tuple[dict[int, Result], Adaptive]:
    """Run the rounds that ``rule`` asks for; results by index, with the status of their first repetition."""
    from skillgym_action.sessions.adaptive_run import run_adaptively

    found, adaptive = run_adaptively(rule, _Rounds(executor, plan))
    compared = {one.index for one in (*rule.heads, *rule.controls)}
    of_plan = {execution.index: execution for execution in plan.executions}
    results = {
        index: executor.completed(
            of_plan[index], executor.of_first_round(of_plan[index], result) if index in compared else result
        )
        for index, result in found.items()
    }
    if tuple(executor.missing()) and adaptive.check not in RED:
        adaptive = replace(adaptive, check="undecided", why=adaptive.why or "the budget was spent")
    return results, adaptive


class _Rounds:
    """Runs sessions of some executions of a plan at a time."""

    def __init__(self, executor: _Executor, plan: Plan) -> None:
        self._executor, self._plan = executor, plan
        executor.begin_rounds()
        self._began = False

    def hold(self, executions: Sequence[Execution]) -> dict[int, Result]:
        """Run what the executions lack of their repetitions; their results with all sessions, by index."""
        if self._began:
            self._executor.services.observer.planned(len(executions))
        self._began = True
        return _run(self._executor, replace(self._plan, executions=tuple(executions)))

    def mean_cost(self, indexes: Iterable[int]) -> float | None:
        """US dollars of a session of these executions so far; None: unknown."""
        return self._executor.mean_cost(indexes)

    @property
    def left(self) -> float | None:
        """US dollars that may still be spent; None: there is no limit, or it is unknown."""
        return self._executor.left


class _Executor:
    """What the executions of one run share: stopped runners and budgets."""

    def __init__(
        self,
        services: Services,
        plan: Plan,
        options: ExecuteOptions,
        journal: Journal,
        dispatcher: Dispatcher | None = None,
    ) -> None:
        self.services, self.options, self._journal, self._dispatcher = services, options, journal, dispatcher
        self._lock = threading.Lock()
        self._stopped = StoppedRunners()
        self._sessions: dict[int, Sequence[SessionResult]] = dict(journal.sessions)
        self._errored: dict[tuple[str, str, str | None], str] = {}
        self._is_staged = False
        self._refused: set[int] = set()
        self._failures = FailureLimit(options.maxfail)
        self.providers = ProviderLimits(
            options.provider_limits, options.jobs, services.clock, services.cancelled, services.observer.detail
        )
        self._budget = Budget("the run's", options.max_cost)
        self._suite_budgets = {
            _budget_key(execution): Budget("the suite's", execution.suite.budget) for execution in plan.executions
        }
        for spent in journal.spent:
            for budget in (self._budget, self._suite_budgets.get((spent.suite, spent.runner))):
                if budget:
                    _add_costs(budget, spent.runner, *spent.costs)

    def begin_rounds(self) -> None:
        """From now on executions get further repetitions. Those that they have are not run again."""
        self._is_staged = True

    @property
    def left(self) -> float | None:
        """US dollars that are left of the run's budget; None: there is no limit, or it is unknown."""
        return self._budget.left

    def mean_cost(self, indexes: Iterable[int]) -> float | None:
        """The mean cost of a session of these executions so far; None: there is none, or one is unknown."""
        sessions = [session for index in indexes for session in self._sessions.get(index, ())]
        costs = [sum_of_costs(one.agent_cost.usd, one.judgement.cost_usd) for one in sessions]
        known = [cost for cost in costs if cost is not None]
        return sum(known) / len(known) if known and len(known) == len(costs) else None

    def of_first_round(self, execution: Execution, result: Result) -> Result:
        """The result with the status of its first repetition: whether there are others depends on results."""
        first = [one for one in self._sessions.get(execution.index, ()) if one.attempt.repetition == 1]
        if not first:
            return result
        judgement = final_judgement(replace(execution, repetitions=1), first, self.options, None)
        whole = combined_result(first, judgement)
        return _redacted(
            self.services,
            replace(whole, attempts=result.attempts, cost=result.cost, quarantine=result.quarantine),
        )

    def missing(self) -> Iterator[str]:
        """Why executions lack repetitions of the last stage."""
        if number := len(self._refused):
            verb = "execution lacks" if number == 1 else "executions lack"
            yield f"{number:,} {verb} sessions that the comparison needs, since the budget was spent"

    def unstarted(self) -> tuple[str, ...]:
        """Why executions were not started: a sentence, if the run ended because of failures."""
        return self._failures.missing()

    def attempts(self) -> tuple[AttemptShare, ...]:
        """What each attempt of the job contributed; () if that is not known of all sessions."""
        from skillgym_action.sessions.repetitions import attempt_shares

        return attempt_shares(self._journal, (each for sessions in self._sessions.values() for each in sessions))

    def completed(self, execution: Execution, result: Result) -> Result:
        """The result of an execution without further sessions: recorded, and compared with its snapshot."""
        sessions = self._sessions.get(execution.index, ())
        if self.options.record:
            for attempt in {session.attempt.repetition: session.attempt for session in sessions}.values():
                target = self.options.record / execution.directory / f"repeat-{attempt.repetition}"
                self.services.directory.record(attempt.directory, target)
        if not sessions:
            return result
        from skillgym_action.sessions.token_snapshots import check_snapshot

        return check_snapshot(self.services, execution, result, self.options.snapshots) if execution.decides else result

    def run_serial_groups(self, serial_groups: SerialGroupQueue) -> list[Result]:
        """Run serial groups until none is left, in parallel with other workers. Their results."""
        results: list[Result] = []
        while serial_group := self.providers.take_serial_group(serial_groups):
            results += self._run_serial_group(serial_group)
            self.providers.serial_group_ended(serial_group)
        return results

    def _run_serial_group(self, serial_group: tuple[Execution, ...]) -> list[Result]:
        results: list[Result] = []
        done: dict[tuple[str, str, str | None], dict[str, Result]] = {}
        for _, executions in groupby(serial_group, lambda one: (one.suite.path, one.case.id, one.runner.id)):
            results += self._run_case(executions, done)
        return results

    def _run_case(
        self, executions: Iterable[Execution], done: dict[tuple[str, str, str | None], dict[str, Result]]
    ) -> list[Result]:
        """Run a case on a runner in its arms: the first repetition in each of them, then the second one, and so on."""
        results: list[Result] = []
        unfinished = [
            ExecutionProgress.of(execution, self._sessions.get(execution.index, ()), self.options)
            for execution in executions
        ]
        while unfinished:
            progress = min(unfinished, key=lambda one: one.next_repetition(self.options))
            execution = progress.execution
            before = done.setdefault(_on_runner(execution), {})
            if (result := self._advance(progress, before)) is None:
                continue
            unfinished.remove(progress)
            if execution.quarantine:
                result = replace(result, quarantine=execution.quarantine)
            with self._lock:
                if execution.decides:
                    self._failures.add(result)
                ends_suite = execution.suite.stops_on_error and not execution.quarantine
                if ends_suite and result.status is Status.ERRORED:
                    self._errored.setdefault(_on_runner(execution), execution.case.id)
            if self._dispatcher:
                self._dispatcher.settle()
            before[execution.case.id] = result
            results.append(_reported(self.services, result))
        return results

    def _advance(self, progress: ExecutionProgress, done: Mapping[str, Result]) -> Result | None:
        """Run the next session of an execution. Its result if it is complete, stopped or must not start; else None."""
        execution, sessions, services = progress.execution, progress.sessions, self.services
        if not sessions and not progress.stored:
            if unstarted := self._result_without_session(execution, done):
                return _redacted(services, unstarted)
            for folder in (execution.directory, f"workspaces/{execution.directory}"):
                services.directory.clear(folder)
        with services.processes.work_slots.occupied():
            position, stopped = next_session(execution, sessions, self.options), None
            if position and self._dispatcher:
                self._dispatcher.settle()  # who waits must not keep a worker's slot: others wait for it
            if progress.take(position):
                return None
            if position and (sessions or progress.stored):
                stopped = self._wait_or_stop(progress, position)
            if position and not stopped and (stopped := self._run_in_slot(progress, position, done)) is None:
                return None
            progress.take_all()
            if stopped and not sessions:
                return _redacted(services, execution_result(execution, stopped))
            result = self._complete(execution, sessions, stopped)
        # Earlier sessions were redacted with the secrets that the run had before it was resumed.
        return _redacted(services, result) if progress.resumed else result

    def _result_without_session(self, execution: Execution, done: Mapping[str, Result]) -> Result | None:
        """The result of an execution that must not start; None: start it.

        Reasons: cancelled, a dependency is not met, the runner was stopped, too many failures, a budget is spent.
        """
        with self._lock:
            trouble = execution.runner.trouble or self._stopped.trouble(_runner_key(execution))
        if self.services.cancelled:
            return execution_result(execution, CANCELLED_JUDGEMENT)
        if unmet := unmet_dependency(execution, done) or untrusted_skill(self.services, execution):
            return execution_result(execution, unmet)
        if trouble:
            judgement = with_suite_failure_class(
                execution.case, SuiteClassifier(self.services, execution), trouble_judgement(trouble)
            )
            return execution_result(execution, judgement)
        refusal = self._errored_before(execution) or self._refusal(execution)
        return execution_result(execution, refusal) if refusal else None

    def _errored_before(self, execution: Execution) -> Judgement | None:
        """The judgement if the suite ends once a case could not be judged, and there was one; else None."""
        with self._lock:
            case_id = self._errored.get(_on_runner(execution))
        if case_id is None:
            return None
        reason = f"{case_id} could not be judged, and fail_on_error of the suite is set"
        return Judgement(status=Status.SKIPPED, origin="fail-on-error", reason=reason)

    def _refusal(self, execution: Execution) -> Judgement | None:
        """The judgement if there were too many failures, or no budget is left for another session; else None."""
        with self._lock:
            if refusal := self._failures.refusal():
                return refusal
            refusals = (budget.refusal() for budget in self._budgets(execution))
            return next((refusal for refusal in refusals if refusal), None)

    def _budgets(self, execution: Execution) -> tuple[Budget, Budget]:
        return self._budget, self._suite_budgets[_budget_key(execution)]

    def _complete(self, execution: Execution, sessions: list[SessionResult], stopped: Judgement | None) -> Result:
        """The result of an execution that has all of its sessions, or was ``stopped``."""
        self._sessions[execution.index] = sessions
        if stopped and stopped.origin == "budget":
            self._refused.add(execution.index)
        result = combined_result(sessions, final_judgement(execution, sessions, self.options, stopped))
        result = with_trigger_runs(execution, sessions, result)
        if self._is_staged:
            return result
        result = self.completed(execution, result)
        if self._journal.attempt is None:  # else they show what each attempt of the job cost
            del self._sessions[execution.index]  # so that memory grows less with each execution
        return result

    def _wait_or_stop(self, progress: ExecutionProgress, position: tuple[int, int]) -> Judgement | None:
        """Wait before a retry. The judgement if the session at ``position`` must not start; else None."""
        is_retry = position[1] > 1
        if not self.services.cancelled and (refusal := self._refusal(progress.execution)):
            return refusal
        if is_retry and progress.waits and (wait := retry_wait(progress.sessions)):
            with self.services.processes.work_slots.released():
                self.services.clock.pause(wait, self.services.cancelled)
        return CANCELLED_JUDGEMENT if self.services.cancelled else None

    def _run_in_slot(
        self, progress: ExecutionProgress, position: tuple[int, int], done: Mapping[str, Result]
    ) -> Judgement | None:
        """Run a session once its provider has a slot. The judgement if it must not start any more; else None."""
        waiting = self.services.processes.work_slots.released if self._dispatcher is None else None
        with self.providers.slot(progress.execution, waiting) as slot:
            if slot.waited and (stopped := self._refused_meanwhile(progress, done)):
                return stopped
            ran = self._run_session(progress, position, slot, partial(self._refused_meanwhile, progress, done))
            if isinstance(ran, Judgement):
                return ran
            slot.trouble = ran.trouble
            progress.sessions.append(ran)
        return None

    def _refused_meanwhile(self, progress: ExecutionProgress, done: Mapping[str, Result]) -> Judgement | None:
        """The judgement if the next session must not start any more, after it has waited; else None."""
        execution = progress.execution
        if not progress.sessions and not progress.stored:
            refused = self._result_without_session(execution, done)
            return refused.judgement if refused else None
        return self._refusal(execution) or (CANCELLED_JUDGEMENT if self.services.cancelled else None)

    def _run_session(
        self,
        progress: ExecutionProgress,
        position: tuple[int, int],
        slot: ProviderSlot,
        refusal: Callable[[], Judgement | None],
    ) -> SessionResult | Judgement:
        """Run a session, write it to the journal, and add its cost to the budgets.

        A judgement: ``refusal`` had one once a worker was free, or the run was cancelled before.
        """
        from skillgym_action.sessions.repetitions import in_attempt

        execution = progress.execution
        write_line, digest = self.services.directory.write_journal_line, self._journal.digests[execution.index]
        started = partial(self._started, progress, event_line("started", digest, position))
        before_judging = partial(write_line, event_line("judging", digest, position))
        if self._dispatcher is None:
            started()
            session = run_session(self.services, execution, *position, self.options, before_judging)
        else:
            from skillgym_action.sessions.engines.dispatch import Notices  # imported late: local runs do not need it

            lost = partial(self._lost, execution, position)
            notices = Notices(slot=slot, refusal=refusal, started=started, judging=before_judging, lost=lost)
            with self.services.processes.work_slots.released():
                ran = self._dispatcher.run(execution, position, digest, notices)
            if isinstance(ran, Judgement):
                return ran
            session = ran
        trouble, session = session.trouble, in_attempt(session, self._journal.attempt)
        write_line(session_line(digest, session))
        with self._lock:
            for budget in self._budgets(execution):
                _add_costs(budget, execution.runner.id, session.agent_cost.usd, session.judgement.cost_usd)
            self._stopped.note(_runner_key(execution), execution.index, trouble)
        return session

    def _started(self, progress: ExecutionProgress, line: str) -> None:
        """A session starts; ``line`` of the journal says so."""
        self.services.directory.write_journal_line(line)
        if not progress.started:
            self.services.observer.started(progress.execution)
        progress.started = progress.waits = True

    def _lost(self, execution: Execution, position: tuple[int, int], seconds: float) -> None:
        """A session was lost with its worker. What it may have cost is its whole budget, which is charged."""
        digest = self._journal.digests[execution.index]
        self.services.directory.write_journal_line(lost_line(digest, position, seconds, execution.budget))
        with self._lock:
            for budget in self._budgets(execution):
                budget.add(execution.budget, f"a lost session on {execution.runner.id}")


def _on_runner(execution: Execution) -> tuple[str, str, str | None]:
    """The suite, and on what its cases run."""
    return execution.suite.path, execution.runner.id, execution.arm_name


def _budget_key(execution: Execution) -> tuple[str, str]:
    """A suite's budget is per runner."""
    return execution.suite.path, execution.runner.id


def _add_costs(budget: Budget, runner: str, agent: float | None, judge: float | None) -> None:
    budget.add(agent, f"a session on {runner}")
    budget.add(judge, "the judge's answers")


def _runner_key(execution: Execution) -> tuple[str, str, str | None]:
    """Suites with their own runners may use the same ids for different runners; arms may change what a runner starts.

    So an arm whose agent cannot start stops no session of the others, nor does one of the base commit.
    """
    suite, arm = execution.suite, execution.arm
    own = arm is not None and (arm.changes_files or arm.changes_agent or arm.control is not None)
    path = suite.path if suite.runners or suite.other_runners else ""
    return path, execution.runner.id, execution.arm_name if own else None


def _invalid_result(entry: Unrunnable) -> Result:
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


def _reported(services: Services, result: Result) -> Result:
    services.observer.finished(result)
    return result


def _redacted(services: Services, result: Result) -> Result:
    """The result without secrets. Not needed for a new session: `run_session` redacts its result."""
    return services.directory.redactor.redacted(result, exclude=("suite", "runner"))
