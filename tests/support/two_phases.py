"""Running and reporting as two jobs: a base and a head, and the report in the checkout of the base."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

from action_step import merged_on_github, step, workflow_run
from github_server import JOB_TOKEN
from scratch import repository, skillgym

if TYPE_CHECKING:
    from pathlib import Path

    from action_step import Step
    from github_server import GitHubServer

AFTER_AN_OWN_RUN = ("workflow_run", workflow_run())
QUIET = {"mode": "report", "results": "run", "report-dir": "out", "github-token": ""}  # nothing is asked of GitHub
TOKEN = {"github-token": JOB_TOKEN}


class Phases:
    """A base and a head; what the head's run left is downloaded into the base's checkout, as ``run``."""

    def __init__(self, folder: Path, base: dict[str, Any], head: dict[str, Any], *args: str) -> None:
        self.base = repository(folder / "base", base, git=True)
        self.head = repository(folder / "head", base | head, git=True)
        merged_on_github(self.head)
        self.code = skillgym("run", "--output", "run", *args, cwd=self.head).code
        shutil.copytree(self.head / "run", self.base / "run")

    @property
    def results(self) -> dict[str, Any]:
        return json.loads((self.base / "run/results.json").read_text())

    def rewrite(self, results: dict[str, Any]) -> None:
        (self.base / "run/results.json").write_text(json.dumps(results))

    def report(self, github: GitHubServer | None = None, event: Any = AFTER_AN_OWN_RUN, **inputs: str) -> Step:
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        return step(self.base, github, QUIET | (TOKEN if github else {}) | given, event=event)

    @property
    def decision(self) -> dict[str, Any]:
        """The decision of the last report."""
        return json.loads((self.base / "out/results.json").read_text())["run"]["decision"]

    @property
    def reasons(self) -> list[str]:
        return self.decision["reasons"]
