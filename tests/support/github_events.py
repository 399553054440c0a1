"""What the action does on each event: tests play each row, the documentation shows the table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from github_server import JOB_TOKEN, READ_ONLY_TOKEN
from on_github import NUMBER, REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FORK = "stranger/skills"
OTHER = "d" * 40
Payload = dict[str, Any]
PASSED, OTHER_COMMIT, ERROR = "✅", "⚠️ Not sure", "❌ Not run"
UNVERIFIED = "\u2139\ufe0f Unverified"
REPORT = {"mode": "report", "results": "first"}
STORED = "the default branch; the results are for the reported commit"
DEPENDABOT = {"GITHUB_ACTOR": "dependabot[bot]"}


def _pull(sha: str, repository: str = REPOSITORY) -> Payload:
    head = {"sha": sha, "ref": "topic", "repo": {"full_name": repository}}
    return {"pull_request": {"number": NUMBER, "head": head}}


def _after(sha: str, repository: str = REPOSITORY) -> Payload:
    return {"workflow_run": {"head_sha": sha, "head_branch": "topic", "head_repository": {"full_name": repository}}}


def _group(sha: str) -> Payload:
    return {"merge_group": {"head_sha": sha, "head_ref": f"refs/heads/gh-readonly-queue/main/pr-{NUMBER}-{OTHER}"}}


@dataclass(frozen=True, kw_only=True)
class Row:
    """``payload``: of the event, for its commit. ``pull``: whether that commit is the head of an open pull request.

    ``names_commit``: whether the input ``commit`` has its id.

    ``checkout``: what is checked out. ``code``: what the step ends with. ``comment``: how the comment on the pull
    request begins; ``status``: the state of the commit status; empty: there is none. ``said``: a part of the log.
    """

    event: str
    payload: Callable[[str], Payload] = lambda _: {}
    checkout: str = "the reported commit"
    inputs: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    token: str = JOB_TOKEN
    repository: str = REPOSITORY
    pull: bool = True
    names_commit: bool = False
    agents: str = "can run"
    code: int = 0
    comment: str = ""
    status: str = ""
    said: str = ""


ON_TOPIC = {"GITHUB_REF": "refs/heads/topic"}
READ_ONLY = "Resource not accessible by integration; "
REFUSED: dict[str, Any] = {
    "checkout": "any commit",
    "agents": "not started, exit code 2",
    "code": 2,
    "comment": ERROR,
    "said": "agents would follow untrusted text",
}
ALLOWED = {"allow-untrusted": "true"}
EVENTS = {
    "`push` to a branch with an open pull request": Row(event="push", variables=ON_TOPIC, comment=PASSED),
    "`push` to another branch or a tag": Row(event="push", variables=ON_TOPIC, pull=False),
    "`pull_request` from a branch of this repository": Row(
        event="pull_request", payload=_pull, checkout="GitHub's test merge", comment=PASSED
    ),
    "`pull_request` from a fork, with GitHub's default settings": Row(
        event="pull_request", payload=lambda sha: _pull(sha, FORK), checkout="GitHub's test merge",
        token=READ_ONLY_TOKEN, repository=FORK, said=f"{READ_ONLY}the pull request comes from a fork",
    ),
    "`pull_request` from a fork, if the token has write access": Row(
        event="pull_request", payload=lambda sha: _pull(sha, FORK), checkout="GitHub's test merge", repository=FORK,
        comment=PASSED,
    ),
    "`pull_request` from Dependabot, without `permissions` in the workflow": Row(
        event="pull_request", payload=_pull, checkout="GitHub's test merge", variables=DEPENDABOT,
        token=READ_ONLY_TOKEN, said=f"{READ_ONLY}Dependabot started the workflow",
    ),
    "`pull_request` from Dependabot, with `permissions` in the workflow": Row(
        event="pull_request", payload=_pull, checkout="GitHub's test merge", variables=DEPENDABOT, comment=PASSED
    ),
    "`pull_request_target` from a branch of this repository, if the workflow checks out the head": Row(
        event="pull_request_target", payload=_pull, comment=PASSED
    ),
    "`pull_request_target` from a branch of this repository, with the default checkout": Row(
        event="pull_request_target", payload=_pull, checkout="the base branch", comment=OTHER_COMMIT,
        said="which this run reports on; check out the head",
    ),
    "`pull_request_target` from a fork": Row(
        event="pull_request_target", payload=lambda sha: _pull(sha, FORK), repository=FORK, **REFUSED
    ),
    "`workflow_run` with `mode: all`, after a run for this repository, if the workflow checks out the run's head": Row(
        event="workflow_run", payload=_after, comment=PASSED, status="success"
    ),
    "`workflow_run` with `mode: all`, after a run for this repository, with the default checkout": Row(
        event="workflow_run", payload=_after, checkout="the default branch", comment=OTHER_COMMIT, status="error",
        said="which this run reports on; check out the head",
    ),
    "`workflow_run` with `mode: all`, after a run for a fork": Row(
        event="workflow_run", payload=lambda sha: _after(sha, FORK), repository=FORK, status="error", **REFUSED
    ),
    "`workflow_run` with `mode: report`, after a run for this repository, with results for this commit": Row(
        event="workflow_run", payload=_after, inputs=REPORT, checkout=STORED, agents="not started", comment=PASSED,
        status="success",
    ),
    "`workflow_run` with `mode: report`, after a run for this repository, with results for another commit": Row(
        event="workflow_run", payload=_after, inputs=REPORT,
        checkout="the default branch; the results are for another commit", agents="not started", comment=OTHER_COMMIT,
        status="error", said="let the workflow that runs the suites check out the commit",
    ),
    "`workflow_run` with `mode: report`, after a run for a fork": Row(
        event="workflow_run", payload=lambda sha: _after(sha, FORK), inputs=REPORT, checkout=STORED, repository=FORK,
        agents="not started", comment=UNVERIFIED, status="pending", said="a maintainer has to run the suites on",
    ),
    "`merge_group`": Row(event="merge_group", payload=_group),
    "`schedule`": Row(event="schedule", variables={"GITHUB_REF": "refs/heads/main"}, pull=False),
    "`workflow_dispatch` on a branch with an open pull request": Row(
        event="workflow_dispatch", variables=ON_TOPIC, comment=PASSED
    ),
    "`workflow_dispatch` on another branch or a tag": Row(event="workflow_dispatch", variables=ON_TOPIC, pull=False),
    "`workflow_dispatch` with the input `commit`": Row(
        event="workflow_dispatch", names_commit=True, repository=FORK, status="error", **REFUSED
    ),
    "`workflow_dispatch` with `commit` and `allow-untrusted`, if the workflow checks out this commit": Row(
        event="workflow_dispatch", names_commit=True, inputs=ALLOWED, repository=FORK, comment=PASSED, status="success"
    ),
    "`workflow_dispatch` with `commit` and `allow-untrusted`, with the default checkout": Row(
        event="workflow_dispatch", names_commit=True, inputs=ALLOWED, repository=FORK, checkout="the default branch",
        comment=OTHER_COMMIT, status="error", said="which this run reports on; check out the head",
    ),
    "`issue_comment` on a pull request": Row(
        event="issue_comment", payload=lambda _: {"issue": {"number": NUMBER, "pull_request": {}}}, **REFUSED
    ),
    "`issue_comment` on a pull request, with `allow-untrusted`, if the workflow checks out the head": Row(
        event="issue_comment", payload=lambda _: {"issue": {"number": NUMBER, "pull_request": {}}}, inputs=ALLOWED,
        comment=PASSED,
    ),
    "`issue_comment` on an issue": Row(
        event="issue_comment", payload=lambda _: {"issue": {"number": 3}}, checkout="the default branch", pull=False
    ),
}  # fmt: skip


def of_github_events() -> Iterator[tuple[str, ...]]:
    """A row for each event."""
    yield "Event", "Checked out", "Agents", "Comment", "Status (`auto`)", "Log and summary"
    for name, row in EVENTS.items():
        said = f"`…{row.said}…`" if row.said else "—"
        yield name, row.checkout, row.agents, row.comment or "none", row.status or "none", said
