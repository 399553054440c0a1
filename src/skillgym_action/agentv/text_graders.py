"""AgentV's graders of the final answer's text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.assertions.graders import CheckResult, all_or_nothing, not_gradable
from skillgym_action.assertions.line_evidence import found_evidence, nearest_lines, numbered_lines
from skillgym_action.javascript.regex import SearchError
from skillgym_action.javascript.values import parsed, trimmed
from skillgym_action.limits import (
    MAX_CHANGED_TEXT_CHARACTERS,
    MAX_EVIDENCE_CHANGED_LINES,
    MAX_SHOWN_ANSWER_CHARACTERS,
)
from skillgym_action.text.likeness import literal_part
from skillgym_action.text.line_changes import changed_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    import regex

    from skillgym_action.assertions.graders import Grade
    from skillgym_action.documents.suite_values import SuiteValue
    from skillgym_action.javascript.regex import Patterns
    from skillgym_action.model.assertion import AssertionContext

FLAGS = "imsugy"
LISTS = frozenset({"contains-any", "contains-all", "icontains-any", "icontains-all"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Contains:
    """The answer contains texts: ``every`` one of them, or any. ``fold``: upper and lower case are the same.

    ``negated``: the assertion holds if the answer does not; the evidence then shows where they are.
    """

    texts: tuple[str, ...]
    every: bool = False
    fold: bool = False
    negated: bool = False

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        answer = _final_answer(context)
        found = [text for text in self.texts if self._has(answer, text)]
        passed = len(found) == len(self.texts) if self.every else bool(found)
        if passed:
            check = CheckResult(f"the answer contains {' and '.join(map(repr, found))}", passed=True)
            at = self._folded(answer).find(self._folded(found[0]))
            return all_or_nothing(check, evidence=found_evidence(answer, at) if self.negated else None)
        missing = [text for text in self.texts if text not in found]
        wanted = " and ".join(map(repr, missing)) if self.every else " or ".join(map(repr, self.texts))
        check = CheckResult(f"the answer does not contain {wanted}", passed=False)
        return all_or_nothing(check, evidence=_nearest(answer, missing[0]))

    def _has(self, answer: str, text: str) -> bool:
        return self._folded(text) in self._folded(answer)

    def _folded(self, text: str) -> str:
        return text.lower() if self.fold else text


@dataclass(frozen=True, kw_only=True, slots=True)
class Compares:
    """The answer equals a text, or starts or ends with it; white space around both is ignored."""

    comparison: str
    text: str

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        answer = _final_answer(context)
        compare, yes, no = _COMPARISONS[self.comparison]
        passed = compare(trimmed(answer), trimmed(self.text))
        check = CheckResult(f"the answer {yes if passed else no} {self.text!r}", passed)
        return all_or_nothing(check, evidence=None if passed else self._differences(answer))

    def _differences(self, answer: str) -> str:
        """Of an answer of several lines that should equal the text the lines that differ; else its beginning or end."""
        if self.comparison == "ends-with" and len(answer) > MAX_SHOWN_ANSWER_CHARACTERS:
            return f"…{answer[-MAX_SHOWN_ANSWER_CHARACTERS:]}"
        if self.comparison != "equals" or "\n" not in answer.strip():
            return _beginning(answer)
        lines = changed_lines(trimmed(self.text), trimmed(answer), MAX_CHANGED_TEXT_CHARACTERS) or ()
        shown = numbered_lines(lines[:MAX_EVIDENCE_CHANGED_LINES])
        more = [f"… and {len(lines) - len(shown):,} more"] if len(lines) > len(shown) else []
        return "\n".join(["missing (-) and surplus (+) lines:", *shown, *more]) if lines else _beginning(answer)


@dataclass(frozen=True, kw_only=True, slots=True)
class Matches:
    """A regular expression is found in the answer; with ``sticky``, at its beginning. ``key_path`` is the value's."""

    written: str
    pattern: regex.Pattern[str]
    sticky: bool = False
    key_path: str = ""
    negated: bool = False

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        """Not gradable, with a score of 0, if the search takes too long."""
        answer = _final_answer(context)
        try:
            match = context.search(self.pattern, answer, at_start=self.sticky)
        except SearchError as error:
            return not_gradable(f"{self.key_path}: {self.written} {error}", score=0.0)
        text = f"the answer {'matches' if match else 'does not match'} {self.written}"
        if match is None:
            evidence = _nearest(answer, literal_part(self.pattern.pattern))
            return all_or_nothing(CheckResult(text, passed=False), evidence=evidence)
        found = found_evidence(answer, match.start()) if self.negated else None
        return all_or_nothing(CheckResult(text, passed=True), evidence=found)


