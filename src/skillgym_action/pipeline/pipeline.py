"""The pipeline: discover -> load -> plan -> install_agents -> execute -> report -> gate -> publish.

The command `report` runs the last part for stored runs: merge -> report -> gate -> publish.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from skillgym_action.model.errors import ConfigError, UsageError
from skillgym_action.model.execution import Plan
from skillgym_action.model.records import record
from skillgym_action.model.report import LimitSettings
from skillgym_action.pipeline.beside import (
    Beside,
    base_beside,
    decided_against,
    is_held_against,
    judged_again,
    with_gate,
)
from skillgym_action.pipeline.checks import (
    check_budget,
    check_containers,
    check_plan,
    compared_with_checkout,
    expected_of,
    hide_from_agents,
)
from skillgym_action.pipeline.stages.arms import assign_arms
from skillgym_action.pipeline.stages.baseline import (
    add_new_to_store,
    baseline_keys,
    compare_with_store,
    read_baseline,
    read_store,
    refuse_own_results,
    with_first_run,
    with_inputs,
    with_unselected,
)
from skillgym_action.pipeline.stages.changed_only import in_this_run, only_selected, reuse_untouched, select_changed
from skillgym_action.pipeline.stages.checkout import checkout_warnings
from skillgym_action.pipeline.stages.discover import discover, near_miss_warnings
from skillgym_action.pipeline.stages.install_agents import install_agents
from skillgym_action.pipeline.stages.load import HeadCheckout, is_program, load
from skillgym_action.pipeline.stages.plan import plan
from skillgym_action.pipeline.stages.quarantine import quarantined
from skillgym_action.pipeline.stages.reuse import (
    Reuse,
    reuse_unchanged,
    with_reused,
    with_whole_digests,
    without_reused,
)
from skillgym_action.settings.declarations import RESUME
from skillgym_action.settings.resolve import values_for
from skillgym_action.settings.runners import plug_ins_of
from skillgym_action.settings.written_files import refuse_overwriting
from skillgym_action.system.clock import iso_timestamp
from skillgym_action.text.escaping import terminal_line
from skillgym_action.text.words import duration
from skillgym_action.workspaces.repository.suite_source import SUITES_FROM, normalized, suite_digest, template_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    from skillgym_action.history.pooling import BaselineKey
    from skillgym_action.history.reading import BaseHistory
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.forecast import Forecast
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.runner import Runner
    from skillgym_action.model.suite import BenchmarkSuite, Discovery
    from skillgym_action.pipeline.stages.baseline import StoredBaseline
    from skillgym_action.results.journal import Journal
    from skillgym_action.results.merge import StoredReports
    from skillgym_action.results.session_artifacts import ArtifactRoot, RunArtifacts
    from skillgym_action.services import Services
    from skillgym_action.sessions.adaptive_run import AdaptiveRule
    from skillgym_action.sessions.engines.dispatch import Dispatcher
    from skillgym_action.settings.slices import Options

    Workers = Callable[[], AbstractContextManager[Dispatcher | None]]


def find_suites(services: Services, options: Options) -> Discovery:
    """Search for suites.

    Raises UsageError if the folder of ``--suites-from`` has none, and if a report would replace a suite.
    """
    source = services.suite_source
    wanted = options.discover
    if source.is_separate:
        paths = tuple(_path_in_source(path, services) for path in wanted.paths)
        without = source.head if source.head.is_relative_to(source.root) else None
        wanted = replace(wanted, paths=paths, without=without, where=source.message_suffix())
    found = discover(services.suites, source.cwd, wanted)
    if source.is_separate and not found.suites and not services.cancelled:
        raise UsageError(
            f"{SUITES_FROM}: no suite was found{source.message_suffix()}", remedy="name the folder of the base commit"
        )
    files = [("the suite", file) for one in found.suites for file in {one.file, source.in_head(one.file)}]
    refuse_overwriting(options.publish.reports, files, services.cwd)
    return found


def load_suites(services: Services, options: Options, found: Discovery) -> tuple[BenchmarkSuite, ...]:
    """Load the suites that were found. Raises UsageError if a report would replace a file that one of them names."""
    source = services.suite_source
    directory = partial(source.agent_directory, checkout=services.repository.checkout)
    checkout, head = services.suites.checkout, services.repository.checkout
    at_head = HeadCheckout(checkout=head, path_of=source.in_head, skills=options.load.skills)
    suites = load(found.suites, services.hosts, options.load, checkout, directory=directory, head=at_head)
    named = [("a file of a suite,", services.suites.root / path) for suite in suites for path in suite.hidden]
    refuse_overwriting(options.publish.reports, named, services.cwd)
    # What a program names is not known where it is only hashed, so its digest is that of its file alone.
    return tuple(
        suite if is_program(suite) else replace(suite, digest=suite_digest(suite, services.suites)) for suite in suites
    )


def _path_in_source(path: str, services: Services) -> str:
    """A path argument of the command line, for a search in the folder that suites are read from.

    A path relative to the checkout is valid in that folder, too, and returned unchanged; others become absolute.
    """
    if path.startswith("!"):
        return path
    target = services.suite_source.source_path(normalized(services.cwd / path))
    return str(target) if target != normalized(services.suite_source.cwd / path) else path


def plan_run(services: Services, runners: tuple[Runner, ...], options: Options) -> Plan:
    """The plan: what would run. Raises UsageError."""
    found = find_suites(services, options)
    suites = load_suites(services, options, found)
    try:
        assigned = assign_arms(services, suites, options.arms)
        if assigned.unchanged:
            nothing = (*near_miss_warnings(found), *assigned.warnings)
            return Plan(
                suites=(), runners=runners, executions=(), unrunnable=(), warnings=nothing, unchanged=assigned.unchanged
            )
        made = plan(assigned.suites, runners, options.plan)
        of_checkout = checkout_warnings(services, made.suites) if options.plan.only is None else ()
        found_before = (*near_miss_warnings(found), *assigned.warnings, *of_checkout)
        made = replace(made, warnings=(*found_before, *made.warnings))
        today = services.clock.now().date()
        every_suite = options.discover.every_suite and not options.arms.changed_skills
        made = quarantined(made, options.plan.quarantine, today=today, every_suite=every_suite)
        if stored := options.plan.of_shards.stored:
            from skillgym_action.pipeline.stages.shards import in_shard

            made = in_shard(made, stored, options.plan.shard, execution_digests(services, options))
        return select_changed(services, made, options.changed)
    except UsageError:
        if not services.cancelled:
            raise
        # A selector may match nothing only because the cancellation came before all suites were loaded.
        return Plan(suites=suites, runners=runners, executions=(), unrunnable=())


@record
class PlannedRun:
    """What would run: the plan, without the ``reused`` executions whose results would be taken from the store.

    ``base``: what it would be compared with; ``rule``: how it would decide, if not with a fixed number of sessions;
    ``expected``: what it will cost, without a store unknown. None: there is none.
    """

    plan: Plan
    reused: int = 0
    base: RunReport | None = None
    rule: AdaptiveRule | None = None
    expected: Forecast | None = None


def plan_with_baseline(services: Services, runners: tuple[Runner, ...], options: Options) -> PlannedRun:
    """The plan, with what is known of it before it runs. Raises UsageError."""
    base = read_baseline(services, options)
    stored = read_store(services, options.report, options.store, reuse=options.reuse is not None)
    plan = only_selected(plan_run(services, runners, options))
    if services.store is None:
        plan, found = _beside(services, plan, options, base, (stored, {}))
        return PlannedRun(plan=found.with_warnings(plan), base=base, rule=found.rule)
    from skillgym_action.results.journal import Journal

    digests = {suite.path: template_digest(suite, services.suites) for suite in plan.suites}
    wanted = baseline_keys(services, plan, digests, options.sandbox.type)
    base = stored.of_plan(plan, wanted) if stored and stored.compares else base
    plan, found = _beside(services, plan, options, base, (stored, wanted))
    plan, reuse = found.with_warnings(plan), Reuse(plan=plan)
    if options.reuse is not None:
        hide_from_agents(services, plan, options)
        wanted = with_whole_digests(services, plan, wanted, options)
        nothing_done = Journal(began=services.clock.now(), digests={})
        known = stored.history if stored else None
        reuse = reuse_unchanged(services, plan, wanted, options, (known, nothing_done))
    return PlannedRun(
        plan=replace(reuse.plan, warnings=(*plan.warnings, *reuse.warnings)),
        reused=len(reuse.results),
        base=without_reused(base, reuse),
        rule=found.of(reuse.plan)[0].rule,
        expected=expected_of(services, reuse.plan, options, (stored, wanted)),
    )


def run(
    services: Services,
    runners: tuple[Runner, ...],
    options: Options,
    *,
    command: str,
    show: Callable[[RunReport], None],
    workers: Workers | None = None,
) -> RunReport:
    """Run the whole pipeline and return the report with its decision. ``show`` is called before it is published.

    ``command``: its name, for report and journal. ``workers``: opened for the sessions; None: they run on this machine.
    """
    began, times = services.clock.now(), _StageTimes(services)
    base = read_baseline(services, options)
    plan, stored = _planned_with_store(services, runners, options)
    digests = {suite.path: template_digest(suite, services.suites) for suite in plan.suites}
    wanted = baseline_keys(services, plan, digests, options.sandbox.type)
    base = stored.of_plan(plan, wanted) if stored and stored.compares else base
    check_plan(plan, base, options, writes=bool(stored and stored.writes))
    cut_off, suites_from = _cut_off(services, plan), hide_from_agents(services, plan, options)
    plan, control = _beside(services, plan, options, base, (stored, wanted))
    journal, first_line = _journal(services, control.extended(plan), options, began, command, control.commit)
    refuse_own_results(base, options, services.directory.path.name, iso_timestamp(journal.began))
    wanted = with_whole_digests(services, plan, wanted, options)
    plan, reuse = _reused(services, plan, wanted, options, (stored.history if stored else None, journal))
    check_budget(services, reuse.plan, options, (stored, wanted), journal)
    if first_line is not None:
        services.directory.begin(first_line)
    times.ended("suites and plan")
    control, to_run = control.of(reuse.plan)
    to_run = to_run if workers else install_agents(services, to_run, options.install_agents)
    times.ended("installation of agents")
    from skillgym_action.pipeline.stages.execute import execute  # imported late: `list` and `check` do not need it
    from skillgym_action.pipeline.stages.report import report_run

    executed = execute(services, to_run, options.execute, journal, control.rule, workers)
    times.ended("sessions")
    services.hosts.close()  # frees memory for reports, which need no suite
    plan, results = with_reused(control.extended(replace(plan, runners=to_run.runners)), executed.results, reuse)
    report = report_run(services, plan, results, journal, options, command=command)
    report = replace(
        report,
        results=with_inputs(report.results, wanted),
        suites=tuple(replace(suite, template_digest=digests[suite.path]) for suite in report.suites),
        incomplete=(*report.incomplete, *cut_off, *executed.incomplete),
        suites_from=suites_from,
        adaptive=decided_against(executed.adaptive, base, options) or judged_again(options, results),
        **executed.of_report,
        limits=options.execute.limits if options.plan.only is not None else _session_limits(options),
    )
    options = replace(options, publish=replace(options.publish, artifacts=_artifacts(services, options)))
    compared = _compared(services, report, options, (base, stored), journal, control.commit)
    return _decided_and_published(services, compared, with_gate(with_first_run(options, stored), compared), show)


def _beside(
    services: Services,
    plan: Plan,
    options: Options,
    base: RunReport | None,
    known: tuple[StoredBaseline | None, Mapping[int, BaselineKey]],
) -> tuple[Plan, Beside]:
    """The plan, and what decides beside it: nothing, unless ``repeat: auto`` or ``baseline: base`` is set."""
    if options.plan.only is not None or (options.execute.repeat != "auto" and not options.report.of_base):
        return plan, Beside()
    from skillgym_action.pipeline.adaptive import beside  # imported late: most runs have a fixed number of sessions

    return beside(services, plan, options, base, known)


def _planned_with_store(
    services: Services, runners: tuple[Runner, ...], options: Options
) -> tuple[Plan, StoredBaseline | None]:
    """The plan, and what the store has of the base; None: the run neither compares nor reuses anything."""
    reuses = options.reuse is not None or (options.changed is not None and services.store is not None)
    stored = read_store(services, options.report, options.store, reuse=reuses)
    whole = plan_run(services, runners, options)
    plan = in_this_run(whole, with_store=stored is not None)
    check_containers(services, plan, options)
    return plan, with_unselected(stored, whole, plan)


def _reused(
    services: Services,
    plan: Plan,
    wanted: Mapping[int, BaselineKey],
    options: Options,
    known: tuple[BaseHistory | None, Journal],
) -> tuple[Plan, Reuse]:
    """The plan, and what of it is reused from the store: what no change touches, and what is unchanged."""
    plan, untouched = reuse_untouched(services, plan, wanted, options.changed, known)
    return plan, reuse_unchanged(services, plan, wanted, options, known, untouched)


def _compared(
    services: Services,
    report: RunReport,
    options: Options,
    baseline: tuple[RunReport | None, StoredBaseline | None],
    journal: Journal | None = None,
    commit: str | None = None,
) -> RunReport:
    """The report, compared with a baseline that the user named or with the store, and added to the store.

    Shards, which another job puts together, and stored sessions that are judged again are not added; nor is what
    earlier attempts of the job have added, as ``journal`` has it, or else all that they judged. ``commit``: the base
    commit that the run was held beside.
    """
    compared = _with_comparison(report, options, baseline, commit)
    if options.plan.shard[1] > 1 or options.plan.only is not None:
        return compared
    from skillgym_action.results.journal import stored_line

    before = services.event.run_attempt - 1 if services.event else 0
    after = journal.stored_attempt if journal else before
    compared, is_stored = add_new_to_store(services, compared, options.store, after=after)
    if is_stored and journal and journal.attempt:
        services.directory.write_journal_line(stored_line(journal.attempt))
    return compared


def _with_comparison(
    report: RunReport,
    options: Options,
    baseline: tuple[RunReport | None, StoredBaseline | None],
    commit: str | None = None,
) -> RunReport:
    from skillgym_action.pipeline.stages.report import compare_with_baseline

    base, stored = baseline
    of_base = base_beside(report, options, commit)
    if of_base and is_held_against(report, base, options):
        return compare_with_baseline(report, of_base, options.report)
    if stored is not None and stored.compares:
        return compare_with_store(report, stored)
    return compare_with_baseline(report, base, options.report)


def _cut_off(services: Services, plan: Plan) -> tuple[str, ...]:
    """Why the plan lacks cases, a sentence per reason."""
    if services.cancelled:
        return ("the run was cancelled before all suites were loaded",)
    return (str(plan.nothing_selected),) if plan.nothing_selected else ()


def _session_limits(options: Options) -> LimitSettings:
    return LimitSettings(
        default_timeout=options.plan.default_timeout,
        timeout=options.plan.timeout,
        max_steps=options.execute.max_steps,
        on_limit=options.execute.on_limit,
    )


class _StageTimes:
    """Logs how long the parts of a run took."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._began = services.clock.seconds()

    def ended(self, stage: str) -> None:
        """The stage that began with the end of the one before."""
        now = self._services.clock.seconds()
        self._services.observer.detail(f"{stage} took {duration(round((now - self._began) * 1000))}")
        self._began = now


