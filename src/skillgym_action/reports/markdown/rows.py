"""Parts of a view: executions as rows, excerpts of their sessions, and the size of the report. All is escaped."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cache
from itertools import takewhile
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from skillgym_action.model.comparison import is_flaky, samples_of
from skillgym_action.model.limits import MAX_COMPARED_CASES, MAX_SUMMARY_BYTES
from skillgym_action.model.records import record
from skillgym_action.model.result import findings_of_kind, format_score
from skillgym_action.reports.template_values import NOTHING, markup
from skillgym_action.reports.wording.failed_assertions import failed_assertions, not_holding
from skillgym_action.reports.wording.rates import sessions_passed
from skillgym_action.reports.wording.results import TITLE, cause, cost, location_of, retries, runner_id, time_taken
from skillgym_action.text.escaping import (
    clipped,
    markdown_code_block,
    markdown_code_span,
    markdown_inline,
    one_line,
    tail,
    visible,
)
from skillgym_action.text.words import amount, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from markupsafe import Markup

    from skillgym_action.model.errors import Location
    from skillgym_action.model.report import Links, RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.model.session import ArtifactSource, SessionArtifacts
    from skillgym_action.reports.wording.results import Cause

MAX_COMMENT_FAILURES = 100  # reasons in the comment
MAX_COMMENT_LINES = 6  # of any other list of the comment
MAX_COMMENT_EVIDENCE_CHARACTERS = 31_000  # of everything that is folded below reasons in the comment
MAX_COMMENT_EXCERPTS = 10  # results whose stored sessions are read for the comment
MAX_SUMMARY_EXCERPTS = 40  # executions whose stored sessions are read for the summary
MAX_SUMMARY_DIFF_CHARACTERS = 4_000  # of one execution
MAX_SUMMARY_COMMANDS = 15  # last ones of one execution
MAX_SUMMARY_ANSWER_CHARACTERS = 2_000  # of one execution, at its end
MAX_EXCERPT_COMMAND_CHARACTERS = 300  # of one command
MAX_LEAK_LOCATIONS = 5  # leaked keys of one execution that are listed
NAME, MESSAGE = 120, 400  # characters
_EXPECTATIONS = {
    "x-bench": '"expectedFail": true',
    "python": "expected_fail=True",
    "typescript": "expectedFail: true",
    "agentv": "expected_fail: true",
}
_ADDRESS = re.compile(r"https?://[^/]")
_HIDDEN = re.compile("<(?=!--)")  # shown as code, but must not be taken for a hidden line of the tool


@record
class Part:
    """Something that a session left: its answer, its commands, the diff. ``text`` is a block."""

    title: Markup
    text: Markup


@record
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


@record
class ReportExtent:
    """How much of a run a report shows where there is room; None: everything.

    ``failures``: entries in the list of failures; ``executions`` in one entry; ``lines``: lines of any other list;
    ``names``: cases of one kind of change. Of one execution: ``detail``: characters of its assertions with their
    evidence; ``answer`` and ``diff``: characters; ``commands``: the last ones. ``evidence``: characters of all that.
    ``excerpts``: executions with answer, commands and diff. ``whole``: also what is green, and the table of cases.
    """

    failures: int | None = None
    executions: int | None = None
    lines: int | None = None
    names: int = MAX_COMPARED_CASES
    detail: int = 1_500
    answer: int = MAX_SUMMARY_ANSWER_CHARACTERS
    commands: int = MAX_SUMMARY_COMMANDS
    diff: int = MAX_SUMMARY_DIFF_CHARACTERS
    evidence: int = MAX_SUMMARY_BYTES
    excerpts: int = MAX_SUMMARY_EXCERPTS
    whole: bool = True


SUMMARY = ReportExtent()


@record
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
        sessions = markup(f"{samples} attempts passed") if samples.is_mixed else NOTHING
        return replace(self.brief(result), place=self.place(location_of(result)), edit=edit, sessions=sessions)

    def findings(self, result: Result, id_: str) -> Markup:
        """A line: the execution, the kinds of its findings, and where they are."""
        found = findings_of_kind(result.findings, id_)
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
        """Of what passed: whether it is flaky, and how many attempts passed unless all did."""
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


Item = TypeVar("Item")
COMMENT = ReportExtent(
    failures=MAX_COMMENT_FAILURES,
    executions=1,
    lines=MAX_COMMENT_LINES,
    names=MAX_COMMENT_LINES,
    detail=700,
    answer=300,
    commands=3,
    diff=0,
    evidence=MAX_COMMENT_EVIDENCE_CHARACTERS,
    excerpts=MAX_COMMENT_EXCERPTS,
    whole=False,
)


@record(frozen=False, kw_only=False)
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
        """The size of all ``strings``: ``measure`` returns the same for them together as for one after the other."""
        return self.measure("".join(strings))

    def _reserve(self, size: int) -> bool:
        self.full = self.full or size > self.left
        if not self.full:
            self.left -= size
        return not self.full

    @contextmanager
    def within(self, most: int) -> Iterator[RowBudget]:
        """A budget of at most ``most`` of this one; this one is full if it is what has run out."""
        part = RowBudget(min(most, self.left), self.measure, self.full)
        bounded, first = part.left < self.left, part.left
        yield part
        self.left -= first - part.left
        self.full = self.full or (part.full and not bounded)

    @contextmanager
    def part(self, share: float) -> Iterator[RowBudget]:
        """A budget of at most ``share`` of this one; what it does not use is returned to this one."""
        part = RowBudget(int(self.left * share), self.measure)
        self.left -= part.left
        yield part
        self.left += part.left


def while_it_fits(
    items: Iterable[Item], budget: RowBudget, overhead: int, strings: Callable[[Item], Iterable[str]]
) -> tuple[Item, ...]:
    """The items until one does not fit; those after it are not even made."""
    return () if budget.full else tuple(takewhile(lambda item: budget.take(strings(item), overhead), items))


def left_out(number: int, noun: str) -> Markup:
    """``12 rows left out``; empty for none."""
    return markup(f"{counted(number, noun)} left out") if number else NOTHING


_MOST_EXIT_CODE = 2**32  # larger ones are not of any system


@record
class Excerpt:
    """``answer``: the end of it, ``cut`` if it is longer; ``commands``: the last of those that ``ran``, a line each."""

    answer: str = ""
    cut: bool = False
    commands: tuple[str, ...] = ()
    ran: int = 0
    diff: str = ""


class SessionExcerpts:
    """Excerpts of the sessions that results are about; each session is read once, however often reports are rendered.

    Without ``artifacts`` there is only what the results have: the answer.
    """

    def __init__(self, artifacts: ArtifactSource | None = None) -> None:
        self._artifacts = artifacts
        self._found: dict[tuple[int, str], Excerpt] = {}

    def of(self, result: Result) -> Excerpt:
        """What the session left, an empty excerpt if it left nothing."""
        directory = result.directory or ""
        key = result.index, directory
        if key not in self._found:
            readable = self._artifacts if directory else None
            stored = readable.session(directory, 2 * MAX_SUMMARY_DIFF_CHARACTERS) if readable else None
            self._found[key] = _excerpt(result, stored)
        return self._found[key]


def _excerpt(result: Result, stored: SessionArtifacts | None) -> Excerpt:
    answer = (result.final_output or "").strip()
    commands = _commands(stored.report) if stored and stored.report else []
    return Excerpt(
        answer=answer[-MAX_SUMMARY_ANSWER_CHARACTERS:],
        cut=len(answer) > MAX_SUMMARY_ANSWER_CHARACTERS,
        commands=tuple(commands[-MAX_SUMMARY_COMMANDS:]),
        ran=len(commands),
        diff=_diff(stored) if stored else "",
    )


def _commands(report: Mapping[str, Any]) -> list[str]:
    """The commands of a stored session report, which may be anybody's."""
    events = report.get("events")
    found = (event for event in events if isinstance(event, dict)) if isinstance(events, list) else ()
    return [_command(event) for event in found if event.get("type") == "command"]


def _command(event: Mapping[str, Any]) -> str:
    command, code = event.get("command"), event.get("exitCode")
    line = one_line(command) if isinstance(command, str) else ""
    failed = isinstance(code, int) and not isinstance(code, bool) and code != 0 and abs(code) < _MOST_EXIT_CODE
    return f"$ {clipped(line, MAX_EXCERPT_COMMAND_CHARACTERS)}" + (f"  # exit code {code}" if failed else "")


def _diff(stored: SessionArtifacts) -> str:
    if stored.diff is None:
        return ""
    left_out = stored.diff.left_out
    return f"{stored.diff.head}\n… {left_out:,} bytes left out …\n{stored.diff.tail}" if left_out else stored.diff.head
