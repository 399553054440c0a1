"""The pull request that a run belongs to. Artifacts and names of branches are untrusted, and do not decide it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.github.api_objects import Pull, parse_object, parse_pages
from skillgym_action.github.event import PULL_REQUEST_EVENTS
from skillgym_action.limits import COMMIT_CHARACTERS

if TYPE_CHECKING:
    from skillgym_action.github.api import GitHubApi
    from skillgym_action.github.event import GitHubEvent, Head


@dataclass(frozen=True, kw_only=True, slots=True)
class PullRequest:
    """A pull request of the event's repository. ``head_sha``: its newest commit when it was looked up."""

    number: int
    head_sha: str


class NoPullRequestError(Exception):
    """There is no pull request, or more than one. ``unexpected``: whether users may expect a comment on one."""

    def __init__(self, message: str, *, unexpected: bool) -> None:
        super().__init__(message)
        self.unexpected = unexpected


def find_pull_request(api: GitHubApi, event: GitHubEvent) -> PullRequest:
    """Return the pull request of an event. Raises NoPullRequestError, GitHubError."""
    if event.pull is not None:
        if event.head:
            return PullRequest(number=event.pull, head_sha=event.head.sha)
        found = parse_object(Pull, api.get(f"/repos/{event.repository}/pulls/{event.pull}"))
        return PullRequest(number=found.number, head_sha=found.head.sha)
    if event.head is None or event.head.branch is None or event.head.repository is None:
        if event.name in PULL_REQUEST_EVENTS:
            raise NoPullRequestError(f"the payload of the event {event.name} names none", unexpected=True)
        raise NoPullRequestError(f"the event {event.name} belongs to no pull request", unexpected=False)
    matching = _open_pulls(api, event.repository, event.head)
    if len(matching) != 1:
        how_many = f"{len(matching)} open pull requests have" if matching else "no open pull request has"
        message = f"{how_many} the commit {event.head.sha[:COMMIT_CHARACTERS]} of {event.head.repository} as its head"
        raise NoPullRequestError(message, unexpected=bool(matching) or event.detached)
    return PullRequest(number=matching[0].number, head_sha=matching[0].head.sha)


def _open_pulls(api: GitHubApi, repository: str, head: Head) -> list[Pull]:
    """Open pull requests with this head. Branch and owner only narrow the search: commit and repository decide."""
    owner = (head.repository or "").partition("/")[0]
    pulls = parse_pages(Pull, api.pages(f"/repos/{repository}/pulls", state="open", head=f"{owner}:{head.branch}"))
    return [
        pull
        for pull in pulls
        if pull.state == "open"
        and pull.head.sha == head.sha
        and pull.head.repo is not None
        and pull.head.repo.full_name.lower() == (head.repository or "").lower()
    ]
