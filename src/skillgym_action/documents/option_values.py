"""Types of option values: words, lists, rates, shards, limits. Validation raises ValueError with a message."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from skillgym_action.model.errors import did_you_mean
from skillgym_action.model.resource_limits import parse_limits, parse_process_count, parse_size


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
