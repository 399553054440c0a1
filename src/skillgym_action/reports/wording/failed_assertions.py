"""The assertions of an execution that do not hold, numbered, with evidence, within a limit. Nothing is escaped yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.records import record
from skillgym_action.model.result import deciding, format_score
from skillgym_action.model.verdicts import NOT_BY_ASSERTIONS, Status
from skillgym_action.reports.wording.results import cause
from skillgym_action.text.escaping import clipped, one_line, tail

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillgym_action.model.judgement import Outcome
    from skillgym_action.model.result import Result

MAX_ASSERTION_TITLE_CHARACTERS = 300  # of the name of an assertion that does not hold; of its explanation twice as many
_INDENT = "   "
_SHORTEST_BODY = 80  # characters; less of it explains nothing
_AT_THE_END = frozenset({"command-passes", "code-grader"})  # types whose evidence is output, which matters at its end


@record
class FailedAssertion:
    """``title``: its name, and where it is; ``explanation``: one line; ``body``: other lines, then the evidence."""

    title: str
    explanation: str
    body: str = ""


@record
class FailedAssertions:
    """Those that fit into a limit, and how many do not. ``message``: the reason, unless one of them explains it."""

    message: str
    shown: tuple[FailedAssertion, ...] = ()
    more: int = 0

    def numbered(self) -> Iterator[tuple[str, FailedAssertion]]:
        """Each with its number; without one if there is only one."""
        alone = len(self.shown) + self.more == 1
        for number, one in enumerate(self.shown, start=1):
            yield ("" if alone else f"{number}. "), one

    def text(self) -> str:
        """Message and assertions, with indented evidence; ``and 3 more`` at the end."""
        return "\n".join(filter(None, (self.message, self._listed())))

    def text_below_reason(self) -> str:
        """The same for a place below the reason, which is not repeated: the message, or what a single one explains."""
        alone = not self.message and len(self.shown) + self.more == 1
        return "\n".join(filter(None, (self.shown[0].title, self.shown[0].body))) if alone else self._listed()

    def _listed(self) -> str:
        lines = []
        for number, one in self.numbered():
            lines.append(f"{number}{one.title}: {one.explanation}")
            lines += [_INDENT * bool(number) + line for line in one.body.split("\n") if one.body]
        return "\n".join([*lines, *([f"and {self.more:,} more"] if self.more else [])])


def not_holding(result: Result) -> tuple[Outcome, ...]:
    """The assertions that are the reason: failed, and could not be judged; none if a limit or the model is the reason.

    Of an errored execution only those that could not be judged.
    """
    judgement = result.judgement
    if judgement.origin in NOT_BY_ASSERTIONS:
        return ()
    outcomes = tuple(outcome for outcome in deciding(judgement.outcomes) if outcome.passed is not True)
    if result.status is Status.ERRORED:
        return tuple(outcome for outcome in outcomes if outcome.passed is None) if cause(result).assertion else ()
    return outcomes if result.status in (Status.FAILED, Status.EXPECTED_FAILED) else ()


def failed_assertions(result: Result, limit: int, *, evidence: bool = True) -> FailedAssertions:
    """As many assertions as fit into ``limit`` characters; what their titles leave is shared by their evidence."""
    return _fitting(not_holding(result), cause(result).message, limit, evidence=evidence)


def explanation(result: Result, limit: int) -> str:
    """The message of the cause, unless an assertion explains it, all that do not hold, with evidence; the location."""
    reason = cause(result)
    outcomes = [outcome for outcome in deciding(result.judgement.outcomes) if outcome.passed is not True]
    end = f"\n\nat {reason.location}"
    return _fitting(outcomes, reason.message, limit - len(end)).text() + end


def _fitting(outcomes: Sequence[Outcome], reason: str, limit: int, *, evidence: bool = True) -> FailedAssertions:
    explained = any(outcome.explanation == reason for outcome in outcomes)
    message = "" if explained else clipped(reason, limit // 2 if outcomes else limit)
    limit -= len(message)
    entries = [_entry(outcome, limit, evidence=evidence, several=len(outcomes) > 1) for outcome in outcomes]
    left, shown = limit - len("and 9,999 more\n"), 0
    for entry in entries:
        size = len(entry.title) + len(entry.explanation) + len("9,999. : \n")
        if size > left and shown:
            break
        left, shown = left - size, shown + 1
    fitted = []
    for number, entry in enumerate(entries[:shown]):
        share = left // (shown - number)
        body = _cut(entry.body, share, at_start=outcomes[number].type in _AT_THE_END)
        left -= _size(body)
        fitted.append(FailedAssertion(title=entry.title, explanation=entry.explanation, body=body))
    return FailedAssertions(message=message, shown=tuple(fitted), more=len(entries) - shown)


def _entry(outcome: Outcome, limit: int, *, evidence: bool, several: bool) -> FailedAssertion:
    first, _, rest = outcome.explanation.strip().partition("\n")
    title = outcome.assertion
    if several and outcome.location:
        title += f" ({outcome.location})"
    if several and outcome.score is not None:
        title += f" (score {format_score(outcome.score)})"
    words = f"could not be judged: {first}" if outcome.passed is None and several else first
    title = clipped(title, MAX_ASSERTION_TITLE_CHARACTERS)
    most = 2 * MAX_ASSERTION_TITLE_CHARACTERS if several else limit - len(title) - 2
    proof = outcome.evidence or ""
    is_said = one_line(proof) == first.partition(": ")[2]  # as of questions to the judge
    parts = (rest, proof if evidence and not is_said else "")
    return FailedAssertion(
        title=title,
        explanation=clipped(words, most),
        body="\n".join(part.strip("\n") for part in parts if part.strip()),
    )


def _cut(body: str, share: int, *, at_start: bool) -> str:
    """The body in ``share`` characters, its indentation and line end included; empty if that is too few."""
    if _size(body) <= share:
        return body
    room, cut = share, tail if at_start else clipped
    shown = cut(body, room) if room >= _SHORTEST_BODY else ""
    while shown and (size := _size(shown)) > share:
        room = min(room - 1, room * share // size)
        if room < _SHORTEST_BODY:
            return ""
        shown = cut(body, room)
    return shown


def _size(body: str) -> int:
    return len(body) + 1 + len(_INDENT) * (body.count("\n") + 1) if body else 0
