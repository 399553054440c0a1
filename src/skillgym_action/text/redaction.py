"""Redaction of known secrets, raw and as URLs, base64, JSON and HTML write them, and of anything shaped like a key."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from operator import attrgetter, is_
from typing import TYPE_CHECKING, TypeVar, cast

from skillgym_action.limits import MAX_REDACTED_PARTS, REDACTION_OVERLAP_CHARACTERS
from skillgym_action.text.secret_forms import (
    LINE_END,
    SHAPES,
    base64_forms,
    is_placeholder,
    is_truncated,
    pattern_of_texts,
    pattern_of_value,
    truncated_spans,
)
from skillgym_action.text.secret_search import SecretIndex, hidden_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from _typeshed import DataclassInstance

T = TypeVar("T")
MASK = "***"
SECRET = "secret"  # noqa: S105 - the kind of a known value that has no shape of its own
_WITHOUT_TEXT = frozenset({type(None), bool, int, float})
SHORTEST_SECRET = 6  # characters; shorter values occur in too many texts by coincidence
_SHORTEST_LINE = 12  # characters of one line of a value with several lines, such as a key file
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|_PAT$", re.IGNORECASE)
_PASSWORD = re.compile(r"://[^\s/:@]*:([^\s/@]+)@")


@dataclass(frozen=True, slots=True)
class Leak:
    """A key that was found, without its value. ``mark``: its hash, to compare keys within this process.

    ``parts``: the lines of the key, or the key itself; each may appear in a text without the others.
    """

    kind: str
    mark: int = field(repr=False)
    parts: tuple[str, ...] = field(default=(), repr=False, compare=False)


def is_secret_name(name: str) -> bool:
    """Whether a variable with this name has a secret value."""
    return _SECRET_NAME.search(name) is not None


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables that are secret: whole, or the password in a URL."""
    return tuple(
        value
        for name, whole in environment.items()
        for value in ([whole] if is_secret_name(name) else _PASSWORD.findall(whole))
    )


def is_secret_variable(name: str, value: str) -> bool:
    """Whether a variable must not be given to suites: by its name, or its value has a password in a URL, or a key."""
    return is_secret_name(name) or _PASSWORD.search(value) is not None or looks_like_key(value)


def key_kinds(text: str) -> tuple[str, ...]:
    """Return the kinds of keys in ``text`` by their shape, such as ``github`` or ``private-key``."""
    return tuple(kind for kind, shape in SHAPES.items() if shape.may_match(text) and shape.regex.search(text))


def looks_like_key(value: str) -> bool:
    """Whether ``value`` contains something with the shape of a key."""
    return bool(key_kinds(value))


