"""The action inside real workflows, run by nektos/act. Needs a Docker engine: ``make test-container``."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from container.act import STAND_INS, Place
from container.consumer import committed, consumer_workflow, head, opened
from container.image import buildable, copied_sources
from documented_workflows import documented
from github_server import READ_ONLY_TOKEN, GitHubServer
from github_state import PullRequest
from paths import REPOSITORY
from scratch import case, config, runner, suite, written

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from container.act import Workflow

pytestmark = pytest.mark.container

VERDICT = {"success": "passed", "failure": "failed"}
MISSING = "file:other.txt exists: other.txt does not exist\ncreated by the agent: out.txt"


@pytest.fixture
def github() -> Iterator[GitHubServer]:
    with GitHubServer(repository="octo/skills") as server:
        yield server


@pytest.fixture(scope="session")
def action(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This project as it stands, as a repository with one commit."""
    copy = copied_sources(tmp_path_factory.mktemp("action") / "skillgym-action")
    (copy / "Dockerfile").write_text(buildable((copy / "Dockerfile").read_text()))
    return committed(copy)


def completed(folder: Path, owner: str = "octo") -> dict[str, Any]:
    """The payload for a workflow that follows one which succeeded; of a fork, GitHub names no pull request."""
    run = {
        "id": 4711,
        "conclusion": "success",
        "event": "pull_request",
        "head_sha": head(folder),
        "head_branch": "feature",
        "head_repository": {"full_name": f"{owner}/skills"},
        "pull_requests": [],
    }
    return {"action": "completed", "workflow_run": run, "repository": {"full_name": "octo/skills"}}


def artifact_actions(*workflows: str) -> dict[str, Path]:
    """The stand-ins for what these workflows use to keep artifacts."""
    steps = [step for text in workflows for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
    uses = {repository_of(step["uses"]) for step in steps if "-artifact" in step.get("uses", "")}
    return {name: STAND_INS / name.removeprefix("actions/").partition("@")[0] for name in uses}


def repository_of(uses: str) -> str:
    """``actions/upload-artifact@v7`` for ``actions/upload-artifact/merge@v7``: act gets repositories, not paths."""
    name, _, version = uses.partition("@")
    return f"{'/'.join(name.split('/')[:2])}@{version}"


def examples_with(document: str, action: Path, folder: Path) -> tuple[Path, Place]:
    """A repository with those of our examples that are played from recordings, and a document's workflows."""
    shown = {
        f".github/workflows/{workflow.content['name']}.yml": workflow.text
        for workflow in documented()
        if workflow.file.startswith(document)
    }
    played = shutil.ignore_patterns("agentv")
    repository = shutil.copytree(REPOSITORY / "examples", folder / "skills", ignore=played)
    committed(written(repository, shown))
    actions = {"org/skillgym-action@v1": action, **artifact_actions(*shown.values())}
    return repository, Place(repository=repository, artifacts=folder, actions=actions)


def test_our_own_workflow_comments_and_then_edits_its_comment(action, github, tmp_path):
    dogfood = (action / ".github/workflows/dogfood.yml").read_text()
    place = Place(repository=action, artifacts=tmp_path, actions=artifact_actions(dogfood))
    github.add_pull(PullRequest(number=7, head_sha=head(action)))

    def run() -> Workflow:
        return place.run("dogfood.yml", "pull_request", opened(action), github)

    first = run()
    job = first.jobs["examples"]
    assert job.result == "success", first.log
    assert job.steps["bench"].outputs["verdict"] == "passed"
    assert job.steps["bench"].summary.startswith("## ✅ ")
    assert (tmp_path / "skillgym-run" / "results.json").is_file()
    (created,) = github.comments(7)
    assert "## ✅ " in created.body
    assert job.steps["bench"].outputs["comment-id"] == str(created.id)

    second = run()
    assert second.jobs["examples"].result == "success", second.log
    (edited,) = github.comments(7)
    assert edited.id == created.id
    assert edited.updated_at > created.updated_at


@pytest.mark.parametrize(
    ("expectation", "result", "annotations"),
    [
        pytest.param("file:out.txt exists", "success", [], id="green: the job succeeds"),
        pytest.param(
            "file:other.txt exists",
            "failure",
            [("error", "bench/core.json", MISSING)],
            id="red: the job fails, annotated",
        ),
    ],
)
def test_a_repository_uses_the_action_by_its_tag(action, github, tmp_path, expectation, result, annotations):
    verdict = VERDICT[result]
    files = {
        "bench/core.json": suite(case(expect=(expectation,))),
        "skillgym.config.yaml": config(runner()),
        ".github/workflows/bench.yml": consumer_workflow('echo "$VERDICT, $(head -c 5 "$JUNIT")"'),
    }
    repository = committed(written(tmp_path / "skills", files))
    github.add_pull(PullRequest(number=7, head_sha=head(repository)))
    place = Place(repository=repository, artifacts=tmp_path, actions={"octo/skillgym-action@v1": action})

    ran = place.run("bench.yml", "pull_request", opened(repository), github)

    job = ran.jobs["bench"]
    bench = job.steps["bench"]
    assert (job.result, bench.result) == (result, result), ran.log
    assert bench.outputs["verdict"] == verdict
    assert [(a.level, a.place["file"], a.message) for a in bench.annotations] == annotations
    assert verdict.capitalize() in bench.summary.splitlines()[0]
    assert job.steps["after"].log == f"{verdict}, <?xml\n"
    (comment,) = github.comments(7)
    assert verdict.capitalize() in comment.body


def test_a_fork_is_run_without_rights_and_shown_by_the_second_workflow_as_documented(action, github, tmp_path):
    repository, place = examples_with("docs-how-to-public-repositories", action, tmp_path)
    github.add_pull(PullRequest(number=7, head_sha=head(repository), head_repository="stranger/skills"))

    ran = place.run("bench.yml", "pull_request", opened(repository, owner="stranger"), github, READ_ONLY_TOKEN)
    assert ran.jobs["run"].result == "success", ran.log
    assert github.requests == ()

    reported = place.run("bench report.yml", "workflow_run", completed(repository, owner="stranger"), github)
    assert reported.jobs["report"].result == "success", reported.log
    (comment,) = github.comments(7)
    assert "Unverified result of a fork" in comment.body
    newest = github.statuses(head(repository))[0]
    assert (newest.state, newest.context) == ("pending", "skillgym-action")
