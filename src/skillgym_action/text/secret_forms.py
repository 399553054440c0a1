"""How secrets are written: shapes of keys; known values, also in JSON, URLs, base64; names of secret variables.

Texts can be large. So each kind of keys has words, one of which every key contains: searching words is much faster than
matching a pattern, and nearly always finds nothing.
"""

from __future__ import annotations

import re
import sys
from base64 import b64encode
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping

if sys.version_info < (3, 11, 5):  # its re misses matches of possessive quantifiers: python/cpython#106052
    import regex as re  # type: ignore[no-redef]

LINE_END = r"(?:\\{1,8}[rnt]|\s)"  # also as an escape of JSON
_BREAK = f"{LINE_END}{{0,8}}+"
SHORTEST_SECRET = 6  # characters; shorter values occur in too many texts by coincidence
_MARGIN = r"[\d>|→: ]{0,12}+"  # line numbers and the like before a line

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
        ("sk-", "rt_"),
        (
            r"(?<![A-Za-z0-9])rt_[\w.-]{40,400}|"  # refreshes a login
            r"sk-(?:(?:proj|svcacct|admin|or)-[\w-]{20,400}"
            r"|(?:(?<![A-Za-z0-9]sk-)|(?<=\\[nrt]sk-))[A-Za-z0-9]{32,400})"  # task-<digest> is not a key
        ),
    ),
    "aws": (
        ("AKIA", "ASIA", "aws_secret", "AWS_SECRET", "ABSK", "bedrock-api-key-"),
        r"ABSK[A-Za-z0-9+/]{40,400}={0,2}|bedrock-api-key-[\w+/=-]{40,4000}|(?:AKIA|ASIA)[A-Z0-9]{16}|(?<=(?:aws_secret|AWS_SECRET)_(?:access_key|ACCESS_KEY)=)[\w/+=]{40}",
    ),
    "google": (("AIza", "ya29.", "1//"), r"AIza[\w-]{35}|ya29\.[\w-]{30,2000}|(?<![\w/])1//[\w-]{30,400}"),
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


