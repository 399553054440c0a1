"""Types of option values: words, lists, rates, shards, limits. Validation raises ValueError with a message."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from skillgym_action.model.errors import did_you_mean
from skillgym_action.model.resource_limits import parse_limits, parse_process_count, parse_size

_UNITS = (3600, 60, 1, 0.001)
_DURATION = re.compile(
    r"(?=\d)" + "".join(rf"(?:(\d+(?:\.\d+)?){unit})?" for unit in ("h", "m(?:in)?(?!s)", "s", "ms"))
)


def _words(value: object) -> object:
    """The words of a list, or of a text that separates them with commas or line ends."""
    lists = value if isinstance(value, list | tuple) else [value]
    return tuple(word.strip() for item in lists for word in re.split(r"[,\n]", str(item)) if word.strip())


def known(words: tuple[str, ...]) -> BeforeValidator:
    """Accepts one of these words, in upper or lower case."""

    def check(value: object) -> object:
        word = str(value).lower()
        if word not in words:
            raise ValueError(f"unknown word {value!r}; {did_you_mean(word, words)}")
        return word

    return BeforeValidator(check)


def all_known(words: tuple[str, ...]) -> AfterValidator:
    """Accepts a list of these words, in upper or lower case."""

    def check(value: tuple[str, ...]) -> tuple[str, ...]:
        for word in value:
            if word.lower() not in words:
                raise ValueError(f"unknown word {word!r}; {did_you_mean(word.lower(), words)}")
        return tuple(word.lower() for word in value)

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
    with suppress(ValueError):
        return float(value)
    match = _DURATION.fullmatch("".join(value.split()))
    if not match:
        raise ValueError(f"{value!r} is neither a number of seconds nor a duration such as 90s, 5m or 1h30m")
    return _total(match)


def _total(match: re.Match[str]) -> float:
    """The seconds of a duration."""
    return sum(float(number) * seconds for number, seconds in zip(match.groups(), _UNITS, strict=True) if number)


def _milliseconds(value: object) -> object:
    """A duration such as ``5m`` in milliseconds; numbers are milliseconds already."""
    match = _DURATION.fullmatch("".join(value.split())) if isinstance(value, str) else None
    return round(_total(match) * 1000) if match else value


def _require(value: object) -> object:
    """``all``, ``any``, or a number."""
    text = str(value).strip().lower()
    if text in ("all", "any"):
        return text
    if not re.fullmatch(r"[1-9]\d{0,8}", text):
        raise ValueError(f"{value!r} is neither all, any, nor the number of repetitions that must pass")
    return int(text)


Words = Annotated[tuple[str, ...], BeforeValidator(_words)]
Lines = Annotated[tuple[str, ...], BeforeValidator(_lines)]
Shard = Annotated[tuple[int, int], BeforeValidator(_shard)]
Limits = Annotated[tuple[tuple[str, int | None], ...], BeforeValidator(_limits)]
"""Fields of ``ResourceLimits`` that are set, with their values; None: no limit."""
Size = Annotated[
    int | Literal["none"] | None,
    BeforeValidator(lambda value: None if value is None else parse_size(value)),
    WithJsonSchema({"type": ["integer", "string"]}),
]
"""A limit in bytes, as it may be in files: a number, or text such as ``512MiB``."""
Count = Annotated[
    int | Literal["none"] | None,
    BeforeValidator(lambda value: None if value is None else parse_process_count(value)),
    WithJsonSchema({"type": ["integer", "string"]}),
]
Require = Annotated[int | Literal["all", "any"], BeforeValidator(_require)]
"""How many repetitions of a case must pass."""
Rate = Annotated[float, Field(ge=0, le=1)]
Points = Annotated[float, Field(ge=-100, le=100)]
"""Percentage points: a difference of two shares in percent."""
Duration = Annotated[float, BeforeValidator(_seconds), Field(gt=0), WithJsonSchema({"type": ["number", "string"]})]
"""Seconds: a positive number, or text such as ``90s``, ``5m``, ``1h30m``, ``500ms``."""
Milliseconds = Annotated[
    int, BeforeValidator(_milliseconds), Field(gt=0), WithJsonSchema({"type": ["integer", "string"]})
]
"""A positive whole number of milliseconds, or text such as ``5m``."""
