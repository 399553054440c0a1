"""Stage: the baseline of a run, named by the user or made of the store; and the entry of the run in the store."""

from __future__ import annotations

from dataclasses import replace
from secrets import token_hex
from typing import TYPE_CHECKING

from skillgym_action.history import STORE_PAGE, StoreAccessError, StoreError
from skillgym_action.model.errors import Problem, UsageError
from skillgym_action.model.records import record
from skillgym_action.model.verdicts import JUDGED
from skillgym_action.model.version import __version__
from skillgym_action.settings.option_types import BASE_BASELINE
from skillgym_action.settings.runners import plug_ins_of
from skillgym_action.text.escaping import terminal_line
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from skillgym_action.history import Store
    from skillgym_action.history.pooling import BaselineKey
    from skillgym_action.history.reading import BaseHistory
    from skillgym_action.model.comparison import Comparison
    from skillgym_action.model.execution import Plan
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.services import Services
    from skillgym_action.settings.baseline_options import ReportOptions, StoreOptions
    from skillgym_action.settings.slices import Options

UNUSABLE = "the baseline in the store cannot be used, so nothing was compared"


def read_baseline(services: Services, options: Options) -> RunReport | None:
    """The baseline, read before any session starts. None: nothing is to be compared, or there is no baseline yet.

    Raises UsageError if it cannot be used; if it is missing and not optional; and if regressions are to fail the run,
    but no baseline is named.
    """
    wanted = options.report
    if wanted.of_base and (services.cwd / BASE_BASELINE).is_dir():
        services.observer.progress("note: baseline base is the base commit; write ./base for the folder of that name")
    if wanted.auto or wanted.of_base:
        return None
    if wanted.baseline is None:
        if "regression" in options.gate.fail_on and not wanted.baseline_optional:
            raise UsageError(
                "regression in fail-on without a baseline: there is nothing to compare with",
                remedy="name a baseline, or remove regression from fail-on",
            )
        return None
    from skillgym_action.results.stored_runs import baseline

    base = baseline(wanted.baseline, services.cwd)
    if base is None and not wanted.baseline_optional:
        raise UsageError(
            f"no baseline at {wanted.named}",
            remedy="name the results of an earlier run; for a first run set baseline-optional",
        )
    return base


def refuse_own_results(base: RunReport | None, options: Options, id_: str, started_at: str) -> None:
    """A run is never worse than itself. Raises UsageError if regressions are to fail it."""
    if base and "regression" in options.gate.fail_on and (base.id, base.started_at) == (id_, started_at):
        raise compared_with_itself(options)


def compared_with_itself(options: Options) -> UsageError:
    """The error for a baseline that has the sessions which it is to be compared with."""
    return UsageError(
        f"the baseline {options.report.named} is the run itself, so no regression could be shown",
        remedy="name the results of another run",
    )


# --- the store -----------------------------------------------------------------------------------------


@record
class StoredBaseline:
    """What the store has of the base; or ``problem``: why it cannot be used. ``title``: what the store is called.

    ``beginning``: what makes the results that it lacks. ``writes``: whether this run will add to the store, so that one
    without entries is only at its beginning. ``compares``: whether the run is compared with it; if not, results are
    only reused from it. ``optional``: a store without results of the base is not worth a warning.
    ``looked_at``: what the store has looked at, in brackets. ``branch``: the base branch, if it is known.
    ``left_out``: executions that are not in the run since no change touches them, as suite, case and runner: they are
    not missing.
    """

    title: str
    history: BaseHistory | None = None
    problem: str = ""
    beginning: str = ""
    writes: bool = False
    compares: bool = True
    optional: bool = False
    looked_at: str = ""
    branch: str | None = None
    left_out: frozenset[tuple[str, str, str]] = frozenset()

    def of(self, wanted: list[BaselineKey], *, shard: bool = False) -> RunReport | None:
        """The baseline for executions; None if the store has none."""
        from skillgym_action.history.pooling import pooled

        base = pooled(self.history, wanted, shard=shard) if self.history else None
        if base is None or not self.left_out:
            return base
        return replace(base, results=tuple(result for result in base.results if name_of(result) not in self.left_out))

    def of_plan(self, plan: Plan, digests: Mapping[int, BaselineKey]) -> RunReport | None:
        """The baseline before any session, for what needs one to plan; None if there is none."""
        from skillgym_action.history.pooling import provisional

        wanted = [digests[execution.index] for execution in plan.executions if execution.decides]
        base = self.of(wanted, shard=True)
        return provisional(base, wanted) if base else None


