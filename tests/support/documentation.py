"""The documents, and the parts of them that tests and programs read: files and generated tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

TABLE = re.compile(r"(<!-- table: ([a-z-]+) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)
FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def files_in(text: str) -> dict[str, str]:
    """Path and content of the files that a document shows."""
    return dict(FILE.findall(text))


def documents() -> list[Path]:
    """All Markdown files of the documentation."""
    return [*sorted(REPOSITORY.glob("*.md")), *sorted((REPOSITORY / "docs").rglob("*.md"))]
