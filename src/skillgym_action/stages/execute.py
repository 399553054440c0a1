"""Stage: executions -> results. Repeats, retries, stops; a session is in the journal as soon as it has ended."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_RETRY_WAIT_SECONDS
from skillgym_action.model.dependencies import dependency_groups, dependency_order, unmet_dependency
from skillgym_action.model.result import Failure, Judgement, Result, SessionResult
from skillgym_action.model.verdicts import TROUBLES, FailureClass, Status
from skillgym_action.sessions.assertion_context import SuiteClassifier
from skillgym_action.sessions.budget import Budget
from skillgym_action.sessions.hidden_paths import hide_suites
from skillgym_action.sessions.hooks import run_hooks_after_all, shared_workspace_name
from skillgym_action.sessions.judge import CANCELLED_JUDGEMENT, trouble_judgement, with_suite_class
from skillgym_action.sessions.repetitions import combined_result, count_troubled, next_session
from skillgym_action.sessions.run_session import execution_result, run_session
from skillgym_action.sessions.snapshot_check import check_snapshot
from skillgym_action.storage.journal import event_line, session_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.model.execution import Execution, Plan, Unrunnable
    from skillgym_action.model.session_report import Trouble
    from skillgym_action.services import Services
    from skillgym_action.settings.options import ExecuteOptions
    from skillgym_action.storage.journal import Journal


def execute(services: Services, plan: Plan, options: ExecuteOptions, journal: Journal) -> tuple[Result, ...]:
    """All results of the plan, in its order, whatever finishes first; sessions that ``journal`` knows are not held."""
    services.observer.planned(len(plan.executions) + len(plan.unrunnable))
    results = {entry.index: _told(services, _hidden(services, _invalid(entry))) for entry in plan.unrunnable}
    line = _Line(services, plan, options, journal)
    lanes = deque(_lanes(plan, options, one_user=services.processes.user is not None))
    with (
        hide_suites(services, plan.executions),
        ThreadPoolExecutor(max_workers=options.jobs, thread_name_prefix="execution") as pool,
    ):
        try:
            workers = [pool.submit(line.run, lanes) for _ in range(min(options.jobs, len(lanes)))]
            finished, _ = wait(workers, return_when=FIRST_EXCEPTION)
            results |= {result.index: result for worker in finished for result in worker.result()}
        except BaseException:  # whatever it was, a bug of ours too; it goes on its way
            services.cancelled.set()  # nothing more is started, and what runs ends soon
            raise
    for execution in {(one.suite.path, one.runner.id): one for one in plan.executions}.values():
        run_hooks_after_all(services, execution)
    if services.snapshots:
        services.snapshots.save()
    return tuple(results[index] for index in sorted(results))


def _lanes(plan: Plan, options: ExecuteOptions, *, one_user: bool) -> list[tuple[Execution, ...]]:
    """What runs one after the other, in the order of the plan.

    An execution and those it depends on; whatever works in one directory; if asked for, everything of one runner.
    """
    leaders = {suite.path: dependency_groups(suite.cases) for suite in plan.suites}
    together: dict[tuple[str, ...], list[Execution]] = {}
    for one in plan.executions:
        own: tuple[str, ...] = (one.suite.path, leaders[one.suite.path][one.case.id], one.runner.id)
        together.setdefault(own, []).append(one)
    lanes: dict[tuple[str, ...], list[Execution]] = {}
    for own, executions in together.items():
        places = sorted(
            {place for one in executions if (place := shared_workspace_name(one, one_user=one_user)) is not None}
        )
        keys: list[tuple[str, ...]] = [("place", place) for place in places]
        if options.schedule == "isolated-by-runner":
            keys.append(("runner", executions[0].runner.id))
        lane, *others = list({id(lanes[key]): lanes[key] for key in keys if key in lanes}.values()) or [[]]
        for other in others:
            lane += other
            lanes = {key: lane if one is other else one for key, one in lanes.items()}
        lane += dependency_order(executions)
        lanes |= dict.fromkeys(keys or [own], lane)
    return [tuple(lane) for lane in {id(lane): lane for lane in lanes.values()}.values()]


def _taken(lanes: deque[tuple[Execution, ...]]) -> tuple[Execution, ...]:
    """The next lane; () when there is none left."""
    try:
        return lanes.popleft()
    except IndexError:
        return ()


class _Line:
    """What the executions of one run share: runners that were stopped, money that was spent."""

    def __init__(self, services: Services, plan: Plan, options: ExecuteOptions, journal: Journal) -> None:
        self.services, self.options, self._journal = services, options, journal
        self._lock = threading.Lock()
        self._stopped: dict[tuple[str, str], Trouble] = {}
        self._budget = Budget("the run's", options.max_cost)
        self._suite_budgets = {_budget(one): Budget("the suite's", one.suite.budget) for one in plan.executions}
        for spent in journal.spent:
            for budget in (self._budget, self._suite_budgets.get((spent.suite, spent.runner))):
                if budget:
                    _pay(budget, spent.runner, *spent.costs)

    def run(self, lanes: deque[tuple[Execution, ...]]) -> list[Result]:
        """The results of the lanes that no other worker has taken."""
        results: list[Result] = []
        while lane := _taken(lanes):
            results += self._run(lane)
        return results

    def _run(self, lane: tuple[Execution, ...]) -> list[Result]:
        results: list[Result] = []
        done: dict[tuple[str, str], dict[str, Result]] = {}
        for execution in lane:
            before = done.setdefault((execution.suite.path, execution.runner.id), {})
            held = self._journal.sessions.get(execution.index, ())
            unstarted = None if held else self._unstarted(execution, before)
            if unstarted:
                result = _hidden(self.services, unstarted)
            else:
                result = self._executed(execution, list(held))
                if held:  # before the run was resumed, secrets may have been others
                    result = _hidden(self.services, result)
            before[execution.case.id] = result
            results.append(_told(self.services, result))
        return results

    def _unstarted(self, execution: Execution, done: Mapping[str, Result]) -> Result | None:
        """The result of an execution that must not start: cancelled, runner stopped, money spent, no sense in it."""
        with self._lock:
            trouble = execution.runner.trouble or self._stopped.get(_runner(execution))
        if self.services.cancelled:
            return execution_result(execution, CANCELLED_JUDGEMENT)
        if pointless := unmet_dependency(execution, done):
            return execution_result(execution, pointless)
        if trouble:
            told = with_suite_class(
                execution.case, SuiteClassifier(self.services, execution), trouble_judgement(trouble)
            )
            return execution_result(execution, told)
        refusal = self._refusal(execution)
        return execution_result(execution, refusal) if refusal else None

    def _refusal(self, execution: Execution) -> Judgement | None:
        """Why no budget is left for another session, if so."""
        with self._lock:
            refusals = (budget.refusal() for budget in self._budgets(execution))
            return next((refusal for refusal in refusals if refusal), None)

    def _budgets(self, execution: Execution) -> tuple[Budget, Budget]:
        return self._budget, self._suite_budgets[_budget(execution)]

    def _executed(self, execution: Execution, held: list[SessionResult]) -> Result:
        """All sessions, until no other one follows, or may follow. ``held``: before the run was resumed."""
        if not held:
            for folder in (execution.directory, f"workspaces/{execution.directory}"):
                self.services.directory.clear(folder)
        judgement, before = None, len(held)
        while place := next_session(execution, held, self.options):
            if held and (judgement := self._halt(execution, held, place, before)):
                break
            if len(held) == before:
                self.services.observer.started(execution)
            held.append(self._session(execution, place))
        if self.options.record:
            for last in {one.attempt.repetition: one.attempt for one in held}.values():
                target = self.options.record / execution.directory / f"repeat-{last.repetition}"
                self.services.directory.record(last.directory, target)
        result = combined_result(held, judgement or held[-1].judgement)
        return check_snapshot(self.services, execution, result, self.options.snapshots)

    def _halt(
        self, execution: Execution, held: list[SessionResult], place: tuple[int, int], before: int
    ) -> Judgement | None:
        """The judgement of an execution that must not go on, although a session would follow. May wait for it."""
        last, is_retry = held[-1], place[1] > 1
        if not self.services.cancelled and (refusal := self._refusal(execution)):
            return last.judgement if is_retry else refusal
        if last.trouble and is_retry and len(held) > before:
            self.services.clock.pause(_wait(last.trouble, count_troubled(held)), self.services.cancelled)
        return CANCELLED_JUDGEMENT if self.services.cancelled else None

    def _session(self, execution: Execution, place: tuple[int, int]) -> SessionResult:
        """A session that has ended, has been paid, and is in the journal."""
        note, digest = self.services.directory.note, self._journal.digests[execution.index]
        judging = partial(note, event_line("judging", digest, place))
        note(event_line("started", digest, place))
        attempted = run_session(self.services, execution, *place, self.options, judging)
        trouble = attempted.trouble
        note(session_line(digest, attempted))
        with self._lock:
            for budget in self._budgets(execution):
                _pay(budget, execution.runner.id, attempted.agent_cost.usd, attempted.judgement.cost_usd)
            if trouble and TROUBLES[trouble.kind].stops_runner:
                why = f"not started, since the runner failed before: {trouble.message}"
                self._stopped.setdefault(_runner(execution), replace(trouble, message=why))
        return attempted


def _budget(execution: Execution) -> tuple[str, str]:
    """Whose budget it is, where the suite has one."""
    return execution.suite.path, execution.runner.id


def _pay(budget: Budget, runner: str, agent: float | None, judge: float | None) -> None:
    budget.pay(agent, f"a session on {runner}")
    budget.pay(judge, "the judge's answers")


def _runner(execution: Execution) -> tuple[str, str]:
    """Runners of different suites may have one name."""
    return execution.suite.path if execution.suite.runners else "", execution.runner.id


def _wait(trouble: Trouble, tried: int) -> float:
    """Seconds until the next try: what the service asks for, else growing with jitter by the clock door."""
    return min(trouble.retry_after if trouble.retry_after is not None else 2.0**tried, MAX_RETRY_WAIT_SECONDS)


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


def _told(services: Services, result: Result) -> Result:
    services.observer.finished(result)
    return result


def _hidden(services: Services, result: Result) -> Result:
    """Without secrets, which a report would escape beyond recognition; those of a session are hidden with it."""
    return services.directory.redactor.redacted(result, exclude=("suite", "runner"))
