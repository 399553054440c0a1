"""The stdin of a grader's program: the case and the session as JSON, with AgentV's keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillgym_action.javascript.values import stringified
from skillgym_action.model.session_report import Message
from skillgym_action.transcripts.tool_calls import calls_of, is_reply, model_rounds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.agentv.grader_context import Task
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.session_report import SessionReport, Usage
    from skillgym_action.transcripts.tool_calls import Call

_CAPITAL = re.compile("[A-Z]")


def payload(task: Task, context: AssertionContext, config: Mapping[str, object], *, legacy: bool = False) -> str:
    """One JSON object. ``legacy``: ``output`` is the list of messages, as AgentV had it before 4.38."""
    report = context.report
    if report is None:
        raise ValueError("graders are asked about sessions that gave a report")
    calls = calls_of(report)
    replies = _replies(report, calls)
    messages = [*map(_as_text, task.input), *replies]
    summary = _summary(report, calls)
    usage = _usage(report.usage)
    timing = {"duration_ms": report.duration_ms, "start_time": report.started_at, "end_time": report.ended_at}
    content: dict[str, object] = {
        "criteria": task.criteria,
        "expected_output": list(task.expected_output),
        "output": replies if legacy else report.final_output,
        "answer": report.final_output,
        "output_text": report.final_output,
        "output_messages": replies,
        "messages": messages,
        "output_path": None,
        "input_files": list(task.input_files),
        "input": list(task.input),
        "metadata": task.metadata,
        "trace": {
            **summary,
            "messages": messages,
            "events": _events(report, calls),
            "token_usage": usage,
            "cost_usd": report.cost.usd,
            **timing,
            "metadata": {"provider": report.runner.agent.type, "target": report.runner.id},
        },
        "trace_summary": summary,
        "token_usage": usage,
        "cost_usd": report.cost.usd,
        **timing,
        "file_changes": context.file_changes(),
        "workspace_path": report.cwd,
        "case_dir": str(task.folder) if task.folder else None,
        "config": dict(config) or None,
    }
    return stringified(_snake_keys(content), indent=2)


def _as_text(message: object) -> object:
    """A message of the input with its content as text, as in the prompt. Messages that name files stay as they are."""
    if not isinstance(message, dict):
        return message
    content = message.get("content")
    if isinstance(content, dict):
        return {**message, "content": stringified(content, indent=2)}
    texts = [_text_of(block) for block in content] if isinstance(content, list) else []
    if not texts or None in texts:
        return message
    return {**message, "content": "\n\n".join(text.strip() for text in texts if text and text.strip())}


def _text_of(block: object) -> str | None:
    value = block.get("value") if isinstance(block, dict) and block.get("type") == "text" else None
    return value if isinstance(value, str) else None


def _replies(report: SessionReport, calls: tuple[Call, ...]) -> list[dict[str, object]]:
    """The assistant's messages, each with the calls that followed it."""
    replies = [event for event in report.events if is_reply(event) and isinstance(event, Message)]
    messages = [_message(event.text, event.at) for event in replies]
    if not messages and (calls or report.final_output):
        messages = [_message(report.final_output, None)]
    for index, message in enumerate(messages):
        # Calls before the first message belong to it.
        own = [call for call in calls if call.after == index + 1 or (index == 0 and call.after == 0)]
        if own:
            message["tool_calls"] = list(map(_call, own))
    return messages


def _message(text: str, at: str | None) -> dict[str, object]:
    return {"role": "assistant", "content": text, **({"start_time": at} if at else {})}


def _call(call: Call) -> dict[str, object]:
    optional = {"output": call.output, "duration_ms": call.duration_ms, "start_time": call.at}
    known = {key: value for key, value in optional.items() if value is not None}
    return {"tool": call.tool, "input": call.args, **known}


def _summary(report: SessionReport, calls: tuple[Call, ...]) -> dict[str, object]:
    counts: dict[str, int] = {}
    durations: dict[str, list[int]] = {}
    for call in calls:
        counts[call.tool] = counts.get(call.tool, 0) + 1
        if call.duration_ms is not None:
            durations.setdefault(call.tool, []).append(call.duration_ms)
    return {
        "event_count": len(calls),
        "tool_calls": counts,
        "error_count": 0,
        **({"tool_durations": durations} if durations else {}),
        "llm_call_count": model_rounds(report),
    }


def _events(report: SessionReport, calls: tuple[Call, ...]) -> list[dict[str, object]]:
    replies = [event for event in report.events if is_reply(event) and isinstance(event, Message)]
    events: list[dict[str, object]] = []
    for index, event in enumerate([None, *replies]):
        if event is not None:
            message = {"role": "assistant", "content": event.text}
            events.append({"event_id": f"message-{index - 1}", "type": "message", "message": message})
        for call in calls:
            if call.after == index:
                tool = {"name": call.tool, "input": call.args, "output": call.output}
                events.append({"event_id": f"tool-{len(events)}", "type": "tool_call", "tool": tool})
    return [{**event, "ordinal": ordinal} for ordinal, event in enumerate(events)]


def _usage(usage: Usage) -> dict[str, object] | None:
    if usage.input_tokens is None and usage.output_tokens is None:
        return None
    cached = {} if usage.cache_tokens is None else {"cached": usage.cache_tokens}
    output = (usage.output_tokens or 0) + (usage.reasoning_tokens or 0)
    return {"input": usage.input_tokens or 0, "output": output, **cached}


def _snake_keys(value: object) -> object:
    """``camelCase`` keys as ``snake_case``, however deep; those that begin with a capital stay."""
    if isinstance(value, dict):
        return {_snake(str(key)): _snake_keys(item) for key, item in value.items()}
    return list(map(_snake_keys, value)) if isinstance(value, list) else value


def _snake(key: str) -> str:
    return key if _CAPITAL.match(key) else _CAPITAL.sub(lambda found: f"_{found[0].lower()}", key)
