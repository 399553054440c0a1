"""Text that leaves us: one function per place it can go to, and nothing reaches a place otherwise.

Whatever an agent or a suite wrote is hostile. Every function takes any ``str`` at all, lone surrogates included, and
gives text that its place shows and never obeys.
"""

from __future__ import annotations

import re
from hashlib import blake2b

_LINE_END = re.compile(r"\r\n?")

# Terminal sequences; then what no place shows: controls, marks that reorder text, tags nobody sees.
_UNSEEN = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
_NO_CHARACTER = re.compile("[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")

# Characters that a comparison by culture skips: with them in between, the runner may still see a command.
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_COMMAND = re.compile(r"^([^\S\n]*)::", re.MULTILINE)

_JOINER = "\u2060"  # has no width and breaks no line; what it splits is no link any more
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
_FENCE = re.compile(r"`{3,}")
_AWKWARD_IN_CODE = re.compile(r"[`|\\]")


def visible(text: str) -> str:
    """``text`` as a person would see it: no terminal sequences or controls, a line feed as the only line end."""
    plain_ascii = text.isascii()  # nearly all text is, and the patterns are slow
    if plain_ascii and text.isprintable():
        return text
    if "\r" in text:
        text = _LINE_END.sub("\n", text)
    if plain_ascii:
        return _UNSEEN.sub("", text)
    return _NO_CHARACTER.sub("\ufffd", _UNSEEN.sub("", text))


def one_line(text: str) -> str:
    """``text`` on a single line, each run of white space as one blank."""
    return " ".join(visible(text).split())


# --- logs and terminals -----------------------------------------------------------------------------


def log_line(text: str) -> str:
    """Lines for a job log or a terminal that the runner takes for no command."""
    text = _IGNORABLE.sub("", visible(text)).replace("##[", "## [")
    return _COMMAND.sub(r"\1: :", text)


def plain(text: str) -> str:
    """One line for a terminal, which may be a job log."""
    return log_line(one_line(text))


def workflow_message(text: str) -> str:
    """The message of a workflow command."""
    return visible(text).replace("%", "%25").replace("\n", "%0A")


def workflow_property(text: str) -> str:
    """The value of a property of a workflow command."""
    return workflow_message(text).replace(":", "%3A").replace(",", "%2C")


# --- XML --------------------------------------------------------------------------------------------


def xml_text(text: str) -> str:
    """Only what XML 1.0 allows; quoting is left to the serialiser."""
    return visible(text)


# --- Markdown ---------------------------------------------------------------------------------------


def markdown_inline(text: str) -> str:
    """Words on one line that mention nobody, refer to nothing, show no image and hold no mark-up."""
    text = _LINKS.sub(rf"\g<0>{_JOINER}", one_line(text))
    start = _BLOCK_START.match(text)
    text = text.translate(_ENTITIES)
    if start:
        mark = start[0][-1]
        text = f"{start[0][:-1]}&#{ord(mark)};{text[start.end() :]}"
    return text


def code_span(text: str) -> str:
    """``text`` on one line as code; fits into a table cell. Empty for empty text."""
    text = one_line(text)
    if not text:
        return ""
    # Between backticks a bar still ends a cell, and readers differ on a backslash before it.
    return f"<code>{markdown_inline(text)}</code>" if _AWKWARD_IN_CODE.search(text) else f"`{text}`"


def code_fence(text: str, language: str = "") -> str:
    """``text`` as a block of code, at the left margin. ``language`` is a word of ours."""
    text = visible(text).rstrip()
    fence = "`" * (1 + max((len(run) for run in _FENCE.findall(text)), default=2))
    return f"{fence}{language}\n{text}\n{fence}"


# --- length -----------------------------------------------------------------------------------------


def clipped(text: str, limit: int) -> str:
    """At most ``limit`` characters: the head, a note of what is missing, the tail."""
    if len(text) <= limit:
        return text
    ends = "\n" if "\n" in text else " "
    note = f"{ends}… {len(text):,} characters, middle left out …{ends}"
    room = limit - len(note)
    if room < 2:  # noqa: PLR2004 - a head and a tail
        return text[: limit - 1] + "…"
    rest = room // 3
    return text[: room - rest] + note + text[-rest:] if rest else text[:room] + note


def tail(text: str, limit: int) -> str:
    """At most ``limit`` characters: a note of what is missing, the end."""
    if len(text) <= limit:
        return text
    note = f"… {len(text):,} characters, beginning left out …\n"
    return note + text[len(note) - limit :] if limit > len(note) else text[-limit:]


def path_key(text: str) -> str:
    """``text`` as one path segment: unchanged where that is possible, else with a hash so that no two collide."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:80].strip(".-") or "x"
    return safe if safe == text else f"{safe}-{blake2b(text.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"
