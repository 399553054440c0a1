"""Parts of a report template's view: executions as rows, and sections of as many rows as fit. All text is escaped."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from itertools import groupby, takewhile
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from skillgym_action.limits import COMMIT_CHARACTERS, MAX_LEAK_LOCATIONS, MAX_LISTED_NAMES
from skillgym_action.model.result import of_kind
from skillgym_action.model.samples import is_flaky, samples_of
from skillgym_action.model.scores import format_score
from skillgym_action.model.verdicts import TROUBLES
from skillgym_action.reporters.failed_assertions import failed_assertions, not_holding
from skillgym_action.reporters.rate_wording import sessions_passed
from skillgym_action.reporters.template_values import NOTHING, markup
from skillgym_action.reporters.wording import (
    CHANGES,
    FINDINGS,
    amount,
    cause,
    cost,
    counted,
    duration,
    place,
    retries,
    runner_id,
    suites_from,
)
from skillgym_action.text.escaping import clipped, markdown_code_block, markdown_code_span, markdown_inline, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from markupsafe import Markup

    from skillgym_action.model.errors import Location, Problem
    from skillgym_action.model.links import Links
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport

NAME, MESSAGE, DETAIL = 120, 400, 1_500  # characters
_EXPECTATIONS = {
    "x-bench": '"expectedFail": true',
    "python": "expected_fail=True",
    "typescript": "expectedFail: true",
    "agentv": "expected_fail: true",
}
_ADDRESS = re.compile(r"https?://[^/]")
_HIDDEN = re.compile("<(?=!--)")  # shown as code, but must not be taken for a hidden line of the tool


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One execution. ``detail`` is a block, the rest fits on a line; what there is not is empty."""

    case: Markup
    runner: Markup
    place: Markup = NOTHING
    label: Markup = NOTHING
    news: Markup = NOTHING
    assertion: Markup = NOTHING
    message: Markup = NOTHING
    detail: Markup = NOTHING
    edit: Markup = NOTHING
    time: Markup = NOTHING
    cost: Markup = NOTHING
    tokens: Markup = NOTHING
    score: Markup = NOTHING
    retries: Markup = NOTHING
    sessions: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """Makes rows. ``several``: rows name their suite; ``newly_failing``: indexes of those results.

    ``repetitions``: how many of an execution count; None: all.
    """

    several: bool = False
    links: Links | None = None
    newly_failing: frozenset[int] = frozenset()
    repetitions: int | None = None

    @classmethod
    def of(cls, report: RunReport) -> Rows:
        """For the rows of this report."""
        newly_failing = report.comparison.newly_failing if report.comparison else ()
        return cls(
            several=len(report.suites) > 1,
            links=report.links,
            newly_failing=frozenset(pair.after.index for pair in newly_failing),
            repetitions=report.sampled_repetitions,
        )

    def passed(self, result: Result) -> Row:
        """A row with figures, without reasons."""
        return Row(
            case=self.case(result),
            runner=code(runner_id(result)),
            time=markup(duration(result.duration_ms)),
            cost=markup(cost(result)),
            tokens=markup(amount(result.usage.total_tokens)),
            score=markup("" if result.score is None else format_score(result.score)),
            retries=_retries(result),
            sessions=self._sessions(result),
        )

    def brief(self, result: Result) -> Row:
        """A row with the kind of its reason, and the location."""
        reason = cause(result)
        return Row(
            case=self.case(result),
            runner=code(runner_id(result)),
            place=code(str(reason.location)),
            label=inline(reason.label, NAME),
            news=markup("new") if result.index in self.newly_failing else NOTHING,
            retries=_retries(result),
            sessions=markup(sessions_passed(result, self.repetitions)),
        )

    def reasoned(self, result: Result) -> Row:
        """A row with its reason on one line, and a link to the location if there is one."""
        reason = cause(result)
        message = clipped(reason.message.strip().partition("\n")[0], MESSAGE)
        others = len(not_holding(result)) - bool(reason.assertion)
        more = f" (and {counted(others, 'more assertion')})" if reason.assertion and others > 0 else ""
        return replace(
            self.brief(result),
            place=self.place(reason.location),
            assertion=code(reason.assertion or ""),
            message=inline(message) + more,
        )

    def detailed(self, result: Result) -> Row:
        """A row with its whole reason."""
        return replace(self.reasoned(result), detail=_detail(result, evidence=False))

    def proven(self, result: Result) -> Row:
        """A row with its whole reason and the evidence."""
        return replace(self.reasoned(result), detail=_detail(result, evidence=True))

    def unexpected(self, result: Result) -> Row:
        """A row with what to take out of the case, as its format writes it."""
        line = _EXPECTATIONS.get(result.suite.format, "the expectation")
        edit = markup(markdown_code_block(f"- {line}", "diff"))
        return replace(self.brief(result), place=self.place(place(result)), edit=edit)

    def findings(self, result: Result, id_: str) -> Markup:
        """A line: the execution, the kinds of its findings, and where they are."""
        found = of_kind(result.findings, id_)
        places = [
            inline(f"{finding.kind} in ", NAME) + markup(" ") + code(finding.where)
            for finding in found[:MAX_LEAK_LOCATIONS]
        ]
        more = len(found) - len(places)
        findings = markup(", ").join([*places, markup(f"{more:,} more")] if more else places)
        return markup(" · ").join((self.case(result), code(runner_id(result)), findings))

    def case(self, result: Result) -> Markup:
        """The case's name; with several suites, also the suite's."""
        case = code(result.case_id)
        return markup(f"{inline(result.suite.name, NAME)} › {case}") if self.several else case  # noqa: RUF001

    def _sessions(self, result: Result) -> Markup:
        """Of what passed: whether it is flaky, and how many sessions passed unless all did."""
        words = ["flaky"] if is_flaky(result, self.repetitions) else []
        words += [sessions_passed(result, self.repetitions)] if samples_of(result, self.repetitions).is_mixed else []
        return markup(", ".join(words))

    def place(self, location: Location) -> Markup:
        """A location, as a link if the file is in the commit."""
        return linked(code(str(location)), self.links.line_address(location) if self.links else None)


