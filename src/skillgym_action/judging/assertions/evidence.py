"""Evidence about files, for assertions that do not hold: what the agent changed, and what is nearest to the wanted.

Evidence is plain text with a few lines. Lines of files have a sign (``+`` new, ``-`` gone) and their number.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillgym_action.model.limits import (
    MAX_CHANGED_TEXT_CHARACTERS,
    MAX_COMPARED_LINES,
    MAX_EVIDENCE_CHANGED_LINES,
    MAX_SEARCHED_FILE_BYTES,
)
from skillgym_action.model.records import record
from skillgym_action.text.likeness import Likeness
from skillgym_action.text.line_changes import Line, changed_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillgym_action.model.assertion import Files

MAX_EVIDENCE_NEAREST_LINES = 3  # the same; lines that are like the wanted text
MAX_EVIDENCE_LINE_CHARACTERS = 160  # of a line that is shown
MAX_EVIDENCE_NAMES = 5  # of files
_WORD = re.compile(r"\w{2,}")


# --- lines of a file --------------------------------------------------------------------------------


def text_evidence(files: Files, path: str, content: str, wanted: str) -> str:
    """Of a file that lacks a text: the lines that the agent changed, and the lines that are most like ``wanted``."""
    if not content:
        return f"{path} is empty"
    if "\0" in content:
        return f"{path} is not a text: it has null bytes"
    likeness = Likeness(missing_line(content, wanted))
    changes = _changes(files, path, content)
    shown = _most_alike(changes.lines, likeness, MAX_EVIDENCE_CHANGED_LINES)
    near = nearest_lines(content, wanted, frozenset(line.number for line in shown if line.sign == "+"))
    parts = [f"{changes.title}:" if shown else changes.title]
    parts += numbered_lines(shown)
    if more := changes.total - len(shown):
        parts.append(f"… and {more:,} more")
    if near:
        parts += ["nearest lines:", *numbered_lines(near)]
    elif not shown and (first := first_lines(content)):
        parts += ["its first lines:", *numbered_lines(first)]
    return "\n".join(parts)


@record(kw_only=False)
class _Changes:
    """What the agent did to a file. ``lines``: the changed lines that can be shown, of ``total``."""

    title: str
    lines: Sequence[Line] = ()
    total: int = 0


def _changes(files: Files, path: str, content: str) -> _Changes:
    if not files.existed(path):
        new, total = _new_lines(content)
        return _Changes(f"{path} was created by the agent", new, total)
    if not files.changed(path):
        return _Changes(f"{path} was not changed by the agent")
    before = files.text_before(path, MAX_SEARCHED_FILE_BYTES)
    if before is None:
        return _Changes(f"{path} was changed by the agent")
    changes = changed_lines(before, content, MAX_CHANGED_TEXT_CHARACTERS)
    if changes is None:
        return _Changes(f"{path} was changed by the agent, in more lines than are compared")
    shown = [line for line in changes if line.text.strip()]  # an empty line explains nothing
    if not shown:
        return _Changes(f"the agent changed only the order of lines, or white space, in {path}")
    return _Changes("changed by the agent", _sampled(shown), len(shown))


def _new_lines(content: str) -> tuple[list[Line], int]:
    """Lines of a file that is new as a whole, those of its middle left out if it is large; and how many it has."""
    total = content.count("\n") + (not content.endswith("\n"))
    half = MAX_COMPARED_LINES // 2
    if total <= MAX_COMPARED_LINES:
        numbered = enumerate(content.split("\n"), start=1)
        lines = [Line(number, text, "+") for number, text in numbered if text.strip()]
        return lines, len(lines)
    first = enumerate(content.split("\n", half)[:half], start=1)
    last = enumerate(content.removesuffix("\n").rsplit("\n", half)[1:], start=total - half + 1)
    return [Line(number, text, "+") for number, text in (*first, *last) if text.strip()], total


def _most_alike(lines: Sequence[Line], likeness: Likeness, most: int) -> list[Line]:
    """At most that many lines, those most like the wanted text, in their order."""
    if len(lines) <= most:
        return list(lines)
    best = sorted(likeness.nearest_first([line.text for line in lines])[:most])
    return [lines[at] for at in best]


def _sampled(lines: Sequence[Line]) -> Sequence[Line]:
    """All lines if they are few; else as many from the beginning and the end."""
    half = MAX_COMPARED_LINES // 2
    return lines if len(lines) <= MAX_COMPARED_LINES else [*lines[:half], *lines[-half:]]


# --- names ------------------------------------------------------------------------------------------


def name_evidence(files: Files, wanted: str) -> str | None:
    """For a missing file: the names nearest to ``wanted``, and what the agent created; None for an empty workspace."""
    names, created = files.names(), files.created()
    likeness = Likeness(wanted.strip("/"))
    lines = []
    if near := [name for name in nearest_names(wanted, names) if likeness.is_near(name)]:
        lines.append(f"nearest: {listed_names(near, len(near))}")
    if created:
        lines.append(f"created by the agent: {listed_names(nearest_names(wanted, created), len(created))}")
    elif names:
        lines.append("the agent created no file")
    return "\n".join(lines) or None


def nearest_names(wanted: str, names: Sequence[str]) -> list[str]:
    """A few names, those most like the wanted one first; of very many only those with a word of it are compared."""
    if len(names) > MAX_COMPARED_LINES:
        words = _WORD.findall(wanted)
        names = [name for name in names if any(map(name.__contains__, words))] or names
    compared = names[:MAX_COMPARED_LINES]
    return [compared[at] for at in Likeness(wanted.strip("/")).nearest_first(compared)[:MAX_EVIDENCE_NAMES]]


def listed_names(names: Sequence[str], total: int) -> str:
    """``a, b and 3 more``."""
    more = total - min(len(names), MAX_EVIDENCE_NAMES)
    return ", ".join(names[:MAX_EVIDENCE_NAMES]) + (f" and {more:,} more" if more > 0 else "")


_FIRST_LINES = 5
_MOST_WORDS = 4  # of the wanted text that lines are searched for


def numbered_lines(lines: Sequence[Line]) -> list[str]:
    """The lines with sign and number, each cut to ``MAX_EVIDENCE_LINE_CHARACTERS``."""
    width = max((len(str(line.number)) for line in lines), default=0)
    return [f"{line.sign} {line.number:>{width}} | {excerpt(line.text)}".rstrip() for line in lines]


def excerpt(line: str) -> str:
    """The beginning of a line."""
    if len(line) <= MAX_EVIDENCE_LINE_CHARACTERS:
        return line
    return f"{line[:MAX_EVIDENCE_LINE_CHARACTERS].rstrip()}… ({len(line):,} characters)"


def found_evidence(content: str, at: int) -> str:
    """Where something was found in a text: the line at the position ``at``, with its number."""
    return "\n".join(numbered_lines([_line_at(content, at)]))


def missing_line(content: str, wanted: str) -> str:
    """The line of ``wanted`` that the text has not, if it has several."""
    lines = [line for line in wanted.split("\n") if line.strip()]
    return next((line for line in lines if line not in content), wanted) if len(lines) > 1 else wanted


def nearest_lines(content: str, wanted: str, without: frozenset[int] = frozenset()) -> list[Line]:
    """A few lines with at least half of the wanted text; those with the numbers ``without`` are left out."""
    likeness = Likeness(missing_line(content, wanted))
    starts = sorted(set(_starts_of_lines_with_words(content, wanted)))
    texts = [_text_at(content, start) for start in starts]
    found = []
    for at in likeness.nearest_first(texts)[: 2 * (MAX_EVIDENCE_NEAREST_LINES + len(without))]:
        if likeness.is_near(texts[at]) and (line := _line_at(content, starts[at])).number not in without:
            found.append(line)
        if len(found) == MAX_EVIDENCE_NEAREST_LINES:
            break
    return found


def first_lines(content: str) -> list[Line]:
    """The first lines that are not empty, of a few."""
    lines = content.split("\n", _FIRST_LINES)[:_FIRST_LINES]
    return [Line(number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def _starts_of_lines_with_words(content: str, wanted: str) -> Iterator[int]:
    """Positions where lines begin: of all lines if they are few, else of those with one of the longest words."""
    if content.count("\n") < MAX_COMPARED_LINES:
        yield from (0, *(found.end() for found in re.finditer("\n", content)))
        return
    folded = content.lower() if content.isascii() else content
    words = sorted(dict.fromkeys(_WORD.findall(wanted.lower() if content.isascii() else wanted)), key=len)
    words = words[-_MOST_WORDS:]
    for word in words:
        at, found = folded.find(word), 0
        while at >= 0 and found < MAX_COMPARED_LINES // len(words):
            yield content.rfind("\n", 0, at) + 1
            end = content.find("\n", at)
            at, found = folded.find(word, end) if end >= 0 else -1, found + 1


def _text_at(content: str, start: int) -> str:
    end = content.find("\n", start)
    return content[start:] if end < 0 else content[start:end]


def _line_at(content: str, at: int) -> Line:
    start = content.rfind("\n", 0, at) + 1
    return Line(content.count("\n", 0, start) + 1, _text_at(content, start))
