"""Workflow runs and artifacts of the fake GitHub, what it answers about them, and the host that artifacts come from."""

from __future__ import annotations

import io
import threading
import zipfile
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from github_contract import contract
from github_operations import Answer, Asked, Operation, RefusedError, found

if TYPE_CHECKING:
    from collections.abc import Mapping

    from github_state import Repository

WORKFLOW = "bench.yml"
HTML = "https://github.com"


@dataclass(frozen=True, kw_only=True)
class WorkflowRun:
    """``workflow``: the name of its file. ``head_repository`` empty: the repository itself."""

    id: int
    sha: str
    event: str = "push"
    branch: str = "main"
    workflow: str = WORKFLOW
    conclusion: str = "success"
    head_repository: str = ""


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """``content``: the bytes of the ZIP file; None: it is gone, although it is listed."""

    id: int
    run: int
    name: str
    content: bytes | None
    expired: bool = False


def zipped(files: Mapping[str, bytes]) -> bytes:
    """A ZIP file as actions/upload-artifact makes it."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def list_runs(asked: Asked) -> Answer:
    """Newest first; only the first 1,000, as GitHub has it."""
    query = asked.query
    listed = [
        _run(asked, run)
        for run in sorted(asked.repository.runs.values(), key=lambda run: -run.id)
        if run.workflow == asked.variables["workflow_id"]
        and run.branch == query.get("branch", run.branch)
        and run.event == query.get("event", run.event)
        and run.conclusion == query.get("status", run.conclusion)
    ]
    if asked.variables["workflow_id"] not in {run.workflow for run in asked.repository.runs.values()} | {WORKFLOW}:
        raise RefusedError(404, "Not Found")
    return Answer(200, listed[:1_000], key="workflow_runs")


def list_artifacts(asked: Asked) -> Answer:
    """Newest first."""
    run = found(asked.repository.runs, asked.number("run_id"))
    artifacts = sorted(asked.repository.artifacts.values(), key=lambda artifact: -artifact.id)
    listed = [_artifact(asked, one) for one in artifacts if one.run == run.id]
    wanted = asked.query.get("name")
    return Answer(200, [one for one in listed if wanted in {None, one["name"]}], key="artifacts")


def download_artifact(asked: Asked) -> Answer:
    """A redirect to an address on another host, which holds for a minute and for everybody."""
    if not asked.user.login:
        raise RefusedError(401, "Requires authentication")
    artifact = found(asked.repository.artifacts, asked.number("artifact_id"))
    if artifact.expired or artifact.content is None:
        raise RefusedError(410, "Artifact has expired")
    return Answer(302, None, headers={"Location": f"{asked.repository.artifact_host}/{artifact.id}?sig=signature"})


RUN_OPERATIONS = {
    "actions/list-workflow-runs": Operation(list_runs),
    "actions/list-workflow-run-artifacts": Operation(list_artifacts),
    "actions/download-artifact": Operation(download_artifact),
}


def _run(asked: Asked, run: WorkflowRun) -> dict[str, Any]:
    repository = asked.repository.name
    return contract().least("workflow-run") | {
        "id": run.id,
        "run_number": run.id,
        "event": run.event,
        "status": "completed",
        "conclusion": run.conclusion,
        "head_branch": run.branch,
        "head_sha": run.sha,
        "path": f".github/workflows/{run.workflow}",
        "html_url": f"{HTML}/{repository}/actions/runs/{run.id}",
        "head_repository": _repository(run.head_repository or repository),
        "repository": _repository(repository),
    }


def _repository(name: str) -> dict[str, Any]:
    return contract().least("minimal-repository") | {"name": name.rpartition("/")[2], "full_name": name}


def _artifact(asked: Asked, artifact: Artifact) -> dict[str, Any]:
    url = f"{asked.shapes.api}/actions/artifacts/{artifact.id}"
    return contract().least("artifact") | {
        "id": artifact.id,
        "name": artifact.name,
        "size_in_bytes": len(artifact.content or b""),
        "url": url,
        "archive_download_url": f"{url}/zip",
        "expired": artifact.expired,
        "workflow_run": {"id": artifact.run},
    }


# --- the other host -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Served:
    """What the host answers. ``seconds``: how long it takes."""

    status: int
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0


class ArtifactHost:
    """The host that GitHub redirects to. ``headers``: those of each request, in their order.

    ``answers``: what is answered in place of an artifact, by its id.
    """

    def __init__(self, repository: Repository) -> None:
        self.headers: list[dict[str, str]] = []
        self.answers: dict[int, Served] = {}
        self.closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self, repository))
        self._http.daemon_threads = True
        self.url = repository.artifact_host = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def _handler(host: ArtifactHost, repository: Repository) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Requests are in ``ArtifactHost.headers``."""

        def do_GET(self) -> None:
            host.headers.append({name.lower(): value for name, value in self.headers.items()})
            number = int(self.path.partition("?")[0].strip("/"))
            found = host.answers.get(number) or Served(200, repository.artifacts[number].content or b"")
            host.closing.wait(found.seconds)
            self.send_response(found.status)
            for name, value in {"Content-Type": "application/zip", **found.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(found.content)))
            self.end_headers()
            self.wfile.write(found.content)

    return Handler
