"""Names of the files of a store that has one for each run: ``2026-11/20261123T001423Z-5f3a9c.jsonl``."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_STORE_BYTES, MAX_STORE_FILES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

RUN_FILE = re.compile(r"[0-9]{4}-[0-9]{2}/[0-9]{8}T[0-9]{6}Z-[0-9a-f]{12}\.jsonl")


def run_file(name: str, at: datetime) -> str:
    """The path of the file of the run ``name`` that began ``at`` (in UTC), below the store's folder."""
    return f"{at:%Y-%m}/{at:%Y%m%dT%H%M%SZ}-{sha256(name.encode(errors='replace')).hexdigest()[:12]}.jsonl"


def is_run_file(path: str) -> bool:
    """Whether a path below the store's folder is that of a run's file."""
    return RUN_FILE.fullmatch(path) is not None


def newest_first(names: Iterable[str]) -> list[str]:
    """Those that are names of runs' files, the newest first."""
    return sorted(filter(RUN_FILE.fullmatch, names), reverse=True)


def too_old(sizes: dict[str, int]) -> list[str]:
    """The files of the oldest runs, without which the others fit into a store. ``sizes``: bytes by path."""
    kept, dropped = 0, []
    for number, name in enumerate(newest_first(sizes)):
        kept += sizes[name]
        if kept > MAX_STORE_BYTES or number >= MAX_STORE_FILES:
            dropped.append(name)
    return dropped
