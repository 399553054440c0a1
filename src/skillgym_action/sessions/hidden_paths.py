"""Paths that agents with their own user cannot read while they run, so that they cannot look at the assertions.

That is the whole checkout, unless an agent needs a path in it; then the folders of suites, or at least suite files.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.sessions.hooks import workspace_spec
from skillgym_action.text.escaping import terminal_line
from skillgym_action.workspaces.closed_paths import closed_but_to
from skillgym_action.workspaces.repository.reference_solutions import solutions_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.execution import Execution
    from skillgym_action.services import Services


@contextmanager
def hide_suites(services: Services, executions: tuple[Execution, ...]) -> Iterator[None]:
    """Context in which agents cannot read suites. Raises UsageError if that is not possible."""
    user, root = services.processes.user, services.repository.root
    roots = {root, services.suites.root}
    if user is None or not executions:
        yield
        return
    needed = {path: owner for owner, path in _needed(services, executions) if any(map(path.is_relative_to, roots))}
    suites = {path for execution in executions for path in _of_suite(roots, execution)}
    if needed:
        path, owner = next(iter(needed.items()))
        line = f"agents can read the checkout, but not the suites: {owner} needs {path}"
        services.observer.progress(terminal_line(line))
    closed = {path for path in suites if not any(map(path.is_relative_to, roots))}
    for folder in roots:
        if any(path.is_relative_to(folder) for path in needed):
            inside = (path for path in suites if path.is_relative_to(folder))
            closed.update(_folders_or_files(folder, inside, frozenset(needed)))
        else:
            closed.add(folder)
    with closed_but_to(user.readers, closed, root):
        yield


def _needed(services: Services, executions: Iterable[Execution]) -> Iterator[tuple[str, Path]]:
    """(Owner, absolute path) of what sessions need: workspaces, working directories, files of cases, commands."""
    yield "every agent", services.workspaces.root
    for execution in executions:
        agent, spec = execution.agent, workspace_spec(execution)
        if AGENTS[agent.type].replays:
            continue
        owner = execution.title
        if spec.mode == "none":
            yield owner, spec.cwd or services.repository.root
        words = (Path(word) for part in (*agent.command, *agent.command_args) for word in part.split())
        yield from ((owner, path) for path in (*execution.case.files, *words))


def _of_suite(roots: Iterable[Path], execution: Execution) -> Iterator[Path]:
    """The files of a suite, and those at the same paths in the checkout if the suite was read from elsewhere."""
    suite = execution.suite
    yield suite.file
    for root in roots:
        yield from (
            path for name in (suite.path, solutions_folder(suite.path), *suite.hidden) if (path := root / name).exists()
        )


def _folders_or_files(root: Path, suites: Iterable[Path], needed: frozenset[Path]) -> Iterator[Path]:
    """The folders of suites, which may contain what their checks import; the file alone if the folder is needed."""
    for path in suites:
        folder = path.parent
        contains = any(other.is_relative_to(folder) for other in needed)
        inside = any(folder.is_relative_to(other) for other in needed)
        if folder.is_relative_to(root) and folder != root and not contains and not inside:
            yield folder
        elif not any(other.is_relative_to(path) for other in needed):
            yield path
