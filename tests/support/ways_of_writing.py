"""Ways to write a secret: those that redaction finds, from which length on, and those that it does not, and why.

The table in docs/explanation/security.md is made of this, and tests/unit/text/test_secret_forms.py tries each of them.
"""

from __future__ import annotations

import base64
import codecs
import html
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHOWN = "k3y/ü1"
"""The value of the examples."""


@dataclass(frozen=True)
class Way:
    """One way. ``shortest``: the characters of a value from which on it is found; 0 for never, with the reason."""

    name: str
    write: Callable[[str], str]
    shortest: int = 8
    reason: str = ""


def each_byte(form: str) -> Callable[[str], str]:
    return lambda value: "".join(form.format(byte) for byte in value.encode())


def each_character(form: str) -> Callable[[str], str]:
    return lambda value: "".join(form.format(ord(character)) for character in value)


def utf16(value: str) -> str:
    """As JSON and JavaScript write any character."""
    units = value.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def encoded(value: str, before: str = "") -> str:
    return base64.b64encode(f"{before}{value}".encode()).decode()


def of_urls(value: str) -> str:
    return base64.urlsafe_b64encode(value.encode()).decode()


def by_the_tool(value: bytes) -> bytes:
    """As the program ``base64`` writes it, in lines of 76 characters."""
    text = base64.b64encode(value)
    return b"".join(text[at : at + 76] + b"\n" for at in range(0, len(text), 76))


def lines(value: str, width: int, between: str) -> str:
    return between.join(value[at : at + width] for at in range(0, len(value), width))


def hexadecimal(separator: str = "", before: str = "") -> Callable[[str], str]:
    return lambda value: separator.join(f"{before}{byte:02x}" for byte in value.encode())


WAYS = (
    Way("unchanged", str, 6),
    Way("URL-encoded", lambda value: quote(value, safe=""), 6),
    Way("URL-encoded for an HTML form", quote_plus, 6),
    Way("escaped for JSON", lambda value: json.dumps(value)[1:-1], 6),
    Way("escaped for JSON twice, as in JSON within JSON", lambda value: json.dumps(json.dumps(value))[3:-3], 6),
    Way("escaped for HTML", html.escape, 6),
    Way("base64", encoded, 6),
    Way("URL-safe base64", of_urls, 6),
    Way("base64 of a text that contains the value", lambda value: encoded(value, "x:"), 6),
    Way("base64, split across lines", lambda value: lines(encoded(value), 64, "\n"), 6),
    Way("base64, URL-encoded", lambda value: quote(encoded(value), safe="")),
    Way("base64 of base64", lambda value: encoded(encoded(value))),
    Way("URL-safe base64 of URL-safe base64", lambda value: of_urls(of_urls(value))),
    Way("base64 of base64 of a text that contains the value", lambda value: encoded(encoded(value, "x"), "yz")),
    Way("base64 of base64, both split across lines", lambda value: by_the_tool(by_the_tool(value.encode())).decode()),
    Way("hexadecimal", hexadecimal()),
    Way("hexadecimal in capital letters", lambda value: value.encode().hex().upper()),
    Way("hexadecimal, with colons between bytes", hexadecimal(":")),
    Way("hexadecimal, with spaces between bytes", hexadecimal(" ")),
    Way("a list of hexadecimal numbers that begin with `0x`", hexadecimal(", ", "0x")),
    Way("reversed", lambda value: value[::-1]),
    Way("every byte as an escape sequence of C, Python or JavaScript", each_byte("\\x{:02x}")),
    Way("every byte as an escape sequence, within JSON",
        lambda value: json.dumps(each_byte("\\x{:02x}")(value))[1:-1]),
    Way("every character escaped for JSON", utf16),
    Way("every character escaped for JavaScript", each_character("\\u{{{:x}}}")),
    Way("every byte as an octal escape sequence", each_byte("\\{:03o}")),
    Way("every byte URL-encoded", each_byte("%{:02X}")),
    Way("every byte URL-encoded twice", each_byte("%25{:02x}")),
    Way("every character escaped for HTML", each_character("&#{};")),
    Way("every character escaped for HTML in hexadecimal", each_character("&#x{:x};")),
    Way("every character escaped twice for HTML", each_character("&amp;#{};")),
    Way("split across lines", lambda value: lines(value, 5, "\n")),
    Way("split across lines that begin with `>`", lambda value: lines(value, 5, "\r\n> ")),
    Way("split across indented lines, within JSON", lambda value: json.dumps(lines(value, 5, "\n    "))[1:-1]),
    Way("split across numbered lines", lambda value: lines(value, 5, "\n 12 | "), 0,
        "the tool cannot distinguish line numbers from digits of the value"),
    Way("with spaces between characters", " ".join, 0, "the tool would have to check every space in ordinary text"),
    Way("a list of decimal numbers", lambda value: ", ".join(map(str, value.encode())), 0,
        "the tool would have to check every list of numbers"),
    Way("hexadecimal, reversed", lambda value: value.encode().hex()[::-1], 0,
        "these two encodings are rarely combined"),
    Way("base64, reversed", lambda value: encoded(value)[::-1], 0, "these two encodings are rarely combined"),
    Way("hexadecimal of base64", lambda value: encoded(value).encode().hex(), 0,
        "these two encodings are rarely combined"),
    Way("base64 of hexadecimal", lambda value: encoded(value.encode().hex()), 0,
        "these two encodings are rarely combined"),
    Way("base64 three times", lambda value: encoded(encoded(encoded(value))), 0,
        "the tool would have to search for 27 encodings of each value"),
    Way("base32", lambda value: base64.b32encode(value.encode()).decode(), 0, "this encoding is rarely used for text"),
    Way("base85", lambda value: base64.b85encode(value.encode()).decode(), 0, "this encoding is rarely used for text"),
    Way("ROT13 (each letter replaced by the 13th letter after it)", lambda value: codecs.encode(value, "rot13"), 0,
        "ROT13 is only one of many ciphers"),
    Way("UTF-16", lambda value: value.encode("utf-16-le").decode("latin-1"), 0,
        "reports and logs are encoded in UTF-8"),
    Way("compressed", lambda value: zlib.compress(value.encode()).hex(), 0,
        "the result depends on the whole compressed text"),
)  # fmt: skip


def of_ways() -> Iterator[tuple[str, ...]]:
    """The table: each way, an example if it can be shown, and whether it is found."""
    yield "Encoding", f"Example for `{SHOWN}`", "Found"
    for way in WAYS:
        found = f"yes, if the value has at least {way.shortest} characters" if way.shortest else f"no: {way.reason}"
        yield way.name, f"`{_visible(way.write(SHOWN))}`", found


def _visible(text: str) -> str:
    return "".join({"\r": "␍", "\n": "␊", "\0": "␀"}.get(character, character) for character in text)