class Redactor:
    """Replaces secrets by ``***``.

    ``secrets``: the values; those shorter than 6 characters are ignored. ``parts``: texts that are only replaced as
    they are, not in other forms.
    """

    def __init__(self, secrets: Iterable[str] = (), parts: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._parts = tuple(dict.fromkeys(parts))[:MAX_REDACTED_PARTS]
        self.learn(secrets)

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Redactor:
        """Return a redactor for the values of variables that are secret."""
        return cls(secret_values(environment))

    def learn(self, secrets: Iterable[str]) -> None:
        """Replace these values as well, from now on."""
        values = self._values | {value.strip() for value in secrets}
        values |= {
            line.strip() for value in values for line in value.splitlines() if len(line.strip()) >= _SHORTEST_LINE
        }
        self._values = {value for value in values if len(value) >= SHORTEST_SECRET}
        self._known = known = sorted(self._values, key=lambda value: (-len(value), value))
        self._index = SecretIndex(known)
        self._value_patterns = tuple(map(pattern_of_value, known))
        parts = [pattern_of_texts(self._parts)] if self._parts else []
        self._patterns = (*parts, *SHAPES.values())
        words = {word for pattern in self._patterns for word in pattern.words}
        self._words = tuple(word for word in words if not any(other in word for other in words - {word}))
        lengths = (2 * pattern.length for pattern in (*self._value_patterns, *parts))
        self._overlap = max(REDACTION_OVERLAP_CHARACTERS, *lengths, 0)
        self._forms = (*self._parts, *(form for value in known for form in (value, *base64_forms(value))))

    def with_parts(self, parts: Iterable[str]) -> Redactor:
        """Return a redactor that replaces these texts as well."""
        known = tuple(parts)
        return Redactor(self._values, known) if known else self

    def __repr__(self) -> str:
        """Return the number of values, and none of them."""
        return f"Redactor({len(self._values)} values)"

    def text(self, text: str, found: set[Leak] | None = None) -> str:
        """Return ``text`` without secrets. ``found`` gets them, except for placeholders of documentation."""
        # The index and the words are several times faster than patterns, and nearly always find nothing.
        if candidates := self._index.candidates(text):
            text = self._without_known(text, candidates, found)
        for pattern in self._patterns if any(map(text.__contains__, self._words)) else ():
            if pattern.may_match(text):
                text = _without(pattern.regex, text, found)
        return self._without_truncated(text) if self._forms and is_truncated(text) else text

    def _is_clean(self, text: str) -> bool:
        """Whether ``text`` would stay as it is, and any part of it would; False if that takes a closer look."""
        found = self._index.candidates(text) or any(map(text.__contains__, self._words))
        return not (found or (self._forms and is_truncated(text)))

    def _without_known(self, text: str, candidates: set[int], found: set[Leak] | None) -> str:
        for number in sorted(candidates):
            text = _without(self._value_patterns[number].regex, text, found)
        # The index is asked again, as the text now rarely has other forms of the values, and finding those is slow.
        hidden = hidden_spans(text, [self._known[number] for number in sorted(self._index.candidates(text))])
        if found is not None:
            found |= {_leak(text[start:end]) for start, end in hidden}
        return _masked(text, hidden)

    def _without_truncated(self, text: str) -> str:
        return _masked(text, sorted(set(truncated_spans(text, self._forms))))

    def bytes(self, data: bytes, found: set[Leak] | None = None) -> bytes:
        """Return ``data`` without secrets; bytes that are not UTF-8 stay as they are."""
        return self.text(data.decode("utf-8", "surrogateescape"), found).encode("utf-8", "surrogateescape")

    def redacted(self, value: T, *, exclude: tuple[str, ...] = ()) -> T:
        """Return ``value`` with every text in it redacted, through tuples and dataclasses; itself if nothing changes.

        To be called before texts are escaped: a secret that is escaped for Markdown would not be found. ``exclude``:
        fields of a dataclass that stay as they are.
        """
        if isinstance(value, str):
            return cast("T", self.text(value)) if type(value) is str else value
        texts: list[str] = []
        _collect_texts(value, exclude, texts)
        if self._is_clean("\n".join(texts)):
            return value
        return self._redacted(value, exclude)

    def _redacted(self, value: T, exclude: tuple[str, ...] = ()) -> T:
        """The same, text by text."""
        if isinstance(value, str):
            return cast("T", self.text(value)) if type(value) is str else value
        if isinstance(value, tuple):
            items = tuple(map(self._redacted, value))
            return value if all(map(is_, items, value)) else cast("T", items)
        new, cls = {}, cast("type", type(value))
        for name in _field_names(cls):
            old = getattr(value, name)
            if type(old) in _WITHOUT_TEXT or name in exclude:
                continue
            if (clean := self._redacted(old)) is not old:
                new[name] = clean
        return cast("T", replace(cast("DataclassInstance", value), **new)) if new else value

    def stream(self, chunks: Iterable[str], found: set[Leak] | None = None) -> Iterator[str]:
        """Yield ``chunks`` without secrets, also those split over chunks. Lags by 32,000 characters or more."""
        buffer = ""
        for chunk in chunks:
            buffer += chunk
            cut = len(buffer) - self._overlap
            if cut < self._overlap:
                continue
            cut = self._safe_cut(buffer, cut)
            yield self.text(buffer[:cut], found)
            buffer = buffer[cut:]
        if buffer:
            yield self.text(buffer, found)

    def _safe_cut(self, text: str, cut: int) -> int:
        """Return ``cut``, or the beginning of the secret that it would split."""
        first = cut - self._overlap
        near = text[first : cut + self._overlap]
        for start, end in sorted(self._spans(near), reverse=True):
            if first + start < cut < first + end:
                cut = first + start
        return cut

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where secrets are. Spans overlap where a secret is a part of another."""
        numbers = sorted(self._index.candidates(text))
        patterns = [self._value_patterns[number] for number in numbers]
        patterns += [pattern for pattern in self._patterns if pattern.may_match(text)]
        for pattern in patterns:
            yield from (match.span() for match in pattern.regex.finditer(text))
        yield from hidden_spans(text, [self._known[number] for number in numbers])


@cache
def _field_names(cls: type) -> tuple[str, ...]:
    """Names of the fields of a dataclass; none for any other class."""
    return tuple(field.name for field in fields(cls)) if is_dataclass(cls) else ()


@cache
def _values_of(cls: type, exclude: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    """Return the function that returns the values of the fields of a dataclass; () for any other class."""
    names = [name for name in _field_names(cls) if name not in exclude]
    return attrgetter(*names, "__class__") if names else lambda _: ()  # the class: one name alone makes no tuple


def _collect_texts(value: object, exclude: tuple[str, ...], texts: list[str]) -> None:
    """Append each text in ``value`` that ``Redactor.redacted`` redacts."""
    cls = cast("type", type(value))
    values: tuple[object, ...] = value if isinstance(value, tuple) else _values_of(cls, exclude)(value)
    for item in values:
        kind = type(item)
        if kind is str:
            texts.append(cast("str", item))
        elif kind not in _WITHOUT_TEXT and kind is not type:
            _collect_texts(item, (), texts)


def _without(pattern: re.Pattern[str], text: str, found: set[Leak] | None) -> str:
    if found is not None:
        found |= {_leak(match[0]) for match in pattern.finditer(text) if not is_placeholder(match[0])}
    return pattern.sub(MASK, text)


def _masked(text: str, spans: list[tuple[int, int]]) -> str:
    """Replace each span by the mask; ``spans`` are sorted, and do not overlap."""
    for start, end in reversed(spans):
        text = text[:start] + MASK + text[end:]
    return text


def _leak(key: str) -> Leak:
    lines = (line for line in re.split(LINE_END, key) if len(line) >= _SHORTEST_LINE and "-----" not in line)
    return Leak(kind=next(iter(key_kinds(key)), SECRET), mark=hash(key), parts=tuple(lines))