def report(
    services: Services,
    runs: StoredReports,
    options: Options,
    *,
    show: Callable[[RunReport], None],
    roots: Sequence[ArtifactRoot] = (),
) -> RunReport:
    """Merge stored runs, then show and publish them like a run; no agent is started.

    ``roots``: the run directories in which the artifacts of their sessions are searched.
    """
    from skillgym_action.pipeline.stages.report import report_stored_run

    base, store = read_baseline(services, options), read_store(services, options.report, options.store)
    for _, stored in runs:
        refuse_own_results(base, options, stored.id, stored.started_at)
    report = report_stored_run(services, compared_with_checkout(services, runs, options))
    if options.report.of_base and base_beside(report, options, None) is None:
        message = "--baseline base: the stored run has no sessions of the base commit"
        raise UsageError(message, remedy="write ./base if you mean a folder of that name")
    options = replace(options, publish=replace(options.publish, artifacts=_artifacts(services, options, roots)))
    compared = _compared(services, report, options, (base, store))
    return _decided_and_published(services, compared, with_gate(with_first_run(options, store), compared), show)


def compare(
    services: Services,
    base: StoredReports,
    head: StoredReports,
    options: Options,
    *,
    show: Callable[[RunReport, RunReport], None],
    roots: Sequence[ArtifactRoot],
) -> RunReport:
    """Compare stored runs, those of each side merged; no agent is started. Returns ``head`` with the comparison.

    ``show`` is called with both sides before the reports are written. ``roots``: the run directories of ``head``.
    """
    from skillgym_action.pipeline.stages.report import compare_with_baseline, report_stored_run
    from skillgym_action.results.merge import merged

    options = replace(options, publish=replace(options.publish, artifacts=_artifacts(services, options, roots)))
    before = merged(base, "base")
    for _, stored in head:
        refuse_own_results(before, options, stored.id, stored.started_at)
    after = report_stored_run(services, merged(head, "head"))
    compared = compare_with_baseline(after, before, options.report)
    return _decided_and_published(services, compared, options, lambda report: show(before, report))


