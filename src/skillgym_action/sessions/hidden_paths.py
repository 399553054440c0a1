"""Part of execute: what agents with a user of their own cannot read while they run.

The whole checkout, where none of them has something to do in it; else the folders of suites, or at least their files.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.sessions.hooks import workspace_spec
from skillgym_action.workspaces.closed_paths import closed_but_to

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.execution import Execution
    from skillgym_action.services import Services


@contextmanager
def hide_suites(services: Services, executions: tuple[Execution, ...]) -> Iterator[None]:
    """Suites are closed to their agents as long as the context lasts. Raises UsageError where that cannot be."""
    user, root = services.processes.user, services.repository.root
    roots = {root, services.suites.root}
    if user is None or not executions:
        yield
        return
    needed = {place: who for who, place in _needed(services, executions) if any(map(place.is_relative_to, roots))}
    suites = {path for execution in executions for path in _of_suite(roots, execution)}
    if needed:
        place, who = next(iter(needed.items()))
        services.observer.progress(f"agents can read the checkout, but not the suites: {who} needs {place}")
    closed = {path for path in suites if not any(map(path.is_relative_to, roots))}
    for one in roots:
        if any(place.is_relative_to(one) for place in needed):
            inside = (path for path in suites if path.is_relative_to(one))
            closed.update(_folders_or_files(one, inside, frozenset(needed)))
        else:
            closed.add(one)
    with closed_but_to(user.readers, closed, root):
        yield


def _needed(services: Services, executions: Iterable[Execution]) -> Iterator[tuple[str, Path]]:
    """Who needs what, by absolute paths."""
    yield "every agent", services.workspaces.root
    for execution in executions:
        agent, spec = execution.runner.agent, workspace_spec(execution)
        if AGENTS[agent.type].plays:
            continue
        who = f"{execution.case.id} [{execution.runner.id}]"
        if spec.mode == "none":
            yield who, spec.cwd or services.repository.root
        words = (Path(word) for part in (*agent.command, *agent.command_args) for word in part.split())
        yield from ((who, path) for path in (*execution.case.files, *words))


def _of_suite(roots: Iterable[Path], execution: Execution) -> Iterator[Path]:
    """Also what stands at its places in the checkout, where the suite was read from elsewhere."""
    suite = execution.suite
    yield suite.file
    for root in roots:
        yield from (path for name in (suite.path, *suite.hidden) if (path := root / name).exists())


def _folders_or_files(root: Path, suites: Iterable[Path], needed: frozenset[Path]) -> Iterator[Path]:
    """The folders that suites are in, with all that their checks import; the file where a folder is needed."""
    for path in suites:
        folder = path.parent
        holds = any(place.is_relative_to(folder) for place in needed)
        inside = any(folder.is_relative_to(place) for place in needed)
        if folder.is_relative_to(root) and folder != root and not holds and not inside:
            yield folder
        elif not any(place.is_relative_to(path) for place in needed):
            yield path
