"""The store on a branch of the repository: who writes to it, and what prevents it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from action_step import finished, started, step
from ages import a_minute_old
from hosted_repository import BAD, STORE_BRANCH, hosted
from scratch import git_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hosted_repository import HostedRepository


@pytest.fixture
def repository(tmp_path) -> Iterator[HostedRepository]:
    with hosted(tmp_path) as found:
        yield found


def hook(repository: HostedRepository, script: str) -> None:
    """What the remote does before it takes a push, outside of git's quarantine."""
    path = repository.remote / "hooks" / "pre-receive"
    path.parent.mkdir(exist_ok=True)
    outside = "unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES"
    path.write_text(f"#!/bin/sh\n{outside}\n{script}\n")
    path.chmod(0o755)


def test_a_remote_that_cannot_be_read_does_not_turn_the_gate_off(repository):
    repository.on_push()
    pull = repository.propose({"AGENTS.md": BAD})
    root = repository.checkout("refs/pull/7/merge")
    (repository.remote / "HEAD").unlink()
    found = step(**repository.job("pull_request", pull.payload(), "refs/pull/7/merge", root, {}))
    assert (found.code, found.outputs["comparison"]) == (3, "inconclusive"), found.said
    comment = repository.comment()
    assert "the baseline in the store cannot be used, so nothing was compared: the branch skillgym-data" in comment


def test_two_pushes_at_once_lose_nothing(repository):
    repository.on_push()
    jobs = [started(**repository.push_job()) for _ in range(3)]
    for process, files in jobs:
        found = finished(process, files)
        assert (found.code, "results added to the branch skillgym-data" in found.said) == (0, True), found.said
    assert len(repository.stored()) == 4
    assert git_in(repository.remote, "rev-list", "--count", STORE_BRANCH).strip() == "4"


def test_a_push_between_the_fetch_of_another_and_its_push_is_kept(repository):
    repository.on_push()
    repository.git.before_push.append(lambda: repository.forge("runs/other.jsonl", "{}\n"))
    found = repository.on_push()
    assert "results added to the branch skillgym-data" in found.said, found.said
    assert not repository.git.before_push
    assert "runs/other.jsonl" in repository.stored()
    assert len(repository.stored()) == 3


def test_a_push_between_the_check_of_another_and_its_end_is_no_error(repository):
    """The remote moves the branch while it receives a push, as another job's push may: ``cannot lock ref``."""
    repository.on_push()
    who = "-c user.name=x -c user.email=x@example"
    other = f"git {who} commit-tree -p {STORE_BRANCH} -m other {STORE_BRANCH}^{{tree}}"
    hook(repository, f"[ -e moved ] && exit 0\ntouch moved\nexec git update-ref refs/heads/{STORE_BRANCH} $({other})")
    found = repository.on_push()
    assert "results added to the branch skillgym-data" in found.said, found.said
    assert (repository.remote / "moved").exists()
    assert len(repository.stored()) == 2


def test_a_branch_that_is_deleted_meanwhile_is_made_anew_by_the_push(repository):
    repository.on_push()
    hook(repository, f"[ -e gone ] && exit 0\ntouch gone\nexec git update-ref -d refs/heads/{STORE_BRANCH}")
    found = repository.on_push()
    assert "results added to the branch skillgym-data" in found.said, found.said
    assert (repository.remote / "gone").exists()
    assert len(repository.stored()) == 1


def test_only_the_default_branch_and_protected_ones_write(repository):
    repository.commit({"x": "x"}, "topic", start="main")
    repository.on_push("topic")
    assert repository.stored() == []
    assert repository.on_push("topic", GITHUB_REF_PROTECTED="true").code == 0
    assert len(repository.stored()) == 1
    root = repository.checkout("refs/heads/main")
    step(**repository.job("workflow_run", {}, "refs/heads/main", root, {"allow-untrusted": "true"}))
    assert len(repository.stored()) == 1
    repository.on_push(GITHUB_SHA="b" * 40)
    assert len(repository.stored()) == 1


def deny_pushes(repository: HostedRepository) -> None:
    denied = "Permission to octo/skills.git denied to github-actions[bot]."
    hook(repository, f"grep -q {STORE_BRANCH} || exit 0\necho '{denied}' >&2\nexit 1")


def test_a_job_that_may_not_write_says_what_to_grant_and_keeps_its_verdict(repository):
    deny_pushes(repository)
    found = repository.on_push(inputs={"fail-on": "failed"})
    assert found.code == 0, found.said
    summary = found.summary.replace("\\", "")
    assert "the results were not added to the store: the branch skillgym-data: " in summary
    assert "Permission to octo/skills.git denied" in summary
    assert "permissions: contents: write" in summary


# --- nothing about a store in the workflow ---------------------------------------------------------------

UNNAMED = {"store": "", "fail-on": "failed,errored"}


def test_results_are_kept_and_compared_without_an_input(repository):
    first = repository.on_push(inputs=UNNAMED)
    assert (first.code, len(repository.stored())) == (0, 1), first.said
    assert "nothing was compared" not in first.summary
    pull = repository.propose({"README.md": "more"})
    equal = repository.on_pull_request(pull, UNNAMED)
    assert (equal.code, equal.outputs["comparison"]) == (0, "no-regression-shown"), equal.said
    assert "1 run of main, a minute old, up to" in a_minute_old(repository.comment())
    worse = repository.on_pull_request(repository.propose({"AGENTS.md": BAD}), UNNAMED | {"fail-on": "errored"})
    assert (worse.code, worse.outputs["comparison"]) == (0, "regression"), worse.said
    assert "Worse than main: " in repository.comment()


@pytest.mark.parametrize("inputs", [{"store": "none"}, {"baseline": "other", "baseline-optional": "true"}])
def test_a_workflow_can_turn_the_default_store_off(repository, inputs):
    found = repository.on_push(inputs=UNNAMED | inputs)
    assert (found.code, repository.stored()) == (0, []), found.said


def test_without_the_permission_to_write_nothing_is_said_of_the_default_store(repository):
    deny_pushes(repository)
    found = repository.on_push(inputs=UNNAMED)
    assert (found.code, repository.stored()) == (0, []), found.said
    assert "skillgym-data" not in found.said + found.summary + found.log
    found = repository.on_pull_request(repository.propose({"README.md": "more"}), UNNAMED)
    assert (found.code, found.outputs["comparison"]) == (0, ""), found.said
    assert "baseline" not in repository.comment()
    assert "skillgym-data" not in found.said + found.summary + found.log


def test_a_default_store_that_was_forged_is_inconclusive(repository):
    repository.on_push(inputs=UNNAMED)
    repository.forge("2026-01/20260101T000000Z-000000000000.jsonl", "{}\n")
    found = repository.on_pull_request(repository.propose({"README.md": "more"}), UNNAMED)
    assert (found.code, found.outputs["comparison"]) == (0, "inconclusive"), found.said
    assert "the baseline in the store cannot be used" in repository.comment()


def test_a_gate_needs_the_default_store(repository):
    deny_pushes(repository)
    gate = UNNAMED | {"fail-on": "regression"}
    found = repository.on_push(inputs=gate)
    assert "the results were not added to the store" in found.summary, found.said
    found = repository.on_pull_request(repository.propose({"AGENTS.md": BAD}), gate)
    assert (found.code, found.outputs["verdict"]) == (3, "inconclusive"), found.said
    assert "contents: write" in repository.comment()
