"""AgentV's grader of structured answers: fields of a JSON answer against those of the expected one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.assertions.grades import Check, all_or_nothing, graded
from skillgym_action.javascript.dates import day_of
from skillgym_action.javascript.values import (
    is_true,
    leading_number,
    number,
    parsed,
    same,
    stringified,
    text_of,
    trimmed,
)
from skillgym_action.model.scores import weighted_mean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from skillgym_action.assertions.grades import Grade
    from skillgym_action.documents.entries import Entry
    from skillgym_action.model.assertion import AssertionContext

MATCHES = ("exact", "numeric_tolerance", "date")
AGGREGATIONS = ("weighted_average", "all_or_nothing")
_NOTHING = object()
_FENCE = re.compile(r"```json\n?|```")
_INDEX = re.compile(r"[0-9]{1,9}")
_STEP = re.compile(r"[^.\[\]]+")
_SLASHED = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-](\d{4})")
_SHOWN = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One field. ``tolerance`` is a difference, or with ``relative`` a share of the expected number."""

    path: str
    match: str
    required: bool = True
    weight: float = 1.0
    tolerance: float = 0.0
    relative: bool = False
    formats: tuple[str, ...] = ()

    def compare(self, expected: object, answered: object) -> tuple[Check, float]:
        """A check, and its weight: an optional field that is missing has none."""
        wanted, got = _at(expected, self.path), _at(answered, self.path)
        if wanted is _NOTHING:
            return Check(f"{self.path}: nothing is expected", passed=True), self.weight
        if got is _NOTHING:
            missing = "is missing" if self.required else "is missing, and optional"
            return Check(f"{self.path} {missing}", passed=not self.required), self.weight if self.required else 0.0
        passed = self._holds(wanted, got)
        text = f"{self.path} is {_shown(got)}" + ("" if passed else f", not {_shown(wanted)}")
        return Check(text, passed), self.weight

    def _holds(self, wanted: object, got: object) -> bool:
        if self.match == "date":
            return _day(wanted, self.formats) == _day(got, self.formats) is not None
        if self.match == "numeric_tolerance":
            return self._is_near(_number(wanted), _number(got))
        return same(wanted, got)

    def _is_near(self, wanted: float | None, got: float | None) -> bool:
        if wanted is None or got is None:
            return False
        off = abs(got - wanted)
        if self.relative and wanted:
            off /= abs(wanted)
        return off <= self.tolerance and off < float("inf")


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldAccuracy:
    """Fields of the answer are those of the expected output."""

    fields: tuple[Field, ...]
    expected: object
    whole: bool = False

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        """The weighted mean of the fields; with ``whole``, 1 only if none is wrong."""
        try:
            answered = _object_in(context.report.final_output if context.report else "")
        except ValueError as error:
            return all_or_nothing(Check(f"the answer holds no JSON: {error}", passed=False))
        if not is_true(self.expected):
            return all_or_nothing(Check("the case has no expected_output with data", passed=False))
        compared = [field.compare(self.expected, answered) for field in self.fields]
        checks = [check for check, _ in compared]
        if self.whole:
            return all_or_nothing(*checks)
        return graded(*checks, score=weighted_mean((float(check.passed), weight) for check, weight in compared))


def field_accuracy(entry: Entry, expected_output: Sequence[object]) -> FieldAccuracy:
    """``field-accuracy``. Raises SuiteError."""
    fields = tuple(map(_field, entry.children("fields")))
    if not fields:
        raise entry.wrong("fields", "a list of fields that is not empty")
    whole = entry.choice("aggregation", AGGREGATIONS) == "all_or_nothing"
    return FieldAccuracy(fields=fields, expected=_expected(expected_output), whole=whole)


def _field(item: Entry) -> Field:
    match = item.choice("match", MATCHES)
    if match is None:
        raise item.wrong("match", f"one of {', '.join(MATCHES)}")
    weight = item.number("weight")
    return Field(
        path=item.needed_text("path"),
        match=match,
        required=item.flag("required", default=True),
        weight=1.0 if weight is None else weight,
        tolerance=item.number("tolerance") or 0.0,
        relative=item.flag("relative"),
        formats=item.texts("formats"),
    )


def _expected(messages: Sequence[object]) -> object:
    """The data of the last message of the assistant that has any; None where none has."""
    for message in reversed(messages):
        content = message.get("content") if isinstance(message, dict) and message.get("role") == "assistant" else None
        if isinstance(content, dict | list):
            return content
        if isinstance(content, str):
            try:
                return _object_in(content)
            except ValueError:
                continue
    return None


def _object_in(text: str) -> object:
    """The JSON value in a text: from the first brace to the last, without the marks of a block of code."""
    text = trimmed(_FENCE.sub("", text))
    first, last = text.find("{"), text.rfind("}")
    return parsed(text[first : last + 1] if 0 <= first < last else text)


def _at(value: object, path: str) -> object:
    """What stands at ``a.b[0].c``."""
    for step in _STEP.findall(path):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and _INDEX.fullmatch(step) and int(step) < len(value):
            value = value[int(step)]
        else:
            return _NOTHING
    return value


def _number(value: object) -> float | None:
    return leading_number(value) if isinstance(value, str) else number(value)


def _day(value: object, formats: tuple[str, ...]) -> date | None:
    """The day a value names: as ``Date.parse`` reads it, else in the order that the formats tell."""
    text = trimmed(text_of(value))
    if not text or (day := day_of(text)):
        return day if text else None
    if slashed := _SLASHED.fullmatch(text):
        first, second, year = map(int, slashed.groups())
        american = any("MM/DD" in form or "MM-DD" in form for form in formats)
        european = any("DD/MM" in form or "DD-MM" in form for form in formats)
        if (european and not american) or (european == american and first > second):
            first, second = second, first
        return day_of(f"{first}/{second}/{year}")
    return None


def _shown(value: object) -> str:
    text = stringified(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
