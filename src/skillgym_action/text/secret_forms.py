"""Patterns of secrets: keys by their shape, known values as URLs, base64, JSON and HTML write them.

Texts can be large. So each secret has words, one of which every match contains: searching words is much faster than
matching a pattern, and nearly always finds nothing.
"""

from __future__ import annotations

import re
import sys
from base64 import b64encode
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

if sys.version_info < (3, 11, 5):  # its re misses matches of possessive quantifiers: python/cpython#106052
    import regex as re  # type: ignore[no-redef]

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LINE_END = r"(?:\\{1,8}[rnt]|\s)"  # also as an escape of JSON
_BREAK = f"{LINE_END}{{0,8}}+"
_MARGIN = r"[\d>|→: ]{0,12}+"  # line numbers and the like before a line
SHORTEST_HIDDEN = 8  # characters of a value that is searched reversed, broken over lines, and so on
UNCHANGED = re.compile(r"[A-Za-z0-9_.~-]+")  # characters that no escaping changes
_BACKSLASH = r"(?:\\|%(?:25)*5[Cc])"
_HASH, _SEMICOLON = r"(?:#|%(?:25)*23)", r"(?:;|%(?:25)*3[Bb])"
_AMPERSAND = rf"(?:&|{_BACKSLASH}{{1,16}}u0026|%(?:25)*26)(?:amp{_SEMICOLON})*"
_LETTERS = {"\n": "n", "\r": "r", "\t": "t"}
_LONGEST_ESCAPE = 24  # characters; more than any one character of a value becomes
_CUT_MARKS = ("…", "u2026", "more characters were cut")
_CUT = re.compile(r"…|\\{1,8}u2026|more characters were cut")
_BEFORE_CUT = re.compile(r"(?:(?:\\{1,8}[nrt]|\s)*\[(?:\d+ )?|(?:\\{1,8}[nrt]|\s)+)?$")
_AFTER_CUT = re.compile(r"(?:\\{1,8}[nrt]|[\s\]])*")
_SHORTEST_PART, _LONGEST_PART = 8, 4_096  # characters

# kind -> words, of which one is in every such key, and its pattern. A pattern matches after any character: in JSON, the
# letter of an escaped line end comes before the key. None matches a quote or a part of an escape, so that JSON stays
# valid when the match is replaced.
_KNOWN = {
    "github": (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"(?:gh[oprsu]_[A-Za-z0-9_.-]{30,2000}|github_pat_\w{22,400})",
    ),
    "anthropic": (("sk-ant-",), r"sk-ant-[\w-]{16,400}"),
    "openai": (
        ("sk-",),
        (
            r"sk-(?:(?:proj|svcacct|admin|or)-[\w-]{20,400}"
            r"|(?:(?<![A-Za-z0-9]sk-)|(?<=\\[nrt]sk-))[A-Za-z0-9]{32,400})"  # task-<digest> is not a key
        ),
    ),
    "aws": (
        ("AKIA", "ASIA", "aws_secret", "AWS_SECRET"),
        r"(?:AKIA|ASIA)[A-Z0-9]{16}|(?<=(?:aws_secret|AWS_SECRET)_(?:access_key|ACCESS_KEY)=)[\w/+=]{40}",
    ),
    "google": (("AIza",), r"AIza[\w-]{35}"),
    "slack": (
        ("xox", "xapp-", "hooks.slack"),
        r"xox[a-z]-[\w-]{10,400}|xapp-[\w-]{10,400}|hooks\.slack\.com/services/[\w/]{20,400}",
    ),
    "jwt": (("eyJ",), r"eyJ[\w-]{8,600}+\.eyJ[\w-]{8,16000}+\.[\w-]{8,4000}"),
    "private-key": (
        ("PRIVATE KEY",),
        (
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            rf"(?:(?:[\w+/=:;,.()<>@|→' ]|{LINE_END}|-(?!----)){{0,16000}}+"
            r"-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            rf"|(?:{_BREAK}{_MARGIN}[\w+/=]{{16,80}}+){{0,250}}+(?:{_BREAK}{_MARGIN}[\w+/=]{{1,80}}+)?)"
        ),
    ),
}
_PLACEHOLDER = re.compile(  # keys in documentation
    r"A[KS]IA[A-Z0-9]{9}EXAMPLE|[\w/+=]{30}EXAMPLEKEY"
    r"|-----BEGIN [A-Z ]+-----(?:(?![\w+/=]{16}|-----)[\s\S])*(?:-----END [A-Z ]+-----)?"  # without content
    r"|eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9\.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9l[\w.-]+"
)


