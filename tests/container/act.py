"""Runs workflows with nektos/act: jobs in containers of a Docker engine, without GitHub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from github_server import JOB_TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from github_server import GitHubServer

PROGRAM = Path(sys.executable).with_name("act")
STAND_INS = Path(__file__).parent / "stand_ins"
JOB_IMAGE = "python:3.12-slim"
RUNNERS = ("ubuntu-latest", "ubuntu-24.04")
THIS_MACHINE = "-self-hosted"  # in place of an image: jobs run without a container
ANNOTATIONS = ("error", "warning", "notice")


@dataclass(frozen=True)
class Annotation:
    """A workflow command that annotates; ``place`` has its properties: file, line, title, …"""

    level: str
    message: str
    place: dict[str, str]


@dataclass(kw_only=True)
class Step:
    """What came of a step. ``result`` is ``success``, ``failure`` or ``skipped``; ``log`` what it printed."""

    result: str = "skipped"
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    annotations: list[Annotation] = field(default_factory=list)
    log: str = ""


@dataclass(kw_only=True)
class Job:
    """What came of a job, or of all that a matrix made of it; steps by their id or else their number, from 0."""

    result: str = "skipped"
    steps: dict[str, Step] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """A workflow's jobs by their ids, and act's log of it for people."""

    jobs: dict[str, Job]
    log: str


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where workflows run: a git repository, actions by what ``uses:`` calls them, a folder for artifacts.

    ``job_image``: the image that jobs run in, ``THIS_MACHINE`` for none; ``volumes`` are what jobs see beside it, by
    its place there; ``variables`` are set in each job; ``cache``: act's own server of actions/cache runs, with its data
    in that folder; ``options``: further ones of act; after ``seconds`` it has hung.
    """

    repository: Path
    artifacts: Path
    actions: Mapping[str, Path] = field(default_factory=dict)
    job_image: str = JOB_IMAGE
    volumes: Mapping[str, Path] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    cache: Path | None = None
    options: tuple[str, ...] = ()
    seconds: float = 300

    def run(
        self, file: str, event: str, payload: Mapping[str, Any], github: GitHubServer, token: str = JOB_TOKEN
    ) -> Workflow:
        """Run the workflow ``.github/workflows/FILE`` on an event of that GitHub."""
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            (home / "event.json").write_text(json.dumps(payload), encoding="utf-8")
            volumes = {"/artifacts": self.artifacts, **self.volumes}
            command = [
                PROGRAM, event, "--workflows", f".github/workflows/{file}", "--eventpath", home / "event.json",
                "--json", "--rm", "--pull=false",
                *(f"--platform={name}={self.job_image}" for name in RUNNERS),
                "--action-cache-path", home / "actions", "--container-daemon-socket", "-",
                *(("--cache-server-path", self.cache) if self.cache else ("--no-cache-server",)),
                "--container-options", " ".join(f"--volume {path}:{inside}" for inside, path in volumes.items()),
                "--secret", f"GITHUB_TOKEN={token}",
                "--env", f"GITHUB_API_URL={github.url}", "--env", f"GITHUB_GRAPHQL_URL={github.graphql_url}",
                *(("--env", f"ARTIFACTS={self.artifacts}") if self.job_image == THIS_MACHINE else ()),
                *self.options,
            ]  # fmt: skip
            for name, value in self.variables.items():
                command += ["--env", f"{name}={value}"]
            for name, path in self.actions.items():
                command += ["--local-repository", f"{name}={path}"]
            finished = subprocess.run(
                command,
                cwd=self.repository,
                env=os.environ | {"HOME": folder, "XDG_CACHE_HOME": folder, "XDG_CONFIG_HOME": folder},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                timeout=self.seconds,
                check=False,
            )
        entries = [_entry(line) for line in finished.stdout.splitlines()]
        return Workflow(jobs=_jobs(entries), log="\n".join(entry["msg"].rstrip("\n") for entry in entries))


def _entry(line: str) -> dict[str, Any]:
    """Nearly all lines are JSON."""
    entry: dict[str, Any] = json.loads(line) if line.startswith("{") else {"msg": line}
    return entry


def _jobs(entries: Iterable[dict[str, Any]]) -> dict[str, Job]:
    jobs: dict[str, Job] = {}
    for entry in entries:
        if "jobID" not in entry:
            continue
        job = jobs.setdefault(entry["jobID"], Job())
        job.result = job.result if job.result == "failure" else entry.get("jobResult", job.result)
        if "stepID" in entry:
            _add(entry, job.steps.setdefault(entry["stepID"][0], Step()))
    return jobs


def _add(entry: dict[str, Any], step: Step) -> None:
    if len(entry["stepID"]) == 1 and entry.get("stage") == "Main":
        step.result = entry.get("stepResult", step.result)
    match entry.get("command"):
        case "set-output":
            step.outputs[entry["name"]] = entry["arg"]
        case "summary":
            step.summary += entry["content"]
        case level if level in ANNOTATIONS:
            step.annotations.append(Annotation(level, entry["arg"], entry["kvPairs"]))
    if entry.get("raw_output"):
        step.log += entry["msg"]
