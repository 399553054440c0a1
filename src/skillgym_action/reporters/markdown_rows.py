"""Parts of a report template's view: executions as rows. All text is escaped."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from skillgym_action.limits import MAX_LEAK_LOCATIONS
from skillgym_action.model.result import of_kind
from skillgym_action.model.samples import is_flaky, samples_of
from skillgym_action.model.scores import format_score
from skillgym_action.reporters.failed_assertions import failed_assertions, not_holding
from skillgym_action.reporters.markdown_budget import SUMMARY
from skillgym_action.reporters.rate_wording import sessions_passed
from skillgym_action.reporters.template_values import NOTHING, markup
from skillgym_action.reporters.wording import (
    TITLE,
    amount,
    cause,
    cost,
    counted,
    place,
    retries,
    runner_id,
    time_taken,
)
from skillgym_action.text.escaping import (
    clipped,
    markdown_code_block,
    markdown_code_span,
    markdown_inline,
    tail,
    visible,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from markupsafe import Markup

    from skillgym_action.model.errors import Location
    from skillgym_action.model.links import Links
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.reporters.markdown_budget import ReportExtent
    from skillgym_action.reporters.markdown_excerpts import Excerpt
    from skillgym_action.reporters.wording import Cause

NAME, MESSAGE = 120, 400  # characters
_EXPECTATIONS = {
    "x-bench": '"expectedFail": true',
    "python": "expected_fail=True",
    "typescript": "expectedFail: true",
    "agentv": "expected_fail: true",
}
_ADDRESS = re.compile(r"https?://[^/]")
_HIDDEN = re.compile("<(?=!--)")  # shown as code, but must not be taken for a hidden line of the tool


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Something that a session left: its answer, its commands, the diff. ``text`` is a block."""

    title: Markup
    text: Markup


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One execution. ``detail`` is a block, the rest fits on a line; what there is not is empty.

    ``artifacts``: the folder of its artifacts in the run directory.
    """

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
    parts: tuple[Part, ...] = ()
    artifacts: Markup = NOTHING

    def strings(self, hidden: frozenset[str] = frozenset()) -> Iterator[Markup]:
        """All of its texts, without those of the fields in ``hidden``."""
        yield from _lines_without(hidden)(self)
        for part in self.parts:
            yield part.title
            yield part.text


@cache
def _lines_without(hidden: frozenset[str]) -> Callable[[Row], tuple[Markup, ...]]:
    return attrgetter(*(field.name for field in fields(Row) if field.name not in {*hidden, "parts"}))


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """Makes rows. ``several``: rows name their suite; ``newly_failing``: indexes of those results.

    ``repetitions``: how many of an execution count; None: all. ``extent``: how much they show.
    """

    extent: ReportExtent = SUMMARY
    several: bool = False
    links: Links | None = None
    newly_failing: frozenset[int] = frozenset()
    repetitions: int | None = None

    @classmethod
    def of(cls, report: RunReport, extent: ReportExtent = SUMMARY) -> Rows:
        """For the rows of this report."""
        newly_failing = report.comparison.newly_failing if report.comparison else ()
        return cls(
            extent=extent,
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
            time=markup(time_taken(result)),
            cost=markup(cost(result)),
            tokens=markup(amount(result.usage.total_tokens)),
            score=markup("" if result.score is None else format_score(result.score)),
            retries=_retries(result),
            sessions=self._sessions(result),
        )

    def brief(self, result: Result) -> Row:
        """A row with the kind of its reason, and the location."""
        reason = cause(result)
        return Row(**self._brief(result, reason), place=code(str(reason.location)))

    def _brief(self, result: Result, reason: Cause) -> dict[str, Any]:
        """What all rows with a reason have, by the names of the fields."""
        return {
            "case": self.case(result),
            "runner": code(runner_id(result)),
            "label": inline(reason.label, NAME),
            "news": markup("new") if result.index in self.newly_failing else NOTHING,
            "retries": _retries(result),
            "sessions": markup(sessions_passed(result, self.repetitions)),
        }

    def reasoned(
        self, result: Result, *, detail: Markup = NOTHING, parts: tuple[Part, ...] = (), artifacts: Markup = NOTHING
    ) -> Row:
        """A row with its reason on one line, and a link to the location if there is one."""
        reason = cause(result)
        message = clipped(reason.message.strip().partition("\n")[0], MESSAGE)
        others = len(not_holding(result)) - bool(reason.assertion)
        more = f" (and {counted(others, 'more assertion')})" if reason.assertion and others > 0 else ""
        return Row(
            **self._brief(result, reason),
            place=self.place(reason.location),
            assertion=code(reason.assertion or ""),
            message=markup(f"{inline(message)}{more}"),
            detail=detail,
            parts=parts,
            artifacts=artifacts,
        )

    def troubled(self, result: Result) -> Row:
        """A row with its reason and the folder with the logs that the remedy names."""
        return self.reasoned(result, artifacts=code(result.directory or ""))

    def detailed(self, result: Result) -> Row:
        """A row with its whole reason."""
        return self.reasoned(result, detail=self._detail(result, evidence=False))

    def proven(self, result: Result, excerpt: Excerpt | None = None) -> Row:
        """A row with its whole reason, the evidence, and what the session left."""
        return self.reasoned(
            result,
            detail=self._detail(result, evidence=True),
            parts=tuple(self._parts(excerpt)) if excerpt else (),
            artifacts=code(result.directory or ""),
        )

    def _detail(self, result: Result, *, evidence: bool) -> Markup:
        """What the first line of the message lacks: all assertions if there are several, else the rest of it."""
        limit = self.extent.detail
        found = failed_assertions(result, limit, evidence=evidence)
        if len(found.shown) + found.more > 1:
            return block(clipped(found.text(), limit))
        rest = found.message.strip().partition("\n")[2].strip("\n")
        return block(clipped("\n\n".join(filter(str.strip, (rest, *(one.body for one in found.shown)))), limit))

    def _parts(self, excerpt: Excerpt) -> Iterator[Part]:
        extent = self.extent
        if answer := excerpt.answer.strip():
            whole = len(answer) <= extent.answer and not excerpt.cut
            title = "The agent's answer" if whole else "The end of the agent's answer"
            yield Part(title=markup(title), text=block(tail(answer, extent.answer)))
        if excerpt.commands:
            last = excerpt.commands[-extent.commands :]
            title = f"{len(last):,} of {counted(excerpt.ran, 'command')}, the last" if excerpt.ran > len(last) else ""
            yield Part(title=markup(title or counted(len(last), "command")), text=block("\n".join(last), "console"))
        if extent.diff and excerpt.diff.strip():
            yield Part(title=markup("What changed"), text=block(clipped(excerpt.diff, extent.diff), "diff"))

    def unexpected(self, result: Result) -> Row:
        """A row with what to take out of the case, as its format writes it."""
        line = _EXPECTATIONS.get(result.suite.format, "the expectation")
        edit = markup(markdown_code_block(f"- {line}", "diff"))
        samples = samples_of(result, self.repetitions)
        sessions = markup(f"{samples} sessions passed") if samples.is_mixed else NOTHING
        return replace(self.brief(result), place=self.place(place(result)), edit=edit, sessions=sessions)

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
        case = code(result.case_id) + title_of(result)
        return markup(f"{inline(result.suite.name, NAME)} › {case}") if self.several else case  # noqa: RUF001

    def _sessions(self, result: Result) -> Markup:
        """Of what passed: whether it is flaky, and how many sessions passed unless all did."""
        words = ["flaky"] if is_flaky(result, self.repetitions) else []
        words += [sessions_passed(result, self.repetitions)] if samples_of(result, self.repetitions).is_mixed else []
        return markup(", ".join(words))

    def place(self, location: Location) -> Markup:
        """A location, as a link if the file is in the commit."""
        return linked(code(str(location)), self.links.line_address(location) if self.links else None)


def title_of(result: Result) -> Markup:
    """The case's title in parentheses after a space; empty without one, or if it is the id."""
    if not result.title or result.title == result.case_id:
        return NOTHING
    return markup(f" ({inline(result.title, TITLE)})")


def block(text: str, language: str = "") -> Markup:
    """Text as a block of code; empty if there is none. ``language`` is not untrusted."""
    return markup(markdown_code_block(_without_hidden(text), language)) if text.strip() else NOTHING


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


def html_code(text: str) -> Markup:
    """A name, as code, for a place where Markdown is not read: the summary of a folded part."""
    shown = markdown_inline(clipped(text, NAME))
    return markup(f"<code>{shown}</code>") if shown else NOTHING


def linked(text: Markup, address: str | None) -> Markup:
    """``text`` as a link; as it is without an address."""
    if not address or not _ADDRESS.match(address):
        return text
    return markup(f"[{text}]({quote(address, safe='/:#?&=%@', errors='replace')})")
