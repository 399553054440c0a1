"""One execution in a report template: its fields are escaped for Markdown and formatted."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from markupsafe import Markup

from skillgym_action.model.scores import format_score
from skillgym_action.reporters.wording import amount, cause, cost, counted, duration, place, retries, runner_id
from skillgym_action.text.escaping import clipped, markdown_code_block, markdown_code_span, markdown_inline

if TYPE_CHECKING:
    from skillgym_action.model.errors import Location
    from skillgym_action.model.links import Links
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport

NAME, MESSAGE, DETAIL = 120, 400, 1_500  # characters
PLACES = 5  # of one execution's leaked keys
NOTHING = Markup()
_EXPECTATIONS = {
    "x-bench": '"expectedFail": true',
    "python": "expected_fail=True",
    "typescript": "expectedFail: true",
    "agentv": "expected_fail: true",
}
_ADDRESS = re.compile(r"https?://[^/]")
_HIDDEN = re.compile("<(?=!--)")  # as code it is seen, but must not pass for one of our markers


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """Makes rows. ``several``: there are suites enough to name each; ``broken``: indexes of what was green before."""

    several: bool = False
    links: Links | None = None
    broken: frozenset[int] = frozenset()

    @classmethod
    def of(cls, report: RunReport) -> Rows:
        """For the rows of this report."""
        broken = report.comparison.newly_failing if report.comparison else ()
        return cls(
            several=len(report.suites) > 1, links=report.links, broken=frozenset(pair.after.index for pair in broken)
        )

    def passed(self, result: Result) -> Row:
        """A row with figures, without reasons."""
        return Row(
            case=self.case(result),
            runner=code(runner_id(result)),
            time=ours(duration(result.duration_ms)),
            cost=ours(cost(result)),
            tokens=ours(amount(result.usage.total_tokens)),
            score=ours("" if result.score is None else format_score(result.score)),
            retries=_retries(result),
        )

    def brief(self, result: Result) -> Row:
        """A row with the kind of its reason, and the place."""
        reason = cause(result)
        return Row(
            case=self.case(result),
            runner=code(runner_id(result)),
            place=code(str(reason.location)),
            label=inline(reason.label, NAME),
            news=ours("new") if result.index in self.broken else NOTHING,
            retries=_retries(result),
        )

    def reasoned(self, result: Result) -> Row:
        """A row with its reason in one line, and the place linked where it can be seen."""
        reason = cause(result)
        message = reason.message.strip().partition("\n")[0]
        return replace(
            self.brief(result),
            place=self.place(reason.location),
            assertion=code(reason.assertion or ""),
            message=inline(message),
        )

    def detailed(self, result: Result) -> Row:
        """A row with all of its reason."""
        return replace(self.reasoned(result), detail=_block(_rest(result)))

    def proven(self, result: Result) -> Row:
        """A row with all of its reason and the evidence."""
        evidence = cause(result).evidence or ""
        return replace(self.reasoned(result), detail=_block("\n\n".join(filter(str.strip, (_rest(result), evidence)))))

    def unexpected(self, result: Result) -> Row:
        """A row with what to take out of the case, as its format writes it."""
        line = _EXPECTATIONS.get(result.suite.format, "the expectation")
        edit = ours(markdown_code_block(f"- {line}", "diff"))
        return replace(self.brief(result), place=self.place(place(result)), edit=edit)

    def leaked(self, result: Result) -> Markup:
        """A line: whose session it was, which kinds of keys are in it, and where."""
        places = [inline(f"{one.kind} in ", NAME) + ours(" ") + code(one.where) for one in result.findings[:PLACES]]
        more = len(result.findings) - len(places)
        told = ours(", ").join([*places, ours(f"{more:,} more")] if more else places)
        return ours(" · ").join((self.case(result), code(runner_id(result)), told))

    def case(self, result: Result) -> Markup:
        """The case's name, with its suite's where there are several."""
        case = code(result.case_id)
        return ours(f"{inline(result.suite.name, NAME)} › {case}") if self.several else case  # noqa: RUF001

    def place(self, location: Location) -> Markup:
        """A place in a file, as a link if it is in the commit."""
        return linked(code(str(location)), self.links.line_address(location) if self.links else None)


def _rest(result: Result) -> str:
    """What the first line of the message does not say."""
    return cause(result).message.strip().partition("\n")[2].strip("\n")


def _block(text: str) -> Markup:
    return ours(markdown_code_block(_HIDDEN.sub("<\u2060", clipped(text, DETAIL)))) if text.strip() else NOTHING


def _retries(result: Result) -> Markup:
    tries = retries(result)
    return ours(f"after {counted(tries, 'retry', 'retries')}") if tries else NOTHING


def inline(text: str, limit: int = MESSAGE) -> Markup:
    """Words on one line."""
    return ours(markdown_inline(clipped(text, limit)))


def code(text: str) -> Markup:
    """A name, as code."""
    return ours(markdown_code_span(_HIDDEN.sub("<\u2060", clipped(text, NAME))))


def linked(text: Markup, address: str | None) -> Markup:
    """``text`` as a link; as it is without an address."""
    if not address or not _ADDRESS.match(address):
        return text
    return ours(f"[{text}]({quote(address, safe='/:#?&=%@', errors='replace')})")


def ours(text: str) -> Markup:
    """``text`` as a template may place it: words of ours, or escaped."""
    return Markup(text)  # noqa: S704