def _detail(result: Result, *, evidence: bool) -> Markup:
    """What is missing in the first line of the message: all assertions if there are several, else the rest of it."""
    found = failed_assertions(result, DETAIL, evidence=evidence)
    if len(found.shown) + found.more > 1:
        return _block(found.text())
    rest = found.message.strip().partition("\n")[2].strip("\n")
    return _block("\n\n".join(filter(str.strip, (rest, *(one.body for one in found.shown)))))


def _block(text: str) -> Markup:
    return markup(markdown_code_block(_without_hidden(clipped(text, DETAIL)))) if text.strip() else NOTHING


def _without_hidden(text: str) -> str:
    """``text`` as it is shown, without the begin of a hidden line, which removed characters would make otherwise."""
    return _HIDDEN.sub("<\u2060", visible(text))


def _retries(result: Result) -> Markup:
    tries = retries(result)
    return markup(f"after {counted(tries, 'retry', 'retries')}") if tries else NOTHING


def inline(text: str, limit: int = MESSAGE) -> Markup:
    """Words on one line."""
    return markup(markdown_inline(clipped(text, limit)))


def code(text: str) -> Markup:
    """A name, as code."""
    return markup(markdown_code_span(_without_hidden(clipped(text, NAME))))


def linked(text: Markup, address: str | None) -> Markup:
    """``text`` as a link; as it is without an address."""
    if not address or not _ADDRESS.match(address):
        return text
    return markup(f"[{text}]({quote(address, safe='/:#?&=%@', errors='replace')})")


