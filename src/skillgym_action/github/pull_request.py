"""Which pull request a run belongs to. Nothing that an artifact or a branch's name says is believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.github.replies import Pull, each, parsed

if TYPE_CHECKING:
    from skillgym_action.github.api import GitHubApi
    from skillgym_action.github.event import GitHubEvent, Head


@dataclass(frozen=True, kw_only=True, slots=True)
class PullRequest:
    """A pull request of the event's repository, and the newest commit it was seen with."""

    number: int
    head_sha: str


class NoPullRequestError(Exception):
    """There is none, or more than one; the message says so in words.

    ``surprising``: whether somebody would look for a comment in vain.
    """

    def __init__(self, message: str, *, surprising: bool) -> None:
        """Why."""
        super().__init__(message)
        self.surprising = surprising


def pull_request(api: GitHubApi, event: GitHubEvent) -> PullRequest:
    """The pull request of an event. Raises NoPullRequestError, GitHubError."""
    if event.pull is not None:
        if event.head and event.name != "merge_group":
            return PullRequest(number=event.pull, head_sha=event.head.sha)
        found = parsed(Pull, api.get(f"/repos/{event.repository}/pulls/{event.pull}"))
        return PullRequest(number=found.number, head_sha=found.head.sha)
    if event.head is None or event.head.branch is None or event.head.repository is None:
        raise NoPullRequestError(f"the event {event.name} belongs to no pull request", surprising=False)
    matching = _open_with(api, event.repository, event.head)
    if len(matching) != 1:
        how_many = f"{len(matching)} open pull requests have" if matching else "no open pull request has"
        message = f"{how_many} the commit {event.head.sha[:12]} of {event.head.repository} as its head"
        raise NoPullRequestError(message, surprising=bool(matching) or event.detached)
    return PullRequest(number=matching[0].number, head_sha=matching[0].head.sha)


def _open_with(api: GitHubApi, repository: str, head: Head) -> list[Pull]:
    """Branch and owner only narrow the search: commit and repository decide."""
    owner = (head.repository or "").partition("/")[0]
    pulls = each(Pull, api.pages(f"/repos/{repository}/pulls", state="open", head=f"{owner}:{head.branch}"))
    return [
        pull
        for pull in pulls
        if pull.state == "open"
        and pull.head.sha == head.sha
        and pull.head.repo is not None
        and pull.head.repo.full_name.lower() == (head.repository or "").lower()
    ]
