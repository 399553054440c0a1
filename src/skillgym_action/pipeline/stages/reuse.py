"""Stage: plan -> plan without the executions whose results are reused from the store, and these results.

What an execution depends on is in the digest ``whole`` of its inputs, see ``history.digests``: it is stored
with its result, so that a later run can tell whether anything has changed.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action import __version__
from skillgym_action.agents import AGENTS
from skillgym_action.model.errors import Problem
from skillgym_action.model.records import record
from skillgym_action.text.escaping import terminal_line
from skillgym_action.text.words import age, counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.history.digests import WholeDigests
    from skillgym_action.history.pooling import BaselineKey
    from skillgym_action.history.reading import BaseHistory
    from skillgym_action.history.reused_results import UnchangedRule
    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.model.session import AgentConfig
    from skillgym_action.results.journal import Journal
    from skillgym_action.services import Services
    from skillgym_action.settings.slices import Options


NOTHING_REUSED: Mapping[int, Result] = {}


@record
class Reuse:
    """The plan of what is run, and the results that are reused, in the order of the plan.

    ``warnings``: why nothing is reused, where it should have been.
    """

    plan: Plan
    results: tuple[Result, ...] = ()
    warnings: tuple[Problem, ...] = ()


def _reuse(
    plan: Plan, wanted: Mapping[int, BaselineKey], history: BaseHistory, indexes: frozenset[int], rule: UnchangedRule
) -> Reuse:
    """The plan without the executions for which the store has a result that may be reused; see ``reused_results``."""
    from skillgym_action.history.reused_results import reused_results

    found = reused_results(plan.executions, wanted, history, indexes, rule)
    left = tuple(execution for execution in plan.executions if execution.index not in found)
    return Reuse(plan=replace(plan, executions=left), results=tuple(found[index] for index in sorted(found)))


def reuse_unchanged(
    services: Services,
    plan: Plan,
    wanted: Mapping[int, BaselineKey],
    options: Options,
    known: tuple[BaseHistory | None, Journal],
    reused: Mapping[int, Result] = NOTHING_REUSED,
) -> Reuse:
    """The plan without the executions of which nothing has changed since a stored result of the base.

    ``known``: what the store has of the base, or None if it cannot be used, so that everything runs; and the journal:
    an execution that has sessions in it is continued, not reused. ``reused``: results by index that are reused
    already.
    """
    history, journal = known
    left = tuple(execution for execution in plan.executions if execution.index not in reused)
    plan, before = replace(plan, executions=left), tuple(reused[index] for index in sorted(reused))
    if options.reuse is None or not plan.executions:
        return Reuse(plan=plan, results=before)
    if history is None or options.reuse.why_not:
        why = options.reuse.why_not or "the store cannot be used"
        problem = Problem(message=f"nothing is reused, all sessions run: {why}")
        return Reuse(plan=plan, results=before, warnings=(problem,))
    from skillgym_action.history.reused_results import UnchangedRule

    repetitions = {execution.index: _samples_wanted(execution, options) for execution in plan.executions}
    rule = UnchangedRule(max_age=options.reuse.max_age, repetitions=repetitions)
    begun = {index for index, sessions in journal.sessions.items() if sessions}
    may_be = frozenset(execution.index for execution in plan.executions if execution.index not in begun)
    found = _reuse(plan, wanted, history, may_be, rule)
    if found.results:
        services.observer.progress(terminal_line(_reused_in_words(found, history)))
    return replace(found, results=(*before, *found.results))


def _samples_wanted(execution: Execution, options: Options) -> int:
    """How many samples a result of the execution has to have. A trigger query ends once its runs decide."""
    from skillgym_action.sessions.repetitions import MIN_TRIGGER_RUNS, planned_repetitions

    planned = planned_repetitions(execution, options.execute)
    if execution.case.trigger:
        return min(MIN_TRIGGER_RUNS, planned)
    return planned


def _reused_in_words(found: Reuse, history: BaseHistory) -> str:
    times = [datetime.fromisoformat(result.reused.at) for result in found.results if result.reused]
    total = len(found.results) + len(found.plan.executions)
    return (
        f"{counted(total, 'execution')}: {len(found.results):,} reused from earlier runs, at most "
        f"{age(history.now - min(times))} old; {len(found.plan.executions):,} to run"
    )


def with_reused(plan: Plan, results: tuple[Result, ...], reuse: Reuse) -> tuple[Plan, tuple[Result, ...]]:
    """The whole plan with the warnings, and all results in its order."""
    in_order = sorted((*results, *reuse.results), key=lambda result: result.index)
    return replace(plan, warnings=(*plan.warnings, *reuse.warnings)), tuple(in_order)


def without_reused(base: RunReport | None, reuse: Reuse) -> RunReport | None:
    """The baseline of what is run: an execution that is reused is not compared."""
    if base is None or not reuse.results:
        return base
    reused = {(result.suite.path, result.case_id, result.runner and result.runner.id) for result in reuse.results}
    left = (
        result
        for result in base.results
        if (result.suite.path, result.case_id, result.runner and result.runner.id) not in reused
    )
    return replace(base, results=tuple(left))


# --- what an execution depends on -----------------------------------------------------------------------


def with_whole_digests(
    services: Services, plan: Plan, wanted: dict[int, BaselineKey], options: Options, version: str = __version__
) -> dict[int, BaselineKey]:
    """``wanted`` with the digests of everything that the executions depend on, as far as that is known.

    That includes the ``version`` of this tool.

    To be called once all paths are hidden that agents must not see. Unchanged where nothing needs them: without a
    store, for stored sessions that are judged again, and in runs that neither reuse results nor may store theirs.
    """
    if not wanted or options.store is None or options.plan.only is not None:
        return wanted
    from skillgym_action.history.permission import refusal

    refused = refusal(services.event, services.repository.commit(), asked=options.store.asked)
    if refused and options.reuse is None:
        return wanted
    from skillgym_action.history.digests import WholeDigests, WholeInputs
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
            spec=workspace_spec(execution),
            agent=agent or "",
            reads_checkout=identity.read_checkout(execution),
            inputs=one.inputs,
            settings=(*settings, repetitions),
            version=version,
        )
        digest = digests.of(execution, whole) if agent is not None else None
        found[execution.index] = replace(one, inputs=replace(one.inputs, whole=digest))
    return found


def _settings(services: Services, options: Options) -> tuple[object, ...]:
    """What all sessions of the run depend on: settings by name, if they do not have their default."""
    from skillgym_action.history.digests import environment, file_digest
    from skillgym_action.settings.declarations import REUSE
    from skillgym_action.settings.resolve import values_for

    settings, execute, judge = values_for(REUSE, options), options.execute, options.judge
    asked = replace(judge, env={}, prices={}) if judge else None
    snapshots = execute.snapshots
    return (
        tuple(sorted((name, value) for name, (value, default) in settings.items() if value != default)),
        (asked, environment(judge) if judge else ()),
        (snapshots.metric, snapshots.tolerance, file_digest(snapshots.path)) if snapshots else None,
        execute.agent_user is not None,
        services.untrusted_configuration is not None,
    )


class _Programs:
    """What identifies the programs of agents, before they are installed, and whether they may read the checkout."""

    def __init__(self, services: Services, digests: WholeDigests) -> None:
        self._services, self._digests = services, digests
        self._known: list[tuple[AgentConfig, str | None]] = []
        self._readers: dict[tuple[int, int, Path], bool] = {}
        self._version = cache(services.installs.version)
        self._roots = tuple(dict.fromkeys((services.repository.root, services.suites.root)))

    def of(self, agent: AgentConfig) -> str | None:
        """What identifies the program of an agent; None: that is not known before it runs."""
        for known, identity in self._known:
            if known is agent:
                return identity
        self._known.append((agent, found := self._found(agent)))
        return found

    def read_checkout(self, execution: Execution) -> bool:
        """Whether the program of an agent may read any file of the checkout, since its command names one."""
        from skillgym_action.workspaces.case_paths import reads_checkout

        agent, case, folder = execution.runner.agent, execution.case, execution.suite.file.parent
        key = id(agent), id(case.agent), folder
        if key not in self._readers:
            more = [value for _, value in case.agent.env] if case.agent else []
            program = self._program(agent) if agent.command else None
            self._readers[key] = reads_checkout(
                agent, [*more, *([program] if program else [])], (*self._folders, folder), self._roots
            )
        return self._readers[key]

    @property
    def _folders(self) -> tuple[Path, ...]:
        """Where relative words of commands are looked up."""
        return tuple(dict.fromkeys((self._services.cwd, self._services.suite_source.cwd, *self._roots)))

    def _program(self, agent: AgentConfig) -> str | None:
        """Where the first word of an agent's command is found."""
        first = "sh" if agent.shell else next(iter(agent.command), "")
        return self._services.installs.find_program(first, agent.env.get("PATH"))

    def _found(self, agent: AgentConfig) -> str | None:
        services, listing = self._services, AGENTS[agent.type]
        if agent.type == "replay":
            return self._digests.of_path(services.cwd / agent.sessions) if agent.sessions else None
        from skillgym_action.history.digests import command_digest
        from skillgym_action.workspaces.case_paths import shell_words

        if not listing.executable:
            if (program := self._program(agent)) is None:
                return None
            words = [word for part in (*agent.command, *agent.command_args) for word in (part, *shell_words(part))]
            return command_digest((Path(program), *(folder / word for word in words for folder in self._folders)))
        if agent.command:
            return self._version(*agent.command)
        if agent.version:
            return agent.version
        program = services.installs.find_program(listing.executable, agent.env.get("PATH"))
        return self._version(program) if program else listing.version
