"""The files of an AgentV suite: found, read within limits, and their variables replaced."""

from __future__ import annotations

import re
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Location, Problem, SuiteError
from skillgym_action.model.limits import MAX_DOCUMENT_VALUES
from skillgym_action.model.records import record
from skillgym_action.suites.agentv.variables import SizeBudget, folders_up, interpolated
from skillgym_action.suites.agentv.version_5_templates import with_environment
from skillgym_action.suites.values import SuiteValue
from skillgym_action.text.documents.documents import read_document
from skillgym_action.text.documents.user_files import (
    PLAIN_DIRECTORY,
    PLAIN_TEMPLATE,
    kind_of,
    read_text,
    resolved,
    unread_twins,
)
from skillgym_action.text.javascript.regex import Patterns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Literal

    from skillgym_action.text.documents.documents import Document
    from skillgym_action.text.documents.user_files import Opener

MAX_AGENTV_FILES = 50_000  # that a suite and its tests name; each is looked for on disk
_LINE = re.compile(r"^[^\S\n]*+\S[^\n]*", re.MULTILINE)
"""A line that is not blank."""


@record(frozen=False, kw_only=False)
class ReadFiles:
    """What was read for a suite so far, and how much: many small files can be as much as a large one.

    ``warnings``: about included files.
    ``version_5``: the suite is one of AgentV 5; its texts may have variables as ``{{ env.NAME }}``, too.
    """

    values: int = 0
    searched: int = 0
    files: dict[Path, SuiteValue] = field(default_factory=dict)
    patterns: Patterns = field(default_factory=Patterns)
    warnings: list[Problem] = field(default_factory=list)
    version_5: bool = False


@record(slots=False)
class SuiteFiles:
    """What may be read for a suite. ``folder`` is its file's, ``root`` the repository's.

    ``environment`` has the variables that suites may use, ``secrets`` those that targets may use. ``opener`` and the
    refusals are those of the suite file. ``compat``: scores are those of AgentV. ``in_repository``: the suite is.
    """

    folder: Path
    root: Path
    environment: Mapping[str, str]
    secrets: Mapping[str, str]
    opener: Opener | None
    refusal: Callable[[Path], str | None]
    refusal_in_place: Callable[[Path], str | None]
    compat: bool = False
    in_repository: bool = True
    state: ReadFiles = field(default_factory=ReadFiles)
    budget: SizeBudget = field(default_factory=SizeBudget)

    def shown(self, file: Path) -> str:
        """The path of a file in messages."""
        return file.relative_to(self.root).as_posix() if file.is_relative_to(self.root) else file.as_posix()

    @cached_property
    def roots(self) -> tuple[Path, ...]:
        """The folders where files are looked for: the suite's and its parents, up to the repository's."""
        return tuple(dict.fromkeys((*folders_up(self.folder, self.root), self.root)))

    def found(self, name: str, *first: Path) -> Path | None:
        """A file or folder without symbolic links, looked for in ``first`` and then in the roots. Raises SuiteError."""
        path = self.linked_path(name, *first)
        return resolved(path) if path else None

    def linked_path(self, name: str, *first: Path) -> Path | None:
        """The same, its symbolic links not resolved. Raises SuiteError after too many searches."""
        self.state.searched += 1
        if self.state.searched > MAX_AGENTV_FILES:
            raise SuiteError(f"the suite names more than {MAX_AGENTV_FILES:,} files", remedy="split the suite")
        paths = tuple(folder / name.lstrip("/\\") for folder in (*first, *self.roots))
        candidates = (self.folder / name, *paths) if name.startswith("/") else paths
        return next((path for path in candidates if kind_of(path)), None)

    def first_of(self, folder: Path, names: Sequence[str]) -> Path | None:
        """The first of the files with these names that the folder has; a warning for each other one."""
        self.state.warnings.extend(unread_twins(folder, names, self.shown))
        return next((file for name in names if kind_of(file := folder / name) == "file"), None)

    def template(self, folder: Path, value: SuiteValue | None) -> Path:
        """A folder that workspaces are copies of; ``value`` is where it is named. Raises SuiteError."""
        if refused := self.refusal(folder):
            if value:
                raise value.error(refused, PLAIN_TEMPLATE)
            location = Location(path=self.shown(folder))
            raise SuiteError.of(Problem(message=refused, location=location, remedy=PLAIN_TEMPLATE))
        return resolved(folder)

    def directory(self, value: SuiteValue, folder: Path) -> Path:
        """A directory that agents work in itself, named relative to ``folder``. Raises SuiteError."""
        path = folder / value.as_text()
        if refused := self.refusal_in_place(path):
            raise value.error(refused, PLAIN_DIRECTORY)
        return path

    def read(self, file: Path, text: str | None = None) -> SuiteValue:
        """The value of a YAML or JSON file, its variables not yet replaced. Raises SuiteError."""
        kind: Literal["json", "yaml"] = "json" if file.suffix.lower() == ".json" else "yaml"
        if text is None and file in self.state.files:
            return self.state.files[file]
        content = self.text(file) if text is None else text
        value = self._counted(read_document(content, path=self.shown(file), kind=kind, error=SuiteError))
        if text is None:
            self.state.files[file] = value
        return value

    def lines(self, file: Path, text: str | None = None) -> Iterator[SuiteValue | Problem]:
        """The value of each line of a JSONL file that is not blank, or what is wrong with it. Raises SuiteError."""
        path = self.shown(file)
        number, end = 1, 0
        content = self.text(file) if text is None else text
        for line in _LINE.finditer(content):
            number, end = number + content.count("\n", end, line.start()), line.start()
            try:
                document = read_document(line[0], path=path, kind="json", error=SuiteError, line=number)
            except SuiteError as error:
                problem = error.problems[0]
                yield replace(problem, location=problem.location or Location(path=path, line=number))
            else:
                yield self._counted(document)

    def interpolated(self, value: SuiteValue) -> SuiteValue:
        """The value with variables of the environment replaced. Raises SuiteError."""
        content = interpolated(value.value, self.environment, self.budget)
        if self.state.version_5:
            content = with_environment(content, self.environment, self.budget)
        return replace(value, value=content)

    def _counted(self, document: Document) -> SuiteValue:
        value = SuiteValue(source=document, value=document.value)
        self.state.values += document.located.values + 1
        if self.state.values > MAX_DOCUMENT_VALUES:
            raise value.error(
                f"the suite and its files have more than {MAX_DOCUMENT_VALUES:,} values", "split the suite"
            )
        return value

    def text(self, file: Path) -> str:
        """The text of a file. Raises SuiteError."""
        return read_text(file, path=self.shown(file), error=SuiteError, opener=self.opener)
