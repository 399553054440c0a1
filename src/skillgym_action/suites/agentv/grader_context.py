"""What an assertion is made with: the case that it grades, its place in the suite, and the files it may name."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Location, SuiteError
from skillgym_action.model.records import record
from skillgym_action.suites.values import FixedLocation, SuiteValue
from skillgym_action.text.documents.documents import read_document
from skillgym_action.text.documents.user_files import read_text
from skillgym_action.text.javascript.regex import Patterns

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.model.errors import Problem
    from skillgym_action.text.documents.user_files import Opener


@record
class Task:
    """What a case asks for, for its graders. Messages and metadata are JSON values, in AgentV's own form.

    ``folder`` is the folder of the case's ``case.yaml``, if it has one.
    """

    case_id: str = ""
    criteria: str = ""
    input: tuple[object, ...] = ()
    expected_output: tuple[object, ...] = ()
    input_files: tuple[str, ...] = ()
    metadata: object = None
    folder: Path | None = None


def read_yaml_file(path: Path, name: str, opener: Opener | None = None) -> object:
    """The value of a YAML file; messages call it ``name``. Raises SuiteError."""
    text = read_text(path, path=name, error=SuiteError, opener=opener)
    return read_document(text, path=name, kind="yaml", error=SuiteError).value


@record
class EntryContext:
    """The place of an entry of ``assertions``, and what is needed to load it.

    ``folder`` is the suite file's; graders' programs run there. Files are looked for in ``case_folder``, which is the
    folder of the case's ``case.yaml``, then in ``folder``, then in ``roots``. ``read`` returns the value of a YAML
    file, with its variables replaced; ``opener`` opens files of prompts. ``patterns`` are the suite's regular
    expressions. ``compat``: answers of programs count as with AgentV. ``warnings`` gets those of included files.
    """

    folder: Path
    location: Location
    key_path: str
    roots: tuple[Path, ...] = ()
    case_folder: Path | None = None
    task: Task = field(default_factory=Task)
    read: Callable[[Path, str], object] = read_yaml_file
    opener: Opener | None = None
    compat: bool = False
    patterns: Patterns = field(default_factory=Patterns)
    warnings: list[Problem] = field(default_factory=list)

    def value(self, entry: object) -> SuiteValue:
        """The entry with its place."""
        return SuiteValue(source=FixedLocation(entry, self.location), value=entry, prefix=self.key_path)

    def find(self, *names: str) -> Path | None:
        """The first path that exists; every folder is searched for a name before the next name is tried."""
        folders = (*([self.case_folder] if self.case_folder else []), self.folder, *self.roots)
        for name in names:
            paths = [Path(name)] if Path(name).is_absolute() else []
            for path in (*paths, *(folder / name.lstrip("/\\") for folder in folders)):
                with suppress(OSError, ValueError):  # a name that no file can have
                    if path.exists():
                        return path
        return None

    def file_text(self, value: SuiteValue, name: str) -> str:
        """The text of the file that ``value`` names. Raises SuiteError."""
        if (path := self.find(name)) is None:
            raise value.error(f"there is no file {name!r}")
        try:
            return read_text(path, path=name, error=SuiteError, opener=self.opener)
        except SuiteError as error:
            raise value.error(str(error)) from error
