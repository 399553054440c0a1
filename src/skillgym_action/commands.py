"""What each command does, once its settings are known. Returns exit codes."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action import composition, pipeline, resolve
from skillgym_action.effects.clock import Clock
from skillgym_action.effects.terminal import Terminal
from skillgym_action.errors import UsageError, did_you_mean
from skillgym_action.pipeline import planned
from skillgym_action.redaction import Redactor
from skillgym_action.reporters.terminal import render
from skillgym_action.text import plain
from skillgym_action.verdicts import GREEN

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from skillgym_action.composition import Place
    from skillgym_action.config import Config
    from skillgym_action.domain import Runner, RunReport
    from skillgym_action.options import Options, Settings
    from skillgym_action.plan import Plan


def resolved(given: Settings, here: Place) -> tuple[Config, tuple[Runner, ...], Options]:
    """What settings come to in that place. Raises ConfigError, UsageError."""
    config = composition.configuration(given, here)
    runners = composition.runners(given, config, here)
    return config, runners, resolve.options(given, config, here, runners=len(runners))


def run(given: Settings, here: Place, *, command: str = "run") -> int:
    """``run``, or what the action does."""
    config, runners, options = resolved(given, here)
    directory = composition.run_directory(given, config, here, Clock())
    if given.dry_run:
        return _dry_run(given, here, runners, options)
    return executed(given, here, runners, options, directory, command=command)


def executed(
    given: Settings, here: Place, runners: tuple[Runner, ...], options: Options, directory: Path, *, command: str
) -> int:
    """Run the line and show it; the decision's exit code."""
    terminal = _terminal(given, here)
    with composition.opened(here, directory, terminal, options) as world, terminal:
        report = pipeline.run(
            world,
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


def _terminal(given: Settings, here: Place) -> Terminal:
    redactor = Redactor(composition.secret_values(here.environment))
    return Terminal(redactor=redactor, color=not given.no_color, quiet=given.quiet, live=sys.stderr.isatty())


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


def _plan(given: Settings, here: Place, runners: tuple[Runner, ...], options: Options) -> Plan:
    """What would run; suite programs are loaded, hence the doors. Nothing is kept."""
    import tempfile
    from pathlib import Path

    terminal = _terminal(given, here)
    with (
        tempfile.TemporaryDirectory(prefix="skillgym-") as folder,
        composition.opened(here, Path(folder) / "run", terminal) as world,
    ):
        return planned(world, runners, options)


def _dry_run(given: Settings, here: Place, runners: tuple[Runner, ...], options: Options) -> int:
    todo = _plan(given, here, runners, options)
    for execution in todo.executions:
        budget = f", ${execution.budget:.2f}" if execution.budget is not None else ""
        names = f"{execution.suite.path}  {execution.case.id}  [{execution.runner.id}]"
        print(plain(f"{names}  {execution.timeout:g} s{budget}"))  # noqa: T201 -- what the command is for
    if code := _problems(todo):
        return code
    if not todo.executions:
        raise UsageError("nothing would run: no suite was found, or the filters leave no case", remedy="see `list`")
    return 0


def list_(given: Settings, here: Place, *, as_json: bool, matrix: int | None) -> int:
    """``list``."""
    if matrix:
        print(json.dumps({"include": [{"shard": f"{number}/{matrix}"} for number in range(1, matrix + 1)]}))  # noqa: T201
        return 0
    _, runners, options = resolved(given, here)
    todo = _plan(given, here, runners, options)
    rows = [
        {
            "suite": one.suite.path,
            "format": one.suite.format,
            "case": one.case.id,
            "runner": one.runner.id,
            "tags": list(one.case.tags),
            "timeout": one.timeout,
            "budget": one.budget,
            "model": one.model,
        }
        for one in todo.executions
    ]
    if as_json:
        print(json.dumps(rows, indent=2))  # noqa: T201
        return _problems(todo)
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("suite", "case", "runner", "model", "tags"):
        table.add_column(name, overflow="fold")
    for one in todo.executions:
        cells = (one.suite.path, one.case.id, one.runner.id, one.model or "", ", ".join(one.case.tags))
        table.add_row(*(plain(cell).replace("[", r"\[") for cell in cells))
    Console(no_color=given.no_color).print(table)
    return _problems(todo)


def check(given: Settings, here: Place) -> int:
    """``check``."""
    config = composition.configuration(given, here)
    runners = composition.runners(given, config, here) if given.runner or config.file.runners else ()
    todo = _plan(given, here, runners, resolve.options(given, config, here, runners=len(runners)))
    if code := _problems(todo):
        return code
    if not todo.suites:
        raise UsageError("no suite was found", remedy="name a suite file or a folder that holds one")
    cases = sum(len(suite.cases) for suite in todo.suites)
    print(f"fine: {len(todo.suites)} suites, {cases} cases, {len(runners)} runners")  # noqa: T201
    return 0


def _problems(todo: Plan) -> int:
    """Print what is wrong with the suites; 2 if anything is."""
    for suite in todo.suites:
        for warning in suite.warnings:
            print(plain(f"warning: {warning}"), file=sys.stderr)  # noqa: T201
        for invalid in suite.invalid:
            print(plain(f"error: {invalid.problem}"), file=sys.stderr)  # noqa: T201
    return 2 if any(suite.invalid for suite in todo.suites) else 0


def rejudge(run_directory: Path, given: Settings, here: Place) -> int:
    """``rejudge``: the same plan, every runner replaced by one that plays what was stored."""
    from skillgym_action.stored import stored_run

    stored = stored_run(run_directory)
    config = composition.configuration(given, here)
    settings = given.model_copy(update={"paths": tuple(sorted({str(here.root / path) for path, _ in stored.cases}))})
    options = resolve.options(settings, config, here, runners=len(stored.runners))
    execution = replace(options.execute, repeat=stored.repeat, retry=0, max_cost=None)
    options = replace(options, execute=execution, plan=replace(options.plan, cases=(), tags=(), only=stored.cases))
    directory = composition.run_directory(given, config, here, Clock())
    if directory == run_directory.resolve():
        raise UsageError("--output is the run that is judged again", remedy="name another folder")
    return executed(settings, here, stored.runners, options, directory, command="rejudge")


def report(runs: Iterable[str], given: Settings, here: Place) -> int:
    """``report``: stored runs, merged; everything is read before a directory is made, which a pattern might match."""
    from skillgym_action.stored import stored_reports

    stored = stored_reports(runs, here.cwd)
    config = composition.configuration(given, here)
    options = resolve.options(given, config, here, runners=0)
    directory = composition.run_directory(given, config, here, Clock())
    if any(directory == (here.cwd / file).parent.resolve() for file, _ in stored):
        raise UsageError("--output is a run that is reported again", remedy="name another folder")
    terminal = _terminal(given, here)
    with composition.opened(here, directory, terminal, options) as world, terminal:
        told = pipeline.report(world, stored, options, show=lambda report: _show(terminal, report, directory, given))
    return _exit_code(told)


def schema(name: str | None) -> int:
    """``schema``."""
    if name is None:
        print("\n".join(SCHEMAS))  # noqa: T201
        return 0
    if name not in SCHEMAS:
        raise UsageError(f"unknown schema {name!r}", remedy=did_you_mean(name, SCHEMAS))
    print(json.dumps(SCHEMAS[name](), indent=2))  # noqa: T201
    return 0


def _config_schema() -> dict[str, object]:
    from skillgym_action.config import ConfigFile

    return ConfigFile.model_json_schema(by_alias=True)


def _suite_schema() -> dict[str, object]:
    from skillgym_action.formats.xbench import suite_schema

    return suite_schema()


def _results_schema() -> dict[str, object]:
    from skillgym_action.schemas import results_schema

    return results_schema()


SCHEMAS = {"config": _config_schema, "x-bench": _suite_schema, "results": _results_schema}
