"""Objects of GitHub's API, with the fields that are used; all other fields are ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from skillgym_action.github.api_errors import GitHubError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class _ApiObject(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class User(_ApiObject):
    """An author. ``type`` is ``User``, ``Bot`` or ``Organization``."""

    login: str
    type: str = "User"


class Comment(_ApiObject):
    """A comment of a pull request, not of its diff."""

    id: int
    html_url: str = ""
    body: str | None = None
    user: User | None = None


class ReviewComment(Comment):
    """A comment on a line of a diff. ``line`` is None once the diff no longer has that line."""

    path: str
    line: int | None = None
    pull_request_review_id: int | None = None
    in_reply_to_id: int | None = None


class SubmittedReview(Comment):
    """A review: its own text, without the comments on lines."""


class _Repository(_ApiObject):
    full_name: str


class _Head(_ApiObject):
    sha: str
    repo: _Repository | None = None


class Pull(_ApiObject):
    """A pull request."""

    number: int
    state: str
    head: _Head


class ChangedFile(_ApiObject):
    """A file that a pull request changes. ``patch`` is None for a file that is binary or too large."""

    filename: str
    patch: str | None = None


class ApiRun(_ApiObject):
    """A workflow run. ``head_repository``: where its commit was pushed; None once that is deleted."""

    id: int
    event: str
    conclusion: str | None = None
    head_branch: str | None = None
    head_sha: str
    head_repository: _Repository | None = None

    def is_of(self, repository: str, branch: str) -> bool:
        """Whether it ran for a commit of a branch of the repository itself."""
        owner = self.head_repository.full_name if self.head_repository else ""
        return owner.lower() == repository.lower() and self.head_branch == branch


class ApiArtifact(_ApiObject):
    """An artifact of a workflow run."""

    id: int
    name: str
    expired: bool = False


R = TypeVar("R", bound=_ApiObject)


def parse_object(kind: type[R], reply: object) -> R:
    """Validate an object of a reply. Raises GitHubError, whose outcome is unknown: GitHub may have created it."""
    try:
        return kind.model_validate(reply)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        failed = GitHubError(f"{where}: {first['msg']}", operation=f"GitHub's reply is not a {kind.__name__}")
        failed.outcome_unknown = True
        raise failed from error


def parse_pages(kind: type[R], pages: Iterable[Sequence[object]]) -> Iterator[R]:
    """Validate the entries of all pages. Raises GitHubError."""
    for page in pages:
        for entry in page:
            yield parse_object(kind, entry)
