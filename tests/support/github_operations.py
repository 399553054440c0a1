"""What the fake GitHub does for each operation of its REST interface, and when it says no."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from github_shapes import Shapes
    from github_state import PullRequest, Repository, Status, User

Kept = TypeVar("Kept")
SHA = re.compile(r"[0-9a-f]{40}")
HUNK_MISSING = "Pull request review thread diff hunk can't be blank"
TOO_LONG = "Body is too long (maximum is 65536 characters)"
MOST_FILES = 3_000


class RefusedError(Exception):
    """What GitHub says no with. ``errors`` are dicts, or texts where the description wants those."""

    def __init__(self, status: int, message: str, *errors: Any) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = list(errors) or None


@dataclass(frozen=True)
class BodyLimit:
    """What is refused as too long. GitHub's message names 65,536 characters, whatever it really measures."""

    utf8_bytes: int = 262_144
    characters: int = 262_144

    def exceeded_by(self, body: str) -> bool:
        return len(body) > self.characters or len(body.encode()) > self.utf8_bytes


@dataclass(frozen=True)
class Asked:
    """A request that is allowed and keeps to the contract: path variables, query and body are as described."""

    repository: Repository
    shapes: Shapes
    user: User
    limit: BodyLimit
    variables: Mapping[str, str]
    query: Mapping[str, str]
    body: Mapping[str, Any]

    def number(self, variable: str) -> int:
        return int(self.variables[variable])

    def pull(self, variable: str = "pull_number") -> PullRequest:
        return found(self.repository.pulls, self.number(variable))

    def text(self, resource: str) -> str:
        """The body of a comment."""
        text: str = self.body["body"]
        if not text.strip():
            raise RefusedError(
                422, "Validation Failed", {"resource": resource, "code": "missing_field", "field": "body"}
            )
        if self.limit.exceeded_by(text):
            error = {"resource": resource, "code": "unprocessable", "field": "data", "message": TOO_LONG}
            raise RefusedError(422, "Validation Failed", error)
        return text


@dataclass(frozen=True)
class Answer:
    """A list is answered by pages; None has no body. ``key``: of a page in an object, as lists of actions are."""

    status: int
    body: dict[str, Any] | list[Any] | None
    key: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Operation:
    """One of ``writes`` must be among the permissions of whoever asks; none: everybody may."""

    answer: Callable[[Asked], Answer]
    writes: frozenset[str] = frozenset()


def found(kept: Mapping[int, Kept], number: int) -> Kept:
    if number not in kept:
        raise RefusedError(404, "Not Found")
    return kept[number]


def list_comments(asked: Asked) -> Answer:
    pull = asked.pull("issue_number").number
    return Answer(200, [comment for comment in asked.repository.comments.values() if comment.pull == pull])


def create_comment(asked: Asked) -> Answer:
    pull = asked.pull("issue_number").number
    comment = asked.repository.add_comment(pull, asked.user.login, asked.text("IssueComment"))
    return Answer(201, asked.shapes.comment(comment))


def get_comment(asked: Asked) -> Answer:
    return Answer(200, asked.shapes.comment(found(asked.repository.comments, asked.number("comment_id"))))


def update_comment(asked: Asked) -> Answer:
    comments = asked.repository.comments
    comment = found(comments, asked.number("comment_id"))
    return Answer(200, asked.shapes.comment(asked.repository.edited(comments, comment.id, asked.text("IssueComment"))))


def delete_comment(asked: Asked) -> Answer:
    del asked.repository.comments[found(asked.repository.comments, asked.number("comment_id")).id]
    return Answer(204, None)


def list_pulls(asked: Asked) -> Answer:
    """Newest first. A ``head`` without an owner says nothing to GitHub."""
    state, head, base = (asked.query.get(name, "") for name in ("state", "head", "base"))
    listed = [
        pull
        for _, pull in sorted(asked.repository.pulls.items(), reverse=True)
        if state == "all" or pull.state == (state or "open")
        if ":" not in head or f"{pull.head_repository.partition('/')[0]}:{pull.head_branch}" == head
        if not base or pull.base_branch == base
    ]
    return Answer(200, list(listed))


def get_pull(asked: Asked) -> Answer:
    return Answer(200, asked.shapes.whole_pull(asked.pull()))


def list_files(asked: Asked) -> Answer:
    return Answer(200, list(asked.pull().files[:MOST_FILES]))


def list_pulls_of_commit(asked: Asked) -> Answer:
    """The merged pull requests that brought the commit, and the open ones that have it."""
    sha = _known_commit(asked, asked.variables["commit_sha"])
    pulls = asked.repository.pulls.values()
    return Answer(200, [one for one in pulls if sha == one.merged_as or (sha in one.shas and one.state == "open")])


def list_reviews(asked: Asked) -> Answer:
    pull = asked.pull().number
    return Answer(200, [review for review in asked.repository.reviews.values() if review.pull == pull])


