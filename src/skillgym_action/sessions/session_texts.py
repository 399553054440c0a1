"""What assertions see of a session's texts: raw where they decide, without secrets in all that they write.

A secret on several lines is no longer found once a line has a number or a sign before it. So texts are redacted before
anything is made of them: an assertion that has read a secret is evaluated again, with redacted texts.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.records import record
from skillgym_action.workspaces.workspace import WorkspaceFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skillgym_action.model.judgement import Outcome
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.text.redaction import Redactor
    from skillgym_action.workspaces.workspace import SessionWorkspace

NOT_SHOWN = "not shown: a secret decides this"


@record(kw_only=False)
class Reports:
    """The report of a session without secrets, and as it is; the same object if it has none."""

    clean: SessionReport
    raw: SessionReport

    def changed(self, change: Callable[[SessionReport], SessionReport]) -> Reports:
        """Both reports, changed in the same way."""
        clean = change(self.clean)
        return Reports(clean, clean if self.raw is self.clean else change(self.raw))


class SessionTexts:
    """The report and the files of one session; ``reports`` None: it has no report."""

    def __init__(self, redactor: Redactor, workspace: SessionWorkspace) -> None:
        self._redactor = redactor
        self.files = _Files(workspace, self._read)
        self.reports: Reports | None = None
        self._is_raw = self._has_read_secret = False

    @property
    def report(self) -> SessionReport | None:
        """The report, without secrets except while ``decided`` evaluates for the first time."""
        if self.reports is None:
            return None
        if not self._is_raw:
            return self.reports.clean.guarded()
        self._has_read_secret |= self.reports.raw is not self.reports.clean
        return self.reports.raw.guarded()

    def clean(self, text: str) -> str:
        """The text without secrets."""
        return self._redactor.text(text)

    def _read(self, text: str) -> str:
        clean = self._redactor.text(text)
        if not self._is_raw:
            return clean
        self._has_read_secret |= clean is not text
        return text

    @contextmanager
    def _raw(self) -> Iterator[None]:
        self._is_raw, self._has_read_secret = True, False
        try:
            yield
        finally:
            self._is_raw = False

    def decided(self, evaluate: Callable[[], tuple[Outcome, ...]]) -> tuple[Outcome, ...]:
        """The outcomes that raw texts have, with what is written about them for redacted ones."""
        with self._raw():
            outcomes = evaluate()
        if not self._has_read_secret:
            return outcomes
        shown = evaluate()
        if len(shown) != len(outcomes):
            return tuple(map(_without_text, outcomes))
        return tuple(
            redacted if (raw.passed, raw.score) == (redacted.passed, redacted.score) else _without_text(raw)
            for raw, redacted in zip(outcomes, shown, strict=True)
        )


class _Files(WorkspaceFiles):
    """The files of a workspace, whose texts pass ``read``."""

    def __init__(self, workspace: SessionWorkspace, read: Callable[[str], str]) -> None:
        super().__init__(workspace)
        self._read = read

    def text(self, path: str, limit: int) -> str | None:
        text = super().text(path, limit)
        return None if text is None else self._read(text)

    def text_before(self, path: str, limit: int) -> str | None:
        text = super().text_before(path, limit)
        return None if text is None else self._read(text)


def _without_text(outcome: Outcome) -> Outcome:
    return replace(outcome, explanation=NOT_SHOWN, evidence=None, follow_ups=())
