"""Whether the commit that was judged is the one that a run reports on: a checkout may have another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.limits import COMMIT_CHARACTERS
from skillgym_action.model.errors import Problem
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.run_report import Decision

if TYPE_CHECKING:
    from skillgym_action.github.event import GitHubEvent
    from skillgym_action.model.run_report import RunReport

# Events whose workflows check out the default branch or the base branch, unless they name another commit -> its ref.
REFS = {
    "pull_request_target": "${{ github.event.pull_request.head.sha }}",
    "workflow_run": "${{ github.event.workflow_run.head_sha }}",
    "issue_comment": "refs/pull/${{ github.event.issue.number }}/merge",
}


def is_judged(report: RunReport, event: GitHubEvent, head: str) -> bool:
    """Whether the report is about the commit ``head``, or about a merge of it.

    A job without git is trusted to have what its event checks out.
    """
    if report.commit is None:
        return event.name not in REFS
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
    elif ref := REFS.get(event.name):
        remedy = f"check out the head (actions/checkout with ref: {ref}), or run on pull_request"
    else:
        remedy = "check out the commit of the event: actions/checkout without ref"
    return Problem(message=f"{judged}, not {head[:COMMIT_CHARACTERS]}, which this run reports on", remedy=remedy)


def without_verdict(report: RunReport, reason: Problem) -> RunReport:
    """The report as it may be shown on a commit that was not judged: inconclusive, whatever the verdict is."""
    own = report.decision.reasons if report.decision else ()
    decision = Decision(verdict="inconclusive", exit_code=ExitCode.INCONCLUSIVE, reasons=(str(reason), *own))
    return replace(report, decision=decision)
