"""Names compared with patterns: ``*`` stands for any characters, ``?`` for one."""

from __future__ import annotations


def matches_wildcards(text: str, pattern: str) -> bool:
    """Whether the whole text fits. Takes at most time proportional to the product of the lengths."""
    at = place = 0
    star, resumed = -1, 0
    while at < len(text):
        if place < len(pattern) and pattern[place] == "*":
            star, resumed = place, at
            place += 1
        elif place < len(pattern) and pattern[place] in {"?", text[at]}:
            at, place = at + 1, place + 1
        elif star >= 0:  # the last star takes one more character
            resumed += 1
            at, place = resumed, star + 1
        else:
            return False
    return not pattern[place:].strip("*")
