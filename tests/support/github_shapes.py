"""What the fake GitHub's replies look like: the least that GitHub's description asks for, and what we know on top."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

from github_contract import contract
from github_state import BOT, ChangedFile, Comment, PullRequest, Repository, Review, ReviewComment, Status

HTML = "https://github.com"
BOT_ID = 41_898_282
Item = PullRequest | ChangedFile | Comment | Review | ReviewComment | Status


@dataclass(frozen=True)
class Shapes:
    """``api`` is the address under which the repository is served, ``…/repos/owner/name``."""

    repository: Repository
    api: str

    def shape(self, item: Item) -> dict[str, Any]:
        match item:
            case PullRequest():
                return self.pull(item)
            case ChangedFile():
                return self.file(item)
            case Comment():
                return self.comment(item)
            case Review():
                return self.review(item)
            case ReviewComment():
                return self.review_comment(item)
            case Status():
                return self.status(item)

    def comment(self, comment: Comment) -> dict[str, Any]:
        return contract().least("issue-comment") | {
            "id": comment.id,
            "body": comment.body,
            "user": user(comment.author),
            "url": f"{self.api}/issues/comments/{comment.id}",
            "issue_url": f"{self.api}/issues/{comment.pull}",
            "html_url": f"{self._html(comment.pull)}#issuecomment-{comment.id}",
            "created_at": comment.created_at,
            "updated_at": comment.updated_at,
        }

    def pull(self, pull: PullRequest, schema: str = "pull-request-simple") -> dict[str, Any]:
        url = f"{self.api}/pulls/{pull.number}"
        return contract().least(schema) | {
            "id": pull.number,
            "number": pull.number,
            "state": pull.state,
            "user": user(pull.author),
            "url": url,
            "html_url": self._html(pull.number),
            "issue_url": f"{self.api}/issues/{pull.number}",
            "comments_url": f"{self.api}/issues/{pull.number}/comments",
            "statuses_url": f"{self.api}/statuses/{pull.head_sha}",
            "merge_commit_sha": pull.merged_as,
            "merged_at": "2026-01-02T00:00:00Z" if pull.merged_as else None,
            "head": branch(pull.head_repository, pull.head_branch, pull.head_sha),
            "base": branch(self.repository.name, pull.base_branch, "0" * 40),
        }

    def whole_pull(self, pull: PullRequest) -> dict[str, Any]:
        return self.pull(pull, "pull-request") | {
            "merged": pull.merged_as is not None,
            "changed_files": len(pull.files),
            "commits": len(pull.shas),
            "comments": sum(comment.pull == pull.number for comment in self.repository.comments.values()),
            "review_comments": len(self.repository.submitted_review_comments(pull.number)),
        }

    def file(self, file: ChangedFile) -> dict[str, Any]:
        shape = contract().least("diff-entry") | {"filename": file.path, "status": file.status}
        return shape if file.patch is None else {**shape, "patch": file.patch}

    def review(self, review: Review) -> dict[str, Any]:
        shape = contract().least("pull-request-review") | {
            "id": review.id,
            "user": user(review.author),
            "body": review.body,
            "state": review.state,
            "commit_id": review.commit,
            "html_url": f"{self._html(review.pull)}#pullrequestreview-{review.id}",
            "pull_request_url": f"{self.api}/pulls/{review.pull}",
        }
        return shape if review.state == "PENDING" else {**shape, "submitted_at": review.created_at}

    def review_comment(self, comment: ReviewComment) -> dict[str, Any]:
        """A comment whose line the pull request no longer shows is outdated: it is on no line, of an old commit."""
        pull = self.repository.pulls[comment.pull]
        outdated = not pull.shows(comment.path, comment.line, comment.side)
        shape = contract().least("pull-request-review-comment") | {
            "id": comment.id,
            "pull_request_review_id": comment.review,
            "user": user(comment.author),
            "body": comment.body,
            "path": comment.path,
            "line": None if outdated else comment.line,
            "original_line": comment.line,
            "side": comment.side,
            "subject_type": "line",
            "commit_id": comment.commit if outdated else pull.head_sha,
            "original_commit_id": comment.commit,
            "url": f"{self.api}/pulls/comments/{comment.id}",
            "html_url": f"{self._html(comment.pull)}#discussion_r{comment.id}",
            "pull_request_url": f"{self.api}/pulls/{comment.pull}",
            "created_at": comment.created_at,
            "updated_at": comment.updated_at,
        }
        return shape if comment.in_reply_to is None else {**shape, "in_reply_to_id": comment.in_reply_to}

    def status(self, status: Status) -> dict[str, Any]:
        return contract().least("status") | {
            "id": status.id,
            "state": status.state,
            "context": status.context,
            "description": status.description,
            "target_url": status.target_url,
            "creator": user(status.author),
            "url": f"{self.api}/statuses/{status.sha}",
            "created_at": status.created_at,
            "updated_at": status.created_at,
        }

    def _html(self, pull: int) -> str:
        return f"{HTML}/{self.repository.name}/pull/{pull}"


def user(login: str) -> dict[str, Any]:
    return contract().least("simple-user") | {
        "login": login,
        "id": BOT_ID if login == BOT else zlib.crc32(login.encode()),
        "type": "Bot" if login.endswith("[bot]") else "User",
        "html_url": f"{HTML}/apps/{login.removesuffix('[bot]')}" if login.endswith("[bot]") else f"{HTML}/{login}",
    }


def branch(repository: str, name: str, sha: str) -> dict[str, Any]:
    """A pull request's head or base."""
    owner, _, short_name = repository.partition("/")
    repo = contract().least("repository") | {
        "id": zlib.crc32(repository.encode()),
        "name": short_name,
        "full_name": repository,
        "owner": user(owner),
        "html_url": f"{HTML}/{repository}",
    }
    return {"label": f"{owner}:{name}", "ref": name, "sha": sha, "repo": repo, "user": user(owner)}
