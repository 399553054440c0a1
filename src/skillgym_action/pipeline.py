"""The line: discover -> load -> plan -> equip -> execute -> report -> gate -> deliver.

Stored runs take the end of it: merge -> report -> gate -> deliver.
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
from skillgym_action.repository.suite_source import NAMED, normal
from skillgym_action.settings.runners import secrets_of
from skillgym_action.stages.discover import discover
from skillgym_action.stages.install_agents import equip
from skillgym_action.stages.load import digests, load
from skillgym_action.stages.plan import plan
from skillgym_action.storage.journal import Beginning, Journal, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from skillgym_action.model.execution import Runner
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.suite import Found, Suite
    from skillgym_action.services import World
    from skillgym_action.settings.options import Options
    from skillgym_action.storage.merge import StoredReports


def loaded(world: World, options: Options) -> tuple[Suite, ...]:
    """The suites there are. Raises UsageError where they are to come from a folder that has none."""
    origin = world.origin
    wanted = options.discover
    if origin.is_apart:
        paths = tuple(_placed(path, world) for path in wanted.paths)
        without = origin.head if origin.head.is_relative_to(origin.root) else None
        wanted = replace(wanted, paths=paths, without=without, where=origin.where())
    found = discover(world.suites, origin.cwd, wanted)
    if origin.is_apart and not found and not world.cancelled:
        raise UsageError(f"{NAMED}: no suite was found{origin.where()}", remedy="name the folder of the base commit")
    directory = partial(origin.directory, checkout=world.repository.checkout)
    suites = load(found, world.hosts, options.load, world.suites.checkout, directory=directory)
    return tuple(replace(suite, digest=suite_digest(suite, world.suites)) for suite in suites)


def _placed(path: str, world: World) -> str:
    """A path that leads out of the origin's counterpart of the checkout, or is absolute, as what it means there."""
    if path.startswith("!"):
        return path
    place = world.origin.place(normal(world.cwd / path))
    return str(place) if place != normal(world.origin.cwd / path) else path


def planned(world: World, runners: tuple[Runner, ...], options: Options) -> Plan:
    """What would run."""
    suites = loaded(world, options)
    try:
        return plan(suites, runners, options.plan)
    except UsageError:
        if not world.cancelled:
            raise
        return Plan(suites=suites, runners=runners, executions=(), unrunnable=())  # a suite that has it was cut off


def run(
    world: World,
    runners: tuple[Runner, ...],
    options: Options,
    *,
    command: str,
    show: Callable[[RunReport], None],
) -> RunReport:
    """Run it, show it to whoever watches, and deliver it."""
    began = world.clock.now()
    base = _baseline(world, options)
    todo = planned(world, runners, options)
    cut_off = ("the run was cancelled before all suites were loaded",) if world.cancelled else ()
    world.directory.redactor.learn(secrets_of(todo.runners))
    own = _suites_of_checkout(world, options) if world.origin.is_apart else ()
    world.workspaces.hide(path for suite in (*todo.suites, *own) for path in (suite.path, *suite.hidden))
    suites_from = _suites_from(world, todo.suites, own, options) if world.origin.is_apart else None
    if world.strangers:
        with suppress(InterruptedError):  # then nothing is started
            world.workspaces.hide(world.strangers.among(world.repository.files(world.repository.root)))
    journal = _journal(world, todo, options, began, command)
    todo = equip(world, todo, options.equip)
    from skillgym_action.stages.execute import execute  # here, since `list` and `check` execute nothing
    from skillgym_action.stages.report import compared, run_report

    results = execute(world, todo, options.execute, journal)
    world.hosts.close()  # reports need the memory, and no suite
    part, parts = options.plan.shard
    shard = f"{part}/{parts}" if parts > 1 else None
    world.workspaces.empty_trash()
    report = run_report(world, todo, results, journal, command=command, shard=shard)
    report = replace(report, incomplete=(*report.incomplete, *cut_off), suites_from=suites_from)
    return _delivered(world, compared(report, base, options.report), options, show)


def _suites_of_checkout(world: World, options: Options) -> tuple[Suite, ...]:
    """Suites of the checkout that agents work on, where others are run; nothing of them is executed."""
    wanted = options.discover
    without = world.origin.root if world.origin.root.is_relative_to(world.repository.root) else None
    selecting = [path for path in wanted.paths if not path.startswith("!")]
    excluding = tuple(path for path in wanted.paths if path.startswith("!"))
    found: dict[str, Found] = {}
    for paths in [(path, *excluding) for path in selecting] or [excluding]:
        with suppress(UsageError):  # what is not there was removed
            one_by_one = discover(world.repository, world.cwd, replace(wanted, paths=paths, without=without))
            found |= {one.path: one for one in one_by_one}
    inside = (one for one in found.values() if not one.path.startswith("/"))
    suites = digests(inside, world.hosts, options.load, world.repository.checkout)
    return tuple(replace(suite, digest=suite_digest(suite, world.repository)) for suite in suites)


