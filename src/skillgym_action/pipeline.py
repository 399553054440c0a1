"""The line: discover -> load -> plan -> install_agents -> execute -> report -> gate -> publish.

Stored runs take the end of it: merge -> report -> gate -> publish.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Problem, UsageError
from skillgym_action.model.execution import Plan
from skillgym_action.model.run_report import SuitesFrom
from skillgym_action.reporters.wording import CHECK_OUT
from skillgym_action.repository.suite_digests import suite_digest
from skillgym_action.repository.suite_source import SUITES_FROM, normalized
from skillgym_action.settings.runners import secrets_of
from skillgym_action.stages.discover import discover
from skillgym_action.stages.install_agents import install_agents
from skillgym_action.stages.load import load, load_digests
from skillgym_action.stages.plan import plan
from skillgym_action.storage.journal import Beginning, Journal, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from skillgym_action.model.execution import Runner
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.suite import FoundSuite, Suite
    from skillgym_action.services import Services
    from skillgym_action.settings.options import Options
    from skillgym_action.storage.merge import StoredReports


def loaded(services: Services, options: Options) -> tuple[Suite, ...]:
    """The suites there are. Raises UsageError where they are to come from a folder that has none."""
    source = services.suite_source
    wanted = options.discover
    if source.is_separate:
        paths = tuple(_placed(path, services) for path in wanted.paths)
        without = source.head if source.head.is_relative_to(source.root) else None
        wanted = replace(wanted, paths=paths, without=without, where=source.message_suffix())
    found = discover(services.suites, source.cwd, wanted)
    if source.is_separate and not found and not services.cancelled:
        raise UsageError(
            f"{SUITES_FROM}: no suite was found{source.message_suffix()}", remedy="name the folder of the base commit"
        )
    directory = partial(source.agent_directory, checkout=services.repository.checkout)
    suites = load(found, services.hosts, options.load, services.suites.checkout, directory=directory)
    return tuple(replace(suite, digest=suite_digest(suite, services.suites)) for suite in suites)


def _placed(path: str, services: Services) -> str:
    """A path that leads out of the suite source, or is absolute, resolved for the checkout."""
    if path.startswith("!"):
        return path
    place = services.suite_source.source_path(normalized(services.cwd / path))
    return str(place) if place != normalized(services.suite_source.cwd / path) else path


def planned(services: Services, runners: tuple[Runner, ...], options: Options) -> Plan:
    """What would run."""
    suites = loaded(services, options)
    try:
        return plan(suites, runners, options.plan)
    except UsageError:
        if not services.cancelled:
            raise
        return Plan(suites=suites, runners=runners, executions=(), unrunnable=())  # a suite that has it was cut off


def run(
    services: Services,
    runners: tuple[Runner, ...],
    options: Options,
    *,
    command: str,
    show: Callable[[RunReport], None],
) -> RunReport:
    """Run it, show it to whoever watches, and deliver it."""
    began = services.clock.now()
    base = _baseline(services, options)
    todo = planned(services, runners, options)
    cut_off = ("the run was cancelled before all suites were loaded",) if services.cancelled else ()
    services.directory.redactor.learn(secrets_of(todo.runners))
    own = _suites_of_checkout(services, options) if services.suite_source.is_separate else ()
    services.workspaces.hide(path for suite in (*todo.suites, *own) for path in (suite.path, *suite.hidden))
    suites_from = _suites_from(services, todo.suites, own, options) if services.suite_source.is_separate else None
    if services.untrusted_configuration:
        with suppress(InterruptedError):  # then nothing is started
            services.workspaces.hide(
                services.untrusted_configuration.among(services.repository.files(services.repository.root))
            )
    journal = _journal(services, todo, options, began, command)
    todo = install_agents(services, todo, options.install_agents)
    from skillgym_action.stages.execute import execute  # here, since `list` and `check` execute nothing
    from skillgym_action.stages.report import compare_with_baseline, report_run

    results = execute(services, todo, options.execute, journal)
    services.hosts.close()  # reports need the memory, and no suite
    part, parts = options.plan.shard
    shard = f"{part}/{parts}" if parts > 1 else None
    report = report_run(services, todo, results, journal, command=command, shard=shard)
    report = replace(report, incomplete=(*report.incomplete, *cut_off), suites_from=suites_from)
    return _delivered(services, compare_with_baseline(report, base, options.report), options, show)


def _suites_of_checkout(services: Services, options: Options) -> tuple[Suite, ...]:
    """Suites of the checkout that agents work on, where others are run; nothing of them is executed."""
    wanted = options.discover
    without = (
        services.suite_source.root if services.suite_source.root.is_relative_to(services.repository.root) else None
    )
    selecting = [path for path in wanted.paths if not path.startswith("!")]
    excluding = tuple(path for path in wanted.paths if path.startswith("!"))
    found: dict[str, FoundSuite] = {}
    for paths in [(path, *excluding) for path in selecting] or [excluding]:
        with suppress(UsageError):  # what is not there was removed
            one_by_one = discover(services.repository, services.cwd, replace(wanted, paths=paths, without=without))
            found |= {one.path: one for one in one_by_one}
    inside = (one for one in found.values() if not one.path.startswith("/"))
    suites = load_digests(inside, services.hosts, options.load, services.repository.checkout)
    return tuple(replace(suite, digest=suite_digest(suite, services.repository)) for suite in suites)


def _suites_from(services: Services, suites: Sequence[Suite], own: Sequence[Suite], options: Options) -> SuitesFrom:
    """How the suites that are run differ from the checkout's ``own``."""
    base = {suite.path: suite.digest for suite in suites if not suite.path.startswith("/")}
    head = {suite.path: suite.digest for suite in own}
    return SuitesFrom(
        folder=services.suite_source.named,
        commit=services.suite_source.commit,
        added=tuple(sorted(head.keys() - base.keys())),
        changed=tuple(sorted(path for path in head.keys() & base.keys() if head[path] != base[path])),
        removed=tuple(sorted(base.keys() - head.keys())),
        configuration_differs=options.report.configuration_differs,
    )


