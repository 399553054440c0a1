"""The comment on a pull request that each run with the same comment id updates, also while it runs."""

from __future__ import annotations

import re
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from skillgym_action.github.api import Comment, GitHubError, parse_object, parse_pages
from skillgym_action.model.limits import COMMENT_CHARACTERS
from skillgym_action.reports.markdown.report import RunProgress
from skillgym_action.text.words import money

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.github.api import GitHubApi
    from skillgym_action.github.options import CommentMode
    from skillgym_action.model.result import Result

JOB_LOGIN = "github-actions[bot]"  # author of what is written with a job's own token
_RUN = re.compile(r"<!-- run: (\d{1,18})/\d{1,9} -->")
C = TypeVar("C", bound=Comment)


class StickyComment:
    """One comment for each marker, found by marker and author. Methods raise GitHubError.

    ``issue``: the path of the pull request as an issue, ``/repos/octo/skills/issues/7``. ``superseded_by``: the id of
    the later run that has written the comment; None: there is none. ``replaced``: the text that ``write`` replaces,
    also while it asks for the new one.
    """

    def __init__(self, api: GitHubApi, issue: str, *, marker: str, mode: CommentMode, run_id: int) -> None:
        self._api, self._issue, self._marker, self._mode, self._run_id = api, issue, marker, mode, run_id
        self._comments = f"{issue.rpartition('/issues/')[0]}/issues/comments"
        self._written: Comment | None = None
        self.superseded_by: int | None = None
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
        if self._is_superseded(found):
            return
        if found and not (self._mode == "recreate" and create):
            self._update(found[0], body)
            self._delete(found[1:])
        elif create:
            self._written = self._create(body)
            self._delete(found)
            if self._mode != "new":
                self._settle(self._written, body)

    def _settle(self, written: Comment, body: Callable[[int], str]) -> None:
        """Look again: another run may have created its comment at the same moment, and one of the two has to go.

        Of comments of this run the oldest stays, such as of the jobs of a matrix. Otherwise the oldest of all stays,
        or with ``recreate`` that of the latest run.
        """
        found: list[Comment] = []
        with suppress(GitHubError):  # the comment is there; the next run deletes a second one
            found = self._own(known=written)
        if len(found) < 2:  # noqa: PLR2004
            return
        latest = max(map(_run_of, found))
        stays = next(c for c in found if _run_of(c) == latest) if self._mode == "recreate" else found[0]
        if self._is_superseded(found):
            self._written = None
            self._delete([written] if stays.id != written.id else [])
            return
        if stays.id != written.id:
            self._update(stays, body)
        self._delete([comment for comment in found if comment.id != stays.id])

    def _write_again(self, written: Comment, body: Callable[[int], str], *, create: bool) -> None:
        """Update what this run wrote before, unless a later run has. A user may have deleted it."""
        try:
            current = parse_object(Comment, self._api.get(f"{self._comments}/{written.id}"))
            if not self._is_superseded([current]):
                self.replaced = current.body or ""
                self._update(written, body)
        except GitHubError as error:
            if error.status != 404:  # noqa: PLR2004
                raise
            self._written = self._create(body) if create else None

    def _own(self, known: Comment | None = None) -> list[Comment]:
        """Comments of this tool with the marker, the oldest first. Others may write the marker, too.

        ``known``: a comment whose author need not be asked for.
        """
        marked = [
            comment
            for comment in parse_pages(Comment, self._api.pages(f"{self._issue}/comments"))
            if (comment.body or "").startswith(self._marker)
        ]
        if [comment.id for comment in marked] == [known and known.id]:
            return marked
        return own_comments(self._api, marked)

    def _is_superseded(self, comments: list[Comment]) -> bool:
        """Whether a later run has written one of the comments, which is then left as it is."""
        latest = max(map(_run_of, comments), default=0)
        self.superseded_by = latest if latest > self._run_id else None
        return self.superseded_by is not None

    def _create(self, body: Callable[[int], str]) -> Comment:
        """Create the comment; if a reply got lost, it is looked for before it is written again."""
        parse = partial(parse_object, Comment)

        def send(text: str) -> Comment:
            return self._api.create(f"{self._issue}/comments", {"body": text}, parse, lambda: self._created(text))

        return _shortened(body, send)

    def _created(self, text: str) -> Comment | None:
        """The newest comment of this tool with exactly this text."""
        own = (comment for comment in reversed(self._own()) if _same_text(comment.body or "", text))
        return next(own, None)

    def _update(self, comment: Comment, body: Callable[[int], str]) -> None:
        path = f"{self._comments}/{comment.id}"
        self._written = _shortened(body, lambda text: parse_object(Comment, self._api.patch(path, {"body": text})))

    def _delete(self, comments: list[Comment]) -> None:
        """Delete comments. Errors are ignored: another run may delete the same ones."""
        for comment in comments:
            with suppress(GitHubError):
                self._api.delete(f"{self._comments}/{comment.id}")


def _run_of(comment: Comment) -> int:
    """The id of the run that wrote a comment; 0: it does not say."""
    run = _RUN.search((comment.body or "")[:500])
    return int(run[1]) if run else 0


def _same_text(one: str, other: str) -> bool:
    return one.split() == other.split()


def _shortened(body: Callable[[int], str], send: Callable[[str], Comment]) -> Comment:
    """Send the text, shortened until GitHub takes it, and return what GitHub stored."""
    for limit in COMMENT_CHARACTERS[:-1]:
        try:
            return send(body(limit))
        except GitHubError as error:
            if not error.is_too_long and error.status != 422:  # noqa: PLR2004
                raise
    return send(body(COMMENT_CHARACTERS[-1]))


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


class ProgressCounter:
    """Counts results from any thread. Calls ``write`` at once, then every ``period`` seconds if there are new results.

    ``budget``: US dollars that the run may spend. ``write`` must not raise.
    """

    def __init__(self, write: Callable[[RunProgress], None], *, budget: float | None, period: float) -> None:
        self._write, self._budget, self._period = write, budget, period
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._done = self._total = self._written = 0
        self._known_costs: list[float] = []
        self._is_cost_complete = True

    def planned(self, total: int) -> None:
        """Write ``0 of total`` before anything runs, then start the thread that writes the counts.

        Called again before a further stage of the run, which is counted on its own.
        """
        with self._lock:
            self._done, self._total = 0, total
        self._write(self._progress())
        if self._thread:
            return
        self._thread = threading.Thread(target=self._keep_writing, name="progress", daemon=True)
        self._thread.start()

    def finished(self, result: Result) -> None:
        with self._lock:
            self._done += 1
            if result.cost.usd is not None:
                self._known_costs.append(result.cost.usd)
            elif result.attempts:
                self._is_cost_complete = False

    def end(self) -> None:
        """Stop writing; nothing is written after this has returned."""
        self._ended.set()
        if self._thread:
            self._thread.join()

    def _keep_writing(self) -> None:
        while not self._ended.wait(self._period):
            if self._done != self._written:
                self._write(self._progress())

    def _progress(self) -> RunProgress:
        with self._lock:
            self._written = self._done
            spent = money(sum(self._known_costs), complete=self._is_cost_complete)
        of_budget = f" of {money(self._budget)}" if self._budget else ""
        return RunProgress(done=self._done, total=self._total, spent=spent + of_budget)
