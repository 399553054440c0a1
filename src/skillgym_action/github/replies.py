"""What is read of GitHub's replies; the rest of them is not looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from skillgym_action.github.api_errors import GitHubError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class User(_Reply):
    """Who wrote something; ``type`` is ``User``, ``Bot`` or ``Organization``."""

    login: str
    type: str = "User"


class Comment(_Reply):
    """A comment of a pull request's conversation."""

    id: int
    html_url: str = ""
    body: str | None = None
    user: User | None = None


class ReviewComment(Comment):
    """A comment on a line of a diff; ``line`` is None once the diff has no such line any more."""

    path: str
    line: int | None = None
    in_reply_to_id: int | None = None


class _Repository(_Reply):
    full_name: str


class _Head(_Reply):
    sha: str
    repo: _Repository | None = None


class Pull(_Reply):
    """A pull request."""

    number: int
    state: str
    head: _Head


class ChangedFile(_Reply):
    """A file that a pull request changes; without ``patch`` when it is binary or too large."""

    filename: str
    patch: str | None = None


R = TypeVar("R", bound=_Reply)


def parsed(kind: type[R], reply: object) -> R:
    """The reply as a value. Raises GitHubError."""
    try:
        return kind.model_validate(reply)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise GitHubError(f"{where}: {first['msg']}", operation=f"GitHub's reply is no {kind.__name__}") from error


def each(kind: type[R], pages: Iterable[Sequence[object]]) -> Iterator[R]:
    """The entries of all pages. Raises GitHubError."""
    for page in pages:
        for entry in page:
            yield parsed(kind, entry)


def written_by(me: str, comment: Comment) -> bool:
    """Whether ``me`` wrote it. GraphQL names an app's user without the ``[bot]`` that REST puts behind it."""
    user = comment.user
    return user is not None and (user.login == me or (user.type == "Bot" and user.login == f"{me}[bot]"))
