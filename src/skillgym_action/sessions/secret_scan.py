"""Secret scan: the texts and files of a session are redacted where the tool gets them, and keys in them are reported.

A key that was there before the agent is no leak: in the prompt, or in the file as the agent found it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.limits import MAX_FINAL_OUTPUT_CHARACTERS
from skillgym_action.model.result import Finding, unique_findings
from skillgym_action.model.session import REPORT
from skillgym_action.workspaces.archive import searchable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from skillgym_action.model.result import Result
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.results.run_directory import Found, RunDirectory
    from skillgym_action.text.redaction import Leak
    from skillgym_action.workspaces.workspace import Changes, SessionWorkspace

MAX_ORIGINAL_FILE_BYTES = 16 * 1024 * 1024  # of a file before the agent, searched for keys that were there already
CHANGES_FOLDER = "changes"
SESSION_RECORD = "session.jsonl"


class SecretScan:
    """Scans the texts of one session, whose artifacts are in ``folder``."""

    def __init__(self, directory: RunDirectory, folder: Path, prompt: str) -> None:
        self.folder, self._directory = folder, directory
        in_prompt: set[Leak] = set()
        directory.redactor.text(prompt, in_prompt)
        self._in_prompt = self._seen = frozenset(in_prompt)
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
        result = self._directory.redactor.redacted(result, exclude=("suite", "runner"))
        output = result.final_output
        if output and len(output) > MAX_FINAL_OUTPUT_CHARACTERS:
            return replace(result, final_output=output[-MAX_FINAL_OUTPUT_CHARACTERS:])
        return result

    def scan_output(self, records: Sequence[Path], prefix: str = "") -> bool:
        """Redact what the agent printed, and its own ``records``, in place; whether there was a secret in them.

        The last record in JSON is stored. ``prefix``: of the names of the files with its output.
        """
        found = self._directory.redact(self.folder / f"{prefix}stdout.log", self.folder / f"{prefix}stderr.log")
        in_records = self._directory.redact(*records)
        renamed = {SESSION_RECORD: frozenset(leak for leaks in in_records.values() for leak in leaks)}
        self._report({**found, **renamed}, self._in_prompt)
        self._directory.take((path for path in records if path.suffix == ".jsonl"), self.folder / SESSION_RECORD)
        return bool(found or in_records)

    def scan_report(self, report: SessionReport) -> SessionReport:
        """The report without secrets, such as those of which the output has each part in a line of its own."""
        leaks: set[Leak] = set()
        clean = self._directory.redactor.redacted(report, found=leaks)
        self._report({REPORT: frozenset(leaks)}, self._seen)
        return clean

    def report_stored(self, name: str) -> None:
        """Name the file that has the session report; whether it is partial is known only at the session's end."""
        found = self._findings
        self._findings = [replace(one, where=name) if one.where == REPORT else one for one in found]

    def scan_changes(self, changes: Changes, workspace: SessionWorkspace, *, stored: bool) -> bool:
        """Search the files that the agent created or changed. Whether all of them are stored.

        ``stored``: they are in the artifacts, where they are redacted; those for which that is impossible are removed.
        """
        modified = frozenset(changes.modified)
        paths = (*changes.created, *changes.modified)
        found = self._directory.clean(self.folder / CHANGES_FOLDER, paths) if stored else {}
        if not stored:
            with suppress(OSError):  # what the tool cannot read it cannot show either
                found = self._directory.look(workspace.inside.pack(searchable(workspace.sizes(changes))))
        for path, leaks in found.items():
            template = workspace.template_of(path) if path in modified else None
            content = template.folder.read(path, MAX_ORIGINAL_FILE_BYTES) if template and template.folder else None
            before: set[Leak] = set()
            self._directory.redactor.bytes(content or b"", before)
            self._report({f"{CHANGES_FOLDER}/{path}": leaks}, self._in_prompt | before)
        folder = self.folder / CHANGES_FOLDER
        return stored and all((folder / path).is_symlink() or (folder / path).exists() for path in found)

    def write_scanned(self, name: str, text: str) -> None:
        """Write an artifact. It repeats others, so only keys that are in no other artifact are reported."""
        leaks: set[Leak] = set()
        self._directory.redactor.text(text, leaks)
        self._report({name: frozenset(leaks)}, self._seen)
        self._directory.write(self.folder / name, text)

    def _report(self, found: Found, before: frozenset[Leak]) -> None:
        """Add findings for keys that are not in ``before``."""
        for where, leaks in found.items():
            kinds = sorted({leak.kind for leak in leaks - before})
            self._findings += [Finding(kind=kind, where=where) for kind in kinds]
            self._seen |= leaks
