"""What a run that ends without a report writes: annotations, the job summary, step outputs, the pull request.

Inputs and configuration may be what is wrong. Hence each setting is read on its own, and what cannot be read has a
default that does no harm: then a comment is only updated, never created.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from skillgym_action.cli.action.inputs import (
    BOOLEANS,
    MODES,
    UNPUBLISHED,
    inputs_set,
    known_inputs,
    lines_of,
    step_file,
)
from skillgym_action.cli.job_annotations import annotate, with_location
from skillgym_action.github.event import github_event
from skillgym_action.github.options import CommentMode, CommentWhen, PublisherOptions, StatusMode
from skillgym_action.github.publish_log import PublishLog
from skillgym_action.github.step_files import append_outputs, append_summary
from skillgym_action.model.errors import Problem, SkillgymError
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.records import record
from skillgym_action.model.report import ERROR_VERDICT
from skillgym_action.pipeline import wiring
from skillgym_action.reports.markdown.run_without_report import run_without_report_summary
from skillgym_action.settings.configuration import ConfigFile, with_configured
from skillgym_action.settings.context import current_context
from skillgym_action.settings.report_section import UNKNOWN, KnownReportSection, known_report_section
from skillgym_action.settings.settings import Settings
from skillgym_action.system.files.checkout import working_directory
from skillgym_action.text.escaping import terminal_line
from skillgym_action.text.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from skillgym_action.github.event import GitHubEvent
    from skillgym_action.model.report import RunWithoutReport
    from skillgym_action.settings.configuration import ReportSection


@record
class EarlySettings:
    """The settings that could be read. ``creates``: a comment may be created; ``publishes``: something is published."""

    annotations: bool
    summary: Path | None
    outputs: Path | None
    token: str
    publishes: bool
    creates: bool
    options: PublisherOptions


def publish_run_without_report(
    end: RunWithoutReport, environment: Mapping[str, str], sections: Sequence[ReportSection]
) -> None:
    """Write all that a step of the action leaves when it ends early. Trouble becomes a note.

    ``sections``: the configuration's ``report``, if it had been read. What the job keeps is written before GitHub's
    API is asked, which may take long.
    """
    redactor = Redactor.of_environment(environment)
    end = replace(end, problems=tuple(with_location(redactor.redacted(problem)) for problem in end.problems))
    settings = early_settings(environment, sections)
    event = None
    with suppress(SkillgymError):  # an event that cannot be read: there is nowhere to publish, and an error says so
        event = github_event(environment)
    notes: list[Problem] = []
    with _noting(notes, "standard output"):
        if settings.annotations:
            annotate(end.problems, (), redactor)
    links = event.links() if event else None
    with _noting(notes, "the job summary"):
        if settings.summary and not append_summary(
            settings.summary, redactor.text(run_without_report_summary(end, links))
        ):
            notes.append(Problem(message="the job summary is full"))
    outputs = {"exit-code": str(int(end.exit_code))} | ({} if end.reported else {"verdict": ERROR_VERDICT})
    with _noting(notes, "the step outputs"):
        if settings.outputs:
            append_outputs(settings.outputs, outputs)
    log = _published(end, settings, event, environment) if event and settings.publishes else PublishLog()
    with _noting(notes, "the step outputs"):
        if settings.outputs and log.comment_url:
            append_outputs(settings.outputs, log.outputs())
    _write_notes(replace(log, notes=(*notes, *log.notes)), settings, redactor)


def _published(
    end: RunWithoutReport, settings: EarlySettings, event: GitHubEvent, environment: Mapping[str, str]
) -> PublishLog:
    """What was published on GitHub. The time for it is bounded; a signal shortens it."""
    cancelled = end.exit_code == ExitCode.CANCELLED
    opened = wiring.run_without_report_publisher(
        event, settings.token, environment, settings.options, cancelled=cancelled
    )
    with opened as publisher:
        return publisher.publish_run_without_report(end, creates=settings.creates)


def _write_notes(log: PublishLog, settings: EarlySettings, redactor: Redactor) -> None:
    for note in log.notes:
        with suppress(OSError, ValueError):
            print(redactor.text(terminal_line(f"note: {note}")), file=sys.stderr)  # noqa: T201
            if settings.annotations:
                print(redactor.text(PublishLog.notice(note)))  # noqa: T201
    if log.notes and settings.summary:
        with suppress(OSError):
            append_summary(settings.summary, redactor.text(log.markdown()))


@contextmanager
def _noting(notes: list[Problem], what: str) -> Iterator[None]:
    """An error of the operating system becomes a note."""
    try:
        yield
    except OSError as error:
        notes.append(Problem(message=f"cannot write {what}: {error.strerror or error}"))


# --- settings, each read on its own ---------------------------------------------------------------------


def early_settings(environment: Mapping[str, str], sections: Sequence[ReportSection]) -> EarlySettings:
    """What can be known of the settings. Raises nothing."""
    inputs = inputs_set(environment)
    known = KnownReportSection(section=sections[0]) if sections else _section(inputs, environment)
    configured = with_configured(Settings(), ConfigFile(report=known.section))
    mode = _word(inputs, "mode", MODES)
    comment = _word(inputs, "comment", get_args(CommentMode))
    status = _word(inputs, "status", get_args(StatusMode))
    when = _word(inputs, "comment-when", get_args(CommentWhen))
    comment_id = inputs.get("comment-id") or configured.comment_id or "default"
    has_comment_id = "comment-id" in inputs or known.has_comment_id
    wanted: Any = comment or configured.comment or "update"
    wanted_status: Any = status or configured.status or "auto"
    wrong = "" in (mode, comment, status, when) or not inputs.keys() <= {*known_inputs()}
    return EarlySettings(
        annotations=_boolean(inputs, "annotations"),
        summary=step_file(environment, "GITHUB_STEP_SUMMARY") if _boolean(inputs, "summary") else None,
        outputs=step_file(environment, "GITHUB_OUTPUT"),
        token=inputs.get("github-token", ""),
        publishes=mode not in UNPUBLISHED,
        creates=not wrong and has_comment_id and (known.complete or comment is not None),
        options=PublisherOptions(
            comment=wanted if has_comment_id else "off", comment_id=comment_id, status=wanted_status
        ),
    )


def _word(inputs: Mapping[str, str], name: str, words: tuple[str, ...]) -> str | None:
    """The word of an input; None if it is not set, empty if it is unknown."""
    if name not in inputs:
        return None
    word = inputs[name].lower()
    return word if word in words else ""


def _boolean(inputs: Mapping[str, str], name: str) -> bool:
    """True unless the input is ``false``."""
    return BOOLEANS.get(inputs.get(name, "true").lower(), True)


def _section(inputs: Mapping[str, str], environment: Mapping[str, str]) -> KnownReportSection:
    """The section of the checkout's configuration; incomplete where another one may count.

    That is so with ``suites-from``, and if there is no such working directory: then the one of the workspace is read.
    """
    paths = lines_of(inputs, "suites")
    for folder in (inputs.get("working-directory", "."), "."):
        with suppress(SkillgymError, OSError, ValueError):
            named = working_directory(Path(folder))
            if not named.is_dir():
                continue
            known = known_report_section(
                Settings(config=inputs.get("config"), paths=paths), current_context(named, environment)
            )
            is_it = folder == inputs.get("working-directory", ".") and "suites-from" not in inputs
            return replace(known, complete=known.complete and is_it)
    return UNKNOWN