def write_html(
    services: Services, runs: StoredReports, options: Options, file: Path, roots: Sequence[ArtifactRoot]
) -> None:
    """Write the HTML report of stored runs to ``file``. Raises UsageError, OutputError.

    Where a report template of the user's does not work, the packaged one is used, after a line about the reason.
    """
    from skillgym_action.pipeline.stages.gate import gate
    from skillgym_action.pipeline.stages.report import report_stored_run
    from skillgym_action.reports.html.report import render
    from skillgym_action.results.merge import merged

    base, store = read_baseline(services, options), read_store(services, options.report, options.store)
    report = report_stored_run(services, merged(runs, services.directory.path.name))
    report = _with_comparison(report, options, (base, store))
    report = replace(report, decision=gate(report, with_gate(options, report).gate))
    artifacts = _artifacts(services, options, roots)
    try:
        services.directory.write_whole(file, render(report, templates=services.templates, artifacts=artifacts))
    except ConfigError as error:
        for problem in error.problems:
            services.observer.progress(f"note: {terminal_line(str(problem))}")
        services.directory.write_whole(file, render(report, artifacts=artifacts))


def _artifacts(services: Services, options: Options, roots: Sequence[ArtifactRoot] = ()) -> RunArtifacts:
    """What reads the artifacts of sessions for reports: of this run, or in ``roots``; and of the baseline."""
    from skillgym_action.results.session_artifacts import ArtifactRoot, RunArtifacts, run_directory_of

    directory, base = services.directory, options.report.baseline
    return RunArtifacts(
        roots=roots or (ArtifactRoot(directory.open_path),),
        redact=directory.redactor.text,
        baseline=ArtifactRoot(run_directory_of(base)) if base else None,
    )