@dataclass(slots=True)
class RowBudget:
    """What is left of a limit. Once something has not fitted, nothing does: reports lose whole rows, from the end."""

    left: int
    measure: Callable[[str], int] = len
    full: bool = False

    def take(self, strings: Iterable[str], overhead: int) -> bool:
        """Reserve the size of ``strings``, and the ``overhead`` that a template adds to them; whether it fits."""
        return self._reserve(overhead + self.size(strings))

    def grow(self, before: Iterable[str], after: Iterable[str], overhead: int) -> bool:
        """Reserve the size of ``after`` instead of that of ``before``; whether it fits."""
        return self._reserve(overhead + self.size(after) - self.size(before))

    def size(self, strings: Iterable[str]) -> int:
        """The size of all ``strings``."""
        return sum(map(self.measure, strings))

    def _reserve(self, size: int) -> bool:
        self.full = self.full or size > self.left
        if not self.full:
            self.left -= size
        return not self.full

    @contextmanager
    def part(self, share: float) -> Iterator[RowBudget]:
        """A budget of at most ``share`` of this one; what it does not use is returned to this one."""
        part = RowBudget(int(self.left * share), self.measure)
        self.left -= part.left
        yield part
        self.left += part.left


# Characters that a template adds to a row, a message and a block. Estimates: they only save another rendering.
_ROW, _MESSAGE, _DETAILS = 18, 6, 55
Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """Rows of one kind. ``title`` counts all of them, ``left_out`` those without room."""

    title: Markup = NOTHING
    rows: tuple[Row, ...] = ()
    left_out: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Errored executions with one cause, and what to do about it."""

    title: Markup
    remedy: Markup
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """Unexpected passes whose expectations are written alike; ``lines`` is a block, what to take out of each case."""

    lines: Markup
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A title with lines below it; ``left_out`` counts what is without room."""

    title: Markup = NOTHING
    lines: tuple[Markup, ...] = ()
    left_out: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedSuites:
    """All of them. ``title`` counts them, ``left_out`` those without room."""

    title: Markup = NOTHING
    suites: tuple[Block, ...] = ()
    left_out: Markup = NOTHING


NO_ROWS, NO_LINES, NO_SUITES = Section(), Block(), ChangedSuites()


def while_it_fits(
    items: Iterable[Item], budget: RowBudget, overhead: int, strings: Callable[[Item], Iterable[str]]
) -> tuple[Item, ...]:
    """The items until one does not fit; those after it are not even made."""
    return () if budget.full else tuple(takewhile(lambda item: budget.take(strings(item), overhead), items))


def left_out(number: int, noun: str) -> Markup:
    """``12 rows left out``; empty for none."""
    return markup(f"{counted(number, noun)} left out") if number else NOTHING


def section_of(
    results: Sequence[Result], nouns: tuple[str, str], row: Callable[[Result], Row], budget: RowBudget
) -> Section:
    """As many rows as there is room for."""
    if not results:
        return NO_ROWS
    rows = while_it_fits(map(row, results), budget, _ROW, _cells)
    missing = left_out(len(results) - len(rows), "passing row" if nouns[0] == "passed" else "row")
    return Section(title=markup(counted(len(results), *nouns)), rows=rows, left_out=missing)


def lengthened(section: Section, results: Sequence[Result], row: Callable[[Result], Row], budget: RowBudget) -> Section:
    """The section with longer rows, as many of them as there is room for."""
    rows: list[Row] = []
    for result, before in zip(results, section.rows, strict=False):
        after = before if budget.full else row(result)
        overhead = _DETAILS if after.detail and not before.detail else _MESSAGE
        rows.append(after if budget.grow(_cells(before), _cells(after), overhead) else before)
    return replace(section, rows=tuple(rows))


_cells: Callable[[Row], tuple[Markup, ...]] = attrgetter(*(field.name for field in fields(Row)))


def groups_of(section: Section) -> Iterator[Group]:
    """The rows of an errored section by their cause."""
    remedies = {kind.label: kind.remedy for kind in TROUBLES.values()}
    for label, group in groupby(section.rows, key=lambda row: row.label):
        found = tuple(group)
        yield Group(title=markup(f"{label} ({len(found)})"), remedy=inline(remedies.get(str(label), "")), rows=found)


