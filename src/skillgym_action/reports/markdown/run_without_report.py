"""Reporters: the job summary and the comment of a run that ended without a report.

The comment replaces that of an earlier run, and shows the earlier report folded below, with its commit. Users cannot
replace the template: their templates may be what is wrong.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Unpack

from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.limits import COMMENT_CHARACTERS, COMMIT_CHARACTERS, MAX_SUMMARY_BYTES
from skillgym_action.model.records import record
from skillgym_action.reports.markdown.figures import ALL_RESULTS
from skillgym_action.reports.markdown.report import environment, first_lines, report_line, size_in_bytes
from skillgym_action.reports.markdown.rows import RowBudget, Rows, code, inline, left_out, linked, while_it_fits
from skillgym_action.reports.template_values import NOTHING, markup

if TYPE_CHECKING:
    from markupsafe import Markup

    from skillgym_action.model.errors import Problem
    from skillgym_action.model.report import Links, RunWithoutReport
    from skillgym_action.reports.markdown.report import HiddenLines

MAX_RUN_WITHOUT_REPORT_PROBLEMS = 50  # of a run that ended without a report, in the job summary and the comment
_TITLES: dict[int, str] = {
    ExitCode.INVALID_INPUT: "❌ Not run: nothing was tested",
    ExitCode.INCONCLUSIVE: "⚠️ Not tested: the run ended without a report",
    ExitCode.CANCELLED: "⚠️ Cancelled: the run ended without a report",
    ExitCode.INTERNAL_ERROR: "❌ Internal error",
}
_FAILED_AFTER_REPORT = "⚠️ Not sure: the run failed after its report"
_RUN = re.compile(r"^<!-- run: (\d{1,18}/\d{1,9}) -->\n", re.MULTILINE)
_REPORT = re.compile(r"^<!-- skillgym-action-report: ([0-9a-f]{40,64}|unknown) -->\n", re.MULTILINE)
_END = "\n<!-- skillgym-action-report-end -->"
_PLAIN = r"[^<>&@\[\]`*_|#$\\:/\n]"
_HEADING = re.compile(rf"^## ({_PLAIN}{{1,100}}(?:: {_PLAIN}{{1,100}})?)$", re.MULTILINE)
_HEAD_CHARACTERS = 1_000  # in which the hidden lines of a comment are


@record
class EarlierReport:
    """The report that a comment had. ``commit``: None if it is unknown; ``own``: of the same run."""

    commit: str | None
    text: str
    own: bool = False


@record
class ProblemLine:
    """A problem; what it does not have is empty."""

    message: Markup
    place: Markup = NOTHING
    remedy: Markup = NOTHING


@record
class RunWithoutReportView:
    """What the template shows. ``earlier``: the earlier report; empty: none, or no room for it."""

    title: Markup
    facts: Markup
    problems: tuple[ProblemLine, ...]
    left_out: Markup
    earlier_title: Markup = NOTHING
    earlier: Markup = NOTHING
    open: bool = False


def run_without_report_summary(end: RunWithoutReport, links: Links | None) -> str:
    """Return the job summary."""
    view = _view_of(end, RowBudget(MAX_SUMMARY_BYTES // 2, size_in_bytes), links)
    return _rendered(view)


def run_without_report_comment(
    end: RunWithoutReport,
    replaced: str,
    *,
    links: Links,
    limit: int = COMMENT_CHARACTERS[0],
    **hidden: Unpack[HiddenLines],
) -> str:
    """Return the comment, of at most ``limit`` characters, in place of one with the text ``replaced``."""
    first = first_lines(**hidden)
    view = partial(_view_of, end, links=links)
    earlier = earlier_report(replaced, hidden.get("run_key"))
    text = ""
    for room, whole in ((limit // 2, True), (limit // 2, False), (0, False)):
        text = first + _rendered(_with_earlier(view(RowBudget(room)), earlier, links, whole=whole))
        if len(text) <= limit:
            break
    return text


def earlier_report(comment: str, run_key: str | None) -> EarlierReport | None:
    """Return the report in a comment of this tool, also one that an earlier early end has folded; else None."""
    head = comment[:_HEAD_CHARACTERS]
    end = comment.rfind(f"{_END}\n")  # no expression for both ends: its time would grow with the square of the length
    if end >= 0 and (folded := _REPORT.search(comment, 0, end)):
        return EarlierReport(commit=_known(folded[1]), text=comment[folded.end() : end].strip())
    if not (found := _REPORT.search(head)):
        return None
    run = _RUN.search(head)
    own = run is not None and run[1] == run_key
    return EarlierReport(commit=_known(found[1]), text=comment[found.end() :].strip(), own=own)


def _known(commit: str) -> str | None:
    return None if commit == "unknown" else commit


def _rendered(view: RunWithoutReportView) -> str:
    return environment().get_template("error.md.j2").render(view=view).strip() + "\n"


def _view_of(end: RunWithoutReport, budget: RowBudget, links: Links | None) -> RunWithoutReportView:
    rows = Rows(links=links)
    lines = while_it_fits(
        (_line(problem, rows) for problem in end.problems[:MAX_RUN_WITHOUT_REPORT_PROBLEMS]),
        budget,
        20,
        lambda line: (line.place, line.message, line.remedy),
    )
    title = _FAILED_AFTER_REPORT if end.reported else _TITLES.get(end.exit_code, "❌ Error")
    facts = [markup(f"exit code {end.exit_code}")]
    if links and links.commit:
        commit = linked(code(links.commit[:COMMIT_CHARACTERS]), links.commit_address(links.commit))
        facts.insert(0, markup("commit ") + commit)
    if links and links.run:
        facts.append(linked(markup(ALL_RESULTS), links.run))
    return RunWithoutReportView(
        title=markup(title),
        facts=markup(" · ").join(facts),
        problems=lines,
        left_out=left_out(len(end.problems) - len(lines), "problem"),
    )


def _line(problem: Problem, rows: Rows) -> ProblemLine:
    message = str(replace(problem, location=None, remedy=None))
    return ProblemLine(
        message=inline(message),
        place=rows.place(problem.location) if problem.location else NOTHING,
        remedy=inline(problem.remedy or ""),
    )


def _with_earlier(
    view: RunWithoutReportView, earlier: EarlierReport | None, links: Links, *, whole: bool
) -> RunWithoutReportView:
    """The view with the ``whole`` earlier report, or with its title alone."""
    if earlier is None:
        return view
    commit = f"commit {earlier.commit[:COMMIT_CHARACTERS]}" if earlier.commit else "an unknown commit"
    if earlier.commit and earlier.commit == links.commit:
        commit = "this commit"
    title = f"Report of {'this run' if earlier.own else 'an earlier run'}, on {commit}"
    heading = _HEADING.search(earlier.text)
    lines = (report_line(earlier.commit), earlier.text, _END)
    return replace(
        view,
        earlier_title=markup(f"{title}: {heading[1]}" if heading else title),
        earlier=markup("".join(lines)) if whole else NOTHING,
        open=earlier.own,
    )
