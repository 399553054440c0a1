"""Stage: a decided run report -> files, job summary, annotations, step outputs, pull request.

The decision is made: nothing here changes it.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.github.publish_log import PublishLog
from skillgym_action.github.step_files import append_outputs, append_summary
from skillgym_action.model.errors import ConfigError, OutputError, Problem
from skillgym_action.model.verdicts import Status
from skillgym_action.reporters import reporter_named
from skillgym_action.storage.run_directory import REPORTS
from skillgym_action.text.escaping import terminal_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from skillgym_action.github.publisher import Publisher
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.services import Observer
    from skillgym_action.settings.options import PublishOptions
    from skillgym_action.storage.run_directory import RunDirectory

STANDARD_OUTPUT = "standard output"
UNDELIVERED = {"verdict": "inconclusive", "exit-code": str(OutputError.exit_code)}
ALWAYS = tuple(zip(("results", "junit", "summary", "comment"), REPORTS, strict=True))


def publish(
    directory: RunDirectory,
    report: RunReport,
    options: PublishOptions,
    observer: Observer,
    publisher: Publisher | None = None,
    as_it_ended: Callable[[RunReport], RunReport] = lambda report: report,
) -> RunReport:
    """Write every report, then GitHub's files, then the pull request, which may take long.

    ``as_it_ended`` is asked then: what it makes of the report replaces what was written. Raises OutputError at the end,
    when everything that can be written is.
    """
    problems: list[Problem] = []
    notes = _write_files(directory, report, options, problems)
    if options.annotations:
        with _collecting(problems, STANDARD_OUTPUT):
            for piece in reporter_named("annotations")(report):
                observer.write_line(directory.redactor.text(piece).rstrip("\n"))
    _summarize(directory, report, options, problems)
    log = publisher.publish(report) if publisher else PublishLog()
    if (ended := as_it_ended(report)) is not report:
        report = ended
        _write_files(directory, report, options, problems)
        _summarize(directory, report, options, problems)
    _report_notes(replace(log, notes=(*notes, *log.notes)), directory, options, observer, problems)
    if options.step_outputs:
        with _collecting(problems, options.step_outputs):
            undelivered = UNDELIVERED if problems and report.decision and report.decision.passed else {}
            outputs = action_outputs(report, directory, options)
            append_outputs(options.step_outputs, {**outputs, **undelivered, **log.outputs()})
    if problems:
        raise OutputError.of(*problems)
    return report


def _report_notes(
    log: PublishLog, directory: RunDirectory, options: PublishOptions, observer: Observer, problems: list[Problem]
) -> None:
    """What did not go well, to whoever may have to do something about it."""
    for note in log.notes:
        observer.progress(f"note: {terminal_line(str(note))}")
        if options.annotations:
            with _collecting(problems, STANDARD_OUTPUT):
                observer.write_line(directory.redactor.text(log.notice(note)))
    if options.step_summary and log.notes:
        with _collecting(problems, options.step_summary):
            append_summary(options.step_summary, directory.redactor.text(log.markdown()))


def _write_files(
    directory: RunDirectory, report: RunReport, options: PublishOptions, problems: list[Problem]
) -> list[Problem]:
    """What is wrong with report templates of the user's, in whose place ours are used."""
    notes: list[Problem] = []
    for kind, path in (*((kind, directory.path / name) for kind, name in ALWAYS), *options.reports):
        with _collecting(problems, path):
            try:
                directory.write_whole(path, render(kind, report, options))
            except ConfigError as error:
                notes += [problem for problem in error.problems if problem not in notes]
                directory.write_whole(path, render(kind, report, replace(options, templates=None)))
    return notes


def render(kind: str, report: RunReport, options: PublishOptions) -> Iterator[str]:
    """A report of that kind, in pieces. Raises ConfigError for a template of the user's that does not work."""
    if kind == "summary":
        from skillgym_action.reporters.markdown import summary

        return summary(report, templates=options.templates)
    if kind == "comment":
        from skillgym_action.reporters.markdown import comment

        return comment(report, comment_id=options.comment_id, templates=options.templates)
    return reporter_named(kind)(report)


@contextmanager
def _collecting(problems: list[Problem], path: Path | str) -> Iterator[None]:
    """What cannot be written must not keep the rest from being written."""
    try:
        yield
    except OutputError as error:
        problems += error.problems
    except OSError as error:
        problem = Problem(message=f"cannot write {path}: {error.strerror or error}")
        problems += [] if problem in problems else [problem]


def _summarize(directory: RunDirectory, report: RunReport, options: PublishOptions, problems: list[Problem]) -> None:
    """The job summary has what the file has, or would have, if that could be written."""
    if not options.step_summary:
        return
    with _collecting(problems, options.step_summary):
        try:
            pieces = [(directory.path / "summary.md").read_text(encoding="utf-8")]
        except FileNotFoundError:
            pieces = list(render("summary", report, replace(options, templates=None)))
        if not append_summary(options.step_summary, directory.redactor.text("".join(pieces))):
            full = f"The job summary is full; this run's is in {directory.path.name}/summary.md.\n"
            append_summary(options.step_summary, full)


def action_outputs(report: RunReport, directory: RunDirectory, options: PublishOptions) -> dict[str, str]:
    """The action's outputs: numbers, words of ours and paths, never an agent's text. Unknown is empty.

    Paths are relative to the working directory, since later steps know it by another name.
    """
    totals, decision = report.totals(), report.decision
    places = {kind: directory.path / name for kind, name in ALWAYS} | dict(options.reports)
    if decision is None:
        raise ValueError("the gate decides before anything is delivered")
    rate, cost = totals.pass_rate, totals.cost_usd
    return {
        "verdict": decision.verdict,
        "exit-code": str(decision.exit_code),
        "executions": str(totals.executions),
        **{status.value: str(totals.counts[status]) for status in Status},
        "pass-rate": "" if rate is None else f"{rate:.4f}",
        "cost-usd": "" if cost is None or not totals.cost_complete else f"{cost:.6f}",
        "tokens": "" if totals.tokens.total_tokens is None else str(totals.tokens.total_tokens),
        "duration-seconds": f"{report.duration_ms / 1000:.3f}",
        **{f"{kind}-path": _relative(places[kind], options.cwd) for kind in ("junit", "results", "summary")},
    }


def _relative(path: Path, folder: Path | None) -> str:
    return path.relative_to(folder).as_posix() if folder and path.is_relative_to(folder) else str(path)
