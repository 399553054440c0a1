"""A step of a job that uses the action, as a real process: inputs, variables, payload, the runner's files."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from github_server import JOB_TOKEN
from on_github import NUMBER, REPOSITORY, SHA
from runner_env_files import entries
from scratch import HUNG, environment, git_in, written
from warm_start import RUNS, can_start_warm, warm_run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from github_server import GitHubServer

ENTRYPOINT = Path(sys.executable).with_name("skillgym-action-entrypoint")
MERGE = "e" * 40
FORK = "stranger/skills"


@dataclass(frozen=True, kw_only=True)
class Step:
    """What a step leaves: ``log`` is what the runner would read for commands, ``said`` what is for people alone."""

    code: int
    outputs: dict[str, str]
    summary: str
    log: str
    said: str


def pull_request(repository: str = REPOSITORY) -> dict[str, object]:
    """The payload of pull_request and pull_request_target."""
    head = {"sha": SHA, "ref": "topic", "repo": {"full_name": repository}}
    return {"action": "synchronize", "pull_request": {"number": NUMBER, "head": head}}


def workflow_run(repository: str = REPOSITORY) -> dict[str, object]:
    """The payload of workflow_run; it names no pull request, as for forks."""
    run = {"id": 99, "head_sha": SHA, "head_branch": "topic", "head_repository": {"full_name": repository}}
    return {"action": "completed", "workflow_run": {**run, "pull_requests": []}}


def comment_on_pull_request() -> dict[str, object]:
    """The payload of issue_comment; it does not tell whose commit the pull request is."""
    return {"action": "created", "issue": {"number": NUMBER, "pull_request": {}}, "comment": {"body": "/bench"}}


def merged_on_github(root: Path) -> str:
    """Make what is checked out GitHub's test merge of the pull request's head, as a checkout of depth 1 has it.

    Returns the merge commit, which ``GITHUB_SHA`` names in such a job.
    """
    who = "t <t@example.com> 1700000000 +0000"
    parents = f"parent {git_in(root, 'rev-parse', 'HEAD').strip()}\nparent {SHA}\n"
    tree = git_in(root, "rev-parse", "HEAD^{tree}").strip()
    file = root / ".git" / "merge-commit"
    file.write_text(f"tree {tree}\n{parents}author {who}\ncommitter {who}\n\nMerge\n")
    merge = git_in(root, "hash-object", "-t", "commit", "-w", str(file)).strip()
    file.unlink()
    (root / ".git" / "shallow").write_text(f"{merge}\n")
    git_in(root, "update-ref", "HEAD", merge)
    return merge


def variables(
    github: GitHubServer | None, event: str, files: Path, inputs: Mapping[str, str], **more: str
) -> dict[str, str]:
    """The environment of the step."""
    told = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_NAME": event,
        "GITHUB_EVENT_PATH": str(files / "event.json"),
        "GITHUB_OUTPUT": str(files / "outputs"),
        "GITHUB_STEP_SUMMARY": str(files / "summary"),
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_SERVER_URL": "https://github.example",
        "GITHUB_API_URL": github.url if github else "http://127.0.0.1:9",
        "GITHUB_GRAPHQL_URL": github.graphql_url if github else "http://127.0.0.1:9/graphql",
        "GITHUB_SHA": MERGE,
        "GITHUB_REF": "refs/pull/7/merge",
        "GITHUB_ACTOR": "ada",
        "GITHUB_RUN_ID": "100",
        "GITHUB_RUN_ATTEMPT": "1",
    }
    given = {"github-token": JOB_TOKEN, "store": "none", **inputs}  # there is no repository at the server's address
    return environment(**(told | {f"INPUT_{name.upper()}": value for name, value in given.items()} | more))


def started(
    root: Path,
    github: GitHubServer | None = None,
    inputs: Mapping[str, str] | None = None,
    *,
    event: tuple[str, object] | None = None,
    **more: str,
) -> tuple[subprocess.Popen[str], Path]:
    """The step, going on, and the folder with the runner's files."""
    env, files = _prepared(root, github, inputs, event, more)
    RUNS.append(ENTRYPOINT.name)
    pipe = subprocess.PIPE
    return subprocess.Popen([ENTRYPOINT], cwd=root, env=env, stdout=pipe, stderr=pipe, text=True), files


def _prepared(
    root: Path,
    github: GitHubServer | None,
    inputs: Mapping[str, str] | None,
    event: tuple[str, object] | None,
    more: Mapping[str, str],
) -> tuple[dict[str, str], Path]:
    """The environment of the step, and the folder with the runner's files."""
    name, payload = event or ("pull_request", pull_request())
    files = root.parent / f"{root.name}-files"
    files.mkdir(exist_ok=True)
    written(files, {"event.json": json.dumps(payload), "outputs": "", "summary": ""})
    return variables(github, name, files, inputs or {}, **more), files


def finished(process: subprocess.Popen[str], files: Path) -> Step:
    """The step, at its end."""
    log, said = process.communicate(timeout=HUNG)
    return _step(process.returncode, files, log, said)


def _step(code: int, files: Path, log: str, said: str) -> Step:
    return Step(
        code=code,
        outputs=dict(entries((files / "outputs").read_text())),
        summary=(files / "summary").read_text(),
        log=log,
        said=said,
    )


def step(
    root: Path,
    github: GitHubServer | None = None,
    inputs: Mapping[str, str] | None = None,
    *,
    event: tuple[str, object] | None = None,
    **more: str,
) -> Step:
    """The whole step."""
    if not can_start_warm(more):
        return finished(*started(root, github, inputs, event=event, **more))
    env, files = _prepared(root, github, inputs, event, more)
    done = warm_run(ENTRYPOINT, cwd=root, env=env, limit=HUNG)
    return _step(done.returncode, files, done.stdout.decode(), done.stderr.decode())
