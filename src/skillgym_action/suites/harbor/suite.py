"""Format: tasks of Harbor. A suite is the folder that has the tasks in it; a case is a task.

Which files these are is in ``paths``.
"""

from __future__ import annotations

from dataclasses import field, replace
from hashlib import sha256
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Location, Problem, SuiteError
from skillgym_action.model.records import record
from skillgym_action.model.suite import BenchmarkSuite, Invalid
from skillgym_action.suites.harbor.cases import task_case
from skillgym_action.suites.harbor.paths import MIGRATE, TASK, accepts, named, part_of, rejection
from skillgym_action.suites.harbor.task_files import TaskFolder
from skillgym_action.suites.values import SuiteValue
from skillgym_action.text.documents.documents import read_document
from skillgym_action.text.documents.user_files import kind_of, skipped_link

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.suite import BenchmarkCase
    from skillgym_action.suites import SuiteFile

MAX_HARBOR_TASKS = 10_000  # of one suite
MAX_HARBOR_FOLDERS = 50_000  # that are looked at for tasks

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
    inside = [] if is_file else _entries(source.file)
    folders = [source.file.parent] if is_file else _task_folders(source.file, inside)
    if not folders:
        raise SuiteError.of(Problem(message="the folder has no task", location=Location(path=source.path)))
    selected = {(root / part).parent for part in source.parts} or set(folders)
    loaded = _Tasks(source)
    if selected.issuperset(folders):
        links = (skipped_link(entry, _task(source, entry, root).shown(), (TASK,)) for entry in inside)
        loaded.warnings.extend(link for link in links if link)
    for folder in folders:
        if folder in selected:
            loaded.add(_task(source, folder, root))
    in_repository = not PurePosixPath(source.path).is_absolute()
    hidden = (path for folder in folders if in_repository for path in _task(source, folder, root).hidden())
    dataset = source.file.parent if is_file else source.file
    name = loaded.cases[0].id if source.path == TASK and loaded.cases else dataset.name
    return BenchmarkSuite(
        path=source.path,
        file=source.file,
        name=name or source.path,
        format="harbor",
        cases=tuple(loaded.cases),
        invalid=tuple(loaded.invalid),
        warnings=tuple(loaded.warnings),
        hidden=tuple(hidden),
        digest=None if is_file else sha256("\n".join(folder.name for folder in folders).encode()).hexdigest(),
    )


def _task(source: SuiteFile, folder: Path, root: Path) -> TaskFolder:
    return TaskFolder(
        folder=folder,
        root=root,
        opener=source.opener,
        refusal=source.refusal_to_read,
        cancelled=lambda: source.cancelled,
    )


@record(frozen=False, kw_only=False)
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
        # The folder of a checkout has another name on another machine.
        own_name = (case.title or "").rpartition("/")[2] if self.source.path == TASK else ""
        self.cases.append(replace(case, id=own_name) if own_name else case)
        self.warnings.extend(warnings)


def _root(source: SuiteFile) -> Path:
    """The root of the repository; of a suite outside of it, the folder with the tasks."""
    path = PurePosixPath(source.path)
    if path.is_absolute():
        return source.file if kind_of(source.file) == "folder" else source.file.parent
    return source.file if not path.parts else source.file.parents[len(path.parts) - 1]


def _entries(dataset: Path) -> list[Path]:
    """What is in the folder with the tasks, sorted. Raises SuiteError."""
    try:
        inside = list(islice(dataset.iterdir(), MAX_HARBOR_FOLDERS + 1))
    except OSError as error:
        raise SuiteError(f"{dataset.name} cannot be listed: {error.strerror}") from error
    if len(inside) > MAX_HARBOR_FOLDERS:
        raise SuiteError(f"{dataset.name} has more than {MAX_HARBOR_FOLDERS:,} entries", remedy="split it into folders")
    return sorted(inside)


def _task_folders(dataset: Path, inside: list[Path]) -> list[Path]:
    """Those that have a ``task.toml``; links are not followed. Raises SuiteError."""
    found = [entry for entry in inside if not entry.is_symlink() and kind_of(entry / TASK) == "file"]
    if len(found) > MAX_HARBOR_TASKS:
        raise SuiteError(f"{dataset.name} has more than {MAX_HARBOR_TASKS:,} tasks", remedy="split it into folders")
    return found
