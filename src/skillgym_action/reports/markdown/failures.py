"""The part of a report template's view about failures: one entry for each reason. All text is escaped."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from skillgym_action.model.limits import MAX_LISTED_NAMES
from skillgym_action.model.records import record
from skillgym_action.model.verdicts import ASSERTION_FAILURE
from skillgym_action.reports.markdown.rows import NAME, SUMMARY, Row, html_code, inline, left_out
from skillgym_action.reports.markdown.sections import NO_ROWS, RowSection
from skillgym_action.reports.template_values import NOTHING, markup
from skillgym_action.reports.wording.failed_assertions import not_holding
from skillgym_action.reports.wording.reasons import named_in_words, reason_of
from skillgym_action.reports.wording.results import cause, suite_class
from skillgym_action.text.escaping import one_line
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from markupsafe import Markup

    from skillgym_action.model.result import Result
    from skillgym_action.reports.markdown.rows import RowBudget, Rows, SessionExcerpts

_FEW = 3  # entries: there is room for as much evidence as in the summary
_MESSAGE_CHARACTERS = 240
_SAME_DETAIL = markup("The same assertions and evidence.")
# Characters that a template adds to an entry, a row, a block and a part. Estimates.
_ENTRY, _ROW, _BLOCK, _PART = 60, 8, 10, 52


@record
class FailureGroup:
    """Failures for one reason. ``title`` and ``names`` may stand in HTML.

    ``title``: how many results, and the first assertion that does not hold and why; ``names``: cases and runners, and a
    failure class. ``rows``: the results, with a message only if the title has none; ``left_out`` counts the others.
    """

    title: Markup
    names: Markup = NOTHING
    rows: tuple[Row, ...] = ()
    left_out: Markup = NOTHING


@record(frozen=False, kw_only=False)
class _Entry:
    """An entry while it grows. ``shared``: all results have the message of the title."""

    results: list[Result]
    title: Markup
    names: Markup
    shared: bool
    rows: list[Row] = field(default_factory=list)

    def shown(self, row: Row) -> Row:
        """The row without what the title says already."""
        return replace(row, message=NOTHING, assertion=NOTHING) if self.shared else row

    def strings(self, row: Row) -> Iterator[Markup]:
        """What is shown of a row."""
        return row.strings(frozenset({"label"} | ({"message", "assertion"} if self.shared else set())))

    def rows_shown(self) -> Iterator[Row]:
        """The rows as they are shown. Details that are those of the row before are not repeated."""
        before = NOTHING
        for row in self.rows:
            own = self.shown(row)
            same = self.shared and row.detail and row.detail == before
            yield replace(own, detail=_SAME_DETAIL) if same else own
            before = row.detail or before


class FailureList:
    """The list of failures, in steps: each adds what there is room for, so that titles go after all evidence."""

    def __init__(self, groups: Sequence[Sequence[Result]], rows: Rows, budget: RowBudget) -> None:
        if len(groups) <= _FEW:
            rows = replace(rows, extent=replace(rows.extent, detail=SUMMARY.detail))
        self._rows, self._budget = rows, budget
        self._groups = groups
        self._entries: list[_Entry] = []
        self.number = sum(map(len, groups))
        self.is_cut = False  # some evidence has no room, though other parts of the report have
        for group in groups[: rows.extent.failures]:
            shared = suite_class(group[0]) is None or len({cause(result).message for result in group}) == 1
            entry = _Entry(results=list(group), title=_title(group), names=_names(group), shared=shared)
            if not budget.take((entry.title, entry.names), _ENTRY):
                break
            self._entries.append(entry)
        for entry in self._entries:
            for result in entry.results[: rows.extent.executions]:
                row = rows.reasoned(result)
                if not budget.take(entry.strings(row), _ROW):
                    return
                entry.rows.append(row)

    def add_details(self, excerpts: SessionExcerpts) -> None:
        """All assertions, then their evidence, then what the sessions left."""
        with self._budget.within(self._rows.extent.evidence) as some:
            for entry in self._entries:
                self._lengthen(entry, self._rows.detailed, _BLOCK, some)
            for entry in self._entries:
                self._lengthen(entry, self._rows.proven, _BLOCK, some)
            read = 0
            for number in range(
                self._rows.extent.executions or MAX_LISTED_NAMES
            ):  # first of each entry, then the next ones
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
        if not (number := self.number):
            return NO_ROWS
        absent = self._groups[len(self._entries) :]
        results = counted(sum(map(len, absent)), "result")
        missing = markup(f"and {counted(len(absent), 'more reason')} with {results}") if absent else NOTHING
        return RowSection(
            title=markup(f"{counted(number, 'result')} for {counted(len(self._groups), 'reason')}"),
            rows=tuple(row for entry in self._entries for row in entry.rows),
            left_out=missing,
        )

    def groups(self) -> Iterator[FailureGroup]:
        """The entries."""
        for entry in self._entries:
            missing = len(entry.results) - len(entry.rows) if len(entry.rows) > 1 else 0
            yield FailureGroup(
                title=entry.title,
                names=entry.names,
                rows=tuple(entry.rows_shown()),
                left_out=left_out(missing, "result"),
            )


def _title(group: Sequence[Result]) -> Markup:
    """``3 results: file:out.txt exists: there is no such file``, on one line with the beginning of other lines."""
    reason = cause(group[0])
    lines = (one_line(line).strip() for line in reason.message.splitlines())
    text = inline(" · ".join(line for line in lines if line), _MESSAGE_CHARACTERS)
    others = len(not_holding(group[0])) - bool(reason.assertion)
    more = f" (and {counted(others, 'more assertion')})" if reason.assertion and others > 0 else ""
    number = markup(f"<b>{counted(len(group), 'result')}:</b> ")
    class_ = inline(reason.label, NAME) + markup(" · ") if reason.label != ASSERTION_FAILURE.label else NOTHING
    name = html_code(reason.assertion) + markup(": ") if reason.assertion else NOTHING
    return number + class_ + name + text + markup(more)


def _names(group: Sequence[Result]) -> Markup:
    """Cases and runners; where the suite's class is all that they share, also how many messages there are."""
    messages = len({(*reason_of(result), cause(result).message) for result in group}) if suite_class(group[0]) else 1
    note = f"; {messages:,} messages, the first is above" if messages > 1 else ""
    return inline(f"{named_in_words(group)}{note}")
