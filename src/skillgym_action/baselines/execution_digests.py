"""Digests of what an execution is given: equal digests mean that results of two runs can be taken together."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.case_inputs import CaseInputs
from skillgym_action.model.errors import Location
from skillgym_action.repository.suite_digests import kind_and_digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite, InputFile, WorkspaceSpec
    from skillgym_action.repository.repository import Repository

PROGRAMS = frozenset({"python", "typescript"})  # formats whose checks are in the suite's file alone
PROGRAM_SUFFIXES = frozenset({".ts", ".mts", ".cts"})  # of suites of AgentV, which may have functions as graders
DIGITS = 16
_DEEPEST = 20  # of values in each other; deeper ones are alike
_UNREADABLE = "unreadable"
OPAQUE = "object "


class ExecutionDigests:
    """Makes the digests of the executions of a plan. Those of input files are made once for all cases that share them.

    ``repository``: the one that suites are read from.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._root = repository.root
        self._workspaces: dict[int, str] = {}
        self._kept: list[WorkspaceSpec] = []  # so that no id is used again

    def of(self, execution: Execution) -> CaseInputs:
        """The digests of an execution."""
        case, suite = execution.case, execution.suite
        turns = (case.conversation.turns, case.conversation.opening) if case.conversation else ()
        return CaseInputs(
            prompt=self._digest(case.prompt, turns),
            assertions=self._digest(case.assertions, case.threshold, case.averaged, case.trigger, case.expected_fail),
            workspace=self._digest(self._workspace(case.workspace or suite.workspace), *self._of_case(case)),
            program=suite.digest[:DIGITS] if _is_program(suite) and suite.digest else None,
        )

    def _of_case(self, case: BenchmarkCase) -> Iterator[object]:
        """What sessions of a case have besides their workspace."""
        yield [self._file(path) for path in case.files]
        yield case.agent

    def _workspace(self, spec: WorkspaceSpec) -> str:
        if id(spec) not in self._workspaces:
            self._kept.append(spec)
            made_of = (spec.mode, spec.source, spec.bootstrap, spec.hooks, spec.committed, spec.removed_skills)
            files = [self._input(file) for file in spec.files]
            self._workspaces[id(spec)] = self._digest(made_of, files, *self._container(spec))
        return self._workspaces[id(spec)]

    def _container(self, spec: WorkspaceSpec) -> Iterator[object]:
        """The container, and what its image is built from; nothing without one, so that digests stay as they were."""
        if spec.container:
            yield spec.container
            if build := spec.container.build:
                yield self._file(build.context)
        if spec.preparation:
            yield spec.preparation

    def _input(self, file: InputFile) -> object:
        return file.path, file.read_only, self._file(file.source) if file.source else file.content

    def _file(self, path: Path) -> object:
        """What a file is, or the files below a folder that git does not ignore."""
        try:
            if path.is_dir() and not path.is_symlink():
                return [(name, kind_and_digest(self._root / name)) for name in self._repository.files(path)]
            return kind_and_digest(path)
        except OSError:
            return _UNREADABLE

    def _digest(self, *values: object) -> str:
        text = "\n".join(canonical(values)).replace(f"{self._root}/", "")
        return sha256(text.encode(errors="surrogateescape")).hexdigest()[:DIGITS]


def canonical(value: object, depth: int = 0) -> Iterator[str]:
    """A text for a value, the same in each process.

    Places in files are left out: a case stays the same when another one is written above it. Of objects that are no
    data, such as functions, only the name counts: their text begins with ``OPAQUE``.
    """
    if isinstance(value, Location):
        return
    if depth > _DEEPEST:
        yield f"{OPAQUE}too deep"
    elif isinstance(value, Enum):
        yield f"{type(value).__name__}.{value.name}"
    elif value is None or isinstance(value, str | int | float | bytes):
        yield repr(value)
    elif isinstance(value, Path):
        yield f"path {value.as_posix()}"
    elif (inner := parts_of(value)) is not None:
        yield f"({type(value).__name__}"
        for part in inner:
            yield from canonical(part, depth + 1)
        yield ")"
    elif isinstance(pattern := getattr(value, "pattern", None), str):
        yield f"pattern {pattern!r} {getattr(value, 'flags', 0)}"
    else:
        yield f"{OPAQUE}{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}"


def _is_program(suite: BenchmarkSuite) -> bool:
    """Whether functions of the suite's file judge, whose code is in no other digest."""
    return suite.format in PROGRAMS or suite.file.suffix in PROGRAM_SUFFIXES


def parts_of(value: object) -> list[object] | None:
    """What a value is made of, in an order that does not change; None if it is not made of anything."""
    if is_dataclass(value) and not isinstance(value, type):
        found = ((field.name, getattr(value, field.name)) for field in fields(value))
        return [part for name, inner in found if not isinstance(inner, Location) for part in (name, inner)]
    if isinstance(value, dict):
        return [part for key in sorted(value, key=repr) for part in (key, value[key])]
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if isinstance(value, partial):
        return [value.func, value.args, value.keywords]
    return None
