"""The commit status: a verdict that branch rules can require, where the job's own check is on another commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.limits import COMMIT_CHARACTERS, MAX_STATUS_CHARACTERS
from skillgym_action.reporters.wording import headline, tally
from skillgym_action.text.escaping import clipped, terminal_line

if TYPE_CHECKING:
    from skillgym_action.github.api import GitHubApi
    from skillgym_action.model.early_end import EarlyEnd
    from skillgym_action.model.run_report import RunReport

STATES = {"passed": "success", "failed": "failure", "inconclusive": "error", "not-gated": "success"}


def status_context(comment_id: str) -> str:
    """Return the name of the status for a comment id. Branch rules require a status by this name."""
    return "skillgym-action" if comment_id == "default" else f"skillgym-action/{comment_id}"


class CommitStatus:
    """The status of one context on one commit. ``run``: the URL of the workflow run. Methods raise GitHubError."""

    def __init__(self, api: GitHubApi, repository: str, sha: str, *, context: str, run: str | None) -> None:
        self._api, self._path = api, f"/repos/{repository}/statuses/{sha}"
        self._fields = {"context": context} | ({"target_url": run} if run else {})

    def pending(self) -> None:
        """Set the status of a run that has begun."""
        self._set("pending", "running")

    def decided(self, report: RunReport) -> None:
        """Set the verdict, with the totals as the description."""
        if report.decision is None:
            raise ValueError("the report has no decision")
        self._set(STATES[report.decision.verdict], f"{headline(report)}: {tally(report.totals())}")

    def judged_other(self, commit: str | None) -> None:
        """Set the status where another commit, or an unknown one, was judged: nothing is known about this one."""
        self._set(
            "error", f"{commit[:COMMIT_CHARACTERS] if commit else 'an unknown commit'} was judged, not this commit"
        )

    def unfinished(self) -> None:
        """Set the status of a run that ended without a verdict."""
        self._set("error", "ended without a report")

    def ended_early(self, end: EarlyEnd) -> None:
        """Set the status of a run that ended without a report: its first problem."""
        self._set("error", str(end.problems[0]))

    def _set(self, state: str, description: str) -> None:
        text = clipped(terminal_line(description), MAX_STATUS_CHARACTERS)
        self._api.post(self._path, {"state": state, "description": text, **self._fields}, repeatable=True)
