"""A repository on a fake GitHub with a bare git remote, and jobs of the action in fresh checkouts of it.

with hosted(tmp_path) as repository:
    repository.on_push()
    pull = repository.propose({"AGENTS.md": BAD})
    step = repository.on_pull_request(pull)
    print(repository.comment(pull.number))
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from action_step import FORK, Step, step
from git_server import GitServer
from github_server import JOB_TOKEN, GitHubServer
from github_state import PullRequest
from on_github import NUMBER, REPOSITORY
from scratch import IDENTITY, case, committed, config, git_in, repository, runner, suite, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

EIGHT = tuple(map(case, "abcdefgh"))
GOOD, BAD = "write out.txt", "do nothing"
AGENT = "if grep -q write AGENTS.md; then echo done > out.txt; fi"
"""An agent that does what the repository's instructions say, so that a commit can make it worse."""
STORE_BRANCH = "skillgym-data"
INPUTS = {"store": "branch", "fail-on": "regression", "comment-when": "always"}
FILES = {
    "bench/core.json": suite(*EIGHT),
    "skillgym.config.yaml": config(runner(AGENT)),
    "AGENTS.md": GOOD,
    ".gitignore": ".skillgym-results\n",
}


@dataclass(frozen=True, kw_only=True)
class Pull:
    """A pull request: its head, the tip of its base when it was opened, and GitHub's test merge of both."""

    number: int
    head: str
    branch: str
    base: str
    base_branch: str
    merge: str
    fork: bool = False

    def payload(self) -> dict[str, Any]:
        """The payload of the events about it."""
        repo = {"full_name": FORK if self.fork else REPOSITORY}
        head = {"sha": self.head, "ref": self.branch, "repo": repo}
        base = {"sha": self.base, "ref": self.base_branch}
        return {"action": "synchronize", "pull_request": {"number": self.number, "head": head, "base": base}}


