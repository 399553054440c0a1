"""The event that started a workflow, from the variables and the payload that GitHub's runner passes to every step."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field, ValidationError

from skillgym_action.model.errors import UsageError
from skillgym_action.model.records import record
from skillgym_action.model.report import Links

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_EVENT_BYTES = 32 * 1024 * 1024  # of the payload; GitHub's have at most 25 MB
PULL_REQUEST_EVENTS = ("pull_request", "pull_request_target", "pull_request_review", "pull_request_review_comment")
EVENTS_WITH_SECRETS = ("pull_request_target", "workflow_run")  # also for commits of untrusted contributors
EVENTS_ON_BRANCHES = ("push", "workflow_dispatch")  # a branch may be the head of a pull request
DEPENDABOT = "dependabot[bot]"
WORKFLOW_FILE = re.compile(r"[\w.-]{1,200}\.ya?ml")
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")

Sha = Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]


@record
class Head:
    """The commit a workflow is about, and where it was pushed; ``branch`` without ``refs/heads/``."""

    sha: str
    repository: str | None = None
    branch: str | None = None


@record
class GitHubEvent:
    """What started the workflow, and the commit it is about. URLs have no slash at the end.

    ``pull``: number of the pull request, where the payload has it; ``base``: the commit that a pull request or a merge
    group is to be merged into; ``merge``: GitHub's test merge of the head, which actions/checkout checks out.
    ``base_branch``: the one of ``base``; ``default_branch``: of the repository, where the payload has it. ``ref`` and
    ``sha``: what the workflow runs for; ``ref_protected``: whether the branch is protected. ``job``: the job's id.
    ``workflow``: the file name of the workflow, if it is one of this repository. ``named_commit``: whether the workflow
    names the head in the input ``commit``, without saying whose it is.
    """

    name: str
    repository: str
    server_url: str
    api_url: str
    graphql_url: str
    run_id: int
    run_attempt: int
    actor: str = ""
    head: Head | None = None
    pull: int | None = None
    base: str | None = None
    merge: str | None = None
    base_branch: str | None = None
    default_branch: str | None = None
    ref: str = ""
    ref_protected: bool = False
    sha: str = ""
    job: str = ""
    workflow: str | None = None
    named_commit: bool = False

    @property
    def branch(self) -> str | None:
        """The branch that the workflow runs for; None if it is none."""
        return self.ref.removeprefix("refs/heads/") if self.ref.startswith("refs/heads/") else None

    @property
    def run_key(self) -> str:
        """``<run id>/<attempt>``: larger means later."""
        return f"{self.run_id}/{self.run_attempt}"

    @property
    def from_fork(self) -> bool:
        """Whether the commit was pushed to another repository, whose owners may have no rights in this one."""
        return bool(self.head and self.head.repository and self.head.repository.lower() != self.repository.lower())

    @property
    def untrusted(self) -> bool:
        """Whether an untrusted commit may run with the repository's secrets.

        The payload of a comment on a pull request does not say which commit it is about; without its usual payload, no
        event with secrets does.
        """
        if self.named_commit or self.name == "issue_comment":
            return self.named_commit or self.head is None
        return self.name in EVENTS_WITH_SECRETS and (self.head is None or self.from_fork)

    @property
    def detached(self) -> bool:
        """Whether the job's own check is on another commit than the one the run is about."""
        return self.named_commit or self.name == "workflow_run"

    @property
    def read_only_reason(self) -> str | None:
        """Why GitHub probably gave the job a token that can only read. It may write all the same: settings differ."""
        if self.name in EVENTS_WITH_SECRETS:
            return None
        if self.name in PULL_REQUEST_EVENTS and self.from_fork:
            return "the pull request comes from a fork, whose workflows by default get a token that can only read"
        if self.actor == DEPENDABOT:
            return "Dependabot started the workflow, which by default gets a token that can only read"
        return None

    @property
    def read_only_remedy(self) -> str:
        """What to do where the token cannot write, for ``read_only_reason``."""
        if self.from_fork:
            return "let a second workflow report what this one ran (mode: report)"
        return "grant the permissions to the job, which counts for Dependabot as well"

    def links(self) -> Links:
        """Return URLs for reports."""
        repository = f"{self.server_url}/{self.repository}"
        run = self.run_address(self.run_id)
        if self.run_attempt > 1:
            run += f"/attempts/{self.run_attempt}"
        return Links(repository=repository, commit=self.head.sha if self.head else None, run=run)

    def run_address(self, run_id: int) -> str:
        """The URL of a workflow run of the repository."""
        return f"{self.server_url}/{self.repository}/actions/runs/{run_id}"