def _journal(
    services: Services, plan: Plan, options: Options, began: datetime, command: str, base: str | None = None
) -> tuple[Journal, str | None]:
    """A new journal, with the line that its file is to begin with; or with ``--resume`` that of the interrupted run.

    ``base``: the commit beside which the run is held.
    """
    from skillgym_action.results.journal import BASE_COMMIT, Journal, JournalHead

    settings = {**journal_settings(options), BASE_COMMIT: base}
    job = options.attempt.job
    now = JournalHead(began=began, command=command, commit=services.repository.commit(), settings=settings, job=job)
    digest_of = execution_digests(services, options)
    digests = {each.index: digest_of(each) for each in plan.executions}
    journal = Journal(began=began, digests=digests, attempt=job.attempt if job else None)
    if options.execute.resume:
        if services.cancelled:
            raise KeyboardInterrupt  # a plan without all suites does not fit the journal, which stays unchanged
        from skillgym_action.pipeline.stages.resume import resume

        return resume(services, plan, journal, now, auto=options.attempt.auto), None
    return journal, now.line()


def execution_digests(services: Services, options: Options) -> Callable[[Execution], str]:
    """What returns the digest of what the sessions of an execution depend on."""
    from skillgym_action.results.journal import digest

    root, inputs = services.suite_source.root, services.workspaces.input_digests()

    def digest_of(execution: Execution) -> str:
        used, spec = plug_ins_of(execution, options.sandbox.type), execution.case.workspace
        if execution.arm and execution.arm.control and spec and spec.root:  # whose commit stands for all its files
            return digest(execution, spec.root, tuple(map(str, used)))
        return digest(execution, root, (*inputs.of(execution), *map(str, used)))

    return digest_of


