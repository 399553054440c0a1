"""The facts about a session of a stored run: its artifacts, the results of the run, and its suite in the checkout."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.authoring.promotion.files import committed_files, folder_tree
from skillgym_action.authoring.promotion.session_facts import OriginalCase, SessionFacts
from skillgym_action.model.errors import SuiteError, UsageError
from skillgym_action.model.json_codec import from_json
from skillgym_action.model.limits import (
    MAX_ARTIFACT_CONTAINERS,
    MAX_ARTIFACT_MEMBERS,
    MAX_ARTIFACT_VALUES,
    MAX_NAMED_PATHS,
    MAX_SESSION_REPORT_BYTES,
)
from skillgym_action.model.records import record
from skillgym_action.model.session import PARTIAL_REPORT, REPORT
from skillgym_action.model.session_report import Command, SessionReport
from skillgym_action.model.verdicts import GREEN
from skillgym_action.results.run_directory import CHANGES
from skillgym_action.results.run_files import read_file
from skillgym_action.results.stored_runs import RESULTS, stored_reports
from skillgym_action.text.documents.documents import read_document
from skillgym_action.text.documents.json_text import Extent, refuse_large
from skillgym_action.text.documents.located_values import NotationError
from skillgym_action.workspaces.repository.suite_source import template_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillgym_action.authoring.promotion.files import FileTree
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Attempt, Result
    from skillgym_action.model.suite import BenchmarkSuite, WorkspaceSpec
    from skillgym_action.services import Services

_EXTENT = Extent(containers=MAX_ARTIFACT_CONTAINERS, values=MAX_ARTIFACT_VALUES, members=MAX_ARTIFACT_MEMBERS)
_LEVELS = 6  # from the folder of a session up to its run directory, retries and arms included
_KEPT_SETTINGS = ("budget", "timeout", "model", "tags", "runners")


@record
class StoredSession:
    """A session of a run: its run directory, its result, and which attempt of it."""

    run: Path
    report: RunReport
    result: Result
    attempt: Attempt

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.attempt.directory.split("/"))


def stored_session(named: Path, cwd: Path, case: str | None, runner: str | None) -> StoredSession:
    """The session at a folder of artifacts, or the one that is meant in a run directory. Raises UsageError."""
    folder = Path(os.path.normpath(cwd / named))
    above = (folder, *list(folder.parents)[:_LEVELS])
    run = next((one for one in above if (one / RESULTS).is_file()), None)
    if run is None:
        raise UsageError(
            f"{named}: no {RESULTS} is there, nor in the folders above it",
            remedy="name a session's folder in a run directory, or the run directory",
        )
    report = stored_reports([str(run)], cwd)[0][1]
    directory = folder.relative_to(run).as_posix()
    if directory != ".":
        for result in report.results:
            for attempt in result.attempts:
                if attempt.directory == directory:
                    return StoredSession(run=run, report=report, result=result, attempt=attempt)
        raise UsageError(f"{named} is not a session of the run", remedy=f"the sessions are: {_sessions(report, None)}")
    result = _selected(report, named, case, runner)
    red = [attempt for attempt in result.attempts if attempt.status not in GREEN]
    return StoredSession(run=run, report=report, result=result, attempt=[*result.attempts, *red][-1])


def _selected(report: RunReport, named: Path, case: str | None, runner: str | None) -> Result:
    """The result of the case on the runner; without both, the only one that is not green. Raises UsageError."""
    found = [
        result
        for result in report.results
        if result.attempts
        and case in (None, result.case_id)
        and runner in (None, result.runner.id if result.runner else None)
        and (case is not None or result.status not in GREEN)
    ]
    if len(found) == 1:
        return found[0]
    nothing = "no session of the run failed" if case is None else "no session fits"
    what = f"{len(found)} sessions fit" if found else nothing
    listed = _sessions(report, found or None)
    raise UsageError(f"{named}: {what}", remedy=f"choose with --case and --runner, or name one of: {listed}")


def _sessions(report: RunReport, among: list[Result] | None) -> str:
    results = report.results if among is None else among
    folders = [result.attempts[-1].directory for result in results if result.attempts]
    more = len(folders) - MAX_NAMED_PATHS
    return ", ".join(folders[:MAX_NAMED_PATHS]) + (f" and {more} more" if more > 0 else "") or "none"


def stored_facts(services: Services, stored: StoredSession, suite: BenchmarkSuite | None) -> SessionFacts:
    """The facts about a stored session; ``suite``: its suite as the checkout has it now. Raises UsageError."""
    result = stored.result
    if suite is None:
        commit = f", {stored.report.commit[:12]}" if stored.report.commit else ""
        raise UsageError(
            f"{result.suite.path} cannot be loaded from this checkout: the files of the session are unknown",
            remedy=f"check out the commit of the run{commit}",
        )
    notes: list[str] = []
    report = _session_report(stored)
    changed, deleted = _changes(stored, notes)
    case, spec = _original(services, stored, suite, notes)
    used = {*changed, *deleted, *_read_paths(report)}
    template = _template(services, stored, suite, spec, used, notes)
    exchanges = report.exchanges or ()
    runner = result.runner.id if result.runner else "?"
    return SessionFacts(
        origin=f"{stored.attempt.directory} of {stored.run.name}: case {result.case_id} on {runner}",
        prompt=exchanges[0].prompt if exchanges else report.prompt,
        report=report,
        template=template,
        changed=changed,
        deleted=tuple(path for path in deleted if path in template),
        turns=tuple(exchange.prompt for exchange in exchanges[1:]),
        status=stored.attempt.status.value,
        commit=stored.report.commit,
        case=case,
        notes=tuple(notes),
    )


def _json(stored: StoredSession, name: str) -> Mapping[str, object] | None:
    """An artifact of the session; None if there is none. Raises UsageError for one that cannot be read."""
    shown = f"{stored.run}/{stored.attempt.directory}/{name}"
    try:
        content = read_file(stored.run, (*stored.parts, name), MAX_SESSION_REPORT_BYTES).data
        refuse_large(content, _EXTENT)
        value = json.loads(content)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{shown}: {error.strerror}") from error
    except NotationError as error:
        raise UsageError(f"{shown}: {error.message}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{shown}: not JSON that a run writes") from error
    if not isinstance(value, dict):
        raise UsageError(f"{shown}: must be an object")
    return value


def _session_report(stored: StoredSession) -> SessionReport:
    value = _json(stored, REPORT) or _json(stored, PARTIAL_REPORT)
    shown = f"{stored.run}/{stored.attempt.directory}"
    if value is None:
        raise UsageError(
            f"{shown}: the session has no report.json: its agent did not run", remedy="name another session"
        )
    try:
        report = from_json(SessionReport, value)
        wrong = [type(one).__name__ for one in _texts(report) if not isinstance(one, str)]
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UsageError(f"{shown}/report.json: not a session report: {error}") from error
    if wrong:
        raise UsageError(f"{shown}/report.json: not a session report: a text is of type {wrong[0]}")
    return report


def _texts(report: SessionReport) -> Iterator[object]:
    """What has to be text in a report, which is read without checking types."""
    for part in (report, *(report.exchanges or ())):
        yield from (part.prompt, part.cwd, part.model or "", part.runner.path_key)
        yield from part.files.observed_reads
        yield from (found.skill for found in part.detected_skills)
        yield from (event.command for event in part.events if isinstance(event, Command))


def _changes(stored: StoredSession, notes: list[str]) -> tuple[FileTree, list[str]]:
    """The files that the session created or changed, and the paths that it deleted. Raises UsageError."""
    summary = _json(stored, "workspace.json") or {}
    if summary.get("complete", True) is not True:
        notes.append("the run did not store all files that the session changed: the recording cannot be played")
    deleted = summary.get("deleted", [])
    try:
        changed, left_out = folder_tree(stored.run.joinpath(*stored.parts, CHANGES), None, "what the session changed")
    except OSError as error:
        raise UsageError(f"{stored.run}/{stored.attempt.directory}/{CHANGES}: {error.strerror}") from error
    if left_out:
        notes.append(
            f"links that lead out of the workspace were left out: {', '.join(sorted(left_out)[:MAX_NAMED_PATHS])}"
        )
    return changed, [path for path in deleted if isinstance(path, str)] if isinstance(deleted, list) else []


def _read_paths(report: SessionReport) -> list[str]:
    prefix = f"{report.cwd.rstrip('/')}/"
    return [path.removeprefix(prefix) for path in report.files.observed_reads if path.startswith(prefix)]


# --- its case ---------------------------------------------------------------------------------------


def _original(
    services: Services, stored: StoredSession, suite: BenchmarkSuite, notes: list[str]
) -> tuple[OriginalCase, WorkspaceSpec]:
    """The case of the session, and the workspace that it has in the checkout."""
    result = stored.result
    failed = tuple((one.assertion, one.explanation) for one in result.judgement.outcomes if one.passed is False)
    file = services.suites.root / result.suite.path
    case = OriginalCase(id=result.case_id, path=result.suite.path, file=file, format=result.suite.format, failed=failed)
    found = next((one for one in suite.cases if one.id == result.case_id), None)
    if found is None:
        notes.append(
            f"{result.suite.path} has no such case in the checkout any more: none of its assertions was copied"
        )
        return case, suite.workspace
    if result.suite.digest and suite.digest != result.suite.digest:
        notes.append(f"{suite.path} has changed since the run: the case was copied from its present version")
    spec = found.workspace or suite.workspace
    if spec.hooks != type(spec)().hooks:
        notes.append("the hooks of the suite were not copied: x-bench has only a bootstrap command")
    if spec.skills:
        notes.append("the skill under test is not part of an x-bench suite: it is not installed for the new case")
    if suite.format != "x-bench":
        notes.append(f"the assertions of the case are those of a {suite.format} suite, not of x-bench: none was copied")
        if spec.bootstrap:
            notes.append("the bootstrap command of the suite was not copied")
        return case, spec
    return _with_sections(case, services, notes), spec


def _with_sections(case: OriginalCase, services: Services, notes: list[str]) -> OriginalCase:
    """The case with what its x-bench file says."""
    with open(case.file, "rb", opener=services.suites.checkout.opener(case.file)) as opened:
        text = opened.read().decode("utf-8-sig")
    value = read_document(text, path=case.path, kind="json", error=SuiteError).value
    suite = value if isinstance(value, dict) else {}
    section = next(one for one in suite["cases"] if isinstance(one, dict) and one.get("id") == case.id)
    workspace, defaults = suite.get("workspace") or {}, suite.get("defaults") or {}
    settings = {
        key: wanted
        for key in _KEPT_SETTINGS
        if (wanted := section.get(key) or defaults.get(key) or suite.get(key)) is not None
    }
    bootstrap = workspace.get("bootstrap")
    if isinstance(bootstrap, dict) and any(
        str(word).startswith(("./", "../")) for word in (bootstrap.get("command"), *bootstrap.get("args", ()))
    ):
        notes.append("the bootstrap names files beside its suite: correct their paths in the new one")
    return OriginalCase(
        id=case.id,
        path=case.path,
        file=case.file,
        format=case.format,
        expect=tuple(section["expect"]),
        settings=settings,
        bootstrap=bootstrap,
        failed=case.failed,
    )


# --- the files before it ----------------------------------------------------------------------------


def _template(
    services: Services,
    stored: StoredSession,
    suite: BenchmarkSuite,
    spec: WorkspaceSpec,
    used: set[str],
    notes: list[str],
) -> FileTree:
    """The files of the workspace before the session. Raises UsageError."""
    root = services.suites.root
    if spec.source == "empty":
        return _with_input_files({}, spec, notes)
    template = spec.template if spec.source == "template" else None
    is_current = template and template_digest(suite, services.suites) == stored.result.suite.template_digest
    if template and is_current:
        return _with_input_files(_present(services, template, used, notes), spec, notes)
    below = template.relative_to(root).as_posix() if template and template.is_relative_to(root) else ""
    without = [] if template else [stored.result.suite.path, *_inside(stored.run, root)]
    if stored.report.commit:
        try:
            tree, more = committed_files(services, stored.report.commit, below, used, without)
        except OSError:
            notes.append(f"the commit {stored.report.commit[:12]} of the run is not in this checkout")
        else:
            if tree or not template:
                notes += more
                notes.append(f"the template is as of commit {stored.report.commit[:12]}, which the run was made on")
                return _with_input_files(tree, spec, notes)
    what = f"the template {below}" if template else "the checkout"
    notes.append(f"{what} may have changed since the run: the files are as they are now")
    return _with_input_files(_present(services, template or root, used, notes, without), spec, notes)


def _present(
    services: Services, folder: Path, used: set[str], notes: list[str], without: list[str] | None = None
) -> FileTree:
    """The files below a folder of the checkout that git does not ignore. Raises UsageError."""
    root = services.suites.root
    prefix = f"{folder.relative_to(root).as_posix()}/" if folder != root and folder.is_relative_to(root) else ""
    paths = [
        path.removeprefix(prefix) if prefix else os.path.relpath(root / path, folder)
        for path in services.suites.files(folder)
    ]
    hidden = tuple(without or ())
    paths = [path for path in paths if not any(path == one or path.startswith(f"{one}/") for one in hidden)]
    try:
        tree, left_out = folder_tree(folder, paths, f"{prefix or 'the checkout'}")
    except OSError as error:
        raise UsageError(f"{folder}: cannot be read: {error.strerror}") from error
    except UsageError:
        notes.append("there are too many files: the template has only those that the session read or changed")
        tree, left_out = folder_tree(folder, [path for path in paths if path in used], "what the session used")
    if left_out:
        notes.append(f"not in the template: {', '.join(left_out[:MAX_NAMED_PATHS])}")
    return tree


def _inside(path: Path, root: Path) -> list[str]:
    return [path.relative_to(root).as_posix()] if path.is_relative_to(root) and path != root else []


def _with_input_files(tree: FileTree, spec: WorkspaceSpec, notes: list[str]) -> FileTree:
    if spec.files:
        names = ", ".join(file.path for file in spec.files[:MAX_NAMED_PATHS])
        notes.append(f"the suite copies files into workspaces; add them to the template: {names}")
    return tree