class _Repository(BaseModel):
    full_name: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]


class _OwnRepository(BaseModel):
    default_branch: str | None = None


class _Head(BaseModel):
    sha: Sha
    ref: str | None = None
    repo: _Repository | None = None  # null once the fork is deleted


class _Base(BaseModel):
    sha: Sha
    ref: str | None = None


class _PullRequest(BaseModel):
    number: int
    head: _Head
    base: _Base | None = None


class _WorkflowRun(BaseModel):
    head_sha: Sha
    head_branch: str | None = None
    head_repository: _Repository | None = None


class _MergeGroup(BaseModel):
    head_sha: Sha
    base_sha: Sha | None = None
    base_ref: str | None = None


class _Issue(BaseModel):
    number: int
    pull_request: dict[str, object] | None = None


class _Payload(BaseModel):
    """The fields of a payload that are used."""

    pull_request: _PullRequest | None = None
    workflow_run: _WorkflowRun | None = None
    merge_group: _MergeGroup | None = None
    issue: _Issue | None = None
    ref: str | None = None
    repository: _OwnRepository | None = None


def github_event(environment: Mapping[str, str]) -> GitHubEvent | None:
    """Return the event; None outside of GitHub. Raises UsageError for a payload that cannot be GitHub's."""
    repository, name = environment.get("GITHUB_REPOSITORY", ""), environment.get("GITHUB_EVENT_NAME", "")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository) or not name:
        return None
    payload = _payload(environment.get("GITHUB_EVENT_PATH", ""))
    head, pull = _head_and_pull(payload, name, environment, repository)
    named = _named_commit(environment.get("INPUT_COMMIT", "").strip(), name)
    server_url = environment.get("GITHUB_SERVER_URL", "").rstrip("/") or "https://github.com"
    return GitHubEvent(
        name=name,
        repository=repository,
        server_url=server_url,
        api_url=environment.get("GITHUB_API_URL", "").rstrip("/") or "https://api.github.com",
        graphql_url=environment.get("GITHUB_GRAPHQL_URL", "").rstrip("/") or "https://api.github.com/graphql",
        run_id=_number(environment, "GITHUB_RUN_ID"),
        run_attempt=_number(environment, "GITHUB_RUN_ATTEMPT"),
        actor=environment.get("GITHUB_ACTOR", ""),
        head=named or head,
        pull=pull,
        base=_base(payload, name),
        merge=_merge(name, environment),
        base_branch=_base_branch(payload, name),
        default_branch=payload.repository.default_branch if payload.repository else None,
        ref=environment.get("GITHUB_REF", ""),
        ref_protected=environment.get("GITHUB_REF_PROTECTED") == "true",
        sha=environment.get("GITHUB_SHA", ""),
        job=environment.get("GITHUB_JOB", ""),
        workflow=_workflow(environment.get("GITHUB_WORKFLOW_REF", ""), repository),
        named_commit=named is not None,
    )


