"""Which runs write to the store."""

from __future__ import annotations

from typing import Any

import pytest

from skillgym_action.github.event import GitHubEvent
from skillgym_action.history.permission import base_branch, base_revision, refusal, run_group

COMMIT = "a" * 40


def event(name: str, **more: Any) -> GitHubEvent:
    fields: dict[str, Any] = {"name": name, "repository": "octo/skills", "server_url": "https://github.example"}
    fields |= {"api_url": "", "graphql_url": "", "run_id": 5, "run_attempt": 1, "job": "b"}
    fields |= {"default_branch": "main", "ref": "refs/heads/main", "sha": COMMIT}
    return GitHubEvent(**(fields | more))


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (event("push"), None),
        (event("workflow_dispatch"), None),
        (event("schedule", default_branch=None), None),
        (event("push", ref="refs/heads/release", ref_protected=True), None),
        (event("push", ref="refs/heads/topic"), "topic is neither the default branch nor protected"),
        (event("push", default_branch=None), "main is neither the default branch nor protected"),
        (event("push", ref="refs/tags/v1"), "refs/tags/v1 is not a branch"),
        (event("push", sha="b" * 40), "another commit is checked out than the one that the event is about"),
        *((event(name, ref_protected=True), f"runs of the event {name} do not write") for name in (
            "pull_request", "pull_request_target", "workflow_run", "issue_comment", "merge_group"
        )),
    ],
)  # fmt: skip
def test_the_event_decides_who_writes(found, reason):
    assert refusal(found, COMMIT, asked=True) == reason


def test_outside_of_github_only_those_write_that_were_told_to():
    assert refusal(None, COMMIT, asked=True) is None
    assert refusal(None, COMMIT, asked=False) is not None


def test_the_base_branch_and_the_group_of_a_run():
    assert base_branch(event("pull_request", base_branch="release")) == "release"
    assert base_branch(event("push", ref="refs/heads/topic")) == "main"
    assert base_branch(event("push", ref="refs/heads/release", ref_protected=True)) == "release"
    assert base_branch(None) is None
    assert run_group(event("push")) == "5/b"


def test_the_base_of_a_pull_request_is_what_it_is_to_be_merged_into():
    pull = event("pull_request", base="b" * 40, merge=COMMIT)
    assert base_revision(pull, COMMIT) == "HEAD^1", "GitHub's test merge"
    assert base_revision(pull, "c" * 40) == "b" * 40, "the head, or whatever else is checked out"
    assert base_revision(pull, None) == "b" * 40
    assert base_revision(event("merge_group", base="b" * 40), COMMIT) == "b" * 40
    assert base_revision(event("push"), COMMIT) == "HEAD"
    assert base_revision(None, COMMIT) == "HEAD"
