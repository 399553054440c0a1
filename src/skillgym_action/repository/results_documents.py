"""Results that an earlier run wrote to the checkout: they say what cases expect, so agents must not have them."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.repository.walk import REGULAR_FILE

if TYPE_CHECKING:
    from pathlib import Path

HEAD_BYTES = 4096
_OWN = rb'\{"schema": 1,\n"tool": \{"name": "skillgym-action"'
# The name of the suite may be longer than what is read.
_OF_X_BENCH = (
    rb'(?:\[\n)?\{"suite": "(?:[^"\\]|\\.)*+(?:\\?\Z|", "passed": \d+, "failed": \d+, "total": \d+, "totalCost": )'
)
_HEAD = re.compile(rb"%b|%b" % (_OWN, _OF_X_BENCH))


def is_results_document(path: str | Path) -> bool:
    """Whether a file is a report of the kind ``results`` or ``x-bench`` that this tool wrote; only its head is read.

    By its name, it is a JSON file. False for a link, and for what cannot be read.
    """
    if not os.fspath(path).lower().endswith(".json"):
        return False
    with suppress(OSError), open(path, "rb", 0, opener=lambda name, _: os.open(name, REGULAR_FILE)) as file:
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode) and _HEAD.match(file.read(HEAD_BYTES)) is not None
    return False
