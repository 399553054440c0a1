"""The snapshot file: token snapshots that were taken before, and those that this run takes."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from skillgym_action.model.errors import ConfigError, OutputError, Problem
from skillgym_action.model.json_codec import camel_case, to_json
from skillgym_action.model.token_snapshots import Metric, Snapshot
from skillgym_action.results.run_directory import replace
from skillgym_action.system.files.checkout import folder_to_write_in
from skillgym_action.text.documents.documents import read_document, validated
from skillgym_action.text.documents.user_files import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from skillgym_action.system.files.checkout import Checkout
    from skillgym_action.text.documents.user_files import Opener

MAX_LISTED_SNAPSHOTS = 5  # in one warning


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, alias_generator=camel_case, populate_by_name=True
    )


class _Entry(_Model):
    case_id: str
    runner_id: str
    metric: Metric
    value: float = Field(ge=0)
    agent_type: str
    updated_at: str
    model: str | None = None


class _File(_Model):
    version: Literal[1]
    entries: dict[str, _Entry]


class SnapshotFile:
    """The snapshots of one file; several executions may ask at once."""

    def __init__(self, path: Path, shown: str, checkout: Checkout | None = None) -> None:
        """``path`` is absolute, ``shown`` is how messages name it; in ``checkout`` no link is followed to it.

        Raises ConfigError for a file that is not sound.
        """
        self._path, self._shown = path, shown
        self._checkout = checkout if checkout and checkout.contains(path) else None
        self._lock = threading.Lock()
        self._known = self._read()
        self._taken: dict[str, Snapshot] = {}
        self._suites: dict[str, set[str]] = {}
        self._missing: list[str] = []

    def snapshot(self, key: str, suite: str) -> Snapshot | None:
        """What was taken of an execution; ``suite`` is the path of the suite that asks."""
        with self._lock:
            self._suites.setdefault(key, set()).add(suite)
            return self._known.get(key)

    def take(self, snapshot: Snapshot) -> None:
        """Remember it; ``save`` writes it."""
        with self._lock:
            self._taken[snapshot.key] = snapshot

    def miss(self, key: str) -> None:
        """Remember that there is no snapshot, and that none was taken."""
        with self._lock:
            self._missing.append(key)

    def save(self) -> None:
        """Write what was taken, and leave all else as it is in the file now. Raises ConfigError, OutputError."""
        if not self._taken:
            return
        entries = {**self._read(), **self._taken}
        content = {"version": 1, "entries": {key: to_json(entries[key]) for key in sorted(entries)}}
        self._write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    def warnings(self) -> tuple[Problem, ...]:
        """What people should know, once everything has been executed."""
        found = []
        if self._missing:
            found.append(
                Problem(
                    message=f"{self._shown}: no snapshot of {_listed(self._missing)}: nothing was compared",
                    remedy="run with --update-snapshots, and commit the file",
                )
            )
        if doubled := [key for key, suites in self._suites.items() if len(suites) > 1]:
            found.append(
                Problem(
                    message=f"{self._shown}: cases of several suites have the one snapshot of {_listed(doubled)}",
                    remedy="give their cases different ids",
                )
            )
        return tuple(found)

    def _read(self) -> Mapping[str, Snapshot]:
        """Return all snapshots in the file; none if there is no file yet."""
        try:
            text = read_text(self._path, path=self._shown, error=ConfigError, opener=self._opener())
        except ConfigError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return {}
            raise
        document = read_document(text, path=self._shown, kind="json", error=ConfigError)
        file = validated(document, _File, error=ConfigError)
        return {key: Snapshot(**entry.model_dump()) for key, entry in file.entries.items()}

    def _opener(self) -> Opener | None:
        checkout = self._checkout
        return (lambda path, _: checkout.open_file(path, follow=False)) if checkout else None

    def _write(self, text: str) -> None:
        try:
            with folder_to_write_in(self._path, self._checkout) as folder:
                replace(self._path, [text], folder)
        except OSError as error:
            raise OutputError(f"cannot write {self._shown}: {error.strerror or error}") from error


def _listed(keys: list[str]) -> str:
    more = f" and {len(keys) - MAX_LISTED_SNAPSHOTS:,} more" if len(keys) > MAX_LISTED_SNAPSHOTS else ""
    return ", ".join(sorted(keys)[:MAX_LISTED_SNAPSHOTS]) + more
