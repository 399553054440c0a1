"""The tool calls of a session, with what came of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skillgym_action.model.session_report import Message, ToolCall, ToolResult

if TYPE_CHECKING:
    from skillgym_action.model.session_report import SessionReport


CLAUDES_NAMES = {
    "codex": {"command_execution": "Bash", "file_change": "Edit"},
    "copilot": {
        "skill": "Skill",
        "readFile": "Read",
        "Read File": "Read",
        "readTextFile": "Read",
        "writeTextFile": "Write",
        "Write File": "Write",
        "editFile": "Edit",
        "Edit File": "Edit",
        "runTerminalCommand": "Bash",
    },
    "pi": {"read": "Read", "bash": "Bash"},
}
"""What Claude calls the tools of other agents; suites ask for them under that name."""

MAIN_ARGUMENTS = ("skill", "file_path", "command", "pattern")
_SHOWN = 120


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call, under Claude's name for the tool. ``after`` counts the assistant's messages before it."""

    tool: str
    args: object
    output: str | None = None
    duration_ms: int | None = None
    at: str | None = None
    after: int = 0


def calls_of(report: SessionReport) -> tuple[Call, ...]:
    """All calls in order. A result belongs to the first call of its tool that has none."""
    calls: list[Call] = []
    words = 0
    names = CLAUDES_NAMES.get(report.runner.agent.type, {})
    for event in report.events:
        if is_reply(event):
            words += 1
        elif isinstance(event, ToolCall):
            tool = names.get(event.tool, event.tool)
            calls.append(Call(tool=tool, args=event.args, duration_ms=event.duration_ms, at=event.at, after=words))
        elif isinstance(event, ToolResult):
            _answer(calls, event.output, names.get(event.tool or "", event.tool))
    return tuple(calls)


def is_reply(event: object) -> bool:
    """Whether an event is something the assistant said, not only thought."""
    return isinstance(event, Message) and event.role == "assistant" and event.phase != "thinking"


def model_rounds(report: SessionReport) -> int:
    """How often the model was called: as told by the agent, else how often it spoke."""
    if report.turns is not None:
        return report.turns
    return sum(map(is_reply, report.events)) or int(bool(report.final_output))


def told(calls: tuple[Call, ...]) -> str:
    """The calls for a reader: a line each, with what they were mainly given."""
    return "\n".join(f"- {call.tool}{_detail(call)}" for call in calls)


def _detail(call: Call) -> str:
    args = call.args if isinstance(call.args, dict) else {}
    given = (args.get(key) for key in (*MAIN_ARGUMENTS, *args))
    text = next((value for value in given if isinstance(value, str) and value), "")
    return f": {text[:_SHOWN]}{'…' if len(text) > _SHOWN else ''}" if text else ""


def _answer(calls: list[Call], output: str, tool: str | None) -> None:
    for place, call in enumerate(calls):
        if call.output is None and tool in {None, call.tool}:
            calls[place] = replace(call, output=output)
            return
