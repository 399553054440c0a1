"""Reporters: the job summary and the pull request comment, rendered from report templates that users may override.

A report that is larger than GitHub accepts is rendered again with fewer rows; text is never cut.
"""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypedDict, Unpack

from jinja2 import ChoiceLoader, Environment, FileSystemBytecodeCache, FileSystemLoader, PrefixLoader, StrictUndefined

from skillgym_action.model.errors import ConfigError, Problem
from skillgym_action.model.limits import COMMENT_CHARACTERS, MAX_SUMMARY_BYTES
from skillgym_action.model.records import record
from skillgym_action.model.version import __version__
from skillgym_action.reports.markdown.figures import ALL_RESULTS, ReportTotals
from skillgym_action.reports.markdown.rows import COMMENT, SUMMARY, RowBudget, SessionExcerpts, inline, linked
from skillgym_action.reports.markdown.view import verdict_of, view_of
from skillgym_action.reports.template_values import NOTHING, markup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jinja2.bccache import Bucket
    from markupsafe import Markup

    from skillgym_action.model.report import RunReport
    from skillgym_action.reports.markdown.rows import ReportExtent
    from skillgym_action.reports.markdown.view import View

PACKAGED = Path(__file__).parents[2] / "templates"
COMPILED = PACKAGED / "__pycache__"
_TRIES = 5
_MARGIN = 0.98  # of the estimated budget, so that the next try nearly always fits
_HIDDEN_LINE = re.compile(r"<!--\s*(?:skillgym-action|run)\b")


class HiddenLines(TypedDict, total=False):
    """Values of the hidden lines of a comment. ``run_key`` is ``<run id>/<attempt>``; ``commit``: of the report."""

    comment_id: str
    run_key: str | None
    commit: str | None


@record
class RunProgress:
    """A run that has no report yet: ``done`` of ``total`` executions, ``spent`` as text, ``run``: the run's address.

    ``ended``: there will be no report.
    """

    done: int = 0
    total: int = 0
    spent: str = ""
    run: str | None = None
    ended: bool = False


@record
class RunningView:
    """The escaped values for the template of a run without a report; ``spent`` and ``run`` may be empty."""

    title: Markup
    spent: Markup
    run: Markup


class Templates(Protocol):
    """Report templates of the user, which replace packaged ones and are rendered by another process."""

    def replaces(self, name: str) -> bool:
        """Whether one of them is used when the packaged template of this name is rendered."""
        ...

    def rendered(self, name: str, view: object) -> str:
        """Return the text rendered from a view with the template of this name. Raises ConfigError."""
        ...


@record
class _Kind:
    """One of the two reports: its template, how much it shows, and its size in the unit of ``measure``."""

    name: str
    extent: ReportExtent
    limit: int
    measure: Callable[[str], int]


def summary(
    report: RunReport, *, templates: Templates | None = None, excerpts: SessionExcerpts | None = None
) -> Iterator[str]:
    """Yield the job summary. Raises ConfigError for ``templates`` that do not work.

    ``excerpts``: what sessions left; without them only what is in the results.
    """
    kind = _Kind(name="summary.md.j2", extent=SUMMARY, limit=MAX_SUMMARY_BYTES, measure=size_in_bytes)
    yield _report(report, kind, templates, excerpts)


def comment(
    run: RunReport | RunProgress,
    *,
    templates: Templates | None = None,
    excerpts: SessionExcerpts | None = None,
    limit: int = COMMENT_CHARACTERS[0],
    **hidden: Unpack[HiddenLines],
) -> Iterator[str]:
    """Yield the comment on a run in progress or on a report, below the hidden lines that identify it.

    A report has at most ``limit`` characters. Raises ConfigError for ``templates`` that do not work.
    """
    first = first_lines(**hidden)
    if isinstance(run, RunProgress):
        yield first + _rendered("running.md.j2", _running_view(run), templates)
    else:
        first += report_line(hidden["commit"]) if "commit" in hidden else ""
        kind = _Kind(name="comment.md.j2", extent=COMMENT, limit=limit - len(first), measure=len)
        yield first + _report(run, kind, templates, excerpts)


def _running_view(run: RunProgress) -> RunningView:
    title = f"⏳ Running: {run.done:,} of {run.total:,}"
    if run.ended:
        title = "⚠️ Not tested: the run ended before its report"
    return RunningView(
        title=markup(title), spent=inline(run.spent), run=linked(markup(ALL_RESULTS), run.run) if run.run else NOTHING
    )


