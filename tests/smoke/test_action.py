"""The action as a step of a job: each event that a workflow can have, and what it may do there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from action_step import FORK, comment_on_pull_request, merged_on_github, pull_request, step, workflow_run
from github_server import READ_ONLY_TOKEN
from github_state import PullRequest
from hosted_repository import BAD, GOOD, hosted
from on_github import NUMBER, SHA, github_with
from scratch import case, config, repository, runner, suite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hosted_repository import HostedRepository

FAILS = {"bench/core.json": suite(case("good"), case("bad", ("file:nothing exists",)))}


@pytest.fixture
def project(tmp_path) -> Iterator[HostedRepository]:
    """A repository on GitHub whose default branch has results in the store."""
    with hosted(tmp_path) as found:
        first = found.on_push()
        assert (first.code, first.outputs["verdict"], len(found.stored())) == (0, "not-gated", 1), first.said
        yield found


def test_a_pull_request_gets_a_comment_that_its_next_run_edits(project):
    worse = project.on_pull_request(project.propose({"AGENTS.md": BAD}))
    assert (worse.code, worse.outputs["comparison"]) == (1, "regression"), worse.said
    assert "Worse than main: " in project.comment()
    assert "Worse than main: " in worse.summary
    project.commit({"AGENTS.md": GOOD}, "topic")
    better = project.on_pull_request(project.open("topic"))
    assert "Worse than main: " not in project.comment()
    assert (better.code, "No change" in project.comment()) == (0, True), better.said
    assert better.outputs["comment-id"] == worse.outputs["comment-id"]
    assert len(project.stored()) == 1, "pull requests do not write"


def test_a_pull_request_of_a_fork_is_reported_in_the_summary_alone(project):
    pull = project.propose({"AGENTS.md": BAD}, fork=True)
    found = project.on_pull_request(pull, {"github-token": READ_ONLY_TOKEN})
    assert (found.code, found.outputs["comparison"]) == (1, "regression"), found.said
    assert "Worse than main: " in found.summary
    assert "a token that can only read" in found.summary
    assert "mode: report" in found.summary
    assert found.said.index("comes from a fork") < found.said.index("::group::1/"), "reported before agents start"
    assert (project.comments(), len(project.stored())) == ([], 1)


def test_a_push_is_compared_with_the_commits_before_and_adds_to_the_store(project):
    project.commit({"AGENTS.md": BAD})
    found = project.on_push()
    assert (found.code, found.outputs["comparison"], len(project.stored())) == (1, "regression", 2), found.said


def test_a_schedule_runs_on_the_default_branch_and_adds_to_the_store(project):
    ref = "refs/heads/main"
    found = step(**project.job("schedule", {"schedule": "0 3 * * *"}, ref, project.checkout(ref), {}))
    assert (found.code, found.outputs["comparison"]) == (0, "no-regression-shown"), found.said
    assert len(project.stored()) == 2


def test_a_merge_queue_is_compared_with_its_base_and_does_not_write(project):
    worse = project.on_merge_group(project.propose({"AGENTS.md": BAD}))
    assert (worse.code, worse.outputs["comparison"]) == (1, "regression"), worse.said
    assert "1 run of main" in worse.summary
    assert len(project.stored()) == 1


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("workflow_run", workflow_run(FORK)),
        ("issue_comment", comment_on_pull_request()),
        ("pull_request_target", pull_request(FORK)),
    ],
)
def test_no_agent_starts_for_an_untrusted_contributor_in_a_job_that_has_secrets(tmp_path, event, payload):
    agent = runner(f"touch {tmp_path}/started; echo done > out.txt")
    root = repository(tmp_path / "r", {"skillgym.config.yaml": config(agent)}, git=True)
    refused = step(root, None, {"mode": "run"}, event=(event, payload))
    assert (refused.code, (tmp_path / "started").exists()) == (2, False)
    assert "allow-untrusted" in refused.said
    allowed = step(root, None, {"mode": "run", "allow-untrusted": "true"}, event=(event, payload))
    assert (allowed.code, (tmp_path / "started").exists()) == (0, True), allowed.said


def test_results_of_a_fork_are_shown_by_a_second_job(tmp_path):
    root = repository(tmp_path / "r", FAILS, git=True)
    merged_on_github(root)
    first = step(root, None, {"mode": "run", "report-dir": "results"}, event=("pull_request", pull_request(FORK)))
    assert (first.code, first.outputs["comment-id"]) == (1, "")
    trusted = repository(tmp_path / "trusted", FAILS, git=True)
    (root / "results").rename(trusted / "downloaded")
    with github_with() as github:
        github.add_pull(PullRequest(number=NUMBER, head_sha=SHA, head_branch="topic", head_repository=FORK))
        inputs = {"mode": "report", "results": "downloaded"}
        second = step(trusted, github, inputs, event=("workflow_run", workflow_run(FORK)))
        assert (second.code, second.outputs["verdict"], second.outputs["failed"]) == (0, "unverified", "1"), second.said
        (comment,) = github.comments(NUMBER)
        assert "ℹ️ Unverified: 1 of 2 results passes" in comment.body  # noqa: RUF001
        assert f"/octo/skills/blob/{SHA}/bench/core.json" in comment.body
        assert [(one.state, one.context) for one in github.statuses(SHA)] == [("pending", "skillgym-action")]
    assert second.summary.partition("<sub>")[0] != ""


def test_a_misspelt_input_is_an_error_that_names_the_known_one(tmp_path):
    found = step(repository(tmp_path / "r"), None, {"coment": "off"}, event=("push", {}))
    assert (found.code, found.outputs["verdict"]) == (2, "error")
    assert "unknown input 'coment'" in found.said
    assert "did you mean 'comment'?" in found.said
