"""Publishes a run on its pull request: a comment while it runs, then the report, review comments and a status.

Nothing here raises: what GitHub refuses becomes a note, and the verdict of the run does not change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.github.api import GitHubError
from skillgym_action.github.comment import ProgressCounter, StickyComment
from skillgym_action.github.publish_log import PublishLog
from skillgym_action.github.review import NoPullRequestError, PullRequest, Review, find_pull_request
from skillgym_action.model.errors import ConfigError, Problem
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.limits import COMMIT_CHARACTERS, SECONDS_AFTER_CANCELLATION
from skillgym_action.model.report import Decision
from skillgym_action.model.verdicts import RED
from skillgym_action.reports.markdown import report as markdown
from skillgym_action.reports.markdown.run_without_report import run_without_report_comment
from skillgym_action.reports.wording.first_glance import FirstGlance
from skillgym_action.reports.wording.results import is_unverified
from skillgym_action.text.escaping import clipped, terminal_line
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.github.api import GitHubApi
    from skillgym_action.github.event import GitHubEvent
    from skillgym_action.github.options import PublisherOptions
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.report import RunReport, RunWithoutReport
    from skillgym_action.model.result import Result
    from skillgym_action.reports.markdown.rows import SessionExcerpts
    from skillgym_action.text.redaction import Redactor

GITHUB_SHARE_OF_THE_END = 0.5  # of those, kept for the end of the run while it goes on
GITHUB_SHARE_OF_THE_STATUS = 0.25  # of those, kept for the final status while the comment is written
MAX_STATUS_CHARACTERS = 140  # GitHub takes no longer description of a commit status
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
        unreviewed = report.cancelled or warning or superseded or is_unverified(report)
        if self._pull and self._options.review_comments and not unreviewed:
            marker = markdown.marker(self._options.comment_id)
            review = Review(self._api, self._event.repository, self._pull, marker=marker)
            self._attempt("review", lambda: review.update(report))
        return self._published(*filter(None, (warning,)))

    def publish_run_without_report(self, end: RunWithoutReport, *, creates: bool) -> PublishLog:
        """Write that the run ended without a report. ``creates``: write a comment also where there is none yet."""
        self._ended = True
        if publishes_anything(self._options, self._event):
            self._find_targets()
        if comment := self._comment:
            links, hidden = replace(self._links, commit=self._sha), self._hidden

            def body(limit: int) -> str:
                text = run_without_report_comment(end, comment.replaced, links=links, limit=limit, **hidden)
                return self._redactor.text(text)

            self._attempt("comment", lambda: comment.write(body, create=creates))
        if status := self._status:
            self._attempt("status", lambda: status.run_without_report(end))
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
        if head is None or not is_shown or is_unverified(report) or is_judged(report, self._event, head):
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
    if event.name == "workflow_run":
        lines.append("  actions: read")
    if options.comment != "off" or options.review_comments:
        lines.append("  pull-requests: write")
    if _wants_status(options, event):
        lines.append("  statuses: write")
    return "\n".join(lines)


# --- the judged commit --------------------------------------------------------------------------------

# Events whose workflows check out the default branch or the base branch, unless they name another commit -> its ref.
REFS = {
    "pull_request_target": "${{ github.event.pull_request.head.sha }}",
    "workflow_run": "${{ github.event.workflow_run.head_sha }}",
    "issue_comment": "refs/pull/${{ github.event.issue.number }}/merge",
}


def is_judged(report: RunReport, event: GitHubEvent, head: str) -> bool:
    """Whether the report is about the commit ``head``, or about a merge of it.

    A job without git is trusted to have what its event checks out, but not what its workflow names.

    A checkout may have another commit than the one that the run reports on.
    """
    if report.commit is None:
        return not (event.name in REFS or event.named_commit)
    return report.commit in (head, event.merge) or head in report.merge_parents


def other_commit(report: RunReport, event: GitHubEvent, head: str, *, stored: bool) -> Problem:
    """What to say where another commit than ``head`` was judged. ``stored``: by an earlier job."""
    judged = (
        f"commit {report.commit[:COMMIT_CHARACTERS]} was judged"
        if report.commit
        else "it is unknown which commit was judged"
    )
    if stored:
        remedy = "let the workflow that runs the suites check out the commit of its event, with git: no ref"
    elif ref := "${{ inputs.commit }}" if event.named_commit else REFS.get(event.name):
        remedy = f"check out the head (actions/checkout with ref: {ref}), or run on pull_request"
    else:
        remedy = "check out the commit of the event: actions/checkout without ref"
    return Problem(message=f"{judged}, not {head[:COMMIT_CHARACTERS]}, which this run reports on", remedy=remedy)


def without_verdict(report: RunReport, reason: Problem) -> RunReport:
    """The report as it may be shown on a commit that was not judged: inconclusive, whatever the verdict is."""
    own = report.decision.reasons if report.decision else ()
    decision = Decision(verdict="inconclusive", exit_code=ExitCode.INCONCLUSIVE, reasons=(str(reason), *own))
    return replace(report, decision=decision)


# --- the commit status --------------------------------------------------------------------------------

STATES = {
    "passed": "success",
    "failed": "failure",
    "inconclusive": "error",
    "not-gated": "success",
    "unverified": "pending",
}


def status_context(comment_id: str) -> str:
    """Return the name of the status for a comment id. Branch rules require a status by this name."""
    return "skillgym-action" if comment_id == "default" else f"skillgym-action/{comment_id}"


class CommitStatus:
    """The status of one context on one commit. ``run``: the URL of the workflow run. Methods raise GitHubError.

    A verdict that branch rules can require, where the job's own check is on another commit.
    """

    def __init__(self, api: GitHubApi, repository: str, sha: str, *, context: str, run: str | None) -> None:
        self._api, self._path, self._sha = api, f"/repos/{repository}/statuses/{sha}", sha
        self._fields = {"context": context} | ({"target_url": run} if run else {})

    def pending(self) -> None:
        """Set the status of a run that has begun."""
        self._set("pending", "running")

    def decided(self, report: RunReport) -> None:
        """Set the verdict, with the title as the description. Of an unverified report nothing is repeated."""
        if report.decision is None:
            raise ValueError("the report has no decision")
        glance = FirstGlance(report)
        newly = len(glance.newly_failing)
        news = f", {newly:,} of {counted(len(report.results), 'result')} newly {'fails' if newly == 1 else 'fail'}"
        verdict = glance.title + (news if newly else "")
        unverified = f"unverified: a maintainer runs it on {self._sha}"
        self._set(STATES[report.decision.verdict], unverified if is_unverified(report) else verdict)

    def judged_other(self, commit: str | None) -> None:
        """Set the status where another commit, or an unknown one, was judged: nothing is known about this one."""
        self._set(
            "error", f"{commit[:COMMIT_CHARACTERS] if commit else 'an unknown commit'} was judged, not this commit"
        )

    def unfinished(self) -> None:
        """Set the status of a run that ended without a verdict."""
        self._set("error", "ended without a report")

    def run_without_report(self, end: RunWithoutReport) -> None:
        """Set the status of a run that ended without a report: its first problem."""
        self._set("error", str(end.problems[0]))

    def _set(self, state: str, description: str) -> None:
        text = clipped(terminal_line(description), MAX_STATUS_CHARACTERS)
        self._api.post(self._path, {"state": state, "description": text, **self._fields}, repeatable=True)
