"""The part of a report template's view about failures: by case, and by reason where several have the same.

A case that fails on several runners is one entry; so are cases that all fail for the same reason. All text is escaped.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from skillgym_action.model.limits import MAX_LISTED_NAMES
from skillgym_action.model.records import record
from skillgym_action.model.verdicts import ASSERTION_FAILURE
from skillgym_action.reports.markdown.rows import NAME, SUMMARY, Row, html_code, inline, left_out, title_of
from skillgym_action.reports.markdown.sections import NO_ROWS, RowSection
from skillgym_action.reports.template_values import NOTHING, markup
from skillgym_action.reports.wording.failed_assertions import not_holding
from skillgym_action.reports.wording.results import cause, suite_class
from skillgym_action.text.escaping import one_line
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from markupsafe import Markup

    from skillgym_action.model.result import Result
    from skillgym_action.reports.markdown.rows import RowBudget, Rows, SessionExcerpts

Reason = tuple[str, str, str, tuple[tuple[str, str], ...]]
_NAMED_CASES = 3
_FEW = 3  # entries: there is room for as much evidence as in the summary
_MESSAGE_CHARACTERS = 240
_SAME_DETAIL = markup("The same assertions and evidence.")
# Characters that a template adds to an entry, a row, a message, a block and a part. Estimates.
_ENTRY, _ROW, _MESSAGE, _BLOCK, _PART = 45, 8, 6, 10, 52


@record
class FailureGroup:
    """Failures of one case, or of several with one reason. ``title``, ``notes`` and ``message`` may stand in HTML.

    ``message``: the first assertion that does not hold and why, or how many reasons there are. ``rows``: the
    executions, without the case if there is one alone, with a message of their own unless it is the group's;
    ``left_out`` counts the others.
    """

    title: Markup
    notes: Markup = NOTHING
    message: Markup = NOTHING
    rows: tuple[Row, ...] = ()
    left_out: Markup = NOTHING


def grouped(results: Iterable[Result], newly_failing: frozenset[int] = frozenset()) -> list[list[Result]]:
    """Failed results by case, and cases by reason if all their failures have the same; newly failing ones first.

    Cases whose failures have one class of the suite's are together, whatever the reasons.

    In a group the first of each reason comes before others, so that a list that is cut has as many reasons as it can.
    """
    cases: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        cases.setdefault((result.suite.path, result.case_id), []).append(result)
    groups: dict[tuple[tuple[str, str] | None, Reason | None] | str, list[Result]] = {}
    for case, own in cases.items():
        reasons, classes = {_reason(result) for result in own}, {suite_class(result) for result in own}
        by_reason = (None, reasons.pop()) if len(reasons) == 1 else (case, None)
        groups.setdefault((classes.pop() if len(classes) == 1 else None) or by_reason, []).extend(own)
    ordered = [_reasons_first(group, newly_failing) for group in groups.values()]
    return sorted(ordered, key=lambda group: not any(result.index in newly_failing for result in group))


def _reasons_first(group: Sequence[Result], newly_failing: frozenset[int]) -> list[Result]:
    new_first = sorted(group, key=lambda result: result.index not in newly_failing)
    firsts: dict[Reason, int] = {}
    for result in new_first:
        firsts.setdefault(_reason(result), id(result))
    kept = set(firsts.values())
    return sorted(new_first, key=lambda result: id(result) not in kept)


def _reason(result: Result) -> Reason:
    """All that reports say about why; evidence, which is different in each session, apart."""
    found = cause(result)
    outcomes = tuple((outcome.assertion, outcome.explanation) for outcome in not_holding(result))
    return found.label, found.assertion or "", found.message.strip(), outcomes


@record(frozen=False, kw_only=False)
class _Entry:
    """An entry while it grows. ``shared``: all results have one reason; ``one_case``: all are of one case."""

    results: list[Result]
    title: Markup
    notes: Markup
    shared: bool
    one_case: bool
    message: Markup = NOTHING
    rows: list[Row] = field(default_factory=list)

    def shown(self, row: Row) -> Row:
        """The row without what the entry says already."""
        own = replace(row, case=NOTHING) if self.one_case else row
        return replace(own, message=NOTHING, assertion=NOTHING) if self.shared else own

    def strings(self, row: Row) -> Iterator[Markup]:
        """What is shown of a row."""
        hidden = (
            {"label"} | ({"case"} if self.one_case else set()) | ({"message", "assertion"} if self.shared else set())
        )
        return row.strings(frozenset(hidden))

    def rows_shown(self) -> Iterator[Row]:
        """The rows as they are shown. Details that are those of the row before are not repeated."""
        before = NOTHING
        for row in self.rows:
            own = self.shown(row)
            same = self.shared and row.detail and row.detail == before
            yield replace(own, detail=_SAME_DETAIL) if same else own
            before = row.detail or before


class FailureList:
    """The list of failures, in steps: each adds what there is room for, so that names go after all evidence."""

    def __init__(self, groups: Sequence[Sequence[Result]], rows: Rows, budget: RowBudget, *, runners: int) -> None:
        if len(groups) <= _FEW:
            rows = replace(rows, extent=replace(rows.extent, detail=SUMMARY.detail))
        self._rows, self._budget, self._runners = rows, budget, runners
        self._groups = groups
        self._entries: list[_Entry] = []
        self.is_cut = False  # some evidence has no room, though other parts of the report have
        for group in groups[: rows.extent.failures]:
            entry = _Entry(
                results=list(group),
                title=self._title(group),
                notes=self._notes(group),
                shared=len(set(map(_reason, group))) == 1,
                one_case=len({(result.suite.path, result.case_id) for result in group}) == 1,
            )
            if not budget.take((entry.title, entry.notes), _ENTRY):
                break
            self._entries.append(entry)
            for result in group[: rows.extent.lines]:
                row = rows.brief(result)
                if not budget.take(entry.strings(row), _ROW):
                    break
                entry.rows.append(row)

    def add_messages(self) -> None:
        """The first assertion of each that does not hold, and places as links."""
        for entry in self._entries:
            message = _message(entry.results)
            if not self._budget.take((message,), _MESSAGE):
                return
            entry.message = message
            self._lengthen(entry, self._rows.reasoned, 0 if entry.shared else _MESSAGE)

    def add_details(self, excerpts: SessionExcerpts) -> None:
        """All assertions, then their evidence, then what the sessions left."""
        with self._budget.within(self._rows.extent.evidence) as some:
            for entry in self._entries:
                self._lengthen(entry, self._rows.detailed, _BLOCK, some)
            for entry in self._entries:
                self._lengthen(entry, self._rows.proven, _BLOCK, some)
            read = 0
            for number in range(self._rows.extent.lines or MAX_LISTED_NAMES):  # first of each entry, then the next ones
                for entry in self._entries:
                    if number < len(entry.rows) and read < self._rows.extent.excerpts and not some.full:
                        read += 1
                        self._excerpt(entry, number, excerpts, some)
        self.is_cut = some.full and not self._budget.full

    def _excerpt(self, entry: _Entry, number: int, excerpts: SessionExcerpts, budget: RowBudget) -> None:
        before, result = entry.rows[number], entry.results[number]
        after = self._rows.proven(result, excerpts.of(result))
        if budget.grow(entry.strings(before), entry.strings(after), _PART * len(after.parts)):
            entry.rows[number] = after

    def _lengthen(
        self, entry: _Entry, row: Callable[[Result], Row], overhead: int, budget: RowBudget | None = None
    ) -> None:
        some = budget or self._budget
        for number, before in enumerate(entry.rows):
            if some.full:
                return
            after = row(entry.results[number])
            if some.grow(entry.strings(before), entry.strings(after), overhead):
                entry.rows[number] = after

    def section(self) -> RowSection:
        """All rows, with the number of failures that are in no entry."""
        number = sum(map(len, self._groups))
        if not number:
            return NO_ROWS
        missing = number - sum(len(entry.results) for entry in self._entries)
        several = len(self._groups) > 1 and len(self._groups) < number
        return RowSection(
            title=markup(counted(number, "failure") + (f" in {len(self._groups):,} groups" if several else "")),
            rows=tuple(row for entry in self._entries for row in entry.rows),
            left_out=left_out(missing, "failure"),
        )

    def groups(self) -> Iterator[FailureGroup]:
        """The entries."""
        for entry in self._entries:
            missing = len(entry.results) - len(entry.rows)
            yield FailureGroup(
                title=entry.title,
                notes=entry.notes,
                message=entry.message,
                rows=tuple(entry.rows_shown()),
                left_out=markup(f"and {counted(missing, 'more execution')}") if missing else NOTHING,
            )

    def _title(self, group: Sequence[Result]) -> Markup:
        # By path: suites of one name are different ones, and a suite is not hashable if its metadata is not.
        cases = {(result.suite.path, result.case_id): result for result in group}
        names = [self._case(result) for result in list(cases.values())[:_NAMED_CASES]]
        title = markup("<b>") + markup(", ").join(names) + markup("</b>")
        if len(cases) > _NAMED_CASES:
            title += markup(f" and {counted(len(cases) - _NAMED_CASES, 'more case')}")
        runners = list(dict.fromkeys(result.runner.id for result in group if result.runner))
        if self._runners > 1 and runners:
            shown = markup(", ").join(html_code(runner) for runner in runners[:_NAMED_CASES])
            more = f" and {counted(len(runners) - _NAMED_CASES, 'more runner')}" if len(runners) > _NAMED_CASES else ""
            title += markup(" on ") + shown + markup(more)
        return title

    def _case(self, result: Result) -> Markup:
        name = html_code(result.case_id) + title_of(result)
        return inline(result.suite.name, NAME) + markup(" › ") + name if self._rows.several else name  # noqa: RUF001

    def _notes(self, group: Sequence[Result]) -> Markup:
        """What the title should say besides names: what is new, how many sessions passed, a failure class."""
        rows = [self._rows.brief(result) for result in group[:1]] if len(group) == 1 else []
        new = sum(result.index in self._rows.newly_failing for result in group)
        notes = []
        if new:
            notes.append(markup("new" if new == len(group) else f"{new:,} new"))
        labels = {cause(result).label for result in group}
        notes += [inline(label, NAME) for label in labels - {ASSERTION_FAILURE.label} if len(labels) == 1]
        notes += [row.sessions for row in rows if row.sessions]
        if len(group) > 1:
            reasons = len(set(map(_reason, group)))
            words = f"the same reason {len(group):,} times" if reasons == 1 else f"{reasons:,} reasons, the first:"
            notes.append(markup(words))
        return markup(" · ").join(notes)


def _message(group: Sequence[Result]) -> Markup:
    """The reason of the first; all of an entry have it, or rows say theirs.

    On one line, with the beginning of its other lines: they have the values.
    """
    reason = cause(group[0])
    lines = (one_line(line).strip() for line in reason.message.splitlines())
    text = inline(" · ".join(line for line in lines if line), _MESSAGE_CHARACTERS)
    others = len(not_holding(group[0])) - bool(reason.assertion)
    more = f" (and {counted(others, 'more assertion')})" if reason.assertion and others > 0 else ""
    return (html_code(reason.assertion) + markup(": ") if reason.assertion else NOTHING) + text + markup(more)
