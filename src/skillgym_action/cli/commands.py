"""What each command does, once its settings are known. Returns exit codes."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action import pipeline, wiring
from skillgym_action.cli import listing
from skillgym_action.cli.terminal import Terminal
from skillgym_action.clock import Clock
from skillgym_action.model.errors import UsageError, did_you_mean
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.verdicts import GREEN
from skillgym_action.reporters.terminal import render
from skillgym_action.settings import resolve
from skillgym_action.settings.configuration_file import configuration_differs
from skillgym_action.settings.resolve import run_directory
from skillgym_action.settings.runners import configured_runners
from skillgym_action.stages.plan import check_runner_selectors
from skillgym_action.text.escaping import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from skillgym_action.model.execution import Plan, Runner
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.suite import Suite
    from skillgym_action.services import Services
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import Context
    from skillgym_action.settings.options import Options, Settings


def resolved(given: Settings, context: Context) -> tuple[Config, tuple[Runner, ...], Options]:
    """What settings come to in that place. Raises ConfigError, UsageError."""
    config = wiring.configuration(given, context)
    runners = configured_runners(given, config, context)
    options = resolve.options(given, config, context, runners=len(runners))
    if configuration_differs(given, context, config):
        options = replace(options, report=replace(options.report, configuration_differs=True))
    return config, runners, options


def run(given: Settings, context: Context, *, command: str = "run") -> int:
    """``run``, or what the action does."""
    with wiring.with_suite_source(given, context) as with_suites:
        return _run(given, with_suites, command)


def _run(given: Settings, context: Context, command: str) -> int:
    config, runners, options = resolved(given, context)
    directory = run_directory(given, config, context, Clock())
    if given.dry_run:
        return _dry_run(given, context, runners, options)
    return executed(given, context, runners, options, directory, command=command)


def executed(
    given: Settings, context: Context, runners: tuple[Runner, ...], options: Options, directory: Path, *, command: str
) -> int:
    """Run the line and show it; the decision's exit code."""
    terminal = _terminal(given, context)
    with wiring.opened(context, directory, terminal, options) as services, terminal:
        report = pipeline.run(
            services,
            runners,
            options,
            command=command,
            show=lambda report: _show(terminal, report, directory, given),
        )
    return _exit_code(report)


def _exit_code(report: RunReport) -> int:
    if report.decision is None:
        raise ValueError("a run ends with a decision")
    return report.decision.exit_code


def _terminal(given: Settings, context: Context) -> Terminal:
    return Terminal(redactor=context.redactor, color=not given.no_color, quiet=given.quiet, live=sys.stderr.isatty())


def _show(terminal: Terminal, report: RunReport, directory: Path, given: Settings) -> None:
    pieces = tuple(render(report, color=not given.no_color))
    terminal.show(pieces[-1:] if given.quiet else ("\n", *pieces))
    if given.verbose:
        for result in report.results:
            if result.status not in GREEN and result.final_output:
                terminal.progress(f"{plain(result.case_id)}: final output")
                terminal.untrusted(result.final_output)
    if not given.quiet:
        terminal.progress(f"reports: {plain(str(directory))}")


def _plan(given: Settings, context: Context, runners: tuple[Runner, ...], options: Options) -> Plan:
    """What would run."""
    with _looking(given, context) as services:
        return pipeline.planned(services, runners, options)


@contextmanager
def _looking(given: Settings, context: Context) -> Iterator[Services]:
    """Suite programs are loaded to be looked at, hence the doors. Nothing is kept."""
    import tempfile
    from pathlib import Path

    terminal = _terminal(given, context)
    with (
        tempfile.TemporaryDirectory(prefix="skillgym-") as folder,
        wiring.opened(context, Path(folder) / "run", terminal, user_name=given.agent_user) as services,
    ):
        yield services
        if services.cancelled:
            raise KeyboardInterrupt


def _dry_run(given: Settings, context: Context, runners: tuple[Runner, ...], options: Options) -> int:
    todo = _plan(given, context, runners, options)
    for line in listing.lines(todo):
        print(context.redactor.text(line))  # noqa: T201 -- what the command is for
    if code := _problems(todo.suites, context):
        return code
    if not todo.executions:
        raise UsageError("nothing would run: no suite was found, or the filters leave no case", remedy="see `list`")
    return 0


def list_(given: Settings, context: Context, *, as_json: bool, matrix: int | None) -> int:
    """``list``."""
    if matrix:
        print(json.dumps({"include": [{"shard": f"{number}/{matrix}"} for number in range(1, matrix + 1)]}))  # noqa: T201
        return 0
    with wiring.with_suite_source(given, context) as with_suites:
        _, runners, options = resolved(given, with_suites)
        todo = _plan(given, with_suites, runners, options)
    table = listing.as_json(todo) if as_json else listing.as_table(todo)
    print(context.redactor.text(table))  # noqa: T201
    return _problems(todo.suites, context)


def check(given: Settings, context: Context) -> int:
    """``check``."""
    with wiring.with_suite_source(given, context) as with_suites:
        return _check(given, with_suites)


def _check(given: Settings, context: Context) -> int:
    config = wiring.configuration(given, context)
    runners = configured_runners(given, config, context)
    options = resolve.options(given, config, context, runners=len(runners))
    with _looking(given, context) as services:
        suites = pipeline.loaded(services, options)
    check_runner_selectors((*runners, *(runner for suite in suites for runner in suite.runners)), options.plan)
    if code := _problems(suites, context):
        return code
    if not suites:
        raise UsageError("no suite was found", remedy="name a suite file or a folder that holds one")
    cases = sum(len(suite.cases) for suite in suites)
    own = sum(len(suite.runners) for suite in suites)
    print(f"fine: {len(suites)} suites, {cases} cases, {len(runners) + own} runners")  # noqa: T201
    return 0


