"""Artifacts of workflow runs: found over GitHub's API, downloaded, and their files read in memory.

An artifact may have been made by anybody whose commit a workflow ran on. What it is taken for depends on the run alone:
its workflow, its event, its branch and the repository of its commit are GitHub's words.
"""

from __future__ import annotations

import heapq
import io
import stat
import zipfile
import zlib
from typing import TYPE_CHECKING

from skillgym_action.github.api import ApiArtifact, ApiRun, GitHubError, parse_pages
from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.github.api import GitHubApi

GONE = 410  # the status of an artifact that has expired or was deleted
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED = 1  # bit of the flags of a file in an archive
_PIECE = 65_536


@record
class ArchiveLimits:
    """``zip_bytes``: of the download; ``files``: how many files it has; ``whole_bytes``: of all of them unpacked."""

    zip_bytes: int
    files: int
    whole_bytes: int


def runs_of_branch(
    api: GitHubApi, repository: str, *, workflow: str, branch: str, events: Iterable[str]
) -> Iterator[ApiRun]:
    """The successful runs of a workflow for commits of a branch of ``repository``, the newest first.

    ``workflow``: the name of its file. A pull request from a branch of the same name, also of a fork, is none of them.
    Each event is asked for on its own, so that no number of pull requests hides a run. Raises GitHubError.
    """
    path = f"/repos/{repository}/actions/workflows/{workflow}/runs"
    lists = [
        _runs(api, path, event=event, branch=branch, status="success", exclude_pull_requests="true") for event in events
    ]
    for run in heapq.merge(*lists, key=lambda run: run.id, reverse=True):
        if run.is_of(repository, branch):
            yield run


def _runs(api: GitHubApi, path: str, **query: str) -> Iterator[ApiRun]:
    for run in parse_pages(ApiRun, api.pages(path, key="workflow_runs", **query)):
        if run.event == query["event"] and run.conclusion == query["status"]:
            yield run


def artifacts_of_run(api: GitHubApi, repository: str, run: int) -> Iterator[ApiArtifact]:
    """The artifacts of a workflow run, also those that have expired. Raises GitHubError."""
    return parse_pages(ApiArtifact, api.pages(f"/repos/{repository}/actions/runs/{run}/artifacts", key="artifacts"))


def artifact_files(
    api: GitHubApi, repository: str, artifact: ApiArtifact, limits: ArchiveLimits
) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file of an artifact. Nothing is written to a disk.

    Raises GitHubError, with the status 410 if the artifact is gone; also for one that exceeds ``limits``.
    """
    content = api.download(f"/repos/{repository}/actions/artifacts/{artifact.id}/zip", limits.zip_bytes)
    return files_of_archive(content, f"the artifact {artifact.name}", limits)


def files_of_archive(content: bytes, title: str, limits: ArchiveLimits) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file of a ZIP archive, in its order, one at a time. Raises GitHubError.

    What it says of its sizes is not believed. Refused are links and other special files, encrypted files, names with
    steps upwards or from the root, and the same name twice; folders are left out.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > limits.files:
                raise _wrong(title, f"has more than {limits.files} files")
            left, seen = limits.whole_bytes, set()
            for entry in entries:
                if entry.filename.endswith("/"):  # is_dir() fails on an empty name
                    continue
                if reason := _reason_to_refuse(entry):
                    raise _wrong(title, f"{reason}: {entry.filename[:100]!r}")
                if entry.filename in seen:
                    raise _wrong(title, f"has a file twice: {entry.filename[:100]!r}")
                seen.add(entry.filename)
                unpacked = _unpacked(archive, entry, left)
                if unpacked is None:
                    raise _wrong(title, f"has more than {limits.whole_bytes:,} bytes unpacked")
                left -= len(unpacked)
                yield entry.filename, unpacked
    # zipfile raises NotImplementedError for compression methods and versions that it does not know.
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OverflowError) as error:
        raise _wrong(title, f"is not a readable ZIP archive: {error}") from error


def _reason_to_refuse(entry: zipfile.ZipInfo) -> str | None:
    mode = entry.external_attr >> 16
    parts = entry.filename.replace("\\", "/").split("/")
    if ".." in parts or "" in parts or not entry.filename.isprintable():
        return "has a file with a name that leads elsewhere"
    if stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
        return "has a link or another special file"
    if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _METHODS:
        return "has a file that is packed in another way than GitHub does"
    return None


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> bytes | None:
    """The content of a file; None if it has more than ``most`` bytes, of which no more are unpacked than that."""
    found = bytearray()
    with archive.open(entry) as file:
        while piece := file.read(_PIECE):
            found += piece
            if len(found) > most:
                return None
    return bytes(found)


def _wrong(title: str, reason: str) -> GitHubError:
    return GitHubError(reason, operation=title)
