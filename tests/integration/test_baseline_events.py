"""Pull requests, queues and branches that could be compared with the wrong results, or with none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from github_server import READ_ONLY_TOKEN
from hosted_repository import BAD, GOOD, hosted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hosted_repository import HostedRepository

DEPENDABOT = {"GITHUB_ACTOR": "dependabot[bot]"}
READS = {"github-token": READ_ONLY_TOKEN}


@pytest.fixture
def repository(tmp_path) -> Iterator[HostedRepository]:
    with hosted(tmp_path) as found:
        yield found


def test_dependabots_pull_request_is_compared_and_told_in_the_summary(repository):
    repository.on_push()
    found = repository.on_pull_request(repository.propose({"AGENTS.md": BAD}), READS, **DEPENDABOT)
    assert (found.code, found.outputs["comparison"]) == (1, "regression"), found.said
    assert "grant the permissions to the job, which counts for Dependabot as well" in found.summary
    assert repository.comments() == []


def test_a_push_with_a_token_that_cannot_write_contents_says_what_to_grant(repository):
    found = repository.on_push(inputs=READS)
    assert found.code == 0, found.said
    assert repository.stored() == []
    assert "the results were not added to the store" in found.summary
    assert "permissions: contents: write" in found.summary


def test_a_merge_queue_of_another_branch_is_compared_with_that(repository):
    repository.on_push()
    repository.commit({"notes.md": "x"}, "release", start="main")
    repository.on_push("release", GITHUB_REF_PROTECTED="true")
    found = repository.on_merge_group(repository.propose({"AGENTS.md": BAD}, base="release"))
    assert (found.code, found.outputs["comparison"]) == (1, "regression"), found.said
    assert "2 runs of main and release, " in found.summary, "release began on main"


def test_a_pull_request_into_another_branch_is_compared_with_that_branch(repository):
    """The agent is bad on the default branch, so that its results would hide the regression."""
    repository.commit({"AGENTS.md": GOOD}, "release", start="main")
    repository.on_push("release", GITHUB_REF_PROTECTED="true")
    repository.commit({"AGENTS.md": BAD})
    repository.on_push()
    pull = repository.propose({"AGENTS.md": BAD + " "}, base="release")
    for head, depth in ((False, 0), (True, 1)):  # the test merge with its history, and the head alone
        found = repository.on_pull_request(pull, head=head, depth=depth)
        assert (found.code, found.outputs["comparison"]) == (1, "regression"), found.said
        assert "1 run of release" in repository.comment()


def test_results_of_the_pull_requests_own_commits_are_no_baseline(repository):
    """A protected branch such as ``develop`` writes, too: its commits are what is to be merged."""
    repository.on_push()
    repository.commit({"AGENTS.md": BAD}, "develop", start="main")
    repository.on_push("develop", GITHUB_REF_PROTECTED="true")
    pull = repository.open("develop")
    for head in (True, False):
        found = repository.on_pull_request(pull, head=head)
        assert (found.code, found.outputs["comparison"]) == (1, "regression"), found.said
        assert "1 run of main" in repository.comment()


def test_main_may_move_on_after_a_pull_request_began(repository):
    """Later commits of main count only where they are checked out: in GitHub's test merge."""
    start = repository.tip("main")
    repository.on_push()
    repository.commit({"main.md": "later"})
    repository.on_push()
    repository.commit({"main.md": "later still"})
    repository.on_push()
    pull = repository.propose({"AGENTS.md": BAD}, start=start)
    for head, runs in ((False, "3 runs of main"), (True, "1 run of main")):
        found = repository.on_pull_request(pull, head=head)
        assert (found.code, found.outputs["comparison"]) == (1, "regression"), found.said
        assert runs in repository.comment()
