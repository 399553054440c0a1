"""What secrets look like: keys by their shape, known values as URLs, base64, JSON and HTML write them.

For texts of any size: each secret has words that are searched first, since that is fast, and then a pattern.
"""

from __future__ import annotations

import re
import sys
from base64 import b64encode
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

if sys.version_info < (3, 11, 5):  # its own patterns miss matches of "possessive" parts: python/cpython#106052
    import regex as re  # type: ignore[no-redef]

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LINE_END = r"(?:\\{1,8}[rnt]|\s)"  # also as JSON writes it
_BREAK = f"{LINE_END}{{0,8}}+"
_MARGIN = r"[\d>|→: ]{0,12}+"  # what programs show before a line
SHORTEST_HIDDEN = 8  # characters of a value that is searched reversed, broken over lines, and so on
_ALIKE = re.compile(r"[A-Za-z0-9_.~-]+")  # what no way of writing changes
_BACKSLASH = r"(?:\\|%(?:25)*5[Cc])"
_HASH, _SEMICOLON = r"(?:#|%(?:25)*23)", r"(?:;|%(?:25)*3[Bb])"
_AMPERSAND = rf"(?:&|{_BACKSLASH}{{1,16}}u0026|%(?:25)*26)(?:amp{_SEMICOLON})*"
_LETTERS = {"\n": "n", "\r": "r", "\t": "t"}
_LONGEST_ESCAPE = 24  # characters that one of a value's becomes, and more than that
_CUTS = ("…", "u2026", "more characters were cut")
_CUT = re.compile(r"…|\\{1,8}u2026|more characters were cut")
_BEFORE_CUT = re.compile(r"(?:(?:\\{1,8}[nrt]|\s)*\[(?:\d+ )?|(?:\\{1,8}[nrt]|\s)+)?$")
_AFTER_CUT = re.compile(r"(?:\\{1,8}[nrt]|[\s\]])*")
_SHORTEST_HALF, _LONGEST_HALF = 8, 4_096  # characters

# kind -> words of which one is in every such key, and its shape. Shapes begin anywhere: in JSON the letter of an
# escaped line end stands before them. None holds a quote or half an escape, so that JSON without it is JSON.
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
            r"|(?:(?<![A-Za-z0-9]sk-)|(?<=\\[nrt]sk-))[A-Za-z0-9]{32,400})"  # a task-<digest> is none
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
_DOCUMENTED = re.compile(  # what documentation shows in the place of a key
    r"A[KS]IA[A-Z0-9]{9}EXAMPLE|[\w/+=]{30}EXAMPLEKEY"
    r"|-----BEGIN [A-Z ]+-----(?:(?![\w+/=]{16}|-----)[\s\S])*(?:-----END [A-Z ]+-----)?"  # with nothing in it
    r"|eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9\.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9l[\w.-]+"
)


@dataclass(frozen=True)
class Guard:
    """A secret, or a kind of them. ``length``: of the longest text it may match."""

    words: tuple[str, ...]
    shape: str
    length: int = 0

    def suspects(self, text: str) -> bool:
        """Whether ``text`` may hold it."""
        return any(map(text.__contains__, self.words))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is first needed, which it seldom is."""
        return re.compile(self.shape)


SHAPES = {kind: Guard(words, shape) for kind, (words, shape) in _KNOWN.items()}


def is_documented(key: str) -> bool:
    """Whether it is no key, but what documentation and programs have in the place of one."""
    return _DOCUMENTED.fullmatch(key) is not None


# --- known values -----------------------------------------------------------------------------------


def guard_of(value: str) -> Guard:
    """What a value may look like as it is, reversed, partly escaped, and in base64. An index searches for it."""
    ways = [value, value[::-1]] if len(value) >= SHORTEST_HIDDEN else [value]
    shapes = [
        *("".join(map(_written, way)) for way in ways),
        *(_BREAK.join(map(re.escape, form)) for form in base64_forms(value)),
    ]
    return Guard((), "|".join(shapes), _LONGEST_ESCAPE * len(value))


def guard_of_parts(parts: tuple[str, ...]) -> Guard:
    """What searches for texts as they are."""
    return Guard(parts, "|".join(map(re.escape, sorted(parts, key=len, reverse=True))), max(map(len, parts)))


def base64_forms(text: str) -> tuple[str, ...]:
    """What stays the same of ``text`` inside a longer one in base64, for each place in a group of three bytes."""
    return tuple(sorted(set(_base64_forms(text.encode("utf-8", "surrogateescape")))))


def double_base64_forms(text: str) -> tuple[str, ...]:
    """What stays the same of ``text`` in base64 that is encoded in base64 again."""
    return tuple(sorted({form for once in base64_forms(text) for form in base64_forms(once)}))


@cache
def _written(character: str) -> str:
    """A pattern of what a character looks like in URLs, HTML, JSON, in programs, and in one of these within another."""
    if _ALIKE.fullmatch(character):
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


# --- what is left of one that was cut ---------------------------------------------------------------


def is_cut(text: str) -> bool:
    """Whether somebody left something out of it, and said so."""
    return any(map(text.__contains__, _CUTS))


def halves(text: str, forms: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Where parts of ``forms`` stand in ``text``, because something was cut out of it in their middle."""
    forms = tuple(forms)
    for cut in _CUT.finditer(text):
        found = _BEFORE_CUT.search(text[max(0, cut.start() - _SHORTEST_HALF * 8) : cut.start()])
        end = cut.start() - len(found[0] if found else "")
        before = text[max(0, end - _LONGEST_HALF) : end]
        for form in forms:
            at = before.rfind(form[:_SHORTEST_HALF])
            if at >= 0 and form.startswith(before[at:]):
                yield end - len(before) + at, end
        passed = _AFTER_CUT.match(text, cut.end())
        start = passed.end() if passed else cut.end()
        after = text[start : start + _LONGEST_HALF]
        for form in forms:
            at = after.find(form[-_SHORTEST_HALF:])
            if at >= 0 and form.endswith(after[: at + _SHORTEST_HALF]):
                yield start, start + at + _SHORTEST_HALF
