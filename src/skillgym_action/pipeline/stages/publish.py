"""Stage: decided run report -> report files, annotations, job summary, pull request, step outputs.

The decision is not changed here, but a run whose reports cannot be written fails nevertheless.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.errors import ConfigError, OutputError, Problem, PublishError
from skillgym_action.model.verdicts import Status
from skillgym_action.reports import FOLDER_REPORTS, REPORTERS, reporter_named
from skillgym_action.results.run_directory import REPORT_FILES
from skillgym_action.settings.slices import kind_for
from skillgym_action.text.escaping import printed_json, printed_text, terminal_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from skillgym_action.github.publish_log import PublishLog
    from skillgym_action.github.publisher import Publisher
    from skillgym_action.model.report import RunReport
    from skillgym_action.results.run_directory import RunDirectory
    from skillgym_action.services import Observer
    from skillgym_action.settings.slices import PublishOptions

STDOUT = "standard output"
FAILED_OUTPUTS = {"verdict": "inconclusive", "exit-code": str(OutputError.exit_code)}
PRINTED_AS_TEXT = ("junit", "summary", "comment", "html")  # what else the tool has is JSON
OF_ARTIFACTS = ("html", "otlp", *FOLDER_REPORTS)  # they read the artifacts of all sessions


def publish(
    directory: RunDirectory,
    report: RunReport,
    options: PublishOptions,
    observer: Observer,
    publisher: Publisher | None = None,
    final_report: Callable[[RunReport], RunReport] = lambda report: report,
) -> RunReport:
    """Write the reports and the job summary, publish to the pull request, write the step outputs.

    Publishing may take long, and the run may be cancelled meanwhile. ``final_report`` is called after it; if it returns
    another report, reports and summary are written again. Returns the last report. Raises PublishError at the end, when
    everything that can be written has been written.
    """
    from skillgym_action.github.publish_log import PublishLog
    from skillgym_action.github.step_files import append_outputs
    from skillgym_action.reports.markdown.rows import SessionExcerpts

    problems: list[Problem] = []
    options = replace(options, excerpts=SessionExcerpts(options.artifacts))
    notes = _write_files(directory, report, options, problems, of_artifacts=False)
    if options.annotations:
        with _collecting(problems, STDOUT):
            for piece in reporter_named("annotations")(report):
                observer.write_line(directory.redactor.text(piece).rstrip("\n"))
    _append_summary(directory, report, options, problems)
    log = publisher.publish(report, options.excerpts) if publisher else PublishLog()
    if (final := final_report(report)) is not report:
        report = final
        _write_files(directory, report, options, problems, of_artifacts=False)
        _append_summary(directory, report, options, problems)
    # Last, and once: it takes the longest, and a cancelled job is killed after a few seconds.
    notes += _write_files(directory, report, options, problems, of_artifacts=True)
    if options.printed:
        notes += _print_report(directory, report, options, observer, problems)
    _publish_notes(replace(log, notes=(*notes, *log.notes)), directory, options, observer, problems)
    if options.step_outputs:
        with _collecting(problems, options.step_outputs):
            overriding = FAILED_OUTPUTS if problems and report.decision and not report.decision.exit_code else {}
            outputs = {**action_outputs(report, directory, options), **overriding, **log.outputs()}
            append_outputs(options.step_outputs, outputs)
    if problems:
        raise PublishError.of(*problems)
    return report


def _publish_notes(
    log: PublishLog, directory: RunDirectory, options: PublishOptions, observer: Observer, problems: list[Problem]
) -> None:
    """Show what was not published as it is: on the terminal, as annotations, and in the job summary."""
    from skillgym_action.github.step_files import append_summary

    levels = [("warning", "warning", problem) for problem in log.warnings]
    for word, level, note in [*levels, *(("note", "notice", problem) for problem in log.notes)]:
        observer.progress(f"{word}: {terminal_line(str(note))}")
        if options.annotations:
            with _collecting(problems, STDOUT):
                observer.write_line(directory.redactor.text(log.notice(note, level)))
    if options.step_summary and (log.notes or log.warnings):
        with _collecting(problems, options.step_summary):
            append_summary(options.step_summary, directory.redactor.text(log.markdown()))


def _write_files(
    directory: RunDirectory, report: RunReport, options: PublishOptions, problems: list[Problem], *, of_artifacts: bool
) -> list[Problem]:
    """Write the reports that read artifacts, or all other report files.

    Returns what is wrong with the user's report templates, in whose place packaged ones are used, and with the results.
    """
    from skillgym_action.results.results_file import unreadable

    notes: list[Problem] = []
    own = ((kind, directory.path / name) for kind, name in REPORT_FILES if kind != "html" or options.html)
    more = ((kind_for(report, kind), path) for kind, path in options.reports)
    for kind, path in (found for found in (*own, *more) if (found[0] in OF_ARTIFACTS) == of_artifacts):
        with _collecting(problems, path):
            if kind in FOLDER_REPORTS:
                from skillgym_action.reports.files.skill_creator import write_skill_creator

                write_skill_creator(directory, report, path)
                continue
            try:
                directory.write_whole(path, _render(kind, report, options))
                notes += unreadable(path, report) if kind == "results" else ()
            except ConfigError as error:
                notes += [problem for problem in error.problems if problem not in notes]
                directory.write_whole(path, _render(kind, report, replace(options, templates=None)))
    return notes


def _print_report(
    directory: RunDirectory, report: RunReport, options: PublishOptions, observer: Observer, problems: list[Problem]
) -> list[Problem]:
    """Write a report to standard output, whole lines at a time. Returns what is wrong with the user's templates."""
    kind, notes = options.printed or "", []
    is_json = kind in REPORTERS.own and kind not in PRINTED_AS_TEXT
    safe = {"annotations": str}.get(kind, printed_json if is_json else printed_text)
    with _collecting(problems, STDOUT), suppress(BrokenPipeError):  # the reader has what it wanted
        try:
            lines = list(_whole_lines(_render(kind, report, options))) if options.templates else None
        except ConfigError as error:
            notes, lines = list(error.problems), None
        for line in lines or _whole_lines(_render(kind, report, replace(options, templates=None))):
            observer.write_line(safe(directory.redactor.text(line)))
    return notes


