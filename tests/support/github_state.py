"""What the fake GitHub knows of its one repository: pull requests and what people and bots left on them.

Times are of a clock that goes on a second with every change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from github_runs import Artifact, WorkflowRun

BOT = "github-actions[bot]"
START = datetime(2026, 1, 1, tzinfo=UTC)
HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
STATES = {None: "PENDING", "COMMENT": "COMMENTED", "APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED"}


@dataclass(frozen=True)
class User:
    """``writes`` are the keys of a workflow's ``permissions:`` that are set to ``write``."""

    login: str
    writes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ChangedFile:
    """A file that a pull request changes. ``patch`` begins with a hunk header; None: GitHub does not show it."""

    path: str
    patch: str | None = None
    status: str = "modified"

    def lines(self, side: str) -> frozenset[int]:
        """The lines of the new file (side RIGHT) or of the old one (LEFT) that the patch shows."""
        return frozenset(number for shown, number in _patch_lines(self.patch or "") if shown == side)


@dataclass(frozen=True, kw_only=True)
class PullRequest:
    """``head_repository`` empty: the repository itself. ``merged_as`` is the commit on the base branch."""

    number: int
    head_sha: str
    head_branch: str = "feature"
    head_repository: str = ""
    base_branch: str = "main"
    author: str = "octocat"
    state: str = "open"
    merged_as: str | None = None
    files: tuple[ChangedFile, ...] = ()
    earlier_shas: tuple[str, ...] = ()

    @property
    def shas(self) -> tuple[str, ...]:
        return (*self.earlier_shas, self.head_sha)

    def shows(self, path: str, line: int, side: str = "RIGHT") -> bool:
        return any(file.path == path and line in file.lines(side) for file in self.files)


@dataclass(frozen=True, kw_only=True)
class Comment:
    id: int
    pull: int
    author: str
    body: str
    created_at: str
    updated_at: str


@dataclass(frozen=True, kw_only=True)
class Review:
    """``state`` in GitHub's words: COMMENTED, APPROVED, CHANGES_REQUESTED or PENDING."""

    id: int
    pull: int
    author: str
    body: str
    state: str
    commit: str
    created_at: str


@dataclass(frozen=True, kw_only=True)
class ReviewComment:
    """``commit`` and ``line`` are those it was written on, whether or not it is outdated by now.

    ``in_reply_to`` is the first comment of the conversation; None: this one is.
    """

    id: int
    review: int
    pull: int
    author: str
    path: str
    line: int
    side: str
    body: str
    commit: str
    created_at: str
    updated_at: str
    in_reply_to: int | None = None


@dataclass(frozen=True, kw_only=True)
class Status:
    id: int
    sha: str
    author: str
    state: str
    context: str
    description: str | None
    target_url: str | None
    created_at: str


Kept = TypeVar("Kept", Comment, ReviewComment)


@dataclass
class Repository:
    """All that changes. Methods that add return what was added; nothing here refuses."""

    name: str
    id: int = 4_711
    pulls: dict[int, PullRequest] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    reviews: dict[int, Review] = field(default_factory=dict)
    review_comments: dict[int, ReviewComment] = field(default_factory=dict)
    statuses: list[Status] = field(default_factory=list)
    commits: set[str] = field(default_factory=set)
    runs: dict[int, WorkflowRun] = field(default_factory=dict)
    artifacts: dict[int, Artifact] = field(default_factory=dict)
    artifact_host: str = ""
    _ids: count[int] = field(default_factory=lambda: count(1001))
    _seconds: count[int] = field(default_factory=count)

    def add_pull(self, pull: PullRequest) -> PullRequest:
        pull = replace(pull, head_repository=pull.head_repository or self.name)
        self.pulls[pull.number] = pull
        self.commits |= {*pull.shas, pull.merged_as or pull.head_sha}
        return pull

    def add_comment(self, pull: int, author: str, body: str) -> Comment:
        now = self._now()
        comment = Comment(id=next(self._ids), pull=pull, author=author, body=body, created_at=now, updated_at=now)
        self.comments[comment.id] = comment
        return comment

    def add_review(self, pull: int, author: str, body: str, event: str | None, commit: str) -> Review:
        review = Review(
            id=next(self._ids),
            pull=pull,
            author=author,
            body=body,
            state=STATES[event],
            commit=commit,
            created_at=self._now(),
        )
        self.reviews[review.id] = review
        return review

    def add_review_comment(self, review: Review, path: str, line: int, side: str, body: str) -> ReviewComment:
        comment = ReviewComment(
            id=next(self._ids),
            review=review.id,
            pull=review.pull,
            author=review.author,
            path=path,
            line=line,
            side=side,
            body=body,
            commit=review.commit,
            created_at=review.created_at,
            updated_at=review.created_at,
        )
        self.review_comments[comment.id] = comment
        return comment

    def answer(self, comment: int, author: str, body: str) -> ReviewComment:
        """An answer is a comment of a review of its own, at the same place."""
        first = self.review_comments[comment]
        review = self.add_review(first.pull, author, "", "COMMENT", self.pulls[first.pull].head_sha)
        answer = self.add_review_comment(review, first.path, first.line, first.side, body)
        self.review_comments[answer.id] = replace(answer, in_reply_to=first.in_reply_to or first.id)
        return self.review_comments[answer.id]

    def add_status(
        self, sha: str, author: str, state: str, context: str, description: str | None, target_url: str | None
    ) -> Status:
        status = Status(
            id=next(self._ids),
            sha=sha,
            author=author,
            state=state,
            context=context,
            description=description,
            target_url=target_url,
            created_at=self._now(),
        )
        self.statuses.append(status)
        return status

    def edited(self, kept: dict[int, Kept], number: int, body: str) -> Kept:
        """The comment with a new text, in its old place."""
        kept[number] = replace(kept[number], body=body, updated_at=self._now())
        return kept[number]

    def submitted_review_comments(self, pull: int) -> list[ReviewComment]:
        """Those that others see: a pending review's are its author's alone."""
        pending = {review.id for review in self.reviews.values() if review.state == "PENDING"}
        return [one for one in self.review_comments.values() if one.pull == pull and one.review not in pending]

    def _now(self) -> str:
        return f"{START + timedelta(seconds=next(self._seconds)):%Y-%m-%dT%H:%M:%SZ}"


def _patch_lines(patch: str) -> list[tuple[str, int]]:
    """``(side, line)`` of every line a patch shows; unchanged ones are on both sides."""
    shown, old, new = [], 0, 0
    for text in patch.splitlines():
        if hunk := HUNK.match(text):
            old, new = int(hunk[1]), int(hunk[2])
            continue
        if text[:1] in {" ", "-", ""}:
            shown.append(("LEFT", old))
        if text[:1] in {" ", "+", ""}:
            shown.append(("RIGHT", new))
        old += text[:1] in {" ", "-", ""}
        new += text[:1] in {" ", "+", ""}
    return shown
