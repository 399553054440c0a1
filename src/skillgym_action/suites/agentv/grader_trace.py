"""What a session did, as AgentV's graders get it: messages, tool calls, events. Unknown values are left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.agents.output.tool_calls import calls_of, is_reply, model_rounds
from skillgym_action.model.records import record
from skillgym_action.model.session_report import Message
from skillgym_action.suites.agentv.messages import as_text, sound_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from skillgym_action.agents.output.tool_calls import Call
    from skillgym_action.model.session_report import SessionReport, Usage

PROVIDERS = {
    "agentv-cli": "cli",
    "agentv-mock": "mock",
    "agentv-replay": "replay",
    "agentv-transcript": "transcript",
    "claude-code": "claude-cli",
    "copilot": "copilot-cli",
    "pi": "pi-cli",
}
"""AgentV's names of agents, where they are not ours."""


@record
class Turn:
    """A message with the tool calls that followed it."""

    message: Mapping[str, object]
    calls: tuple[Call, ...] = ()

    def json(self) -> dict[str, object]:
        """The message as graders get it."""
        calls = {"tool_calls": list(map(_call, self.calls))} if self.calls else {}
        return {**self.message, **calls}


def turns_of(report: SessionReport) -> tuple[Turn, ...]:
    """The assistant's messages. If a stand-in for an agent recorded messages of the user, these are in it, too."""
    calls = calls_of(report)
    has_users = report.runner.agent.type.startswith("agentv-") and any(
        isinstance(event, Message) and _is_of_user(event) and event.text != report.prompt for event in report.events
    )
    turns: list[Turn] = []
    replies = 0
    for event in report.events:
        if is_reply(event) and isinstance(event, Message):
            replies += 1
            # Calls before the first message belong to it.
            own = tuple(call for call in calls if call.after == replies or (replies == 1 and call.after == 0))
            at = {"start_time": event.at} if event.at else {}
            turns.append(Turn(message={"role": "assistant", "content": event.text, **at}, calls=own))
        elif has_users and _is_of_user(event) and isinstance(event, Message):
            turns.append(Turn(message={"role": "user", "content": event.text}))
    if not replies and (calls or report.final_output):
        turns.append(Turn(message={"role": "assistant", "content": report.final_output}, calls=calls))
    return tuple(turns)


def all_turns(task_input: Sequence[object], own: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """The input and the session; a session that starts with the user's own messages is all there is."""
    if any(turn.message.get("role") == "user" for turn in own):
        return own
    messages = tuple(map(sound_message, task_input))
    marked = len(messages) > 1 or any(message.get("role") in {"assistant", "tool"} for message in messages)
    return (*(Turn(message=as_text(message, marked=marked)) for message in messages), *own)


def summary_of(report: SessionReport, turns: Iterable[Turn]) -> dict[str, object]:
    """``trace_summary``. ``error_count``: the tool calls that failed."""
    calls = [call for turn in turns for call in turn.calls]
    counts: dict[str, int] = {}
    durations: dict[str, list[int]] = {}
    for call in calls:
        counts[call.tool] = counts.get(call.tool, 0) + 1
        if call.duration_ms is not None:
            durations.setdefault(call.tool, []).append(call.duration_ms)
    return {
        "event_count": len(calls),
        "tool_calls": counts,
        "error_count": sum(call.failed for call in calls),
        **({"tool_durations": durations} if durations else {}),
        "llm_call_count": model_rounds(report),
    }


def trace_of(report: SessionReport, turns: tuple[Turn, ...], case_id: str) -> dict[str, object]:
    """``trace``: the summary, and all that is known of the session."""
    agent = report.runner.agent.type
    metadata = {"provider": PROVIDERS.get(agent, agent), "target": report.runner.id, "eval_case_id": case_id}
    return {
        **summary_of(report, turns),
        "messages": [turn.json() for turn in turns],
        "events": _events(report, turns),
        **{name: value for name, value in figures_of(report).items() if value is not None},
        "metadata": metadata,
    }


def figures_of(report: SessionReport) -> dict[str, object]:
    """Tokens, cost in US dollars, and times; None where they are not known."""
    return {
        "token_usage": _usage(report.usage),
        "cost_usd": report.cost.usd,
        "duration_ms": report.duration_ms,
        "start_time": report.started_at,
        "end_time": report.ended_at,
    }


# --- messages ---------------------------------------------------------------------------------------


def _is_of_user(event: object) -> bool:
    return isinstance(event, Message) and event.role == "user"


def _call(call: Call) -> dict[str, object]:
    status = "error" if call.failed else None if call.output is None else "ok"
    optional = {"output": call.output, "status": status, "duration_ms": call.duration_ms, "start_time": call.at}
    known = {key: value for key, value in optional.items() if value is not None}
    return {"tool": call.tool, "input": call.args, **known}


# --- events -----------------------------------------------------------------------------------------


def _events(report: SessionReport, turns: tuple[Turn, ...]) -> list[dict[str, object]]:
    """A message, then its tool calls, each with its result; the final response at the end."""
    events: list[dict[str, object]] = []
    for index, turn in enumerate(turns):
        events.append(_message_event(f"message-{index}", "message", turn, index))
        for number, call in enumerate(turn.calls):
            events += _call_events(call, index, number)
    last = next((index for index in reversed(range(len(turns))) if turns[index].message["role"] == "assistant"), None)
    if last is not None:
        final = replace(turns[last], message={**turns[last].message, "content": report.final_output})
        response = _message_event("final-response", "final_response", final, last)
        events.append({**response, "parent_event_id": f"message-{last}"})
    return [{**event, "ordinal": ordinal} for ordinal, event in enumerate(events)]


def _message_event(event_id: str, type_: str, turn: Turn, index: int) -> dict[str, object]:
    at = {"timestamp": turn.message["start_time"]} if "start_time" in turn.message else {}
    message = {key: value for key, value in turn.message.items() if key in {"role", "name", "content", "metadata"}}
    return {"event_id": event_id, "type": type_, **at, "message": message, "metadata": {"message_index": index}}


def _call_events(call: Call, index: int, number: int) -> list[dict[str, object]]:
    event_id, metadata = f"message-{index}-tool-{number}", {"message_index": index, "tool_index": number}
    times = {"timestamp": call.at, "duration_ms": call.duration_ms}
    output = {} if call.output is None else {"output": call.output}
    result = {**output, "status": "error" if call.failed else "ok"}
    error = {"error": {"message": call.output or "the tool failed"}} if call.failed else {}
    called: dict[str, object] = {
        "event_id": event_id,
        "parent_event_id": f"message-{index}",
        "type": "tool_call",
        **{key: value for key, value in times.items() if value is not None},
        "tool": {"name": call.tool, "input": call.args, **result, **error},
        "metadata": metadata,
    }
    if call.output is None:
        return [called]
    returned: dict[str, object] = {
        "event_id": f"{event_id}-result",
        "parent_event_id": event_id,
        "type": "tool_result",
        "tool": {"name": call.tool, **result, **error},
        "metadata": metadata,
    }
    return [called, returned]


def _usage(usage: Usage) -> dict[str, object] | None:
    if usage.input_tokens is None and usage.output_tokens is None:
        return None
    cached = {} if usage.cache_tokens is None else {"cached": usage.cache_tokens}
    output = (usage.output_tokens or 0) + (usage.reasoning_tokens or 0)
    return {"input": usage.input_tokens or 0, "output": output, **cached}
