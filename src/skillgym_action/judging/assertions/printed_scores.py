"""Scores that programs print: read where they say one thing, refused where they could mean another.

A score that cannot be used is a fault of the grader: it must count neither for the agent nor against it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from skillgym_action.text.escaping import clipped, one_line
from skillgym_action.text.javascript.values import number, trimmed

if TYPE_CHECKING:
    from collections.abc import Iterable

ANSWER_KEYS = frozenset({"score", "assertions", "pass", "checks"})
"""A JSON object among other lines is an answer if it has one of them; the last two are AgentV 5's."""
_JSON_STARTS = 100  # lines that begin an object and are not JSON; with more the answer is unknown
_SHOWN_CHARACTERS = 80  # of a value that is quoted
_ROUNDING = 1e-9  # a sum of weights may be that much above 1
_FENCED = re.compile(r"```[\w-]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```", re.DOTALL)
_OBJECT_START = re.compile(r"^[ \t]*(?=\{)", re.MULTILINE)
_REST_OF_LINE = re.compile(r"[ \t\r]*$", re.MULTILINE)
_BEGUN_ANSWER = re.compile(r"\{\s*[\"'](?:score|assertions|pass|checks)[\"']")
_BEGUN_OBJECT = re.compile(r"\{\s*[\"']")
_NUMBER_LINE = re.compile(
    r"^[ \t]*(?:[-+]?(?:\.?\d[\d_.,]*(?:e[-+]?\d+)?|inf(?:inity)?)(?:[ \t]*%|[ \t]*/[ \t]*\d[\d.]*)?"
    r"|nan|true|false)[ \t\r]*$",
    re.MULTILINE | re.IGNORECASE,
)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
_NO_VALUE = re.compile(r"null|none|undefined|n/a", re.IGNORECASE)
_SCORE_IN_WORDS = re.compile(
    r"[\"']score[\"']\s{0,9}:"
    r"|\bscore\b[*`_]{0,3}\s{0,9}(?:[:=]|is\b)?[\s*`_\"']{0,9}(?:[-+]?\.?\d|(?:nan|inf|null|none|true|false)\b)",
    re.IGNORECASE,
)


class UnusableScoreError(Exception):
    """A program's answer has no score that can be used; the message says why, without a subject."""


def score_of(value: object, name: str = "score") -> float:
    """The score that a JSON value is: a number from 0 to 1, and no boolean. Raises UnusableScoreError."""
    score = number(value)
    if score is None:
        raise UnusableScoreError(f"{name} is {_shown(value)}, not a number from 0 to 1")
    if not -_ROUNDING <= score <= 1 + _ROUNDING:
        raise UnusableScoreError(f"{name} is {_shown(value)}, and must be a number from 0 to 1")
    return min(1.0, max(0.0, score))


def number_in(text: str) -> float | None:
    """The decimal number that a text is, also ``.5`` and ``1.``, as calculators print them; None for other texts."""
    return float(text) if _NUMBER.fullmatch(text) else None


def json_of(text: str) -> object:
    """The value of a JSON text; NaN is read, as some programs write it. Raises ValueError for other texts.

    Raises UnusableScoreError if an object has a key twice.
    """
    try:
        return json.loads(text, object_pairs_hook=_with_unique_keys)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def answer_in(printed: str) -> dict[str, object] | float | None:
    """The JSON object, or the score alone, that a program printed; None: words only, or nothing.

    The answer may be in a code fence, and an object may be among other lines. Raises UnusableScoreError for what looks
    like an answer and cannot be read as one: it is cut off, not JSON, or there are several that differ.
    """
    text = trimmed(printed)
    if fenced := _FENCED.fullmatch(text):
        text = trimmed(fenced[1])
    try:
        value = json_of(text)
    except ValueError:
        value = number_in(text)
        if value is None:
            return _answer_among_lines(text)
    if isinstance(value, dict):
        return value
    if isinstance(value, bool):  # alone it is a decision, as under the key pass
        return float(value)
    if isinstance(value, int | float):
        return score_of(value, "the output")
    raise UnusableScoreError(f"the output is {_shown(value)}: neither a score nor an object with one")


def _answer_among_lines(text: str) -> dict[str, object] | None:
    answers, cut = _objects_in(text)
    if answers and all(answer == answers[0] for answer in answers) and not (cut and _BEGUN_ANSWER.match(cut)):
        return answers[0]
    if answers:
        raise UnusableScoreError("the output has several answers, which differ")
    if cut and _BEGUN_OBJECT.match(cut):
        raise UnusableScoreError(f"the output has an object that is cut off, or not JSON: {_shown(cut)}")
    if _NO_VALUE.fullmatch(text):
        raise UnusableScoreError(f"the output is {text}, not a score")
    if alone := _NUMBER_LINE.search(text):
        raise UnusableScoreError(f"the output has the line {_shown(alone[0].strip())}, which may be a score or not")
    if found := _SCORE_IN_WORDS.search(text):
        raise UnusableScoreError(f"the output has a score that is not JSON: {_shown(text[found.start() :])}")
    return None


def _objects_in(text: str) -> tuple[list[dict[str, object]], str]:
    """The answers among the lines, and the beginning of what looks most like one that cannot be read; empty: none.

    Raises UnusableScoreError for an answer with more on its line, and for too many lines that begin an object.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_with_unique_keys)
    answers: list[dict[str, object]] = []
    unread: list[str] = []
    position = 0
    while start := _OBJECT_START.search(text, position):
        try:
            value, position = decoder.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            unread.append(text[start.end() : start.end() + _SHOWN_CHARACTERS + 1])
            position = start.end() + 1
            if len(unread) > _JSON_STARTS:
                raise UnusableScoreError(f"more than {_JSON_STARTS} lines begin an object that is not JSON") from None
            continue
        if value.keys() & ANSWER_KEYS:
            if not _REST_OF_LINE.match(text, position):
                raise UnusableScoreError(f"the answer is followed by {_shown(text[position:].lstrip())} on its line")
            answers.append(value)
    return answers, next(filter(_BEGUN_ANSWER.match, unread), next(filter(_BEGUN_OBJECT.match, unread), ""))


def _with_unique_keys(members: Iterable[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in members:
        if key in found:
            raise UnusableScoreError(f"{_shown(key)} is there twice")
        found[key] = value
    return found


def _shown(value: object) -> str:
    """A value as the program wrote it, on one line; the beginning and the end of a long one."""
    if isinstance(value, float):
        return f"{value:g}"
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        text = "a value that is nested too deeply"
    shown = clipped(one_line(text), _SHOWN_CHARACTERS)
    return repr(shown) if isinstance(value, str) else shown
