"""The table of events, row by row: real processes, and a GitHub that keeps to GitHub's own description."""

from __future__ import annotations

import pytest

from action_step import merged_on_github, step
from github_events import EVENTS, OTHER
from github_server import GitHubServer
from github_state import PullRequest
from on_github import NUMBER, SHA
from scratch import git_in, repository

NO_LINK = "\u2060"  # keeps GitHub from linking a commit
OTHER_COMMITS = ("the base branch", "the default branch", "the default branch; the results are for another commit")


def title(body):
    """The title of a comment, below its hidden lines."""
    return next(line for line in body.splitlines() if line.startswith("## "))


@pytest.mark.parametrize("row", EVENTS.values(), ids=EVENTS)
def test_an_event(tmp_path, row):
    root = repository(tmp_path / "r", git=True)
    if row.checkout == "GitHub's test merge":
        sha, checked_out = SHA, merged_on_github(root)
    else:
        checked_out = git_in(root, "rev-parse", "HEAD").strip()
        sha = SHA if row.checkout in OTHER_COMMITS else checked_out
    with GitHubServer() as github:
        head = sha if row.pull else OTHER
        github.add_pull(PullRequest(number=NUMBER, head_sha=head, head_branch="topic", head_repository=row.repository))
        github.add_commit(sha)
        if row.inputs.get("mode") == "report":
            assert step(root, None, {"mode": "run", "report-dir": "first"}, event=("push", {})).code == 0
        inputs = {"github-token": row.token, **row.inputs, **({"commit": sha} if row.names_commit else {})}
        variables = {"GITHUB_SHA": checked_out, **row.variables}
        found = step(root, github, inputs, event=(row.event, row.payload(sha)), **variables)
        assert (found.code, "passed" in found.outputs) == (row.code, row.code == 0), found.said
        bodies = [comment.body.replace(NO_LINK, "") for comment in github.comments(NUMBER)]
        assert [row.comment in title(body) for body in bodies] == ([True] if row.comment else [])
        assert [one.state for one in github.statuses(sha)][:1] == ([row.status] if row.status else [])
        assert row.said in found.said
        if row.said and row.code == 0 and row.status != "pending":
            assert "⚠️" in found.summary
        if row.comment == "⚠️ Not sure":
            assert f"commit {checked_out[:12]} was judged, not {SHA[:12]}" in bodies[0]
            assert "::warning title=skillgym-action::" in found.log
        assert not any("✅" in title(body) and checked_out[:12] not in body for body in bodies)
