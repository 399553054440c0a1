"""Secrets leave in no form: raw, or as URLs, base64, JSON and HTML write them; keys are known by their shape, too."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from operator import is_
from typing import TYPE_CHECKING, TypeVar, cast

from skillgym_action.text.secret_forms import (
    LINE_END,
    SHAPES,
    base64_forms,
    guard_of,
    guard_of_parts,
    halves,
    is_cut,
    is_documented,
)
from skillgym_action.text.secret_index import SecretIndex
from skillgym_action.text.secret_search import hidden_spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from _typeshed import DataclassInstance

T = TypeVar("T")
MASK = "***"
SECRET = "secret"  # noqa: S105 - the kind of a key without a shape of its own, whose value we know
MOST_PARTS = 1_000
_WITHOUT_TEXT = frozenset({type(None), bool, int, float})
_SHORTEST = 6  # a shorter value would shred every text it happens to be in
_SHORTEST_LINE = 12  # one line of a value with several, such as a key file
_HELD_BACK = 32_768  # characters a stream keeps, so that a key split over two chunks is seen whole; none is longer
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|_PAT$", re.IGNORECASE)
_PASSWORD = re.compile(r"://[^\s/:@]*:([^\s/@]+)@")


@dataclass(frozen=True, slots=True)
class Leak:
    """A key that was found. ``mark`` tells it from others, in this process; what it is, nobody is told.

    ``parts``: the key, or its lines, each of which may come without the others.
    """

    kind: str
    mark: int = field(repr=False)
    parts: tuple[str, ...] = field(default=(), repr=False, compare=False)


def is_secret_name(name: str) -> bool:
    """Whether a variable is called like one that holds a secret."""
    return _SECRET_NAME.search(name) is not None


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Values of variables that must never leave us: whole, or the password of an address."""
    return tuple(
        value
        for name, told in environment.items()
        for value in ([told] if is_secret_name(name) else _PASSWORD.findall(told))
    )


def leaks(text: str) -> tuple[str, ...]:
    """The kinds of keys that ``text`` holds, such as ``github`` or ``private-key``."""
    return tuple(kind for kind, shape in SHAPES.items() if shape.suspects(text) and shape.pattern.search(text))


def looks_like_key(value: str) -> bool:
    """Whether ``value`` holds something with the shape of a key."""
    return bool(leaks(value))


