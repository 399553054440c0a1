"""``check --nop`` and ``check --oracle``: whether cases measure anything, found out with a stand-in for the agents.

An agent that does nothing must not pass a case, and the case's reference solution must. Sessions run through the
pipeline as in a run: workspaces, bootstrap, hooks and assertions; no agent and no model is started.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from skillgym_action.cli.commands.check import print_problems
from skillgym_action.cli.schemas.json_documents import CaseCheckDocument, print_document, problem_parts
from skillgym_action.cli.terminal import QuietTerminal, once, suite_errors, terminal_for
from skillgym_action.model.errors import UsageError
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.judge_question import JudgeConfig
from skillgym_action.model.records import record
from skillgym_action.model.runner import Runner
from skillgym_action.model.session import AgentConfig, CaseAgentSettings
from skillgym_action.model.verdicts import Status
from skillgym_action.pipeline import pipeline, wiring
from skillgym_action.pipeline.stages.plan import filter_warnings, plan
from skillgym_action.reports.wording.results import cause, location_of
from skillgym_action.settings import resolve
from skillgym_action.settings.baseline_options import ReportOptions
from skillgym_action.settings.option_types import LOCAL
from skillgym_action.settings.slices import PublishOptions, output_directory
from skillgym_action.text.escaping import terminal_line
from skillgym_action.text.words import counted
from skillgym_action.workspaces.repository.reference_solutions import problem_with, solution_paths, solutions_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.errors import Problem
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings
    from skillgym_action.settings.slices import Options, PlanOptions
    from skillgym_action.system.files.checkout import Checkout

StandIn = Literal["nop", "oracle"]
JUDGE_NOT_ASKED = "check asks the judge nothing"
EXPECTED_FAIL = "it expects a failure"


def check_with_stand_in(
    settings: Settings, context: LaunchContext, *, nop: bool, oracle: bool, as_json: bool = False
) -> int:
    """Run the selected cases with a stand-in for the agent, and name those that measure nothing; the exit code.

    Raises UsageError, ConfigError.
    """
    if nop and oracle:
        raise UsageError("--nop and --oracle are two checks", remedy="run check twice, each time with one of them")
    stand_in: StandIn = "nop" if nop else "oracle"
    with wiring.with_suite_source(settings, context) as with_suites:
        return _check_cases(settings, with_suites, stand_in, as_json=as_json)


def _check_cases(settings: Settings, context: LaunchContext, stand_in: StandIn, *, as_json: bool) -> int:
    config = wiring.configuration(settings, context)
    here = settings.model_copy(update={"engine": LOCAL})
    options = resolve.options(here, config, context, runners=1)
    checked = _CheckedCases(stand_in, context.suite_source.checkout, replace(options.plan, runners=(), model=None))
    options = _options_with(options, checked)
    terminal = terminal_for(settings, context)
    with TemporaryDirectory(prefix="skillgym-") as temporary:
        directory = Path(temporary) / "run"
        if output_directory(settings.output):
            directory = resolve.run_directory(settings, config, context)
        with wiring.open_services(context, directory, QuietTerminal(terminal), options) as services:
            report = pipeline.run(services, (), options, command="check", show=lambda _: None)
    if report.cancelled:
        return ExitCode.CANCELLED
    invalid = print_problems(report.suites, context, checked.warnings, annotations=not as_json)
    if checked.nothing_selected and not invalid:
        raise UsageError.of(checked.nothing_selected)
    findings = _Findings.of(report, checked)
    code = invalid or findings.exit_code
    for line in findings.lines():
        print(context.redactor.text(terminal_line(line)), file=sys.stderr)  # noqa: T201
    if as_json:
        print_document(_document(findings, report, code), context.redactor)
    else:
        print(findings.summary())  # noqa: T201
    return code


def _options_with(options: Options, checked: _CheckedCases) -> Options:
    """The options of a run, without everything that costs money, writes elsewhere or depends on other runs."""
    execute = replace(
        options.execute, repeat=1, retry=0, max_cost=None, record=None, snapshots=None, resume=False, keep="none"
    )
    return replace(
        options,
        plan=replace(checked.plan_options, adapt=checked.adapt),
        execute=execute,
        install_agents=replace(options.install_agents, install_agents=False),
        report=ReportOptions(),
        publish=PublishOptions(workspace=options.publish.workspace, reports=options.publish.reports),
        templates=None,
        judge=JudgeConfig(api="anthropic", model="none", problem=JUDGE_NOT_ASKED),
    )


class _CheckedCases:
    """Replaces the runners of suites by the stand-in, and remembers which cases are left out, and why.

    ``nothing_selected`` and ``warnings``: what the filters exclude, as in a plan.
    """

    def __init__(self, stand_in: StandIn, checkout: Checkout, plan_options: PlanOptions) -> None:
        self.stand_in, self._checkout = stand_in, checkout
        self.plan_options = plan_options
        self.left_out: list[tuple[BenchmarkSuite, BenchmarkCase, str]] = []
        self.nothing_selected: Problem | None = None
        self.warnings: tuple[Problem, ...] = ()

    def adapt(self, suites: tuple[BenchmarkSuite, ...]) -> tuple[BenchmarkSuite, ...]:
        """The suites with the stand-in as their only runner, without the cases that are left out."""
        replaced = tuple([self._with_stand_in(suite) for suite in suites])
        planned = plan(replaced, (), self.plan_options)
        self.nothing_selected = planned.nothing_selected
        if not planned.nothing_selected:
            self.warnings = filter_warnings(replaced, self.plan_options)
        selected = {(one.suite.path, one.case.id) for one in planned.executions}
        return tuple([self._with_cases(suite, selected) for suite in replaced])

    def _with_stand_in(self, suite: BenchmarkSuite) -> BenchmarkSuite:
        runner = Runner(id=self.stand_in, path_key=self.stand_in, agent=self._agent(suite))
        cases = [replace(case, runners=(), retries=0, model=None, budget=None, depends_on=()) for case in suite.cases]
        if self.stand_in == "oracle":
            cases = [_with_its_solution(case) for case in cases]
        return replace(suite, runners=(runner,), cases=tuple(cases), budget=None)

    def _agent(self, suite: BenchmarkSuite) -> AgentConfig:
        """The stand-in. Solutions that are programs, run in containers, have the same command in the whole suite."""
        if self.stand_in == "nop":
            return AgentConfig(type="nop")
        if command := next((case.solution.command for case in suite.cases if case.solution), None):
            return AgentConfig(type="command", command=command)
        return AgentConfig(type="reference", sessions=solutions_folder(str(suite.file)))

    def _with_cases(self, suite: BenchmarkSuite, selected: set[tuple[str, str]]) -> BenchmarkSuite:
        kept = []
        for case in suite.cases:
            if (suite.path, case.id) not in selected:
                continue
            if reason := self._reason_to_leave_out(suite, case):
                self.left_out.append((suite, case, reason))
            else:  # what agents are expected to fail, the reference solution should pass
                kept.append(replace(case, expected_fail=False))
        return replace(suite, cases=tuple(kept))

    def _reason_to_leave_out(self, suite: BenchmarkSuite, case: BenchmarkCase) -> str | None:
        if self.stand_in == "nop":
            return EXPECTED_FAIL if case.expected_fail else None
        if case.solution:
            return None
        paths = solution_paths(Path(solutions_folder(str(suite.file))), case.id)
        return problem_with(paths, self._checkout) if paths else "it has no reference solution"


def _with_its_solution(case: BenchmarkCase) -> BenchmarkCase:
    """The case; if its solution is a program, that is brought into its container, with its environment."""
    if case.solution is None or case.workspace is None:
        return case
    workspace = replace(case.workspace, preparation=case.solution.preparation(case.workspace.preparation))
    return replace(case, workspace=workspace, agent=CaseAgentSettings(env=case.solution.env))


@record
class _Findings:
    """``wrong``: cases that measure nothing, or fail their reference solution. ``right``: the number of others.

    ``undecided``: graders could not tell. ``crashed``: checks that raised an error of their own for an agent that did
    nothing, hence failed it. ``mistaken``: of these, which look wrong themselves. ``broken``: could not be judged.
    """

    stand_in: StandIn
    wrong: tuple[Result, ...]
    undecided: tuple[Result, ...]
    crashed: tuple[Result, ...]
    mistaken: tuple[Result, ...]
    broken: tuple[Result, ...]
    right: int
    left_out: tuple[tuple[BenchmarkSuite, BenchmarkCase, str], ...]

    @classmethod
    def of(cls, report: RunReport, checked: _CheckedCases) -> _Findings:
        ran = [result for result in report.results if result.runner]
        passed = [result for result in ran if result.status is Status.PASSED]
        failed = [result for result in ran if result.status is Status.FAILED]
        wrong, right = (passed, failed) if checked.stand_in == "nop" else (failed, passed)
        others = [result for result in ran if result.status not in (Status.PASSED, Status.FAILED)]
        undecided = [result for result in others if result.judgement.origin == "grader"]
        raised = [result for result in right if result.judgement.origin == "assert-hook"]
        mistaken = [result for result in raised if _is_mistaken(result)]
        return cls(
            stand_in=checked.stand_in,
            wrong=tuple(wrong),
            undecided=tuple(undecided),
            crashed=tuple(result for result in raised if result not in mistaken),
            mistaken=tuple(mistaken),
            broken=tuple(result for result in others if result not in undecided),
            right=len(right) - len(raised),
            left_out=tuple(checked.left_out),
        )

    @property
    def exit_code(self) -> int:
        if self.wrong or self.mistaken:
            return ExitCode.FAILED
        return ExitCode.INCONCLUSIVE if self.broken or not (self.right or self.crashed) else ExitCode.PASSED

    def lines(self) -> Iterator[str]:
        """A line for each case that is not as it should be."""
        for result in self.wrong:
            if self.stand_in == "nop":
                yield f"error: {_named(result)} passes although the agent did nothing: it measures nothing"
            else:
                yield f"error: {_named(result)} fails with its reference solution: {cause(result).message}"
        for result in self.mistaken:
            yield f"error: {_named(result)} fails whatever the agent does: {cause(result).message}"
        for result in self.broken:
            yield f"error: {_named(result)} could not be judged: {cause(result).message}"
        for result in self.crashed:
            yield f"warning: {_named(result)}: if the agent did nothing, {cause(result).message}"
        for result in self.undecided:
            yield f"note: {_named(result)} was not decided: {cause(result).message}"
        for suite, case, reason in self.left_out:
            yield f"note: {case.location or suite.path}: {case.id} was left out: {reason}"

    def summary(self) -> str:
        """The counts in one line."""
        good, bad = ("correctly failed", "passed although the agent did nothing")
        if self.stand_in == "oracle":
            good, bad = ("passed with the reference solution", "failed with it")
        counts = (
            (len(self.wrong), bad),
            (len(self.mistaken), "with a broken check"),
            (len(self.crashed), "failed by an error in the check"),
            (len(self.broken), "could not be judged"),
            (len(self.undecided), "not decided"),
            (len(self.left_out), "left out"),
        )
        total = self.right + sum(count for count, _ in counts)
        parts = [f"{self.right} {good}", *(f"{count} {words}" for count, words in counts if count)]
        return f"{self.stand_in}: {counted(total, 'case')}: {', '.join(parts)}"


def _is_mistaken(result: Result) -> bool:
    return any(outcome.error is not None and outcome.error.broken for outcome in result.judgement.outcomes)


def _named(result: Result) -> str:
    return f"{location_of(result)}: {result.case_id}"


def _document(findings: _Findings, report: RunReport, code: int) -> CaseCheckDocument:
    wrong = "measures-nothing" if findings.stand_in == "nop" else "fails-its-solution"
    found = (
        (wrong, findings.wrong),
        ("broken-check", findings.mistaken),
        ("not-judged", findings.broken),
        ("crashed", findings.crashed),
        ("undecided", findings.undecided),
    )
    cases = [(kind, result.suite, result.case_id, cause(result).message) for kind, some in found for result in some]
    cases += [("left-out", suite, case.id, reason) for suite, case, reason in findings.left_out]
    return CaseCheckDocument.model_validate(
        {
            "exit_code": code,
            "stand_in": findings.stand_in,
            "correct": findings.right,
            "cases": [
                {"suite": suite.path, "case": case, "finding": kind, "message": message}
                for kind, suite, case, message in cases
            ],
            "problems": problem_parts(once(suite_errors(report.suites))),
        }
    )
