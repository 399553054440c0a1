"""What tests of faults have in common: a process that permissions hold for, and reports that are whole."""

from __future__ import annotations

import ctypes
import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

from skillgym_action.results.schema import Results

if TYPE_CHECKING:
    from pathlib import Path

REPORTS = frozenset({"results.json", "junit.xml", "summary.md", "comment.md", "report.html"})
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE = 24, 1, 2, 19


def bound_by_permissions() -> None:
    """Root, too, may from the next program on do only what permissions allow; others may never do more."""
    _without(CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH)


def without_tracing() -> None:
    """Root, too, may from the next program on look only into processes that are open to it, as in most containers."""
    _without(CAP_SYS_PTRACE)


def _without(*capabilities: int) -> None:
    libc = ctypes.CDLL(None)
    for capability in capabilities:
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def whole(folder: Path) -> set[str]:
    """The reports that are there. Nothing that is there is half of what it should be."""
    for path in folder.rglob("*.json"):
        json.loads(path.read_text(encoding="utf-8"))
    for path in folder.rglob("*.xml"):
        ET.parse(path)
    for path in folder.rglob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            json.loads(line)
    assert [path for path in folder.rglob(".*") if path.name != ".gitignore"] == []
    return {path.name for path in folder.iterdir() if path.name in REPORTS} if folder.is_dir() else set()


def reported(folder: Path) -> dict[str, Any]:
    """The results of a run all of whose reports are there, and whole."""
    for name in REPORTS:
        assert (folder / name).read_text(encoding="utf-8")
    ET.parse(folder / "junit.xml")
    text = (folder / "results.json").read_text(encoding="utf-8")
    Results.model_validate_json(text)
    told: dict[str, Any] = json.loads(text)
    return told