def create_review(asked: Asked) -> Answer:
    """All of it or nothing: one comment outside the diff refuses the review."""
    pull, comments = asked.pull(), asked.body.get("comments", ())
    body, event, commit = (
        asked.body.get("body", ""),
        asked.body.get("event"),
        asked.body.get("commit_id", pull.head_sha),
    )
    if commit not in pull.shas:
        raise RefusedError(422, "Unprocessable Entity", "The commit_id is not part of the pull request")
    if event in {"COMMENT", "REQUEST_CHANGES"} and not (body or comments):
        raise RefusedError(422, "Unprocessable Entity", f"Body is required for {event}")
    for comment in comments:
        _refuse_outside_of(pull, comment)
    for text in (body, *(comment["body"] for comment in comments)):
        if asked.limit.exceeded_by(text):
            raise RefusedError(422, "Unprocessable Entity", TOO_LONG)
    review = asked.repository.add_review(pull.number, asked.user.login, body, event, commit)
    for comment in comments:
        side = comment.get("side", "RIGHT")
        asked.repository.add_review_comment(review, comment["path"], comment["line"], side, comment["body"])
    return Answer(200, asked.shapes.review(review))


def list_review_comments(asked: Asked) -> Answer:
    return Answer(200, list(asked.repository.submitted_review_comments(asked.pull().number)))


def update_review(asked: Asked) -> Answer:
    """A review's text cannot be taken away."""
    review = found(asked.repository.reviews, asked.number("review_id"))
    text = asked.body["body"]
    if not text.strip():
        raise RefusedError(422, "Unprocessable Entity", "Body can't be blank")
    asked.repository.reviews[review.id] = replace(review, body=text)
    return Answer(200, asked.shapes.review(asked.repository.reviews[review.id]))


def update_review_comment(asked: Asked) -> Answer:
    comments = asked.repository.review_comments
    comment = found(comments, asked.number("comment_id"))
    edited = asked.repository.edited(comments, comment.id, asked.text("PullRequestReviewComment"))
    return Answer(200, asked.shapes.review_comment(edited))


def delete_review_comment(asked: Asked) -> Answer:
    del asked.repository.review_comments[found(asked.repository.review_comments, asked.number("comment_id")).id]
    return Answer(204, None)


def create_status(asked: Asked) -> Answer:
    sha, wanted = asked.variables["sha"], asked.body
    if not SHA.fullmatch(sha):
        raise _refused_status("sha", "sha must be a 40 character SHA1")
    if len(wanted.get("description") or "") > 140:
        raise _refused_status("description", "description is too long (maximum is 140 characters)")
    if not (wanted.get("target_url") or "https://").startswith(("http://", "https://")):
        raise _refused_status("target_url", "target_url must use http(s) scheme")
    status = asked.repository.add_status(
        _known_commit(asked, sha),
        asked.user.login,
        wanted["state"],
        wanted.get("context", "default"),
        wanted.get("description"),
        wanted.get("target_url"),
    )
    return Answer(201, asked.shapes.status(status))


def list_statuses(asked: Asked) -> Answer:
    """Newest first."""
    sha = _known_commit(asked, asked.variables["ref"])
    listed: list[Status] = [status for status in asked.repository.statuses if status.sha == sha]
    return Answer(200, [*reversed(listed)])


def _known_commit(asked: Asked, sha: str) -> str:
    if sha not in asked.repository.commits:
        raise RefusedError(422, f"No commit found for SHA: {sha}")
    return sha


def _refuse_outside_of(pull: PullRequest, comment: Mapping[str, Any]) -> None:
    if all(file.path != comment["path"] for file in pull.files):
        raise RefusedError(
            422, "Unprocessable Entity", f"Pull request review thread path is invalid and {HUNK_MISSING}"
        )
    if not pull.shows(comment["path"], comment.get("line", 0), comment.get("side", "RIGHT")):
        said = f"Pull request review thread line must be part of the diff and {HUNK_MISSING}"
        raise RefusedError(422, "Unprocessable Entity", said)


def _refused_status(field: str, message: str) -> RefusedError:
    error = {"resource": "Status", "code": "custom", "field": field, "message": message}
    return RefusedError(422, "Validation Failed", error)


ISSUES = frozenset({"issues", "pull-requests"})
PULLS = frozenset({"pull-requests"})
STATUSES = frozenset({"statuses"})
OPERATIONS = {
    "issues/list-comments": Operation(list_comments),
    "issues/create-comment": Operation(create_comment, ISSUES),
    "issues/get-comment": Operation(get_comment),
    "issues/update-comment": Operation(update_comment, ISSUES),
    "issues/delete-comment": Operation(delete_comment, ISSUES),
    "pulls/list": Operation(list_pulls),
    "pulls/get": Operation(get_pull),
    "pulls/list-files": Operation(list_files),
    "pulls/create-review": Operation(create_review, PULLS),
    "pulls/list-reviews": Operation(list_reviews),
    "pulls/list-review-comments": Operation(list_review_comments),
    "pulls/update-review": Operation(update_review, PULLS),
    "pulls/update-review-comment": Operation(update_review_comment, PULLS),
    "pulls/delete-review-comment": Operation(delete_review_comment, PULLS),
    "repos/list-pull-requests-associated-with-commit": Operation(list_pulls_of_commit),
    "repos/create-commit-status": Operation(create_status, STATUSES),
    "repos/list-commit-statuses-for-ref": Operation(list_statuses),
}
