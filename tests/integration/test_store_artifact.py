"""The action with its results in artifacts of workflow runs, on a fake GitHub and a second host for downloads."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ages import a_minute_old
from artifact_jobs import ArtifactJobs
from github_replies import Fault, Reply
from github_runs import ArtifactHost, Served, zipped
from github_server import GitHubServer
from hosted_repository import BAD
from on_github import REPOSITORY
from scratch import committed, git_in, repository, skillgym, written

if TYPE_CHECKING:
    from collections.abc import Iterator

UNUSABLE = "the baseline in the store cannot be used, so nothing was compared: the artifact skillgym-store"
LISTS = 4  # requests for the runs of the four events that write


@pytest.fixture
def jobs(tmp_path) -> Iterator[ArtifactJobs]:
    with GitHubServer(REPOSITORY) as github, ArtifactHost(github.state) as host:
        yield ArtifactJobs(tmp_path, github, host)


def actions_requests(jobs: ArtifactJobs) -> int:
    return sum("/actions/" in request.path for request in jobs.github.requests)


def test_a_push_is_the_baseline_of_pull_requests_with_and_without_a_regression(jobs):
    first = jobs.push()
    assert first.code == 0, first.said
    assert "has no results of the base: nothing was compared (no successful run of bench.yml for main" in first.said
    assert "the workflow has to upload the folder of the output store-path" in first.said
    before = actions_requests(jobs)
    equal, comment = jobs.propose({"README.md": "more"})
    assert (equal.code, equal.outputs["comparison"]) == (0, "no-regression-shown"), equal.said
    assert "1 run of main, a minute old, up to" in a_minute_old(comment)
    assert equal.outputs["store-path"] == "", "a pull request writes nothing"
    assert actions_requests(jobs) - before == LISTS + 2, "the list of artifacts, and one artifact"
    worse, comment = jobs.propose({"AGENTS.md": BAD})
    assert (worse.code, worse.outputs["comparison"]) == (1, "regression"), worse.said
    assert "Worse than main: " in comment


def test_the_token_goes_to_the_api_alone(jobs):
    jobs.push()
    jobs.propose({"README.md": "more"})
    (headers,) = jobs.host.headers
    assert "authorization" not in headers
    assert "cookie" not in headers


def test_several_runs_are_pooled_and_two_at_once_lose_nothing(jobs):
    for _ in range(3):
        jobs.push()
    found, _ = jobs.propose({"AGENTS.md": BAD})
    assert "judged both in 3 runs of main" in found.said
    assert "3 of 3 → 0 of 1" in found.summary


def test_no_more_than_ten_runs_are_read(jobs):
    jobs.push()
    (artifact,) = jobs.artifacts.values()
    content = zipped_line(jobs, artifact)
    for number in range(2001, 2013):
        jobs.number = number - 1
        changed = content.replace(b'"group":"1001/', b'"group":"%d/' % number)
        changed = changed.replace(b'"id":"', b'"id":"%d-' % number, 1)
        jobs.upload(zipped({f"20260101T000000Z-{number:012x}.jsonl": changed}), event="push")
    before = actions_requests(jobs)
    found, _ = jobs.propose({"README.md": "more"})
    assert found.outputs["comparison"] == "no-regression-shown", found.said
    assert "judged both in 10 runs of main" in found.said
    assert actions_requests(jobs) - before == LISTS + 2 * 10
    assert len(jobs.host.headers) == 10


def zipped_line(jobs: ArtifactJobs, artifact) -> bytes:
    with zipfile.ZipFile(io.BytesIO(artifact.content)) as archive:
        (name,) = archive.namelist()
        return archive.read(name)


def test_runs_after_the_merge_base_do_not_count(jobs):
    jobs.push()
    base = jobs.sha()
    written(jobs.root, {"AGENTS.md": BAD})
    committed(jobs.root)
    jobs.push(**{"fail-on": "none"})
    git_in(jobs.root, "reset", "--quiet", "--hard", base)
    found, comment = jobs.propose({"README.md": "more"})
    assert found.outputs["comparison"] == "no-regression-shown", found.said
    assert f"1 run of main, a minute old, up to {base[:12]}" in a_minute_old(comment)


@pytest.mark.parametrize(
    "of_run",
    [
        {"event": "pull_request", "branch": "main", "head_repository": "fork/skills"},
        {"event": "pull_request", "branch": "main"},
        {"event": "push", "branch": "main", "head_repository": "fork/skills"},
        {"event": "push", "branch": "topic"},
        {"event": "push", "workflow": "other.yml"},
        {"event": "push", "conclusion": "failure"},
    ],
    ids=["fork", "pull request", "repository", "branch", "workflow", "failed"],
)
def test_an_artifact_of_the_same_name_of_another_run_never_counts(jobs, of_run):
    jobs.push()
    jobs.upload(zipped({"forged.txt": b"not a store"}), **of_run)
    found, _ = jobs.propose({"AGENTS.md": BAD})
    assert (found.code, found.outputs["comparison"]) == (1, "regression"), found.said
    assert len(jobs.host.headers) == 1


@pytest.mark.parametrize("how", ["lost", "expired", "gone"])
def test_a_lost_artifact_does_not_turn_the_gate_off(jobs, how):
    jobs.push()
    (artifact,) = jobs.artifacts.values()
    if how == "lost":
        jobs.artifacts.clear()
    else:
        jobs.artifacts[artifact.id] = replace(artifact, expired=how == "expired", content=None)
    found, comment = jobs.propose({"AGENTS.md": BAD})
    assert (found.code, found.outputs["verdict"]) == (3, "inconclusive"), found.said
    assert "successful runs of bench.yml for main: 1, 1 of them without such an artifact" in found.said
    assert "no baseline to compare with, so regressions cannot be detected" in comment


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda line: {"x.jsonl": line}, "is not a file of a store: upload only the folder store-path"),
        (lambda _: {NAME: b'{"schema": 1, "run": "@octo <img src=x>"}\n'}, "run 1001: skillgym-store"),
        (lambda line: {NAME: line.replace(b'"commit":"', b'"commit":"0000')}, "names another run"),
        (lambda line: {NAME: line.replace(b'"group":"1001/', b'"group":"77/')}, "names another run"),
        (lambda line: {NAME: line.replace(b'"branch":"main"', b'"branch":"dev"')}, "names another run"),
        (lambda line: {f"{n}": line for n in range(17)}, "has more than 16 files"),
        (lambda _: {NAME: b"\0" * (25 * 1024**2)}, "bytes unpacked"),
    ],
    ids=["name", "content", "commit", "run", "branch", "files", "size"],
)
def test_a_forged_artifact_is_inconclusive(jobs, change, reason):
    jobs.push()
    (artifact,) = jobs.artifacts.values()
    line = zipped_line(jobs, artifact)
    jobs.artifacts[artifact.id] = replace(artifact, content=zipped(change(line)))
    found, comment = jobs.propose({"AGENTS.md": BAD})
    assert (found.code, found.outputs["comparison"]) == (3, "inconclusive"), found.said
    assert UNUSABLE in found.said
    assert reason in found.said
    assert "<img" not in comment


NAME = "20260101T000000Z-000000000000.jsonl"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Served(302, headers={"Location": "http://127.0.0.1:9/"}), "127.0.0.1 redirects once more"),
        (Served(200, b"P" * (9 * 1024**2)), "the answer is larger than 8 MB"),
        (Served(200, b"no archive"), "is not a readable ZIP archive"),
        (Served(403), "127.0.0.1 answered 403"),
    ],
)
def test_a_download_that_is_not_the_artifact_is_inconclusive(jobs, answer, reason):
    jobs.push()
    jobs.host.answers[1] = answer
    found, _ = jobs.propose({"AGENTS.md": BAD})
    assert (found.code, found.outputs["comparison"]) == (3, "inconclusive"), found.said
    assert UNUSABLE in found.said
    assert reason in found.said
    assert "sig=signature" not in found.said + found.log + found.summary


def test_without_the_permission_the_message_names_it(jobs):
    jobs.push()
    refused = Reply.no(403, "Resource not accessible by integration")
    jobs.github.fail(Fault(reply=refused), where="/actions/")
    found, _ = jobs.propose({"AGENTS.md": BAD})
    assert (found.code, found.outputs["comparison"]) == (3, "inconclusive"), found.said
    assert "give the job permissions: actions: read" in found.said


def test_outside_of_a_job_there_is_no_such_store(tmp_path):
    root = repository(tmp_path / "repo", {"bench/core.json": "{}"}, git=True)
    found = skillgym("run", "--store", "artifact", cwd=root)
    assert found.code == 2
    assert "the store artifact works only in jobs on GitHub" in found.err