def journal_settings(options: Options) -> dict[str, float | str | None]:
    """Settings that a resumed run should not change, by the names of their options. None: not set, or the default."""

    def stored(value: Any, default: object) -> Any:
        if isinstance(value, bool) or isinstance(default, str):
            return None if value == default else "on" if value is True else str(value)
        return value

    return {name.replace("_", "-"): stored(*of_stage) for name, of_stage in values_for(RESUME, options).items()}


def _decided_and_published(
    services: Services, report: RunReport, options: Options, show: Callable[[RunReport], None]
) -> RunReport:
    from skillgym_action.pipeline.stages.gate import gate

    def decided(report: RunReport) -> RunReport:
        return replace(report, decision=gate(report, options.gate))

    def final_report(report: RunReport) -> RunReport:
        """The report; if the run was cancelled while it was published, with that and a new decision."""
        return decided(replace(report, cancelled=True)) if services.cancelled and not report.cancelled else report

    from skillgym_action.pipeline.stages.publish import publish

    report, times = decided(report), _StageTimes(services)
    show(report)
    to = replace(options.publish, templates=services.templates)
    with services.templates.stage() if services.templates else nullcontext():
        final = publish(services.directory, report, to, services.observer, services.publisher, final_report)
    times.ended("reports")
    return final
