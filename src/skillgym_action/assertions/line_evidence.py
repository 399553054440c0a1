"""Evidence about a text, for assertions that do not hold: its lines that are most like what was wanted.

Evidence is plain text with a few lines. Lines of a text have a sign (``+`` new, ``-`` gone) and their number.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillgym_action.limits import (
    MAX_COMPARED_LINES,
    MAX_EVIDENCE_LINE_CHARACTERS,
    MAX_EVIDENCE_NEAREST_LINES,
)
from skillgym_action.text.likeness import Likeness
from skillgym_action.text.line_changes import Line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FIRST_LINES = 5
_WORD = re.compile(r"\w{2,}")
_MOST_WORDS = 4  # of the wanted text that lines are searched for
_TOKEN = re.compile(r"[\w+/=.~-]+")  # keys are such words; a part of a key would not be recognised as one


def numbered_lines(lines: Sequence[Line]) -> list[str]:
    """The lines with sign and number, each cut to ``MAX_EVIDENCE_LINE_CHARACTERS``."""
    width = max((len(str(line.number)) for line in lines), default=0)
    return [f"{line.sign} {line.number:>{width}} | {excerpt(line.text)}".rstrip() for line in lines]


def excerpt(line: str) -> str:
    """The beginning of a line, cut between two words; a key is never cut in two."""
    if len(line) <= MAX_EVIDENCE_LINE_CHARACTERS:
        return line
    end = MAX_EVIDENCE_LINE_CHARACTERS
    cut = next((word for word in _TOKEN.finditer(line, 0, 4 * end) if word.start() < end < word.end()), None)
    if cut:
        end = cut.start()
    return f"{line[:end].rstrip()}… ({len(line):,} characters)".lstrip()


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
