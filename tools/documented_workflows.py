"""The workflows that the documentation shows.

``python tools/documented_workflows.py FOLDER`` writes them as files.
"""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

import modules_of_tests
from documentation import documents
from paths import REPOSITORY

FENCE = re.compile(r"^```ya?ml\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """A workflow; ``file`` names it and where it was found, ``text`` is as it was written."""

    file: str
    text: str

    @cached_property
    def content(self) -> dict[str, Any]:
        """What it says. Without a schema, since the key ``on`` would else be read as true."""
        content: dict[str, Any] = yaml.load(self.text, yaml.BaseLoader)
        return content

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps of all jobs."""
        return [step for job in self.content["jobs"].values() for step in job.get("steps", ())]


def documented() -> list[Workflow]:
    """Every block of YAML in a document that has the keys ``on`` and ``jobs``."""
    found = []
    for document in documents():
        stem = document.relative_to(REPOSITORY).with_suffix("").as_posix().replace("/", "-").lower()
        for number, text in enumerate(FENCE.findall(document.read_text(encoding="utf-8")), start=1):
            workflow = Workflow(file=f"{stem}-{number}.yml", text=text)
            if "\n---\n" in text:
                continue  # several documents: a manifest
            if isinstance(workflow.content, dict) and workflow.content.keys() >= {"on", "jobs"}:
                found.append(workflow)
    return found


def written(folder: Path) -> None:
    """Leave nothing but the documented workflows in a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for workflow in documented():
        (folder / workflow.file).write_text(workflow.text, encoding="utf-8")


if __name__ == "__main__":
    written(Path(sys.argv[1]))
