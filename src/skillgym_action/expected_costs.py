"""What stored runs say about the cost of a plan, before a session starts; and whether ``max-cost`` pays for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.text.escaping import terminal_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.baselines.pooling import Wanted
    from skillgym_action.model.execution import Plan
    from skillgym_action.model.forecast import Forecast
    from skillgym_action.services import Services
    from skillgym_action.settings.options import Options
    from skillgym_action.stages.baseline import StoredBaseline
    from skillgym_action.storage.journal import Journal


def expected_of_plan(services: Services, plan: Plan, options: Options) -> Forecast | None:
    """What a plan will cost, with the store read for it; None: there is none, or it cannot be used."""
    if services.store is None:
        return None
    from skillgym_action.repository.suite_digests import template_digest
    from skillgym_action.stages.baseline import wanted_of_plan

    digests = {suite.path: template_digest(suite, services.suites) for suite in plan.suites}
    return expected_of(services, plan, options, (None, wanted_of_plan(services, plan, digests)))


def expected_of(
    services: Services,
    plan: Plan,
    options: Options,
    known: tuple[StoredBaseline | None, Mapping[int, Wanted]],
    journal: Journal | None = None,
) -> Forecast | None:
    """What the sessions will cost that are not in the ``journal``; None: there is no store, or it cannot be used.

    ``known``: what was read of the store, if anything, and the keys of the plan.
    """
    from skillgym_action.stages.baseline import read_stored

    stored, wanted = known
    if stored is None and options.store:
        stored = read_stored(services, options.store, "the store cannot be used, so nothing is known of the cost")
    if stored is None or stored.history is None:
        return None
    from skillgym_action.sessions.repetitions import planned_repetitions
    from skillgym_action.stages.forecast import forecast

    done = journal.sessions if journal else {}
    planned = [
        (
            execution,
            max(
                0,
                planned_repetitions(execution, options.execute)
                - len({one.attempt.repetition for one in done.get(execution.index, ())}),
            ),
        )
        for execution in plan.executions
    ]
    planned = [(execution, number) for execution, number in planned if number]
    one_user = services.processes.user is not None
    return forecast(plan, planned, (stored.title, stored.history, wanted), options.execute, one_user=one_user)


def check_budget(
    services: Services,
    plan: Plan,
    options: Options,
    known: tuple[StoredBaseline | None, Mapping[int, Wanted]],
    journal: Journal | None = None,
) -> None:
    """Raises UsageError if ``max-cost`` would end the run early by all that the store knows; if probably, says so.

    ``journal``: of a resumed run, whose finished sessions cost nothing more.
    """
    if options.execute.max_cost is None:
        return
    from skillgym_action.stages.forecast import refuse_beyond_budget

    if found := expected_of(services, plan, options, known, journal):
        spent = sum(usd or 0.0 for one in journal.spent for usd in one.costs) if journal else 0.0
        if note := refuse_beyond_budget(found, options.execute, spent):
            services.observer.progress(terminal_line(f"note: {note}"))
