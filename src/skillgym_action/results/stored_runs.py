"""Stored runs: found (also the last one), read and validated. They may be untrusted: everything is checked."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from dataclasses import field, replace
from errno import ELOOP, ENAMETOOLONG
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.adaptive import CONTROL_ARM
from skillgym_action.model.errors import UsageError
from skillgym_action.model.limits import MAX_QUOTED_VALUE_CHARACTERS, MAX_RESULTS_BYTES
from skillgym_action.model.records import record
from skillgym_action.model.runner import Runner
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.verdicts import ASSERTIONS_PASSED, GREEN, JUDGED
from skillgym_action.results.adaptive_schema import AdaptiveEntry
from skillgym_action.results.journal_file import JOURNAL
from skillgym_action.results.mapping import read
from skillgym_action.results.results_reader import WHAT_A_RUN_IS, read_results, restored
from skillgym_action.results.run_files import is_folder, matching, open_file
from skillgym_action.results.run_schema import LimitsEntry
from skillgym_action.system.files.checkout import Checkout
from skillgym_action.system.files.globs import ANY_DEPTH, is_pattern
from skillgym_action.text.documents.user_files import PLAIN_PATH
from skillgym_action.text.escaping import path_key

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from skillgym_action.model.adaptive import Adaptive
    from skillgym_action.model.report import LimitSettings, RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.results.results_reader import StoredResults, SuiteRows

MAX_MATCHED_RUNS = 2_000  # by one pattern
RESULTS = "results.json"
SESSION_FOLDER = re.compile(r"repeat-\d+")


def unfinished_run(directory: Path) -> UsageError:
    """The error for a run that was killed before it wrote results."""
    return UsageError(f"{directory}: the run did not finish: it has no {RESULTS}", remedy="continue it with --resume")


SessionOutcome = tuple[str, str, str | None, str | None, int, int, bool]
"""Suite, case, runner, arm, repetition, number in it, and whether the judged session passed."""


def outcomes_of(results: Iterable[Result]) -> frozenset[SessionOutcome]:
    """What became of the judged sessions of results."""
    return frozenset(
        (
            result.suite.path,
            result.case_id,
            result.runner.id if result.runner else None,
            result.arm,
            one.repetition,
            one.session,
            one.status in ASSERTIONS_PASSED,
        )
        for result in results
        for one in result.attempts
        if one.status in JUDGED
    )


class NoSuchRunError(UsageError):
    """A name of a run, or a pattern, that nothing in the file system has."""


@record
class StoredRun:
    """Which cases ran, as (suite path, case id); runners that play their sessions.

    ``repetitions``: of each execution with sessions, by suite path, case id and runner id. ``adaptive``,
    ``limits``: see ``RunReport``. ``arms``: of suites with arms, by path, the names of their
    arms, the deciding one first. ``with_sessions``: the executions by the same three, if those of others are reused
    from earlier runs, whose sessions the run does not have; None: it has all.
    """

    cases: frozenset[tuple[str, str]]
    with_sessions: frozenset[tuple[str, str, str]] | None
    runners: tuple[Runner, ...]
    repetitions: Mapping[tuple[str, str, str], int]
    adaptive: Adaptive | None = None
    outcomes: frozenset[SessionOutcome] = frozenset()
    limits: LimitSettings | None = None
    arms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def stored_run(directory: Path) -> StoredRun:
    """A run directory, as far as judging it again needs it. Raises UsageError.

    It may come from an untrusted run, hence everything in it is checked.
    """
    _refuse_links_out(directory, Path.cwd())
    results, _ = _results(_Named(folder=directory, parts=(RESULTS,), shown=str(directory / RESULTS)))
    if results is None:
        raise ValueError("a file that is read for the first time has a content")
    sessions = str(directory.resolve())
    runners = tuple(
        Runner(
            id=runner.id,
            path_key=path_key(runner.id),
            agent=AgentConfig(type="replay", model=runner.model, sessions=sessions),
        )
        for runner in results.head.runners
    )
    limits, adaptive = results.head.run.limits, results.head.run.adaptive
    every = [result for one in results.suites for result in (*one.results, *one.quarantined)]
    found = [result for result in every if result.reused is None]
    if every and not found:
        message = f"{directory}: all of its results are reused from earlier runs: there is no session to judge again"
        raise UsageError(message, remedy="name the run that they are from")
    ran = {(result.suite.path, result.case_id, result.runner.id): result for result in found if result.runner}
    return StoredRun(
        with_sessions=frozenset(ran) if len(found) < len(every) else None,
        cases=frozenset((result.suite.path, result.case_id) for result in every),
        runners=runners,
        repetitions={
            key: max(attempt.repetition for attempt in result.attempts)
            for key, result in ran.items()
            if result.attempts
        },
        adaptive=read(AdaptiveEntry, adaptive) if adaptive else None,
        outcomes=outcomes_of(row for one in results.suites for row in one.results) if adaptive else frozenset(),
        limits=read(LimitsEntry, limits) if limits else None,
        arms={one.suite.path: names for one in results.suites if (names := _arms(one))},
    )


def _arms(stored: SuiteRows) -> tuple[str, ...]:
    rows = (*stored.results, *stored.other_arms, *stored.quarantined)
    return tuple(dict.fromkeys(row.arm for row in rows if row.arm not in (None, CONTROL_ARM)))


def stored_reports(
    runs: Iterable[str], cwd: Path, *, confined: bool = False, unfinished: list[Path] | None = None
) -> tuple[tuple[Path, RunReport], ...]:
    """Every run that is named, once, with the name of its file. Raises UsageError.

    ``confined``: a name below ``cwd`` may have no link in any component; else only what is below the named folder.
    ``unfinished`` gets the run directories of runs that were killed: they have a journal and no results, which is an
    error without it.

    They may come from untrusted runs, hence everything in them is checked.
    """
    found: dict[tuple[int, int], tuple[Path, RunReport]] = {}
    values: dict[object, object] = {}
    for run in runs:
        for named in _found_files(run, cwd, confined=confined):
            if unfinished is not None and _is_unfinished(named):
                unfinished.append(Path(named.shown).parent)
                continue
            results, identity = _results(named, found, values)
            if results is not None:
                found[identity] = (Path(named.shown), restored(results, Path(named.shown)))
    return tuple(found.values())


def baseline(path: Path, cwd: Path) -> RunReport | None:
    """The run to compare with; None where none is stored yet. Raises UsageError for one that cannot be used."""
    _refuse_links_out(path, cwd)
    try:
        folder, parts = (path, (RESULTS,)) if path.is_dir() else (path.parent, (path.name,))
        named = _Named(folder=folder, parts=parts, shown=_shown(folder.joinpath(*parts), cwd))
        if not folder.is_dir() or not _is_there(named):
            return None
    except OSError as error:
        raise _unusable(_shown(path, cwd), error) from error
    results, _ = _results(named)
    return restored(results, Path(named.shown)) if results else None


# --- which files ------------------------------------------------------------------------------------


@record
class _Named:
    """A results file: ``parts`` below a trusted folder; ``shown`` is how messages name it."""

    folder: Path
    parts: tuple[str, ...]
    shown: str


def _found_files(run: str, cwd: Path, *, confined: bool) -> list[_Named]:
    """The results files of a name. Raises UsageError, also for a name that no file can have, such as a long one."""
    try:
        return list(_files(run, cwd, confined=confined))
    except OSError as error:
        raise _unusable(run, error) from error


def _files(run: str, cwd: Path, *, confined: bool) -> Iterator[_Named]:
    """The results files of a directory, a file or a pattern."""
    target = cwd / run
    written = target.relative_to(cwd) if target.is_relative_to(cwd) else target
    pattern = any(map(is_pattern, written.parts))
    if confined and written != target and written.parts and ".." not in written.parts:
        folder, parts = cwd, written.parts
    elif pattern:
        before = tuple(takewhile(lambda part: not is_pattern(part), written.parts))
        folder, parts = cwd.joinpath(*before), written.parts[len(before) :]
    elif target.is_dir():
        _refuse_links_out(target, cwd)
        yield _Named(folder=target, parts=(RESULTS,), shown=_shown(target / RESULTS, cwd))
        return
    else:
        folder, parts = target.parent, (target.name,)
    if parts[-1] == ANY_DEPTH:
        remedy = "write runs/* for all run directories in the folder runs"
        raise UsageError(f"{run}: runs cannot be named by a pattern that ends with {ANY_DEPTH}", remedy=remedy)
    found = list(_matches(folder, parts, run, cwd))
    if pattern:
        found += _with_this_name(folder, parts, cwd)
    if not found:
        raise NoSuchRunError(f"no such run: {run}", remedy=f"{WHAT_A_RUN_IS}, or a pattern that matches such paths")
    if len(found) > MAX_MATCHED_RUNS:
        raise UsageError(f"{run}: matches more than {MAX_MATCHED_RUNS:,} runs", remedy="name fewer")
    yield from found


def _with_this_name(folder: Path, parts: tuple[str, ...], cwd: Path) -> Iterator[_Named]:
    """The run whose path is written like a pattern, such as ``runs/model[1]``, if there is one."""
    with suppress(OSError):
        inner = (*parts, RESULTS) if is_folder(folder, parts) else parts
        if inner != parts or parts[-1].endswith(".json"):
            yield _Named(folder=folder, parts=inner, shown=_shown(folder.joinpath(*inner), cwd))


def _matches(folder: Path, parts: tuple[str, ...], run: str, cwd: Path) -> Iterator[_Named]:
    """What a name or a pattern leads to. Of a pattern only folders and files in JSON count."""
    if not folder.is_dir():
        return
    pattern = any(map(is_pattern, parts))
    try:
        for found in matching(folder, parts):
            inner = (*found, RESULTS) if found[-1] != RESULTS and is_folder(folder, found) else found
            is_run = inner != found or found[-1].endswith(".json")
            if not pattern or (is_run and not _is_of_session(folder.joinpath(*inner))):
                yield _Named(folder=folder, parts=inner, shown=_shown(folder.joinpath(*inner), cwd))
    except OSError as error:
        place = Path(error.filename or "")
        raise _unusable(_shown(place, cwd) if place.is_absolute() else run, error) from error


def _is_of_session(file: Path) -> bool:
    """Whether a file is in the folder of a session of a run, where agents may have written it."""
    return any(
        SESSION_FOLDER.fullmatch(folder.name)
        and any(os.path.lexists(above / name) for above in folder.parents for name in (RESULTS, JOURNAL))
        for folder in file.parents
    )


def _unusable(shown: str, error: OSError) -> UsageError:
    remedy = "put a copy there in place of the link" if error.errno == ELOOP else WHAT_A_RUN_IS
    if error.errno == ENAMETOOLONG:
        shown = f"{shown[:MAX_QUOTED_VALUE_CHARACTERS]}…"
    return UsageError(f"{shown}: {error.strerror}", remedy=remedy)


def _refuse_links_out(path: Path, cwd: Path) -> None:
    """A commit can put a link at any name below ``cwd``; one that leads out of there is not followed."""
    checkout = Checkout(cwd)
    if checkout.contains(cwd / path) and (refused := checkout.refusal(cwd / path, follow=True)):
        raise UsageError(f"{_shown(path, cwd)}: {refused}", remedy=PLAIN_PATH)


def _is_unfinished(named: _Named) -> bool:
    """Whether a run was killed before it wrote results: its run directory has nothing but a journal."""
    journal = replace(named, parts=(*named.parts[:-1], JOURNAL))
    return named.parts[-1] == RESULTS and not _is_there(named) and _is_there(journal)


def _is_there(named: _Named) -> bool:
    """Whether there is anything of that name, also a link."""
    try:
        return bool(matching(named.folder, named.parts))
    except OSError:
        return True


def _shown(path: Path, cwd: Path) -> str:
    return str(path.relative_to(cwd) if path.is_relative_to(cwd) else path)


# --- what is in them --------------------------------------------------------------------------------


def _results(
    named: _Named, known: Container[tuple[int, int]] = (), values: dict[object, object] | None = None
) -> tuple[StoredResults | None, tuple[int, int]]:
    """The content of a results file, and which file it is; None in place of the content of a ``known`` one.

    ``values``: of the files that were read before; see ``read_results``.
    Raises UsageError with the first few problems.
    """
    try:
        with open_file(named.folder, named.parts, MAX_RESULTS_BYTES) as (file, identity):
            return None if identity in known else read_results(file, Path(named.shown), values), identity
    except OSError as error:
        if _is_unfinished(named):
            raise unfinished_run(Path(named.shown).parent) from error
        raise _unusable(named.shown, error) from error


def last_run(folder: Path) -> Path | None:
    """The run directory below ``folder`` whose results were written last; None if there is none. Links do not count."""
    return next(iter(last_runs(folder)), None)


def last_runs(folder: Path) -> list[Path]:
    """The run directories below ``folder``, the one whose results were written last first. Links do not count."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    timed = ((results_time(folder / name), name) for name in names)
    return [
        folder / name for _, name in sorted(((time, name) for time, name in timed if time is not None), reverse=True)
    ]


def results_time(directory: Path) -> int | None:
    """When the results in a run directory were written, in ns since the epoch; None if there are none."""
    try:
        if not stat.S_ISDIR(os.lstat(directory).st_mode):
            return None
        results = os.lstat(directory / RESULTS)
    except OSError:
        return None
    return results.st_mtime_ns if stat.S_ISREG(results.st_mode) else None


def failed_executions(report: RunReport) -> frozenset[tuple[str, str, str]]:
    """Suite path, case id and runner id of executions that were not green. Those in quarantine decided nothing.

    For an invalid case the runner is ``*``; for an invalid suite, case and runner are.
    """
    return frozenset(
        (result.suite.path, result.case_id, result.runner.id)
        if result.runner
        else (result.suite.path, "*" if result.case_id == "(suite)" else result.case_id, "*")
        for result in report.results
        if result.status not in GREEN
    )


def failed_in_quarantine(report: RunReport) -> int:
    """How many executions in quarantine were not green."""
    return sum(result.status not in GREEN for result in report.quarantined)
