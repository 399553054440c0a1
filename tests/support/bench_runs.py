"""A scratch repository with agents of a few lines of shell, and what their sessions come to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scratch import config, repository, run_in, runner, suite

if TYPE_CHECKING:
    from pathlib import Path


COUNT = "echo x >> $LOG/sessions; n=$(wc -l < $LOG/sessions)"
MET = "i=0; while [ $(ls $LOG | grep -c here) -lt {n} ] && [ $i -lt 6000 ]; do sleep 0.02; i=$((i+1)); done; [ $i -lt 6000 ] && echo > out.txt"  # noqa: E501
"""Passes once ``n`` agents are at ``MEET``."""
MEET = "touch $LOG/here-$$; " + MET


def event(**fields: Any) -> str:
    """A shell command that prints an event."""
    return f"printf '%s\\n' '{json.dumps(fields)}'"


def trouble(kind: str, **fields: Any) -> str:
    return event(type="error", **{"class": kind, "message": f"{kind}!", "retryAfter": 0} | fields)


class Bench:
    """A scratch repository; agents write what they want remembered into ``$LOG``."""

    def __init__(self, folder: Path) -> None:
        self.root, self.log = folder / "repo", folder / "log"
        self.log.mkdir()

    def agent(self, script: str, **more: Any) -> dict[str, Any]:
        return runner(script, output="events", env={"LOG": str(self.log)}, **more)

    def run(self, script: str | dict[str, dict[str, Any]], *cases: dict[str, Any], **given: Any):
        """The run report of agents on cases; ``suite_fields`` go into the suite, ``files`` beside it."""
        agents = script if isinstance(script, dict) else {"sh": self.agent(script)}
        more, files = given.pop("suite_fields", {}), given.pop("files", {})
        standard = {"bench/core.json": suite(*cases, **more), "skillgym.config.yaml": config(**agents)}
        return run_in(repository(self.root, standard | files), **given)

    @property
    def sessions(self) -> int:
        """How many sessions were started by agents that count them."""
        return len(self.logged("sessions"))

    def logged(self, name: str) -> list[str]:
        file = self.log / name
        return file.read_text().splitlines() if file.exists() else []

    def artifact(self, name: str) -> Path:
        return self.root / "results" / name


def statuses(report) -> list[str]:
    return [str(result.status) for result in report.results]


def attempts(result) -> list[str]:
    return [f"{one.repetition}.{one.session} {one.status}" for one in result.attempts]