def marker(comment_id: str) -> str:
    """Return the hidden line by which the comment with this id is found."""
    return f"<!-- skillgym-action:{re.sub(r'[^A-Za-z0-9_.]+', '-', comment_id)[:100]} -->"


def report_line(commit: str | None) -> str:
    """Return the hidden line of a comment that has a report on a commit, by which later runs can name it."""
    return f"<!-- skillgym-action-report: {commit or 'unknown'} -->\n"


def first_lines(*, comment_id: str = "default", run_key: str | None = None, commit: str | None = None) -> str:
    """Return the hidden lines that every comment begins with; ``commit`` is not in them."""
    del commit
    if run_key is None:
        return f"{marker(comment_id)}\n"
    if not re.fullmatch(r"\d{1,18}/\d{1,9}", run_key, re.ASCII):
        raise ValueError(f"{run_key!r} is not <run id>/<attempt>")
    return f"{marker(comment_id)}\n<!-- run: {run_key} -->\n"


class CompiledTemplates(FileSystemBytecodeCache):
    """The packaged templates as Python's code, in a folder beside them, as Python keeps its modules.

    They are compiled where it has none of the same content and version. Nothing is written where Python writes nothing.
    """

    def __init__(self, folder: Path = COMPILED, *, writes: bool = not sys.dont_write_bytecode) -> None:
        super().__init__(str(folder), f"%s.{sys.implementation.cache_tag}-{__version__}")
        self._folder, self._writes = folder, writes

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            super().load_bytecode(bucket)
        # Whatever is wrong with the file, the template is compiled again.
        except Exception:  # noqa: BLE001
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        if self._writes:
            with suppress(OSError):  # a folder that belongs to another user, or a full disk
                self._folder.mkdir(exist_ok=True)
                super().dump_bytecode(bucket)


@cache  # summary and comment use the same templates, which are compiled once
def environment() -> Environment:
    """Return the environment of the packaged report templates, which can also be named with ``packaged/``.

    Unescaped text is escaped, undefined values are errors. User templates are rendered by another process with the same
    settings: see ``reports/user_templates/render_program.py``.
    """
    packaged = FileSystemLoader(PACKAGED)
    return Environment(
        loader=ChoiceLoader([packaged, PrefixLoader({"packaged": packaged})]),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=CompiledTemplates(),
    )


def _report(report: RunReport, kind: _Kind, templates: Templates | None, excerpts: SessionExcerpts | None) -> str:
    """The rendered template, no larger than its kind may be."""
    report_totals, found, name = ReportTotals.of(report), excerpts or SessionExcerpts(), kind.name

    def rendered(budget: int) -> str:
        view = view_of(report_totals, RowBudget(budget, kind.measure), kind.extent, found)
        return _rendered(name, view, templates)

    text = fitted(rendered, lambda: _rendered(name, verdict_of(report_totals), templates), kind.limit, kind.measure)
    if kind.measure(text) > kind.limit:
        raise ConfigError(f"the report template {name} renders more text than fits, even with the verdict alone")
    return text


def size_in_bytes(text: str) -> int:
    """The size of ``text`` as UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def fitted(render: Callable[[int], str], verdict: Callable[[], str], limit: int, measure: Callable[[str], int]) -> str:
    """Return ``render(budget)`` with a budget for rows that is nearly the largest whose text fits in ``limit``.

    ``measure`` returns sizes. If even a report without rows is too large, returns ``verdict()``, of any size.
    """
    bare = render(0)
    budget = spare = limit - (size := measure(bare))
    for _ in range(_TRIES):
        if budget <= 0:
            break
        text = render(budget)
        if (taken := measure(text)) <= limit:
            return text
        # A template may show rows twice or not at all, so the next budget follows from the size of this text.
        budget = min(budget - 1, int(budget * spare / (taken - size) * _MARGIN))
    return bare if size <= limit else verdict()


def _rendered(name: str, view: View | RunningView, templates: Templates | None) -> str:
    if templates and templates.replaces(name):
        text = templates.rendered(name, view)
    else:
        text = environment().get_template(name).render(view=view)
    text = text.strip() + "\n"
    if _HIDDEN_LINE.search(text):
        message = f"{name}: the hidden lines that identify comments cannot be written by a report template"
        raise ConfigError.of(Problem(message=message, remedy="remove them from the report template"))
    return text