@dataclass(frozen=True)
class SecretPattern:
    """The pattern of a secret, or of a kind of secrets. ``length``: of the longest text that it matches."""

    words: tuple[str, ...]
    shape: str
    length: int = 0

    def may_match(self, text: str) -> bool:
        """Whether ``text`` has one of the words."""
        return any(map(text.__contains__, self.words))

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The compiled shape. Compiling is slow, and few patterns are ever needed."""
        return re.compile(self.shape)


SHAPES = {kind: SecretPattern(words, shape) for kind, (words, shape) in _KNOWN.items()}


def is_placeholder(key: str) -> bool:
    """Whether ``key`` is an example of documentation, or the begin and end of a key file without content."""
    return _PLACEHOLDER.fullmatch(key) is not None


# --- known values -----------------------------------------------------------------------------------


def pattern_of_value(value: str) -> SecretPattern:
    """Return the pattern of a value: as it is, reversed, partly escaped, in base64. Without words: it has an index."""
    ways = [value, value[::-1]] if len(value) >= SHORTEST_HIDDEN else [value]
    shapes = [
        *("".join(map(_written, way)) for way in ways),
        *(_BREAK.join(map(re.escape, form)) for form in base64_forms(value)),
    ]
    return SecretPattern((), "|".join(shapes), _LONGEST_ESCAPE * len(value))


def pattern_of_texts(texts: tuple[str, ...]) -> SecretPattern:
    """Return the pattern of texts as they are."""
    return SecretPattern(texts, "|".join(map(re.escape, sorted(texts, key=len, reverse=True))), max(map(len, texts)))


def base64_forms(text: str) -> tuple[str, ...]:
    """Return the base64 of ``text`` inside a longer text, without the ends that depend on its neighbours.

    There is one form for each position in a group of three bytes, and one of each for URLs.
    """
    return tuple(sorted(set(_base64_forms(text.encode("utf-8", "surrogateescape")))))


def double_base64_forms(text: str) -> tuple[str, ...]:
    """Return the same for base64 that is encoded in base64 again."""
    return tuple(sorted({form for once in base64_forms(text) for form in base64_forms(once)}))


@cache
def _written(character: str) -> str:
    """A pattern of one character as URLs, HTML, JSON and programs write it, also one of these within another."""
    if UNCHANGED.fullmatch(character):
        return re.escape(character)
    from html.entities import codepoint2name

    code, units = ord(character), character.encode("utf-16-be", "surrogatepass")
    encoded = character.encode("utf-8", "surrogateescape")
    escaped = (units[at : at + 2].hex() for at in range(0, len(units), 2))
    name = codepoint2name.get(code, "apos" if character == "'" else "")
    within = f"{_BACKSLASH}{{0,16}}"
    ways = [
        re.escape(character),
        "".join(rf"%(?:25)*(?i:{byte:02x})" for byte in encoded),
        within.join(rf"x(?i:{byte:02x})" for byte in encoded),
        within.join(rf"u(?i:{unit})" for unit in escaped),
        rf"{_AMPERSAND}(?:{_HASH}0*{code}|{_HASH}[xX]0*(?i:{code:x}){f'|{name}' if name else ''}){_SEMICOLON}",
        *([_LETTERS[character]] if character in _LETTERS else []),
        *([r"\+|%(?:25)*2[Bb]"] if character == " " else []),
    ]
    return f"{within}(?:{'|'.join(ways)})" if character != "\\" else f"{_BACKSLASH}{{1,16}}"


def _base64_forms(value: bytes) -> Iterator[str]:
    for shift in range(3):
        encoded = b64encode(b"\0" * shift + value).decode()
        stable = encoded[(0, 2, 3)[shift] : (shift + len(value)) * 8 // 6]
        yield stable
        yield stable.replace("+", "-").replace("/", "_")


# --- secrets of which only a part is left --------------------------------------------------------------


def is_truncated(text: str) -> bool:
    """Whether the text has a mark where something was cut out of it."""
    return any(map(text.__contains__, _CUT_MARKS))


def truncated_spans(text: str, forms: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield where ``text`` has the beginning of a form before a cut mark, or the end of one after it."""
    forms = tuple(forms)
    for cut in _CUT.finditer(text):
        found = _BEFORE_CUT.search(text[max(0, cut.start() - _SHORTEST_PART * 8) : cut.start()])
        end = cut.start() - len(found[0] if found else "")
        before = text[max(0, end - _LONGEST_PART) : end]
        for form in forms:
            at = before.rfind(form[:_SHORTEST_PART])
            if at >= 0 and form.startswith(before[at:]):
                yield end - len(before) + at, end
        passed = _AFTER_CUT.match(text, cut.end())
        start = passed.end() if passed else cut.end()
        after = text[start : start + _LONGEST_PART]
        for form in forms:
            at = after.find(form[-_SHORTEST_PART:])
            if at >= 0 and form.endswith(after[: at + _SHORTEST_PART]):
                yield start, start + at + _SHORTEST_PART
