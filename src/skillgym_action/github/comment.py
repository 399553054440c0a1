"""The comment on a pull request that every run with the same id keeps up to date."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.github.api_errors import GitHubError
from skillgym_action.github.replies import Comment, each, parsed, written_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.github.api import GitHubApi
    from skillgym_action.github.publish_options import CommentMode

# Characters. GitHub's limit is not what its message says, and not the same everywhere: the next step is smaller.
LADDER = (65_000, 30_000, 8_000, 2_000, 500)
JOBS_OWN = "github-actions[bot]"  # who a job's own token writes as
_RUN = re.compile(r"<!-- run: (\d{1,18})/\d{1,9} -->")


class StickyComment:
    """One comment for each marker, found by marker and author. Every method may raise GitHubError."""

    def __init__(self, api: GitHubApi, issue: str, *, marker: str, mode: CommentMode, run_id: int) -> None:
        """``issue``: the path of the pull request as an issue, ``/repos/octo/skills/issues/7``."""
        self._api, self._issue, self._marker, self._mode, self._run_id = api, issue, marker, mode, run_id
        self._comments = f"{issue.rpartition('/issues/')[0]}/issues/comments"
        self._shown: Comment | None = None
        self.superseded = False

    @property
    def shown(self) -> Comment | None:
        """The comment, once it is written."""
        return self._shown

    def show(self, body: Callable[[int], str], *, create: bool) -> None:
        """Write what ``body`` makes of a number of characters; ``create``: also where there is no comment yet.

        An existing comment is always written, since one that stays behind tells something that is not so any more;
        unless a later run wrote it: then nothing is written, and ``superseded`` says so.
        """
        if self._shown:
            self._write_again(self._shown, body, create=create)
            return
        found = [] if self._mode == "new" else self._own()
        if any(self._later(comment) for comment in found):
            self.superseded = True
        elif found and not (self._mode == "recreate" and create):
            self._shown = self._written("PATCH", f"{self._comments}/{found[0].id}", body)
            self._delete(found[1:])
        elif create:
            self._shown = self._written("POST", f"{self._issue}/comments", body)
            self._delete(found)

    def _write_again(self, shown: Comment, body: Callable[[int], str], *, create: bool) -> None:
        """What this run wrote before may have been written over, or deleted, since."""
        try:
            if self._later(parsed(Comment, self._api.get(f"{self._comments}/{shown.id}"))):
                self.superseded = True
                return
            self._shown = self._written("PATCH", f"{self._comments}/{shown.id}", body)
        except GitHubError as error:
            if error.status != 404:  # noqa: PLR2004
                raise
            self._shown = self._written("POST", f"{self._issue}/comments", body) if create else None

    def _own(self) -> list[Comment]:
        """Ours, the oldest first. Others may write the marker, too."""
        marked = [
            comment
            for comment in each(Comment, self._api.pages(f"{self._issue}/comments"))
            if (comment.body or "").startswith(self._marker)
        ]
        if not marked:
            return []
        me = self._api.viewer() or JOBS_OWN
        return [comment for comment in marked if written_by(me, comment)]

    def _later(self, comment: Comment) -> bool:
        written = _RUN.search((comment.body or "")[:500])
        return written is not None and int(written[1]) > self._run_id

    def _written(self, method: str, path: str, body: Callable[[int], str]) -> Comment:
        """The comment as GitHub keeps it, as large as it takes it."""
        send = self._api.post if method == "POST" else self._api.patch
        for limit in LADDER[:-1]:
            try:
                return parsed(Comment, send(path, {"body": body(limit)}))
            except GitHubError as error:
                if not error.is_too_long and error.status != 422:  # noqa: PLR2004
                    raise
        return parsed(Comment, send(path, {"body": body(LADDER[-1])}))

    def _delete(self, comments: list[Comment]) -> None:
        """What another run deletes at the same time is deleted."""
        for comment in comments:
            with suppress(GitHubError):
                self._api.delete(f"{self._comments}/{comment.id}")