def read_store(
    services: Services, options: ReportOptions, store: StoreOptions | None, *, reuse: bool = False
) -> StoredBaseline | None:
    """What the store has of the base, read before any session starts; None: nothing needs it.

    ``reuse``: results may be reused from it. Raises UsageError if the baseline is to come from a store, but there
    is none.
    """
    if not (options.auto or reuse):
        return None
    if services.store is None or store is None:
        raise UsageError("baseline auto without a store: there is nothing to compare with", remedy="name a --store")
    found = read_stored(services, store, UNUSABLE if options.auto else "")
    return replace(found, compares=options.auto) if found else None


def read_stored(services: Services, store: StoreOptions, unusable: str) -> StoredBaseline | None:
    """What the store has of the base; None: there is no store, or no access to the default one.

    ``unusable``: what to say first of one that cannot be read; empty: nothing.
    """
    if services.store is None:
        return None
    from skillgym_action.history.permission import base_branch, base_revision, refusal, run_group
    from skillgym_action.history.reading import BasePoint, read_history
    from skillgym_action.workspaces.repository.changed_files import history

    commit = services.repository.commit()
    writes = refusal(services.event, commit, asked=store.asked) is None and store.reports
    title, branch = services.store.title, base_branch(services.event)
    try:
        _refuse_committed(services, store)
        point = BasePoint(
            now=services.clock.now(),
            branch=branch,
            commits=history(services.repository.root, services.processes, base_revision(services.event, commit)),
            group=run_group(services.event),
        )
        found = read_history(services.store, point)
    except StoreError as error:
        if store.optional and isinstance(error, StoreAccessError):
            services.observer.detail(terminal_line(f"{unusable}: {title}: {error}"))
            return None
        if unusable:
            services.observer.progress(terminal_line(f"note: {unusable}: {error}"))
        return StoredBaseline(title=title, problem=str(error), writes=writes)
    except InterruptedError as error:  # the run goes on to its reports
        return StoredBaseline(title=title, problem=str(error.strerror), writes=writes)
    return StoredBaseline(
        title=title,
        history=found,
        beginning=_beginning(branch, store, writes=writes),
        writes=writes,
        optional=store.optional,
        looked_at=services.store.looked_at,
        branch=branch,
    )


def _beginning(branch: str | None, store: StoreOptions, *, writes: bool) -> str:
    """What makes the results that a store lacks. ``branch``: the base branch on GitHub; None: not known."""
    if writes:
        return "this run is the first of its branch; later ones are compared with it"
    if branch is None:
        return "run on the base branch once, with --store-write"
    needs = ", in a job with `permissions: contents: write`" if store.kind == "branch" else ""
    return f"run this workflow once for the branch {branch}, on a push or by hand{needs}"


def name_of(result: Result) -> tuple[str, str, str]:
    """Suite, case and runner of a result."""
    return result.suite.path, result.case_id, result.runner.id if result.runner else ""


def with_unselected(stored: StoredBaseline | None, whole: Plan, plan: Plan) -> StoredBaseline | None:
    """The baseline without the executions of ``whole`` that are not in ``plan``."""
    if stored is None:
        return None
    kept = {execution.index for execution in plan.executions}
    gone = (execution for execution in whole.executions if execution.index not in kept)
    return replace(stored, left_out=frozenset((one.suite.path, one.case.id, one.runner.id) for one in gone))


