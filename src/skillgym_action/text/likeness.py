"""How much one text is like another: pairs of characters that both have.

The time is linear in the length of the texts, also for texts that somebody made to be slow to compare. TypeScript
suites have the same functions in ``likeness.mjs``; tests compare both.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_COMPARED_CHARACTERS = 2_000  # of a text that is compared with a wanted one
_TOKEN = re.compile(
    r"\\[dDwWsSbBnrt]"  # a class of characters, a border, white space
    r"|\\(.)"  # a character that stands for itself
    r"|\[\^?(?:\\.|[^\]\\]){0,200}\]"  # a class
    r"|\(\?[^)]{0,30}?[:=!>]|\{\d*,?\d*\}"  # kinds of groups, counts
    r"|[\^$.*+?(){}|\[\]\\]",
    re.DOTALL,
)


def literal_part(pattern: str) -> str:
    r"""The characters of a regular expression that stand for themselves: ``[CLI] --json`` for ``\[CLI\] .*--json``."""
    return " ".join(_TOKEN.sub(lambda found: found[1] or " ", pattern).split())


class Likeness:
    """Compares texts with ``wanted``; upper and lower case are the same."""

    def __init__(self, wanted: str) -> None:
        folded = _folded(wanted)
        pairs = dict.fromkeys([folded[at : at + 2] for at in range(len(folded) - 1)] or filter(None, [folded]))
        counts = {pair: folded.count(pair) for pair in pairs}
        self._once = [pair for pair, count in counts.items() if count == 1]
        self._often = {pair: count for pair, count in counts.items() if count > 1}
        self.most = sum(counts.values())
        """What a text has that contains ``wanted``."""

    def of(self, text: str) -> int:
        """The number of pairs of characters that ``text`` shares with the wanted text."""
        folded = _folded(text)
        found = sum([pair in folded for pair in self._once])
        return found + sum([min(count, folded.count(pair)) for pair, count in self._often.items()])

    def is_near(self, text: str) -> bool:
        """Whether ``text`` has at least half of the wanted pairs."""
        return self.most > 0 and 2 * self.of(text) >= self.most

    def nearest_first(self, texts: Sequence[str]) -> list[int]:
        """The positions of all texts: the most alike first; of those alike the shorter one, then the earlier one."""
        return sorted(range(len(texts)), key=lambda at: (-self.of(texts[at]), _length(texts[at]), at))


def _length(text: str) -> int:
    return min(len(text), MAX_COMPARED_CHARACTERS)


def _folded(text: str) -> str:
    return text[:MAX_COMPARED_CHARACTERS].lower()