def _suites_from(world: World, suites: Sequence[Suite], own: Sequence[Suite], options: Options) -> SuitesFrom:
    """How the suites that are run differ from the checkout's ``own``."""
    base = {suite.path: suite.digest for suite in suites if not suite.path.startswith("/")}
    head = {suite.path: suite.digest for suite in own}
    return SuitesFrom(
        folder=world.origin.named,
        commit=world.origin.commit,
        added=tuple(sorted(head.keys() - base.keys())),
        changed=tuple(sorted(path for path in head.keys() & base.keys() if head[path] != base[path])),
        removed=tuple(sorted(base.keys() - head.keys())),
        configuration_differs=options.report.configuration_differs,
    )


def report(world: World, runs: StoredReports, options: Options, *, show: Callable[[RunReport], None]) -> RunReport:
    """Stored runs as one, shown and delivered like a run; no agent is started."""
    from skillgym_action.stages.report import compared, told_again

    base = _baseline(world, options)
    report = told_again(world, _compared_with_checkout(world, runs, options))
    return _delivered(world, compared(report, base, options.report), options, show)


def _compared_with_checkout(world: World, runs: StoredReports, options: Options) -> RunReport:
    """The runs as one, with their suites compared with those that git tracks in the checkout, if that is wanted.

    Each run is compared before they are merged: two shards may have different versions of a suite.
    """
    from skillgym_action.storage.changed_suites import completed, marked
    from skillgym_action.storage.merge import merged

    name, wanted = world.directory.path.name, options.report.suites
    if wanted is None or (not world.repository.tracked and wanted.without_checkout == "nothing"):
        return merged(runs, name)
    if not world.repository.tracked:
        if wanted.without_checkout == "changed":
            return merged([(file, marked(run, None)) for file, run in runs], name)
        report = merged(runs, name)
        problem = Problem(message="the suites were compared with nothing", remedy=CHECK_OUT)
        return replace(report, warnings=(*report.warnings, problem))
    found = discover(world.repository, world.cwd, options.discover)
    tracked = world.repository.committed_files()
    suites = digests((one for one in found if one.path in tracked), world.hosts, options.load)
    base = {suite.path: suite_digest(suite, world.repository) for suite in suites}
    report = merged([(file, marked(run, base)) for file, run in runs], name)
    return completed(report, base if wanted.all_expected else ())


def _journal(world: World, todo: Plan, options: Options, began: datetime, command: str) -> Journal:
    """Begun, or taken up where an earlier start of this run left it."""
    settings = _journal_settings(options)
    now = Beginning(began=began, command=command, commit=world.repository.commit(), settings=settings)
    journal = Journal(began=began, digests={one.index: digest(one, world.origin.root) for one in todo.executions})
    if options.execute.resume:
        if world.cancelled:
            raise KeyboardInterrupt  # half a plan does not fit, and all that was there stays
        from skillgym_action.stages.resume import resumed

        return resumed(world, todo, journal, now)
    world.directory.begin(now.line())
    return journal


def _journal_settings(options: Options) -> dict[str, float | None]:
    """What users can set and a resumed run should not change, by the names of options."""
    return {
        "repeat": options.execute.repeat,
        "retry": options.execute.retry,
        "max-steps": options.execute.max_steps,
        "timeout": options.plan.timeout,
    }


def _baseline(world: World, options: Options) -> RunReport | None:
    """Read before anything is spent: one that cannot be used is a mistake of the user's."""
    if options.report.baseline is None:
        return None
    from skillgym_action.storage.stored_runs import baseline

    return baseline(options.report.baseline, world.cwd)


def _delivered(world: World, report: RunReport, options: Options, show: Callable[[RunReport], None]) -> RunReport:
    from skillgym_action.stages.gate import gate
    from skillgym_action.stages.publish import deliver

    def decided(report: RunReport) -> RunReport:
        return replace(report, decision=gate(report, options.gate))

    def as_it_ended(report: RunReport) -> RunReport:
        """A run can be cancelled as long as it is reported."""
        return decided(replace(report, cancelled=True)) if world.cancelled and not report.cancelled else report

    report = decided(report)
    show(report)
    to = replace(options.deliver, templates=world.templates)
    with world.templates.stage() if world.templates else nullcontext():
        return deliver(world.directory, report, to, world.observer, world.conversation, as_it_ended)
