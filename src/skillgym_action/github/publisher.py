"""A run and its pull request: a comment while it runs, then the report, review comments and the commit status.

Nothing here raises: what GitHub refuses becomes a note, and the run's verdict stays what it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.github.api_errors import GitHubError
from skillgym_action.github.comment import StickyComment
from skillgym_action.github.publish_log import Told
from skillgym_action.github.pull_request import NoPullRequestError, PullRequest, pull_request
from skillgym_action.github.review import Review
from skillgym_action.github.running_comment import Progress
from skillgym_action.github.status import CommitStatus, context
from skillgym_action.limits import SECONDS_AFTER_CANCELLATION
from skillgym_action.model.errors import ConfigError, Problem
from skillgym_action.reporters import markdown
from skillgym_action.reporters.wording import RED
from skillgym_action.text.escaping import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.github.api import GitHubApi
    from skillgym_action.github.event import GitHubEvent
    from skillgym_action.github.publish_options import PublisherOptions
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.text.redaction import Redactor

TWO_PHASES = "let a second workflow report what this one ran (mode: report)"


class Publisher:
    """Watches a run (``services.Observer``), and tells how it ended."""

    def __init__(
        self,
        api: GitHubApi,
        event: GitHubEvent,
        options: PublisherOptions,
        redactor: Redactor,
        say: Callable[[str], None],
        templates: markdown.Templates | None = None,
    ) -> None:
        """``say`` takes a line for people; ``templates`` renders report templates of the user's."""
        self._api, self._event, self._options = api, event, options
        self._redactor, self._say, self._templates = redactor, say, templates
        self._run = event.links().run
        self._hidden: markdown.Hidden = {"comment_id": options.comment_id, "run_key": event.run_key}
        self._progress = Progress(self._running, budget=options.budget, period=options.period)
        self._notes: dict[str, Problem] = {}
        self._given_up: set[str] = set()
        self._forbidden = self._ended = False
        self._pull: PullRequest | None = None
        self._comment: StickyComment | None = None
        self._status: CommitStatus | None = None

    # --- while it runs ------------------------------------------------------------------------------

    def planned(self, total: int) -> None:
        """That many results will come. The first thing that is written, so that a token that cannot is known by now."""
        self._api.retry_budget.waits = False  # neither agents nor the end of the run have to
        self._open()
        if self._comment:
            self._progress.planned(total)

    def started(self, execution: Execution) -> None:
        """An execution has begun."""

    def finished(self, result: Result) -> None:
        """An execution has a result."""
        self._progress.finished(result)

    def _running(self, done: int, total: int, spent: str) -> None:
        body = self._with_templates(
            lambda templates: markdown.running(
                done=done, total=total, spent=spent, run=self._run, templates=templates, **self._hidden
            )
        )
        if comment := self._comment:
            create = self._options.comment_when == "always"
            self._try("comment", lambda: comment.show(lambda _: body, create=create))

    # --- at its end ---------------------------------------------------------------------------------

    def tell(self, report: RunReport) -> Told:
        """Write what there is to say. The comment comes first: it is what people look at."""
        self._ended = True
        self._progress.end()
        self._api.retry_budget.waits = True
        self._open()
        if comment := self._comment:
            wanted = self._wanted(report)
            self._try("comment", lambda: comment.show(lambda limit: self._body(report, limit), create=wanted))
        if status := self._status:
            self._try("status", lambda: status.decided(report))
        if self._pull and self._options.review_comments and not report.cancelled:
            marker = markdown.marker(self._options.comment_id)
            review = Review(self._api, self._event.repository, self._pull, marker=marker)
            self._try("review", lambda: review.show(report))
        shown = self._comment.shown if self._comment else None
        return Told(
            comment_url=shown.html_url if shown else "",
            comment_id=str(shown.id) if shown else "",
            notes=tuple(self._notes.values()),
            permissions=permissions(self._options, self._event) if self._forbidden else "",
        )

    def close(self) -> None:
        """Whatever ended the run before its report: nothing on GitHub says any more that it goes on."""
        if self._ended:
            return
        self._progress.end()
        self._api.retry_budget.end_within(SECONDS_AFTER_CANCELLATION)
        body = self._with_templates(
            lambda templates: markdown.unfinished(run=self._run, templates=templates, **self._hidden)
        )
        if (comment := self._comment) and comment.shown:
            self._try("comment", lambda: comment.show(lambda _: body, create=False))
        if status := self._status:
            self._try("status", status.unfinished)

    def _body(self, report: RunReport, limit: int) -> str:
        return self._with_templates(
            lambda templates: "".join(markdown.comment(report, templates=templates, limit=limit, **self._hidden))
        )

    def _with_templates(self, rendered: Callable[[markdown.Templates | None], str]) -> str:
        """With the user's report templates, or, when those do not work, with ours: who writes the files says so."""
        try:
            return self._redactor.text(rendered(self._templates))
        except ConfigError:
            return self._redactor.text(rendered(None))

    def _wanted(self, report: RunReport) -> bool:
        """Whether there is something to say where nothing has been said yet."""
        if self._options.comment_when == "always":
            return True
        red = any(result.status in RED for result in report.results) or not (report.decision and report.decision.passed)
        if self._options.comment_when == "changes" and report.comparison:
            return report.comparison.changed
        return red

    # --- doors ------------------------------------------------------------------------------------------

    def _open(self) -> None:
        """What could not be found out at the beginning is asked again at the end."""
        if reason := self._event.read_only:
            self._give_up("token", Problem(message=f"nothing is written on GitHub: {reason}", remedy=TWO_PHASES))
            return
        repository, options = self._event.repository, self._options
        if self._pull is None:
            self._try("pull request", self._find_pull_request)
        if self._pull and self._comment is None and options.comment != "off":
            issue = f"/repos/{repository}/issues/{self._pull.number}"
            marker, run = markdown.marker(options.comment_id), self._event.run_id
            self._comment = StickyComment(self._api, issue, marker=marker, mode=options.comment, run_id=run)
        sha = self._event.head.sha if self._event.head else self._pull.head_sha if self._pull else None
        if sha and self._status is None and _wants_status(options, self._event):
            name = context(options.comment_id)
            status = self._status = CommitStatus(self._api, repository, sha, context=name, run=self._run)
            self._try("status", status.pending)

    def _find_pull_request(self) -> None:
        self._pull = pull_request(self._api, self._event)

    def _try(self, part: str, action: Callable[[], object]) -> None:
        """Each part stands for itself, and its last try counts; what cannot be is not tried again."""
        if part in self._given_up:
            return
        self._notes.pop(part, None)
        try:
            action()
        except NoPullRequestError as error:
            if not error.surprising:
                self._given_up.add(part)
                return
            self._give_up(part, Problem(message=f"nothing is written on a pull request: {error}"))
        except GitHubError as error:
            (problem,) = error.problems
            note = replace(problem, message=f"the {part}: {problem.message}")
            self._notes[part] = note
            if error.is_read_only:
                self._forbidden = True
                self._give_up(part, note, permissions(self._options, self._event))

    def _give_up(self, part: str, note: Problem, remedy: str = "") -> None:
        """Told at once, since it may be before agents start and cost money."""
        if part not in self._given_up:
            self._given_up.add(part)
            self._notes[part] = note
            self._say("\n".join(filter(None, (f"note: {plain(str(note))}", remedy))))


def _wants_status(options: PublisherOptions, event: GitHubEvent) -> bool:
    return options.status == "on" or (options.status == "auto" and event.detached)


def permissions(options: PublisherOptions, event: GitHubEvent) -> str:
    """What a job that reports in this way must be allowed, as YAML to copy into its workflow."""
    lines = ["permissions:", "  contents: read"]
    if event.detached:
        lines.append("  actions: read")
    if options.comment != "off" or options.review_comments:
        lines.append("  pull-requests: write")
    if _wants_status(options, event):
        lines.append("  statuses: write")
    return "\n".join(lines)
