"""Parts of a report template's view: sections and lists with as many lines as fit. All text is escaped."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from skillgym_action.model.comparison import samples_of
from skillgym_action.model.limits import COMMIT_CHARACTERS, MAX_LISTED_NAMES
from skillgym_action.model.records import record
from skillgym_action.model.result import FINDINGS, findings_of_kind
from skillgym_action.model.verdicts import RED, TROUBLES
from skillgym_action.reports.markdown.rows import NAME, Row, code, inline, left_out, linked, while_it_fits
from skillgym_action.reports.markdown.statements import NO_LINES, Block, block
from skillgym_action.reports.template_values import NOTHING, markup
from skillgym_action.reports.wording.reasons import by_reason, named_in_words
from skillgym_action.reports.wording.results import CHANGES, cause, suites_from
from skillgym_action.text.escaping import clipped
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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


def no_results_of(results: Sequence[Result], budget: RowBudget) -> Block:
    """Results that the run lacks: a line for each cause, with what to do."""
    causes = by_reason(results)
    title = markup(counted(len(results), "result") + (" is missing" if len(results) == 1 else " are missing"))
    return block(title, map(_no_results, causes), len(causes), budget, noun="cause") if causes else NO_LINES


def _no_results(results: Sequence[Result]) -> Markup:
    """``**3 results:** Rate limit: 429 …; remedy (a, b, c on haiku, 3 tries; logs in …)``."""
    first, found = results[0], cause(results[0])
    kind = next((kind for kind in TROUBLES.values() if kind.label == found.label), None)
    number = markup(f"**{counted(len(results), 'result')}:** ")
    message = inline(f"{found.label}: {found.message.strip().partition(chr(10))[0]}")
    remedy = inline(f"; {kind.remedy}") if kind else NOTHING
    tries = max(len(result.attempts) for result in results)
    facts = [inline(named_in_words(results)), *([markup(counted(tries, "try", "tries"))] if tries > 1 else [])]
    facts += [markup("logs in ") + code(first.directory)] if first.directory else []
    return number + message + remedy + markup(" (") + markup("; ").join(facts) + markup(")")


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
        "Some attempts passed although the case is expected to fail, the others failed: the case is not "
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
