"""Opens what a run has outside of this machine: GitHub's API, and the store of earlier results."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from skillgym_action.limits import DEFAULT_STORE_SECONDS, GITHUB_RETRY_SECONDS, STORE_TRANSFER_SECONDS
from skillgym_action.model.errors import UsageError
from skillgym_action.repository.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.baselines import Store
    from skillgym_action.cancellation import Cancellation
    from skillgym_action.clock import Clock
    from skillgym_action.github.api import GitHubApi
    from skillgym_action.github.event import GitHubEvent
    from skillgym_action.processes.launcher import ProcessLauncher
    from skillgym_action.settings.baseline_options import StoreOptions
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.storage.run_directory import RunDirectory


def store_of(
    context: LaunchContext,
    options: StoreOptions,
    processes: ProcessLauncher,
    clock: Clock,
    directory: RunDirectory | None = None,
) -> Store:
    """The store of a run. ``directory``: of the run, if it may write to a store of artifacts.

    Raises UsageError for a store of artifacts outside of a job on GitHub.
    """
    if options.path is not None:
        from skillgym_action.baselines.path_store import path_store

        return path_store(options.path, options.named)
    event = context.job.event if context.job else event_of_command(context)
    token = context.job.repository_token if context.job else context.environment.get("GITHUB_TOKEN", "")
    if options.kind == "artifact":
        if event is None:
            remedy = "keep results in a branch or a folder: --store branch, --store path=DIR"
            raise UsageError("the store artifact works only in jobs on GitHub", remedy=remedy)
        return _artifact_store(context, options, (event, token), (processes, clock), directory)
    from skillgym_action.baselines.branch_store import BranchStore, Remote

    if event:
        remote = Remote(url=f"{event.server_url}/{event.repository}.git", token=token)
    else:
        of_user = {name: context.environment.get(name, "") for name in ("HOME", "SSH_AUTH_SOCK")}
        url = Repository(context.root, processes, context.checkout).remote_url() or ""
        remote = Remote(url=url, environment=of_user)
    seconds = DEFAULT_STORE_SECONDS if options.optional else STORE_TRANSFER_SECONDS
    return BranchStore(remote, processes, clock, seconds)


def _artifact_store(
    context: LaunchContext,
    options: StoreOptions,
    job: tuple[GitHubEvent, str],
    services: tuple[ProcessLauncher, Clock],
    directory: RunDirectory | None,
) -> Store:
    """``job``: the event, and the token."""
    from skillgym_action.baselines.artifact_store import ArtifactPlace, ArtifactStore
    from skillgym_action.baselines.permission import base_branch
    from skillgym_action.repository.committed_tree import history

    (event, token), (processes, clock) = job, services
    place = ArtifactPlace(
        repository=event.repository,
        workflow=options.workflow or event.workflow,
        branch=base_branch(event),
        run=event.run_id,
        runs=options.runs,
    )
    api = partial(github_api, event, token, context.environment, clock, processes.cancelled)
    return ArtifactStore(
        place, api, partial(history, context.root, processes), directory.add_to_store if directory else None
    )


def event_of_command(context: LaunchContext) -> GitHubEvent | None:
    """The event of the job that a command runs in, outside of the action."""
    if not context.in_job or context.job is not None:
        return None
    from skillgym_action.github.event import github_event

    return github_event(context.environment)


def github_api(
    event: GitHubEvent,
    token: str,
    environment: Mapping[str, str],
    clock: Clock,
    cancelled: Cancellation,
    deadline: float = GITHUB_RETRY_SECONDS,
) -> GitHubApi:
    """GitHub's API; ``deadline``: seconds for waits and failed tries of all requests together."""
    from skillgym_action.github.api import GitHubApi
    from skillgym_action.network.proxies import network_from

    api = GitHubApi(
        url=event.api_url,
        token=token,
        graphql_url=event.graphql_url,
        clock=clock,
        cancelled=cancelled,
        deadline=deadline,
    )
    api.network = network_from(environment)
    return api
