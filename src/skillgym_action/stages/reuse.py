"""Stage: plan -> plan without the executions whose results are carried over from the store, and these results.

What an execution depends on is in the digest ``whole`` of its inputs, see ``baselines.whole_digests``: it is stored
with its result, so that a later run can tell whether anything has changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.model.errors import Problem
from skillgym_action.reporters.wording import age, counted
from skillgym_action.text.escaping import terminal_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.baselines.carrying import UnchangedRule
    from skillgym_action.baselines.pooling import Wanted
    from skillgym_action.baselines.reading import BaseHistory
    from skillgym_action.baselines.whole_digests import WholeDigests
    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.session import AgentConfig
    from skillgym_action.services import Services
    from skillgym_action.settings.options import Options
    from skillgym_action.storage.journal import Journal


NOTHING_CARRIED: Mapping[int, Result] = {}


@dataclass(frozen=True, kw_only=True, slots=True)
class Carrying:
    """The plan of what is run, and the results that are carried, in the order of the plan.

    ``warnings``: why nothing is carried, where it should have been.
    """

    plan: Plan
    results: tuple[Result, ...] = ()
    warnings: tuple[Problem, ...] = ()


def _carry(
    plan: Plan, wanted: Mapping[int, Wanted], history: BaseHistory, indexes: frozenset[int], rule: UnchangedRule
) -> Carrying:
    """The plan without the executions for which the store has a result that may be carried; see ``carried_results``."""
    from skillgym_action.baselines.carrying import carried_results

    found = carried_results(plan.executions, wanted, history, indexes, rule)
    left = tuple(execution for execution in plan.executions if execution.index not in found)
    return Carrying(plan=replace(plan, executions=left), results=tuple(found[index] for index in sorted(found)))


def carry_unchanged(
    services: Services,
    plan: Plan,
    wanted: Mapping[int, Wanted],
    options: Options,
    known: tuple[BaseHistory | None, Journal],
    carried: Mapping[int, Result] = NOTHING_CARRIED,
) -> Carrying:
    """The plan without the executions of which nothing has changed since a stored result of the base.

    ``known``: what the store has of the base, or None if it cannot be used, so that everything runs; and the journal:
    an execution that has sessions in it is continued, not carried. ``carried``: results by index that are carried
    already.
    """
    history, journal = known
    left = tuple(execution for execution in plan.executions if execution.index not in carried)
    plan, before = replace(plan, executions=left), tuple(carried[index] for index in sorted(carried))
    if options.reuse is None or not plan.executions:
        return Carrying(plan=plan, results=before)
    if history is None or options.reuse.why_not:
        why = options.reuse.why_not or "the store cannot be used"
        problem = Problem(message=f"nothing is reused, all sessions run: {why}")
        return Carrying(plan=plan, results=before, warnings=(problem,))
    from skillgym_action.baselines.carrying import UnchangedRule

    repetitions = {execution.index: _samples_wanted(execution, options) for execution in plan.executions}
    rule = UnchangedRule(max_age=options.reuse.max_age, repetitions=repetitions)
    begun = {index for index, sessions in journal.sessions.items() if sessions}
    may_be = frozenset(execution.index for execution in plan.executions if execution.index not in begun)
    found = _carry(plan, wanted, history, may_be, rule)
    if found.results:
        services.observer.progress(terminal_line(_carried_in_words(found, history)))
    return replace(found, results=(*before, *found.results))


def _samples_wanted(execution: Execution, options: Options) -> int:
    """How many samples a result of the execution has to have. A trigger query ends once its runs decide."""
    from skillgym_action.sessions.repetitions import MIN_TRIGGER_RUNS, planned_repetitions

    planned = planned_repetitions(execution, options.execute)
    if execution.case.trigger:
        return min(MIN_TRIGGER_RUNS, planned)
    return 1 if options.execute.stop_early else planned


def _carried_in_words(found: Carrying, history: BaseHistory) -> str:
    times = [datetime.fromisoformat(result.carried.at) for result in found.results if result.carried]
    total = len(found.results) + len(found.plan.executions)
    return (
        f"{counted(total, 'execution')}: {len(found.results):,} carried from earlier runs, at most "
        f"{age(history.now - min(times))} old; {len(found.plan.executions):,} to run"
    )


def with_carried(plan: Plan, results: tuple[Result, ...], carrying: Carrying) -> tuple[Plan, tuple[Result, ...]]:
    """The whole plan with the warnings, and all results in its order."""
    in_order = sorted((*results, *carrying.results), key=lambda result: result.index)
    return replace(plan, warnings=(*plan.warnings, *carrying.warnings)), tuple(in_order)


def without_carried(base: RunReport | None, carrying: Carrying) -> RunReport | None:
    """The baseline of what is run: an execution that is carried is not compared."""
    if base is None or not carrying.results:
        return base
    carried = {(result.suite.path, result.case_id, result.runner and result.runner.id) for result in carrying.results}
    left = (
        result
        for result in base.results
        if (result.suite.path, result.case_id, result.runner and result.runner.id) not in carried
    )
    return replace(base, results=tuple(left))


# --- what an execution depends on -----------------------------------------------------------------------


def with_whole_digests(
    services: Services, plan: Plan, wanted: dict[int, Wanted], options: Options
) -> dict[int, Wanted]:
    """``wanted`` with the digests of everything that the executions depend on, as far as that is known.

    To be called once all paths are hidden that agents must not see. Unchanged where nothing needs them: without a
    store, for stored sessions that are judged again, and in runs that neither reuse results nor may store theirs.
    """
    if not wanted or options.store is None or options.plan.only is not None:
        return wanted
    from skillgym_action.baselines.permission import refusal

    refused = refusal(services.event, services.repository.commit(), asked=options.store.asked)
    if refused and options.reuse is None:
        return wanted
    from skillgym_action.baselines.whole_digests import WholeDigests, WholeInputs
    from skillgym_action.sessions.hooks import workspace_spec
    from skillgym_action.sessions.repetitions import planned_repetitions

    digests = WholeDigests(
        checkout=services.repository,
        source=services.suites,
        hidden=services.workspaces.hidden,
        suites=plan.suites,
    )
    settings, identity = _settings(services, options), _Programs(services, digests)
    found = {}
    for execution in plan.executions:
        one = wanted[execution.index]
        agent = identity.of(execution.agent)
        repetitions = planned_repetitions(execution, options.execute)
        whole = WholeInputs(
            spec=workspace_spec(execution), agent=agent or "", inputs=one.inputs, settings=(*settings, repetitions)
        )
        digest = digests.of(execution, whole) if agent is not None else None
        found[execution.index] = replace(one, inputs=replace(one.inputs, whole=digest))
    return found


def _settings(services: Services, options: Options) -> tuple[object, ...]:
    """What all sessions of the run depend on."""
    from skillgym_action.baselines.whole_digests import environment, file_digest

    execute, judge = options.execute, options.judge
    asked = replace(judge, env={}, prices={}) if judge else None
    snapshots = execute.snapshots
    return (
        (execute.require, execute.stop_early, execute.retry, execute.on_limit, execute.max_steps),
        (asked, environment(judge) if judge else ()),
        (snapshots.metric, snapshots.tolerance, file_digest(snapshots.path)) if snapshots else None,
        execute.agent_user is not None,
        services.untrusted_configuration is not None,
    )


class _Programs:
    """What identifies the programs of agents, before they are installed."""

    def __init__(self, services: Services, digests: WholeDigests) -> None:
        self._services, self._digests = services, digests
        self._known: list[tuple[AgentConfig, str | None]] = []
        self._version = cache(services.installs.version)

    def of(self, agent: AgentConfig) -> str | None:
        """What identifies the program of an agent; None: that is not known before it runs."""
        for known, identity in self._known:
            if known is agent:
                return identity
        self._known.append((agent, found := self._found(agent)))
        return found

    def _found(self, agent: AgentConfig) -> str | None:

        services, listing = self._services, AGENTS[agent.type]
        if agent.type == "replay":
            return self._digests.of_path(services.cwd / agent.sessions) if agent.sessions else None
        from skillgym_action.baselines.whole_digests import command_digest

        if not listing.executable:
            first = "sh" if agent.shell else next(iter(agent.command), "")
            folders = (services.cwd, services.repository.root, services.suites.root)
            program = services.installs.find_program(first, agent.env.get("PATH"))
            return command_digest(agent, program, folders, self._digests)
        if agent.command:
            return self._version(*agent.command)
        if agent.version:
            return agent.version
        program = services.installs.find_program(listing.executable, agent.env.get("PATH"))
        return self._version(program) if program else listing.version
