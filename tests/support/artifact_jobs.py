"""A repository whose runs upload their results as artifacts to a fake GitHub, and jobs of the action in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from action_step import Step, step
from github_runs import WORKFLOW, Artifact, ArtifactHost, WorkflowRun, zipped
from github_state import PullRequest
from hosted_repository import FILES, Pull
from on_github import NUMBER, REPOSITORY
from scratch import IDENTITY, committed, git_in, repository, written

if TYPE_CHECKING:
    from pathlib import Path

    from github_server import GitHubServer

STORE = "skillgym-store"


class ArtifactJobs:
    """Runs of one workflow. ``push`` does what the workflow in docs/how-to/compare-with-a-baseline.md does."""

    def __init__(self, folder: Path, github: GitHubServer, host: ArtifactHost) -> None:
        self.folder, self.github, self.host = folder, github, host
        self.root = repository(folder / "work", FILES, git=True)
        self.number = 1000

    @property
    def artifacts(self) -> dict[int, Artifact]:
        return self.github.state.artifacts

    def sha(self, name: str = "HEAD") -> str:
        return git_in(self.root, "rev-parse", name).strip()

    def upload(self, content: bytes | None, name: str = STORE, **of_run: str) -> Artifact:
        """An artifact of a run, the newest of the repository's runs unless ``of_run`` makes a newer one."""
        if of_run:
            self.number += 1
            self.github.state.runs[self.number] = WorkflowRun(id=self.number, **{"sha": self.sha(), **of_run})
        artifact = Artifact(id=len(self.artifacts) + 1, run=self.number, name=name, content=content)
        self.artifacts[artifact.id] = artifact
        return artifact

    def push(self, **inputs: str) -> Step:
        """A run for a push to main; its artifact is uploaded by the next step."""
        found = self._step("push", {"ref": "refs/heads/main"}, "refs/heads/main", **inputs)
        self.github.state.runs[self.number] = WorkflowRun(
            id=self.number, sha=self.sha(), conclusion="success" if found.code == 0 else "failure"
        )
        if path := found.outputs["store-path"]:
            files = {file.name: file.read_bytes() for file in (self.root / path).iterdir()}
            self.upload(zipped(files))
        return found

    def propose(self, files: dict[str, str], **inputs: str) -> tuple[Step, str]:
        """A pull request with those files, GitHub's test merge checked out; the step, and the comment on it."""
        base = self.sha("main")
        git_in(self.root, "checkout", "--quiet", "-B", "topic", "main")
        written(self.root, files)
        committed(self.root)
        head = self.sha()
        git_in(self.root, "checkout", "--quiet", "--detach", "main")
        git_in(self.root, *IDENTITY, "merge", "--quiet", "--no-ff", "--message=Merge", "topic")
        self.github.add_pull(PullRequest(number=NUMBER, head_sha=head, head_branch="topic"))
        pull = Pull(number=NUMBER, head=head, branch="topic", base=base, base_branch="main", merge=self.sha())
        found = self._step("pull_request", pull.payload(), f"refs/pull/{NUMBER}/merge", **inputs)
        git_in(self.root, "checkout", "--quiet", "main")
        return found, re.sub("[\u2060\u200b]", "", self.github.comments(NUMBER)[-1].body)

    def _step(self, event: str, payload: dict[str, object], ref: str, **inputs: str) -> Step:
        self.number += 1
        return step(
            self.root,
            self.github,
            {"store": "artifact", "fail-on": "regression", "comment-when": "always", **inputs},
            event=(event, payload | {"repository": {"default_branch": "main"}}),
            GITHUB_REF=ref,
            GITHUB_SHA=self.sha(),
            GITHUB_RUN_ID=str(self.number),
            GITHUB_JOB="bench",
            GITHUB_WORKFLOW_REF=f"{REPOSITORY}/.github/workflows/{WORKFLOW}@{ref}",
        )
