"""Reporters: the job summary and the pull request comment, from report templates users may override."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, TypedDict, Unpack

from jinja2 import (
    BaseLoader,
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    PrefixLoader,
    StrictUndefined,
    TemplateError,
    TemplateRuntimeError,
    TemplateSyntaxError,
)
from jinja2.bccache import Bucket, FileSystemBytecodeCache

from skillgym_action.errors import ConfigError, Location, Problem
from skillgym_action.reporters.figures import ALL_DETAILS, Figures
from skillgym_action.reporters.fitting import Room, fitted, size_in_bytes
from skillgym_action.reporters.rows import NOTHING, inline, linked, ours
from skillgym_action.reporters.view import verdict_of, view_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jinja2 import Template
    from markupsafe import Markup

    from skillgym_action.domain import RunReport
    from skillgym_action.reporters.view import View

COMMENT = 65_000  # characters; GitHub promises to take 65,536
SUMMARY = 1_000_000  # bytes; GitHub drops a summary of more than 1,048,576
PACKAGED = Path(__file__).parent.parent / "templates"
_HIDDEN_LINE = re.compile(r"<!--\s*(?:skillgym-action|run)\b")


class Hidden(TypedDict, total=False):
    """What the hidden lines of a comment say. ``run_key`` is ``<run id>/<attempt>``."""

    comment_id: str
    run_key: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Live:
    """What the comment says before there is a report, escaped; ``spent`` and ``run`` may be empty."""

    title: Markup
    spent: Markup
    run: Markup


def summary(report: RunReport, *, templates: Path | None = None) -> Iterator[str]:
    """The job summary; ``templates`` is a folder whose files come before ours. Raises ConfigError."""
    yield _report(report, "summary.md.j2", templates, SUMMARY, size_in_bytes)


def comment(
    report: RunReport, *, templates: Path | None = None, limit: int = COMMENT, **hidden: Unpack[Hidden]
) -> Iterator[str]:
    """The comment in at most ``limit`` characters, below hidden lines by which a run finds it. Raises ConfigError."""
    first = _first_lines(**hidden)
    yield first + _report(report, "comment.md.j2", templates, limit - len(first), len)


def running(
    *, done: int, total: int, spent: str, run: str | None, templates: Path | None = None, **hidden: Unpack[Hidden]
) -> str:
    """The comment while the run goes on. ``spent`` is a phrase, ``run`` an address. Raises ConfigError."""
    title = ours(f"⏳ Running: {done:,} of {total:,}")
    return _first_lines(**hidden) + _live(title, inline(spent), run, templates)


def unfinished(*, run: str | None, templates: Path | None = None, **hidden: Unpack[Hidden]) -> str:
    """The comment of a run that ended without a report. Raises ConfigError."""
    title = ours("⚠️ Inconclusive: the run ended before its report")
    return _first_lines(**hidden) + _live(title, NOTHING, run, templates)


def _live(title: Markup, spent: Markup, run: str | None, templates: Path | None) -> str:
    name = "running.md.j2"
    with _users(name, templates):
        live = Live(title=title, spent=spent, run=linked(ours(ALL_DETAILS), run) if run else NOTHING)
        return _rendered(environment(templates).get_template(name), live)


def marker(comment_id: str) -> str:
    """The hidden line of the comment with this id."""
    return f"<!-- skillgym-action:{re.sub(r'[^A-Za-z0-9_.]+', '-', comment_id)[:100]} -->"


def _first_lines(*, comment_id: str = "default", run_key: str | None = None) -> str:
    if run_key is None:
        return f"{marker(comment_id)}\n"
    if not re.fullmatch(r"\d{1,18}/\d{1,9}", run_key, re.ASCII):
        raise ValueError(f"{run_key!r} is not <run id>/<attempt>")
    return f"{marker(comment_id)}\n<!-- run: {run_key} -->\n"


class _Compiled(FileSystemBytecodeCache):
    """Our templates are compiled once, beside Python's own compiled files; every time where those cannot be written."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled."""
        with suppress(OSError):
            super().dump_bytecode(bucket)


@cache  # both reports are made of the same templates; to compile them takes longer than all the rest
def environment(templates: Path | None = None) -> Environment:
    """Where report templates are rendered: nothing unescaped, nothing undefined. ``packaged/`` always names ours.

    Users' own are rendered in a sandbox; which ours do not need, and which takes most of the time.
    """
    if templates:
        from jinja2.sandbox import SandboxedEnvironment
    packaged = FileSystemLoader(PACKAGED)
    loaders: list[BaseLoader] = [packaged, PrefixLoader({"packaged": packaged})]
    return (SandboxedEnvironment if templates else Environment)(
        loader=ChoiceLoader([FileSystemLoader(templates), *loaders] if templates else loaders),
        undefined=StrictUndefined,
        bytecode_cache=None if templates else _Compiled(str(Path(__file__).parent / "__pycache__")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _report(report: RunReport, name: str, templates: Path | None, limit: int, measure: Callable[[str], int]) -> str:
    """The rendered template, in at most ``limit`` as ``measure`` counts."""
    figures = Figures.of(report)
    with _users(name, templates):
        template = environment(templates).get_template(name)
        text = fitted(
            lambda room: _rendered(template, view_of(figures, Room(room, measure))),
            lambda: _rendered(template, verdict_of(figures)),
            limit,
            measure,
        )
    if measure(text) > limit:
        raise ConfigError(f"the report template {name} makes more text than fits, even with the verdict alone")
    return text


def _rendered(template: Template, view: View | Live) -> str:
    text = template.render(view=view).strip() + "\n"
    if _HIDDEN_LINE.search(text):
        raise TemplateRuntimeError("the hidden lines that tell comments apart are written by the program alone")
    return text


@contextmanager
def _users(name: str, templates: Path | None) -> Iterator[None]:
    """What is wrong with a report template is said with its place."""
    try:
        yield
    except (TemplateError, UnicodeDecodeError) as error:
        location = _place_of(error) or Location(path=str((templates or PACKAGED) / name))
        message = getattr(error, "message", None) or str(error) or type(error).__name__
        raise ConfigError.of(Problem(message=message, location=location, remedy="mend the report template")) from error


def _place_of(error: Exception) -> Location | None:
    """The line of the innermost report template: the one that could not be read, or was being rendered."""
    if isinstance(error, TemplateSyntaxError) and error.filename:
        return Location(path=error.filename, line=error.lineno)
    places = [
        Location(path=frame.f_code.co_filename, line=line)
        for frame, line in walk_tb(error.__traceback__)
        if frame.f_code.co_filename.endswith(".j2")
    ]
    return places[-1] if places else None
