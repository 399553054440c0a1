"""The composite action inside real workflows, run by nektos/act on this machine, without a Docker engine.

It installs the locked dependencies from the Python package index: part of ``make test-container``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from container.act import THIS_MACHINE, Place
from container.consumer import committed, consumer_workflow, head, opened
from container.test_workflows_run import action, github
from github_state import PullRequest
from scratch import case, config, runner, suite, written

if TYPE_CHECKING:
    from pathlib import Path

    from container.act import Workflow

__all__ = ["action", "github"]  # fixtures
pytestmark = pytest.mark.container

JUNIT = 'echo "$VERDICT, $(head -c 5 "$JUNIT")"'
GREEN = case(expect=("file:out.txt exists",))
RED = case(expect=("file:other.txt exists",))


def composite_workflow(command: str = JUNIT, fail_on: str = "failed,errored") -> str:
    return consumer_workflow(command, fail_on).replace("skillgym-action@v1", "skillgym-action/composite@v1")


def ran(action: Path, github, tmp_path: Path, files: dict[str, str], workflow: str) -> Workflow:
    """The workflow, run on this machine for a pull request with these files."""
    repository = committed(written(tmp_path / "skills", {".github/workflows/bench.yml": workflow, **files}))
    github.add_pull(PullRequest(number=7, head_sha=head(repository)))
    place = Place(
        repository=repository,
        artifacts=tmp_path,
        actions={"octo/skillgym-action@v1": action, "octo/skillgym-action/composite@v1": action},
        job_image=THIS_MACHINE,
        variables={"RUNNER_OS": "Linux"},
    )
    return place.run("bench.yml", "pull_request", opened(repository), github)


@pytest.mark.parametrize(
    ("files", "code", "verdict"),
    [
        pytest.param(
            {"bench/core.json": suite(GREEN), "skillgym.config.yaml": config(runner())}, "0", "passed", id="green"
        ),
        pytest.param(
            {"bench/core.json": suite(RED), "skillgym.config.yaml": config(runner())}, "1", "failed", id="red"
        ),
        pytest.param(
            {"bench/core.json": suite(GREEN), "skillgym.config.yaml": config({"agent": {"type": "cursor-agent"}})},
            "3",
            "inconclusive",
            id="inconclusive: the agent's program is missing",
        ),
    ],
)
def test_a_repository_uses_the_composite_action(action, github, tmp_path, files, code, verdict):
    finished = ran(action, github, tmp_path, files, composite_workflow())
    job = finished.jobs["bench"]
    bench = job.steps["bench"]
    assert job.result == ("success" if code == "0" else "failure"), finished.log
    assert (bench.outputs["exit-code"], bench.outputs["verdict"]) == (code, verdict)
    assert "installed skillgym-action's dependencies in " in finished.log
    assert "note: no container: agents run as this user" in finished.log
    assert job.steps["after"].log == f"{verdict}, <?xml\n"
    assert f"## {'✅ ' if code == '0' else ''}" in bench.summary
    (comment,) = github.comments(7)
    signs = {"passed": "✅", "failed": "❌", "inconclusive": "⚠️"}
    assert f"\n## {signs[verdict]} " in comment.body


def test_a_mistake_in_an_input_ends_the_job(action, github, tmp_path):
    files = {"bench/core.json": suite(GREEN), "skillgym.config.yaml": config(runner())}
    finished = ran(action, github, tmp_path, files, composite_workflow(fail_on="bogus"))
    assert finished.jobs["bench"].result == "failure", finished.log
    assert "unknown word 'bogus'" in finished.log


def test_an_input_is_never_a_part_of_a_command(action, github, tmp_path):
    files = {"bench/core.json": suite(GREEN), "skillgym.config.yaml": config(runner())}
    hostile = """comment-id: '"; touch "$GITHUB_WORKSPACE/injected" #$(touch "$GITHUB_WORKSPACE/injected")`id`'"""
    workflow = composite_workflow('echo "$VERDICT, $(ls)"').replace("report-dir: run", hostile)
    finished = ran(action, github, tmp_path, files, workflow)
    after = finished.jobs["bench"].steps["after"].log
    assert "bench" in after, finished.log
    assert "injected" not in after
