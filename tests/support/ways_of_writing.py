"""Ways to write a secret: those that redaction finds, and some of those that it does not.

The table in docs/explanation/security.md is made of this, and tests/unit/text/test_secret_forms.py tries each of them.
"""

from __future__ import annotations

import base64
import codecs
import html
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHOWN = "k3y/ü1"
"""The value of the examples."""


@dataclass(frozen=True)
class Way:
    """One way, and whether it is found."""

    name: str
    write: Callable[[str], str]
    found: bool = True


def encoded(value: str, before: str = "") -> str:
    return base64.b64encode(f"{before}{value}".encode()).decode()


def lines(value: str, width: int, between: str = "\n") -> str:
    return between.join(value[at : at + width] for at in range(0, len(value), width))


def hexadecimal(separator: str = "", before: str = "") -> Callable[[str], str]:
    return lambda value: separator.join(f"{before}{byte:02x}" for byte in value.encode())


def dump(shown: Callable[[int, bytes, str], str]) -> Callable[[str], str]:
    """Lines of 16 bytes: ``shown`` gets the offset, the bytes, and the characters beside them."""

    def write(value: str) -> str:
        data = value.encode()
        parts = [(at, data[at : at + 16]) for at in range(0, len(data), 16)]
        texts = ["".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part) for _, part in parts]
        return "\n".join(shown(at, part, text) for (at, part), text in zip(parts, texts, strict=True))

    return write


def groups(data: bytes, size: int, *, swapped: bool = False) -> str:
    parts = (data[at : at + size] for at in range(0, len(data), size))
    return " ".join((part[::-1] if swapped else part).hex() for part in parts)


xxd = dump(lambda at, data, text: f"{at:08x}: {groups(data, 2):<39}  {text}")
hexdump_c = dump(lambda at, data, text: f"{at:08x}  {f'{groups(data[:8], 1)}  {groups(data[8:], 1)}':<48}  |{text}|")
hexdump = dump(
    lambda at, data, _: f"{at:07x} {groups(data.ljust(len(data) + len(data) % 2, bytes(1)), 2, swapped=True)}"
)

WAYS = (
    Way("unchanged", str),
    Way("split across lines of any length, as `fold` prints it", lambda value: lines(value, 5)),
    Way("escaped for JSON", lambda value: json.dumps(value)[1:-1]),
    Way("escaped for JSON twice, as in JSON within JSON", lambda value: json.dumps(json.dumps(value))[3:-3]),
    Way("split across lines, in JSON", lambda value: json.dumps(lines(value, 5, "\n    "))[1:-1]),
    Way("URL-encoded", lambda value: quote(value, safe="")),
    Way("URL-encoded for an HTML form", quote_plus),
    Way("base64", encoded),
    Way("URL-safe base64", lambda value: base64.urlsafe_b64encode(value.encode()).decode()),
    Way("base64 of a text that contains the value", lambda value: encoded(value, "x:")),
    Way("base64, split across lines of any length", lambda value: lines(encoded(value), 7)),
    Way("base64, URL-encoded", lambda value: quote(encoded(value), safe="")),
    Way("hexadecimal", hexadecimal()),
    Way("hexadecimal in capital letters", lambda value: value.encode().hex().upper()),
    Way("hexadecimal, split across lines, as `xxd -p` prints it", lambda value: lines(value.encode().hex(), 5)),
    Way("hexadecimal, with spaces or colons between bytes", hexadecimal(":")),
    Way("a list of hexadecimal numbers that begin with `0x`", hexadecimal(", ", "0x")),
    Way("hexadecimal with offsets, as `xxd` prints it", xxd),
    Way("hexadecimal with offsets, as `hexdump -C` prints it", hexdump_c),
    Way("hexadecimal with offsets, as `hexdump` and `od -x` print it", hexdump),
    Way("split across lines with numbers or signs before them", lambda value: lines(value, 3, "\n2 | "), found=False),
    Way("with spaces between characters", " ".join, found=False),
    Way("reversed", lambda value: value[::-1], found=False),
    Way("escaped for HTML", lambda value: html.escape(value).replace("ü", "&uuml;").replace("-", "&#45;"), found=False),
    Way("base64 of base64", lambda value: encoded(encoded(value)), found=False),
    Way("hexadecimal of base64", lambda value: encoded(value).encode().hex(), found=False),
    Way("base32", lambda value: base64.b32encode(value.encode()).decode(), found=False),
    Way("a list of decimal or octal numbers", lambda value: " ".join(map(str, value.encode())), found=False),
    Way("ROT13 (each letter replaced by the 13th after it)", lambda value: codecs.encode(value, "rot13"), found=False),
    Way("UTF-16", lambda value: value.encode("utf-16-le").decode("latin-1"), found=False),
)  # fmt: skip


def of_ways() -> Iterator[tuple[str, ...]]:
    """The table: each way, an example, and whether it is found."""
    yield "Form", f"Example for `{SHOWN}`", "Found"
    for way in WAYS:
        yield way.name, f"`{_visible(way.write(SHOWN))}`", "yes" if way.found else "no"


def _visible(text: str) -> str:
    return "".join({"\n": "␊", "\0": "␀"}.get(character, character) for character in text)