def _refuse_committed(services: Services, store: StoreOptions) -> None:
    """Raises StoreError for a store that the commit which is judged has brought along."""
    root = services.repository.root
    if store.path is None or not store.path.is_relative_to(root):
        return
    committed = sorted(
        name for name in services.repository.committed_files() if _is_in_store(root / name, store.path, root)
    )
    if committed:
        raise StoreError(f"{committed[0]} is a file of the commit that is judged, which may say anything")


def _is_in_store(file: Path, store: Path, root: Path) -> bool:
    """Whether a file of the checkout would be read. In the root, where all files are, those with names of runs are."""
    from skillgym_action.history.path_store import is_run_file

    return is_run_file(file.relative_to(root).as_posix()) if store == root else file.is_relative_to(store)


def baseline_keys(
    services: Services, plan: Plan, templates: Mapping[str, str | None], sandbox: str = "none"
) -> dict[int, BaselineKey]:
    """The executions of a plan by index, with the digests of what they are given. ``templates``: by suite path.

    Without a store nothing needs them.
    """
    if services.store is None:
        return {}
    from skillgym_action.history.digests import ExecutionDigests
    from skillgym_action.history.pooling import BaselineKey
    from skillgym_action.history.stored_lines import EntryKey, ExecutionName, major

    digests = ExecutionDigests(services.suites)
    found = {}
    for execution in plan.executions:
        used = ", ".join(map(str, plug_ins_of(execution, sandbox))) or None
        inputs, agent = replace(digests.of(execution), plug_ins=used), execution.agent
        found[execution.index] = BaselineKey(
            name=ExecutionName(execution.suite.path, execution.case.id, execution.runner.id),
            inputs=inputs,
            key=EntryKey(
                prompt=inputs.prompt,
                assertions=inputs.assertions,
                program=inputs.program,
                template=templates.get(execution.suite.path),
                workspace=inputs.workspace,
                agent=agent.type,
                version=None,
                model=None,
                judge=None,
                tool=major(__version__),
                plug_ins=used or "none",
            ),
            prompt=execution.case.prompt,
        )
    return found


def with_inputs(results: tuple[Result, ...], wanted: Mapping[int, BaselineKey]) -> tuple[Result, ...]:
    """The results with the digests of what their executions were given."""
    return tuple(
        replace(result, inputs=wanted[result.index].inputs) if result.index in wanted else result for result in results
    )


def compare_with_store(report: RunReport, stored: StoredBaseline) -> RunReport:
    """The report with the comparison; a store that cannot be used is an inconclusive one, an empty one a warning."""
    if stored.problem:
        return replace(report, comparison=_inconclusive(stored))
    from skillgym_action.history.pooling import baseline_keys_of
    from skillgym_action.results.statistics.comparison import compare

    # Of merged parts it is not known which executions were left out.
    is_part = bool(report.selection and report.selection.left_out and not stored.left_out)
    base = stored.of(baseline_keys_of(report), shard=report.shard is not None or is_part)
    if base is not None:
        return replace(report, comparison=compare(base, report, stored.branch, of_store=True))
    if stored.optional:
        return report
    history_ = stored.history
    others = (
        f" (it has {counted(history_.others, 'run')} of other branches or commits)"
        if history_ and history_.others
        else ""
    )
    message = f"{stored.title} has no results of the base: nothing was compared{others}{stored.looked_at}"
    problem = Problem(message=message, remedy=stored.beginning)
    return replace(report, warnings=(*report.warnings, problem))


def _inconclusive(stored: StoredBaseline) -> Comparison:
    from skillgym_action.model.comparison import Comparison, Coverage

    nothing = Coverage(judged=0, planned=0, compared=0, base_pairs=0)
    return Comparison(
        base_id=stored.title,
        base_commit=None,
        verdict="inconclusive",
        reason=f"{UNUSABLE}: {stored.problem}",
        coverage=nothing,
    )


def _of_attempts_after(report: RunReport, number: int) -> RunReport:
    """The report without the repetitions that attempts up to ``number`` judged, and so stored.

    Attempts of a job on GitHub share a run; no sample is stored twice.
    """
    return replace(report, results=tuple(_new_of(result, number) for result in report.results))


