"""How GitHub's runner reads what a step prints: the oracle for text that must be no command.

Written after its source: lines end at a line feed, a carriage return or both; the newer form of a command must begin
the line, apart from white space; the older one may stand anywhere in it. Comparisons go by culture there, hence skip
characters that culture ignores; a text is read both ways, and a command in either is a command.
"""

from __future__ import annotations

import re
import unicodedata

COMMANDS = frozenset(
    {
        "add-mask",
        "add-matcher",
        "add-path",
        "debug",
        "echo",
        "endgroup",
        "error",
        "group",
        "internal-set-repo-path",
        "notice",
        "remove-matcher",
        "save-state",
        "set-env",
        "set-output",
        "stop-commands",
        "warning",
    }
)


def read_lines(text: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", text)


def command(line: str) -> tuple[str, dict[str, str], str] | None:
    """Name, properties and message, if the line is a command."""
    return _newer(line) or _older(line)


def commands(text: str) -> list[str]:
    """The names of all commands in what was printed."""
    lines = read_lines(text)
    found = (command(reading) for line in lines for reading in (line, without_ignored(line)))
    return [name for name, _, _ in filter(None, found)]


def without_ignored(line: str) -> str:
    ignored = {"Cf", "Cc", "Cs"}
    return "".join(character for character in line if unicodedata.category(character) not in ignored)


def _newer(line: str) -> tuple[str, dict[str, str], str] | None:
    line = line.lstrip()
    end = line.find("::", 2)
    if not line.startswith("::") or end < 0:
        return None
    name, _, properties = line[2:end].partition(" ")
    if name.lower() not in COMMANDS:
        return None
    pairs = [pair.split("=", 1) for pair in properties.strip().split(",") if "=" in pair]
    return name, {key.strip(): _property(value) for key, value in pairs}, _message(line[end + 2 :])


def _older(line: str) -> tuple[str, dict[str, str], str] | None:
    start = line.find("##[")
    end = line.find("]", start)
    if start < 0 or end < 0:
        return None
    name, _, properties = line[start + 3 : end].partition(" ")
    if name.lower() not in COMMANDS:
        return None
    pairs = [pair.split("=", 1) for pair in properties.split(";") if "=" in pair]
    return name, {key.strip(): value for key, value in pairs}, line[end + 1 :]


def _message(text: str) -> str:
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def _property(text: str) -> str:
    text = text.replace("%0D", "\r").replace("%0A", "\n").replace("%3A", ":")
    return text.replace("%2C", ",").replace("%25", "%")
