"""Format: tasks of Harbor. A suite is the folder that has the tasks in it; a case is a task.

Which files these are is in ``suite_names``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.documents.documents import read_document
from skillgym_action.documents.suite_values import SuiteValue
from skillgym_action.documents.user_files import kind_of
from skillgym_action.harbor.cases import task_case
from skillgym_action.harbor.suite_names import MIGRATE, TASK, accepts, named, part_of, rejection
from skillgym_action.harbor.task_files import TaskFolder
from skillgym_action.harbor.task_limits import MAX_HARBOR_FOLDERS, MAX_HARBOR_TASKS
from skillgym_action.model.errors import Location, Problem, SuiteError
from skillgym_action.model.suite import BenchmarkSuite, Invalid

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.formats import SuiteFile
    from skillgym_action.model.suite import BenchmarkCase

__all__ = ["accepts", "named", "part_of", "rejection", "suite"]


def suite(source: SuiteFile) -> BenchmarkSuite:
    """The suite. A task that cannot be used becomes an Invalid. Raises SuiteError if there is no task."""
    is_file = kind_of(source.file) != "folder"
    if is_file and not named(source.path):
        message, remedy = f"is not a Harbor task: the settings of a task are in {TASK}", f"name a {TASK}"
        if source.file.suffix.lower() in {".yaml", ".yml"}:
            remedy = MIGRATE
        raise SuiteError.of(Problem(message=message, location=Location(path=source.path), remedy=remedy))
    root = _root(source)
    folders = [source.file.parent] if is_file else _task_folders(source.file)
    if not folders:
        raise SuiteError.of(Problem(message="the folder has no task", location=Location(path=source.path)))
    selected = {(root / part).parent for part in source.parts} or set(folders)
    loaded = _Tasks(source)
    for folder in folders:
        if folder in selected:
            loaded.add(_task(source, folder, root))
    hidden = (_task(source, folder, root).shown() for folder in folders)
    dataset = source.file.parent if is_file else source.file
    return BenchmarkSuite(
        path=source.path,
        file=source.file,
        name=dataset.name or source.path,
        format="harbor",
        cases=tuple(loaded.cases),
        invalid=tuple(loaded.invalid),
        warnings=tuple(loaded.warnings),
        hidden=tuple(path for path in hidden if not path.startswith("/") and path != "."),
        digest=None if is_file else sha256("\n".join(folder.name for folder in folders).encode()).hexdigest(),
    )


def _task(source: SuiteFile, folder: Path, root: Path) -> TaskFolder:
    return TaskFolder(
        folder=folder,
        root=root,
        opener=source.opener,
        refusal=source.refusal,
        cancelled=lambda: source.cancelled,
    )


@dataclass(slots=True)
class _Tasks:
    """The cases of a suite so far."""

    source: SuiteFile
    cases: list[BenchmarkCase] = field(default_factory=list)
    invalid: list[Invalid] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def add(self, task: TaskFolder) -> None:
        """Read a task. What is wrong with it is an Invalid."""
        try:
            if refused := task.refusal(task.folder):
                raise SuiteError.of(task.problem(TASK, refused, "keep the tasks in the repository"))
            document = read_document(task.text(TASK), path=task.shown(TASK), kind="toml", error=SuiteError)
            top = SuiteValue(source=document, value=document.value)
            case, warnings = task_case(task, top, self.source.environment)
        except SuiteError as error:
            self.invalid.append(Invalid.of(error.problems, task.folder.name))
            return
        self.cases.append(case)
        self.warnings.extend(warnings)


def _root(source: SuiteFile) -> Path:
    """The root of the repository; of a suite outside of it, the folder with the tasks."""
    path = PurePosixPath(source.path)
    if path.is_absolute():
        return source.file if kind_of(source.file) == "folder" else source.file.parent
    return source.file if not path.parts else source.file.parents[len(path.parts) - 1]


def _task_folders(dataset: Path) -> list[Path]:
    """The folders in the suite's that have a ``task.toml``, sorted; links are not followed. Raises SuiteError."""
    try:
        inside = list(islice(dataset.iterdir(), MAX_HARBOR_FOLDERS))
    except OSError as error:
        raise SuiteError(f"{dataset.name} cannot be listed: {error.strerror}") from error
    found = sorted(entry for entry in inside if not entry.is_symlink() and kind_of(entry / TASK) == "file")
    if len(found) > MAX_HARBOR_TASKS:
        raise SuiteError(f"{dataset.name} has more than {MAX_HARBOR_TASKS:,} tasks", remedy="split it into folders")
    return found