class HostedRepository:
    """The repository. ``remote``: its bare repository, at ``url``; ``work``: a clone in which its developers commit."""

    def __init__(self, folder: Path, github: GitHubServer, git: GitServer, files: Mapping[str, str] = FILES) -> None:
        self.folder, self.github, self.git, self.url = folder, github, git, git.url
        self.remote = folder / "remote" / f"{REPOSITORY}.git"
        self.remote.mkdir(parents=True)
        git_in(self.remote, "init", "--quiet", "--bare", "--initial-branch=main")
        self.work = repository(folder / "work", dict(files), git=True)
        git_in(self.work, "remote", "add", "origin", str(self.remote))
        git_in(self.work, "push", "--quiet", "origin", "main")
        self._checkouts, self._runs = count(1), count(1001)

    # --- what developers do ------------------------------------------------------------------------------

    def commit(self, files: Mapping[str, str], branch: str = "main", start: str | None = None) -> str:
        """Push a commit with those files to a branch, which begins at ``start`` if it is new; the commit."""
        git_in(self.work, "checkout", "--quiet", *(("-B", branch, start) if start else (branch,)))
        written(self.work, dict(files))
        committed(self.work)
        git_in(self.work, "push", "--quiet", "--force", "origin", branch)
        return self.tip(branch)

    def tip(self, branch: str) -> str:
        """The last commit of a branch of the remote."""
        return git_in(self.remote, "rev-parse", branch).strip()

    def propose(
        self, files: Mapping[str, str], *, base: str = "main", start: str | None = None, fork: bool = False
    ) -> Pull:
        """A commit with those files on the branch topic, and the pull request of that branch."""
        self.commit(files, "topic", start or base)
        return self.open("topic", base, fork=fork)

    def open(self, branch: str, base: str = "main", *, number: int = NUMBER, fork: bool = False) -> Pull:
        """The pull request of a branch, or its new state; GitHub makes the test merge."""
        head, tip = self.tip(branch), self.tip(base)
        git_in(self.work, "checkout", "--quiet", "--detach", tip)
        git_in(self.work, *IDENTITY, "merge", "--quiet", "--no-ff", f"--message=Merge {head} into {tip}", head)
        refs = (f"HEAD:refs/pull/{number}/merge", f"{head}:refs/pull/{number}/head")
        git_in(self.work, "push", "--quiet", "--force", "origin", *refs)
        merge = git_in(self.work, "rev-parse", "HEAD").strip()
        owner = FORK if fork else REPOSITORY
        self.github.add_pull(PullRequest(number=number, head_sha=head, head_branch=branch, head_repository=owner))
        return Pull(number=number, head=head, branch=branch, base=tip, base_branch=base, merge=merge, fork=fork)

    # --- what jobs do ------------------------------------------------------------------------------------

    def checkout(self, ref: str, *, depth: int = 0) -> Path:
        """A clone as actions/checkout makes it: that ref; with all branches and their history if ``depth`` is 0."""
        root = self.folder / f"checkout-{next(self._checkouts)}"
        git_in(self.folder, "init", "--quiet", "--initial-branch=main", str(root))
        git_in(root, "remote", "add", "origin", f"file://{self.remote}")
        if not depth:
            git_in(root, "fetch", "--quiet", "--no-tags", "origin", "+refs/heads/*:refs/remotes/origin/*")
        git_in(root, "fetch", "--quiet", "--no-tags", *((f"--depth={depth}",) if depth else ()), "origin", ref)
        git_in(root, "checkout", "--quiet", "--detach", "FETCH_HEAD")
        return root

    def job(
        self, event: str, payload: Mapping[str, Any], ref: str, root: Path, inputs: Mapping[str, str], **more: str
    ) -> dict[str, Any]:
        """The arguments of a step in a checkout."""
        return {
            "root": root,
            "github": self.github,
            "inputs": INPUTS | inputs,
            "event": (event, {**payload, "repository": {"default_branch": "main"}}),
            "GITHUB_SERVER_URL": self.url,
            "GITHUB_REF": ref,
            "GITHUB_SHA": git_in(root, "rev-parse", "HEAD").strip(),
            "GITHUB_RUN_ID": str(next(self._runs)),
            "GITHUB_JOB": "bench",
        } | more

    def push_job(self, branch: str = "main", inputs: Mapping[str, str] | None = None, **more: str) -> dict[str, Any]:
        """The arguments of the step for a push to a branch."""
        ref = f"refs/heads/{branch}"
        self.github.add_commit(self.tip(branch))
        return self.job("push", {"ref": ref}, ref, self.checkout(ref), inputs or {}, **more)

    def on_push(self, branch: str = "main", inputs: Mapping[str, str] | None = None, **more: str) -> Step:
        """The step for a push to a branch."""
        return step(**self.push_job(branch, inputs, **more))

    def on_pull_request(
        self, pull: Pull, inputs: Mapping[str, str] | None = None, *, depth: int = 0, head: bool = False, **more: str
    ) -> Step:
        """The step for a pull request; ``head``: its own commit is checked out in place of GitHub's test merge."""
        ref = f"refs/pull/{pull.number}/merge"
        root = self.checkout(pull.head if head else ref, depth=depth)
        told = {"GITHUB_SHA": pull.merge} | more
        return step(**self.job("pull_request", pull.payload(), ref, root, inputs or {}, **told))

    def on_merge_group(self, pull: Pull, inputs: Mapping[str, str] | None = None) -> Step:
        """The step for a merge queue, which made the commit that the base would be after the pull request."""
        ref = f"refs/heads/gh-readonly-queue/{pull.base_branch}/pr-{pull.number}-{pull.base}"
        group = {"head_sha": pull.merge, "base_sha": pull.base, "base_ref": f"refs/heads/{pull.base_branch}"}
        self.github.add_commit(pull.merge)
        root = self.checkout(f"refs/pull/{pull.number}/merge")
        return step(**self.job("merge_group", {"merge_group": group}, ref, root, inputs or {}))

    # --- what is there afterwards ------------------------------------------------------------------------

    def comments(self, number: int = NUMBER) -> list[str]:
        """The comments of a pull request, without the characters that keep GitHub from making links."""
        return [re.sub("[\u2060\u200b]", "", one.body) for one in self.github.comments(number)]

    def comment(self, number: int = NUMBER) -> str:
        """The only comment of a pull request."""
        (found,) = self.comments(number)
        return found

    def status(self, commit: str) -> str | None:
        """The state of the newest commit status; None: there is none."""
        return next((one.state for one in self.github.statuses(commit)), None)

    def stored(self) -> list[str]:
        """The files of results on the store's branch; none if there is no such branch."""
        if STORE_BRANCH not in git_in(self.remote, "branch", "--list", STORE_BRANCH):
            return []
        names = git_in(self.remote, "ls-tree", "-r", "--name-only", STORE_BRANCH).splitlines()
        return [name for name in names if name.endswith(".jsonl")]

    # --- what goes wrong ---------------------------------------------------------------------------------

    def forge(self, name: str, content: str) -> None:
        """Commit a file to the store's branch, as anybody with write access can."""
        clone = self.folder / "forger"
        git_in(self.folder, "clone", "--quiet", "--branch", STORE_BRANCH, str(self.remote), str(clone))
        written(clone, {name: content})
        committed(clone)
        git_in(clone, "push", "--quiet", "origin", STORE_BRANCH)


@contextmanager
def hosted(folder: Path, files: Mapping[str, str] = FILES) -> Iterator[HostedRepository]:
    """The repository in a folder, with a GitHub that is validated against GitHub's description."""
    with GitHubServer(REPOSITORY) as github, GitServer(folder / "remote", writers={JOB_TOKEN}) as git:
        yield HostedRepository(folder, github, git, files)
