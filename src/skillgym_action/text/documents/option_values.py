"""Types of option values: words, lists, rates, shards, limits. Validation raises ValueError with a message."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from skillgym_action.model.errors import did_you_mean
from skillgym_action.model.limits import MAX_PROCESS_LIMIT, MAX_RESOURCE_LIMIT_BYTES, MIN_RESOURCE_LIMIT_BYTES
from skillgym_action.model.resource_limits import parse_limits, parse_process_count, parse_size
from skillgym_action.text.documents.json_schemas import any_case, any_of, matching, words

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

NO_ALIASES: Mapping[str, str] = MappingProxyType({})
_UNITS = (3600, 60, 1, 0.001)
_DURATION = re.compile(
    r"(?=\d)" + "".join(rf"(?:(\d+(?:\.\d+)?){unit})?" for unit in ("h", "m(?:in)?(?!s)", "s", "ms"))
)


def _path(text: str) -> str:
    if "\0" in text:
        raise ValueError("contains a NUL character, which no path has")
    return text


PathText = Annotated[str, AfterValidator(_path), WithJsonSchema(matching(r"^[^\0]*$"))]
NamedPath = Annotated[str, Field(min_length=1), AfterValidator(_path), WithJsonSchema(matching(r"^[^\0]+$"))]
"""A path that must not be empty."""


def _words(value: object) -> object:
    """The words of a list, or of a text that separates them with commas or line ends."""
    lists = value if isinstance(value, list | tuple) else [value]
    if None in lists:
        raise ValueError("must be text, not null")
    return tuple(word.strip() for item in lists for word in re.split(r"[,\n]", str(item)) if word.strip())


def known_word(value: object, words: Collection[str], aliases: Mapping[str, str] = NO_ALIASES) -> str:
    """The one of these words that is meant, in upper or lower case. Raises ValueError."""
    word = str(value).lower()
    word = aliases.get(word, word)
    if word not in words:
        raise ValueError(f"unknown word {value!r}; {did_you_mean(word, words)}")
    return word


def all_known(words: Collection[str], aliases: Mapping[str, str] = NO_ALIASES) -> AfterValidator:
    """Accepts a list of these words, in upper or lower case. ``aliases``: what else is accepted -> the word."""

    def check(value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(known_word(word, words, aliases) for word in value)

    return AfterValidator(check)


def _shard(value: object) -> object:
    match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", str(value).strip())
    if not match or int(match[1]) > int(match[2]):
        raise ValueError(f"{value!r} is not I/N with 1 <= I <= N, such as 2/4")
    return int(match[1]), int(match[2])


def _lines(value: object) -> object:
    return tuple(line.strip() for line in value.splitlines() if line.strip()) if isinstance(value, str) else value


def _limits(value: object) -> object:
    return tuple(parse_limits(value).items())


def _seconds(value: object) -> object:
    """A duration such as ``1h30m`` in seconds; numbers, also as text, are seconds already."""
    if not isinstance(value, str):
        return value
    if _PLAIN.fullmatch(value):
        return float(value)
    match = _DURATION.fullmatch("".join(value.split()))
    if not match:
        raise ValueError(f"{value!r} is neither a number of seconds nor a duration such as 90s, 5m or 1h30m")
    return _total(match)


def _total(match: re.Match[str]) -> float:
    """The seconds of a duration."""
    return sum(float(number) * seconds for number, seconds in zip(match.groups(), _UNITS, strict=True) if number)


def _milliseconds(value: object) -> object:
    """A duration such as ``5m`` in milliseconds; numbers, also as text, are milliseconds already."""
    if not isinstance(value, str):
        return value
    if re.fullmatch(r"\s*\d+\s*", value):
        return int(value)
    match = _DURATION.fullmatch("".join(value.split()))
    if not match:
        raise ValueError(f"{value!r} is neither a number of milliseconds nor a duration such as 90s, 5m or 1h30m")
    seconds = _total(match)
    return max(round(seconds * 1000), 1) if seconds else 0


def _require(value: object) -> object:
    """``all``, ``any``, or a number."""
    text = str(value).strip().lower()
    if text in ("all", "any"):
        return text
    if not re.fullmatch(r"[1-9]\d{0,8}", text):
        raise ValueError(f"{value!r} is neither all, any, nor the number of repetitions that must pass")
    return int(text)


def _repeat(value: object) -> object:
    """``auto``, or a number."""
    value = _whole(value)
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    text = str(value).strip().lower()
    if text == "auto":
        return text
    if isinstance(value, bool) or not re.fullmatch(r"[1-9]\d{0,8}", text):
        raise ValueError(f"{value!r} is neither auto nor the number of repetitions")
    return int(text)


_PLAIN = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+|inf|nan)\s*")
_NUMBER = r"\d+(\.\d+)?\s*"
_UNITS_TEXT = rf"({_NUMBER}h\s*)?({_NUMBER}m(i\s*n)?(?!\s*s)\s*)?({_NUMBER}s\s*)?({_NUMBER}m\s*s\s*)?"
_MORE_THAN_ZERO = r"^(?=.*[1-9])\s*"
WRITTEN_DURATION = any_of(
    {"type": "number", "exclusiveMinimum": 0},
    matching(rf"{_MORE_THAN_ZERO}({_UNITS_TEXT}|[+]?(\d+\.?\d*|\.\d+)\s*)$"),
)
"""What a duration in seconds looks like in a file, as a JSON Schema."""
_TEXT_SIZE = matching(r"^(none|(?=.*[1-9])\s*\d{1,19}(\.\d{1,6})?\s*([Bb]|[KMGTkmgt]([Ii]?[Bb]))?\s*)$")
_BYTES = {"type": "integer", "minimum": MIN_RESOURCE_LIMIT_BYTES, "maximum": MAX_RESOURCE_LIMIT_BYTES}
_PROCESSES = {"type": "integer", "minimum": 1, "maximum": MAX_PROCESS_LIMIT}
_NULL = {"type": "null"}


def _no_truth(value: object) -> object:
    """Not true and false, which pydantic takes for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError(f"must be a number, not {str(value).lower()}")  # noqa: TRY004 - pydantic expects it
    return value


