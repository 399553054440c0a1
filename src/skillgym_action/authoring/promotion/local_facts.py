"""The facts about a session of Claude Code or Codex on this machine: its own file, and the checkout's git objects."""

from __future__ import annotations

import re
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.authoring.promotion.claude_code import claude_code_session, is_of_claude_code
from skillgym_action.authoring.promotion.codex import codex_session, is_of_codex
from skillgym_action.authoring.promotion.files import (
    changed_files,
    changes_of,
    committed_files,
    files_changed_since,
    relative_path,
    tree_before,
)
from skillgym_action.authoring.promotion.local_session import TranscriptLines
from skillgym_action.authoring.promotion.session_facts import SessionFacts
from skillgym_action.model.errors import UsageError
from skillgym_action.model.limits import MAX_NAMED_PATHS
from skillgym_action.model.session import AgentConfig, Capture, Ending, Session
from skillgym_action.model.session_report import AgentRef, Command, RunnerRef, Transcript
from skillgym_action.sessions.session_reports import normalise
from skillgym_action.system.processes.outputs import OutputFile
from skillgym_action.text.escaping import path_key
from skillgym_action.workspaces.repository.changed_files import commit_named, last_commit_before

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.authoring.promotion.files import ChangedFiles
    from skillgym_action.authoring.promotion.local_session import LocalSession
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.services import Services

_FIRST_LINES = 50
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_WORKTREE = (
    "all differences between the commit and the present files count as changes of the session; remove others "
    "from the recording"
)
_WHAT = "a session's folder of a run, a run directory, or a transcript of Claude Code or Codex (a .jsonl file)"


def local_session(services: Services, file: Path, shown: str) -> LocalSession:
    """The session that a file of Claude Code or Codex describes. Raises UsageError."""
    try:
        with open(file, "rb", opener=services.repository.checkout.opener(file)) as opened:
            source = TranscriptLines(opened, shown)
            lines = iter(source)
            first = list(islice(lines, _FIRST_LINES))
            if is_of_codex(first):
                found = codex_session(chain(first, lines), source)
            elif is_of_claude_code(first):
                found = claude_code_session(chain(first, lines), source, _session("claude-code", "", "/workspace"))
            else:
                raise UsageError(f"{shown} is not a transcript of Claude Code or Codex", remedy=f"name {_WHAT}")
    except OSError as error:
        raise UsageError(f"{shown}: cannot be read: {error.strerror or error}", remedy=f"name {_WHAT}") from error
    if not found.prompts:
        raise UsageError(f"{shown}: no message of the user is in it", remedy="name the file of a session with a prompt")
    if not found.cwd.startswith("/"):
        raise UsageError(f"{shown}: it does not say which folder the session worked in")
    return found


def local_facts(
    services: Services, found: LocalSession, named_commit: str | None, *, worktree: bool = False
) -> SessionFacts:
    """The facts about a local session. ``named_commit``: what was checked out, as the user says.

    ``worktree``: what it changed is taken from the present files of the checkout. Raises UsageError.
    """
    notes = list(found.skipped[:MAX_NAMED_PATHS])
    if more := len(found.skipped) - len(notes):
        notes.append(f"{more} more lines of the transcript were skipped")
    below = _folder_in_checkout(services, found, named_commit)
    commit = _commit(services, found, named_commit, notes)
    report = _report(found)
    read = [path for path in (relative_path(one, found.cwd) for one in report.files.observed_reads) if path]
    edited = [path for path in (relative_path(edit.path, found.cwd) for edit in found.edits) if path]
    try:
        present = files_changed_since(services, commit, below) if worktree else ({}, [])
        used = {*read, *edited, *present[0], *present[1]}
        committed, about_files = committed_files(services, commit, below, used)
    except OSError as error:
        raise UsageError(f"the commit {commit[:12]} cannot be read: {error.strerror or error}") from error
    changes = changed_files(found.edits, found.cwd, committed)
    template = committed if worktree else tree_before(committed, changes)
    changed, deleted = present if worktree else changes_of(template, changes)
    notes += [*about_files, *((_WORKTREE,) if worktree else (*_change_notes(changes), *_unknowns(report)))]
    return SessionFacts(
        origin=f"a session of {found.agent}" + (f" {found.version}" if found.version else ""),
        prompt=found.prompts[0],
        report=report,
        template=template,
        changed=changed,
        deleted=tuple(deleted),
        turns=found.prompts[1:],
        commit=commit,
        notes=tuple(notes),
    )


