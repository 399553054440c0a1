"""Whose results count as a baseline: which branch a run is of, and whether it may write to the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillgym_action.github.event import GitHubEvent

WRITING_EVENTS = ("push", "schedule", "workflow_dispatch", "repository_dispatch")
"""Events that run for a branch of this repository, which only people with write access change."""


def refusal(event: GitHubEvent | None, commit: str | None, *, asked: bool) -> str | None:
    """Why a run does not write to the store; None: it does.

    On GitHub the event decides: the default branch and protected branches write, with the commit that the event is
    about. Elsewhere only a run that was asked to does (``asked``).
    """
    if event is None:
        return None if asked else "not in a job on GitHub: --store-write stores results elsewhere"
    if event.name not in WRITING_EVENTS:
        return f"runs of the event {event.name} do not write"
    if event.branch is None:
        return f"{event.ref or 'the ref'} is not a branch"
    if not _is_kept(event):
        return f"{event.branch} is neither the default branch nor protected"
    if commit != event.sha:
        return "another commit is checked out than the one that the event is about"
    return None


def _is_kept(event: GitHubEvent) -> bool:
    """Whether the event is about the default branch, the only one that schedules run for, or a protected one."""
    return event.name == "schedule" or event.ref_protected or event.branch == event.default_branch


def base_branch(event: GitHubEvent | None) -> str | None:
    """The branch whose results are the baseline: of a pull request or queue the one to be merged into.

    Of a branch whose runs are not stored, the default branch.
    """
    if event is None:
        return None
    return event.base_branch or (event.branch if _is_kept(event) else event.default_branch)


def base_revision(event: GitHubEvent | None, commit: str | None) -> str:
    """The revision whose commits, as far as ``commit`` has them, are the base: what is to be merged is none of it.

    GitHub's test merge has the base as its first parent, which may be newer than the one that the payload names.
    """
    if event and commit and commit == event.merge:
        return "HEAD^1"
    return (event and event.base) or "HEAD"


def run_group(event: GitHubEvent | None) -> str | None:
    """What the jobs of a matrix have in common: the workflow run and the id of the job. None outside of GitHub."""
    return f"{event.run_id}/{event.job}" if event else None