def edits_of(section: Section) -> Iterator[Edit]:
    """The rows of unexpected passes by what is to be edited."""
    for lines, group in groupby(section.rows, key=lambda row: row.edit):
        yield Edit(lines=lines, rows=tuple(group))


def warnings_of(problems: Sequence[Problem], rows: Rows, budget: RowBudget) -> Block:
    """As many warnings as there is room for."""
    if not problems:
        return NO_LINES
    lines = while_it_fits((_warning(problem, rows) for problem in problems), budget, _ROW, lambda line: (line,))
    return Block(
        title=markup(counted(len(problems), "warning")),
        lines=lines,
        left_out=left_out(len(problems) - len(lines), "warning"),
    )


def findings_of(id_: str, results: Sequence[Result], rows: Rows, budget: RowBudget) -> Block:
    """As many executions with such findings as there is room for."""
    found = [result for result in results if of_kind(result.findings, id_)]
    if not found:
        return NO_LINES
    lines = while_it_fits((rows.findings(result, id_) for result in found), budget, _ROW, lambda line: (line,))
    return Block(
        title=markup(f"{counted(len(found), 'execution')} {FINDINGS[id_].counted}"),
        lines=lines,
        left_out=left_out(len(found) - len(lines), "line"),
    )


def changed_suites_of(report: RunReport, line: Callable[[Result], Markup], budget: RowBudget) -> ChangedSuites:
    """As many suites that are not the base's, and executions of each, as there is room for."""
    changed = [suite for suite in report.suites if suite.changed]
    if not changed:
        return NO_SUITES
    results: dict[str, list[Result]] = {suite.path: [] for suite in changed}
    for result in report.results:
        if result.suite.path in results:
            results[result.suite.path].append(result)
    titles = (markup(f"**{code(suite.path)}** {CHANGES[suite.changed]}") for suite in changed if suite.changed)
    shown = []
    for suite, title in zip(changed, while_it_fits(titles, budget, _ROW, lambda title: (title,)), strict=False):
        own = results[suite.path]
        lines = while_it_fits(map(line, own), budget, _ROW, lambda line: (line,))
        shown.append(Block(title=title, lines=lines, left_out=left_out(len(own) - len(lines), "row")))
    return ChangedSuites(
        title=markup(counted(len(changed), "suite")),
        suites=tuple(shown),
        left_out=left_out(len(changed) - len(shown), "suite"),
    )


def suites_from_of(report: RunReport, budget: RowBudget) -> Block:
    """The commit or the folder, and as many lines as there is room for."""
    origin = report.suites_from
    if origin is None:
        return NO_LINES
    address = report.links.commit_address(origin.commit) if origin.commit and report.links else None
    commit = (
        markup(", commit ") + linked(code(origin.commit[:COMMIT_CHARACTERS]), address) if origin.commit else NOTHING
    )
    title = markup("Suites and configuration are those of ") + code(clipped(origin.folder, NAME)) + commit
    sentences = tuple(suites_from(origin))
    lines = while_it_fits((_origins(*one) for one in sentences), budget, _ROW, lambda line: (line,))
    return Block(title=title, lines=lines, left_out=left_out(len(sentences) - len(lines), "line"))


def _origins(sentence: str, paths: tuple[str, ...]) -> Markup:
    if not paths:
        return inline(sentence[:1].upper() + sentence[1:])
    names = markup(", ").join(code(clipped(path, NAME)) for path in paths[:MAX_LISTED_NAMES])
    more = markup(f" and {len(paths) - MAX_LISTED_NAMES:,} more") if len(paths) > MAX_LISTED_NAMES else NOTHING
    return inline(f"{counted(len(paths), 'suite')} {sentence}") + markup(": ") + names + more


def _warning(problem: Problem, rows: Rows) -> Markup:
    line = inline(str(replace(problem, location=None)))
    return rows.place(problem.location) + markup(": ") + line if problem.location else line