def report(
    services: Services, runs: StoredReports, options: Options, *, show: Callable[[RunReport], None]
) -> RunReport:
    """Stored runs as one, shown and delivered like a run; no agent is started."""
    from skillgym_action.stages.report import compare_with_baseline, report_stored_run

    base = _baseline(services, options)
    report = report_stored_run(services, _compared_with_checkout(services, runs, options))
    return _delivered(services, compare_with_baseline(report, base, options.report), options, show)


def _compared_with_checkout(services: Services, runs: StoredReports, options: Options) -> RunReport:
    """The runs as one, with their suites compared with those that git tracks in the checkout, if that is wanted.

    Each run is compared before they are merged: two shards may have different versions of a suite.
    """
    from skillgym_action.storage.changed_suites import completed, marked
    from skillgym_action.storage.merge import merged

    name, wanted = services.directory.path.name, options.report.suites
    if wanted is None or (not services.repository.has_git and wanted.without_checkout == "nothing"):
        return merged(runs, name)
    if not services.repository.has_git:
        if wanted.without_checkout == "changed":
            return merged([(file, marked(run, None)) for file, run in runs], name)
        report = merged(runs, name)
        problem = Problem(message="the suites were compared with nothing", remedy=CHECK_OUT)
        return replace(report, warnings=(*report.warnings, problem))
    found = discover(services.repository, services.cwd, options.discover)
    tracked = services.repository.committed_files()
    suites = load_digests((one for one in found if one.path in tracked), services.hosts, options.load)
    base = {suite.path: suite_digest(suite, services.repository) for suite in suites}
    report = merged([(file, marked(run, base)) for file, run in runs], name)
    return completed(report, base if wanted.all_expected else ())


def _journal(services: Services, todo: Plan, options: Options, began: datetime, command: str) -> Journal:
    """Begun, or taken up where an earlier start of this run left it."""
    settings = _journal_settings(options)
    now = Beginning(began=began, command=command, commit=services.repository.commit(), settings=settings)
    journal = Journal(
        began=began, digests={one.index: digest(one, services.suite_source.root) for one in todo.executions}
    )
    if options.execute.resume:
        if services.cancelled:
            raise KeyboardInterrupt  # half a plan does not fit, and all that was there stays
        from skillgym_action.stages.resume import resume

        return resume(services, todo, journal, now)
    services.directory.begin(now.line())
    return journal


def _journal_settings(options: Options) -> dict[str, float | None]:
    """What users can set and a resumed run should not change, by the names of options."""
    return {
        "repeat": options.execute.repeat,
        "retry": options.execute.retry,
        "max-steps": options.execute.max_steps,
        "timeout": options.plan.timeout,
    }


def _baseline(services: Services, options: Options) -> RunReport | None:
    """Read before anything is spent: one that cannot be used is a mistake of the user's."""
    if options.report.baseline is None:
        return None
    from skillgym_action.storage.stored_runs import baseline

    return baseline(options.report.baseline, services.cwd)


def _delivered(services: Services, report: RunReport, options: Options, show: Callable[[RunReport], None]) -> RunReport:
    from skillgym_action.stages.gate import gate
    from skillgym_action.stages.publish import publish

    def decided(report: RunReport) -> RunReport:
        return replace(report, decision=gate(report, options.gate))

    def as_it_ended(report: RunReport) -> RunReport:
        """A run can be cancelled as long as it is reported."""
        return decided(replace(report, cancelled=True)) if services.cancelled and not report.cancelled else report

    report = decided(report)
    show(report)
    to = replace(options.publish, templates=services.templates)
    with services.templates.stage() if services.templates else nullcontext():
        return publish(services.directory, report, to, services.observer, services.publisher, as_it_ended)
