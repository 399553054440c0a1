"""The output of AgentV's stand-ins for agents: an answer, or JSON with messages, tool calls, tokens and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.agents.output.lenient_json import LenientJson, json_object, shortened
from skillgym_action.model.session_report import Cost, Message, ToolCall, ToolResult, Transcript, Trouble, Usage
from skillgym_action.text.javascript.values import stringified

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.session_report import Event

ROLES = frozenset({"system", "user", "assistant", "tool"})
FAILED = frozenset({"error", "timeout", "cancelled"})
"""States of a tool call that count as its failure."""


def transcript_of_text(text: str) -> Transcript:
    """The transcript of a program's output: a JSON object with messages or a text, else the answer itself."""
    output = json_object(text)
    return (transcript_of_object(output) if output else None) or transcript_of_answer(text)


def transcript_of_batch(text: str, test_id: str) -> Transcript:
    """The transcript of the line with the test's id, where each line is a JSON object with an ``id``.

    A line without messages and text is an empty answer. Any other output is that of this test alone.
    """
    lines = [json_object(line) for line in text.splitlines() if line.strip()]
    if not lines or any(line is None or line.text("id") is None for line in lines):
        return transcript_of_text(text)
    found = next((line for line in lines if line and line.text("id") == test_id), None)
    if found is None:
        message = f"the command wrote {{OUTPUT_FILE}} without a line of the test {test_id}"
        return Transcript(trouble=Trouble(kind="collection", message=message))
    return transcript_of_object(found) or transcript_of_answer("")


def transcript_of_object(output: LenientJson) -> Transcript | None:
    """The transcript of a JSON object; None if it has neither messages nor a text."""
    written = output.at("output") if output.at("output") is not None else output.at("output_messages")
    if isinstance(written, list) and written and all(map(_is_message, written)):
        messages = tuple(LenientJson(message) for message in written)
    elif (text := output.text("text")) is not None:
        messages = (LenientJson({"role": "assistant", "content": text}),)
    else:
        return None
    replies = [message for message in messages if message.text("role") == "assistant"]
    usd, milliseconds = output.amount("cost_usd"), output.amount("duration_ms")
    last = replies[-1] if replies else None
    return Transcript(
        events=tuple(event for message in messages for event in _events(message, last=message is last)),
        final_output=_content(last.at("content")) if last else "",
        usage=Usage(
            input_tokens=output.count("token_usage", "input"),
            output_tokens=output.count("token_usage", "output"),
            cache_tokens=output.count("token_usage", "cached"),
        ),
        cost=Cost(usd=usd, source="reported") if usd is not None else Cost(),
        turns=len(replies),
        duration_ms=None if milliseconds is None else round(milliseconds),
    )


def transcript_of_answer(text: str) -> Transcript:
    """A transcript with an answer and nothing else."""
    kept = shortened(text)
    return Transcript(events=(Message(role="assistant", phase="final", text=kept),), final_output=kept, turns=1)


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and value.get("role") in ROLES


def _events(message: LenientJson, *, last: bool) -> Iterator[Event]:
    """A message, then its tool calls, each with its result."""
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
        output, failed = call.at("output"), call.text("status") in FAILED
        if output is not None or failed:
            yield ToolResult(output=_content(output), tool=tool, failed=failed or None, at=call.text("end_time"))


def _content(value: object) -> str:
    """Content as text: the texts of blocks; other values as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        blocks = [item if isinstance(item, str) else _block(LenientJson(item)) for item in value]
        if None not in blocks:
            return "\n".join(block for block in blocks if block)
    return "" if value is None else stringified(value)


def _block(block: LenientJson) -> str | None:
    text = block.text("value")
    return block.text("text") if text is None else text
