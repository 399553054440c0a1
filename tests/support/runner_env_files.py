"""How GitHub's runner reads the file that ``GITHUB_OUTPUT`` names: its rules, as our oracle.

Only a line feed ends a line. An entry is ``NAME=VALUE``, or, when ``<<`` comes before any ``=``, ``NAME<<WORD`` with
the value on the lines up to one that is exactly WORD. What is neither fails the step. Later entries win.
"""

from __future__ import annotations


class StepError(Exception):
    """The runner would end the step with this message."""


def entries(text: str) -> list[tuple[str, str]]:
    """Names and values, in the order of the file."""
    lines = text.removeprefix("\ufeff").split("\n")
    found = []
    at = 0
    while at < len(lines):
        line, at = lines[at], at + 1
        if not line:
            continue
        before_word, has_word, word = line.partition("<<")
        before_equals, has_equals, value = line.partition("=")
        if has_word and (not has_equals or len(before_word) < len(before_equals)):
            if not before_word or not word:
                raise StepError(f"name and delimiter must not be empty: {line!r}")
            try:
                end = lines.index(word, at)
            except ValueError:
                raise StepError(f"matching delimiter not found: {word!r}") from None
            found.append((before_word, "\n".join(lines[at:end])))
            at = end + 1
        elif has_equals:
            if not before_equals:
                raise StepError(f"name must not be empty: {line!r}")
            found.append((before_equals, value))
        else:
            raise StepError(f"invalid format: {line!r}")
    return found