def _new_of(result: Result, number: int) -> Result:
    """The result with the new repetitions alone, and their share of the cost."""
    stored = {
        attempt.repetition
        for attempt in result.attempts
        if attempt.status in JUDGED and attempt.run_attempt is not None and attempt.run_attempt <= number
    }
    attempts = tuple(attempt for attempt in result.attempts if attempt.repetition not in stored)
    if len(attempts) == len(result.attempts):
        return result
    usd = result.cost.usd
    share = None if usd is None else usd * len(attempts) / len(result.attempts)
    return replace(result, attempts=attempts, cost=replace(result.cost, usd=share))


def add_new_to_store(
    services: Services, report: RunReport, store: StoreOptions | None, *, after: int
) -> tuple[RunReport, bool]:
    """Add what attempts of the job after the number ``after`` have judged; whether all of the report is in the store.

    What prevents it is a warning of the report.
    """
    new = _of_attempts_after(report, after)
    if not any(result.attempts for result in new.results) and any(result.attempts for result in report.results):
        return report, True
    added = add_to_store(services, new, store)
    is_stored = added is new and store is not None and not report.cancelled
    return replace(report, warnings=added.warnings, cancelled=added.cancelled), is_stored


def add_to_store(services: Services, report: RunReport, store: StoreOptions | None) -> RunReport:
    """Add the results of a run to the store, if it may write; what prevents it is a warning of the report."""
    if services.store is None or store is None or not store.reports or report.cancelled:
        return report
    from skillgym_action.history.permission import base_branch, refusal, run_group

    title = services.store.title
    if refused := refusal(services.event, report.commit, asked=store.asked):
        services.observer.detail(f"results are not added to {title}: {refused}")
        return report
    from skillgym_action.history.stored_lines import lines_of

    id_ = f"{report.started_at}-{token_hex(6)}"
    lines = list(lines_of(report, id_=id_, group=run_group(services.event) or id_, branch=base_branch(services.event)))
    if not lines and any(result.reused for result in report.results):
        return report  # they are in the store already
    if not lines:
        reason = "nothing was judged" if report.commit else "there is no commit: is this a git checkout?"
        problem = Problem(message=f"the results were not added to {title}: {reason}")
        return replace(report, warnings=(*report.warnings, problem))
    return _added(services, report, store, services.store, id_, lines)


def _added(
    services: Services, report: RunReport, store: StoreOptions, place: Store, id_: str, lines: list[bytes]
) -> RunReport:
    """The report after its lines were added to the store; what prevents it is a warning."""
    from skillgym_action.history.stored_lines import parsed_line

    try:
        for line in lines:  # one that cannot be read would make every later comparison inconclusive
            parsed_line(line, "this run")
        place.add(b"".join(lines), id_, services.clock.now())
    except InterruptedError as error:
        problem = Problem(message=f"the results were not added to {place.title}: {error.strerror}")
        return replace(report, cancelled=True, warnings=(*report.warnings, problem))
    except StoreError as error:
        return _not_added(services, report, store, error)
    services.observer.progress(terminal_line(f"results added to {place.title}{place.next_step}"))
    return report


def _not_added(services: Services, report: RunReport, store: StoreOptions, error: StoreError) -> RunReport:
    """The report, with a warning unless the store is only the default and the token may not write to it."""
    if store.optional and isinstance(error, StoreAccessError):
        services.observer.detail(terminal_line(f"results are not added to the store: {error}"))
        return report
    problem = Problem(message=f"the results were not added to the store: {error}", remedy=f"see {STORE_PAGE}")
    return replace(report, warnings=(*report.warnings, problem))


def with_first_run(options: Options, stored: StoredBaseline | None) -> Options:
    """The options, in which a run may be the first: one that begins the store has nothing to be compared with."""
    if stored is None or not (stored.writes and stored.compares):
        return options
    return replace(options, gate=replace(options.gate, baseline_optional=True))
