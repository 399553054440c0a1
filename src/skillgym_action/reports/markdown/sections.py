"""Parts of a report template's view: sections and lists with as many lines as fit. All text is escaped."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby, islice
from typing import TYPE_CHECKING

from skillgym_action.model.comparison import samples_of
from skillgym_action.model.limits import COMMIT_CHARACTERS, MAX_LISTED_NAMES
from skillgym_action.model.records import record
from skillgym_action.model.result import FINDINGS, findings_of_kind
from skillgym_action.model.verdicts import RED, TROUBLES, Status
from skillgym_action.reports.markdown.rows import NAME, Row, code, inline, left_out, linked, while_it_fits
from skillgym_action.reports.markdown.statements import NO_LINES, Block, block
from skillgym_action.reports.template_values import NOTHING, markup
from skillgym_action.reports.wording.results import CHANGES, NOUNS, cause, suites_from
from skillgym_action.text.escaping import clipped
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from markupsafe import Markup

    from skillgym_action.model.errors import Problem
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import FindingId, Result
    from skillgym_action.reports.markdown.rows import RowBudget, Rows

# Characters that a template adds to a row and a message. Estimates: they only save another rendering.
_ROW, _MESSAGE = 18, 6


@record
class RowSection:
    """Rows of one kind. ``title`` counts all of them, ``left_out`` those without room."""

    title: Markup = NOTHING
    rows: tuple[Row, ...] = ()
    left_out: Markup = NOTHING


@record
class Group:
    """Errored executions with one cause, and what to do about it. ``left_out`` counts those not in ``rows``.

    ``message``: that of the first; rows have theirs if it is another one.
    """

    title: Markup
    remedy: Markup
    message: Markup
    rows: tuple[Row, ...]
    left_out: Markup = NOTHING


@record
class Edit:
    """Unexpected passes whose expectations are written alike; ``lines`` is a block, what to take out of each case."""

    lines: Markup
    rows: tuple[Row, ...]


@record
class ChangedSuites:
    """All of them, those with a failure first. ``title`` counts them, ``left_out`` those without room."""

    title: Markup = NOTHING
    suites: tuple[Block, ...] = ()
    left_out: Markup = NOTHING


NO_ROWS, NO_SUITES = RowSection(), ChangedSuites()


def section_of(
    results: Sequence[Result],
    nouns: tuple[str, str],
    row: Callable[[Result], Row],
    budget: RowBudget,
    most: int | None = None,
) -> RowSection:
    """As many rows as there is room for, at ``most`` so many."""
    if not results:
        return NO_ROWS
    rows = while_it_fits(map(row, results[:most]), budget, _ROW, Row.strings)
    missing = left_out(len(results) - len(rows), "passing row" if nouns[0] == "passed" else "row")
    return RowSection(title=markup(counted(len(results), *nouns)), rows=rows, left_out=missing)


def lengthened(
    section: RowSection, results: Sequence[Result], row: Callable[[Result], Row], budget: RowBudget
) -> RowSection:
    """The section with longer rows, as many of them as there is room for."""
    rows: list[Row] = []
    for result, before in zip(results, section.rows, strict=False):
        after = before if budget.full else row(result)
        rows.append(after if budget.grow(before.strings(), after.strings(), _MESSAGE) else before)
    return replace(section, rows=tuple(rows))


def first_of_each_cause(results: Sequence[Result], most: int | None) -> list[Result]:
    """At ``most`` so many results of each cause; ``results`` are ordered by it."""
    groups = groupby(results, key=lambda result: cause(result).label)
    return [result for _, group in groups for result in islice(group, most)]


def errored_of(
    section: RowSection, shown: Sequence[Result], results: Sequence[Result]
) -> tuple[RowSection, tuple[Group, ...]]:
    """The section of all errored ``results``, whose rows are those of ``shown``, and its rows by their cause.

    What is left out is counted once: by the group of its cause, by the section if that group is not there.
    """
    rows, counts = section.rows, Counter(cause(result).label for result in results)
    groups = tuple(_groups(rows, shown, counts))
    absent = sum(counts.values()) - sum(counts[label] for label in {cause(one).label for one in shown[: len(rows)]})
    title = markup(counted(len(results), *NOUNS[Status.ERRORED])) if results else NOTHING
    return replace(section, title=title, left_out=left_out(absent, "row")), groups


def _groups(rows: Sequence[Row], shown: Sequence[Result], counts: Mapping[str, int]) -> Iterator[Group]:
    remedies = {kind.label: kind.remedy for kind in TROUBLES.values()}
    pairs = zip(rows, shown, strict=False)
    for label, group in groupby(pairs, key=lambda pair: cause(pair[1]).label):
        found = tuple(row for row, _ in group)
        message, missing = found[0].message, counts[label] - len(found)
        yield Group(
            title=inline(label, NAME) + markup(f" ({counts[label]:,})"),
            remedy=inline(remedies.get(label, "")),
            message=message,
            rows=tuple(replace(row, message=NOTHING) if row.message == message else row for row in found),
            left_out=markup(f"and {missing:,} more") if missing else NOTHING,
        )


def unexpected_note(results: Sequence[Result], repetitions: int | None) -> Markup:
    """What unexpected passes are, and what to do; with several sessions some of them may have failed."""
    mixed = sum(samples_of(result, repetitions).is_mixed for result in results)
    if not results:
        return NOTHING
    if not mixed:
        return markup(
            "Every assertion passed although the case is expected to fail. If it should pass, remove this expectation."
        )
    if mixed < len(results):
        return markup(
            "Assertions passed although the case is expected to fail: in all sessions, or in the number that is shown. "
            "If all of them should pass, remove this expectation; if only some pass, the case is not reliable yet."
        )
    return markup(
        "Some sessions passed although the case is expected to fail, the others failed: the case is not "
        "reliable yet. Remove this expectation when all sessions should pass."
    )


def edits_of(section: RowSection) -> Iterator[Edit]:
    """The rows of unexpected passes by what is to be edited."""
    for lines, group in groupby(section.rows, key=lambda row: row.edit):
        yield Edit(lines=lines, rows=tuple(group))


def warnings_of(problems: Sequence[Problem], rows: Rows, budget: RowBudget) -> Block:
    """As many warnings as there is room for."""
    if not problems:
        return NO_LINES
    lines = (_warning(problem, rows) for problem in problems[: rows.extent.lines])
    return block(markup(counted(len(problems), "warning")), lines, len(problems), budget, noun="warning")


def findings_of(id_: FindingId, results: Sequence[Result], rows: Rows, budget: RowBudget) -> Block:
    """As many executions with such findings as there is room for."""
    found = [result for result in results if findings_of_kind(result.findings, id_)]
    if not found:
        return NO_LINES
    lines = (rows.findings(result, id_) for result in found[: rows.extent.lines])
    return block(markup(f"{counted(len(found), 'execution')} {FINDINGS[id_].counted}"), lines, len(found), budget)


def changed_suites_of(
    report: RunReport, line: Callable[[Result], Markup], budget: RowBudget, most: int | None = None
) -> ChangedSuites:
    """As many suites that are not the base's, and executions of each, as there is room for; ``most`` of either.

    What is red comes first.
    """
    changed = [suite for suite in report.suites if suite.changed]
    if not changed:
        return NO_SUITES
    results: dict[str, list[Result]] = {suite.path: [] for suite in changed}
    for result in report.results:
        if result.suite.path in results:
            results[result.suite.path].append(result)
    for own in results.values():
        own.sort(key=lambda result: result.status not in RED)
    changed.sort(key=lambda suite: not any(result.status in RED for result in results[suite.path]))
    titles = (markup(f"**{code(suite.path)}** {CHANGES[suite.changed]}") for suite in changed if suite.changed)
    shown = []
    for suite, title in zip(changed[:most], while_it_fits(titles, budget, _ROW, lambda title: (title,)), strict=False):
        own = results[suite.path]
        shown.append(block(title, map(line, own[:most]), len(own), budget, noun="row"))
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
    return block(title, (_origins(*one) for one in sentences), len(sentences), budget)


def _origins(sentence: str, paths: tuple[str, ...]) -> Markup:
    if not paths:
        return inline(sentence[:1].upper() + sentence[1:])
    names = markup(", ").join(code(clipped(path, NAME)) for path in paths[:MAX_LISTED_NAMES])
    more = markup(f" and {len(paths) - MAX_LISTED_NAMES:,} more") if len(paths) > MAX_LISTED_NAMES else NOTHING
    return inline(f"{counted(len(paths), 'suite')} {sentence}") + markup(": ") + names + more


def _warning(problem: Problem, rows: Rows) -> Markup:
    line = inline(str(replace(problem, location=None)))
    return rows.place(problem.location) + markup(": ") + line if problem.location else line
