"""Stage: plan -> plan with the executions that a change touches, for ``--changed-only``.

What a case depends on is what its suite names, and what the configuration declares. A changed file that neither knows
selects all cases, and so does a changed configuration: a pull request must not be able to hide what it changes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError
from skillgym_action.model.limits import COMMIT_CHARACTERS
from skillgym_action.suites import FORMATS, format_named
from skillgym_action.text.escaping import terminal_line
from skillgym_action.text.words import counted
from skillgym_action.workspaces.repository import FETCH_BASE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from skillgym_action.history.pooling import BaselineKey
    from skillgym_action.history.reading import BaseHistory
    from skillgym_action.model.execution import CaseSelection, Execution, Plan, SelectedFor
    from skillgym_action.model.result import Result
    from skillgym_action.results.journal import Journal
    from skillgym_action.services import Services
    from skillgym_action.settings.changed_options import ChangedOptions
    from skillgym_action.workspaces.case_paths import CaseKey

UNTOUCHED = "the changes affect no case"


def select_changed(services: Services, plan: Plan, options: ChangedOptions | None) -> Plan:
    """The plan with its selection; without options as it is. Executions are left in it. Raises UsageError."""
    if options is None:
        return plan
    from skillgym_action.reports.wording.plan import selection_lines, selection_summary

    selection = _selection(services, plan, options)
    services.observer.progress(terminal_line(f"changed-only: {selection_summary(selection)}"))
    for line in selection_lines(selection):
        if options.verbose:
            services.observer.progress(terminal_line(line))
        else:
            services.observer.detail(line)
    return replace(plan, selection=selection)


def in_this_run(plan: Plan, *, with_store: bool) -> Plan:
    """The plan of a run. Executions that are not selected are in it if the store may have results of them."""
    if plan.selection is None or not with_store:
        return only_selected(plan)
    from skillgym_action.history.reused_results import may_be_reused

    return only_selected(plan, frozenset(one.index for one in plan.executions if may_be_reused(one)))


def only_selected(plan: Plan, also: frozenset[int] = frozenset()) -> Plan:
    """The plan without executions that are not selected, but with those of ``also``; with a reason if none is left."""
    selection = plan.selection
    if selection is None:
        return plan
    wanted = selection.selected | also
    executions = tuple(execution for execution in plan.executions if execution.index in wanted)
    if executions or plan.unrunnable or not plan.executions:
        return replace(plan, executions=executions)
    from skillgym_action.reports.wording.plan import left_out

    since = f" since {selection.base[:COMMIT_CHARACTERS]}" if selection.base else ""
    return replace(plan, executions=(), unchanged=f"{UNTOUCHED}{since}: {left_out(selection)}")


def reuse_untouched(
    services: Services,
    plan: Plan,
    wanted: Mapping[int, BaselineKey],
    options: ChangedOptions | None,
    known: tuple[BaseHistory | None, Journal],
) -> tuple[Plan, dict[int, Result]]:
    """The newest stored results of the executions that are not selected, by index; and the plan.

    ``known``: what the store has of the base, and the journal. What the store lacks runs, and its selection says so. So
    does an execution that has sessions in the journal, and one that a change of the base touches which is newer than
    the stored result.
    """
    selection, (history, journal) = plan.selection, known
    if selection is None or options is None:
        return plan, {}
    from skillgym_action.history.reused_results import UntouchedRule, reused_results

    begun = {index for index, sessions in journal.sessions.items() if sessions}
    rest = frozenset(one.index for one in plan.executions) - selection.selected
    rule = UntouchedRule(touched_since=_TouchedSince(services, plan, options, selection.base).of)
    found = reused_results(plan.executions, wanted, history, rest - begun, rule) if history and rest else {}
    found = _with_whole_workspaces(plan, found)
    unstored = rest.difference(found)
    if rest:
        runs = f"; {counted(len(unstored), 'execution')} without a stored result to run" if unstored else ""
        line = f"changed-only: {counted(len(found), 'result')} reused from earlier runs{runs}"
        services.observer.progress(terminal_line(line))
    return replace(plan, selection=replace(selection, unstored=frozenset(unstored))), found


class _TouchedSince:
    """Which executions the base has changed since an earlier commit of it; found out once for each commit."""

    def __init__(self, services: Services, plan: Plan, options: ChangedOptions, base: str | None) -> None:
        self._services, self._plan, self._options, self._base = services, plan, options, base
        self._selector: _Selector | None = None
        self._every = frozenset(execution.index for execution in plan.executions)
        self._known = {base: frozenset[int]()}

    def of(self, commit: str) -> frozenset[int]:
        """The executions that changes between the commit and the base touch; all if they cannot be found out."""
        if commit not in self._known:
            self._known[commit] = self._found(commit)
        return self._known[commit]

    def _found(self, commit: str) -> frozenset[int]:
        services, base = self._services, self._base
        if base is None:
            return self._every
        from skillgym_action.workspaces.repository.changed_files import files_between

        try:
            changed = files_between(services.repository.root, services.processes, commit, base)
        except InterruptedError:
            raise
        except OSError:
            return self._every
        places = self._options.not_of_checkout
        changed = frozenset(path for path in changed if not _is_below(path, services, places))
        self._selector = self._selector or _Selector(services, self._plan, self._options)
        return self._selector.selection(base, sorted(changed)).selected


def _with_whole_workspaces(plan: Plan, found: dict[int, Result]) -> dict[int, Result]:
    """Without those that share a workspace with an execution that runs: it would not find what they leave there."""
    shared = [one for one in plan.executions if (one.case.workspace or one.suite.workspace).mode == "shared"]
    running = {(one.suite.path, one.runner.id) for one in shared if one.index not in found}
    torn = {one.index for one in shared if (one.suite.path, one.runner.id) in running}
    return {index: result for index, result in found.items() if index not in torn}


def _selection(services: Services, plan: Plan, options: ChangedOptions) -> CaseSelection:
    from skillgym_action.model.execution import CaseSelection

    every = frozenset(execution.index for execution in plan.executions)
    base, note = _base(services, options)
    if base is None:
        return CaseSelection(selected=every, total=len(every), note=note)
    from skillgym_action.workspaces.repository.changed_files import changed_files

    try:
        changed = changed_files(services.repository.root, services.processes, base)
    except InterruptedError:
        raise
    except OSError as error:
        note = f"what has changed cannot be found out: {error.strerror or error}"
        return CaseSelection(selected=every, total=len(every), note=note)
    changed = frozenset(path for path in changed if not _is_below(path, services, options.not_of_checkout))
    if not changed and options.base is None and services.repository.commit() == base:
        note = "the checkout is the base branch itself, and nothing in it has changed"
        return CaseSelection(selected=every, total=len(every), base=base, note=note)
    return _Selector(services, plan, options).selection(base, sorted(changed))


def _base(services: Services, options: ChangedOptions) -> tuple[str | None, str | None]:
    """The id of the merge base, or why there is none. Raises UsageError if the user named a base without one."""
    if not services.repository.has_git:
        return None, "there is no git checkout to compare with"
    if options.in_job and options.base is None:
        return None, f"the event {options.event} has no base branch"
    from skillgym_action.workspaces.repository.changed_files import merge_base

    commit = merge_base(services.repository.root, services.processes, options.base)
    if commit is None and options.named:
        message = f"--base {options.named}: no such commit in the clone, or none before it in common with the checkout"
        raise UsageError(message, remedy=FETCH_BASE)
    return commit, None if commit else f"the base commit is not in the clone: {FETCH_BASE}"


def _is_below(path: str, services: Services, places: Iterable[Path]) -> bool:
    file = services.repository.root / path
    return any(file == place or file.is_relative_to(place) for place in places)


def _fits(path: str, globs: Iterable[str]) -> bool:
    from skillgym_action.system.files.globs import matches_path_or_folder

    return any(matches_path_or_folder(path, glob) for glob in globs)


class _Selector:
    """Finds the executions that a changed file touches."""

    def __init__(self, services: Services, plan: Plan, options: ChangedOptions) -> None:
        from skillgym_action.workspaces.case_paths import CasePaths

        self._services, self._plan, self._options = services, plan, options
        self._every = frozenset(execution.index for execution in plan.executions)
        self._cases = CasePaths(plan.suites, services.suites, services.repository.root)
        self._by_case: dict[CaseKey, set[int]] = {}
        for execution in plan.executions:
            self._by_case.setdefault((execution.suite.path, execution.case.id), set()).add(execution.index)
        self._by_path = self._of_agents(plan.executions)

    def selection(self, base: str, changed: Iterable[str]) -> CaseSelection:
        """The selection for changed files."""
        from skillgym_action.model.execution import CaseSelection, SelectingFile

        selected: frozenset[int] = frozenset()
        files = []
        for path in changed:
            reason, touched = self._touched(path)
            selected |= touched
            files.append(SelectingFile(path=path, reason=reason, executions=touched))
        return CaseSelection(selected=selected, total=len(self._every), base=base, files=tuple(files))

    def _touched(self, path: str) -> tuple[SelectedFor, frozenset[int]]:
        if whole := self._selects_all(path):
            return whole, self._every
        cases = self._cases.of(path)
        own = self._of_cases(cases) | self._of_runners(path)
        if entries := [one for one in self._options.inputs if _fits(path, one.files)]:
            globs = [glob for entry in entries for glob in entry.suites]
            if not all(map(self._fits_suite, globs)):
                return "not-mapped", self._every  # a mistake must not hide a change
            declared = {key for key in self._by_case if _fits(key[0], globs)}
            touched = own | self._of_cases(declared)
            return "declared" if touched else "nothing", touched
        if _is_below(path, self._services, self._options.neutral):
            return "input" if own else "nothing", own
        if cases or own:
            return "input", own | self._of_cases(self._cases.of_copies(path))
        return "not-mapped", self._every

    def _fits_suite(self, glob: str) -> bool:
        """Whether a pattern fits a suite of the plan; one that does not may mean a suite that is not in this run."""
        if not self._options.every_suite:
            return True
        from skillgym_action.system.files.globs import matches_path_or_folder

        return any(matches_path_or_folder(suite.path, glob) for suite in self._plan.suites)

    def _selects_all(self, path: str) -> SelectedFor | None:
        """Why a file selects all whatever suites say: it is a configuration, or a suite that is gone with its cases."""
        if self._is_configuration(path):
            return "configuration"
        file = self._services.repository.root / path
        is_gone = not (file.exists() or file.is_symlink())
        formats = {*FORMATS.own, *(suite.format for suite in self._plan.suites)}
        return "not-mapped" if is_gone and any(format_named(name).named(path) for name in formats) else None

    def _is_configuration(self, path: str) -> bool:
        from skillgym_action.settings.changed_options import CONFIGURATION_NAMES
        from skillgym_action.system.files.globs import matches

        return any(matches(path, name) for name in CONFIGURATION_NAMES) or _is_below(
            path, self._services, self._options.configuration
        )

    def _of_cases(self, cases: Iterable[CaseKey]) -> frozenset[int]:
        return frozenset(index for key in cases for index in self._by_case.get(key, ()))

    def _of_runners(self, path: str) -> frozenset[int]:
        from skillgym_action.workspaces.case_paths import parents

        return frozenset(index for above in parents(path) for index in self._by_path.get(above, ()))

    def _of_agents(self, executions: Iterable[Execution]) -> dict[str, set[int]]:
        """Files that the command lines and hooks of runners name, and the executions on these runners."""
        from skillgym_action.workspaces.case_paths import files_of_agent, files_of_hooks, paths_inside

        roots = dict.fromkeys((self._services.repository.root, self._services.suite_source.root))
        found: dict[str, set[int]] = {}
        of_runners: dict[int, list[str]] = {}
        for execution in executions:
            runner = execution.runner
            if id(runner) not in of_runners:
                folders = (self._services.suite_source.cwd, execution.suite.file.parent)
                files = (*files_of_agent(runner.agent, folders), *files_of_hooks(runner.hooks, folders[1]))
                of_runners[id(runner)] = [path for file in files for path in paths_inside(file, roots) if path]
            for path in of_runners[id(runner)]:
                found.setdefault(path, set()).add(execution.index)
        return found
