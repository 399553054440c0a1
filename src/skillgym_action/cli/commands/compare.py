"""The command ``compare``: two stored runs side by side, with the statistics of a run with a baseline."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from skillgym_action.cli.commands.run import exit_code_of
from skillgym_action.cli.schemas.json_documents import (
    ChangedPart,
    ComparisonDocument,
    DecisionPart,
    ExecutionPart,
    IntervalPart,
    RateChangePart,
    RunnerSidesPart,
    RunSidePart,
    SampledPart,
    SidePart,
    print_document,
)
from skillgym_action.cli.terminal import is_colored, terminal_for
from skillgym_action.model.comparison import is_flaky
from skillgym_action.model.errors import UsageError
from skillgym_action.pipeline import pipeline, wiring
from skillgym_action.reports.terminal.comparison import render
from skillgym_action.reports.wording.rates import comparison_verdict
from skillgym_action.reports.wording.results import runner_id
from skillgym_action.results.session_artifacts import artifact_root
from skillgym_action.results.statistics.comparison import difference
from skillgym_action.results.statistics.rates import MIN_CASES, population_rate, same_cases_rate
from skillgym_action.results.stored_runs import stored_reports
from skillgym_action.settings import resolve
from skillgym_action.settings.baseline_options import ReportOptions
from skillgym_action.settings.option_types import PRINTED
from skillgym_action.settings.slices import GateOptions, output_directory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.cli.terminal import Terminal
    from skillgym_action.model.comparison import ResultPair, Samples
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.model.totals import Totals
    from skillgym_action.results.statistics.rates import RateEstimate
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings
    from skillgym_action.settings.slices import Options


def compare_runs(base: str, head: str, settings: Settings, context: LaunchContext, *, as_json: bool) -> int:
    """Print the comparison of two stored runs and write its reports; the exit code. Raises UsageError, ConfigError.

    Without ``--output`` no run directory is kept.
    """
    sides = [stored_reports((name,), context.cwd) for name in (base, head)]
    config = wiring.configuration(settings, context)
    files = [context.cwd / file for side in sides for file, _ in side]
    options = resolve.options(settings, config, context, runners=0, stored=files)
    options = _options(options, settings, context, base)
    if as_json and options.publish.printed:
        raise UsageError("--json and --report with - both write to standard output", remedy="leave one of them out")
    terminal = terminal_for(settings, context)
    with ExitStack() as stack:
        directory = _run_directory(settings, context, config, files, stack)
        services = stack.enter_context(wiring.open_services(context, directory, terminal, options))

        def show(before: RunReport, after: RunReport) -> None:
            if as_json:
                print_document(_document(before, after), context.redactor)
            else:
                _show(terminal, before, after, settings, context)

        roots = [artifact_root(file, context.cwd, confined=False) for file, _ in sides[1]]
        return exit_code_of(pipeline.compare(services, sides[0], sides[1], options, show=show, roots=roots))


def _options(options: Options, settings: Settings, context: LaunchContext, base: str) -> Options:
    """The options, in which only what the user named on the command line or in the environment decides."""
    gate = GateOptions(
        fail_on=options.gate.fail_on if settings.fail_on else frozenset(),
        min_pass_rate=settings.min_pass_rate,
        max_error_rate=settings.max_error_rate,
        min_uplift=settings.min_uplift,
    )
    publish = replace(options.publish, html=options.publish.html and bool(output_directory(settings.output)))
    compared = ReportOptions(baseline=context.cwd / base, named=base)
    return replace(options, gate=gate, report=compared, publish=publish, store=None)


def _run_directory(
    settings: Settings, context: LaunchContext, config: Config, files: Iterable[Path], stack: ExitStack
) -> Path:
    """The run directory; without ``--output`` one that is removed when ``stack`` is closed. Raises UsageError."""
    if not output_directory(settings.output):
        return Path(stack.enter_context(TemporaryDirectory(prefix="skillgym-"))) / "run"
    directory = resolve.run_directory(settings, config, context)
    if any(directory == file.parent.resolve() for file in files):
        raise UsageError("--output is a run that is compared", remedy="name another folder")
    return directory


def _show(terminal: Terminal, before: RunReport, after: RunReport, settings: Settings, context: LaunchContext) -> None:
    """Print the comparison; on stderr if a report goes to standard output."""
    printed = any(path == PRINTED for _, path in settings.report)
    color = not settings.no_color and (printed or is_colored(sys.stdout, context.environment))
    pieces = tuple(render(before, after, color=color))
    text = "".join(pieces[-1:] if settings.quiet else pieces)
    if printed:
        terminal.show([text])
    else:
        terminal.print_text(text)


def _document(before: RunReport, after: RunReport) -> ComparisonDocument:
    """The comparison as a document. Raises ValueError for a report without comparison or decision."""
    found, decision = after.comparison, after.decision
    if found is None or decision is None:
        raise ValueError("the report has no comparison or no decision")
    names = dict.fromkeys(runner.id for report in (before, after) for runner in report.runners)
    return ComparisonDocument(
        exit_code=decision.exit_code,
        verdict=found.verdict,
        reason=found.reason or comparison_verdict(found),
        decision=DecisionPart(verdict=decision.verdict, reasons=list(decision.reasons)),
        base=_run_side(before),
        head=_run_side(after),
        runners=[RunnerSidesPart(id=name, base=_of(before, name), head=_of(after, name)) for name in names],
        rate=RateChangePart(**{name: getattr(found.rate, name) for name in RateChangePart.model_fields})
        if found.rate
        else None,
        coverage=found.coverage.share,
        differences=[difference(one) for one in found.differences],
        newly_failing=_changed(found.newly_failing),
        fixed=_changed(found.fixed),
        changed=_changed(found.changed),
        no_longer_judged=_named(found.no_longer_judged),
        redefined=_named(found.redefined),
        added=_named(found.added),
        removed=_named(found.removed),
    )


def _run_side(report: RunReport) -> RunSidePart:
    flaky = [result for result in report.results if is_flaky(result, report.sampled_repetitions)]
    return RunSidePart(
        **_side(report.totals()),
        id=report.id,
        commit=report.commit,
        started_at=report.started_at,
        flaky=_named(flaky),
    )


def _of(report: RunReport, runner: str) -> SidePart:
    return SidePart(**_side(report.totals(lambda result: runner_id(result) == runner)))


def _side(totals: Totals) -> dict[str, Any]:
    """The fields of ``SidePart``."""
    again = same_cases_rate(totals.cases) if totals.cases else None
    others = population_rate(totals.cases) if len(totals.cases) >= MIN_CASES else None
    return {
        "executions": totals.executions,
        "judged": totals.judged,
        "pass_rate": totals.pass_rate,
        "same_cases": _interval(again),
        "cases_like_these": _interval(others),
        "cost_usd": totals.cost_usd,
        "cost_complete": totals.cost_complete,
        "tokens": totals.tokens.total_tokens,
        "duration_ms": totals.duration_ms,
    }


def _interval(estimate: RateEstimate | None) -> IntervalPart | None:
    return IntervalPart(low=estimate.interval[0], high=estimate.interval[1]) if estimate else None


def _named(results: Iterable[Result]) -> list[ExecutionPart]:
    return [ExecutionPart(**_execution(result)) for result in results]


def _execution(result: Result) -> dict[str, Any]:
    return {
        "suite": result.suite.path,
        "case": result.case_id,
        "runner": result.runner.id if result.runner else None,
    }


def _changed(pairs: Iterable[ResultPair]) -> list[ChangedPart]:
    return [
        ChangedPart(**_execution(pair.after), before=_sampled(pair.samples_before), after=_sampled(pair.samples_after))
        for pair in pairs
    ]


def _sampled(samples: Samples) -> SampledPart:
    return SampledPart(passed=samples.passed, judged=samples.judged)
