"""The stdin of a grader's program: the case and the session as JSON, with AgentV's keys and no others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillgym_action.agentv.grader_trace import all_turns, figures_of, summary_of, trace_of, turns_of
from skillgym_action.agentv.messages import sound_message
from skillgym_action.agentv.turn_context import TurnContext, task_in
from skillgym_action.javascript.values import stringified

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.agentv.grader_context import Task
    from skillgym_action.model.assertion import AssertionContext

_CAPITAL = re.compile("[A-Z]")


def payload(task: Task, context: AssertionContext, config: Mapping[str, object], *, legacy: bool = False) -> str:
    """One JSON object. Programs that validate it refuse unknown keys, and null where a key may only be absent.

    ``legacy``: ``output`` is the list of messages, as AgentV had it before 4.38, and old names are given, too.
    """
    report = context.report
    if report is None:
        raise ValueError("graders are asked about sessions that gave a report")
    task = task_in(context, task)
    own = turns_of(report)
    if isinstance(context, TurnContext):  # its messages end with the reply, which the report has, too
        turns = all_turns(task.input[:-1], own) if report.events else all_turns(task.input, ())
    else:
        turns = all_turns(task.input, own)
    replies = [turn.json() for turn in own]
    content: dict[str, object] = {
        "criteria": task.criteria,
        "expected_output": list(map(sound_message, task.expected_output)),
        "output": replies if legacy else report.final_output,
        "messages": [turn.json() for turn in turns],
        "input_files": list(task.input_files),
        "input": list(map(sound_message, task.input)),
        "metadata": task.metadata,
        "trace": trace_of(report, turns, task.case_id),
        "trace_summary": summary_of(report, turns),
        **figures_of(report),
        "file_changes": context.file_changes(),
        "workspace_path": report.cwd,
        "config": dict(config) or None,
    }
    if legacy:
        old = {"answer": report.final_output, "output_text": report.final_output, "output_messages": replies}
        content |= {**old, "case_dir": str(task.folder) if task.folder else None}
    return stringified(_snake_keys(content), indent=2)


def _snake_keys(value: object) -> object:
    """``camelCase`` keys as ``snake_case``, however deep; those that begin with a capital stay."""
    if isinstance(value, dict):
        return {_snake(str(key)): _snake_keys(item) for key, item in value.items()}
    return list(map(_snake_keys, value)) if isinstance(value, list) else value


def _snake(key: str) -> str:
    return key if _CAPITAL.match(key) else _CAPITAL.sub(lambda found: f"_{found[0].lower()}", key)