def _named_commit(sha: str, name: str) -> Head | None:
    """The commit in the input ``commit``, of an unknown repository. Raises UsageError."""
    if not sha:
        return None
    if name != "workflow_dispatch":
        raise UsageError(
            f"the event {name} does not use the input commit",
            remedy="leave it out, or start the workflow with workflow_dispatch, which needs write access",
        )
    if not _SHA.fullmatch(sha):
        raise UsageError(f"input commit: {sha!r} is not the full id of a commit", remedy="give all 40 digits")
    return Head(sha=sha)


def _workflow(ref: str, repository: str) -> str | None:
    """The file name in ``octo/skills/.github/workflows/bench.yml@refs/heads/main``."""
    found = re.match(rf"{re.escape(repository)}/\.github/workflows/({WORKFLOW_FILE.pattern})@", ref, re.IGNORECASE)
    return found[1] if found else None


def _base_branch(payload: _Payload, name: str) -> str | None:
    if name == "merge_group" and (group := payload.merge_group) and group.base_ref:
        return group.base_ref.removeprefix("refs/heads/")
    pull = payload.pull_request if name in PULL_REQUEST_EVENTS else None
    return pull.base.ref if pull and pull.base else None


def _base(payload: _Payload, name: str) -> str | None:
    if (pull := payload.pull_request) and name in PULL_REQUEST_EVENTS:
        return pull.base.sha if pull.base else None
    return payload.merge_group.base_sha if payload.merge_group and name == "merge_group" else None


def _merge(name: str, environment: Mapping[str, str]) -> str | None:
    """GitHub's test merge; under pull_request_target GITHUB_SHA is the base branch."""
    sha = environment.get("GITHUB_SHA", "")
    is_merge = name in PULL_REQUEST_EVENTS and name not in EVENTS_WITH_SECRETS
    return sha if is_merge and _SHA.fullmatch(sha) else None


def _payload(path: str) -> _Payload:
    if not path or not (file := Path(path)).is_file():
        return _Payload()
    try:
        if file.stat().st_size > MAX_EVENT_BYTES:
            raise UsageError(f"{path}: the event's payload has more than {MAX_EVENT_BYTES:,} bytes")
        return _Payload.model_validate_json(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: the event's payload cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        location = ".".join(map(str, first["loc"])) or "the payload"
        raise UsageError(
            f"{path}: {location}: {first['msg']}",
            remedy="GITHUB_EVENT_PATH must be the path of the event's payload as GitHub sends it",
        ) from error


def _head_and_pull(
    payload: _Payload, name: str, environment: Mapping[str, str], repository: str
) -> tuple[Head | None, int | None]:
    """The head, and the pull request's number where the payload has it."""
    if (pull := payload.pull_request) and name in PULL_REQUEST_EVENTS:
        owner = pull.head.repo.full_name if pull.head.repo else "(deleted)"
        return Head(sha=pull.head.sha, repository=owner, branch=pull.head.ref), pull.number
    if (run := payload.workflow_run) and name == "workflow_run":
        owner = run.head_repository.full_name if run.head_repository else "(deleted)"
        return Head(sha=run.head_sha, repository=owner, branch=run.head_branch), None
    if (group := payload.merge_group) and name == "merge_group":
        return Head(sha=group.head_sha, repository=repository), None  # may be several pull requests
    if (issue := payload.issue) and issue.pull_request is not None:
        return None, issue.number
    sha, ref = environment.get("GITHUB_SHA", ""), environment.get("GITHUB_REF", "")
    if name in EVENTS_WITH_SECRETS or (name == "issue_comment" and not payload.issue):
        sha = ""  # without its usual payload, the event does not say whose commit this is
    if not _SHA.fullmatch(sha):
        return None, None
    is_branch = name in EVENTS_ON_BRANCHES and ref.startswith("refs/heads/")
    branch = ref.removeprefix("refs/heads/") if is_branch else None
    return Head(sha=sha, repository=repository, branch=branch), None


def _number(environment: Mapping[str, str], name: str) -> int:
    value = environment.get(name, "")
    return int(value) if re.fullmatch(r"[0-9]{1,18}", value) else 1
