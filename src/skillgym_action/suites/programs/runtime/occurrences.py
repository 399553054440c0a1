"""Expectations about a sequence of occurrences: commands, file reads, tool calls."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Generic, Required, TypedDict, TypeVar, Unpack

from skillgym_action.model.records import record
from skillgym_action.suites.programs.runtime.failure_messages import ExplainContext, FailureMessage
from skillgym_action.suites.programs.runtime.matching import (
    counted,
    found_first,
    listed,
    nearest_first,
    numbers,
    require_list,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.suites.programs.runtime.failure_messages import Explain, Failed

M = TypeVar("M")


@record(slots=False)
class Rule:
    """A matcher in use: its text for messages, and its predicate.

    ``reading`` returns how the matcher parsed an item, for messages. ``wanted``: what an item is compared with to tell
    how near it is; empty if nothing can be compared.
    """

    text: str
    accepts: Callable[[Any], bool]
    wanted: str = ""
    reading: Callable[[Any], str] | None = None


@record(slots=False)
class Kind(Generic[M]):
    """A kind of occurrence: its singular and plural, and how its items are found, shown and matched.

    ``compared``: the part of an item that is compared with what is wanted; None: all that is shown.
    """

    one: str
    many: str
    of: Callable[[SessionReport], Sequence[Any]]
    shown: Callable[[Any], str]
    rule: Callable[[M], Rule]
    compared: Callable[[Any], str] | None = None


class _FailureContext(TypedDict, total=False):
    """Parts of a failure message. ``near``: a rule that not enough items match. ``found``: items that are too many."""

    expected: Required[object]
    actual: object
    near: Rule | None
    found: Sequence[bool]


class Occurrences(Generic[M]):
    """Each method takes the session report, what is expected, and ``message`` and ``explain`` for failures."""

    def __init__(self, kind: Kind[M], failed: Failed) -> None:
        self._kind = kind
        self._failed = failed

    def includes(
        self, report: SessionReport, matcher: M, message: str | None = None, *, explain: Explain | None = None
    ) -> None:
        """At least one matches."""
        rule, items = self._kind.rule(matcher), self._kind.of(report)
        if not any(map(rule.accepts, items)):
            wanted = f"a {self._kind.one} matching {rule.text}"
            self._fail(report, wanted, (rule,), (message, explain), expected=matcher, near=rule)

    def not_includes(
        self, report: SessionReport, matcher: M, message: str | None = None, *, explain: Explain | None = None
    ) -> None:
        """None matches."""
        rule, items = self._kind.rule(matcher), self._kind.of(report)
        found = list(map(rule.accepts, items))
        if any(found):
            wanted = f"no {self._kind.one} matching {rule.text}; found: {numbers(found)}"
            self._fail(report, wanted, (rule,), (message, explain), expected=matcher, found=found)

    def count(
        self,
        report: SessionReport,
        matcher: M,
        expected: int,
        message: str | None = None,
        *,
        explain: Explain | None = None,
    ) -> None:
        """That many match."""
        self._count(report, matcher, ("exactly", operator.eq, expected), (message, explain))

    def exactly_one(
        self, report: SessionReport, matcher: M, message: str | None = None, *, explain: Explain | None = None
    ) -> None:
        """One matches."""
        self.count(report, matcher, 1, message, explain=explain)

    def at_least(
        self,
        report: SessionReport,
        matcher: M,
        minimum: int,
        message: str | None = None,
        *,
        explain: Explain | None = None,
    ) -> None:
        """That many match, or more."""
        self._count(report, matcher, ("at least", operator.ge, minimum), (message, explain))

    def at_most(
        self,
        report: SessionReport,
        matcher: M,
        maximum: int,
        message: str | None = None,
        *,
        explain: Explain | None = None,
    ) -> None:
        """That many match, or fewer."""
        self._count(report, matcher, ("at most", operator.le, maximum), (message, explain))

    def before(
        self,
        report: SessionReport,
        earlier: M,
        later: M,
        message: str | None = None,
        *,
        explain: Explain | None = None,
    ) -> None:
        """The first that matches ``earlier`` comes before the first that matches ``later``."""
        rules, items = (self._kind.rule(earlier), self._kind.rule(later)), self._kind.of(report)
        first, second = (next((at for at, item in enumerate(items) if rule.accepts(item)), None) for rule in rules)
        if first is not None and second is not None and first < second:
            return
        wanted = f"a {self._kind.one} matching {rules[0].text} before one matching {rules[1].text}"
        if first is None or second is None:
            why = f"nothing matches {rules[0 if first is None else 1].text}"
        else:
            why = f"they come at {first + 1} and {second + 1}"
        self._fail(report, f"{wanted}; {why}", rules, (message, explain), expected=[earlier, later])

    def only(
        self,
        report: SessionReport,
        matchers: Sequence[M],
        message: str | None = None,
        *,
        explain: Explain | None = None,
    ) -> None:
        """Each matches one of these; not all of them need be matched."""
        require_list(matchers, "matchers")
        rules, items = tuple(map(self._kind.rule, matchers)), self._kind.of(report)
        found = [not any(rule.accepts(item) for rule in rules) for item in items]
        if others := numbers(found):
            allowed = " or ".join(rule.text for rule in rules)
            many = self._kind.many
            wanted = f"only {many} matching {allowed}; others: {others}" if rules else f"no {many}"
            self._fail(report, wanted, rules, (message, explain), expected=matchers, found=found)

    def sequence(
        self,
        report: SessionReport,
        matchers: Sequence[M],
        message: str | None = None,
        *,
        explain: Explain | None = None,
    ) -> None:
        """Each of these is matched after the one before; others may come between."""
        require_list(matchers, "matchers")
        rules, reached = tuple(map(self._kind.rule, matchers)), 0
        for item in self._kind.of(report):
            if reached < len(rules) and rules[reached].accepts(item):
                reached += 1
        if reached < len(rules):
            steps = ", then ".join(rule.text for rule in rules)
            wanted = f"{self._kind.many} in this order: {steps}; number {reached + 1} of them is missing"
            self._fail(report, wanted, rules, (message, explain), expected=matchers)

    def size(
        self, report: SessionReport, expected: int, message: str | None = None, *, explain: Explain | None = None
    ) -> None:
        """There are that many in all."""
        if (actual := len(self._kind.of(report))) != expected:
            wanted = f"exactly {counted(expected, self._kind.one, self._kind.many)}, found {actual}"
            self._fail(report, wanted, (), (message, explain), expected=expected, actual=actual)

    def first(
        self, report: SessionReport, matcher: M, message: str | None = None, *, explain: Explain | None = None
    ) -> None:
        """The first one matches."""
        self._at(0, report, matcher, (message, explain))

    def last(
        self, report: SessionReport, matcher: M, message: str | None = None, *, explain: Explain | None = None
    ) -> None:
        """The last one matches."""
        self._at(-1, report, matcher, (message, explain))

    def _count(
        self,
        report: SessionReport,
        matcher: M,
        wanted: tuple[str, Callable[[int, int], bool], int],
        options: tuple[str | None, Explain | None],
    ) -> None:
        words, compare, expected = wanted
        rule = self._kind.rule(matcher)
        found = list(map(rule.accepts, self._kind.of(report)))
        actual = sum(found)
        if not compare(actual, expected):
            many = counted(expected, self._kind.one, self._kind.many)
            text = f"{words} {many} matching {rule.text}, found {actual}"
            near = rule if actual < expected else None
            self._fail(report, text, (rule,), options, expected=expected, actual=actual, near=near, found=found)

    def _at(self, at: int, report: SessionReport, matcher: M, options: tuple[str | None, Explain | None]) -> None:
        rule, items = self._kind.rule(matcher), self._kind.of(report)
        actual = items[at] if items else None
        if not items or not rule.accepts(actual):
            word = "last" if at else "first"
            wanted = f"the {word} {self._kind.one} to match {rule.text}"
            self._fail(report, wanted, (rule,), options, expected=matcher, actual=actual)

    def _fail(
        self,
        report: SessionReport,
        expectation: str,
        rules: Sequence[Rule],
        options: tuple[str | None, Explain | None],
        **details: Unpack[_FailureContext],
    ) -> None:
        items = self._kind.of(report)
        reading = next((rule.reading for rule in rules if rule.reading), None)
        lines = [self._kind.shown(item) for item in items]
        readings = [reading(item) for item in items] if reading else []
        near = details.get("near")
        both = [f"{line} {read}" for line, read in zip(lines, readings, strict=True)] if reading else lines
        compared = list(map(self._kind.compared, items)) if self._kind.compared else both
        order = nearest_first((near.wanted,), compared) if near else found_first(details.get("found", ()))
        observed = listed(self._kind.many, lines, order, readings)
        words = FailureMessage(observed=observed, message=options[0], explain=options[1])
        context = ExplainContext(
            report=report, expected=details["expected"], actual=details.get("actual"), observed=items
        )
        words.fail(self._failed, f"expected {expectation}", context)
