"""Runs the recorded session against a promoted case: which of its expectations hold, and whether it shows the failure.

The session is played by the agent `replay` through the pipeline, in a copy of the new template; no agent and no model
is started, and nothing is published.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from skillgym_action import pipeline, wiring
from skillgym_action.cli.terminal import QuietTerminal, Terminal
from skillgym_action.model.execution import Runner
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.judge_question import JudgeConfig
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.verdicts import Status
from skillgym_action.reporters.wording import cause
from skillgym_action.repository.reference_solutions import recordings_folder
from skillgym_action.settings.attempt_options import AttemptOptions
from skillgym_action.settings.baseline_options import ReportOptions
from skillgym_action.settings.written_reports import PublishOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.result import Result
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.promotion.promoted_files import PromotedFiles
    from skillgym_action.promotion.promotion import Promotion
    from skillgym_action.promotion.session_facts import SessionFacts
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.options import Options


def check_promotion(
    files: PromotedFiles, promotion: Promotion, facts: SessionFacts, options: Options, context: LaunchContext
) -> tuple[int, list[str]]:
    """The exit code, and lines for people."""
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
            require="all",
            stop_early=False,
            stop=None,
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
