"""Plan -> the same executions with the files of the base commit, for sessions beside those of the head.

The suite is that of the head: cases, prompts, assertions, hooks and limits. From the base commit are what is copied
into workspaces, and the runners.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.limits import COMMIT_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.pipeline.stages.discover import discover
from skillgym_action.sessions.hooks import workspace_spec
from skillgym_action.workspaces.control_files import ControlFiles
from skillgym_action.workspaces.repository.changed_files import commit_named, merge_base
from skillgym_action.workspaces.repository.reference_solutions import recordings_folder, solutions_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.runner import Runner
    from skillgym_action.services import Services
    from skillgym_action.settings.slices import Options

NOT_IN_CLONE = "the base commit is not in the clone (`fetch-depth: 0`)"
IN_PLACE = "agents work in an existing folder, which has no other commit"
ON_WORKERS = "sessions run on workers, which have no files of the base commit"
ARMS_DIFFER = "files of arms differ from the base commit"


@record
class ControlSessions:
    """The executions with the files of ``commit``, by the indexes of those of the head.

    ``lacking``: executions without one, since the base lacks what they are given. ``differs``: whether agents see
    anything else than in the head.
    """

    commit: str
    executions: Mapping[int, Execution]
    lacking: tuple[Execution, ...]
    differs: bool


def base_commit(services: Services, options: Options, base: RunReport | None) -> str | None:
    """The commit that the head is compared with; None: it is not in the clone."""
    root, processes = services.repository.root, services.processes
    if not services.repository.has_git:
        return None
    if options.report.baseline and base and base.commit:
        return commit_named(root, processes, base.commit)
    return merge_base(root, processes, options.arms.base)


def obstacle(services: Services, heads: Iterable[Execution], options: Options) -> str:
    """Why there can be no control, whatever the base commit is; empty: there can be one."""
    if not services.repository.has_git:
        return "this is no git checkout"
    if options.engine is not None:
        return ON_WORKERS
    return IN_PLACE if any(workspace_spec(one).mode == "none" for one in heads) else ""


def control_sessions(
    services: Services, heads: tuple[Execution, ...], options: Options, *, commit: str, first_index: int
) -> ControlSessions | str:
    """The executions of the control, numbered from ``first_index``; or why there is none. Raises UsageError."""
    target = services.workspaces.new_records_folder()
    try:
        of_base = ControlFiles(services.workspaces, services.processes, target, commit)
    except OSError as error:
        return f"the base commit {commit[:COMMIT_CHARACTERS]} cannot be read: {error.strerror}"
    if any(map(of_base.differs, options.arms.sources)):
        return ARMS_DIFFER
    _hide(services, options, target)
    runners = options.runners_at(target) if options.runners_at else None
    if isinstance(runners, str):
        return runners
    found: dict[int, Execution] = {}
    lacking: list[Execution] = []
    for head in heads:
        runner = _runner_at_base(head, runners, of_base)
        if runner and (made := of_base.execution(head, runner, first_index + len(found))):
            found[head.index] = made
        else:
            lacking.append(head)
    pairs = [(head, found[head.index]) for head in heads if head.index in found]
    try:
        if why := of_base.obstacle(pairs, other_user=services.processes.user is not None):
            return why
    except OSError as error:
        return f"git cannot tell what is not in it: {error}"
    return ControlSessions(commit=commit, executions=found, lacking=tuple(lacking), differs=of_base.is_seen(pairs))


def _runner_at_base(head: Execution, runners: Mapping[str, Runner] | None, of_base: ControlFiles) -> Runner | None:
    """The runner of the base; None: it has none. One of the suite is that of the head, if the suite is the same."""
    if runners is None:
        return head.runner
    own = any(one.id == head.runner.id for one in (*head.suite.runners, *head.suite.other_runners))
    return head.runner if own and not of_base.differs(head.suite.file) else runners.get(head.runner.id)


def _hide(services: Services, options: Options, root: Path) -> None:
    """Hide suites of the base, and with them solutions and recordings, and its untrusted configuration."""
    base = services.workspaces.repository_in(root)
    found = discover(base, root, replace(options.discover, paths=())).suites
    inside = [suite.path for suite in found if not suite.path.startswith("/")]
    services.workspaces.hide(path for one in inside for path in (one, solutions_folder(one), recordings_folder(one)))
    if services.untrusted_configuration:
        services.workspaces.hide(services.untrusted_configuration.among(base.files(root)))
