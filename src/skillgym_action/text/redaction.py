"""Redaction of known secrets, also in dumps of bytes, and of anything shaped like a key."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from dataclasses import field, fields, is_dataclass, replace
from functools import cache, lru_cache
from operator import attrgetter, is_
from typing import TYPE_CHECKING, TypeVar, cast

from skillgym_action.model.records import record
from skillgym_action.text.secret_forms import (
    BETWEEN,
    KEY_WORDS,
    SHAPES,
    SHORTEST_SECRET,
    UNCHANGED,
    bare_credentials,
    base64_forms,
    hexadecimal,
    is_placeholder,
    joined,
    key_kinds,
    pattern_of,
    secret_values,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from _typeshed import DataclassInstance

REDACTION_OVERLAP_CHARACTERS = 32_768  # that a stream keeps, so that a key split over chunks is seen; none is longer
T = TypeVar("T")
MASK = "***"
SECRET = "secret"  # noqa: S105 - the kind of a known value that has no shape of its own
_WITHOUT_TEXT = frozenset({type(None), bool, int, float})
_SHORTEST_LINE = 12  # characters of one line of a value with several lines, such as a key file
_LINE = re.compile(r"[^\r\n]+")  # other line ends would be no more line ends of the file
_LONGEST_FORM = 48  # characters that one of a value becomes in its longest form, and as many around it


@record(kw_only=False)
class Leak:
    """A key that was found, without its value. ``mark``: its hash, to compare keys within this process."""

    kind: str
    mark: int = field(repr=False)


class Redactor:
    """Replaces secrets by ``***``. ``secrets``: the values; those shorter than 6 characters are ignored."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._values: frozenset[str] = frozenset()
        self.learn(secrets)

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Redactor:
        """Return a redactor for the values of variables that are secret."""
        return cls(secret_values(environment))

    def learn(self, secrets: Iterable[str]) -> None:
        """Replace these values as well, from now on; of a value with several lines also each long one.

        Of ``Bearer X``, also ``X``.
        """
        values = {value.strip() for value in secrets}
        values.update(*map(bare_credentials, values))
        lines = {line.strip() for value in values for line in value.splitlines()}
        values |= {line for line in lines if len(line) >= _SHORTEST_LINE}
        self._values |= {value for value in values if len(value) >= SHORTEST_SECRET}
        self._index = SecretIndex(sorted(self._values))
        longest = max(map(len, self._values), default=0)
        self._overlap = max(REDACTION_OVERLAP_CHARACTERS, _LONGEST_FORM * longest)

    def __repr__(self) -> str:
        """Return the number of values, and none of them."""
        return f"Redactor({len(self._values)} values)"

    def text(self, text: str, found: set[Leak] | None = None) -> str:
        """Return ``text`` without secrets, with the same line ends. ``found`` gets them, but no placeholders."""
        spans: list[Span] = []
        for span, leak in self._found(text):
            spans.append(span)
            if found is not None and leak:
                found.add(leak)
        return _masked(text, spans) if spans else text

    def _found(self, text: str) -> Iterator[tuple[Span, Leak | None]]:
        """Yield where secrets are, in any order; the spans may overlap. A placeholder of documentation is no leak."""
        candidates = self._index.candidates(text)
        known = [*known_spans(text, candidates)] if candidates else []
        known += dumped_spans(text, self._values) if self._values else ()
        for span, value in known:
            yield span, _leak(value)
        for pattern in SHAPES.values() if any(map(text.__contains__, KEY_WORDS)) else ():
            for match in pattern.regex.finditer(text) if pattern.may_match(text) else ():
                yield match.span(), None if is_placeholder(match[0]) else _leak(match[0])

    def bytes(self, data: bytes, found: set[Leak] | None = None) -> bytes:
        """Return ``data`` without secrets; bytes that are not UTF-8 stay as they are."""
        return self.text(data.decode("utf-8", "surrogateescape"), found).encode("utf-8", "surrogateescape")

    def redacted(self, value: T, *, exclude: tuple[str, ...] = (), found: set[Leak] | None = None) -> T:
        """Return ``value`` with every text in it redacted; itself if nothing changes.

        Through tuples, dataclasses, and the lists and mappings of JSON. To be called before texts are escaped: a secret
        that is escaped for Markdown would not be found. ``exclude``: fields of a dataclass that stay as they are.
        """
        texts: list[str] = []
        _collect_texts((value,), exclude, texts)
        if not any(True for _ in self._found("\n".join(texts))):
            return value
        return cast("T", self._redacted(value, exclude, found))

    def _redacted(self, value: object, exclude: tuple[str, ...], found: set[Leak] | None) -> object:
        """The same, text by text."""
        if isinstance(value, str):
            return self.text(value, found) if type(value) is str else value
        if isinstance(value, dict):
            return {self._redacted(key, (), found): self._redacted(item, (), found) for key, item in value.items()}
        if isinstance(value, tuple | list):
            items = [self._redacted(item, (), found) for item in value]
            return value if all(map(is_, items, value)) else type(value)(items)
        new = {}
        for name in _field_names(cast("type", type(value))):
            old = getattr(value, name)
            if type(old) in _WITHOUT_TEXT or name in exclude:
                continue
            if (clean := self._redacted(old, (), found)) is not old:
                new[name] = clean
        return replace(cast("DataclassInstance", value), **new) if new else value

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
        for start, end in sorted((span for span, _ in self._found(near)), reverse=True):
            if first + start < cut < first + end:
                cut = first + start
        return cut