@dataclass(frozen=True, slots=True)
class IsJson:
    """The whole answer is JSON, of any type."""

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        answer = _final_answer(context)
        try:
            parsed(answer)
        except ValueError as error:
            return all_or_nothing(
                CheckResult(f"the answer is not JSON: {error}", passed=False), evidence=_beginning(answer)
            )
        return all_or_nothing(CheckResult("the answer is JSON", passed=True))


_COMPARISONS: dict[str, tuple[Callable[[str, str], bool], str, str]] = {
    "equals": (str.__eq__, "equals", "does not equal"),
    "starts-with": (str.startswith, "starts with", "does not start with"),
    "ends-with": (str.endswith, "ends with", "does not end with"),
}


def contains(entry: SuiteValue, kind: str) -> Contains:
    """``contains``, ``icontains`` and their lists. Raises SuiteError."""
    texts = entry.scalar_texts("value") if kind in LISTS else (entry.required_text("value"),)
    if not texts:
        raise entry.invalid("value", "a list of texts that is not empty")
    every, fold = kind.endswith("-all"), kind.startswith("i")
    return Contains(texts=texts, every=every, fold=fold, negated=entry.flag("negate"))


def compares(entry: SuiteValue, kind: str) -> Compares:
    """``equals``, ``starts-with`` and ``ends-with``. Raises SuiteError."""
    return Compares(comparison=kind, text=entry.required_text("value"))


def matches(entry: SuiteValue, patterns: Patterns) -> Matches:
    """``regex``. Raises SuiteError."""
    source, flags = entry.required_text("value"), entry.scalar_text("flags") or ""
    if set(flags) - set(FLAGS) or len(set(flags)) < len(flags):
        raise entry.invalid("flags", f"some of the letters {' '.join(FLAGS)}, each once")
    try:
        pattern = patterns.compiled(source, flags)
    except ValueError as error:
        raise entry.member("value").error(f"is not a regular expression: {error}") from error
    key_path = entry.member("value").name
    return Matches(
        written=f"/{source}/{flags}",
        pattern=pattern,
        sticky="y" in flags,
        key_path=key_path,
        negated=entry.flag("negate"),
    )


def is_json(_: SuiteValue, __: str) -> IsJson:
    """``is-json``."""
    return IsJson()


def _final_answer(context: AssertionContext) -> str:
    return context.report.final_output if context.report else ""


def _nearest(answer: str, wanted: str) -> str:
    """The whole answer if it is short; else its lines that are most like the wanted text, and its beginning."""
    lines = nearest_lines(answer, wanted) if len(answer) > MAX_SHOWN_ANSWER_CHARACTERS else []
    if not lines:
        return _beginning(answer)
    return "\n".join(["nearest lines:", *numbered_lines(lines), "the answer's beginning:", _beginning(answer)])


def _beginning(answer: str) -> str:
    if not answer:
        return "(the answer is empty)"
    return answer if len(answer) <= MAX_SHOWN_ANSWER_CHARACTERS else f"{answer[:MAX_SHOWN_ANSWER_CHARACTERS]}…"