def _problems(suites: tuple[Suite, ...], context: Context) -> int:
    """Print what is wrong with the suites; 2 if anything is."""
    wrong, within = 0, context.redactor.text
    for suite in suites:
        for warning in suite.warnings:
            print(within(plain(f"warning: {warning}")), file=sys.stderr)  # noqa: T201
        problems = [invalid.problem for invalid in suite.invalid]
        for problem in (*problems, *(runner.problem for runner in suite.runners if runner.problem)):
            wrong = 2
            print(within(plain(f"error: {problem}")), file=sys.stderr)  # noqa: T201
    return wrong


def rejudge(judged: Path, given: Settings, context: Context) -> int:
    """``rejudge``: the same plan, every runner replaced by one that plays what was stored."""
    from skillgym_action.storage.stored_runs import stored_run

    stored = stored_run(judged)
    config = wiring.configuration(given, context)
    settings = given.model_copy(update={"paths": tuple(sorted({str(context.root / path) for path, _ in stored.cases}))})
    options = resolve.options(settings, config, context, runners=len(stored.runners))
    snapshots = options.execute.snapshots and replace(options.execute.snapshots, update=False, create=False)
    execution = replace(options.execute, repeat=stored.repeat, retry=0, max_cost=None, snapshots=snapshots)
    options = replace(options, execute=execution, plan=replace(options.plan, cases=(), tags=(), only=stored.cases))
    directory = run_directory(given, config, context, Clock())
    if directory == judged.resolve():
        raise UsageError("--output is the run that is judged again", remedy="name another folder")
    return executed(settings, context, stored.runners, options, directory, command="rejudge")


def report(runs: Iterable[str], given: Settings, context: Context) -> int:
    """``report``: stored runs, merged; everything is read before a directory is made, which a pattern might match."""
    from skillgym_action.storage.stored_runs import stored_reports

    if given.paths and not given.compare_suites:
        raise UsageError("--suites without --compare-suites", remedy="add --compare-suites, which looks for them")
    stored = stored_reports(runs, context.cwd, confined=context.job is not None)
    config = wiring.configuration(given, context)
    options = resolve.options(given, config, context, runners=0)
    directory = run_directory(given, config, context, Clock())
    if any(directory == (context.cwd / file).parent.resolve() for file, _ in stored):
        raise UsageError("--output is a run that is reported again", remedy="name another folder")
    terminal = _terminal(given, context)
    with wiring.opened(context, directory, terminal, options) as services, terminal:
        told = pipeline.report(services, stored, options, show=lambda report: _show(terminal, report, directory, given))
    return _exit_code(told)


def doctor(given: Settings, context: Context, *, install: tuple[str, ...], probe: bool) -> int:
    """``doctor``: a line for each finding; 1 when one of them is a problem."""
    from rich.console import Console
    from rich.text import Text

    from skillgym_action.cli.doctor import findings

    worst = 0
    within = context.redactor.text
    with _looking(given, context) as services:
        console = Console(no_color=given.no_color, highlight=False, soft_wrap=True)
        for finding in findings(services, given, context, install=install, probe=probe):
            worst = max(worst, finding.state)
            sign, color = DOCTORS_SIGNS[finding.state]
            told = "; ".join(part for part in (finding.text, finding.remedy) if part)
            subject, told = (plain(within(" ".join(text.split()))) for text in (finding.subject, told))
            console.print(Text.assemble((sign, color), f" {subject:16} {told}"))
    return int(worst == max(DOCTORS_SIGNS))


def explain(directory: Path, given: Settings, context: Context, *, rerun: bool) -> int:
    """``explain``: questions and answers; 3 when an answer did not come."""
    from skillgym_action.cli.explain import explanations, questions_in
    from skillgym_action.settings.runners import unknown_runner

    context.checkout.refuse(context.cwd / directory, "the folder of the session")
    asked = questions_in(directory, rerun=rerun)
    config = wiring.configuration(given, context)
    found = configured_runners(given.model_copy(update={"runner": (asked.runner_id,)}), config, context)
    if not found:
        raise unknown_runner(asked.runner_id, config.file.runners or ())
    with _looking(given, context) as services:
        answers = explanations(services, asked, found[0], directory)
    for answer in answers:
        told = answer.trouble.message if answer.trouble else answer.answer
        print(context.redactor.text(listing.question_and_answer(answer.asked.question, told)))  # noqa: T201
    return ExitCode.INCONCLUSIVE if any(answer.trouble for answer in answers) else ExitCode.PASSED


def schema(name: str | None) -> int:
    """``schema``."""
    if name is None:
        print("\n".join(SCHEMAS))  # noqa: T201
        return 0
    if name not in SCHEMAS:
        raise UsageError(f"unknown schema {name!r}", remedy=did_you_mean(name, SCHEMAS))
    told = SCHEMAS[name]()
    print(told if isinstance(told, str) else json.dumps(told, indent=2))  # noqa: T201
    return 0


def _config_schema() -> dict[str, object]:
    from skillgym_action.settings.configuration_sections import ConfigFile

    return ConfigFile.model_json_schema(by_alias=True)


def _suite_schema() -> dict[str, object]:
    from skillgym_action.formats.xbench import suite_schema

    return suite_schema()


def _results_schema() -> dict[str, object]:
    from skillgym_action.storage.results_schema import results_schema

    return results_schema()


def _types() -> str:
    from skillgym_action.formats.typescript_suite import types

    return types()


DOCTORS_SIGNS = {0: ("✓", "green"), 1: ("·", "dim"), 2: ("!", "yellow"), 3: ("✗", "red")}
SCHEMAS = {"config": _config_schema, "x-bench": _suite_schema, "results": _results_schema, "typescript": _types}
