"""What AgentV's stand-ins for agents tell of a session: an answer, or messages with tool calls, tokens and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.javascript.values import stringified
from skillgym_action.model.session_report import Cost, Message, ToolCall, ToolResult, Transcript, Usage
from skillgym_action.transcripts.lenient_json import LenientJson, json_object, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.session_report import Event

ROLES = frozenset({"system", "user", "assistant", "tool"})


def of_text(text: str) -> Transcript:
    """What a program wrote: a JSON object that tells of messages or of a text, else the answer itself."""
    told = json_object(text)
    return (of_object(told) if told else None) or answered(text)


def of_object(told: LenientJson) -> Transcript | None:
    """What an object tells; None for one that holds neither messages nor a text."""
    messages = told.at("output") if told.at("output") is not None else told.at("output_messages")
    if isinstance(messages, list) and messages and all(map(_is_message, messages)):
        said = tuple(LenientJson(message) for message in messages)
    elif (text := told.text("text")) is not None:
        said = (LenientJson({"role": "assistant", "content": text}),)
    else:
        return None
    replies = [message for message in said if message.text("role") == "assistant"]
    usd, milliseconds = told.amount("cost_usd"), told.amount("duration_ms")
    last = replies[-1] if replies else None
    return Transcript(
        events=tuple(event for message in said for event in _events(message, last=message is last)),
        final_output=_content(last.at("content")) if last else "",
        usage=Usage(
            input_tokens=told.count("token_usage", "input"),
            output_tokens=told.count("token_usage", "output"),
            cache_tokens=told.count("token_usage", "cached"),
        ),
        cost=Cost(usd=usd, source="reported") if usd is not None else Cost(),
        turns=len(replies),
        duration_ms=None if milliseconds is None else round(milliseconds),
    )


def answered(text: str) -> Transcript:
    """An answer, and nothing else is known."""
    kept = shortened(text)
    return Transcript(events=(Message(role="assistant", phase="final", text=kept),), final_output=kept, turns=1)


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and value.get("role") in ROLES


def _events(message: LenientJson, *, last: bool) -> Iterator[Event]:
    """A message, then its tool calls, each with what came of it."""
    text, at = _content(message.at("content")), message.text("start_time")
    match message.text("role"):
        case "assistant":
            yield Message(role="assistant", phase="final" if last else "commentary", text=text, at=at)
        case "tool":
            yield ToolResult(output=text, tool=message.text("name"), at=at)
        case "user":
            yield Message(role="user", text=text, at=at)
    for call in message.children("tool_calls"):
        tool, milliseconds = call.text("tool") or "", call.amount("duration_ms")
        duration = None if milliseconds is None else round(milliseconds)
        yield ToolCall(tool=tool, args=call.at("input"), at=call.text("start_time"), duration_ms=duration)
        if (output := call.at("output")) is not None:
            yield ToolResult(output=_content(output), tool=tool, at=call.text("end_time"))


def _content(value: object) -> str:
    """Text as it is; of blocks, their texts; anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        blocks = [item if isinstance(item, str) else _block(LenientJson(item)) for item in value]
        if None not in blocks:
            return "\n".join(block for block in blocks if block)
    return "" if value is None else stringified(value)


def _block(told: LenientJson) -> str | None:
    text = told.text("value")
    return told.text("text") if text is None else text
