"""Publishes a run on its pull request: a comment while it runs, then the report, review comments and a commit status.

Nothing here raises: what GitHub refuses becomes a note, and the verdict of the run does not change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.github.api_errors import GitHubError
from skillgym_action.github.comment import StickyComment
from skillgym_action.github.judged_commit import is_judged, other_commit, without_verdict
from skillgym_action.github.publish_log import PublishLog
from skillgym_action.github.pull_request import NoPullRequestError, PullRequest, find_pull_request
from skillgym_action.github.review import Review
from skillgym_action.github.running_comment import ProgressCounter
from skillgym_action.github.status import CommitStatus, status_context
from skillgym_action.limits import (
    GITHUB_SHARE_OF_THE_END,
    GITHUB_SHARE_OF_THE_STATUS,
    SECONDS_AFTER_CANCELLATION,
)
from skillgym_action.model.errors import ConfigError, Problem
from skillgym_action.reporters import markdown
from skillgym_action.reporters.markdown_early_end import early_end_comment
from skillgym_action.reporters.wording import RED
from skillgym_action.text.escaping import terminal_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.github.api import GitHubApi
    from skillgym_action.github.event import GitHubEvent
    from skillgym_action.github.publish_options import PublisherOptions
    from skillgym_action.model.early_end import EarlyEnd
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.reporters.markdown_excerpts import SessionExcerpts
    from skillgym_action.text.redaction import Redactor

EMPTY_TOKEN = Problem(
    message="nothing is written on GitHub: the input github-token is empty",
    remedy="check that the secret it names exists and is passed to this workflow; without the input, the job's own "
    "token is used",
)


class Publisher:
    """Observes a run (``services.Observer``) and publishes its progress, then its report.

    ``log`` takes a line for people; ``templates`` renders report templates of the user.
    """

    def __init__(
        self,
        api: GitHubApi,
        event: GitHubEvent,
        options: PublisherOptions,
        redactor: Redactor,
        log: Callable[[str], None],
        templates: markdown.Templates | None = None,
    ) -> None:
        self._api, self._event, self._options = api, event, options
        self._redactor, self._log, self._templates = redactor, log, templates
        self._hidden: markdown.HiddenLines = {"comment_id": options.comment_id, "run_key": event.run_key}
        self._links = event.links()
        self._run = self._links.run
        self._progress = ProgressCounter(self._write_progress, budget=options.budget, period=options.period)
        self._notes: dict[str, Problem] = {}
        self._given_up: set[str] = set()
        self._forbidden = self._began = self._ended = False
        self._excerpts: SessionExcerpts | None = None
        self._pull: PullRequest | None = None
        self._comment: StickyComment | None = None
        self._status: CommitStatus | None = None

    # --- while it runs ------------------------------------------------------------------------------

    def planned(self, total: int) -> None:
        """Write the first comment; a token without permissions is reported before agents cost money."""
        is_first, self._began = not self._began, True
        self._api.retry_budget.waits = False  # neither agents nor the end of the run should wait for GitHub
        self._api.retry_budget.reserve(GITHUB_SHARE_OF_THE_END)
        self._find_targets()
        if is_first and (status := self._status):
            self._attempt("status", status.pending)
        if self._comment:
            self._progress.planned(total)

    def started(self, execution: Execution) -> None:
        """Do nothing: the comment counts results only."""

    def finished(self, result: Result) -> None:
        """Count a result for the comment."""
        self._progress.finished(result)

    def _write_progress(self, progress: markdown.RunProgress) -> None:
        self._write_comment(replace(progress, run=self._run), create=self._options.comment_when == "always")

    # --- at its end ---------------------------------------------------------------------------------

    def publish(self, report: RunReport, excerpts: SessionExcerpts | None = None) -> PublishLog:
        """Write the report. The comment comes first, as it has most readers and time may run out.

        ``excerpts``: what the comment quotes of sessions.
        """
        self._excerpts = excerpts
        self._ended = True
        self._progress.end()
        budget = self._api.retry_budget
        budget.waits = True
        budget.reserve(GITHUB_SHARE_OF_THE_STATUS if _wants_status(self._options, self._event) else 0)
        self._find_targets()
        warning = self._other_commit(report)
        shown = without_verdict(report, warning) if warning else report
        self._write_comment(shown, create=self._creates_comment(shown))
        budget.reserve(0)
        if status := self._status:
            self._attempt("status", lambda: status.judged_other(report.commit) if warning else status.decided(report))
        superseded = self._comment and self._comment.superseded_by
        if self._pull and self._options.review_comments and not (report.cancelled or warning or superseded):
            marker = markdown.marker(self._options.comment_id)
            review = Review(self._api, self._event.repository, self._pull, marker=marker)
            self._attempt("review", lambda: review.update(report))
        return self._published(*filter(None, (warning,)))

    def publish_early_end(self, end: EarlyEnd, *, creates: bool) -> PublishLog:
        """Write that the run ended without a report. ``creates``: write a comment also where there is none yet."""
        self._ended = True
        if publishes_anything(self._options, self._event):
            self._find_targets()
        if comment := self._comment:
            links, hidden = replace(self._links, commit=self._sha), self._hidden

            def body(limit: int) -> str:
                text = early_end_comment(end, comment.replaced, links=links, limit=limit, **hidden)
                return self._redactor.text(text)

            self._attempt("comment", lambda: comment.write(body, create=creates))
        if status := self._status:
            self._attempt("status", lambda: status.ended_early(end))
        return self._published()

    def _published(self, *warnings: Problem) -> PublishLog:
        written = self._comment.written if self._comment else None
        return PublishLog(
            comment_url=written.html_url if written else "",
            comment_id=str(written.id) if written else "",
            notes=tuple(self._notes.values()),
            warnings=warnings,
            permissions=required_permissions(self._options, self._event) if self._forbidden else "",
        )

    def close(self) -> None:
        """Mark the comment and the status of a run that ended without a report, so that they do not look running."""
        if self._ended:
            return
        self._progress.end()
        self._api.retry_budget.reserve(0)
        self._api.retry_budget.end_within(SECONDS_AFTER_CANCELLATION)
        if self._comment and self._comment.written:
            self._write_comment(markdown.RunProgress(run=self._run, ended=True), create=False)
        if status := self._status:
            self._attempt("status", status.unfinished)

    def _write_comment(self, run: RunReport | markdown.RunProgress, *, create: bool) -> None:
        """Write the comment; ``create``: also where there is none yet."""
        if comment := self._comment:
            self._attempt("comment", lambda: comment.write(lambda limit: self._rendered(run, limit), create=create))
            if comment.superseded_by:
                later = self._event.run_address(comment.superseded_by)
                self._notes["comment"] = Problem(message=f"the comment is left as a later run has written it: {later}")

    def _rendered(self, run: RunReport | markdown.RunProgress, limit: int) -> str:
        """Markdown of the user's templates, or of the packaged ones when those fail: ``publish`` reports the error."""
        hidden: markdown.HiddenLines = {**self._hidden, "commit": self._sha}
        try:
            pieces = [*markdown.comment(run, templates=self._templates, excerpts=self._excerpts, limit=limit, **hidden)]
        except ConfigError:
            pieces = [*markdown.comment(run, excerpts=self._excerpts, limit=limit, **hidden)]
        return self._redactor.text("".join(pieces))

    def _creates_comment(self, report: RunReport) -> bool:
        """Whether to create a comment if there is none yet."""
        if self._options.comment_when == "always":
            return True
        red = any(result.status in RED for result in report.results) or not (report.decision and report.decision.passed)
        if self._options.comment_when == "changes" and report.comparison:
            return report.comparison.has_news
        return red

    # --- what is written to, and what could not be ------------------------------------------------------

    @property
    def _sha(self) -> str | None:
        """The commit that the run reports on, if it is known."""
        return self._event.head.sha if self._event.head else self._pull.head_sha if self._pull else None

    def _find_targets(self) -> None:
        """Find the pull request, and prepare the comment and the status. What failed at the start is tried again."""
        if not self._api.has_token:
            if publishes_anything(self._options, self._event):
                self._give_up("token", EMPTY_TOKEN)
            return
        repository, options = self._event.repository, self._options
        if self._pull is None:
            self._attempt("pull request", self._find_pull_request)
        if self._pull and self._comment is None and options.comment != "off":
            issue = f"/repos/{repository}/issues/{self._pull.number}"
            marker, run = markdown.marker(options.comment_id), self._event.run_id
            self._comment = StickyComment(self._api, issue, marker=marker, mode=options.comment, run_id=run)
        if (sha := self._sha) and self._status is None and _wants_status(options, self._event):
            name = status_context(options.comment_id)
            self._status = CommitStatus(self._api, repository, sha, context=name, run=self._run)

    def _other_commit(self, report: RunReport) -> Problem | None:
        """The warning that another commit was judged than the one that comment and status stand for."""
        head = self._sha
        is_shown = self._comment or self._status or (self._pull and self._options.review_comments)
        if head is None or not is_shown or is_judged(report, self._event, head):
            return None
        return other_commit(report, self._event, head, stored=not self._began)

    def _find_pull_request(self) -> None:
        self._pull = find_pull_request(self._api, self._event)

    def _attempt(self, part: str, action: Callable[[], object]) -> None:
        """Run ``action``; an error becomes the note of ``part``, until a later attempt. Some errors are final."""
        if part in self._given_up:
            return
        self._notes.pop(part, None)
        try:
            action()
        except NoPullRequestError as error:
            if not error.unexpected:
                self._given_up.add(part)
                return
            self._give_up(part, Problem(message=f"nothing is written on a pull request: {error}"))
        except GitHubError as error:
            (problem,) = error.problems
            note = replace(problem, message=f"the {part}: {problem.message}")
            self._notes[part] = note
            if error.is_read_only:
                self._forbidden = True
                if reason := self._event.read_only_reason:
                    note = replace(note, remedy=f"{reason}: {self._event.read_only_remedy}")
                self._give_up(part, note, required_permissions(self._options, self._event))

    def _give_up(self, part: str, note: Problem, remedy: str = "") -> None:
        """Log the note at once, as agents may not have started yet; ``part`` is not attempted again."""
        if part not in self._given_up:
            self._given_up.add(part)
            self._notes[part] = note
            self._log("\n".join(filter(None, (f"note: {terminal_line(str(note))}", remedy))))


def _wants_status(options: PublisherOptions, event: GitHubEvent) -> bool:
    return options.status == "on" or (options.status == "auto" and event.detached)


def publishes_anything(options: PublisherOptions, event: GitHubEvent) -> bool:
    """Whether a run with these options writes on GitHub at all."""
    return options.comment != "off" or options.review_comments or _wants_status(options, event)


def required_permissions(options: PublisherOptions, event: GitHubEvent) -> str:
    """Return the permissions that a job with these options needs, as YAML to copy into its workflow."""
    lines = ["permissions:", "  contents: read"]
    if event.detached:
        lines.append("  actions: read")
    if options.comment != "off" or options.review_comments:
        lines.append("  pull-requests: write")
    if _wants_status(options, event):
        lines.append("  statuses: write")
    return "\n".join(lines)
