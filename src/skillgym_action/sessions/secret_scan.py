"""Secret scan: secrets in a session's artifacts are replaced, and API keys that the agent wrote are reported.

A key that was there before the agent is no leak: in the prompt, or in the file as the agent found it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_FINAL_OUTPUT_CHARACTERS, MAX_ORIGINAL_FILE_BYTES
from skillgym_action.model.result import Finding, unique_findings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from skillgym_action.model.result import Result
    from skillgym_action.storage.redacted_files import Found
    from skillgym_action.storage.run_directory import RunDirectory
    from skillgym_action.text.redaction import Leak
    from skillgym_action.workspaces.changes import Changes
    from skillgym_action.workspaces.workspace import SessionWorkspace

CHANGES_FOLDER = "changes"


class SecretScan:
    """Scans the artifacts of one session, which are in ``folder``."""

    def __init__(self, directory: RunDirectory, folder: Path, prompt: str) -> None:
        self.folder, self._directory = folder, directory
        in_prompt: set[Leak] = set()
        directory.redactor.text(prompt, in_prompt)
        self._in_prompt = self._seen = frozenset(in_prompt)
        self._redactor = directory.redactor
        self._findings: list[Finding] = []

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The keys that the agent wrote, in the order in which artifacts were scanned; then what was added."""
        return unique_findings(self._findings)

    def add(self, findings: Iterable[Finding]) -> None:
        """Add findings that were made elsewhere."""
        self._findings += findings

    def redacted(self, result: Result) -> Result:
        """The result without secrets, and with the end of the final output only.

        Called before reports are rendered: an escaped or cut secret could not be recognised.
        """
        result = self._redactor.redacted(result, exclude=("suite", "runner"))
        output = result.final_output
        if output and len(output) > MAX_FINAL_OUTPUT_CHARACTERS:
            return replace(result, final_output=output[-MAX_FINAL_OUTPUT_CHARACTERS:])
        return result

    def scan_output(self, records: Iterable[Path], prefix: str = "") -> None:
        """Redact what the agent printed; store its own ``records`` of the session, redacted.

        ``prefix``: of the names of the files with its output.
        """
        output = (self.folder / f"{prefix}stdout.log", self.folder / f"{prefix}stderr.log")
        self._report(self._directory.redact(*output), self._in_prompt)
        self._report(self._directory.take(records, self.folder), self._in_prompt)

    def scan_changes(self, changes: Changes, workspace: SessionWorkspace) -> bool:
        """Redact the stored changes of the workspace. Whether all files are still there: some cannot be redacted."""
        folder = self.folder / CHANGES_FOLDER
        found = self._directory.clean(folder, (*changes.created, *changes.modified))
        for path, leaks in found.items():
            template = workspace.template_of(path) if path in changes.modified else None
            content = template.folder.read(path, MAX_ORIGINAL_FILE_BYTES) if template and template.folder else None
            before = self._directory.look(content) if content else frozenset()
            self._report({f"{CHANGES_FOLDER}/{path}": leaks}, self._in_prompt | before)
        return all((folder / path).is_symlink() or (folder / path).exists() for path in found)

    def write_scanned(self, name: str, text: str) -> None:
        """Write an artifact, redacted. It repeats others, so only keys that are in no other artifact are reported."""
        found: set[Leak] = set()
        redacted = self._redactor.text(text, found)
        self._report({name: frozenset(found)}, self._seen)
        self._directory.write(self.folder / name, redacted)

    def write(self, name: str, text: str) -> None:
        """Write an artifact that is not the agent's, without the secrets and keys found so far, or parts of them."""
        self._directory.write(self.folder / name, self._redactor.text(text))

    def _report(self, found: Found, before: frozenset[Leak]) -> None:
        """Add findings for keys that are not in ``before``, and redact all keys from now on."""
        for where, leaks in found.items():
            kinds = sorted({leak.kind for leak in leaks - before})
            self._findings += [Finding(kind=kind, where=where) for kind in kinds]
            self._seen |= leaks
            self._redactor = self._directory.redactor.with_parts(part for leak in self._seen for part in leak.parts)