def _whole_lines(pieces: Iterable[str]) -> Iterator[str]:
    """The pieces of a report as lines without their ends: a workflow command is only recognised at the start of one."""
    rest = ""
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        yield from whole
    if rest:
        yield rest


def _render(kind: str, report: RunReport, options: PublishOptions) -> Iterator[str]:
    """A report of that kind, in pieces. Raises ConfigError for a report template of the user's that fails."""
    if kind == "summary":
        from skillgym_action.reports.markdown.report import summary

        return summary(report, templates=options.templates, excerpts=options.excerpts)
    if kind == "comment":
        from skillgym_action.reports.markdown.report import comment

        return comment(report, comment_id=options.comment_id, templates=options.templates, excerpts=options.excerpts)
    if kind == "html":
        from skillgym_action.reports.html.report import render

        return render(report, templates=options.templates, artifacts=options.artifacts)
    if kind == "otlp":
        from skillgym_action.reports.files.otlp import render as traces

        return traces(report, artifacts=options.artifacts, content=options.otlp_content)
    return reporter_named(kind)(report) if kind in REPORTERS.own else _of_plug_in(kind, report)


def _of_plug_in(kind: str, report: RunReport) -> Iterator[str]:
    with REPORTERS.blamed(kind, OutputError):
        yield from map(str, reporter_named(kind)(report))


@contextmanager
def _collecting(problems: list[Problem], path: Path | str) -> Iterator[None]:
    """Collect what cannot be written in ``problems``, so that the rest is written."""
    try:
        yield
    except OutputError as error:
        problems += error.problems
    except OSError as error:
        problem = Problem(message=f"cannot write {path}: {error.strerror or error}")
        problems += [] if problem in problems else [problem]


def _append_summary(
    directory: RunDirectory, report: RunReport, options: PublishOptions, problems: list[Problem]
) -> None:
    """Append ``summary.md`` to the job summary; rendered again if the file could not be written."""
    if not options.step_summary:
        return
    from skillgym_action.github.step_files import append_summary

    with _collecting(problems, options.step_summary):
        try:
            pieces = [(directory.path / "summary.md").read_text(encoding="utf-8")]
        except FileNotFoundError:
            pieces = list(_render("summary", report, replace(options, templates=None)))
        if not append_summary(options.step_summary, directory.redactor.text("".join(pieces))):
            full = f"The job summary is full; this run's is in {directory.path.name}/summary.md.\n"
            append_summary(options.step_summary, full)


def action_outputs(report: RunReport, directory: RunDirectory, options: PublishOptions) -> dict[str, str]:
    """The action's outputs: numbers, fixed words and paths, never text of an agent. Unknown values are empty.

    Paths are relative to the job's workspace, which later steps see under another path than the container.
    """
    totals, decision = report.totals(), report.decision
    paths = {kind: directory.path / name for kind, name in REPORT_FILES} | dict(options.reports)
    has_html = options.html or "html" in dict(options.reports)
    if decision is None:
        raise ValueError("a report has no outputs before the gate has decided")
    rate, cost = totals.pass_rate, totals.cost_usd
    return {
        "verdict": decision.verdict,
        "exit-code": str(decision.exit_code),
        "executions": str(totals.executions),
        **{status.value: str(totals.counts[status]) for status in Status},
        "pass-rate": "" if rate is None else f"{rate:.4f}",
        "flaky": str(totals.flaky),
        "comparison": report.comparison.verdict if report.comparison else "",
        "regression-check": report.adaptive.check if report.adaptive else "",
        "cost-usd": "" if cost is None or not totals.cost_complete else f"{cost:.6f}",
        "tokens": "" if totals.tokens.total_tokens is None else str(totals.tokens.total_tokens),
        "duration-seconds": f"{report.duration_ms / 1000:.3f}",
        "report-dir": _relative(directory.path, options.workspace),
        **{f"{kind}-path": _relative(paths[kind], options.workspace) for kind in ("junit", "results", "summary")},
        "store-path": _relative(directory.store, options.workspace) if directory.store else "",
        "html-path": _relative(paths["html"], options.workspace) if has_html else "",
    }


def _relative(path: Path, folder: Path | None) -> str:
    return path.relative_to(folder).as_posix() if folder and path.is_relative_to(folder) else str(path)
