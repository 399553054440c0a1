"""The commit status: a verdict that can be required, where the job's own check is on another commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.reporters.wording import tally
from skillgym_action.text.escaping import clipped, plain

if TYPE_CHECKING:
    from skillgym_action.github.api import GitHubApi
    from skillgym_action.model.run_report import RunReport

DESCRIPTION = 140  # characters
STATES = {"passed": "success", "failed": "failure", "inconclusive": "error"}


def context(comment_id: str) -> str:
    """What a branch rule requires: a status for each comment id."""
    return "skillgym-action" if comment_id == "default" else f"skillgym-action/{comment_id}"


class CommitStatus:
    """The status of one context on one commit. Every method may raise GitHubError."""

    def __init__(self, api: GitHubApi, repository: str, sha: str, *, context: str, run: str | None) -> None:
        """``run``: the address of the workflow run, where there is one."""
        self._api, self._path = api, f"/repos/{repository}/statuses/{sha}"
        self._always = {"context": context} | ({"target_url": run} if run else {})

    def pending(self) -> None:
        """The run has begun."""
        self._set("pending", "running")

    def decided(self, report: RunReport) -> None:
        """The verdict in words."""
        if report.decision is None:
            raise ValueError("the gate decides before anything is delivered")
        self._set(STATES[report.decision.verdict], f"{report.decision.verdict}: {tally(report.totals())}")

    def unfinished(self) -> None:
        """The run ended without a verdict."""
        self._set("error", "ended without a report")

    def _set(self, state: str, description: str) -> None:
        self._api.post(
            self._path, {"state": state, "description": clipped(plain(description), DESCRIPTION), **self._always}
        )