@record(kw_only=False, slots=False)
class KeyShape:
    """The shape of a kind of keys."""

    words: tuple[str, ...]
    shape: str

    def may_match(self, text: str) -> bool:
        """Whether ``text`` has one of the words."""
        return any(map(text.__contains__, self.words))

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The compiled shape. Compiling is slow, and few patterns are ever needed."""
        return re.compile(self.shape)


SHAPES = {kind: KeyShape(words, shape) for kind, (words, shape) in _KNOWN.items()}
KEY_WORDS = tuple(word for shape in SHAPES.values() for word in shape.words)


def key_kinds(text: str) -> tuple[str, ...]:
    """Return the kinds of keys in ``text`` by their shape, such as ``github`` or ``private-key``."""
    return tuple(kind for kind, shape in SHAPES.items() if shape.may_match(text) and shape.regex.search(text))


def looks_like_key(value: str) -> bool:
    """Whether ``value`` contains something with the shape of a key."""
    return bool(key_kinds(value))


def is_placeholder(key: str) -> bool:
    """Whether ``key`` is an example of documentation, or the begin and end of a key file without content."""
    return _PLACEHOLDER.fullmatch(key) is not None


# --- known values -----------------------------------------------------------------------------------


_BACKSLASH = r"(?:\\|%(?:25)*+5[Cc])"
# A line number as agents' tools for reading and `cat -n` print it: no value has digits before one of these signs.
_NUMBER = rf"(?:\d{{1,6}}+(?:→|{_BACKSLASH}++u2192|\t|{_BACKSLASH}++t| \| ))?+"
_BLANKS = r"(?:(?<![ \t])[ \t]++)?+"
BETWEEN = re.compile(
    rf"{_BLANKS}(?:{_BACKSLASH}*+[\r\n]|{_BACKSLASH}++[rn])(?:{_BACKSLASH}++[rnt]|\s)*+{_NUMBER}|{_BACKSLASH}++"
)
"""What may be in the middle of a value, and is no part of it: line ends with blanks, indents and line numbers; the
backslashes of escapes."""
UNCHANGED = re.compile(r"[A-Za-z0-9_.~-]+")  # characters that are written in one way only
_ALSO = {"+": "-", "/": "_", " ": r"\+", "\t": "t"}  # in URL-safe base64, in forms, and in JSON after the backslash


@lru_cache(maxsize=256)
def pattern_of(value: str) -> re.Pattern[str]:
    """The pattern of a value in a text from which ``BETWEEN`` is removed: as it is, in JSON, in a URL, in base64."""
    return re.compile("|".join("".join(map(_written, form)) for form in (joined(value), *base64_forms(value)) if form))


def joined(value: str) -> str:
    """Return ``value`` without what ``BETWEEN`` matches, if enough is left of it; else ""."""
    left = BETWEEN.sub("", value)
    return left if len(left) >= SHORTEST_SECRET else ""


def base64_forms(value: str) -> tuple[str, ...]:
    """Return the base64 of ``value`` inside a longer text, without the ends that depend on its neighbours.

    There is one form for each position in a group of three bytes.
    """
    encoded = value.encode("utf-8", "surrogateescape")
    shifted = (b64encode(b"\0" * shift + encoded).decode() for shift in range(3))
    return tuple(form[(0, 2, 3)[shift] : (shift + len(encoded)) * 8 // 6] for shift, form in enumerate(shifted))


def hexadecimal(value: str) -> str:
    """Return the bytes of ``value`` in hexadecimal."""
    return value.encode("utf-8", "surrogateescape").hex()


@lru_cache(maxsize=256)
def _written(character: str) -> str:
    """A pattern of one character, as it is and as its escapes are without their backslash."""
    if UNCHANGED.fullmatch(character):
        return re.escape(character)
    units = character.encode("utf-16-be", "surrogatepass").hex()
    ways = [
        re.escape(character),
        "".join(f"u(?i:{units[at : at + 4]})" for at in range(0, len(units), 4)),
        "".join(f"%(?:25)*(?i:{byte:02x})" for byte in character.encode("utf-8", "surrogateescape")),
        *([_ALSO[character]] if character in _ALSO else []),
    ]
    # A line may end at a blank, which is then one of those that are between the lines.
    return f"(?:{'|'.join(ways)})" + ("?" if character in " \t" else "")


# Short words are matched only where a part of the name begins or ends with them: PATH, AUTHOR, COMPASS are no secrets.
_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|BEARER|WEBHOOK|AUTHORIZATION|CONNECTION_?STRING"
    r"|(?<!ASK)(?<!BY)(?<!COM)PASS(?![A-Z])|PWD(?![A-Z])"
    r"|(?<![A-Z])(?:O?AUTH|COOKIES?|DSN|HEADERS|PAT|PEM)(?![A-Z])",
    re.IGNORECASE,
)
_NOT_SECRET = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK"})  # folders, and a socket
_PUBLIC = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|TERM|TMPDIR|PWD|HOSTNAME|CI|(?:GITHUB|RUNNER)_\w+"
    r"|(?:HTTPS?|ALL|NO)_PROXY|SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS",
    re.IGNORECASE,
)
_HEADER = re.compile(r"^[\w-]{1,80}:[ \t]*(\S.*?)[ \t\r]*$", re.MULTILINE)
# `Bearer X`, alone or as the value of a header; an unknown scheme only if nothing else is in the text.
_CREDENTIALS = re.compile(
    r"(?:(?:^|[:=\"'])[ \t]*(?i:bearer|basic|token|api-?key|oauth|negotiate)|\A[A-Za-z][\w-]{1,40}(?=[ \t]+\S{16,}\Z))"
    r"[ \t]+(?:(?:token|auth|key)=)?[\"']?([^\s\"',;]+)",
    re.MULTILINE,
)
_PASSWORD = re.compile(r"://[^\s/:@]*:([^\s/@]+)@")


def is_secret_name(name: str) -> bool:
    """Whether a variable with this name has a secret value."""
    return _SECRET_NAME.search(name) is not None and name.upper() not in _NOT_SECRET


def is_public(name: str) -> bool:
    """Whether a variable with this name says where a program runs, so that its value is in many texts."""
    return _PUBLIC.fullmatch(name) is not None


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables that are secret: whole and, of HTTP headers, alone; or the password in a URL."""
    return tuple(
        value
        for name, whole in environment.items()
        for value in ([whole, *_header_values(name, whole)] if is_secret_name(name) else _PASSWORD.findall(whole))
    )


def _header_values(name: str, lines: str) -> list[str]:
    """The values of the HTTP headers in a variable such as ``ANTHROPIC_CUSTOM_HEADERS``: lines ``Name: value``."""
    return _HEADER.findall(lines) if name.upper().endswith("HEADERS") else []


def bare_credentials(value: str) -> list[str]:
    """What follows the schemes of authorization in ``value``: ``X`` of ``Bearer X``."""
    return _CREDENTIALS.findall(value)


def is_secret_variable(name: str, value: str) -> bool:
    """Whether a variable must not be given to suites: by its name, or its value has a password in a URL, or a key."""
    return is_secret_name(name) or _PASSWORD.search(value) is not None or looks_like_key(value)
