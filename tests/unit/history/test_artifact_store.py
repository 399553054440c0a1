"""Results in artifacts of workflow runs, on the fake GitHub."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from github_runs import Artifact, ArtifactHost, WorkflowRun, zipped
from github_server import JOB_TOKEN
from on_github import REPOSITORY, github_with
from skillgym_action.github.api import GitHubApi
from skillgym_action.history import StoreError
from skillgym_action.history.artifact_store import MAX_RUNS_WITHOUT_ARTIFACT, ArtifactPlace, ArtifactStore
from skillgym_action.model.errors import OutputError
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.clock import Clock
from stored_runs import line_of, run_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from github_server import GitHubServer

SHA, NAME = "a" * 40, "20260110T110000Z-0000000000{:02x}.jsonl"
PLACE = {"repository": REPOSITORY, "workflow": "bench.yml", "branch": "main", "run": 999}


class Artifacts:
    """The fake GitHub with runs, and the store that reads their artifacts."""

    def __init__(self, github: GitHubServer, cancelled: Cancellation) -> None:
        self.github, self._cancelled = github, cancelled

    def run(self, number: int, *names: str, sha: str = SHA, expired: bool = False) -> None:
        """A successful run with artifacts of those names, each with a line of its own."""
        self.github.state.runs[number] = WorkflowRun(id=number, sha=sha)
        for name in names:
            line = line_of(run_of("a passed", commit=sha), hours=1, group=f"{number}/bench")
            artifact = len(self.github.state.artifacts) + 1
            content = zipped({NAME.format(artifact): line})
            self.github.state.artifacts[artifact] = Artifact(
                id=artifact, run=number, name=name, content=content, expired=expired
            )

    def store(self, commits: frozenset[str] | None = None, **place: object) -> ArtifactStore:
        def api() -> GitHubApi:
            url, graphql = self.github.url, self.github.graphql_url
            return GitHubApi(url=url, token=JOB_TOKEN, graphql_url=graphql, clock=Clock(), cancelled=self._cancelled)

        return ArtifactStore(ArtifactPlace(**{**PLACE, **place}), api, lambda: commits, None)  # type: ignore[arg-type]

    def read(self, **place: object) -> list[str]:
        return [text.place for text in self.store(**place).newest_first()]

    @property
    def requests(self) -> int:
        return len(self.github.requests)


@pytest.fixture
def artifacts() -> Iterator[Artifacts]:
    with github_with() as github, ArtifactHost(github.state), closing(Cancellation()) as cancelled:
        yield Artifacts(github, cancelled)


@pytest.mark.slow
def test_the_artifacts_of_the_newest_runs_are_read(artifacts):
    for number in (1, 2, 3):
        artifacts.run(number, "skillgym-store", "logs", "skillgym-stores")
    places = artifacts.read(runs=2)
    assert [place.split(":")[0] for place in places] == ["run 3", "run 2"]
    assert places[0] == f"run 3: skillgym-store: {NAME.format(7)}:1"
    assert artifacts.requests == 4 + 2 * 2


def test_jobs_of_a_matrix_have_artifacts_of_their_own_and_of_attempts_the_newest_counts(artifacts):
    artifacts.run(1, "skillgym-store-a", "skillgym-store-b", "skillgym-store-a")
    assert sorted(place.split(": ")[1] for place in artifacts.read()) == ["skillgym-store-a", "skillgym-store-b"]
    assert any(NAME.format(3) in place for place in artifacts.read())
    artifacts.run(2, *(f"skillgym-store-{number}" for number in range(41)))
    with pytest.raises(StoreError, match="a run has more than 40 of them"):
        artifacts.read()


def test_runs_of_other_commits_and_the_run_itself_are_not_asked_for_their_artifacts(artifacts):
    artifacts.run(1, "skillgym-store")
    artifacts.run(2, "skillgym-store", sha="b" * 40)
    artifacts.run(999, "skillgym-store")
    store = artifacts.store(frozenset({SHA}))
    assert [text.place.split(":")[0] for text in store.newest_first()] == ["run 1"]
    assert artifacts.requests == 4 + 2


def test_after_some_runs_without_the_artifact_no_older_one_is_looked_at(artifacts):
    artifacts.run(1, "skillgym-store")
    for number in range(2, 2 + MAX_RUNS_WITHOUT_ARTIFACT):
        artifacts.run(number, *(["skillgym-store"] if number % 2 else []), expired=True)
    store = artifacts.store()
    assert list(store.newest_first()) == []
    assert artifacts.requests == 4 + MAX_RUNS_WITHOUT_ARTIFACT
    assert store.looked_at == " (successful runs of bench.yml for main: 20, 20 of them without such an artifact)"


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ({"workflow": None}, "the workflow is not known; name its file: store: artifact=bench.yml"),
        ({"branch": None}, "the base branch is not known"),
        ({"workflow": "none.yml"}, "GitHub answered 404: Not Found"),
    ],
)
def test_what_is_not_known_is_an_error(artifacts, place, message):
    with pytest.raises(StoreError, match=message):
        artifacts.read(**place)


def test_what_cannot_be_written_is_an_error_of_the_store(artifacts):
    def full(name: str, text: str) -> None:
        raise OutputError(f"cannot write {name}: no space left")

    at = datetime(2026, 1, 1, tzinfo=UTC)
    store = ArtifactStore(ArtifactPlace(**PLACE), None, lambda: None, full)
    with pytest.raises(StoreError, match=r"cannot write 20260101T000000Z-[0-9a-f]{12}\.jsonl: no space left"):
        store.add(b"{}\n", "x", at)
    with pytest.raises(StoreError, match="there is no run directory"):
        artifacts.store().add(b"{}\n", "x", at)