def _folder_in_checkout(services: Services, found: LocalSession, named_commit: str | None) -> str:
    """The session's folder, relative to the checkout. Nothing but this checkout is ever read. Raises UsageError.

    A session in a folder that is not in this checkout is taken for one in another clone of it, if its commit is here.
    """
    root, cwd = services.repository.root, Path(found.cwd)
    if not services.repository.has_git:
        raise UsageError(
            f"{root} is not a git checkout", remedy="run promote in the checkout that the session worked in"
        )
    resolved = services.repository.checkout.under_root(cwd)
    if services.repository.checkout.contains(cwd):
        below = resolved.relative_to(root).as_posix()
        return "" if below == "." else below
    if named_commit is None and not (found.commit and commit_named(root, services.processes, _plain(found.commit))):
        raise UsageError(
            f"the session worked in {found.cwd}, which is not in this checkout, {root}",
            remedy="run promote in that checkout; for another clone of it, name the session's commit with --commit",
        )
    return ""


def _plain(commit: str) -> str:
    """The id of a commit; an id that no commit has for any other text, which git could take for something else."""
    return commit if _COMMIT.fullmatch(commit) else "0" * 40


def _commit(services: Services, found: LocalSession, named: str | None, notes: list[str]) -> str:
    """The id of the commit that was checked out when the session began. Raises UsageError."""
    root, processes = services.repository.root, services.processes
    if named is not None:
        if commit := commit_named(root, processes, named):
            return commit
        raise UsageError(f"--commit {named}: there is no such commit in this checkout")
    if found.commit:
        if commit := commit_named(root, processes, _plain(found.commit)):
            return commit
        raise UsageError(
            f"the commit {found.commit[:12]} of the session is not in this checkout",
            remedy="fetch it, or name another one with --commit",
        )
    dated = found.branch and found.began and _TIME.fullmatch(found.began)
    if dated and (commit := last_commit_before(root, processes, str(found.branch), str(found.began))):
        notes.append(
            f"the transcript does not name its commit: {commit[:12]} was the last one on {found.branch} before it "
            "began; if that is wrong, use --commit"
        )
        return commit
    raise UsageError(
        "the transcript does not say which commit was checked out",
        remedy="name it with --commit, such as --commit HEAD",
    )


def _session(agent: str, prompt: str, cwd: str) -> Session:
    folder = Path(cwd)
    return Session(
        agent=AgentConfig(type=agent),
        prompt=prompt,
        case_id="",
        key=("", "", "", ""),
        workspace=folder,
        home=Path("/nonexistent"),
        scratch=Path("/nonexistent"),
        timeout=1.0,
    )


def _report(found: LocalSession) -> SessionReport:
    """The session report, as a run would have made it."""
    transcript = Transcript(events=found.events, session_id=found.session_id, model=found.model, version=found.version)
    nothing = OutputFile(Path("/dev/null"))
    capture = Capture(ending=Ending.EXITED, exit_code=None, stdout=nothing, stderr=nothing, seconds=0.0)
    runner = RunnerRef(
        id=found.agent, path_key=path_key(found.agent), agent=AgentRef(type=found.agent, model=found.model)
    )
    session = _session(found.agent, found.prompts[0], found.cwd)
    return normalise(transcript, capture, session, runner, started_at=found.began, ended_at=None)


def _change_notes(changes: ChangedFiles) -> Iterable[str]:
    if changes.before:
        names = _listed(changes.before)
        yield f"before the session these files differed from the commit; the template has their content: {names}"
    if changes.unknown:
        yield f"edits that do not fit the files, so they are not in the recording: {_listed(changes.unknown)}"
    if changes.outside:
        names = _listed(PurePosixPath(path).name for path in changes.outside)
        yield f"edits outside of the session's folder were left out: {names}"


def _unknowns(report: SessionReport) -> Iterable[str]:
    """What a transcript does not say."""
    yield "uncommitted files from before the session are not in a transcript, unless it edited them"
    if commands := sum(isinstance(event, Command) for event in report.events):
        words = "1 shell command" if commands == 1 else f"{commands} shell commands"
        yield (
            f"what {words} wrote to files is not in a transcript, so not in the recording; if the files are still as "
            "the session left them, take them from there with --worktree"
        )


def _listed(paths: Iterable[str]) -> str:
    names = sorted(set(paths))
    more = len(names) - MAX_NAMED_PATHS
    return ", ".join(names[:MAX_NAMED_PATHS]) + (f" and {more} more" if more > 0 else "")
