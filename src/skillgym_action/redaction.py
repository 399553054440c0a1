"""Secrets leave in no form: raw, or as URLs, base64, JSON and HTML write them; keys are known by their shape, too."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import fields, is_dataclass, replace
from functools import cache
from operator import is_
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from _typeshed import DataclassInstance

T = TypeVar("T")
MASK = "***"
_SHORTEST = 6  # a shorter value would shred every text it happens to be in
_SHORTEST_LINE = 12  # one line of a value with several, such as a key file
_HELD_BACK = 16_384  # characters a stream keeps, so that a key split over two chunks is seen whole
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)

# kind -> words of which one is in every such key, and its shape. Shapes begin anywhere: in JSON the letter of an
# escaped line end stands before them.
_KNOWN = {
    "github": (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"(?:gh[oprsu]_[A-Za-z0-9_.-]{30,}|github_pat_\w{22,})",
    ),
    "anthropic": (("sk-ant-",), r"sk-ant-[\w-]{16,}"),
    "openai": (("sk-",), r"sk-(?:(?:proj|svcacct|admin|or)-[\w-]{20,}|[A-Za-z0-9]{32,})"),
    "aws": (
        ("AKIA", "ASIA", "aws_secret", "AWS_SECRET"),
        r"(?:AKIA|ASIA)[A-Z0-9]{16}|(?<=(?:aws_secret|AWS_SECRET)_(?:access_key|ACCESS_KEY)=)[\w/+=]{40}",
    ),
    "slack": (
        ("xox", "xapp-", "hooks.slack"),
        r"xox[a-z]-[\w-]{10,}|xapp-[\w-]{10,}|hooks\.slack\.com/services/[\w/]{20,}",
    ),
    "jwt": (("eyJ",), r"eyJ[\w-]{8,600}+\.eyJ[\w-]{8,16000}+\.[\w-]{8,}"),
    "private-key": (
        ("PRIVATE KEY",),
        (
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----)[\s\S]){0,16000}+"
            r"(?:-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?"
        ),
    ),
}
_HINTS = tuple(hint for hints, _ in _KNOWN.values() for hint in hints)
_SHAPES = {kind: re.compile(shape) for kind, (_, shape) in _KNOWN.items()}


def is_secret_name(name: str) -> bool:
    """Whether a variable is called like one that holds a secret."""
    return _SECRET_NAME.search(name) is not None


def leaks(text: str) -> tuple[str, ...]:
    """The kinds of keys that ``text`` holds, such as ``github`` or ``private-key``."""
    return tuple(kind for kind, (hints, _) in _KNOWN.items() if _any_in(hints, text) and _SHAPES[kind].search(text))


def looks_like_key(value: str) -> bool:
    """Whether ``value`` holds something with the shape of a key."""
    return bool(leaks(value))


class Redactor:
    """Replaces secrets by ``***``. It never shows what it knows."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """``secrets``: the values; those shorter than 6 characters are ignored."""
        self._values: set[str] = set()
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Replace these, too."""
        values = self._values = self._values | {value.strip() for value in secrets}
        values |= {
            line.strip() for value in values for line in value.splitlines() if len(line.strip()) >= _SHORTEST_LINE
        }
        forms = {form for value in values if len(value) >= _SHORTEST for form in _forms(value)}
        self._forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))
        shapes = [*map(re.escape, self._forms), *(shape for _, shape in _KNOWN.values())]
        self._pattern = re.compile("|".join(shapes))
        self._held_back = max(_HELD_BACK, 2 * max(map(len, self._forms), default=0))

    def __repr__(self) -> str:
        """How many forms, and none of them."""
        return f"Redactor({len(self._forms)} forms)"

    def text(self, text: str) -> str:
        """``text`` without secrets."""
        # Plain searches are several times faster than the pattern, and nearly always find nothing.
        if not _any_in(self._forms, text) and not _any_in(_HINTS, text):
            return text
        return self._pattern.sub(MASK, text)

    def bytes(self, data: bytes) -> bytes:
        """``data`` without secrets; bytes that are not UTF-8 stay as they are."""
        return self.text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def within(self, value: T) -> T:
        """``value`` with every text in it redacted, through tuples and dataclasses; itself when there is none to hide.

        For what a report will escape: escaped for Markdown, a secret has a form that nobody could look for.
        """
        if isinstance(value, str):
            return cast("T", self.text(value)) if type(value) is str else value
        if isinstance(value, tuple):
            items = tuple(map(self.within, value))
            return value if all(map(is_, items, value)) else cast("T", items)
        if is_dataclass(value) and not isinstance(value, type):
            old = {name: getattr(value, name) for name in _names(type(value))}
            new = {name: self.within(item) for name, item in old.items()}
            return value if all(new[name] is item for name, item in old.items()) else cast("T", replace(value, **new))
        return value

    def stream(self, chunks: Iterable[str]) -> Iterator[str]:
        """The chunks without secrets, also those split over two of them. Holds back some 16,000 characters."""
        held = ""
        for chunk in chunks:
            held += chunk
            cut = len(held) - self._held_back
            if cut < self._held_back:
                continue
            cut = next(
                (found.start() for found in self._pattern.finditer(held) if found.start() < cut < found.end()), cut
            )
            yield self.text(held[:cut])
            held = held[cut:]
        if held:
            yield self.text(held)


@cache
def _names(cls: type[DataclassInstance]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls))


def _any_in(words: tuple[str, ...], text: str) -> bool:
    return any(word in text for word in words)


def _forms(value: str) -> Iterator[str]:
    """How other programs may write ``value``."""
    from html import escape
    from urllib.parse import quote, quote_plus

    yield value
    yield quote(value, safe="")
    yield quote_plus(value)
    yield quote(value)
    yield escape(value)
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield once
        yield json.dumps(once, ensure_ascii=ascii_only)[1:-1]
    yield from _base64_forms(value.encode("utf-8", "surrogateescape"))


def _base64_forms(value: bytes) -> Iterator[str]:
    """What stays the same of ``value`` inside a longer text in base64, for each place in a group of three bytes."""
    for shift in range(3):
        encoded = b64encode(b"\0" * shift + value).decode()
        stable = encoded[(0, 2, 3)[shift] : (shift + len(value)) * 8 // 6]
        yield stable
        yield stable.replace("+", "-").replace("/", "_")
