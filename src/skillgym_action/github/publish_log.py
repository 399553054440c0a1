"""What was published on GitHub, and what could not be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.records import record
from skillgym_action.text.escaping import markdown_code_block, markdown_inline, workflow_message

if TYPE_CHECKING:
    from skillgym_action.model.errors import Problem


@record
class PublishLog:
    """The comment as it is now on the pull request.

    ``notes``: what was not published, and why; ``warnings``: what is wrong with what was; ``permissions``: YAML of
    permissions that the token lacks.
    """

    comment_url: str = ""
    comment_id: str = ""
    notes: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    permissions: str = ""

    def outputs(self) -> dict[str, str]:
        """Return step outputs; their values are empty without a comment."""
        return {"comment-url": self.comment_url, "comment-id": self.comment_id}

    def markdown(self) -> str:
        """Return warnings and notes as they are appended to a job summary."""
        lines = "".join(f"> ⚠️ {markdown_inline(str(note))}\n>\n" for note in (*self.warnings, *self.notes))
        if not self.permissions:
            return f"\n{lines}"
        return f"\n{lines}\nA job that reports like this needs\n\n{markdown_code_block(self.permissions, 'yaml')}\n"

    @staticmethod
    def notice(note: Problem, level: str = "notice") -> str:
        """Return a workflow command that shows a note on the page of the run."""
        return f"::{level} title=skillgym-action::{workflow_message(str(note))}"
