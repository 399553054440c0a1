"""A case that is a conversation: the prompt of each turn, which repeats what was said, and one report of all turns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from skillgym_action.model.session_report import Cost, ObservedFiles
from skillgym_action.transcripts.agent_output import total, total_usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.model.suite import CaseConversation

T = TypeVar("T")


def next_prompt(conversation: CaseConversation, replies: Sequence[str]) -> str:
    """The prompt of the turn after ``replies``. Roles are marked if more than one message has text."""
    messages = [one for one in conversation.shown(replies, len(replies) + 1) if one[1].strip()]
    if len(messages) == 1:
        return messages[0][1].strip()
    return "\n\n".join(f"@[{role.capitalize()}]:\n{text}" for role, text in messages)


def combined(reports: Sequence[SessionReport]) -> SessionReport:
    """One report of the turns' reports, which it contains."""
    first, last = reports[0], reports[-1]
    usage = total_usage(report.usage for report in reports)
    return replace(
        last,
        prompt=first.prompt,
        usage=replace(
            usage,
            total_tokens=total(report.usage.total_tokens for report in reports),
            **{name: sum(getattr(one.usage, name) for one in reports) for name in _CHARACTERS},
        ),
        files=ObservedFiles(
            observed_reads=_united(report.files.observed_reads for report in reports),
            observed_skill_reads=_united(report.files.observed_skill_reads for report in reports),
        ),
        detected_skills=_united(report.detected_skills for report in reports),
        events=tuple(event for report in reports for event in report.events),
        started_at=first.started_at,
        duration_ms=total(report.duration_ms for report in reports),
        cost=_cost([report.cost for report in reports]),
        turns=total(report.turns for report in reports),
        exchanges=tuple(reports),
    )


_CHARACTERS = ("input_chars", "output_chars", "reasoning_chars")


def _united(groups: Iterable[Iterable[T]]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(one for group in groups for one in group))


def _cost(costs: Sequence[Cost]) -> Cost:
    """The sum; unknown if one of them is."""
    amounts = [cost.usd for cost in costs]
    if None in amounts:
        return Cost()
    return Cost(usd=sum(usd or 0.0 for usd in amounts), source=costs[-1].source)
