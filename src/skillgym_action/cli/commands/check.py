"""The command ``check``: load and validate configuration and suites."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from skillgym_action.cli.terminal import gathered, once, suite_errors, suite_warnings
from skillgym_action.model.errors import Location, Problem, UsageError
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.suite import Invalid
from skillgym_action.pipeline import pipeline, wiring
from skillgym_action.pipeline.checks import judge_problems
from skillgym_action.pipeline.stages.checkout import checkout_warnings
from skillgym_action.pipeline.stages.discover import near_miss_warnings
from skillgym_action.pipeline.stages.load import vacuous_warnings
from skillgym_action.pipeline.stages.plan import (
    check_runner_selectors,
    filter_warnings,
    nothing_selected,
    runner_warnings,
    with_selected_runners,
)
from skillgym_action.pipeline.stages.quarantine import quarantine_warnings
from skillgym_action.settings import resolve
from skillgym_action.text.documents.user_files import missing_folder
from skillgym_action.text.escaping import terminal_line
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from skillgym_action.cli.schemas.json_documents import FoundSuitePart
    from skillgym_action.model.suite import BenchmarkSuite, Discovery
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings

MAX_LISTED_SKIPPED_FILES = 50  # by `check`, of those that are no suites


def check_suites(settings: Settings, context: LaunchContext, *, as_json: bool = False) -> int:
    """Print every problem on stderr, and on stdout how much there is to run. Raises UsageError, ConfigError."""
    with wiring.with_suite_source(settings, context) as with_suites:
        return _check(settings, with_suites, as_json=as_json)


def _check(settings: Settings, context: LaunchContext, *, as_json: bool) -> int:
    from skillgym_action.cli.terminal import show_configuration, terminal_for

    config = wiring.configuration(settings, context)
    terminal = terminal_for(settings, context)
    show_configuration(terminal, settings, context, config)
    runners, options = resolve.runners_and_options(settings, config, context)
    with wiring.services_without_run(context, terminal, settings.agent_user) as services:
        found = pipeline.find_suites(services, options)
        suites = pipeline.load_suites(services, options, found)
        vacuous = tuple(vacuous_warnings(suites, services.repository.checkout))
        of_checkout = checkout_warnings(services, suites)
        today = services.clock.now().date()
    suites = tuple(map(with_missing_templates, suites))
    check_runner_selectors(suites, runners, options.plan)
    suites = with_selected_runners(suites, runners, options.plan)
    if not as_json:
        for line in (*map(_found_line, suites), *_skipped_lines(found)):
            print(context.redactor.text(terminal_line(line)))  # noqa: T201
    if options.judge is None:
        suites = tuple(map(_with_missing_judge, suites))
    nothing = nothing_selected(suites, options.plan)
    filters = (
        () if nothing else (*filter_warnings(suites, options.plan), *runner_warnings(suites, runners, options.plan))
    )
    every_suite = options.discover.every_suite
    quarantine = quarantine_warnings(options.plan.quarantine, suites, today=today, every_suite=every_suite)
    configured = chain.from_iterable(runner.warnings for runner in runners)
    warnings = (*configured, *near_miss_warnings(found), *of_checkout, *filters, *vacuous, *quarantine)
    code = print_problems(suites, context, warnings, annotations=not as_json)
    if code and not as_json:
        return code
    if nothing and not code:
        raise UsageError.of(nothing)
    if as_json:
        _print_json(found, suites, warnings, len(runners), context)
    else:
        print(_summary(suites, len(runners)))  # noqa: T201
    return code


def _print_json(
    found: Discovery,
    suites: Sequence[BenchmarkSuite],
    warnings: Sequence[Problem],
    configured: int,
    context: LaunchContext,
) -> None:
    from skillgym_action.cli.schemas.json_documents import CheckDocument, SkippedFilePart, print_document, problem_parts

    errors = once(suite_errors(suites))
    all_warnings = (*warnings, *once(suite_warnings(suites)))
    document = CheckDocument(
        exit_code=ExitCode.INVALID_INPUT if errors else ExitCode.PASSED,
        suites=[_found_part(suite) for suite in suites],
        skipped=[SkippedFilePart(path=path, reason=why.reason) for path, why in found.skipped],
        not_searched=found.not_searched,
        runners=_runners(suites, configured),
        problems=[*problem_parts(errors), *problem_parts(all_warnings, "warning")],
    )
    print_document(document, context.redactor)


def _found_part(suite: BenchmarkSuite) -> FoundSuitePart:
    from skillgym_action.cli.schemas.json_documents import FoundSuitePart

    return FoundSuitePart(
        path=suite.path,
        format=suite.format,
        loaded=bool(suite.cases) or not any(invalid.case_id is None for invalid in suite.invalid),
        cases=len(suite.cases),
        unusable=len(suite.invalid),
    )


def with_missing_templates(suite: BenchmarkSuite) -> BenchmarkSuite:
    """The suite with a problem for each template that is no folder: sessions that need it would be errored."""
    specs = {suite.workspace.template, *(case.workspace.template for case in suite.cases if case.workspace)}
    missing = [
        Problem(
            message=f"workspace template {template.name}: {problem}",
            location=Location(path=suite.path),
            remedy="the path of a template is relative to the suite file",
        )
        for template in sorted(path for path in specs if path)
        if (problem := missing_folder(template))
    ]
    return replace(suite, invalid=(*suite.invalid, *(Invalid(problem=problem) for problem in missing)))


def _runners(suites: Iterable[BenchmarkSuite], configured: int) -> int:
    """The number of runners; suites can bring their own."""
    return configured + sum(len(suite.runners) for suite in suites)


def _with_missing_judge(suite: BenchmarkSuite) -> BenchmarkSuite:
    """The suite with a problem if cases of it cannot be judged, since no judge is configured."""
    problems = judge_problems([(suite.path, case) for case in suite.cases])
    return replace(suite, invalid=(*suite.invalid, *(Invalid(problem=problem) for problem in problems)))


def _found_line(suite: BenchmarkSuite) -> str:
    """A suite file with its format and what is in it."""
    if not suite.cases and any(invalid.case_id is None for invalid in suite.invalid):
        return f"{suite.path}: {suite.format}, cannot be loaded"
    unusable = f", and {len(suite.invalid):,} that cannot be used" if suite.invalid else ""
    skills = ", ".join(skill.name for skill in suite.workspace.skills)
    tested = f" of the skill{'s' if len(suite.workspace.skills) > 1 else ''} {skills}" if skills else ""
    return f"{suite.path}: {suite.format}{tested}, {counted(len(suite.cases), 'case')}{unusable}"


def _skipped_lines(found: Discovery) -> Iterator[str]:
    """What is called or written like a suite and is not run, with the reason; near misses are warnings as well."""
    for path, why in found.skipped[:MAX_LISTED_SKIPPED_FILES]:
        yield f"skipped: {path}: {why.reason}"
    if (rest := len(found.skipped) - MAX_LISTED_SKIPPED_FILES) > 0:
        yield f"skipped: {counted(rest, 'more file')} like that"
    if found.not_searched:
        yield f"not searched: {counted(found.not_searched, 'file')} without the name of a suite: there are too many"


def _summary(suites: Sequence[BenchmarkSuite], configured: int) -> str:
    """How much there is to run."""
    cases = sum(len(suite.cases) for suite in suites)
    runners = _runners(suites, configured)
    found = f"OK: {counted(len(suites), 'suite')}, {counted(cases, 'case')}"
    if not runners:
        return f"{found}. No runner is configured: add one, or pass --runner"
    return f"{found}, {counted(runners, 'runner')}"


def print_problems(
    suites: Iterable[BenchmarkSuite],
    context: LaunchContext,
    warnings: Iterable[Problem] = (),
    *,
    annotations: bool = False,
) -> int:
    """Print ``warnings``, and those and problems of suites, on stderr; the exit code, 0 if there is no problem.

    ``annotations``: in a job on GitHub, also print them as annotations on stdout.
    """
    redacted = context.redactor.text
    suites = tuple(suites)
    warned, wrong = tuple(suite_warnings(suites)), tuple(suite_errors(suites))
    for kind, problems in (("warning", (*warnings, *gathered(warned))), ("error", gathered(wrong))):
        for problem in problems:
            print(redacted(terminal_line(f"{kind}: {problem}")), file=sys.stderr)  # noqa: T201
    if annotations and context.in_job:
        from skillgym_action.cli.job_annotations import annotate

        annotate(once(wrong), (*warnings, *once(warned)), context.redactor)
    return ExitCode.INVALID_INPUT if wrong else ExitCode.PASSED