class Redactor:
    """Replaces secrets by ``***``. It never shows what it knows."""

    def __init__(self, secrets: Iterable[str] = (), parts: Iterable[str] = ()) -> None:
        """``secrets``: the values; those shorter than 6 characters are ignored. ``parts`` are hidden as they are."""
        self._values: set[str] = set()
        self._parts = tuple(dict.fromkeys(parts))[:MOST_PARTS]
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Replace these, too."""
        values = self._values | {value.strip() for value in secrets}
        values |= {
            line.strip() for value in values for line in value.splitlines() if len(line.strip()) >= _SHORTEST_LINE
        }
        self._values = {value for value in values if len(value) >= _SHORTEST}
        self._known = known = sorted(self._values, key=lambda value: (-len(value), value))
        self._index = SecretIndex(known)
        self._of_known = tuple(map(guard_of, known))
        own = [guard_of_parts(self._parts)] if self._parts else []
        self._guards = (*own, *SHAPES.values())
        words = {word for guard in self._guards for word in guard.words}
        self._words = tuple(word for word in words if not any(other in word for other in words - {word}))
        self._held_back = max(_HELD_BACK, *(2 * guard.length for guard in (*self._of_known, *own)), 0)
        self._forms = (*self._parts, *(form for value in known for form in (value, *base64_forms(value))))

    def knowing(self, parts: Iterable[str]) -> Redactor:
        """One that replaces these as well, wherever they stand as they are."""
        known = tuple(parts)
        return Redactor(self._values, known) if known else self

    def __repr__(self) -> str:
        """How many values, and none of them."""
        return f"Redactor({len(self._values)} values)"

    def text(self, text: str, found: set[Leak] | None = None) -> str:
        """``text`` without secrets; ``found`` gets those that were in it, unless documentation shows them."""
        # These two are several times faster than patterns, and nearly always find nothing.
        if suspects := self._index.suspects(text):
            text = self._without_known(text, suspects, found)
        for guard in self._guards if any(map(text.__contains__, self._words)) else ():
            if guard.suspects(text):
                text = _without(guard.pattern, text, found)
        return self._without_halves(text) if self._forms and is_cut(text) else text

    def _without_known(self, text: str, suspects: set[int], found: set[Leak] | None) -> str:
        for number in sorted(suspects):
            text = _without(self._of_known[number].pattern, text, found)
        # Nearly always that was all, and the text has no other form of them.
        hidden = hidden_spans(text, [self._known[number] for number in sorted(self._index.suspects(text))])
        if found is not None:
            found |= {_leak(text[start:end]) for start, end in hidden}
        return _masked(text, hidden)

    def _without_halves(self, text: str) -> str:
        return _masked(text, sorted(set(halves(text, self._forms))))

    def bytes(self, data: bytes, found: set[Leak] | None = None) -> bytes:
        """``data`` without secrets; bytes that are not UTF-8 stay as they are."""
        return self.text(data.decode("utf-8", "surrogateescape"), found).encode("utf-8", "surrogateescape")

    def within(self, value: T, *, but: tuple[str, ...] = ()) -> T:
        """``value`` with every text in it redacted, through tuples and dataclasses; itself when there is none to hide.

        For what a report will escape: escaped for Markdown, a secret has a form that nobody could look for. ``but``:
        fields of a dataclass that stay as they are.
        """
        if isinstance(value, str):
            return cast("T", self.text(value)) if type(value) is str else value
        if isinstance(value, tuple):
            items = tuple(map(self.within, value))
            return value if all(map(is_, items, value)) else cast("T", items)
        new, cls = {}, cast("type", type(value))
        for name in _names(cls):
            old = getattr(value, name)
            if type(old) in _WITHOUT_TEXT or name in but:
                continue
            if (clean := self.within(old)) is not old:
                new[name] = clean
        return cast("T", replace(cast("DataclassInstance", value), **new)) if new else value

    def stream(self, chunks: Iterable[str], found: set[Leak] | None = None) -> Iterator[str]:
        """The chunks without secrets, also those split over two of them. Holds back some 32,000 characters."""
        held = ""
        for chunk in chunks:
            held += chunk
            cut = len(held) - self._held_back
            if cut < self._held_back:
                continue
            cut = self._cut(held, cut)
            yield self.text(held[:cut], found)
            held = held[cut:]
        if held:
            yield self.text(held, found)

    def _cut(self, text: str, cut: int) -> int:
        """``cut``, or the beginning of the secret that it would cut in two."""
        first = cut - self._held_back
        near = text[first : cut + self._held_back]
        for start, end in sorted(self._spans(near), reverse=True):
            if first + start < cut < first + end:
                cut = first + start
        return cut

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where secrets are; several times where a secret is part of another."""
        numbers = sorted(self._index.suspects(text))
        guards = [self._of_known[number] for number in numbers]
        guards += [guard for guard in self._guards if guard.suspects(text)]
        for guard in guards:
            yield from (match.span() for match in guard.pattern.finditer(text))
        yield from hidden_spans(text, [self._known[number] for number in numbers])


@cache
def _names(cls: type) -> tuple[str, ...]:
    """The fields of a dataclass; none of any other class."""
    return tuple(field.name for field in fields(cls)) if is_dataclass(cls) else ()


def _without(pattern: re.Pattern[str], text: str, found: set[Leak] | None) -> str:
    if found is not None:
        found |= {_leak(match[0]) for match in pattern.finditer(text) if not is_documented(match[0])}
    return pattern.sub(MASK, text)


def _masked(text: str, spans: list[tuple[int, int]]) -> str:
    """``text`` with the mask in the place of each span; ``spans`` are sorted, and do not overlap."""
    for start, end in reversed(spans):
        text = text[:start] + MASK + text[end:]
    return text


def _leak(key: str) -> Leak:
    lines = (line for line in re.split(LINE_END, key) if len(line) >= _SHORTEST_LINE and "-----" not in line)
    return Leak(kind=next(iter(leaks(key)), SECRET), mark=hash(key), parts=tuple(lines))
