"""The command ``promote``: a case of a session, with template, expectations and a recording; and its first run."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from skillgym_action.authoring.promotion.files import folder_tree, same_content
from skillgym_action.authoring.promotion.local_facts import local_facts, local_session
from skillgym_action.authoring.promotion.promotion import id_of, promoted, recording_path
from skillgym_action.authoring.promotion.stored_session import stored_facts, stored_session
from skillgym_action.authoring.promotion.suite_files import PromotedFiles, new_suite, refuse_other_cases, with_case
from skillgym_action.cli.commands.run import relative_path
from skillgym_action.cli.terminal import QuietTerminal, Terminal, terminal_for
from skillgym_action.model.errors import SuiteError, UsageError
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.judge_question import JudgeConfig
from skillgym_action.model.limits import MAX_CASE_ID_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.model.runner import Runner
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.verdicts import Status
from skillgym_action.pipeline import pipeline, wiring
from skillgym_action.reports.wording.results import cause
from skillgym_action.settings import resolve
from skillgym_action.settings.attempt_options import AttemptOptions
from skillgym_action.settings.baseline_options import ReportOptions
from skillgym_action.settings.option_types import LOCAL
from skillgym_action.settings.slices import PublishOptions
from skillgym_action.suites.values import UNUSABLE
from skillgym_action.suites.xbench.expectations import GrammarError, parse_text
from skillgym_action.text.documents.user_files import read_bytes
from skillgym_action.text.escaping import safe_name, terminal_line
from skillgym_action.text.words import counted
from skillgym_action.workspaces.repository.reference_solutions import recordings_folder, template_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.authoring.promotion.promotion import Promotion
    from skillgym_action.authoring.promotion.session_facts import SessionFacts
    from skillgym_action.authoring.promotion.stored_session import StoredSession
    from skillgym_action.model.result import Result
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.services import Services
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings
    from skillgym_action.settings.slices import Options

FOLDER = "promoted"
ENDING = ".bench.json"
LAST_WORD = (
    "read all of it before you commit it: what has the form of a key or of a home folder was replaced, other private "
    "text was not"
)


@record
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
    file = Path(os.path.normpath(cwd / (request.to or f"{FOLDER}/{safe_name(case_id)}{ENDING}")))
    shown = relative_path(file, cwd)
    checkout.refuse(file, f"the suite {shown}")
    adds = request.to is not None and file.exists()
    if not adds and not file.name.endswith(ENDING):
        raise UsageError(
            f"--to {request.to}: the name of a new suite ends with {ENDING}", remedy=f"name a file *{ENDING}"
        )
    if adds and request.case_id is None and facts.case and facts.case.file == file:
        case_id = f"{case_id}-promoted"
    others: tuple[str, ...] = ()
    promotion = promoted(facts, services.directory.redactor, home, case_id=case_id, wanted=request.expect)
    if adds:
        suite = _suite_to_add_to(services, file, shown, facts, promotion, options)
        text, name, template = with_case(_text_of(file, shown), shown, promotion.section), suite.name, None
        others = tuple(case.id for case in suite.cases)
    else:
        if request.force and file.exists():
            refuse_other_cases(_text_of(file, shown), shown, case_id)
        bootstrap, template = facts.case.bootstrap if facts.case else None, promotion.template
        name = case_id
        text = new_suite(name, promotion.section, template_folder(file.name), bootstrap)
    recording = recording_path(name, case_id, promotion.runner, others)
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


def check_promotion(
    files: PromotedFiles, promotion: Promotion, facts: SessionFacts, options: Options, context: LaunchContext
) -> tuple[int, list[str]]:
    """The exit code, and lines for people.

    The session is played by the agent `replay` through the pipeline, in a copy of the new template; no agent and no
    model is started, and nothing is published.
    """
    recordings = f"{files.file.parent}/{recordings_folder(files.file.name)}"
    agent = AgentConfig(type="replay", sessions=recordings)
    runner = Runner(id=promotion.runner, path_key=promotion.runner, agent=agent)
    checked = _options_with(options, files.file, _OnlyCase(promotion.case_id, runner))
    terminal = Terminal(redactor=context.redactor, color=False, quiet=True, live=False)
    with TemporaryDirectory(prefix="skillgym-") as temporary:
        directory = Path(temporary) / "run"
        with wiring.open_services(context, directory, QuietTerminal(terminal), checked) as services:
            report = pipeline.run(services, (), checked, command="promote", show=lambda _: None)
    if report.cancelled:
        return ExitCode.CANCELLED, ["check: cancelled"]
    result = next((one for one in report.results if one.case_id == promotion.case_id), None)
    problems = [str(invalid.problem) for suite in report.suites for invalid in suite.invalid]
    if result is None or result.runner is None:
        return ExitCode.INVALID_INPUT, [f"check: the case cannot be used: {problem}" for problem in problems]
    code, verdict = _verdict(result, facts)
    return code, [verdict, *_outcome_lines(result, promotion)]


class _OnlyCase:
    """Replaces the runners of the suite by the recording, and leaves out its other cases."""

    def __init__(self, case_id: str, runner: Runner) -> None:
        self._case_id, self._runner = case_id, runner

    def adapt(self, suites: tuple[BenchmarkSuite, ...]) -> tuple[BenchmarkSuite, ...]:
        """The suites with the only case and the only runner."""
        return tuple(
            replace(
                suite,
                runners=(self._runner,),
                cases=tuple(
                    replace(case, runners=(), model=None, budget=None)
                    for case in suite.cases
                    if case.id == self._case_id
                ),
                budget=None,
            )
            for suite in suites
        )


def _options_with(options: Options, file: Path, only: _OnlyCase) -> Options:
    """The options of a run, without all that costs money, writes elsewhere or depends on other runs."""
    return replace(
        options,
        discover=replace(options.discover, paths=(str(file),), formats=("x-bench",)),
        plan=replace(options.plan, runners=(), model=None, cases=(), tags=(), adapt=only.adapt),
        execute=replace(
            options.execute,
            repeat=1,
            confirm="auto",
            require="all",
            retry=0,
            max_cost=None,
            maxfail=None,
            record=None,
            snapshots=None,
            resume=False,
            keep="none",
        ),
        arms=replace(options.arms, configured=(), selected=()),
        report=ReportOptions(),
        publish=PublishOptions(workspace=options.publish.workspace),
        store=None,
        reuse=None,
        changed=None,
        attempt=AttemptOptions(),
        templates=None,
        judge=JudgeConfig(api="anthropic", model="none", problem="promote asks the judge nothing"),
    )


def _verdict(result: Result, facts: SessionFacts) -> tuple[int, str]:
    """The exit code, and what the check says about the case as a whole."""
    if result.status not in (Status.PASSED, Status.FAILED):
        message = cause(result).message
        return ExitCode.INCONCLUSIVE, f"check: the recorded session could not be judged: {message}"
    if result.status is Status.FAILED:
        return _verdict_on_red(facts, cause(result).message)
    if facts.has_failed:
        words = "green with the recorded session, which had failed: add the expectation that it did not meet"
        return ExitCode.FAILED, f"check: {words}, by hand or with --expect and --force"
    if not facts.has_passed:
        words = "green with the recorded session: the drafts describe what it did, not what it should have done"
        return ExitCode.PASSED, f"check: {words}; if the session was wrong, add an expectation with --expect"
    return ExitCode.PASSED, "check: green with the recorded session"


def _verdict_on_red(facts: SessionFacts, message: str) -> tuple[int, str]:
    if facts.has_failed:
        return ExitCode.PASSED, f"check: red with the recorded session, as it should be: {message}"
    if not facts.has_passed:
        words = "red with the recorded session; is this the failure that you promote it for?"
        return ExitCode.PASSED, f"check: {words} {message}"
    return ExitCode.FAILED, f"check: red with the recorded session, which had not failed: {message}"


def _outcome_lines(result: Result, promotion: Promotion) -> Iterator[str]:
    """A line for each expectation."""
    for outcome in result.judgement.outcomes:
        kind = " (draft)" if outcome.assertion in promotion.drafted else ""
        if outcome.passed is None:
            yield f"cannot tell{kind}: {outcome.assertion}: {outcome.explanation}"
        elif outcome.passed:
            vacuous = "; it measures nothing" if outcome.vacuous else ""
            yield f"passes{kind}: {outcome.assertion}{vacuous}"
        else:
            yield f"fails{kind}: {outcome.assertion}: {outcome.explanation}"
