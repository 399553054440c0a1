"""A pull request on the fake GitHub, and the tool's own ways to it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fakes_clock import FakeClock
from github_server import JOB_TOKEN, GitHubServer
from github_state import PullRequest
from skillgym_action.github.api import GitHubApi
from skillgym_action.github.event import GitHubEvent, Head
from skillgym_action.model.limits import GITHUB_RETRY_SECONDS
from skillgym_action.system.cancellation import Cancellation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from github_state import ChangedFile

REPOSITORY, NUMBER, SHA = "octo/skills", 7, "a" * 40
ISSUE = f"/repos/{REPOSITORY}/issues/{NUMBER}"
BOT = "github-actions[bot]"


@contextmanager
def github_with(*files: ChangedFile, prefix: str = "") -> Iterator[GitHubServer]:
    """A repository with one open pull request that changes ``files``."""
    with GitHubServer(REPOSITORY, prefix=prefix) as github:
        github.add_pull(PullRequest(number=NUMBER, head_sha=SHA, head_branch="topic", files=files))
        yield github


@contextmanager
def api_of(
    github: GitHubServer, token: str = JOB_TOKEN, deadline: float = GITHUB_RETRY_SECONDS, clock: Any = None
) -> Iterator[GitHubApi]:
    """A client of the API. Waits before another try take no time, unless ``clock`` is a real one."""
    cancelled = Cancellation()
    api = GitHubApi(
        url=github.url,
        token=token,
        graphql_url=github.graphql_url,
        clock=clock or FakeClock(),
        cancelled=cancelled,
        deadline=deadline,
    )
    try:
        yield api
    finally:
        api.close()
        cancelled.close()


def event_of(github: GitHubServer, name: str = "pull_request", **more: object) -> GitHubEvent:
    """An event about the pull request's head; ``more`` replaces fields."""
    fields: dict[str, object] = {
        "name": name,
        "repository": REPOSITORY,
        "server_url": "https://github.example",
        "api_url": github.url,
        "graphql_url": github.graphql_url,
        "run_id": 100,
        "run_attempt": 1,
        "actor": "ada",
        "head": Head(sha=SHA, repository=REPOSITORY, branch="topic"),
        "pull": NUMBER if name == "pull_request" else None,
    }
    return GitHubEvent(**{**fields, **more})
