"""Part of a session: keys in what the agent wrote are taken out of what is kept of it, and told without being repeated.

What was there before is no leak: a key in the prompt, or in the file as the agent found it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_FINAL_OUTPUT_CHARS, MAX_ORIGINAL_FILE_BYTES
from skillgym_action.model.findings import Finding, unique_findings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from skillgym_action.model.result import Result
    from skillgym_action.storage.redacted_files import Found
    from skillgym_action.storage.run_directory import RunDirectory
    from skillgym_action.text.redaction import Leak
    from skillgym_action.workspaces.changes import Changes
    from skillgym_action.workspaces.workspace import Workspace

CHANGES_FOLDER = "changes"


class SecretScan:
    """Those of one session, whose artifacts are in ``folder``."""

    def __init__(self, directory: RunDirectory, folder: Path, prompt: str) -> None:
        """Nothing is found yet; keys in the ``prompt`` never will be."""
        self.folder, self._directory = folder, directory
        asked: set[Leak] = set()
        directory.redactor.text(prompt, asked)
        self._asked = self._seen = frozenset(asked)
        self._redactor = directory.redactor
        self._findings: list[Finding] = []

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, in the order in which it was looked for."""
        return unique_findings(self._findings)

    def hidden_in(self, result: Result) -> Result:
        """The result as everybody may know it, its final output as long as it is told.

        A report would escape a secret beyond recognition, and what is cut in two is no secret any more.
        """
        hidden = self._redactor.redacted(result, exclude=("suite", "runner"))
        said = hidden.final_output
        return (
            replace(hidden, final_output=said[-MAX_FINAL_OUTPUT_CHARS:])
            if said and len(said) > MAX_FINAL_OUTPUT_CHARS
            else hidden
        )

    def in_output(self, records: Iterable[Path]) -> None:
        """Clean what the agent printed; keep its own ``records`` of the session, clean."""
        output = (self.folder / "stdout.log", self.folder / "stderr.log")
        self._tell(self._directory.redact(*output), self._asked)
        self._tell(self._directory.take(records, self.folder), self._asked)

    def in_changes(self, changes: Changes, workspace: Workspace) -> bool:
        """Clean what was saved of the workspace. Whether all of it is still there."""
        saved = self.folder / CHANGES_FOLDER
        found = self._directory.clean(saved, (*changes.created, *changes.modified))
        for path, leaks in found.items():
            template = workspace.template_of(path) if path in changes.modified else None
            content = template.folder.read(path, MAX_ORIGINAL_FILE_BYTES) if template and template.folder else None
            before = self._directory.look(content) if content else frozenset()
            self._tell({f"{CHANGES_FOLDER}/{path}": leaks}, self._asked | before)
        return all((saved / path).is_symlink() or (saved / path).exists() for path in found)

    def in_artifact(self, name: str, text: str) -> None:
        """Write it, clean; told is what stood nowhere else, since it is made of the rest."""
        found: set[Leak] = set()
        told = self._redactor.text(text, found)
        self._tell({name: frozenset(found)}, self._seen)
        self._directory.write(self.folder / name, told)

    def write(self, name: str, text: str) -> None:
        """Write an artifact that is not the agent's, without what was found, or half of it."""
        self._directory.write(self.folder / name, self._redactor.text(text))

    def _tell(self, found: Found, before: frozenset[Leak]) -> None:
        for where, leaks in found.items():
            kinds = sorted({leak.kind for leak in leaks - before})
            self._findings += [Finding(kind=kind, where=where) for kind in kinds]
            self._seen |= leaks
            self._redactor = self._directory.redactor.with_parts(part for leak in self._seen for part in leak.parts)
