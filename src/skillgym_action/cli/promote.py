"""The command ``promote``: a case of a session, with its template, drafted expectations, and a recording."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action import pipeline, wiring
from skillgym_action.cli.run import relative_path
from skillgym_action.cli.terminal import terminal_for
from skillgym_action.documents.suite_values import UNUSABLE
from skillgym_action.documents.user_files import read_bytes
from skillgym_action.formats.xbench_expectations import GrammarError, parse_text
from skillgym_action.limits import MAX_CASE_ID_CHARACTERS
from skillgym_action.model.errors import SuiteError, UsageError
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.promotion.committed_files import folder_tree
from skillgym_action.promotion.file_trees import same_content
from skillgym_action.promotion.local_facts import local_facts, local_session
from skillgym_action.promotion.promoted_files import PromotedFiles
from skillgym_action.promotion.promotion import id_of, promoted, recording_path
from skillgym_action.promotion.stored_facts import stored_facts, stored_session
from skillgym_action.promotion.suite_text import new_suite, refuse_other_cases, with_case
from skillgym_action.reporters.wording import counted
from skillgym_action.repository.reference_solutions import template_folder
from skillgym_action.settings import resolve
from skillgym_action.settings.engine_options import LOCAL
from skillgym_action.text.escaping import path_key, terminal_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.promotion.promotion import Promotion
    from skillgym_action.promotion.session_facts import SessionFacts
    from skillgym_action.promotion.stored_facts import StoredSession
    from skillgym_action.services import Services
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.options import Options, Settings

FOLDER = "promoted"
ENDING = ".bench.json"
LAST_WORD = (
    "read all of it before you commit it: what has the form of a key or of a home folder was replaced, other private "
    "text was not"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PromoteRequest:
    """What the user asked for. ``session``: a session's folder, a run directory or a transcript.

    ``to``: the suite file; ``case``, ``runner``: of the session in a run directory; ``expect``: expectations to add;
    ``commit``: what was checked out when a local session began; ``worktree``: its changes are the present files.
    """

    session: Path
    to: str | None = None
    case_id: str | None = None
    case: str | None = None
    runner: str | None = None
    commit: str | None = None
    expect: tuple[str, ...] = ()
    worktree: bool = False
    force: bool = False
    check: bool = True


def promote_session(request: PromoteRequest, settings: Settings, context: LaunchContext) -> int:
    """Write the case, check it with the recorded session, and say what to look at; the exit code.

    Raises UsageError, ConfigError, SuiteError, OutputError.
    """
    _refuse_wrong(request, context)
    config = wiring.configuration(settings, context)
    here = settings.model_copy(update={"engine": LOCAL})
    options = resolve.options(here, config, context, runners=1)
    terminal = terminal_for(settings, context)
    with wiring.services_without_run(context, terminal, settings.agent_user) as services:
        facts = _facts(services, request, options, context)
        home = context.environment.get("HOME", "")
        files, promotion = _planned(services, request, facts, home, options)
        files.write(context.checkout, force=request.force)
    for line in _summary(request, files, promotion, facts):
        print(context.redactor.text(terminal_line(line)))  # noqa: T201
    if not request.check:
        print(f"not checked: {LAST_WORD}")  # noqa: T201
        return ExitCode.PASSED
    from skillgym_action.cli.promotion_check import check_promotion

    code, lines = check_promotion(files, promotion, facts, options, context)
    for line in (*lines, LAST_WORD):
        print(context.redactor.text(terminal_line(line)))  # noqa: T201
    return code


def _refuse_wrong(request: PromoteRequest, context: LaunchContext) -> None:
    """Raise UsageError for an expectation or an id that the suite must not have."""
    for text in request.expect:
        try:
            parse_text(text)
        except GrammarError as error:
            raise UsageError(f"--expect {text}: {error.message}", remedy=error.remedy) from error
    case_id = request.case_id or "any"
    if not case_id.strip() or len(case_id) > MAX_CASE_ID_CHARACTERS or UNUSABLE.search(case_id):
        raise UsageError(f"--id: must be a text of at most {MAX_CASE_ID_CHARACTERS:,} characters in UTF-8")
    if any(map(UNUSABLE.search, request.expect)):
        raise UsageError("--expect: must be a text in UTF-8")
    for option, texts in (("--expect", request.expect), ("--id", (case_id,))):
        if any(context.redactor.text(text) != text for text in texts):
            raise UsageError(f"{option} has what looks like a key, or the value of a secret", remedy="leave it out")


# --- the session ------------------------------------------------------------------------------------


def _facts(services: Services, request: PromoteRequest, options: Options, context: LaunchContext) -> SessionFacts:
    """What is known of the session. Raises UsageError."""
    path = context.cwd / request.session
    if path.is_dir():
        context.checkout.refuse(path, "the folder of the session")
        if request.commit is not None or request.worktree:
            option = "--worktree: a run says itself what its session changed"
            option = option if request.worktree else "--commit: a run says itself which commit it was made on"
            raise UsageError(option, remedy="leave it out")
        stored = stored_session(request.session, context.cwd, request.case, request.runner)
        return stored_facts(services, stored, _suite_of(services, stored, options))
    if request.case is not None or request.runner is not None:
        raise UsageError("--case and --runner choose a session of a run directory, not of a transcript")
    found = local_session(services, path, str(request.session))
    return local_facts(services, found, request.commit, worktree=request.worktree)


def _suite_of(services: Services, stored: StoredSession, options: Options) -> BenchmarkSuite | None:
    """The suite of a stored session as the checkout has it; None if it is not there any more, or cannot be loaded."""
    path, suites = stored.result.suite.path, services.suites
    if Path(path).is_absolute() or not suites.checkout.contains(path) or not (suites.root / path).exists():
        return None
    found = _loaded(services, options, suites.root / path)
    return next((suite for suite in found if suite.path == path), None)


def _loaded(services: Services, options: Options, file: Path) -> tuple[BenchmarkSuite, ...]:
    chosen = replace(options, discover=replace(options.discover, paths=(str(file),)))
    return pipeline.load_suites(services, chosen, pipeline.find_suites(services, chosen))


# --- the files --------------------------------------------------------------------------------------


def _planned(
    services: Services, request: PromoteRequest, facts: SessionFacts, home: str, options: Options
) -> tuple[PromotedFiles, Promotion]:
    """What is to be written. Raises UsageError."""
    cwd, checkout = services.cwd, services.repository.checkout
    case_id = request.case_id or id_of(facts, services.directory.redactor)
    file = Path(os.path.normpath(cwd / (request.to or f"{FOLDER}/{path_key(case_id)}{ENDING}")))
    shown = relative_path(file, cwd)
    checkout.refuse(file, f"the suite {shown}")
    adds = request.to is not None and file.exists()
    if not adds and not file.name.endswith(ENDING):
        raise UsageError(
            f"--to {request.to}: the name of a new suite ends with {ENDING}", remedy=f"name a file *{ENDING}"
        )
    if adds and request.case_id is None and facts.case and facts.case.file == file:
        case_id = f"{case_id}-promoted"
    promotion = promoted(facts, services.directory.redactor, home, case_id=case_id, wanted=request.expect)
    if adds:
        suite = _suite_to_add_to(services, file, shown, facts, promotion, options)
        text, name, template = with_case(_text_of(file, shown), shown, promotion.section), suite.name, None
    else:
        if request.force and file.exists():
            refuse_other_cases(_text_of(file, shown), shown, case_id)
        bootstrap, template = facts.case.bootstrap if facts.case else None, promotion.template
        name = case_id
        text = new_suite(name, promotion.section, template_folder(file.name), bootstrap)
    recording = recording_path(name, case_id, promotion.runner)
    files = PromotedFiles(
        file=file,
        shown=shown,
        text=text,
        template=template,
        recording=recording,
        recorded=promotion.recording,
        adds=adds,
    )
    return files, promotion


def _text_of(file: Path, shown: str) -> str:
    return read_bytes(file, path=shown, error=SuiteError).decode("utf-8", "surrogateescape")


def _suite_to_add_to(
    services: Services, file: Path, shown: str, facts: SessionFacts, promotion: Promotion, options: Options
) -> BenchmarkSuite:
    """The suite that gets a case more, if its cases work in the same files. Raises UsageError."""
    suites = _loaded(services, options, file)
    if len(suites) != 1 or suites[0].format != "x-bench" or (suites[0].invalid and not suites[0].cases):
        raise UsageError(f"--to {shown}: is not an x-bench suite that can be loaded", remedy="name another file")
    suite = suites[0]
    if facts.case and facts.case.file == file:
        return suite
    template = suite.workspace.template
    if template is None:
        raise UsageError(
            f"--to {shown}: its cases work in a copy of the repository, not in the files that the session worked in",
            remedy="let promote write a new suite: leave out --to, or name a new file",
        )
    root = services.suites.root
    paths = [os.path.relpath(root / path, template) for path in services.suites.files(template)]
    if not same_content(folder_tree(template, paths, f"the template of {shown}")[0], promotion.template):
        raise UsageError(
            f"--to {shown}: all of its cases work in {relative_path(template, services.cwd)}, which has other files "
            "than the session worked in",
            remedy="let promote write a new suite: leave out --to, or name a new file",
        )
    return suite


def _summary(request: PromoteRequest, files: PromotedFiles, promotion: Promotion, facts: SessionFacts) -> Iterator[str]:
    """What was written, and what people have to look at."""
    done = "was added to" if files.adds else "was written to"
    yield f"the case {promotion.case_id} {done} {files.shown}"
    if files.template is not None:
        size = counted(len(files.template), "file")
        yield f"template: {size} in {template_folder(files.shown)}"
    for written in promotion.kept:
        yield f"{'given' if written in request.expect else 'kept'}: {written}"
    for text in promotion.drafted:
        yield f"drafted: {text}"
    for note in promotion.notes:
        yield f"note: {note}"
    if not facts.case or not facts.case.failed:
        return
    for name, explanation in facts.case.failed:
        yield f"failed in the run: {name}: {explanation}"
