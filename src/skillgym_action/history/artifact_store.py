"""A store in artifacts of workflow runs: each run uploads its own lines, and readers pool the newest runs.

Artifacts cannot be changed, and REST cannot upload them: a run writes its lines to a folder, and the workflow's next
step uploads that. No two jobs ever write to the same place, so that nothing is lost when they run at once.
"""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING

from skillgym_action.github.api import GitHubError
from skillgym_action.github.artifacts import GONE, ArchiveLimits, artifact_files, artifacts_of_run, runs_of_branch
from skillgym_action.history import StoreError, StoreText
from skillgym_action.history.path_store import lines_of_file, run_file
from skillgym_action.history.permission import WRITING_EVENTS
from skillgym_action.history.stored_lines import parsed_line
from skillgym_action.model.errors import OutputError
from skillgym_action.model.limits import MAX_ARTIFACT_RUNS, MAX_STORE_BYTES
from skillgym_action.model.records import record
from skillgym_action.text.escaping import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from skillgym_action.github.api import ApiArtifact, ApiRun, GitHubApi

MAX_RUNS_WITHOUT_ARTIFACT = 20  # successful workflow runs without one, after which no older run is looked at
MAX_STORE_ARTIFACTS = 40  # of one workflow run: one for each job of a matrix
MAX_ARTIFACT_ZIP_BYTES = 8 * 1024**2
MAX_ARTIFACT_FILES = 16
ARTIFACT = "skillgym-store"
"""The name of the artifact. Jobs of a matrix add a hyphen and something of their own: ``skillgym-store-2``."""
LIMITS = ArchiveLimits(zip_bytes=MAX_ARTIFACT_ZIP_BYTES, files=MAX_ARTIFACT_FILES, whole_bytes=MAX_STORE_BYTES)
_FILE = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{12}\.jsonl")


@record
class ArtifactPlace:
    """Whose artifacts are read. ``workflow``: the name of its file; ``branch``: the base; None: not known.

    ``run``: the workflow run that reads, whose own artifacts do not count. ``runs``: how many runs are read.
    """

    repository: str
    workflow: str | None
    branch: str | None
    run: int
    runs: int = MAX_ARTIFACT_RUNS


class ArtifactStore:
    """Artifacts of the newest successful runs of a workflow on the base branch. See ``Store``."""

    title = f"the artifact {ARTIFACT}"
    next_step = "; the workflow has to upload the folder of the output store-path"

    def __init__(
        self,
        place: ArtifactPlace,
        api: Callable[[], GitHubApi],
        commits: Callable[[], frozenset[str] | None],
        write: Callable[[str, str], None] | None,
    ) -> None:
        """``commits``: the merge base and those before it. ``write``: writes a file of the folder to be uploaded."""
        self._place, self._api, self._commits, self._write = place, api, commits, write
        self._looked_at = 0
        self._without = 0

    @property
    def looked_at(self) -> str:
        """What was looked at, for a message that nothing was found."""
        if not self._looked_at:
            return f" (no successful run of {self._place.workflow} for {self._place.branch} was found)"
        without = f", {self._without} of them without such an artifact" if self._without else ""
        return f" (successful runs of {self._place.workflow} for {self._place.branch}: {self._looked_at}{without})"

    def newest_first(self) -> Iterator[StoreText]:
        """See ``Store``. Runs without the artifact, or whose artifact is gone, are left out."""
        place, commits = self._place, self._commits()
        if place.workflow is None:
            raise StoreError(f"{self.title}: the workflow is not known; name its file: store: artifact=bench.yml")
        if place.branch is None:
            raise StoreError(f"{self.title}: the base branch is not known")
        used = 0
        try:
            with closing(self._api()) as api:
                found = runs_of_branch(
                    api, place.repository, workflow=place.workflow, branch=place.branch, events=WRITING_EVENTS
                )
                for run in found:
                    if run.id == place.run or (commits is not None and run.head_sha not in commits):
                        continue
                    self._looked_at += 1
                    texts = list(self._lines(api, run))
                    yield from texts
                    used, self._without = used + bool(texts), self._without + (not texts)
                    if used == place.runs or self._without == MAX_RUNS_WITHOUT_ARTIFACT:
                        return
        except GitHubError as error:
            raise StoreError(f"{self.title}: {_explained(error)}") from error

    def _lines(self, api: GitHubApi, run: ApiRun) -> Iterator[StoreText]:
        """The lines of a run. Raises StoreError for a line that names another run."""
        for artifact in _newest_by_name(artifacts_of_run(api, self._place.repository, run.id)):
            try:
                files = list(artifact_files(api, self._place.repository, artifact, LIMITS))
            except GitHubError as error:
                if error.status == GONE:
                    continue
                raise
            for name, content in files:
                place = f"run {run.id}: {artifact.name}: {one_line(name)[:100]}"
                if not _FILE.fullmatch(name):
                    raise StoreError(
                        f"{self.title}: {place}: is not a file of a store: upload only the folder store-path"
                    )
                for text in lines_of_file(place, content):
                    self._refuse_foreign(text, run)
                    yield text

    def _refuse_foreign(self, text: StoreText, run: ApiRun) -> None:
        head = parsed_line(text.content, f"{self.title}: {text.place}").run
        said = head.commit, head.branch, head.group.partition("/")[0]
        if said != (run.head_sha, run.head_branch, str(run.id)):
            raise StoreError(f"{self.title}: {text.place}: names another run, commit or branch")

    def add(self, content: bytes, name: str, at: datetime) -> None:
        """See ``Store``. The next step of the workflow uploads the folder."""
        if self._write is None:
            raise StoreError(f"{self.title}: there is no run directory to write to")
        try:
            self._write(run_file(name, at).rpartition("/")[2], content.decode())
        except OutputError as error:
            raise StoreError(f"{self.title}: {error}") from error


def _newest_by_name(artifacts: Iterator[ApiArtifact]) -> list[ApiArtifact]:
    """The artifacts of the store, without expired ones; of several attempts of a job the newest. Raises GitHubError."""
    newest: dict[str, ApiArtifact] = {}
    for artifact in artifacts:
        if artifact.name != ARTIFACT and not artifact.name.startswith(f"{ARTIFACT}-"):
            continue
        if artifact.name not in newest or newest[artifact.name].id < artifact.id:
            newest[artifact.name] = artifact
        if len(newest) > MAX_STORE_ARTIFACTS:
            raise GitHubError(f"a run has more than {MAX_STORE_ARTIFACTS} of them", operation=ARTIFACT)
    return [artifact for artifact in newest.values() if not artifact.expired]


def _explained(error: GitHubError) -> str:
    """The error with what to do; a token that may not read artifacts gets 403, or 404."""
    remedy = "give the job permissions: actions: read" if error.status in {403, 404} else error.remedy
    return f"{error}{f'; {remedy}' if remedy else ''}"
