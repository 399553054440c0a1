"""Checks of a plan before sessions start: judge, containers, statistics, cost; suites; what agents may not see."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.agents.accounts import google_action_files, secrets_in_file
from skillgym_action.model.errors import Problem, UsageError
from skillgym_action.model.judge_question import needs_judge
from skillgym_action.model.runner import Runner
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.shard_plan import key_of, key_of_result
from skillgym_action.pipeline.beside import check_adaptive
from skillgym_action.pipeline.stages.discover import discover
from skillgym_action.pipeline.stages.load import load_digests
from skillgym_action.pipeline.stages.plan import plan
from skillgym_action.pipeline.stages.quarantine import quarantined_again
from skillgym_action.settings.runners import secrets_of, secrets_of_arms
from skillgym_action.settings.written_files import refuse_overwriting
from skillgym_action.text.escaping import terminal_line
from skillgym_action.text.words import counted, listed
from skillgym_action.workspaces.repository.reference_solutions import recordings_folder, solutions_folder
from skillgym_action.workspaces.repository.suite_source import suite_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from skillgym_action.history.pooling import BaselineKey
    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.model.forecast import Forecast
    from skillgym_action.model.report import RunReport, SuitesFrom
    from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite, FoundSuite, SuiteChange
    from skillgym_action.pipeline.stages.baseline import StoredBaseline
    from skillgym_action.results.journal import Journal
    from skillgym_action.results.merge import StoredReports
    from skillgym_action.services import Services
    from skillgym_action.settings.slices import Options, PlanOptions

_JUDGE = "write `run: {judge: {api: anthropic, model: MODEL}}` into skillgym.config.yaml"


def check_plan(plan: Plan, base: RunReport | None, options: Options, *, writes: bool = False) -> None:
    """Raises UsageError if executions need a judge and none is configured, or the run must not be stopped.

    Also if regressions are to fail the run, but the plan could never show one. Stored sessions that are judged again
    cost nothing, whatever they can show. The error has the warnings of the plan and its suites, which no report shows.
    ``writes``: the run adds to the store.
    """
    try:
        check_adaptive(plan, options, writes=writes)
        _check(plan, base, options)
    except UsageError as error:
        of_suites = (warning for suite in plan.suites for warning in suite.warnings)
        error.warnings = tuple(dict.fromkeys((*plan.warnings, *of_suites)))
        raise


def _check(plan: Plan, base: RunReport | None, options: Options) -> None:
    _check_judge(plan, options)
    _refuse_in_place(plan, options)
    adaptive = options.execute.repeat == "auto"  # as many sessions as it takes
    if (
        adaptive
        or base is None
        or "regression" not in options.gate.fail_on
        or not plan.executions
        or options.plan.only is not None
    ):
        return
    if options.report.auto:
        return  # the store gets more samples with each run: a comparison that shows nothing yet is inconclusive
    from skillgym_action.results.statistics.planning import undecidable

    if problem := undecidable(deciding_sessions(plan, options), base):
        raise UsageError.of(problem)


def _check_judge(plan: Plan, options: Options) -> None:
    cases = [(one.suite.path, one.case) for one in plan.executions] if options.judge is None else []
    if problems := tuple(judge_problems(cases)):
        raise UsageError.of(*problems)


def judge_problems(cases: Iterable[tuple[str, BenchmarkCase]]) -> Iterator[Problem]:
    """A problem for each suite with cases that need a judge; the cases come with the paths of their suites."""
    asking: dict[str, dict[str, BenchmarkCase]] = {}
    for suite, case in cases:
        if case.questions:
            asking.setdefault(suite, {}).setdefault(case.id, case)
    for found in asking.values():
        questions, needing = sum(case.questions for case in found.values()), counted(len(found), "case")
        message = f"{needs_judge(questions)} ({needing})" if len(found) > 1 else needs_judge(questions)
        yield Problem(message=message, location=next(iter(found.values())).location, remedy=_JUDGE)


def check_containers(services: Services, plan: Plan, options: Options) -> None:
    """Connect to the engine of containers if sessions of the plan run in some. Raises UsageError if it is not possible.

    If sessions run on workers, each of these connects to its own, and this machine needs none.
    """
    from skillgym_action.sessions.hooks import workspace_spec

    for execution in plan.executions:
        spec = workspace_spec(execution)
        if spec.container and spec.mode != "isolated":
            raise UsageError(
                f"{execution.suite.path}: its workspace has the mode {spec.mode}, and run.workspace of the "
                "configuration asks for a container, which is made for one session",
                remedy="give the suite the mode isolated, or leave the image out of run.workspace",
            )
    wanted = {
        (execution.suite.path, spec.container): None
        for execution in plan.executions
        if (spec := execution.case.workspace or execution.suite.workspace).container
        and workspace_spec(execution).container
    }
    if wanted and services.containers:
        specs = ((suite, spec) for suite, spec in wanted if spec)
        services.containers().check(specs, connect=options.engine is None)


def _refuse_in_place(plan: Plan, options: Options) -> None:
    """Raises UsageError if sessions are to run on workers, and work in a folder of this machine."""
    if options.engine is None:
        return
    from skillgym_action.sessions.hooks import workspace_spec

    for execution in plan.executions:
        if workspace_spec(execution).mode == "none":
            raise UsageError(
                f"{execution.suite.path}: agents work in a folder of this machine (workspace mode none), "
                "which workers do not have",
                remedy="run it with --engine local, or give it a workspace of mode isolated",
            )


def planned_sessions(plan: Plan, options: Options) -> list[tuple[Execution, int]]:
    """The executions of the plan, each with its number of repetitions."""
    from skillgym_action.sessions.repetitions import planned_repetitions

    return [(execution, planned_repetitions(execution, options.execute)) for execution in plan.executions]


def deciding_sessions(plan: Plan, options: Options) -> list[tuple[Execution, int]]:
    """The same without those of arms that do not decide."""
    return [entry for entry in planned_sessions(plan, options) if entry[0].decides]


# --- suites of the checkout, compared with others -----------------------------------------------------

SELECT_ALIKE = "select the same suites, cases, tags and runners here as in the workflow that runs them"


def suites_of_checkout(services: Services, options: Options) -> tuple[BenchmarkSuite, ...]:
    """The suites in the checkout, if those of another folder are run: found and hashed, never executed."""
    wanted = options.discover
    without = (
        services.suite_source.root if services.suite_source.root.is_relative_to(services.repository.root) else None
    )
    selecting = [path for path in wanted.paths if not path.startswith("!")]
    excluding = tuple(path for path in wanted.paths if path.startswith("!"))
    found: dict[str, FoundSuite] = {}
    for paths in [(path, *excluding) for path in selecting] or [excluding]:
        with suppress(UsageError):  # the checkout has no such path: the suite was removed there
            suites_at_path = discover(services.repository, services.cwd, replace(wanted, paths=paths, without=without))
            found |= {suite.path: suite for suite in suites_at_path.suites}
    inside = (suite for suite in found.values() if not suite.path.startswith("/"))
    suites = load_digests(inside, services.hosts, options.load, services.repository.checkout)
    return tuple(replace(suite, digest=suite_digest(suite, services.repository)) for suite in suites)


def suites_from_folder(
    services: Services, suites: Sequence[BenchmarkSuite], of_checkout: Sequence[BenchmarkSuite], options: Options
) -> SuitesFrom:
    """Where ``suites`` were read from, and how the suites of the checkout differ from them."""
    from skillgym_action.model.report import SuitesFrom

    base = {suite.path: suite.digest for suite in suites if not suite.path.startswith("/")}
    head = {suite.path: suite.digest for suite in of_checkout}
    return SuitesFrom(
        folder=services.suite_source.named,
        commit=services.suite_source.commit,
        added=tuple(sorted(head.keys() - base.keys())),
        changed=tuple(sorted(path for path in head.keys() & base.keys() if head[path] != base[path])),
        removed=tuple(sorted(base.keys() - head.keys())),
        configuration_differs=options.report.configuration_differs,
    )


def compared_with_checkout(services: Services, runs: StoredReports, options: Options) -> RunReport:
    """The merged runs, in which suites that differ from those of the checkout are marked, if the options say so.

    Each run is compared before they are merged: two shards may have different versions of a suite. Raises UsageError if
    a report would replace a suite, or there is no checkout for a comparison that was asked for.
    """
    from skillgym_action.results.merge import merged

    name, wanted = services.directory.path.name, options.report.suites
    if wanted is None:
        return merged(runs, name)
    from skillgym_action.reports.wording.results import CHECK_OUT_BASE

    if not services.repository.has_git:
        if wanted.without_checkout == "error":
            raise UsageError("--compare-suites: there is no git checkout here", remedy="check out the base branch")
        report = merged(runs, name)
        problem = Problem(message="the suites were compared with nothing", remedy=CHECK_OUT_BASE)
        return replace(report, warnings=(*report.warnings, *[problem][: wanted.without_checkout == "warning"]))
    found = discover(services.repository, services.cwd, options.discover).suites
    refuse_overwriting(options.publish.reports, (("the suite", suite.file) for suite in found), services.cwd)
    tracked = services.repository.committed_files()
    known = (suite for suite in found if suite.path in tracked or any(part in tracked for part in suite.parts))
    suites = load_digests(known, services.hosts, options.load)
    base = {suite.path: suite_digest(suite, services.repository) for suite in suites}
    report = merged([(file, marked(run, base)) for file, run in runs], name)
    report = quarantined_again(report, options.plan.quarantine, today=services.clock.now().date())
    return _completed(report, suites, wanted.runners, options.plan) if wanted.complete else report


def _completed(
    report: RunReport, suites: tuple[BenchmarkSuite, ...], runners: tuple[str, ...], options: PlanOptions
) -> RunReport:
    """The report, incomplete where it lacks suites, runners or executions of the plan of the checkout.

    What a suite program has is unknown, as it is not executed; of a suite that differs, nothing is expected. Results
    may lack as many executions as the run left out, since no change touched them.
    """
    of_run = {suite.path: suite for suite in report.suites}
    runners = runners or tuple(runner.id for runner in report.runners)
    stand_ins = tuple(Runner(id=id_, path_key=id_, agent=AgentConfig(type="command")) for id_ in runners)
    there = {key[:3] for key in map(key_of_result, report.all_results) if key}
    planned = dict.fromkeys(key_of(one)[:3] for one in plan(suites, stand_ins, options).executions)
    absent = [key for key in planned if key not in there]
    left_out = report.selection.left_out if report.selection else 0
    if report.unchanged or report.missing_shards or len(absent) <= left_out > 0:
        return report
    lost_suites = sorted(suite.path for suite in suites if suite.path not in of_run)
    has_programs = any(not suite.format for suite in suites)  # these were only hashed
    expected = {runner for _, _, runner in planned} | (set(runners) if has_programs else set())
    lost_runners = sorted(expected - {runner for _, _, runner in there})
    same = {path for path, suite in of_run.items() if not suite.changed}
    lost = [f"{case} of {path} on {id_}" for path, case, id_ in absent if path in same and id_ not in lost_runners]
    sentences = tuple(
        f"the results lack {what} of the base commit: {listed(names)}"
        for what, names in (("suites", lost_suites), ("runners", lost_runners), ("cases", lost))
        if names
    )
    warnings = (Problem(message=sentence, remedy=SELECT_ALIKE) for sentence in sentences)
    return replace(report, incomplete=(*report.incomplete, *sentences), warnings=(*report.warnings, *warnings))


# --- expected costs -----------------------------------------------------------------------------------


def expected_of_plan(services: Services, plan: Plan, options: Options) -> Forecast | None:
    """What a plan will cost, with the store read for it; None: there is none, or it cannot be used."""
    if services.store is None:
        return None
    from skillgym_action.pipeline.stages.baseline import baseline_keys
    from skillgym_action.workspaces.repository.suite_source import template_digest

    digests = {suite.path: template_digest(suite, services.suites) for suite in plan.suites}
    return expected_of(services, plan, options, (None, baseline_keys(services, plan, digests, options.sandbox.type)))


def expected_of(
    services: Services,
    plan: Plan,
    options: Options,
    known: tuple[StoredBaseline | None, Mapping[int, BaselineKey]],
    journal: Journal | None = None,
) -> Forecast | None:
    """What the sessions will cost that are not in the ``journal``; None: there is no store, or it cannot be used.

    ``known``: what was read of the store, if anything, and the keys of the plan.
    """
    from skillgym_action.pipeline.stages.baseline import read_stored

    stored, wanted = known
    if stored is None and options.store:
        stored = read_stored(services, options.store, "the store cannot be used, so nothing is known of the cost")
    if stored is None or stored.history is None:
        return None
    from skillgym_action.pipeline.stages.forecast import forecast
    from skillgym_action.sessions.repetitions import planned_repetitions

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
    known: tuple[StoredBaseline | None, Mapping[int, BaselineKey]],
    journal: Journal | None = None,
) -> None:
    """Raises UsageError if ``max-cost`` would end the run early by all that the store knows; if probably, says so.

    ``journal``: of a resumed run, whose finished sessions cost nothing more.
    """
    if options.execute.max_cost is None:
        return
    from skillgym_action.pipeline.stages.forecast import refuse_beyond_budget

    if found := expected_of(services, plan, options, known, journal):
        spent = sum(usd or 0.0 for one in journal.spent for usd in one.costs) if journal else 0.0
        if note := refuse_beyond_budget(found, options.execute, spent):
            services.observer.progress(terminal_line(f"note: {note}"))


# --- what agents may not see --------------------------------------------------------------------------


def hide_from_agents(services: Services, plan: Plan, options: Options) -> SuitesFrom | None:
    """Hide what agents must not see, and keys in what they print.

    Returns how the suites differ from those of the checkout, if they are not its.

    These are suites, solutions, recordings, stores, untrusted configuration and keys.
    """
    arms = (*options.arms.configured, *(arm for suite in plan.suites for arm in suite.arms))
    services.directory.redactor.learn((*secrets_of(plan.runners), *secrets_of_arms(arms)))
    of_checkout = suites_of_checkout(services, options) if services.suite_source.is_separate else ()
    services.workspaces.hide((*_hidden((*plan.suites, *of_checkout)), *_folders_of_arms(services, options)))
    _hide_untrusted_configuration(services)
    _hide_credentials_of_google(services)
    if not services.suite_source.is_separate:
        return None
    return suites_from_folder(services, plan.suites, of_checkout, options)


def _hide_untrusted_configuration(services: Services) -> None:
    if services.untrusted_configuration:
        with suppress(InterruptedError):  # cancelled: no session will start
            services.workspaces.hide(
                services.untrusted_configuration.among(services.repository.files(services.repository.root))
            )


def _hide_credentials_of_google(services: Services) -> None:
    """Whichever account agents use. What git tracks is no secret: words of a commit would be hidden in reports."""
    root = services.repository.root
    found = list(google_action_files(root))
    services.workspaces.hide(path.name for path in found)
    with suppress(InterruptedError):  # cancelled: no session will start
        indexed = services.repository.tracked_paths() if found and services.repository.has_git else ()
        unknown = {path.name for path in found}.difference(one.path for one in indexed)
        services.directory.redactor.learn(one for name in unknown for one in secrets_in_file(root / name))


def _folders_of_arms(services: Services, options: Options) -> tuple[str, ...]:
    """Files and folders of the checkout that arms name: in copies of it, every arm would have them."""
    root, source = services.repository.root, services.suite_source
    folders = map(source.in_head, options.arms.folders)
    return tuple(path.relative_to(root).as_posix() for path in folders if path.is_relative_to(root) and path != root)


def _hidden(suites: Iterable[BenchmarkSuite]) -> Iterator[str]:
    """Paths that agents must not see: suites, reference solutions, recorded sessions, and what suites name."""
    for suite in suites:
        yield from (suite.path, solutions_folder(suite.path), recordings_folder(suite.path), *suite.hidden)


def marked(report: RunReport, base: Mapping[str, str | None]) -> RunReport:
    """The report with ``changed`` set anew for every suite; ``base``: digests by path, of the base commit.

    Who changes a suite, changes the judge.
    """
    suites = {suite.path: replace(suite, changed=_suite_change(suite, base)) for suite in report.suites}
    results, others, quarantined = (
        tuple(replace(result, suite=suites[result.suite.path]) for result in some)
        for some in (report.results, report.other_arms, report.quarantined)
    )
    return replace(report, suites=tuple(suites.values()), results=results, other_arms=others, quarantined=quarantined)


def _suite_change(suite: BenchmarkSuite, base: Mapping[str, str | None]) -> SuiteChange | None:
    if suite.path not in base:
        return "added"
    return None if suite.digest and suite.digest == base[suite.path] else "differs"
