"""Escaping of untrusted text: one function for each kind of output; all text for an output passes its function.

Text of agents and suites is untrusted. Functions take any ``str``, lone surrogates included, and return text that the
output shows as text and does not interpret.
"""

from __future__ import annotations

import re
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LINE_END = re.compile(r"\r\n?")

# Terminal sequences, and characters without a glyph: controls, marks that change the direction of text, tags.
_INVISIBLE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # no encoding has one; json reads and writes it
_NONCHARACTER = re.compile("[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")

# Characters that a culture-sensitive comparison ignores: GitHub's runner, written in C#, may find a command in spite of
# them.
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_HIDDEN = rf"(?:{_IGNORABLE.pattern}|[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff])*"
# No character is in two of the alternatives, else a long line would take time without end.
_BEFORE = rf"(?:{_IGNORABLE.pattern}|[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]|[^\S\n\r])*"
_LINE = r"(?:^|(?<=\r))"  # the runner also ends lines at a carriage return
_PRINTED_COMMAND = rf"(?m){_LINE}({_BEFORE}):(?={_HIDDEN}:)"  # compiled on first use: these two take 1 ms
_PRINTED_OLD_COMMAND = rf"(#{_HIDDEN}#{_HIDDEN})\["
_COMMAND = re.compile(rf"{_LINE}([^\S\n\r]*)::", re.MULTILINE)

_JOINER = "\u2060"  # without width, and no line breaks at it; a link with it inside is not a link any more
_LINKS = re.compile(
    r"@(?=\S)"  # mentions, e-mail addresses, commits of other repositories
    r"|\#(?=\d)"  # issues
    r"|\b(?:gh|ghsa|cve)-(?=\w)"  # issues and advisories
    r"|:(?=//)|\bwww(?=\.)"  # addresses
    r"|:(?=[a-z][\w+-]*:)"  # emoji that are images
    r"|[0-9a-f]{6}(?=[0-9a-f])",  # commits: seven digits or more
    re.IGNORECASE,
)
_BLOCK_START = re.compile(r"[-+=#]|\d{1,9}[.)](?=\s|$)")
_ENTITIES = {ord(character): f"&#{ord(character)};" for character in "\\`*_~[]|$"} | {
    ord("&"): "&amp;",
    ord("<"): "&lt;",
    ord(">"): "&gt;",
}
_HTML = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#x27;"))  # in this order
_DATA = tuple((character, f"\\u{ord(character):04x}") for character in "<>&\u2028\u2029")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?=\.|$)")  # on Windows, with any ending
_FENCE = re.compile(r"`{3,}")
_UNSAFE_IN_BACKTICKS = re.compile(r"[`|\\]")


def visible(text: str) -> str:
    """Return ``text`` without terminal sequences and control characters, with line feeds as its only line ends."""
    plain_ascii = text.isascii()  # nearly all text is, and the patterns are slow
    if plain_ascii and text.isprintable():
        return text
    if "\r" in text:
        text = _LINE_END.sub("\n", text)
    if plain_ascii:
        return _INVISIBLE.sub("", text)
    return _NONCHARACTER.sub("\ufffd", _INVISIBLE.sub("", text))


def one_line(text: str) -> str:
    """Return ``text`` on a single line, each run of white space as one space."""
    return " ".join(visible(text).split())


# --- logs and terminals -----------------------------------------------------------------------------


def terminal_text(text: str) -> str:
    """Return lines for a terminal, which may be a job log: GitHub's runner finds no workflow command in them."""
    text = _IGNORABLE.sub("", visible(text)).replace("##[", "## [")
    return _COMMAND.sub(r"\1: :", text)


def terminal_line(text: str) -> str:
    """Return one line for a terminal, which may be a job log."""
    return terminal_text(one_line(text))


def workflow_message(text: str) -> str:
    """Return the message of a workflow command."""
    return visible(text).replace("%", "%25").replace("\n", "%0A")


def workflow_property(text: str) -> str:
    """Return the value of a property of a workflow command."""
    return workflow_message(text).replace(":", "%3A").replace(",", "%2C")


def printed_text(text: str) -> str:
    """Return lines of a report that is printed where a job log may be: no workflow command is in them."""
    return re.sub(_PRINTED_OLD_COMMAND, r"\1 [", re.sub(_PRINTED_COMMAND, r"\1: ", text))


def printed_json(text: str) -> str:
    """The same for JSON, whose meaning does not change: only in a string ``[`` can follow ``##``."""
    return re.sub(_PRINTED_OLD_COMMAND, r"\1\\u005b", text)


# --- XML --------------------------------------------------------------------------------------------