@cache
def _field_names(cls: type) -> tuple[str, ...]:
    """Names of the fields of a dataclass; none for any other class."""
    return tuple(field.name for field in fields(cls)) if is_dataclass(cls) else ()


@cache
def _values_of(cls: type, exclude: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    """Return the function that returns the values of the fields of a dataclass; () for any other class."""
    names = [name for name in _field_names(cls) if name not in exclude]
    return attrgetter(*names, "__class__") if names else lambda _: ()  # the class: one name alone makes no tuple


def _collect_texts(values: Iterable[object], exclude: tuple[str, ...], texts: list[str]) -> None:
    """Append each text in ``values`` that ``Redactor.redacted`` redacts."""
    for item in values:
        kind = type(item)
        if kind is str:
            texts.append(cast("str", item))
        elif isinstance(item, tuple | list):
            _collect_texts(item, (), texts)
        elif isinstance(item, dict):
            _collect_texts((*item, *item.values()), (), texts)
        elif kind not in _WITHOUT_TEXT and kind is not type:
            _collect_texts(_values_of(cast("type", kind), exclude)(item), (), texts)


def _masked(text: str, spans: Iterable[Span]) -> str:
    """Replace each span by the mask, in each of its lines."""
    parts, at = [], 0
    for start, end in _merged(spans):
        parts += [text[at:start], _LINE.sub(MASK, text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


def _merged(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the spans sorted; overlapping ones as one."""
    first, last = 0, 0
    for start, end in sorted(spans):
        if start >= last:
            if last > first:
                yield first, last
            first = start
        last = max(last, end)
    if last > first:
        yield first, last


def _leak(key: str) -> Leak:
    return Leak(kind=next(iter(key_kinds(key)), SECRET), mark=hash(key))


# --- searching known secrets --------------------------------------------------------------------------

Span = tuple[int, int]

# A text is reduced to the characters that no form changes: letters and digits, in lower case, without those that
# escapes and line ends consist of. So "61:62" becomes "6162", and a value that was folded becomes whole again. Any form
# of at least 15 characters then contains one of the aligned blocks of 8 bytes of the reduced text, so one comparison of
# two sets finds whether any block belongs to a form. Shorter forms are searched one by one.
_OF_ESCAPES = b"0nrtxNRTX"  # 0x61, \\x61, \\n, \\r, \\t
_LETTERS_AND_DIGITS = bytes(byte for byte in range(128) if chr(byte).isalnum() and byte not in _OF_ESCAPES)
_REMOVED = bytes(byte for byte in range(256) if byte not in _LETTERS_AND_DIGITS)
_LOWER = bytes(range(256)).lower()
_BLOCK = 8  # bytes, one unsigned integer of the type "Q"
_WINDOW = 2 * _BLOCK - 1  # so long that it contains an aligned block wherever it begins
_BETWEEN_BYTES = re.compile(r"(?:[\s:,]|\\++[rntx]?|0x)++")  # 61:62, 61 62, 0x61, 0x62

# A line of xxd, hexdump or od: an offset, then groups of bytes. Two spaces separate groups only where no text follows,
# or a text in bars. All offsets below 16 MiB begin with two zeros.
_GROUP = r"[0-9A-Fa-f]{2,16}(?!\w)"
_DUMPED = re.compile(
    rf"00[0-9A-Fa-f]{{4,14}}+(?:: (?P<xxd>{_GROUP}(?: {_GROUP})*+)| {{1,8}}(?P<hexdump>{_GROUP}(?: {{1,8}}{_GROUP})*+))"
)
_PRINTABLE = range(0x20, 0x7F)


class SecretIndex:
    """Which of ``values`` a text may contain: some that it does not contain, but always all that it does.

    Building it takes about a millisecond for each value that was not indexed before.

    The cost of asking does not depend on the number of values; for those found, ``known_spans`` finds the places.
    """

    def __init__(self, values: Sequence[str]) -> None:
        blocks: dict[int, set[str]] = {}
        words: dict[bytes, set[str]] = {}
        for value in values:
            for piece in _pieces(value):
                if len(piece) < _WINDOW:
                    words.setdefault(piece, set()).add(value)
                    continue
                for start in range(_BLOCK):
                    block = int.from_bytes(piece[start : start + _BLOCK], sys.byteorder)
                    blocks.setdefault(block, set()).add(value)
        self._owners, self._blocks = blocks, frozenset(blocks)
        self._words = tuple(words.items())

    def candidates(self, text: str) -> set[str]:
        """Return the values that ``text`` may contain."""
        reduced = _reduced(text)
        blocks = memoryview(reduced)[: len(reduced) // _BLOCK * _BLOCK].cast("Q")
        found: set[str] = set()
        if not self._blocks.isdisjoint(blocks):
            found.update(*(self._owners[block] for block in self._blocks.intersection(blocks)))
        for word, owners in self._words:
            if word in reduced:
                found |= owners
        return found


def _reduced(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").translate(_LOWER, _REMOVED)


@lru_cache(maxsize=256)
def _pieces(value: str) -> frozenset[bytes]:
    """The beginning of a part of each form, reduced, in which no character is written in several ways."""
    forms = filter(None, (joined(value), *base64_forms(value), hexadecimal(value)))
    parts = (max(map(_reduced, UNCHANGED.findall(form)), key=len, default=b"") for form in forms)
    return frozenset(part[:_WINDOW] for part in parts)


class _Text:
    """Parts of a text, put together, with a map back to places in the original."""

    def __init__(self, parts: Iterable[tuple[int, str]]) -> None:
        """``parts``: where each part begins in the original, and its text."""
        self._starts: list[int] = []
        self._sources: list[int] = []
        texts, size = [], 0
        for source, text in parts:
            self._starts.append(size)
            self._sources.append(source)
            texts.append(text)
            size += len(text)
        self.text = "".join(texts)

    def source(self, span: Span) -> Span:
        """Return the span in the original."""
        return self._place(span[0]), self._place(span[1] - 1) + 1

    def _place(self, at: int) -> int:
        part = bisect_right(self._starts, at) - 1
        return self._sources[part] + at - self._starts[part]


def known_spans(text: str, values: Iterable[str]) -> Iterator[tuple[Span, str]]:
    """Yield where each of the values is, in any of its forms."""
    plain, digits = _Text(_parts(text, BETWEEN)), _Text(_parts(text, _BETWEEN_BYTES))
    for value in values:
        for match in pattern_of(value).finditer(plain.text):
            escaped = not (UNCHANGED.match(value) and UNCHANGED.match(match[0]))
            start, end = plain.source(match.span())
            while escaped and text[start - 1 : start] == "\\":
                start -= 1
            yield (start, end), value
        for form in (hexadecimal(value), hexadecimal(value).upper()):
            yield from ((digits.source(span), value) for span in _occurrences(form, digits.text))


def _occurrences(form: str, text: str) -> Iterator[Span]:
    at = text.find(form)
    while at >= 0:
        yield at, at + len(form)
        at = text.find(form, at + len(form))


def _parts(text: str, between: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    at = 0
    for gap in between.finditer(text):
        if gap.start() > at:
            yield at, text[at : gap.start()]
        at = gap.end()
    yield at, text[at:]


def dumped_spans(text: str, values: Iterable[str]) -> Iterator[tuple[Span, str]]:
    """Yield the lines of dumps that have a value in them, with the text beside the bytes."""
    lines = list(_DUMPED.finditer(text))
    if not lines:
        return
    starts = [line.start() for line in lines]
    groups = [line[line.lastgroup or 0].lower().split() for line in lines]
    dumps = [_Text(zip(starts, map("".join, some), strict=True)) for some in (groups, map(_swapped, groups))]
    for value in values:
        for dump in dumps:
            for span in _occurrences(hexadecimal(value), dump.text):
                first, last = (bisect_right(starts, at) - 1 for at in dump.source(span))
                yield (starts[first], _end_of_line(text, lines[last], "".join(groups[last]))), value


def _swapped(groups: Sequence[str]) -> Iterator[str]:
    """The groups as numbers whose last byte comes first."""
    return ("".join(reversed([group[at : at + 2] for at in range(0, len(group), 2)])) for group in groups)


def _end_of_line(text: str, line: re.Match[str], digits: str) -> int:
    """Where a line ends, with the characters that stand beside the bytes."""
    codes = (int(digits[at : at + 2], 16) for at in range(0, len(digits), 2))
    beside = "".join(rf"\\*{re.escape(chr(code) if code in _PRINTABLE else '.')}" for code in codes)
    found = re.compile(rf" {{1,64}}[|>]?{beside}[|<]?").match(text, line.end())
    return found.end() if found else line.end()
