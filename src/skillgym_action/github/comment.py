"""The comment on a pull request that each run with the same comment id updates."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from skillgym_action.github.api_errors import GitHubError
from skillgym_action.github.api_objects import Comment, parse_object, parse_pages
from skillgym_action.limits import COMMENT_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.github.api import GitHubApi
    from skillgym_action.github.publish_options import CommentMode

JOB_LOGIN = "github-actions[bot]"  # author of what is written with a job's own token
_RUN = re.compile(r"<!-- run: (\d{1,18})/\d{1,9} -->")
C = TypeVar("C", bound=Comment)


class StickyComment:
    """One comment for each marker, found by marker and author. Methods raise GitHubError.

    ``issue``: the path of the pull request as an issue, ``/repos/octo/skills/issues/7``. ``superseded``: a later run
    has written the comment. ``replaced``: the text that ``write`` replaces, also while it asks for the new one.
    """

    def __init__(self, api: GitHubApi, issue: str, *, marker: str, mode: CommentMode, run_id: int) -> None:
        self._api, self._issue, self._marker, self._mode, self._run_id = api, issue, marker, mode, run_id
        self._comments = f"{issue.rpartition('/issues/')[0]}/issues/comments"
        self._written: Comment | None = None
        self.superseded = False
        self.replaced = ""

    @property
    def written(self) -> Comment | None:
        """The comment as this run wrote it last."""
        return self._written

    def write(self, body: Callable[[int], str], *, create: bool) -> None:
        """Update the comment, or create it if ``create`` is true. ``body`` returns the text for a limit of characters.

        An existing comment is always updated, since its content is out of date; but one of a later run is not.
        """
        if self._written:
            self._write_again(self._written, body, create=create)
            return
        found = [] if self._mode == "new" else self._own()
        self.replaced = (found[0].body or "") if found else ""
        if any(self._is_of_later_run(comment) for comment in found):
            self.superseded = True
        elif found and not (self._mode == "recreate" and create):
            self._written = self._send("PATCH", f"{self._comments}/{found[0].id}", body)
            self._delete(found[1:])
        elif create:
            self._written = self._send("POST", f"{self._issue}/comments", body)
            self._delete(found)

    def _write_again(self, written: Comment, body: Callable[[int], str], *, create: bool) -> None:
        """Update what this run wrote before, unless a later run has. A user may have deleted it."""
        try:
            current = parse_object(Comment, self._api.get(f"{self._comments}/{written.id}"))
            if self._is_of_later_run(current):
                self.superseded = True
                return
            self.replaced = current.body or ""
            self._written = self._send("PATCH", f"{self._comments}/{written.id}", body)
        except GitHubError as error:
            if error.status != 404:  # noqa: PLR2004
                raise
            self._written = self._send("POST", f"{self._issue}/comments", body) if create else None

    def _own(self) -> list[Comment]:
        """Comments of this tool with the marker, the oldest first. Others may write the marker, too."""
        marked = [
            comment
            for comment in parse_pages(Comment, self._api.pages(f"{self._issue}/comments"))
            if (comment.body or "").startswith(self._marker)
        ]
        return own_comments(self._api, marked)

    def _is_of_later_run(self, comment: Comment) -> bool:
        run = _RUN.search((comment.body or "")[:500])
        return run is not None and int(run[1]) > self._run_id

    def _send(self, method: str, path: str, body: Callable[[int], str]) -> Comment:
        """Send the comment, shortened until GitHub takes it, and return what GitHub stored."""
        send = self._api.post if method == "POST" else self._api.patch
        for limit in COMMENT_CHARACTERS[:-1]:
            try:
                return parse_object(Comment, send(path, {"body": body(limit)}))
            except GitHubError as error:
                if not error.is_too_long and error.status != 422:  # noqa: PLR2004
                    raise
        return parse_object(Comment, send(path, {"body": body(COMMENT_CHARACTERS[-1])}))

    def _delete(self, comments: list[Comment]) -> None:
        """Delete comments. Errors are ignored: another run may delete the same ones."""
        for comment in comments:
            with suppress(GitHubError):
                self._api.delete(f"{self._comments}/{comment.id}")


def own_comments(api: GitHubApi, comments: list[C]) -> list[C]:
    """The comments that were written with this token. Raises GitHubError."""
    if not comments:
        return []
    login = api.viewer() or JOB_LOGIN
    return [comment for comment in comments if _is_author(login, comment)]


def _is_author(login: str, comment: Comment) -> bool:
    """Whether ``login`` wrote it. GraphQL returns an app's login without the ``[bot]`` that REST appends to it."""
    user = comment.user
    return user is not None and (user.login == login or (user.type == "Bot" and user.login == f"{login}[bot]"))