def _whole(value: object) -> object:
    """A number such as 2.0 as an integer, which it is in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


NOT_TRUE = BeforeValidator(_no_truth)
WHOLE = BeforeValidator(_whole)
Switch = Annotated[bool, Field(strict=True)]
"""True or false, and no text or number that pydantic takes for it."""
PositiveInt = Annotated[int, Field(gt=0, strict=True), WHOLE]
"""This and the next ones are for files: a number in quotes is refused."""
NonNegativeInt = Annotated[int, Field(ge=0, strict=True), WHOLE]
PositiveFloat = Annotated[float, Field(gt=0, strict=True)]
NonNegativeFloat = Annotated[float, Field(ge=0, strict=True)]
WrittenRate = Annotated[float, Field(ge=0, le=1, strict=True)]
WrittenPoints = Annotated[float, Field(ge=-100, le=100, strict=True)]
Words = Annotated[tuple[str, ...], BeforeValidator(_words)]
Lines = Annotated[tuple[str, ...], BeforeValidator(_lines)]
Shard = Annotated[tuple[int, int], BeforeValidator(_shard)]
Limits = Annotated[tuple[tuple[str, int | None], ...], BeforeValidator(_limits)]
"""Fields of ``ResourceLimits`` that are set, with their values; None: no limit."""
Size = Annotated[
    int | Literal["none"] | None,
    BeforeValidator(lambda value: None if value is None else parse_size(_whole(value))),
    WithJsonSchema(any_of(_BYTES, _TEXT_SIZE, _NULL)),
]
"""A limit in bytes, as it may be in files: a number, or text such as ``512MiB``."""
Count = Annotated[
    int | Literal["none"] | None,
    BeforeValidator(lambda value: None if value is None else parse_process_count(_whole(value))),
    WithJsonSchema(any_of(_PROCESSES, matching(r"^(none|\s*0*[1-9]\d{0,8}\s*)$"), _NULL)),
]
Require = Annotated[
    int | Literal["all", "any"],
    BeforeValidator(_require),
    WithJsonSchema(
        any_of(
            words(("all", "any")),
            {"type": "integer", "minimum": 1},
            matching(rf"^\s*({any_case('all')}|{any_case('any')}|[1-9]\d{{0,8}})\s*$"),
        )
    ),
]
"""How many repetitions of a case must pass."""
Repeat = Annotated[
    int | Literal["auto"],
    BeforeValidator(_repeat),
    WithJsonSchema(
        any_of(
            words(("auto",)),
            {"type": "integer", "minimum": 1},
            matching(rf"^\s*({any_case('auto')}|[1-9]\d{{0,8}})\s*$"),
        )
    ),
]
"""How many repetitions each execution has; auto: as many as the decision needs."""
Rate = Annotated[float, Field(ge=0, le=1), NOT_TRUE]
Points = Annotated[float, Field(ge=-100, le=100), NOT_TRUE]
"""Percentage points: a difference of two shares in percent."""
Duration = Annotated[float, BeforeValidator(_seconds), NOT_TRUE, Field(gt=0), WithJsonSchema(WRITTEN_DURATION)]
"""Seconds: a positive number, or text such as ``90s``, ``5m``, ``1h30m``, ``500ms``."""
Milliseconds = Annotated[
    int,
    BeforeValidator(_milliseconds),
    NOT_TRUE,
    Field(gt=0),
    WithJsonSchema(
        any_of({"type": "integer", "exclusiveMinimum": 0}, matching(rf"{_MORE_THAN_ZERO}({_UNITS_TEXT}|\d+\s*)$"))
    ),
]
"""A positive whole number of milliseconds, or text such as ``5m``."""
