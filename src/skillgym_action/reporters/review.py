"""Reporter: what a review comment says at the place of one case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.reporters.wording import cause, runner_id
from skillgym_action.text.escaping import clipped, markdown_code_span, markdown_inline

if TYPE_CHECKING:
    from skillgym_action.model.result import Result

NAME, MESSAGE, RUNNERS = 120, 400, 10  # characters; runners


def review_text(results: list[Result]) -> str:
    """Markdown: the case, and for each runner that is not green why."""
    lines = [f"**{markdown_code_span(clipped(results[0].case_id, NAME))}** is not green", ""]
    for result in results[:RUNNERS]:
        reason = cause(result)
        message = markdown_inline(clipped(reason.message.strip().partition("\n")[0], MESSAGE))
        assertion = f"{markdown_code_span(clipped(reason.assertion, NAME))}: " if reason.assertion else ""
        runner = markdown_code_span(clipped(runner_id(result), NAME))
        lines.append(f"- {runner} · {markdown_inline(clipped(reason.label, NAME))} · {assertion}{message}")
    if len(results) > RUNNERS:
        lines.append(f"- and {len(results) - RUNNERS} more runners")
    return "\n".join(lines)
