"""AgentV's graders of the final answer: its text, and the fields of JSON in it."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.judging.assertions.evidence import found_evidence, nearest_lines, numbered_lines
from skillgym_action.judging.assertions.graders import CheckResult, all_or_nothing, grade_of, not_gradable
from skillgym_action.model.limits import MAX_CHANGED_TEXT_CHARACTERS, MAX_EVIDENCE_CHANGED_LINES
from skillgym_action.model.records import record
from skillgym_action.model.result import weighted_mean
from skillgym_action.text.javascript.regex import SearchError
from skillgym_action.text.javascript.values import (
    MISSING,
    is_true,
    leading_number,
    member_at,
    number,
    parsed,
    same,
    stringified,
    text_of,
    trimmed,
)
from skillgym_action.text.likeness import literal_part
from skillgym_action.text.line_changes import changed_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    import regex

    from skillgym_action.judging.assertions.graders import Grade
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.suites.values import SuiteValue
    from skillgym_action.text.javascript.regex import Patterns

MAX_SHOWN_ANSWER_CHARACTERS = 500  # of the answer in an explanation
MAX_SHOWN_FIELD_CHARACTERS = 80  # of a field's value in an explanation
FLAGS = "imsugy"
LISTS = frozenset({"contains-any", "contains-all", "icontains-any", "icontains-all"})


@record
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


@record
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


@record
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


@record(kw_only=False)
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


MATCHES = ("exact", "numeric_tolerance", "date")
AGGREGATIONS = ("weighted_average", "all_or_nothing")
_FENCE = re.compile(r"```json\n?|```")
_KEY = re.compile(r"[^.\[\]]+")  # of a path such as a.b[0].c
_SLASHED = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-](\d{4})")
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?", re.IGNORECASE)
_MONTH = re.compile(r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?", re.IGNORECASE)
_YEAR = re.compile(r"(?<![\s\d][+-])\b\d{4}\b")  # not an offset such as +0100
_WITHOUT_MEANING = re.compile(r"\b(?:GMT|UTC|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*)\b|,|\([^()]*\)", re.IGNORECASE)
_DAY_FORMATS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%m/%d/%Y", "%m-%d-%Y", "%m.%d.%Y"),
    *("%Y %b %d", "%Y-%b-%d", "%b %Y", "%Y-%m", "%Y"),
)
_TIME_FORMATS = ("", " %H:%M", " %H:%M:%S", " %H:%M %z", " %H:%M:%S %z", " %I:%M %p", " %I:%M:%S %p")
_DATE_FORMATS = tuple(day + time for day in _DAY_FORMATS for time in _TIME_FORMATS)


@record
class Field:
    """A field to compare. ``tolerance`` is a difference, or with ``relative`` a share of the expected number."""

    path: str
    match: str
    required: bool = True
    weight: float = 1.0
    tolerance: float = 0.0
    relative: bool = False
    formats: tuple[str, ...] = ()

    def compare(self, expected: object, answer: object) -> tuple[CheckResult, float]:
        """A check and its weight, which is 0 for an optional field that is missing."""
        keys = _KEY.findall(self.path)
        wanted, got = member_at(expected, keys), member_at(answer, keys)
        if wanted is MISSING:
            return CheckResult(f"{self.path}: nothing is expected", passed=True), self.weight
        if got is MISSING:
            missing = "is missing" if self.required else "is missing, and optional"
            return CheckResult(
                f"{self.path} {missing}", passed=not self.required
            ), self.weight if self.required else 0.0
        passed = self._matches(wanted, got)
        text = f"{self.path} is {_shown(got)}" + ("" if passed else f", not {_shown(wanted)}")
        return CheckResult(text, passed), self.weight

    def _matches(self, wanted: object, got: object) -> bool:
        if self.match == "date":
            return _day(wanted, self.formats) == _day(got, self.formats) is not None
        if self.match == "numeric_tolerance":
            return self._is_near(_number(wanted), _number(got))
        return same(wanted, got)

    def _is_near(self, wanted: float | None, got: float | None) -> bool:
        if wanted is None or got is None:
            return False
        difference = abs(got - wanted)
        if self.relative and wanted:
            difference /= abs(wanted)
        return difference <= self.tolerance and difference < float("inf")


@record
class FieldAccuracy:
    """Fields of the answer equal those of the expected output. With ``all_fields``, 1 only if every field does."""

    fields: tuple[Field, ...]
    expected: object
    all_fields: bool = False

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        try:
            answer = _json_in(context.report.final_output if context.report else "")
        except ValueError as error:
            return all_or_nothing(CheckResult(f"the answer contains no JSON: {error}", passed=False))
        if not is_true(self.expected):
            return all_or_nothing(CheckResult("the case has no expected_output with data", passed=False))
        compared = [field.compare(self.expected, answer) for field in self.fields]
        checks = [check for check, _ in compared]
        if self.all_fields:
            return all_or_nothing(*checks)
        return grade_of(*checks, score=weighted_mean((float(check.passed), weight) for check, weight in compared))


def field_accuracy(entry: SuiteValue, expected_output: Sequence[object]) -> FieldAccuracy:
    """``field-accuracy``. Raises SuiteError."""
    fields = tuple(map(_field, entry.children("fields")))
    if not fields:
        raise entry.invalid("fields", "a list of fields that is not empty")
    all_fields = entry.choice("aggregation", AGGREGATIONS) == "all_or_nothing"
    return FieldAccuracy(fields=fields, expected=_expected(expected_output), all_fields=all_fields)


def _field(item: SuiteValue) -> Field:
    match = item.choice("match", MATCHES)
    if match is None:
        raise item.invalid("match", f"one of {', '.join(MATCHES)}")
    weight = item.number("weight")
    return Field(
        path=item.required_text("path"),
        match=match,
        required=item.flag("required", default=True),
        weight=1.0 if weight is None else weight,
        tolerance=item.number("tolerance") or 0.0,
        relative=item.flag("relative"),
        formats=item.scalar_texts("formats"),
    )


def _expected(messages: Sequence[object]) -> object:
    """The JSON value in the last message of the assistant that has one; None if there is none."""
    for message in reversed(messages):
        content = message.get("content") if isinstance(message, dict) and message.get("role") == "assistant" else None
        if isinstance(content, dict | list):
            return content
        if isinstance(content, str):
            try:
                return _json_in(content)
            except ValueError:
                continue
    return None


def _json_in(text: str) -> object:
    """The JSON value in a text: from the first brace to the last, without code fences. Raises ValueError."""
    text = trimmed(_FENCE.sub("", text))
    first, last = text.find("{"), text.rfind("}")
    return parsed(text[first : last + 1] if 0 <= first < last else text)


def _number(value: object) -> float | None:
    return leading_number(value) if isinstance(value, str) else number(value)


def _day(value: object, formats: tuple[str, ...]) -> date | None:
    """The day of a value. Numbers such as 31/12/2025 that are no date in US order are read in the order of formats."""
    text = trimmed(text_of(value))
    if day := day_of(text):
        return day
    if slashed := _SLASHED.fullmatch(text):
        first, second, year = map(int, slashed.groups())
        american = any("MM/DD" in form or "MM-DD" in form for form in formats)
        european = any("DD/MM" in form or "DD-MM" in form for form in formats)
        if (european and not american) or (european == american and first > second):
            first, second = second, first
        return day_of(f"{first}/{second}/{year}")
    return None


def day_of(text: str) -> date | None:
    """The day in UTC that a text names; None if it is not a date. Times without a zone are in UTC.

    AgentV uses ``Date.parse`` of JavaScript. What people write is read as there; what only ``Date.parse`` makes a
    date of is none, such as days that do not exist, years of two digits and single numbers.
    """
    text = " ".join(_MONTH.sub(r"\1", _WITHOUT_MEANING.sub(" ", text)).split())
    for read in (_iso_time, _mail_time, _numeric_time):
        with suppress(ValueError, OverflowError):
            time = read(text)
            return (time.astimezone(UTC) if time.tzinfo else time).date()
    return None


def _iso_time(text: str) -> datetime:
    """A time in the extended format of ISO 8601, also with a blank for T. Raises ValueError for the other formats."""
    if not _ISO.fullmatch(text):
        raise ValueError(text)
    return datetime.fromisoformat(text)


def _mail_time(text: str) -> datetime:
    """A time as in mails, and as JavaScript's ``Date`` writes it: with the name of a month. Raises ValueError."""
    if not _MONTH.search(text) or not _YEAR.search(text):
        raise ValueError(text)
    if ":" not in text:
        text = f"{text} 00:00:00 +0000"
    try:
        return parsedate_to_datetime(text)
    except (TypeError, IndexError) as error:  # how the standard library reports some texts that it cannot read
        raise ValueError(text) from error


def _numeric_time(text: str) -> datetime:
    """A time in one of ``_DATE_FORMATS``. Raises ValueError."""
    for form in _DATE_FORMATS:
        with suppress(ValueError):
            return datetime.strptime(text, form)  # noqa: DTZ007 - times without a zone are in UTC
    raise ValueError(text)


def _shown(value: object) -> str:
    text = stringified(value)
    return text if len(text) <= MAX_SHOWN_FIELD_CHARACTERS else f"{text[:MAX_SHOWN_FIELD_CHARACTERS]}…"