def xml_text(text: str) -> str:
    """Return only characters that XML 1.0 allows; the serialiser escapes ``<`` and ``&``."""
    return visible(text)


# --- HTML -------------------------------------------------------------------------------------------


def html_text(text: str) -> str:
    """Return text for the content of an element, or for an attribute in quotation marks."""
    text = visible(text)
    for character, entity in _HTML:
        text = text.replace(character, entity)
    return text


def html_data(json_text: str) -> str:
    """Return JSON for a script element that is not executed: without characters that could end the element."""
    for character, escaped in _DATA:  # str.translate takes 20 times as long
        json_text = json_text.replace(character, escaped)
    return json_text


# --- Markdown ---------------------------------------------------------------------------------------


def markdown_inline(text: str) -> str:
    """Return text on one line without Markdown, HTML, mentions, references, links and images."""
    text = _LINKS.sub(rf"\g<0>{_JOINER}", one_line(text))
    start = _BLOCK_START.match(text)
    text = text.translate(_ENTITIES)
    if start:
        mark = start[0][-1]
        text = f"{start[0][:-1]}&#{ord(mark)};{text[start.end() :]}"
    return text


def markdown_code_span(text: str) -> str:
    """Return ``text`` on one line as code, also for a table cell. Empty for empty text."""
    text = one_line(text)
    if not text:
        return ""
    # Between backticks a bar still ends a table cell, and renderers differ on a backslash before it.
    return f"<code>{markdown_inline(text)}</code>" if _UNSAFE_IN_BACKTICKS.search(text) else f"`{text}`"


def markdown_code_block(text: str, language: str = "") -> str:
    """Return ``text`` as a block of code at the left margin. ``language`` must not be untrusted text."""
    text = visible(text).rstrip()
    fence = "`" * (1 + max((len(run) for run in _FENCE.findall(text)), default=2))
    return f"{fence}{language}\n{text}\n{fence}"


# --- length -----------------------------------------------------------------------------------------


def clipped(text: str, limit: int) -> str:
    """Return at most ``limit`` characters: the beginning, a note of how much was left out, the end."""
    if len(text) <= limit:
        return text
    ends = "\n" if "\n" in text else " "
    note = f"{ends}… {len(text):,} characters, middle left out …{ends}"
    kept = limit - len(note)
    if kept < 2:  # noqa: PLR2004 - one character of the beginning and one of the end
        return text[: limit - 1] + "…"
    end = kept // 3
    return text[: kept - end] + note + text[-end:] if end else text[:kept] + note


def tail(text: str, limit: int) -> str:
    """Return at most ``limit`` characters: a note of how much was left out, the end."""
    if len(text) <= limit:
        return text
    note = f"… {len(text):,} characters, beginning left out …\n"
    return note + text[len(note) - limit :] if limit > len(note) else text[-limit:]


def safe_name(text: str) -> str:
    """Return ``text`` as the name of a file that people write: unchanged if its characters are safe, else with a hash.

    Two names may differ in upper and lower case alone.
    """
    safe = _safe_part(text)
    return safe if safe == text else with_hash(safe, text)


def path_key(text: str) -> str:
    """Return ``text`` as one segment of a path; segments of different texts differ, also where case does not count.

    Unchanged if that is so of the text itself and every system can have a file of its name; else in lower case with a
    hash.
    """
    safe = _safe_part(text).lower()
    if reserved := _RESERVED.match(safe):
        safe = safe.replace(".", "-")
    return safe if safe == text and not reserved else with_hash(safe, text)


def folder_names(names: Iterable[str]) -> dict[str, str]:
    """Return for each of ``names`` that of its folder; these folders can be beside each other in any file system.

    It is the name itself if every system can have such a file, and no other of ``names`` is the same without regard to
    case; else its ``path_key``. A name that is the ``path_key`` of another gets a hash, too.
    """
    names = dict.fromkeys(names)
    alike = Counter(name.lower() for name in names)
    found = {name: name if alike[name.lower()] == 1 and _is_safe(name) else path_key(name) for name in names}
    again = Counter(key.lower() for key in found.values())
    unclear = {name for name, key in found.items() if key == name and again[key.lower()] > 1}
    return {name: with_hash(key, name) if name in unclear else key for name, key in found.items()}


def _is_safe(name: str) -> bool:
    return name == _safe_part(name) and not _RESERVED.match(name.lower())


def with_hash(segment: str, text: str) -> str:
    """Return a segment of a path that ends in a hash of ``text``."""
    return f"{segment}-{blake2b(text.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"


def _safe_part(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:80].strip(".-") or "x"
