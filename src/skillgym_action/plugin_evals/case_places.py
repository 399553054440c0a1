"""Paths that a case names: files and folders of its plugin, and nothing else."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.documents.user_files import kind_of
from skillgym_action.model.suite import Bootstrap, InputFile

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.documents.suite_values import SuiteValue
    from skillgym_action.model.suite import WorkspaceSpec
    from skillgym_action.plugin_evals.case_files import PluginFiles

_EXECUTABLE = 0o111
_INSIDE = "name a path in the plugin, relative to the folder of the case"


@dataclass(frozen=True, slots=True)
class CasePlaces:
    """The folder of a case, from which its paths start."""

    folder: Path
    files: PluginFiles

    def path(self, value: SuiteValue, *, anywhere: bool = False) -> Path:
        """The absolute path that a value names, in the plugin, or ``anywhere`` in the repository.

        Raises SuiteError for one outside, or through a link.
        """
        text, top = value.as_text(), self.files.root if anywhere else self.files.plugin
        start = PurePosixPath(self.folder.relative_to(top).as_posix())
        inside = posixpath.normpath(start / text)
        if PurePosixPath(text).is_absolute() or "\0" in text or inside == ".." or inside.startswith("../"):
            raise value.error(f"leads out of the {'repository' if anywhere else 'plugin'}", _INSIDE)
        found = top / inside
        if refused := self.files.refusal(found):
            raise value.error(refused, _INSIDE)
        return found

    def text(self, value: SuiteValue) -> str:
        """The text of a file. Raises SuiteError."""
        file = self.path(value)
        if kind_of(file) != "file":
            raise value.error(f"there is no file {self.files.shown(file)}", _INSIDE)
        return self.files.text(file)

    def workspace(self, context: dict[str, SuiteValue], spec: WorkspaceSpec) -> WorkspaceSpec:
        """The workspace of the case. Raises SuiteError."""
        if history := context.get("history_file"):
            raise history.error(
                "conversations are not supported: a case is one prompt",
                "write what the agent needs to know into the prompt, or run the case with claude plugin eval",
            )
        if script := context.get("scaffold_script"):
            spec = replace(spec, bootstrap=Bootstrap(argv=self._program(script)))
        if folders := context.get("add_dirs"):
            spec = replace(spec, files=(*spec.files, *self._copies(folders)))
        return spec

    def _program(self, value: SuiteValue) -> tuple[str, ...]:
        """The command that runs a script: itself if it is executable, else by the shell."""
        file = self.path(value)
        if kind_of(file) != "file":
            raise value.error(f"there is no file {self.files.shown(file)}", _INSIDE)
        return (str(file),) if file.stat().st_mode & _EXECUTABLE else ("sh", str(file))

    def _copies(self, value: SuiteValue) -> list[InputFile]:
        found: dict[str, InputFile] = {}
        for item in value.items():
            folder = self.path(item)
            if kind_of(folder) != "folder":
                raise item.error(f"there is no folder {self.files.shown(folder)}", _INSIDE)
            if folder.name in found:
                raise item.error(f"two folders are called {folder.name}", "rename one: both are copied by their names")
            if folder == self.files.plugin or self.folder.is_relative_to(folder):
                raise item.error("contains the case, which agents must not read", "name a folder of fixtures")
            found[folder.name] = InputFile(path=folder.name, source=folder, read_only=True)
        return list(found.values())
