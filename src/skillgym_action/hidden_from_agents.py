"""What agents must not see of the checkout: suites, solutions, recordings, stores, untrusted configuration, keys."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.checkout_suites import suites_from_folder, suites_of_checkout
from skillgym_action.repository.reference_solutions import recordings_folder, solutions_folder
from skillgym_action.settings.runners import secrets_of, secrets_of_arms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.execution import Plan
    from skillgym_action.model.run_report import SuitesFrom
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.services import Services
    from skillgym_action.settings.options import Options


def hide_from_agents(services: Services, plan: Plan, options: Options) -> SuitesFrom | None:
    """Hide what agents must not see, and keys in what they print.

    Returns how the suites differ from those of the checkout, if they are not its.
    """
    arms = (*options.arms.configured, *(arm for suite in plan.suites for arm in suite.arms))
    services.directory.redactor.learn((*secrets_of(plan.runners), *secrets_of_arms(arms)))
    of_checkout = suites_of_checkout(services, options) if services.suite_source.is_separate else ()
    services.workspaces.hide((*_hidden((*plan.suites, *of_checkout)), *_folders_of_arms(services, options)))
    _hide_untrusted_configuration(services)
    if not services.suite_source.is_separate:
        return None
    return suites_from_folder(services, plan.suites, of_checkout, options)


def _hide_untrusted_configuration(services: Services) -> None:
    if services.untrusted_configuration:
        with suppress(InterruptedError):  # cancelled: no session will start
            services.workspaces.hide(
                services.untrusted_configuration.among(services.repository.files(services.repository.root))
            )


def _folders_of_arms(services: Services, options: Options) -> tuple[str, ...]:
    """Files and folders of the checkout that arms name: in copies of it, every arm would have them."""
    root, source = services.repository.root, services.suite_source
    folders = map(source.in_head, options.arms.folders)
    return tuple(path.relative_to(root).as_posix() for path in folders if path.is_relative_to(root) and path != root)


def _hidden(suites: Iterable[BenchmarkSuite]) -> Iterator[str]:
    """Paths that agents must not see: suites, reference solutions, recorded sessions, and what suites name."""
    for suite in suites:
        yield from (suite.path, solutions_folder(suite.path), recordings_folder(suite.path), *suite.hidden)
