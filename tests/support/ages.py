"""Ages of stored runs in what the tool says: on a slow machine a run of the same test is several minutes old."""

from __future__ import annotations

import re

MINUTES = re.compile(r"\b\d+ minutes old")


def a_minute_old(text: str) -> str:
    """The text as if all runs that are minutes old were a minute old."""
    return MINUTES.sub("a minute old", text)
